//! One direction of a loopback connection, or a pipe: bytes, and the tasks that wait for them or for room.
//!
//! A connection with segments follows Nagle's algorithm (RFC 896): while a segment is unacknowledged,
//! what is written waits at the sender. The reader acknowledges when it has read all that arrived
//! (Linux 2.4, `cleanup_rbuf`: the queue is empty and there was a small segment), and on loopback what
//! waited is then sent from the reader's own call. So the way of all but the first message of a burst
//! is the reader's work, and one segment takes as many messages as were written meanwhile.
//!
//! Linux of today differs in three points. The first segments are acknowledged at once
//! (TCP_MAX_QUICKACKS), and those after a pause of more than a retransmission timeout (`tcp_event_data_recv`), at least
//! 200 ms (TCP_RTO_MIN). A segment takes 17 pieces of memory (MAX_SKB_FRAGS), and every writer has memory of
//! its own, so that where many write to many a segment is full with 17 writes; a full one does not wait
//! (Nagle's test is of the last one alone). And a reader acknowledges at its first read where more is
//! unacknowledged than the longest segment so far (`tcp_cleanup_rbuf`; RFC 1122: every second segment);
//! without a read nothing is, for the window has not moved.

use super::{SocketSpec, TaskId};
use std::collections::VecDeque;

/// What a receiver takes for the longest segment before it has seen one (TCP_MSS_DEFAULT).
const LONGEST_LEAST: u64 = 536;

/// A pause between segments after which they are acknowledged at once again.
const PAUSE_NS: u64 = 200_000_000;

#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) spec: SocketSpec,
    /// Bytes that a reader finds.
    pub(crate) held_bytes: u64,
    /// Bytes that wait for an acknowledgement to be sent.
    unsent_bytes: u64,
    unsent_writes: u32,
    /// Bytes of segments that are not acknowledged.
    unacknowledged_bytes: u64,
    longest_bytes: u64,
    /// Segments that will still be acknowledged as they come.
    quick: u32,
    arrived_ns: u64,
    /// Tasks that wait for bytes; and for room.
    pub(crate) readers: VecDeque<TaskId>,
    pub(crate) writers: VecDeque<TaskId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) bytes: u64,
    pub(crate) wakes: Option<TaskId>,
    /// Halves of segments' ways, which the caller pays for: the way down and through the loopback,
    /// and the way up with the acknowledgement.
    pub(crate) half_ways: u64,
}

impl Socket {
    pub(crate) fn new(spec: SocketSpec) -> Self {
        let (readers, writers) = (VecDeque::new(), VecDeque::new());
        Self {
            spec,
            held_bytes: 0,
            unsent_bytes: 0,
            unsent_writes: 0,
            unacknowledged_bytes: 0,
            longest_bytes: LONGEST_LEAST,
            quick: spec.quick_segments,
            arrived_ns: 0,
            readers,
            writers,
        }
    }

    fn free_bytes(&self) -> u64 {
        self.spec.buffer_bytes - self.held_bytes - self.unsent_bytes
    }

    /// A segment comes to the reader. Returns the halves of ways: its own, and the acknowledgement's if it
    /// goes out at once.
    fn arrives(&mut self, bytes: u64, now_ns: u64) -> u64 {
        self.held_bytes += bytes;
        if self.spec.segment_ns == 0 || bytes == 0 {
            return 0;
        }
        self.longest_bytes = self.longest_bytes.max(bytes);
        self.unacknowledged_bytes += bytes;
        if now_ns - self.arrived_ns > PAUSE_NS {
            self.quick = self.spec.quick_segments;
        }
        self.arrived_ns = now_ns;
        if self.quick == 0 {
            return 1;
        }
        self.quick -= 1;
        self.unacknowledged_bytes = 0;
        2
    }

    /// Sends what waited.
    fn send_on(&mut self, now_ns: u64) -> u64 {
        self.unsent_writes = 0;
        let bytes = std::mem::take(&mut self.unsent_bytes);
        self.arrives(bytes, now_ns)
    }

    /// Puts in as many of these bytes as there is room for; a reader that waits may go on.
    pub(crate) fn put(&mut self, bytes: u64, now_ns: u64) -> Moved {
        let bytes = bytes.min(self.free_bytes());
        let half_ways = if self.unacknowledged_bytes > 0 {
            // A segment that is full goes, and this write begins the next.
            let full =
                self.spec.segment_writes > 0 && self.unsent_writes >= self.spec.segment_writes;
            let half_ways = if full { self.send_on(now_ns) } else { 0 };
            if self.unacknowledged_bytes == 0 {
                half_ways + self.arrives(bytes, now_ns)
            } else {
                self.unsent_bytes += bytes;
                self.unsent_writes += 1;
                if half_ways == 0 {
                    return Moved { bytes, wakes: None, half_ways };
                }
                half_ways
            }
        } else {
            self.arrives(bytes, now_ns)
        };
        let wakes = if bytes > 0 { self.readers.pop_front() } else { None };
        Moved { bytes, wakes, half_ways }
    }

    /// Takes out as many of these bytes as there are. A writer that waits may go on once enough of the
    /// buffer is free, so that it is not woken for every few bytes.
    pub(crate) fn take(&mut self, bytes: u64, now_ns: u64) -> Moved {
        let (mut taken, mut half_ways) = (0, 0);
        loop {
            let now = (bytes - taken).min(self.held_bytes);
            self.held_bytes -= now;
            taken += now;
            let waits = self.held_bytes > 0 && self.unacknowledged_bytes <= self.longest_bytes;
            if waits || self.unacknowledged_bytes == 0 || taken == 0 {
                break;
            }
            // The acknowledgement goes out, and what waited for it comes in.
            self.unacknowledged_bytes = 0;
            half_ways += 1 + self.send_on(now_ns);
        }
        let room = taken > 0 && self.has_room();
        let wakes = if room { self.writers.pop_front() } else { None };
        Moved { bytes: taken, wakes, half_ways }
    }

    fn has_room(&self) -> bool {
        let [part, of] = self.spec.room;
        self.free_bytes() * of >= self.spec.buffer_bytes * part
    }

    pub(crate) fn next_reader(&mut self) -> Option<TaskId> {
        if self.held_bytes > 0 { self.readers.pop_front() } else { None }
    }

    pub(crate) fn next_writer(&mut self) -> Option<TaskId> {
        if self.has_room() { self.writers.pop_front() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(bytes: u64, wakes: Option<TaskId>, half_ways: u64) -> Moved {
        Moved { bytes, wakes, half_ways }
    }

    #[test]
    fn bytes_and_room_wake_who_waits() {
        let mut socket = Socket::new(SocketSpec::of(9));
        socket.readers.push_back(TaskId(1));
        assert_eq!(socket.put(7, 0), moved(7, Some(TaskId(1)), 0));
        assert_eq!(socket.put(7, 0), moved(2, None, 0));
        assert_eq!(socket.put(7, 0), moved(0, None, 0));
        socket.writers.push_back(TaskId(2));
        assert_eq!(socket.take(2, 0), moved(2, None, 0), "less than a third is free");
        assert_eq!(socket.take(1, 0), moved(1, Some(TaskId(2)), 0));
        socket.readers.push_back(TaskId(3));
        assert_eq!(socket.next_reader(), Some(TaskId(3)));
        assert_eq!((socket.take(99, 0).bytes, socket.held_bytes), (6, 0));
    }

    #[test]
    fn small_writes_wait_for_one_segment_until_what_was_sent_is_read() {
        let mut socket = Socket::new(SocketSpec { segment_ns: 1, ..SocketSpec::of(900) });
        socket.readers.push_back(TaskId(1));
        assert_eq!(socket.put(100, 0), moved(100, Some(TaskId(1)), 1), "the first goes at once");
        for _ in 0..8 {
            assert_eq!(socket.put(100, 0), moved(100, None, 0));
        }
        assert_eq!(socket.put(100, 0), moved(0, None, 0), "what waits takes room too");
        assert_eq!(socket.take(50, 0), moved(50, None, 0), "something is left: no acknowledgement");
        assert_eq!(socket.take(100, 0), moved(100, None, 2), "the rest comes within one call");
        assert_eq!((socket.take(1000, 0), socket.held_bytes), (moved(750, None, 1), 0));
        assert_eq!(socket.put(100, 0), moved(100, None, 1), "all is acknowledged: at once again");
    }

    #[test]
    fn first_segments_are_acknowledged_at_once() {
        let spec = SocketSpec { segment_ns: 1, quick_segments: 2, ..SocketSpec::of(900) };
        let mut socket = Socket::new(spec);
        let ways: Vec<u64> = (0..4).map(|_| socket.put(100, 0).half_ways).collect();
        assert_eq!(ways, [2, 2, 1, 0]);
        assert_eq!(socket.held_bytes, 300, "the fourth waits for the third");
    }

    #[test]
    fn after_a_pause_segments_are_acknowledged_at_once_again_and_nothing_is_left_to_wait() {
        let spec = SocketSpec {
            segment_ns: 1,
            quick_segments: 1,
            segment_writes: 2,
            ..SocketSpec::of(9000)
        };
        let mut socket = Socket::new(spec);
        let ways: Vec<u64> = (0..4).map(|_| socket.put(100, 0).half_ways).collect();
        assert_eq!(ways, [2, 1, 0, 0]);
        // The full segment goes and is acknowledged, so that the next write need not wait.
        assert_eq!(socket.put(100, PAUSE_NS + 1).half_ways, 3);
        assert_eq!((socket.held_bytes, socket.take(500, PAUSE_NS + 2).bytes), (500, 500));
    }

    #[test]
    fn a_full_segment_does_not_wait_and_the_first_read_acknowledges_several() {
        let spec = SocketSpec { segment_ns: 1, segment_writes: 3, ..SocketSpec::of(9000) };
        let mut socket = Socket::new(spec);
        let ways: Vec<u64> = (0..8).map(|_| socket.put(100, 0).half_ways).collect();
        // One goes; three fill a segment, which the fifth sends; three more, which the eighth sends.
        assert_eq!(ways, [1, 0, 0, 0, 1, 0, 0, 1]);
        assert_eq!(socket.held_bytes, 700);
        // 700 bytes are more than 536: acknowledged, and the eighth message comes.
        assert_eq!(socket.take(100, 0), moved(100, None, 2));
        assert_eq!((socket.held_bytes, socket.take(100, 0).half_ways), (700, 0));
        socket.put(100, 0);
        assert_eq!(socket.take(600, 0), moved(600, None, 2), "all is read: the ninth comes");
        socket.readers.push_back(TaskId(1));
        assert_eq!(socket.take(100, 0), moved(100, None, 1));
        assert_eq!(socket.put(100, 0), moved(100, Some(TaskId(1)), 1));
    }
}
