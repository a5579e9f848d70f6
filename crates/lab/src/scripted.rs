//! A machine whose runs follow a script and whose clock is simulated: for tests of everything
//! that stands on a [`Machine`], without a second of waiting.

use crate::machine::{Machine, MachineError, Measured, Stop};
use coretwin_base::machine::environment::{Facts, Moment};
use coretwin_base::machine::topology::Topology;
use coretwin_base::schema::SCHEMA;
use coretwin_base::study::job::{Job, Outcome, Work};
use coretwin_base::study::latency::Latency;
use coretwin_base::study::plan::PlanArm;
use coretwin_base::study::reading::Better;
use coretwin_base::units::Nanos;

/// What a scripted run does: the job and the number of the run (from 0) in, the result out.
pub type Script = Box<dyn FnMut(&Job, u64) -> Scripted>;

#[derive(Debug, Clone, PartialEq)]
pub struct Scripted {
    /// How long the run takes on the scripted clock, in seconds.
    pub takes_s: f64,
    /// Its value, or why it fails.
    pub value: Result<f64, String>,
    /// CPU time stolen meanwhile, in seconds.
    pub steal_s: f64,
    /// CPU time of others meanwhile, in seconds.
    pub others_s: f64,
    /// What became of the requests that it was offered.
    pub latency: Option<Latency>,
}

impl Scripted {
    pub fn ok(value: f64, takes_s: f64) -> Self {
        Self { takes_s, value: Ok(value), steal_s: 0.0, others_s: 0.0, latency: None }
    }
}

pub struct ScriptedMachine {
    topology: Topology,
    clock: Nanos,
    script: Script,
    runs: u64,
    /// What was done, a word a step: `arm LABEL` and `run ROW`. Tests read the order from it.
    pub log: Vec<String>,
    /// Raise the stop flag before this run, as a Ctrl-C would.
    pub stop_before_run: Option<u64>,
    /// Refuse this visit (from 0), as a kernel that cannot switch would.
    pub refuse_visit: Option<usize>,
    /// Highest frequency permitted on CPU 0, in MHz.
    pub mhz_permitted: f64,
}

impl ScriptedMachine {
    pub fn new(topology: Topology, script: Script) -> Self {
        Self {
            topology,
            clock: Nanos(0),
            script,
            runs: 0,
            log: Vec::new(),
            stop_before_run: None,
            refuse_visit: None,
            mhz_permitted: 3000.0,
        }
    }
}

impl Machine for ScriptedMachine {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn now(&self) -> Nanos {
        self.clock
    }

    fn prepare(
        &mut self,
        arm: &PlanArm,
        settle_s: f64,
        _stop: &Stop,
    ) -> Result<(Facts, Moment), MachineError> {
        let visits = self.log.iter().filter(|step| step.starts_with("arm ")).count();
        if self.refuse_visit == Some(visits) {
            return Err(MachineError::Refused("SMT could not be switched".to_owned()));
        }
        self.clock += Nanos::from_seconds(settle_s);
        self.log.push(format!("arm {}", arm.label));
        let moment = Moment {
            facts: String::new(),
            arm: arm.label.clone(),
            at_utc: "1970-01-01T00:00:00Z".to_owned(),
            load_1min: 0.0,
            mhz: [].into(),
            mhz_permitted: [("0".to_owned(), self.mhz_permitted)].into(),
            idle_us: [].into(),
        };
        Ok((Facts::from([("machine".to_owned(), "scripted".to_owned())]), moment))
    }

    fn run(&mut self, job: &Job, stop: &Stop) -> Result<Measured, MachineError> {
        if self.stop_before_run == Some(self.runs) {
            stop.raise();
            return Err(MachineError::Stopped);
        }
        let step = (self.script)(job, self.runs);
        self.runs += 1;
        let what = match &job.work {
            Work::Builtin { workload, .. } => workload.clone(),
            Work::Command(spec) => spec.argv.join(" "),
            Work::Beside(beside) => format!("beside {}", beside.spinners),
        };
        self.log.push(format!("run {what} threads={} copies={}", job.threads, job.copies));
        self.clock += Nanos::from_seconds(step.takes_s);
        let outcome = Outcome {
            schema: SCHEMA,
            value: step.value.as_ref().ok().copied(),
            failure: step.value.err(),
            elapsed_s: step.takes_s,
            threads: job.threads,
            cpus_ran: job.cpus.clone(),
            cpus_allowed: job.cpus.clone(),
            latency: step.latency,
            ..Outcome::failed("", "", Better::Lower)
        };
        Ok(Measured {
            outcome,
            steal_s: step.steal_s,
            others_s: step.others_s,
            capacity_s: step.takes_s * job.cpus.len() as f64,
        })
    }
}
