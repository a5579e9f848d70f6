//! More tasks than a machine has on its other days: many that run now and then, and many that end.
//!
//! They cost next to nothing, but every list of tasks needs room for all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Tasks that are there for the whole storm.
const STAYING: usize = 2000;
/// How often each of them runs.
const EVERY: Duration = Duration::from_millis(400);
/// Tasks that end at once: more than `account` lists one by one.
const ENDING: usize = 12_000;
/// How many start at a time, with a pause after them.
const BATCH: usize = 50;
const REST: Duration = Duration::from_millis(50);
/// As long as it takes `top` to see it in many windows.
const LENGTH_MAX: Duration = Duration::from_secs(120);
/// Nothing but a sleep is done on it.
const STACK_BYTES: usize = 64 << 10;

/// A storm that goes on by itself; it is over, at the latest, when this is dropped.
#[derive(Debug)]
pub(super) struct Storm {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// Starts one of this length, or of two minutes. Fewer tasks come where the machine allows no more.
pub(super) fn start(length: Duration) -> Storm {
    let over = Arc::new(AtomicBool::new(false));
    let until = Instant::now() + length.min(LENGTH_MAX);
    let is_over = {
        let over = Arc::clone(&over);
        move || over.load(Ordering::Relaxed) || Instant::now() >= until
    };
    let mut threads = Vec::with_capacity(STAYING + 1);
    for _ in 0..STAYING {
        let is_over = is_over.clone();
        threads.extend(thread(move || {
            while !is_over() {
                std::thread::sleep(EVERY);
            }
        }));
    }
    threads.extend(thread(move || {
        for _ in 0..ENDING / BATCH {
            let batch: Vec<_> = (0..BATCH).filter_map(|_| thread(|| {})).collect();
            for one in batch {
                one.join().ok();
            }
            std::thread::sleep(REST);
            if is_over() {
                return;
            }
        }
    }));
    Storm { over, threads }
}

fn thread(work: impl FnOnce() + Send + 'static) -> Option<JoinHandle<()>> {
    Builder::new().stack_size(STACK_BYTES).spawn(work).ok()
}

impl Drop for Storm {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().ok();
        }
    }
}
