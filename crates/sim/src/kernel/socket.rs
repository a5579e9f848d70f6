//! One direction of a loopback connection, or a pipe: bytes, and the tasks that wait for them or for room.
//!
//! A connection with segments follows Nagle's algorithm (RFC 896): while a segment is unacknowledged,
//! what is written waits at the sender. The reader acknowledges when it has read all that arrived
//! (Linux 2.4, `cleanup_rbuf`: the queue is empty and there was a small segment), and on loopback what
//! waited is then sent from the reader's own call. So the way of all but the first message of a burst
//! is the reader's work, and one segment takes as many messages as were written meanwhile.

use super::{SocketSpec, TaskId};
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) spec: SocketSpec,
    /// Bytes that a reader finds.
    pub(crate) held_bytes: u64,
    /// Bytes that wait for an acknowledgement to be sent.
    unsent_bytes: u64,
    /// Whether a segment is not acknowledged.
    unacknowledged: bool,
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
        Self { spec, held_bytes: 0, unsent_bytes: 0, unacknowledged: false, readers, writers }
    }

    fn free_bytes(&self) -> u64 {
        self.spec.buffer_bytes - self.held_bytes - self.unsent_bytes
    }

    /// Puts in as many of these bytes as there is room for; a reader that waits may go on.
    pub(crate) fn put(&mut self, bytes: u64) -> Moved {
        let bytes = bytes.min(self.free_bytes());
        if self.unacknowledged {
            self.unsent_bytes += bytes;
            return Moved { bytes, wakes: None, half_ways: 0 };
        }
        self.held_bytes += bytes;
        self.unacknowledged = bytes > 0 && self.spec.segment_ns > 0;
        let wakes = if bytes > 0 { self.readers.pop_front() } else { None };
        Moved { bytes, wakes, half_ways: u64::from(self.unacknowledged) }
    }

    /// Takes out as many of these bytes as there are. A writer that waits may go on once a third of
    /// the buffer is free, so that it is not woken for every few bytes (as Linux, `sk_stream_wspace`).
    pub(crate) fn take(&mut self, bytes: u64) -> Moved {
        let (mut taken, mut half_ways) = (0, 0);
        loop {
            let now = (bytes - taken).min(self.held_bytes);
            self.held_bytes -= now;
            taken += now;
            if self.held_bytes > 0 || !self.unacknowledged {
                break;
            }
            // All is read: the acknowledgement goes out, and what waited for it comes in.
            self.held_bytes = std::mem::take(&mut self.unsent_bytes);
            self.unacknowledged = self.held_bytes > 0;
            half_ways += 1 + u64::from(self.unacknowledged);
        }
        let room = taken > 0 && self.has_room();
        let wakes = if room { self.writers.pop_front() } else { None };
        Moved { bytes: taken, wakes, half_ways }
    }

    fn has_room(&self) -> bool {
        self.free_bytes() * 3 >= self.spec.buffer_bytes
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
        assert_eq!(socket.put(7), moved(7, Some(TaskId(1)), 0));
        assert_eq!(socket.put(7), moved(2, None, 0));
        assert_eq!(socket.put(7), moved(0, None, 0));
        socket.writers.push_back(TaskId(2));
        assert_eq!(socket.take(2), moved(2, None, 0), "less than a third is free");
        assert_eq!(socket.take(1), moved(1, Some(TaskId(2)), 0));
        socket.readers.push_back(TaskId(3));
        assert_eq!(socket.next_reader(), Some(TaskId(3)));
        assert_eq!((socket.take(99).bytes, socket.held_bytes), (6, 0));
    }

    #[test]
    fn small_writes_wait_for_one_segment_until_what_was_sent_is_read() {
        let mut socket = Socket::new(SocketSpec { segment_ns: 1, ..SocketSpec::of(900) });
        socket.readers.push_back(TaskId(1));
        assert_eq!(socket.put(100), moved(100, Some(TaskId(1)), 1), "the first goes at once");
        for _ in 0..8 {
            assert_eq!(socket.put(100), moved(100, None, 0));
        }
        assert_eq!(socket.put(100), moved(0, None, 0), "what waits takes room too");
        assert_eq!(socket.take(50), moved(50, None, 0), "something is left: no acknowledgement");
        assert_eq!(socket.take(100), moved(100, None, 2), "the rest comes within one call");
        assert_eq!((socket.take(1000), socket.held_bytes), (moved(750, None, 1), 0));
        assert_eq!(socket.put(100), moved(100, None, 1), "all is acknowledged: at once again");
    }
}
