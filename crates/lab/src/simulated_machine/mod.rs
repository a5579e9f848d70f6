//! A simulated machine under study: the second implementation of [`Machine`].
//!
//! Data flow: the name of a machine → [`Modelled::named`], or its file → [`Modelled::read`] → [`planning::draw`] makes the plan →
//! [`Simulated`] runs its jobs by [`Modelled::models`]. `off` and `on` are boots of that machine, and every
//! visit is a fresh one, so there is nothing to switch, to warm up or to wait for.
//!
//! A run depends on machine, fit, policy, row and seed alone. So neither the number of CPUs of the
//! host ([`Ahead`]) nor where a study was broken off can change a reading.

mod calibration;
mod models;
pub mod planning;

use crate::host_machine::now_utc;
use crate::machine::{GLANCE, Machine, MachineError, Measured, Stop};
use coretwin_base::machine::environment::{Facts, Moment};
use coretwin_base::machine::topology::Topology;
use coretwin_base::study::job::{Job, Outcome};
use coretwin_base::study::plan::PlanArm;
use coretwin_base::units::Nanos;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

pub use calibration::targets;
pub use models::{Modelled, machines};

#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// Its name in `--machine`.
    pub name: String,
    /// Its CPUs, all online.
    pub topology: Topology,
    /// Policies of its default arms, in their order.
    pub policies: Vec<String>,
    /// Whether it is the article's: then rows have the article's sizes.
    pub is_articles: bool,
}

/// What gives a run's result: the models of `coretwin_sim`, or a test's own.
pub type Models = dyn Fn(&Job, &PlanArm) -> Outcome + Send + Sync;

pub struct Simulated {
    described: Described,
    facts: Facts,
    models: Arc<Models>,
    arm: Option<Arc<PlanArm>>,
    ahead: Option<Ahead>,
    started: Instant,
}

impl Simulated {
    pub fn new(described: Described, facts: Facts, models: Arc<Models>) -> Self {
        Self { described, facts, models, arm: None, ahead: None, started: Instant::now() }
    }

    fn runner(&self) -> Option<Arc<Run>> {
        let (arm, models) = (Arc::clone(self.arm.as_ref()?), Arc::clone(&self.models));
        Some(Arc::new(move |job: &Job| models(job, &arm)))
    }
}

impl Machine for Simulated {
    fn topology(&self) -> &Topology {
        &self.described.topology
    }

    /// That of whoever waits. What happens on the simulated machine has its own time, which is in the
    /// readings; no decision of a study rests on this clock, for a simulated study has no budget.
    fn now(&self) -> Nanos {
        self.started.elapsed().into()
    }

    fn prepare(
        &mut self,
        arm: &PlanArm,
        _settle_s: f64,
        _stop: &Stop,
    ) -> Result<(Facts, Moment), MachineError> {
        self.arm = Some(Arc::new(arm.clone()));
        self.ahead = None;
        let mut facts = self.facts.clone();
        let policy = &arm.scheduler;
        let release = policy.split('[').next().unwrap_or(policy);
        let release = release.strip_prefix("linux-").unwrap_or(release);
        for (key, value) in [
            ("kernel.release", release),
            ("scheduler", policy),
            ("smt.active", if arm.smt == Some(true) { "yes" } else { "no" }),
        ] {
            facts.insert(key.to_owned(), value.to_owned());
        }
        let moment = Moment {
            facts: String::new(),
            arm: arm.label.clone(),
            at_utc: now_utc(),
            load_1min: 0.0,
            mhz: [].into(),
            mhz_permitted: [].into(),
            idle_us: [].into(),
        };
        Ok((facts, moment))
    }

    fn foresee(&mut self, jobs: &[Job]) {
        self.ahead = self.runner().map(|run| Ahead::begin(jobs, &run));
    }

    fn run(&mut self, job: &Job, stop: &Stop) -> Result<Measured, MachineError> {
        let ahead = match &self.ahead {
            Some(ahead) => ahead.take(job, stop)?,
            None => None,
        };
        let outcome = match (ahead, self.runner()) {
            (Some(outcome), _) => outcome,
            (None, Some(run)) => run(job),
            (None, None) => {
                let why = "no arm was prepared on the simulated machine";
                return Err(MachineError::Refused(why.to_owned()));
            }
        };
        let capacity_s = outcome.elapsed_s * job.cpus.len() as f64;
        Ok(Measured { outcome, steal_s: 0.0, others_s: 0.0, capacity_s })
    }
}

type Run = dyn Fn(&Job) -> Outcome + Send + Sync;

struct Ahead {
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
    fn begin(jobs: &[Job], run: &Arc<Run>) -> Self {
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
    fn take(&self, job: &Job, stop: &Stop) -> Result<Option<Outcome>, MachineError> {
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
