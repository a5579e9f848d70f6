//! The one seam between a study and what it studies.
//!
//! `HostMachine`, `Simulated` and `ScriptedMachine` stand behind it; plan, journal, statistics and
//! report are the same for all.

use coretwin_base::machine::environment::{Facts, Moment};
use coretwin_base::machine::topology::Topology;
use coretwin_base::study::job::{Job, Outcome};
use coretwin_base::study::plan::PlanArm;
use coretwin_base::units::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub trait Machine {
    fn topology(&self) -> &Topology;

    /// A clock that starts anywhere and never runs backwards.
    fn now(&self) -> Nanos;

    /// Puts the machine into the arm's state, lets it rest, and tells what it is like there. Where
    /// SMT is switched, each call is a switch of its own, also into the state that holds already.
    /// Errors: if this machine cannot be put into that state; [`MachineError::Stopped`] if `stop`
    /// was raised while it rested.
    fn prepare(
        &mut self,
        arm: &PlanArm,
        settle_s: f64,
        stop: &Stop,
    ) -> Result<(Facts, Moment), MachineError>;

    /// Hears which jobs will be run in the arm just prepared, in their order. A machine whose runs do
    /// not disturb each other may begin them.
    fn foresee(&mut self, jobs: &[Job]) {
        let _ = jobs;
    }

    /// Runs a job. A job that fails is an outcome with a failure, not an error. Errors:
    /// [`MachineError::Stopped`] if `stop` was raised; other errors if nothing more can be run.
    fn run(&mut self, job: &Job, stop: &Stop) -> Result<Measured, MachineError>;
}

#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub outcome: Outcome,
    /// Time stolen by the hypervisor on the arm's CPUs during the run, in seconds.
    pub steal_s: f64,
    /// CPU time others used on the arm's CPUs during the run, in seconds.
    pub others_s: f64,
    /// CPU time there was on the arm's CPUs during the run (wall time × CPUs), in seconds.
    pub capacity_s: f64,
}

#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    #[error("stopped")]
    Stopped,
    /// The machine cannot be put into that state, or no longer answers.
    #[error("{0}")]
    Refused(String),
}

/// How often the stop flag is looked at; a run does not notice.
pub(crate) const GLANCE: Duration = Duration::from_millis(50);

/// A flag raised when the study shall stop; cheap to copy and to ask.
#[derive(Debug, Default, Clone)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// The flag itself, for a signal handler to raise.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Sleeps for a time, or until it is raised; whether it is not.
    pub fn lets_sleep(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while !self.raised() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(GLANCE));
        }
        false
    }

    pub fn raise(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub fn raised(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
