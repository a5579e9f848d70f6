//! The machine this program runs on.

use crate::boots::ThisBoot;
use crate::capacity_meter::{Accounting, Meter};
use crate::error::Error;
use crate::launcher;
use crate::machine::{Machine, MachineError, Measured, Stop};
use crate::planning;
use crate::switching::Scheduling;
use crate::switching::Switching;
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::environment::{Facts, Moment, Session};
use coretwin_base::machine::topology::Topology;
use coretwin_base::study::arm::{ArmState, KERNEL};
use coretwin_base::study::boot::BootFacts;
use coretwin_base::study::decision::ENERGY_METRIC;
use coretwin_base::study::job::{Job, Outcome};
use coretwin_base::study::plan::{Plan, PlanArm};
use coretwin_base::study::reading::{Better, Metric, counter};
use coretwin_base::units::Nanos;
use coretwin_base::warning::Warning;
use coretwin_host::observe::{self, CpuTimes};
use coretwin_host::root::Root;
use coretwin_host::sched_ext::State;
use coretwin_host::sched_ext::keeper::KeeperError;
use coretwin_host::smt::SwitchError;
use coretwin_host::smt::restore::Restored;
use coretwin_host::{affinity, energy, environment, limits, process, topology};
use coretwin_workloads::counters;
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub const HOST: &str = "host";

pub struct HostMachine {
    root: Root,
    topology: Topology,
    /// The topology as it is now, where SMT is switched.
    now: Option<Topology>,
    switching: Option<Switching>,
    scheduling: Option<Scheduling>,
    accounting: Option<Accounting>,
    /// The scheduler that was in charge when the study came.
    found: String,
    worker: PathBuf,
    started: Instant,
    prepared: Option<Signature>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Signature {
    smt: Option<String>,
    online: Option<String>,
    scheduler: Option<(String, Option<u64>)>,
}

impl HostMachine {
    /// The host, its topology read. Errors: if the topology does not read or the worker's program
    /// is missing.
    pub fn new(root: Root, topology: Topology) -> Result<Self, Error> {
        let worker = launcher::worker_path().map_err(Error::NotPossible)?;
        process::adopt_orphans().map_err(|error| {
            Error::NotPossible(format!("cannot become the reaper of workers: {error}"))
        })?;
        Ok(Self {
            found: State::in_charge(&root),
            root,
            topology,
            now: None,
            switching: None,
            scheduling: None,
            accounting: None,
            worker,
            started: Instant::now(),
            prepared: None,
        })
    }

    /// Gives it the SMT switch: from now on every visit to an arm is a switch.
    #[must_use]
    pub fn with_switch(mut self, switching: Switching) -> Self {
        self.switching = Some(switching);
        self
    }

    /// Gives it what loads schedulers: from now on every visit to an arm loads its own, or none.
    #[must_use]
    pub fn with_scheduling(mut self, scheduling: Scheduling) -> Self {
        self.scheduling = Some(scheduling);
        self
    }

    /// Has runs under load looked at by `account`.
    #[must_use]
    pub fn with_accounting(mut self, accounting: Accounting) -> Self {
        self.accounting = Some(accounting);
        self
    }

    /// Leaves the kernel's own scheduler in charge, which comes before SMT is put back. Errors:
    /// what else is in charge.
    pub fn unload(&mut self) -> Result<(), KeeperError> {
        self.scheduling.as_mut().map_or(Ok(()), Scheduling::leave)
    }

    /// Puts the machine back as it was found; `None` if nothing was to be switched. Errors: what
    /// kept it from being put back, with what to do.
    pub fn restore(&mut self) -> Option<Result<Restored, SwitchError>> {
        self.switching.take().map(Switching::close)
    }

    /// That every arm is measured under a scheduler which somebody loaded, to be told to the reader;
    /// `None` if it is the kernel's own.
    pub fn loaded_before(&self) -> Option<Warning> {
        (self.found != KERNEL).then(|| {
            let found = &self.found;
            Warning::new(
                "scheduler-loaded",
                format!(
                    "a sched_ext scheduler, {found}, is in charge of this machine; every arm is \
                         measured under it"
                ),
                "unload it for a study under the kernel's own scheduler",
            )
        })
    }

    pub fn boot(&self) -> ThisBoot {
        let fact = |path: &str| self.root.fact(path).unwrap_or_else(|| "unknown".to_owned());
        let cores = self.topology.usable_cores();
        let (boot_id, _) = environment::session(&self.root);
        ThisBoot {
            boot_id,
            found: BootFacts {
                kernel_release: fact("proc/sys/kernel/osrelease"),
                command_line: BootFacts::settled(&fact("proc/cmdline")),
                // A kernel without the file may still show siblings.
                smt_active: self
                    .topology
                    .smt
                    .active
                    .unwrap_or_else(|| cores.iter().any(|(_, cpus)| cpus.len() > 1)),
                cpus: self.topology.allowed.clone(),
                cores: cores.len() as u32,
            },
        }
    }

    /// Checks what the plan needs of the system: limits, and core scheduling where an arm uses it.
    /// Errors: a message with a line for every limit that is too low, or why there are no cookies.
    pub fn check(&self, plan: &Plan) -> Result<(), Error> {
        if let Some(arm) = plan.arms.iter().find(|arm| arm.state == ArmState::CoreSched) {
            coretwin_workloads::worker::core_sched_available()
                .map_err(|why| Error::NotPossible(format!("arm {}: {why}", arm.label)))?;
        }
        if let Some(arm) = plan.arms.iter().find(|arm| arm.scheduler != KERNEL)
            && self.found != KERNEL
        {
            return Err(Error::NotPossible(format!(
                "arm {}: {} is loaded already; unload it (coretwin sched status says whose it is)",
                arm.label, self.found
            )));
        }
        let unmet = limits::unmet(&self.root, &planning::needs(plan));
        if unmet.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> = unmet.iter().map(|unmet| format!("  {unmet}")).collect();
        Err(Error::NotPossible(format!(
            "this machine's limits are too low for what was asked:\n{}",
            lines.join("\n")
        )))
    }

    fn environment(&self, arm: &str) -> (Facts, Moment) {
        let topology = self.now.as_ref().unwrap_or(&self.topology);
        let mut facts = environment::facts(&self.root, topology);
        facts.insert(counter::FACT.to_owned(), counters::about());
        (facts, environment::moment(&self.root, topology, arm, now_utc()))
    }

    /// Switches SMT for an arm, and reads back that it is so.
    fn switch(&mut self, arm: &PlanArm) -> Result<(), MachineError> {
        let Some(switching) = &mut self.switching else { return Ok(()) };
        let refused = |why: String| MachineError::Refused(format!("arm {}: {why}", arm.label));
        let off = arm.state == ArmState::Off;
        switching.visit(off).map_err(|error| refused(error.to_string()))?;
        let now = topology::read(&self.root).map_err(|error| refused(error.to_string()))?;
        if now.smt.active.is_some_and(|active| active == off) {
            let (word, state) = if off { ("off", "active") } else { ("on", "not active") };
            return Err(refused(format!(
                "SMT was switched {word}, but the kernel says that it is {state}"
            )));
        }
        self.now = Some(now);
        Ok(())
    }

    fn signature(&self) -> Signature {
        let word = |path: &str| self.root.fact(path);
        Signature {
            smt: word("sys/devices/system/cpu/smt/control"),
            online: word("sys/devices/system/cpu/online"),
            // Also one that went and came again is told, by its number.
            scheduler: State::read(&self.root).map(|state| (state.scheduler(), state.enable_seq)),
        }
    }

    /// The job, which is to find the scheduler that was in charge when the study came, where arms have
    /// none of their own.
    fn under_found(&self, job: &Job) -> Job {
        match self.scheduling {
            Some(_) => job.clone(),
            None => Job { scheduler: Some(self.found.clone()), ..job.clone() },
        }
    }

    fn why_gone(&self) -> String {
        let ending = self.scheduling.as_ref().and_then(Scheduling::ending);
        ending.map_or_else(String::new, |ending| format!("; the scheduler is gone: {ending}"))
    }

    fn usable_now(&self) -> Result<CpuSet, MachineError> {
        let refused = |error: coretwin_host::Error| MachineError::Refused(error.to_string());
        let mask = affinity::mask(&self.root).map_err(refused)?;
        let online = self.root.cpus("sys/devices/system/cpu/online").map_err(refused)?;
        let all = self.topology.online.clone();
        Ok(mask.unwrap_or_else(|| all.clone()).intersection(&online.unwrap_or(all)))
    }

    fn times(&self) -> Result<CpuTimes, MachineError> {
        observe::cpu_times(&self.root).map_err(|error| MachineError::Refused(error.to_string()))
    }

    /// The worker says where it may run; the kernel says what the machine is like. Either not
    /// being as planned makes the run a failed cell.
    fn read_back(&self, job: &Job, outcome: &mut Outcome) {
        if let Some(failure) = &mut outcome.failure {
            failure.push_str(&self.why_gone());
            return;
        }
        let stayed = self.prepared.as_ref() == Some(&self.signature());
        let inside = outcome.cpus_ran.is_subset(&job.cpus);
        outcome.checks.insert("cpus_allowed".to_owned(), outcome.cpus_allowed == job.cpus);
        outcome.checks.insert("cpus_ran".to_owned(), inside);
        outcome.checks.insert("machine_unchanged".to_owned(), stayed);
        if outcome.cpus_allowed != job.cpus {
            outcome.failure = Some(format!(
                "the worker was bound to CPUs {}, not to {} as planned",
                outcome.cpus_allowed, job.cpus
            ));
        } else if !inside {
            outcome.failure = Some(format!(
                "tasks ran on CPUs {}, outside the arm's {}; the command changes its own affinity",
                outcome.cpus_ran, job.cpus
            ));
        } else if !stayed {
            let what = "the SMT control, the online CPUs or the scheduler changed during the run";
            outcome.failure = Some(format!("{what}{}", self.why_gone()));
        }
    }
}

impl Machine for HostMachine {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn now(&self) -> Nanos {
        self.started.elapsed().into()
    }

    fn prepare(
        &mut self,
        arm: &PlanArm,
        settle_s: f64,
        stop: &Stop,
    ) -> Result<(Facts, Moment), MachineError> {
        // CPUs come and go under the kernel's own scheduler.
        self.unload().map_err(|error| MachineError::Refused(error.to_string()))?;
        self.switch(arm)?;
        if let Some(scheduling) = &mut self.scheduling {
            let entered = scheduling.enter(&arm.scheduler);
            let refused = |why| MachineError::Refused(format!("arm {}: {why}", arm.label));
            entered.map_err(refused)?;
        }
        if !stop.lets_sleep(Duration::try_from_secs_f64(settle_s).unwrap_or_default()) {
            return Err(MachineError::Stopped);
        }
        // The CPUs may have gone since the plan was drawn, or since the last block.
        let now = self.usable_now()?;
        if !arm.cpus.is_subset(&now) {
            return Err(MachineError::Refused(format!(
                "arm {} needs CPUs {}, but only {now} are online and allowed now; \
                 bring them back and go on with --resume",
                arm.label, arm.cpus
            )));
        }
        self.prepared = Some(self.signature());
        Ok(self.environment(&arm.label))
    }

    fn run(&mut self, job: &Job, stop: &Stop) -> Result<Measured, MachineError> {
        let before = self.times()?;
        let energy = energy::read(&self.root);
        let started = Instant::now();
        let topology = self.now.as_ref().unwrap_or(&self.topology);
        let accounting = self.accounting.as_ref();
        let meter = accounting.and_then(|it| it.begin(&self.root, topology, &job.work));
        let outcome = launcher::launch(&self.root, &self.worker, &self.under_found(job), stop);
        let capacity_s = started.elapsed().as_secs_f64() * job.cpus.len() as f64;
        let seen = meter.and_then(Meter::end);
        let mut outcome = outcome?;
        if let (Some(latency), Some(seen)) = (&mut outcome.latency, seen) {
            latency.capacity = accounting.and_then(|it| it.worth(&seen, &job.cpus));
        }
        let spent = energy::read(&self.root).zip(energy).and_then(|(now, was)| now.since(&was));
        if let Some(value) = spent {
            // Of the whole packages, start and end of the worker included.
            let metric = Metric { value, unit: "J".to_owned(), better: Better::Lower };
            outcome.metrics.insert(ENERGY_METRIC.to_owned(), metric);
        }
        let observed = self.times()?.since(&before, &job.cpus);
        self.read_back(job, &mut outcome);
        let own_s = outcome.user_s + outcome.system_s;
        Ok(Measured {
            steal_s: observed.steal_s,
            others_s: (observed.busy_s - own_s).max(0.0),
            capacity_s,
            outcome,
        })
    }
}

pub fn session(root: &Root, argv: Vec<String>) -> Session {
    let (boot_id, host) = environment::session(root);
    Session {
        started_utc: now_utc(),
        coretwin: env!("CARGO_PKG_VERSION").to_owned(),
        argv,
        boot_id,
        host,
    }
}

/// The time now, in UTC, RFC 3339, to the second.
pub fn now_utc() -> String {
    let now = jiff::Timestamp::now();
    now.round(jiff::Unit::Second).unwrap_or(now).to_string()
}
