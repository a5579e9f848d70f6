//! The memory of this process, for whoever watches a machine for hours.
//!
//! A window with thousands of tasks in it needs megabytes for a moment. The C library keeps what was
//! freed below anything that is still in use, so a watcher would stay as large as its busiest moment.

#![cfg_attr(
    target_env = "gnu",
    expect(unsafe_code, reason = "a call into the C library; the block says why it is sound")
)]

use std::time::{Duration, Instant};

/// How often. What is given back is soon asked for again, a page fault a page, so not at every window.
const EVERY: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct Heap {
    due: Instant,
}

impl Default for Heap {
    fn default() -> Self {
        Self { due: Instant::now() + EVERY }
    }
}

impl Heap {
    /// Gives back what is free, if the last time is half a minute ago. To be called where much has just
    /// been freed.
    pub fn tend(&mut self) {
        let now = Instant::now();
        if now >= self.due {
            self.due = now + EVERY;
            give_back();
        }
    }
}

/// malloc_trim(3), which other C libraries than GNU's do not have.
fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes a number, locks what it looks at, and touches nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_free_below_something_in_use_is_given_back() {
        let anonymous_kib = || {
            let status = std::fs::read_to_string("/proc/self/status").expect("status");
            let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("line");
            line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")
        };
        // 32 MiB in small pieces, as names and tasks are; the last one pins all below it.
        let mut pieces: Vec<Box<[u8; 512]>> = (0..65_536).map(|_| Box::new([1; 512])).collect();
        let full = anonymous_kib();
        let last = pieces.pop().expect("the last");
        drop(pieces);
        let mut heap = Heap { due: Instant::now() + EVERY };
        heap.tend();
        heap.due = Instant::now();
        heap.tend();
        assert!(heap.due > Instant::now(), "the next time is later");
        let left = anonymous_kib();
        assert_eq!(last[0], 1);
        if cfg!(target_env = "gnu") {
            assert!(left + 16_000 < full, "{full} KiB, then {left}");
        }
    }
}
