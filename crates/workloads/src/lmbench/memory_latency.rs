//! Rows `memory-latency` and `memory-latency-random`: loads that each wait for the one before, because
//! it holds the address.
//!
//! Every `stride` bytes of the memory lies a word that leads to the next, round and round. In
//! ascending order the processor may guess and fetch ahead, as it does for a program that goes
//! through a table. In random order it cannot; the row then shows what the level of memory takes
//! that holds so much, and finding the page beyond what the processor keeps of the page table.

use super::harness::{Bench, Body, Place, Row};
use super::native::memory::{Chain, LOADS};
use crate::Error;
use crate::copies::Remarks;
use crate::workload::{int, wrong};
use coretwin_base::parameters::Params;
use coretwin_base::random::Stream;

/// Seed of the random order, which is the same in every run.
const SEED: u64 = 1;
const WORD: u32 = 8;
/// Loads that fill any cache: the lines of 256 MiB.
const WARM_UP: u64 = 4 << 20;

struct Chase {
    chain: Chain,
    /// Words that are joined.
    words: u64,
    /// Where it is, and where it began.
    at: u32,
    start: u32,
    loads: u64,
}

/// Where the words are, by their numbers, in ascending order.
fn places(params: &Params) -> impl Iterator<Item = u32> {
    let (kib, stride) = (int(params, "size_kib"), int(params, "stride"));
    (0..kib * 1024 / WORD).step_by((stride / WORD).max(1) as usize)
}

pub(super) fn memory_latency(place: &Place) -> Result<Bench, Error> {
    chase(place, &places(&place.params).collect::<Vec<_>>())
}

pub(super) fn memory_latency_random(place: &Place) -> Result<Bench, Error> {
    let mut visits: Vec<u32> = places(&place.params).collect();
    Stream::new(SEED, "lmbench-more/memory-latency-random", 0).shuffle(&mut visits);
    chase(place, &visits)
}

fn chase(place: &Place, visits: &[u32]) -> Result<Bench, Error> {
    let joined = || Chain::new(int(&place.params, "size_kib"), visits);
    let start = visits.first().copied();
    let (start, chain) = start
        .zip(joined())
        .ok_or_else(|| Error::failed("the words of the chase do not lie in its memory"))?;
    let mut chase = Chase { chain, words: visits.len() as u64, at: start, start, loads: 0 };
    // All of it once, so that it is in the caches as far as those can hold it.
    chase.repeat(chase.words.min(WARM_UP).div_ceil(LOADS))?;
    Ok(Bench::of(chase).worth(LOADS as f64))
}

/// An operation is [`LOADS`] loads.
impl Body for Chase {
    fn repeat(&mut self, count: u64) -> Result<(), Error> {
        self.at = self.chain.chase(self.at, count);
        self.loads += count * LOADS;
        Ok(())
    }

    fn remark(&mut self, to: &mut Remarks) {
        let mut word = self.start;
        let mut visited = 0;
        let mut right_end = false;
        // Once round by other means.
        while visited < self.words {
            right_end |= visited == self.loads % self.words && word == self.at;
            word = self.chain.next(word);
            visited += 1;
            if word == self.start {
                break;
            }
        }
        let whole = visited == self.words && word == self.start;
        to.check("every_line_visited", whole);
        to.check("loads_counted", right_end);
        to.metric("chain_words", self.words as f64, "words");
    }
}

/// The stride is whole words, and the memory has at least two of them.
pub(super) fn check(row: &Row, params: &Params) -> Result<(), Error> {
    let (kib, stride) = (int(params, "size_kib"), int(params, "stride"));
    let why = match stride {
        stride if stride % WORD != 0 => "it is a multiple of 8, the bytes of an address",
        stride if u64::from(stride) * 2 > u64::from(kib) << 10 => {
            "it is at most half of size_kib, so that there is a second place to go to"
        }
        _ => return Ok(()),
    };
    Err(wrong(row.name, params, "stride", why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chase_of(visits: &[u32]) -> Chase {
        let chain = Chain::new(1, visits).expect("chain");
        Chase { chain, words: visits.len() as u64, at: visits[0], start: visits[0], loads: 0 }
    }

    fn held(chase: &mut Chase) -> [bool; 2] {
        let mut remarks = Remarks::default();
        chase.remark(&mut remarks);
        ["every_line_visited", "loads_counted"].map(|name| remarks.holds(name))
    }

    #[test]
    fn the_check_notices_a_short_chase_and_a_line_left_out() {
        let mut chase = chase_of(&[0, 8, 16, 24, 32]);
        assert_eq!(held(&mut chase), [true, true]);
        chase.repeat(7).expect("chased");
        assert_eq!(chase.loads, 7 * LOADS);
        assert_eq!(held(&mut chase), [true, true]);
        chase.loads += 1;
        assert_eq!(held(&mut chase), [true, false], "a load was not made");
        chase.loads -= 1;
        chase.words = 6;
        assert!(!held(&mut chase)[0], "a line is not visited");
    }
}
