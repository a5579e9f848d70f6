//! Replay: NetBurst sends what hangs on a load to the ports as if the load hit the first level. Where it
//! does not, load and followers go round and take their ports again and again, until the data is there.
//! What is then ready of either thread finds fewer ports.

use super::tables::{MAX_PORTS, Tables};
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
    /// Groups of itself and of those that it takes along.
    groups: [u8; FOLLOWERS],
    takes: u8,
    /// Micro-operations renamed, and of those not issued, when these were found.
    found_at: (u64, u32),
}

/// Thread and group of what goes to a port again as soon as one is free, in order.
#[derive(Debug, Clone)]
struct Owed {
    places: [(u8, u8); OWED],
    /// Places taken, a bit each: all of them, and those of each group.
    taken: u64,
    by_group: [u64; MAX_PORTS],
    /// Groups that have a place.
    groups: u16,
    /// The next place; those before it may have been left.
    next: usize,
}

impl Owed {
    fn new() -> Self {
        Self { places: [(0, 0); OWED], taken: 0, by_group: [0; MAX_PORTS], groups: 0, next: 0 }
    }

    fn push(&mut self, thread: usize, group: u8) {
        if self.taken == u64::MAX {
            return;
        }
        if self.next == OWED {
            self.close_up();
        }
        self.place(thread as u8, group);
    }

    fn place(&mut self, thread: u8, group: u8) {
        let bit = 1 << self.next;
        self.places[self.next % OWED] = (thread, group);
        self.taken |= bit;
        self.by_group[usize::from(group) % MAX_PORTS] |= bit;
        self.groups |= 1 << (group % 16);
        self.next += 1;
    }

    /// Moves all to the first places, in order.
    fn close_up(&mut self) {
        let mut left = self.taken;
        let before = std::mem::replace(self, Self::new());
        while left != 0 {
            let (thread, group) = before.places[left.trailing_zeros() as usize % OWED];
            left &= left - 1;
            self.place(thread, group);
        }
    }

    /// Lets each take the first free port of its group, in order; `each` is told thread and port.
    #[inline(always)]
    fn take(&mut self, tables: &Tables, free: &mut u16, mut each: impl FnMut(u8, u16)) {
        let mut left = self.taken & !self.of(self.groups & tables.closed[usize::from(*free)]);
        while left != 0 {
            let place = left.trailing_zeros() as usize % OWED;
            let (thread, group) = self.places[place];
            let group = usize::from(group) % MAX_PORTS;
            let port = tables.group_ports[group] & *free;
            let port = port & port.wrapping_neg();
            *free &= !port;
            each(thread, port);
            self.taken &= !(1 << place);
            self.by_group[group] &= !(1 << place);
            self.groups &= !(u16::from(self.by_group[group] == 0) << group);
            left &= self.taken & !self.of(self.groups & tables.closed[usize::from(*free)]);
        }
        if self.taken == 0 {
            self.next = 0;
        }
    }

    /// The places of these groups.
    #[inline(always)]
    fn of(&self, groups: u16) -> u64 {
        let (mut all, mut left) = (0, groups);
        while left != 0 {
            all |= self.by_group[left.trailing_zeros() as usize % MAX_PORTS];
            left &= left - 1;
        }
        all
    }
}

#[derive(Debug, Clone)]
pub(super) struct Replays {
    /// Ticks of a round; 0: there is no replay.
    ticks: u64,
    loads: [Round; MAX_LOADS],
    count: usize,
    /// No load is sent, or leaves, before this tick.
    due: u64,
    owed: Owed,
    /// The last tick that was looked at.
    seen: u64,
}

impl Replays {
    pub(super) fn new(ticks: u64) -> Self {
        let loads = [Round::default(); MAX_LOADS];
        Self { ticks, loads, count: 0, due: 0, owed: Owed::new(), seen: 0 }
    }

    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        self.ticks > 0
    }

    /// What loads take along is to be found anew.
    pub(super) fn forget_followers(&mut self) {
        for load in &mut self.loads[..self.count] {
            load.takes = 0;
        }
    }

    /// Forgets the loads of a thread from this number on.
    pub(super) fn drop_from(&mut self, thread: usize, number: u64) {
        self.forget_followers();
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
}

impl Core<'_> {
    /// A load that the scheduler took to be there at `assumed` is there at `ready`.
    pub(super) fn goes_round(&mut self, thread: usize, slot: usize, assumed: u64, ready: u64) {
        let number = self.threads[thread].number(slot);
        let replays = &mut self.replays;
        if ready > assumed && replays.count < MAX_LOADS {
            if replays.count == 0 && replays.owed.taken == 0 {
                replays.seen = assumed - 1;
            }
            let (next, until) = (assumed, ready);
            let round = Round { thread, slot, number, next, until, ..Round::default() };
            replays.loads[replays.count] = round;
            replays.count += 1;
            replays.due = 0;
        }
    }

    /// The ports that what goes round leaves free at this tick.
    #[inline(always)]
    pub(super) fn replay(&mut self, tick: u64, ports: u16) -> u16 {
        let due = self.replays.count > 0 && self.replays.due <= tick;
        let free = match due || self.replays.owed.taken != 0 {
            true => self.replay_until(tick, ports),
            false => ports,
        };
        self.replays.seen = tick;
        free
    }

    #[inline(never)]
    fn replay_until(&mut self, tick: u64, ports: u16) -> u16 {
        let mut free = ports;
        let mut at = self.replays.seen + 1;
        while at <= tick {
            if self.replays.due <= at {
                self.send_round(at);
            }
            free = if self.begins_cycle(at) { self.tables.ports } else { self.tables.fast_ports };
            if self.replays.owed.taken != 0 {
                let taken = &mut self.taken_ports;
                self.replays.owed.take(&self.tables, &mut free, |thread, port| {
                    taken[usize::from(thread) % MAX_THREADS] |= port;
                });
                at += 1;
            } else {
                // Nothing happens until the next load is due; the last tick's ports are asked for.
                at = (at + 1).max(self.replays.due.min(tick));
            }
        }
        free
    }

    #[inline(never)]
    fn send_round(&mut self, at: u64) {
        let mut index = 0;
        let mut due = NEVER;
        while index < self.replays.count {
            let Round { next, until, .. } = self.replays.loads[index];
            // The last round is the one that finds the data: issue itself.
            let last = next + self.replays.ticks > until;
            if last {
                self.replays.count -= 1;
                self.replays.loads[index] = self.replays.loads[self.replays.count];
                continue;
            }
            if next <= at {
                let next = at + self.replays.ticks;
                self.replays.loads[index].next = next;
                self.send_again(index);
                // If that was its last but one, it leaves at the next tick.
                due = due.min(if next + self.replays.ticks > until { at + 1 } else { next });
            } else {
                due = due.min(next);
            }
            index += 1;
        }
        self.replays.due = due;
    }

    /// Sends a load to the ports again, and what waits for nothing but it.
    #[inline(always)]
    fn send_again(&mut self, index: usize) {
        let round = &self.replays.loads[index % MAX_LOADS];
        let state = &self.threads[round.thread];
        let now = (state.renamed, state.waiting);
        if round.takes == 0 || round.found_at != now {
            self.find_followers(index, now);
        }
        let Replays { loads, owed, .. } = &mut self.replays;
        let round = &loads[index % MAX_LOADS];
        for group in &round.groups[..usize::from(round.takes).min(FOLLOWERS)] {
            owed.push(round.thread, *group);
        }
    }

    /// Finds those behind a load, and when they would be sent: what the next round overtakes stays where
    /// it is. Until its thread renames, issues or lets a locked operation go, they stay the same.
    #[inline(never)]
    fn find_followers(&mut self, index: usize, now: (u64, u32)) {
        let Replays { loads, ticks, .. } = &mut self.replays;
        let round = &mut loads[index];
        let slots = &self.threads[round.thread].slots;
        let mut found = [(round.slot, 0); FOLLOWERS];
        round.groups[0] = slots[round.slot].group;
        let (mut count, mut next) = (1, 0);
        while next < count {
            // The load has told its own that it is on its way; those behind are not told yet.
            let pending = u8::from(next > 0);
            let (before, sent) = found[next];
            next += 1;
            let after = sent + self.tables.latency[slots[before].class as usize];
            if after >= *ticks {
                continue;
            }
            let mut link = slots[before].consumers;
            while link != u16::MAX && count < FOLLOWERS {
                let (place, source) = (usize::from(link >> 2) % WINDOW, usize::from(link & 3) % 3);
                let follower = &slots[place];
                link = follower.next[source];
                if follower.complete == NEVER && follower.pending == pending {
                    round.groups[count] = follower.group;
                    found[count] = (place, after);
                    count += 1;
                }
            }
        }
        (round.takes, round.found_at) = (count as u8, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Preset;
    use coretwin_base::random::Stream;

    #[test]
    fn each_that_is_owed_takes_the_first_free_port_in_order() {
        let preset = Preset::named("p4-northwood").expect("a preset");
        let tables = Tables::new(&preset, 2);
        let mut draws = Stream::new(1, "owed", 0);
        let (mut owed, mut plain): (Owed, Vec<(u8, u8)>) = (Owed::new(), Vec::new());
        let mut forgotten = 0;
        for tick in 0..20_000 {
            for _ in 0..draws.next_u64() % 6 {
                let one = (
                    (draws.next_u64() % 2) as u8,
                    (draws.next_u64() % tables.group_count as u64) as u8,
                );
                owed.push(usize::from(one.0), one.1);
                if plain.len() < OWED { plain.push(one) } else { forgotten += 1 }
            }
            let ports = if tick % 2 == 0 { tables.ports } else { tables.fast_ports };
            let (mut free, mut took) = (ports, Vec::new());
            owed.take(&tables, &mut free, |thread, port| took.push((thread, port)));
            let (mut free_too, mut took_too) = (ports, Vec::new());
            plain.retain(|(thread, group)| {
                let fitting = tables.group_ports[usize::from(*group)] & free_too;
                let port = fitting & fitting.wrapping_neg();
                free_too &= !port;
                if port != 0 {
                    took_too.push((*thread, port));
                }
                port == 0
            });
            assert_eq!((free, took), (free_too, took_too), "tick {tick}");
        }
        assert!(forgotten > 0, "more were owed than are kept");
    }
}
