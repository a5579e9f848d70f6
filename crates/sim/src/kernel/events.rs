//! What happens next: a heap of slots, in order of time, and of being scheduled where times are
//! equal.
//!
//! Every kind of event has one permanent slot: the end of a CPU's work, its tick, a task's timer.
//! Scheduling a slot again moves it, so nothing stale is kept and memory is bounded by the number of
//! slots.

/// Place of a slot that is not waiting.
const ABSENT: u32 = u32::MAX;

/// Children of a node; four make a flat heap whose comparisons stay within a cache line or two.
const ARITY: usize = 4;

/// Time, sequence and slot.
type Entry = (u64, u64, u32);

#[derive(Debug, Default)]
pub(crate) struct Events {
    heap: Vec<Entry>,
    place: Vec<u32>,
    sequence: u64,
}

impl Events {
    pub(crate) fn new(slots: usize) -> Self {
        Self { place: vec![ABSENT; slots], ..Self::default() }
    }

    pub(crate) fn grow(&mut self, slots: usize) {
        self.place.resize(slots.max(self.place.len()), ABSENT);
    }

    /// Schedules or reschedules a slot.
    #[inline]
    pub(crate) fn set(&mut self, slot: usize, at_ns: u64) {
        self.sequence += 1;
        let entry = (at_ns, self.sequence, slot as u32);
        let place = match self.place[slot] {
            ABSENT => {
                self.heap.push(entry);
                self.heap.len() - 1
            }
            place => place as usize,
        };
        self.put(place, entry);
    }

    #[inline]
    pub(crate) fn cancel(&mut self, slot: usize) {
        if self.is_set(slot) {
            self.remove(self.place[slot] as usize);
        }
    }

    #[inline]
    pub(crate) fn is_set(&self, slot: usize) -> bool {
        self.place[slot] != ABSENT
    }

    /// Takes the next slot: its time and number.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, usize)> {
        let (at_ns, _, slot) = *self.heap.first()?;
        self.remove(0);
        Some((at_ns, slot as usize))
    }

    #[inline]
    fn remove(&mut self, place: usize) {
        self.place[self.heap[place].2 as usize] = ABSENT;
        if let Some(last) = self.heap.pop()
            && place < self.heap.len()
        {
            // The last entry fills the hole.
            self.put(place, last);
        }
    }

    /// Puts an entry at a place, and on up or down to where it belongs.
    #[inline]
    fn put(&mut self, mut place: usize, entry: Entry) {
        let mut parent = place.saturating_sub(1) / ARITY;
        while place > 0 && before(&entry, &self.heap[parent]) {
            self.write(place, self.heap[parent]);
            place = parent;
            parent = place.saturating_sub(1) / ARITY;
        }
        loop {
            let first = place * ARITY + 1;
            let mut least = first;
            for child in first + 1..(first + ARITY).min(self.heap.len()) {
                if before(&self.heap[child], &self.heap[least]) {
                    least = child;
                }
            }
            if least >= self.heap.len() || before(&entry, &self.heap[least]) {
                break;
            }
            self.write(place, self.heap[least]);
            place = least;
        }
        self.write(place, entry);
    }

    #[inline(always)]
    fn write(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        self.place[entry.2 as usize] = place as u32;
    }
}

#[inline(always)]
fn before(one: &Entry, other: &Entry) -> bool {
    (one.0, one.1) < (other.0, other.1)
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
