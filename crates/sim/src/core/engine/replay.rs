//! Replay: NetBurst sends what hangs on a load to the ports as if the load hit the first level. Where it
//! does not, load and followers go round and take their ports again and again, until the data is there.
//! What is then ready of either thread finds fewer ports.

use super::tables::MAX_PORTS;
use super::{Core, MAX_THREADS, NEVER, WINDOW};

/// Loads that go round at a time; more are not followed.
const MAX_LOADS: usize = 32;
/// Micro-operations that one load takes along.
const FOLLOWERS: usize = 16;
/// More are forgotten.
const OWED: usize = 64;

#[derive(Debug, Clone, Copy, Default)]
struct Round {
    thread: usize,
    slot: usize,
    number: u64,
    next: u64,
    until: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Replays {
    /// Ticks of a round; 0: there is no replay.
    ticks: u64,
    loads: [Round; MAX_LOADS],
    count: usize,
    /// Thread and group of what goes to a port again as soon as one is free, in order.
    owed: Vec<(u8, u8)>,
    /// The last tick that was looked at.
    seen: u64,
}

impl Replays {
    pub(super) fn new(ticks: u64) -> Self {
        Self {
            ticks,
            loads: [Round::default(); MAX_LOADS],
            count: 0,
            owed: Vec::with_capacity(OWED),
            seen: 0,
        }
    }

    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        self.ticks > 0
    }

    /// Forgets the loads of a thread from this number on.
    pub(super) fn drop_from(&mut self, thread: usize, number: u64) {
        let mut index = 0;
        while index < self.count {
            if self.loads[index].thread == thread && self.loads[index].number >= number {
                self.count -= 1;
                self.loads[index] = self.loads[self.count];
            } else {
                index += 1;
            }
        }
    }

    fn owe(&mut self, thread: usize, group: u8) {
        if self.owed.len() < OWED {
            self.owed.push((thread as u8, group));
        }
    }
}

impl Core<'_> {
    /// A load that the scheduler took to be there at `assumed` is there at `ready`.
    pub(super) fn goes_round(&mut self, thread: usize, slot: usize, assumed: u64, ready: u64) {
        let number = self.threads[thread].number(slot);
        let replays = &mut self.replays;
        if ready > assumed && replays.count < MAX_LOADS {
            if replays.count == 0 && replays.owed.is_empty() {
                replays.seen = assumed - 1;
            }
            let round = Round { thread, slot, number, next: assumed, until: ready };
            replays.loads[replays.count] = round;
            replays.count += 1;
        }
    }

    /// The ports that what goes round leaves free at this tick.
    #[inline(never)]
    pub(super) fn replay(&mut self, tick: u64, ports: u16) -> u16 {
        let mut free = ports;
        if self.replays.count > 0 || !self.replays.owed.is_empty() {
            for at in self.replays.seen + 1..=tick {
                let whole = at.is_multiple_of(self.ticks_per_cycle);
                free = if whole { self.tables.ports } else { self.tables.fast_ports };
                self.send_round(at);
                self.take_owed(&mut free);
            }
        }
        self.replays.seen = tick;
        free
    }

    fn send_round(&mut self, at: u64) {
        let mut index = 0;
        while index < self.replays.count {
            let Round { thread, slot, next, until, .. } = self.replays.loads[index];
            // The last round is the one that finds the data: issue itself.
            let last = next + self.replays.ticks > until;
            if next <= at && !last {
                self.replays.loads[index].next = at + self.replays.ticks;
                self.send_again(thread, slot);
            }
            if last {
                self.replays.count -= 1;
                self.replays.loads[index] = self.replays.loads[self.replays.count];
            } else {
                index += 1;
            }
        }
    }

    /// Sends a load to the ports again, and what waits for nothing but it.
    fn send_again(&mut self, thread: usize, load: usize) {
        let slots = &self.threads[thread].slots;
        self.replays.owe(thread, slots[load].group);
        // Those behind, and when they would be sent: what the next round overtakes stays where it is.
        let mut found = [(load, 0); FOLLOWERS];
        let (mut count, mut next) = (1, 0);
        while next < count {
            // The load has told its own that it is on its way; those behind are not told yet.
            let pending = u8::from(next > 0);
            let (before, sent) = found[next];
            let after = sent + self.tables.latency[slots[before].class as usize];
            if after >= self.replays.ticks {
                next += 1;
                continue;
            }
            let mut link = slots[before].consumers;
            while link != u16::MAX && count < FOLLOWERS {
                let (place, source) = (usize::from(link >> 2) % WINDOW, usize::from(link & 3) % 3);
                let follower = &slots[place];
                link = follower.next[source];
                if follower.complete == NEVER && follower.pending == pending {
                    self.replays.owe(thread, follower.group);
                    found[count] = (place, after);
                    count += 1;
                }
            }
            next += 1;
        }
    }

    fn take_owed(&mut self, free: &mut u16) {
        let (ports, taken) = (&self.tables.group_ports, &mut self.taken_ports);
        self.replays.owed.retain(|(thread, group)| {
            let port = (ports[usize::from(*group) % MAX_PORTS] & *free).trailing_zeros();
            let waits = port >= u16::BITS;
            if !waits {
                *free &= !(1 << port);
                taken[usize::from(*thread) % MAX_THREADS] |= 1 << port;
            }
            waits
        });
    }
}
