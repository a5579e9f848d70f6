//! Threads that ended within the window: kept one by one while they are few.

use super::{Index, Known, Roster};
use coretwin_base::units::Nanos;
use std::collections::BTreeMap;

/// Threads that ended are kept one by one up to here, then ever more coarsely until half as many are left.
const ENDED_MAX: usize = 10_000;
/// The name of ended threads of more names than can be kept.
const OTHERS: &str = "(others)";

impl Roster {
    /// Puts together those that ended, if they are too many: by name, as one thread of the process that
    /// started them, then those of one name (as of process 0), then all. Returns who went into whom, in
    /// order.
    pub(crate) fn fold(&mut self) -> Vec<(Index, Index)> {
        let ended = self.known.values().filter(|known| known.ended).count();
        if ended <= ENDED_MAX {
            return Vec::new();
        }
        let coarser: [fn(&mut Known); 3] =
            [|_| (), |known| known.pid = 0, |known| OTHERS.clone_into(&mut known.comm)];
        let mut folded = Vec::new();
        for coarsen in coarser {
            if self.fold_once(coarsen, &mut folded) <= ENDED_MAX / 2 {
                break;
            }
        }
        folded
    }

    /// How many are left.
    fn fold_once(&mut self, coarsen: fn(&mut Known), folded: &mut Vec<(Index, Index)>) -> usize {
        let ended = self.known.iter().filter(|(_, known)| known.ended);
        let ended: Vec<Index> = ended.map(|(index, _)| *index).collect();
        let mut heirs: BTreeMap<(u32, String), Index> = BTreeMap::new();
        for index in ended {
            let Some(mut known) = self.known.remove(&index) else { continue };
            // What is folded already has no thread of its own and stays what it is.
            if known.tid != 0 {
                known = Known { pid: known.parent, tid: 0, ..known };
            }
            coarsen(&mut known);
            let (raw, name) = (known.raw(), (known.pid, known.comm.clone()));
            let heir = *heirs.entry(name).or_insert(index);
            if heir == index {
                self.known.insert(index, Known { run: raw, counted: Nanos(0), ..known });
                continue;
            }
            if let Some(heir) = self.known.get_mut(&heir) {
                heir.run += raw;
            }
            folded.push((index, heir));
        }
        heirs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_host::root::Root;

    fn ended(number: u32, parent: u32, comm: &str) -> Known {
        Known {
            pid: number,
            tid: number,
            parent,
            comm: comm.to_owned(),
            started_ticks: 0,
            cgroup: None,
            last_cpu: None,
            ended: true,
            run: Nanos(7),
            counted: Nanos(2),
            ran_at: None,
            expected: Nanos(0),
            is_based: true,
            is_read: false,
            cgroup_asked: false,
            file: None,
        }
    }

    /// A roster that is told of so many ended threads, and how many it keeps; what they ran is 5 ns each.
    fn kept(count: usize, parent: fn(u32) -> u32, comm: fn(u32) -> String) -> usize {
        let folder = tempfile::tempdir().expect("folder");
        let mut roster = Roster::new(&Root::at(folder.path()));
        let mut given = 0;
        for number in 1..=u32::try_from(count).expect("small") {
            roster.known.insert(number as Index, ended(number, parent(number), &comm(number)));
            let before = roster.known.len();
            if before <= ENDED_MAX && (number as usize) < count {
                continue;
            }
            let folded = roster.fold();
            assert_eq!(folded.len(), before - roster.known.len(), "each goes to one heir");
            given += folded.len();
            // Who inherits is there, or is given away later.
            assert!(roster.known.len() <= ENDED_MAX, "{}", roster.known.len());
        }
        let all: u64 = roster.known.values().map(|known| known.raw().0).sum();
        assert_eq!(all, 5 * count as u64, "no time is lost");
        assert_eq!(given + roster.known.len(), count);
        roster.known.len()
    }

    #[test]
    fn the_ended_of_ever_new_parents_and_names_do_not_grow_without_end() {
        let worker = |_| "worker".to_owned();
        assert_eq!(kept(ENDED_MAX, |number| number, worker), ENDED_MAX, "few enough");
        // By name below a parent; by name; all.
        assert_eq!(kept(ENDED_MAX + 1, |_| 1, worker), 1);
        assert_eq!(kept(ENDED_MAX + 1, |number| 2 * number, worker), 1);
        assert_eq!(kept(ENDED_MAX + 1, |number| 2 * number, |number| number.to_string()), 1);
        let more = kept(3 * ENDED_MAX, |number| 2 * number, |number| number.to_string());
        assert!(more <= ENDED_MAX, "{more}");
    }
}
