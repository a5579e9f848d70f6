//! Counting semaphores, of the original's kind (SysV) or on futexes.

use super::protocol::Waiting;
use crate::sys;
use rustix::io::Errno;
use rustix::thread::futex;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// A set of counting semaphores, all 0 at first. Dropping it removes it.
pub(crate) enum GateSet {
    Semaphores(i32),
    Futexes(Vec<FutexSemaphore>),
}

impl GateSet {
    /// Makes a set; `key` counts from the base of the run.
    pub(crate) fn new(waiting: Waiting, key: u32, count: u32) -> io::Result<Self> {
        match waiting {
            Waiting::Semaphores { base } => {
                sys::semaphores_create(base.wrapping_add_unsigned(key), count).map(Self::Semaphores)
            }
            Waiting::Futexes => {
                Ok(Self::Futexes((0..count).map(|_| FutexSemaphore::default()).collect()))
            }
        }
    }

    /// Sets a semaphore that has no waiters yet.
    pub(crate) fn set(&self, index: u16, value: u32) -> io::Result<()> {
        match self {
            Self::Semaphores(set) => {
                sys::semaphore_set(*set, index, value.try_into().map_err(|_| Errno::RANGE)?)
            }
            Self::Futexes(gates) => gate(gates, index).map(|gate| gate.value.store(value, SeqCst)),
        }
    }

    pub(crate) fn add(&self, index: u16, count: u32) -> io::Result<()> {
        match self {
            Self::Semaphores(set) => {
                let count = count.try_into().map_err(|_| Errno::RANGE)?;
                sys::semaphore_operate(*set, index, count)
            }
            Self::Futexes(gates) => gate(gates, index)?.add(count),
        }
    }

    /// Takes one from a semaphore; waits while it is 0.
    pub(crate) fn take(&self, index: u16) -> io::Result<()> {
        match self {
            Self::Semaphores(set) => sys::semaphore_operate(*set, index, -1),
            Self::Futexes(gates) => gate(gates, index)?.take(),
        }
    }

    pub(crate) fn wait_for_zero(&self, index: u16) -> io::Result<()> {
        match self {
            Self::Semaphores(set) => sys::semaphore_operate(*set, index, 0),
            Self::Futexes(gates) => gate(gates, index)?.wait_for_zero(),
        }
    }

    /// Removes the set: present and later waiters get an error.
    pub(crate) fn close(&self) {
        match self {
            // An error means that it is gone already.
            Self::Semaphores(set) => drop(sys::semaphores_remove(*set)),
            Self::Futexes(gates) => gates.iter().for_each(FutexSemaphore::close),
        }
    }
}

impl Drop for GateSet {
    fn drop(&mut self) {
        self.close();
    }
}

fn gate(gates: &[FutexSemaphore], index: u16) -> io::Result<&FutexSemaphore> {
    gates.get(usize::from(index)).ok_or_else(|| Errno::FBIG.into())
}

const CLOSED: u32 = 1 << 31;

/// A counting semaphore on a futex. A waiter counts itself first and sleeps only if the value is
/// still what it saw; a task that changes the value reads the counts afterwards; so no wake-up is
/// lost.
#[derive(Debug, Default)]
pub(crate) struct FutexSemaphore {
    value: AtomicU32,
    takers: AtomicU32,
    waiters_for_zero: AtomicU32,
}

impl FutexSemaphore {
    fn add(&self, count: u32) -> io::Result<()> {
        let before = self.value.fetch_add(count, SeqCst);
        if before & CLOSED != 0 {
            return Err(Errno::IDRM.into());
        }
        if self.takers.load(SeqCst) > 0 {
            self.wake(count);
        }
        Ok(())
    }

    fn take(&self) -> io::Result<()> {
        loop {
            let value = self.value.load(SeqCst);
            if value & CLOSED != 0 {
                return Err(Errno::IDRM.into());
            }
            if value == 0 {
                self.sleep(&self.takers, 0);
            } else if self.value.compare_exchange_weak(value, value - 1, SeqCst, SeqCst).is_ok() {
                if value == 1 && self.waiters_for_zero.load(SeqCst) > 0 {
                    self.wake(u32::MAX);
                }
                return Ok(());
            }
        }
    }

    fn wait_for_zero(&self) -> io::Result<()> {
        loop {
            match self.value.load(SeqCst) {
                0 => return Ok(()),
                value if value & CLOSED != 0 => return Err(Errno::IDRM.into()),
                value => self.sleep(&self.waiters_for_zero, value),
            }
        }
    }

    fn close(&self) {
        self.value.fetch_or(CLOSED, SeqCst);
        self.wake(u32::MAX);
    }

    /// Sleeps if the value is still what was seen. Every return is looked at by the caller's loop.
    fn sleep(&self, waiters: &AtomicU32, seen: u32) {
        waiters.fetch_add(1, SeqCst);
        let _ = futex::wait(&self.value, futex::Flags::PRIVATE, seen, None);
        waiters.fetch_sub(1, SeqCst);
    }

    fn wake(&self, count: u32) {
        // The kernel takes the count as a signed number.
        let _ = futex::wake(&self.value, futex::Flags::PRIVATE, count.min(i32::MAX as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semaphores::Claim;

    /// Ten threads hand each other tokens until all are taken; then the gate is closed.
    fn exercise(waiting: Waiting) {
        let gates = GateSet::new(waiting, 0, 2).expect("gates");
        gates.set(1, 1000).expect("set");
        std::thread::scope(|scope| {
            for _ in 0..10 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        gates.take(0).expect("take");
                        gates.take(1).expect("done");
                    }
                });
            }
            for count in [1, 499, 500] {
                gates.add(0, count).expect("add");
            }
            gates.wait_for_zero(1).expect("zero");
            gates.wait_for_zero(0).expect("zero");
        });
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| gates.take(0));
            gates.close();
            assert!(waiter.join().expect("joined").is_err(), "closing wakes a waiter");
        });
        assert!(gates.add(0, 1).is_err() && gates.wait_for_zero(0).is_err());
    }

    #[test]
    fn semaphores_count_wait_and_close() {
        let claim = Claim::new(3).expect("claim");
        exercise(Waiting::Semaphores { base: claim.base });
        assert_eq!(claim.existing(), 0);
    }

    #[test]
    fn futexes_count_wait_and_close() {
        exercise(Waiting::Futexes);
    }

    #[test]
    fn a_value_beyond_the_largest_is_an_error() {
        let claim = Claim::new(1).expect("claim");
        let gates = GateSet::new(Waiting::Semaphores { base: claim.base }, 0, 1).expect("gates");
        assert!(gates.set(0, 32_767).is_ok());
        let error = gates.set(0, 32_768).expect_err("beyond SEMVMX");
        assert_eq!(error.raw_os_error(), Some(libc::ERANGE));
    }
}
