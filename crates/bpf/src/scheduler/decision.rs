//! Decisions of `c/core_queue_decide.h`, taken again.

use coretwin_base::simulation::core_queue::decide::{self, Crowd};

/// `struct decision` of `c/core_queue.h`: a letter, what it was taken from, what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    pub kind: char,
    pub from: [i64; 9],
    pub was: i64,
}

impl Decision {
    /// What the simulated policy decides from the same numbers; `None` for a letter that it does not know.
    pub fn again(&self) -> Option<i64> {
        let n = &self.from;
        let crowd = |at: usize| Crowd {
            load: n[at] as u32,
            cpus: n[at + 1] as u32,
            is_far: n[at + 2] != 0,
        };
        Some(match self.kind {
            'w' => {
                let chosen = decide::least_crowded(crowd(0), [crowd(3), crowd(6)]);
                chosen.map_or(2, |index| index as i64)
            }
            'o' => i64::from(decide::owed(n[0] as u32, n[1] as u32, n[2] as u32, n[3] as u32)),
            'l' => decide::lag(n[0], n[1], n[2]),
            'p' => decide::woken(n[0], n[1], n[2], n[3], n[4] as u32),
            's' => decide::average(n[0] as u64, n[1] as u64) as i64,
            'v' => decide::least(n[0] as u64, n[1] as u64) as i64,
            'q' => decide::later(n[0], n[1] as u64, n[2] as u64),
            'a' => decide::ahead(n[0], n[1], n[2], n[3]),
            'k' => i64::from(decide::word(n[0] as u32, n[1] != 0, n[2] as u64)),
            'f' => i64::from(decide::may_follow(n[0] as u32, n[1] as u64, n[2] as u64)),
            'h' => i64::from(decide::hands_over(n[0] as u32, n[1] as u32)),
            'd' => i64::from(decide::displaces(n[0], n[1], n[2] as u32)),
            'b' => decide::best_partner([n[0], n[1], n[2], n[3]].map(|it| it as u64)) as i64,
            'r' => decide::rank(n[0] != 0, n[1] as u64) as i64,
            'g' => i64::from(decide::is_overdue(n[0] as u64, n[1] as u64)),
            _ => return None,
        })
    }

    /// Reads what the program told.
    #[cfg(feature = "bpf")]
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (words, _) = bytes.as_chunks();
        let mut words = words.iter().map(|word| i64::from_ne_bytes(*word));
        let kind = char::from(u8::try_from(words.next()?).ok()?);
        let mut from = [0; 9];
        for number in &mut from {
            *number = words.next()?;
        }
        Some(Self { kind, from, was: words.next()? })
    }
}
