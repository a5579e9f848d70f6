//! What happens next: a heap of slots, in order of time, and of being scheduled where times are
//! equal.
//!
//! Every kind of event has one permanent slot: the end of a CPU's work, its tick, a task's timer.
//! Scheduling a slot again moves it, so nothing stale is kept and memory is bounded by the number of
//! slots. Each operation takes logarithmic time in the slots that are waiting.

/// A slot that is not waiting.
const ABSENT: u32 = u32::MAX;

/// Children of a node; four make a flat heap whose comparisons stay within a cache line or two.
const ARITY: usize = 4;

#[derive(Debug, Clone, Copy)]
struct Entry {
    at_ns: u64,
    sequence: u64,
    slot: u32,
}

impl Entry {
    #[inline(always)]
    fn before(&self, other: &Self) -> bool {
        (self.at_ns, self.sequence) < (other.at_ns, other.sequence)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Events {
    heap: Vec<Entry>,
    place: Vec<u32>,
    sequence: u64,
}

impl Events {
    pub(crate) fn new(slots: usize) -> Self {
        Self { heap: Vec::new(), place: vec![ABSENT; slots], sequence: 0 }
    }

    /// Makes room for slots up to this number.
    pub(crate) fn grow(&mut self, slots: usize) {
        if slots > self.place.len() {
            self.place.resize(slots, ABSENT);
        }
    }

    /// Schedules or reschedules a slot.
    #[inline]
    pub(crate) fn set(&mut self, slot: usize, at_ns: u64) {
        self.sequence += 1;
        let entry = Entry { at_ns, sequence: self.sequence, slot: slot as u32 };
        let place = self.place[slot];
        if place == ABSENT {
            self.heap.push(entry);
            self.up(self.heap.len() - 1, entry);
        } else {
            let earlier = entry.before(&self.heap[place as usize]);
            match earlier {
                true => self.up(place as usize, entry),
                false => self.down(place as usize, entry),
            }
        }
    }

    /// Cancels a slot, if it is waiting.
    #[inline]
    pub(crate) fn cancel(&mut self, slot: usize) {
        let place = self.place[slot];
        if place != ABSENT {
            self.remove(place as usize);
        }
    }

    #[inline]
    pub(crate) fn is_set(&self, slot: usize) -> bool {
        self.place[slot] != ABSENT
    }

    /// Takes the next slot: its time and number.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, usize)> {
        let first = *self.heap.first()?;
        self.remove(0);
        Some((first.at_ns, first.slot as usize))
    }

    #[inline]
    fn remove(&mut self, place: usize) {
        self.place[self.heap[place].slot as usize] = ABSENT;
        let Some(last) = self.heap.pop() else { return };
        if place == self.heap.len() {
            return;
        }
        // The last entry fills the hole; it may belong above or below it.
        if place > 0 && last.before(&self.heap[(place - 1) / ARITY]) {
            self.up(place, last);
        } else {
            self.down(place, last);
        }
    }

    #[inline]
    fn up(&mut self, mut place: usize, entry: Entry) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if !entry.before(&self.heap[parent]) {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    #[inline]
    fn down(&mut self, mut place: usize, entry: Entry) {
        loop {
            let first = place * ARITY + 1;
            let end = (first + ARITY).min(self.heap.len());
            if first >= end {
                break;
            }
            let mut least = first;
            for child in first + 1..end {
                if self.heap[child].before(&self.heap[least]) {
                    least = child;
                }
            }
            if !self.heap[least].before(&entry) {
                break;
            }
            self.put(place, self.heap[least]);
            place = least;
        }
        self.put(place, entry);
    }

    #[inline(always)]
    fn put(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        self.place[entry.slot as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::random::Stream;
    use std::collections::BTreeSet;

    #[test]
    fn slots_come_in_order_of_time_then_of_being_scheduled() {
        let mut events = Events::new(4);
        events.set(0, 5);
        events.set(1, 5);
        events.set(2, 3);
        events.set(0, 5);
        let order: Vec<_> = std::iter::from_fn(|| events.pop()).collect();
        assert_eq!(order, [(3, 2), (5, 1), (5, 0)], "slot 0 was scheduled last");
    }

    #[test]
    fn it_agrees_with_a_sorted_set_under_random_use() {
        let mut stream = Stream::new(1, "events", 0);
        let (mut events, mut sorted) = (Events::new(50), BTreeSet::new());
        let mut waiting = [None; 50];
        for sequence in 1..20_000u64 {
            let slot = stream.below(50) as usize;
            match stream.below(4) {
                0 => {
                    events.cancel(slot);
                    waiting[slot].take().map(|key| sorted.remove(&key));
                }
                1 => {
                    let first = sorted.pop_first();
                    assert_eq!(events.pop(), first.map(|(at_ns, _, slot)| (at_ns, slot)));
                    if let Some((_, _, slot)) = first {
                        waiting[slot] = None;
                    }
                }
                _ => {
                    let key = (stream.below(100), sequence, slot);
                    events.set(slot, key.0);
                    if let Some(old) = waiting[slot].replace(key) {
                        sorted.remove(&old);
                    }
                    sorted.insert(key);
                }
            }
            assert_eq!(events.is_set(slot), waiting[slot].is_some());
        }
    }
}
