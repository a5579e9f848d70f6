//! One direction of a loopback connection, or a pipe: bytes, and who waits for them or for room.

use super::view::TaskId;
use super::work::SocketSpec;
use std::collections::VecDeque;

/// The socket.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) spec: SocketSpec,
    held_bytes: u64,
    readers: VecDeque<TaskId>,
    writers: VecDeque<TaskId>,
}

/// What an access did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moved {
    /// Bytes put in or taken out.
    pub(crate) bytes: u64,
    /// Who can go on now.
    pub(crate) wakes: Option<TaskId>,
}

impl Socket {
    pub(crate) fn new(spec: SocketSpec) -> Self {
        Self { spec, held_bytes: 0, readers: VecDeque::new(), writers: VecDeque::new() }
    }

    /// Puts in as many of these bytes as there is room for; a reader that waits may go on.
    pub(crate) fn put(&mut self, bytes: u64) -> Moved {
        let bytes = bytes.min(self.spec.buffer_bytes - self.held_bytes);
        self.held_bytes += bytes;
        let wakes = if bytes > 0 { self.readers.pop_front() } else { None };
        Moved { bytes, wakes }
    }

    /// Takes out as many of these bytes as there are. A writer that waits may go on once a third of
    /// the buffer is free, so that it is not woken for every few bytes (as Linux, `sk_stream_wspace`).
    pub(crate) fn take(&mut self, bytes: u64) -> Moved {
        let bytes = bytes.min(self.held_bytes);
        self.held_bytes -= bytes;
        let free = self.spec.buffer_bytes - self.held_bytes;
        let room = bytes > 0 && free * 3 >= self.spec.buffer_bytes;
        Moved { bytes, wakes: if room { self.writers.pop_front() } else { None } }
    }

    /// Another reader that can go on with what is left.
    pub(crate) fn next_reader(&mut self) -> Option<TaskId> {
        if self.held_bytes > 0 { self.readers.pop_front() } else { None }
    }

    /// Another writer that can go on with the room that is left.
    pub(crate) fn next_writer(&mut self) -> Option<TaskId> {
        let free = self.spec.buffer_bytes - self.held_bytes;
        if free * 3 >= self.spec.buffer_bytes { self.writers.pop_front() } else { None }
    }

    pub(crate) fn wait_for_bytes(&mut self, task: TaskId) {
        self.readers.push_back(task);
    }

    pub(crate) fn wait_for_room(&mut self, task: TaskId) {
        self.writers.push_back(task);
    }

    pub(crate) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_room_wake_who_waits() {
        let mut socket = Socket::new(SocketSpec { buffer_bytes: 9, sync: false });
        socket.wait_for_bytes(TaskId(1));
        assert_eq!(socket.put(7), Moved { bytes: 7, wakes: Some(TaskId(1)) });
        assert_eq!(socket.put(7), Moved { bytes: 2, wakes: None });
        assert_eq!(socket.put(7), Moved { bytes: 0, wakes: None });
        socket.wait_for_room(TaskId(2));
        assert_eq!(socket.take(2), Moved { bytes: 2, wakes: None }, "less than a third is free");
        assert_eq!(socket.take(1), Moved { bytes: 1, wakes: Some(TaskId(2)) });
        socket.wait_for_bytes(TaskId(3));
        assert_eq!(socket.next_reader(), Some(TaskId(3)));
        assert_eq!((socket.take(99).bytes, socket.held_bytes()), (6, 0));
    }
}
