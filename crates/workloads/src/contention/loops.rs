//! What a CPU does in a round, in steps of a few microseconds.

use coretwin_base::account::probe::Contention;
use std::hint::{black_box, spin_loop};

/// Accumulators of the arithmetic. On x86-64 the compiler puts two into each of 12 vector
/// registers: 36 operations that wait for each other only in threes, more than any core of today
/// finishes in the time one such three takes, so the ports are what it waits for.
const LANES: usize = 24;
const PORT_TURNS: u32 = 2000;
const CHAIN_LINKS: u32 = 2000;
const WALK_LINES: u32 = 1000;
/// Numbers in a cache line, of 64 bytes.
const LINE: usize = 16;
/// A large odd number, so that multiples of it fill all bits (2⁶⁴ over the golden ratio).
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

pub(super) struct Loops {
    lanes: [u64; LANES],
    link: u64,
    l1: Walk,
    l2: Walk,
}

impl Loops {
    /// For caches of these sizes, in KiB.
    pub(super) fn new(l1_kib: u64, l2_kib: u64) -> Self {
        Self {
            lanes: std::array::from_fn(|lane| lane as u64),
            link: 1,
            l1: Walk::new(l1_kib),
            l2: Walk::new(l2_kib),
        }
    }

    /// Makes what the kind needs, before time counts.
    pub(super) fn prepare(&mut self, kind: Contention) {
        match kind {
            Contention::L1 => self.l1.lay_out(),
            Contention::L2 => self.l2.lay_out(),
            Contention::Ports | Contention::Turns | Contention::PingPong => {}
        }
    }

    pub(super) fn step(&mut self, kind: Contention) {
        match kind {
            Contention::Ports => self.ports(),
            Contention::Turns => self.chain(),
            Contention::L1 => self.l1.step(),
            Contention::L2 => self.l2.step(),
            Contention::PingPong => {}
        }
    }

    fn ports(&mut self) {
        let mut lanes = black_box(self.lanes);
        for _ in 0..PORT_TURNS {
            for lane in &mut lanes {
                *lane = (*lane ^ (*lane << 7)).wrapping_add(ODD);
            }
        }
        self.lanes = black_box(lanes);
    }

    /// The shift keeps the compiler from doing several multiplications at once.
    fn chain(&mut self) {
        let mut link = black_box(self.link);
        for _ in 0..CHAIN_LINKS {
            link = link.wrapping_mul(ODD) ^ (link >> 32);
        }
        self.link = black_box(link);
    }
}

/// Spins with PAUSE on a dedicated CPU.
pub(super) fn rest() {
    for _ in 0..100 {
        spin_loop();
    }
}

/// A walk from line to line of a piece of memory, each saying which is next, in an order that no
/// prefetcher foresees.
pub(crate) struct Walk {
    places: usize,
    /// Numbers from one place to the next in memory.
    step: usize,
    next: Vec<u32>,
    at: u32,
}

impl Walk {
    /// Through three quarters of a cache of this size: one such walk fits, two do not.
    pub(crate) fn new(cache_kib: u64) -> Self {
        Self::lines(usize::try_from(cache_kib.saturating_mul(1024 / 64 * 3 / 4)).unwrap_or(0))
    }

    pub(crate) fn lines(lines: usize) -> Self {
        Self { places: lines.clamp(2, 1 << 20), step: LINE, next: Vec::new(), at: 0 }
    }

    /// By one line of each page, each at another offset, or a few sets of a cache would hold them all.
    pub(crate) fn pages(pages: usize) -> Self {
        Self { step: 65 * LINE, ..Self::lines(pages) }
    }

    /// One cycle through all lines, by Sattolo's algorithm (Information Processing Letters 22,
    /// 1986). Any fixed shuffle will do.
    pub(crate) fn lay_out(&mut self) {
        if !self.next.is_empty() {
            return;
        }
        let mut order: Vec<u32> = (0..self.places as u32).collect();
        let mut random = ODD;
        for last in (1..order.len()).rev() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            order.swap(last, (random >> 33) as usize % last);
        }
        let mut next = vec![0; self.places * self.step];
        for (line, follower) in order.iter().enumerate() {
            next[line * self.step] = follower * self.step as u32;
        }
        self.next = next;
    }

    pub(crate) fn step(&mut self) {
        let mut at = black_box(self.at);
        for _ in 0..WALK_LINES {
            at = self.next.get(at as usize).copied().unwrap_or(0);
        }
        self.at = black_box(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_comes_by_every_line_once() {
        for kib in [1, 32, 48] {
            let mut walk = Walk::new(kib);
            walk.lay_out();
            let lines = (kib * 12) as usize;
            let (mut at, mut seen) = (0, 0);
            loop {
                at = walk.next[at as usize];
                seen += 1;
                if at == 0 {
                    break;
                }
            }
            assert_eq!(seen, lines, "three quarters of {kib} KiB in lines of 64 bytes");
        }
    }

    #[test]
    fn steps_change_what_they_work_on() {
        let mut loops = Loops::new(32, 256);
        for kind in [Contention::Ports, Contention::Turns, Contention::L1, Contention::L2] {
            let before = (loops.lanes, loops.link, loops.l1.at, loops.l2.at);
            loops.prepare(kind);
            loops.step(kind);
            assert_ne!(before, (loops.lanes, loops.link, loops.l1.at, loops.l2.at), "{kind:?}");
        }
    }
}
