//! Row `shared_memory`: a segment of SysV shared memory and a semaphore made, a hundred messages
//! put in and taken out under the semaphore, and both removed. The original's key is its process
//! number; ours is one that the worker has claimed, so that a killed run leaves nothing.

use super::messages::{LARGEST, SIZES};
use super::native::segment::Segment;
use super::{Call, Place};
use crate::{Error, sys};
use std::io;

/// Messages of a call; here all are moved that are credited.
const MESSAGES: u32 = 100;

struct SharedMemory {
    key: i32,
    turn: usize,
    calls: u64,
    right: bool,
}

impl SharedMemory {
    fn one_call(&mut self) -> io::Result<()> {
        let segment = sys::segment_create(self.key, LARGEST)?;
        let semaphore = sys::semaphores_create(self.key, 1)?;
        let mut memory = Segment::attach(segment, LARGEST)?;
        sys::semaphore_set(semaphore, 0, 1)?;
        let message = [b'm'; LARGEST];
        let mut taken = [0; LARGEST];
        for _ in 0..MESSAGES {
            let size = SIZES[self.turn % SIZES.len()];
            self.turn += 1;
            sys::semaphore_operate(semaphore, 0, -1)?;
            memory.put(&message[..size]);
            sys::semaphore_operate(semaphore, 0, 1)?;
            sys::semaphore_operate(semaphore, 0, -1)?;
            memory.take(&mut taken[..size]);
            sys::semaphore_operate(semaphore, 0, 1)?;
        }
        self.right &= taken.starts_with(b"m");
        drop(memory);
        sys::segment_remove(segment)?;
        sys::semaphores_remove(semaphore)?;
        self.calls += 1;
        Ok(())
    }
}

impl Call for SharedMemory {
    fn call(&mut self) -> Result<(), Error> {
        self.one_call().map_err(|error| {
            Error::system("cannot use SysV shared memory and semaphores here", error)
        })
    }

    fn checks(&mut self) -> Vec<(&'static str, bool)> {
        let messages = self.calls * u64::from(MESSAGES);
        vec![("messages_counted", self.right && self.turn as u64 == messages)]
    }
}

pub(super) fn shared_memory(place: &Place) -> Result<Box<dyn Call>, Error> {
    let key = place.key.ok_or_else(|| Error::failed("no key was claimed for shared memory"))?;
    Ok(Box::new(SharedMemory { key, turn: 0, calls: 0, right: true }))
}
