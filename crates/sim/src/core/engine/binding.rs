//! Port binding: where a processor says at rename which port a micro-operation goes to, by how many wait
//! for each then, the port may turn out the wrong one.

use super::Tables;
use super::tables::MAX_PORTS;
use crate::core::Class;

/// A port that so many fewer wait for is taken by every micro-operation of the cycle.
const FAR_LESS: u16 = 3;

/// Groups of ports, and how many wait in each.
type Waiting = [u16; MAX_PORTS];

#[derive(Debug, Clone, Default)]
pub(super) struct Binding {
    waiting: Waiting,
    /// The same when this cycle's rename began, and how many it has renamed.
    seen: Waiting,
    renamed: u8,
    /// By class: what this cycle's rename takes in turns, and of which classes that is known.
    turns: [[u8; 2]; Class::COUNT],
    known: u16,
}

impl Binding {
    #[inline(always)]
    pub(super) fn begin_cycle(&mut self) {
        (self.renamed, self.known) = (0, 0);
    }

    /// The group that a micro-operation of this class goes to: the port that the fewest wait for, and the
    /// next best one in turns.
    #[inline(always)]
    pub(super) fn bind(&mut self, class: Class, tables: &Tables) -> u8 {
        if self.renamed == 0 {
            self.seen = self.waiting;
        }
        let turn = usize::from(self.renamed % 2);
        self.renamed += 1;
        let group = match tables.choices[class as usize] {
            0 => tables.group[class as usize],
            ports => {
                if self.known >> class as u32 & 1 == 0 {
                    self.known |= 1 << class as u32;
                    self.turns[class as usize] = two_best(ports, &self.seen, tables);
                }
                self.turns[class as usize][turn]
            }
        };
        self.waiting[usize::from(tables.counted_as[usize::from(group) % MAX_PORTS]) % MAX_PORTS] +=
            1;
        group
    }

    /// One of the group has issued, or will not.
    #[inline(always)]
    pub(super) fn leave(&mut self, group: usize, tables: &Tables) {
        let waiting =
            &mut self.waiting[usize::from(tables.counted_as[group % MAX_PORTS]) % MAX_PORTS];
        *waiting = waiting.wrapping_sub(1);
    }
}

/// The two ports that the fewest wait for; of equal ones the least versatile, which has the lowest number.
fn two_best(ports: u16, seen: &Waiting, tables: &Tables) -> [u8; 2] {
    let mut best = [(u16::MAX, 0); 2];
    let mut left = ports;
    while left != 0 {
        let group = tables.port_group[left.trailing_zeros() as usize % MAX_PORTS];
        left &= left - 1;
        let waits = (seen[usize::from(group) % MAX_PORTS], group);
        if waits.0 < best[0].0 {
            best = [waits, best[0]];
        } else if waits.0 < best[1].0 {
            best[1] = waits;
        }
    }
    let far = best[1].0 - best[0].0 >= FAR_LESS;
    [best[0].1, best[usize::from(!far)].1]
}
