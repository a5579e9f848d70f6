//! Runs made ahead of being asked for, on all CPUs: the cells of a visit are known when it begins, and
//! what a run gives depends on its job alone. So the engine may ask for them one after the other, and
//! the journal is the same on one CPU and on many.

use crate::machine::{MachineError, Stop};
use coretwin_base::study::job::{Job, Outcome};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const GLANCE: Duration = Duration::from_millis(50);

pub(super) type Run = dyn Fn(&Job) -> Outcome + Send + Sync;

pub(super) struct Ahead {
    shared: Arc<Shared>,
}

struct Shared {
    jobs: Vec<Job>,
    order: Vec<usize>,
    begun: AtomicUsize,
    done: Mutex<Vec<Option<Outcome>>>,
    news: Condvar,
}

impl Ahead {
    /// Begins the jobs on all CPUs, those with the most tasks first, for they take longest.
    pub(super) fn begin(jobs: &[Job], run: &Arc<Run>) -> Self {
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(jobs[*index].threads));
        let shared = Arc::new(Shared {
            jobs: jobs.to_vec(),
            order,
            begun: AtomicUsize::new(0),
            done: Mutex::new(vec![None; jobs.len()]),
            news: Condvar::new(),
        });
        let workers = std::thread::available_parallelism().map_or(1, NonZero::get);
        for _ in 0..workers.min(jobs.len()) {
            let (shared, run) = (Arc::clone(&shared), Arc::clone(run));
            std::thread::spawn(move || shared.work(&*run));
        }
        Self { shared }
    }

    /// What a job gave, once it is done; `None` if it was not begun here. Errors:
    /// [`MachineError::Stopped`] if `stop` was raised meanwhile.
    pub(super) fn take(&self, job: &Job, stop: &Stop) -> Result<Option<Outcome>, MachineError> {
        let shared = &self.shared;
        let Some(index) = shared.jobs.iter().position(|other| other == job) else {
            return Ok(None);
        };
        let mut done = shared.done();
        loop {
            if let Some(outcome) = &done[index] {
                return Ok(Some(outcome.clone()));
            }
            if stop.raised() {
                return Err(MachineError::Stopped);
            }
            let waited = shared.news.wait_timeout(done, GLANCE);
            done = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Ahead {
    /// What was not begun is not begun any more; what runs is not waited for.
    fn drop(&mut self) {
        self.shared.begun.store(self.shared.order.len(), Ordering::Relaxed);
    }
}

impl Shared {
    fn done(&self) -> MutexGuard<'_, Vec<Option<Outcome>>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, run: &Run) {
        while let Some(index) = self.order.get(self.begun.fetch_add(1, Ordering::Relaxed)) {
            let outcome = run(&self.jobs[*index]);
            self.done()[*index] = Some(outcome);
            self.news.notify_all();
        }
    }
}
