//! Moving the SMT switch between visits: every visit to an arm is a switch of its own.

use crate::error::Error;
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::{SmtControl, Topology};
use coretwin_base::simulation::live::Options;
use coretwin_base::study::arm::KERNEL;
use coretwin_host::root::Root;
use coretwin_host::sched_ext::keeper::{self, Keeper, KeeperError};
use coretwin_host::sched_ext::{State, record};
use coretwin_host::smt::SwitchError;
use coretwin_host::smt::restore::Restored;
use coretwin_host::smt::session::Session;
use coretwin_host::smt::target::Target;
use std::path::PathBuf;

/// The topology as it will be with SMT on, where it is off now: siblings are known from an earlier
/// reading, or from how the CPUs are numbered. What is read after switching may differ, and counts.
/// Errors: if the siblings of CPUs that are offline are not known.
pub fn with_smt_on(mut topology: Topology) -> Result<Topology, Error> {
    if topology.smt.control != Some(SmtControl::Off) {
        return Ok(topology);
    }
    let is_lonely =
        |cpu: &&coretwin_base::machine::topology::Cpu| !cpu.online && cpu.siblings.is_empty();
    let unknown: CpuSet = topology.cpus.iter().filter(is_lonely).map(|cpu| cpu.cpu).collect();
    if !unknown.is_empty() {
        return Err(Error::NotPossible(format!(
            "SMT is off, and which cores CPUs {unknown} belong to is not known until it was on once: \
             the study itself switches it on first to look"
        )));
    }
    let (online, allowed) = (topology.online.clone(), topology.allowed.clone());
    for cpu in &mut topology.cpus {
        let beside = |set: &CpuSet| !cpu.siblings.intersection(set).is_empty();
        if beside(&allowed) {
            topology.allowed.insert(cpu.cpu);
        }
        if beside(&online) {
            topology.online.insert(cpu.cpu);
            cpu.online = true;
        }
    }
    topology.smt.active = Some(true);
    Ok(topology)
}

/// The switch of a machine under study. Dropping it puts the machine back as it was found.
pub struct Switching {
    session: Session,
    found_on: bool,
    is_off: bool,
}

impl Switching {
    /// Takes over a session; nothing is changed yet.
    pub fn new(session: Session) -> Self {
        let found_on = !matches!(
            session.saved().control,
            Some(SmtControl::Off | SmtControl::ForceOff | SmtControl::Threads(1))
        );
        Self { session, found_on, is_off: !found_on }
    }

    pub fn found_on(&self) -> bool {
        self.found_on
    }

    /// Makes a switch that ends with SMT off, or on. If the machine is there already it goes there
    /// and back, so that two visits to one arm never share a switch. Errors: what the session says;
    /// the machine is then as it was found, or the error tells what is left to do.
    pub fn visit(&mut self, off: bool) -> Result<(), SwitchError> {
        if self.is_off == off {
            self.put(!off)?;
        }
        self.put(off)
    }

    /// Moves the switch. With SMT on the machine is as it was found, where it was found so.
    fn put(&mut self, off: bool) -> Result<(), SwitchError> {
        let target = if off { Target::Off } else { Target::On };
        if off || !self.found_on {
            self.session.apply(target)?;
        } else {
            let restored = self.session.as_found()?;
            if !restored.is_complete() {
                let why = "the machine cannot be put back as it was found".to_owned();
                return Err(SwitchError::Refused { target, why, restored: Box::new(restored) });
            }
        }
        self.is_off = off;
        Ok(())
    }

    pub fn close(self) -> Result<Restored, SwitchError> {
        self.session.close()
    }
}

/// What loads schedulers for a study. Dropping it leaves the kernel's own in charge.
#[derive(Debug)]
pub struct Scheduling {
    root: Root,
    program: PathBuf,
    keeper: Option<Keeper>,
}

impl Scheduling {
    /// Schedulers are loaded by that program, which must understand `sched keep`.
    pub fn new(root: Root, program: PathBuf) -> Self {
        Self { root, program, keeper: None }
    }

    pub fn leave(&mut self) -> Result<(), KeeperError> {
        match self.keeper.take() {
            Some(keeper) => keeper.unload(&self.root),
            None => Ok(()),
        }
    }

    /// Puts an arm's scheduler in charge; the one before has been left. Errors: why it cannot be
    /// loaded, or is not in charge.
    pub fn enter(&mut self, scheduler: &str) -> Result<(), String> {
        let options = Options::of_scheduler(scheduler)?;
        if let Some(options) = &options {
            let mut command = keeper::command(&self.program, options, Some(std::process::id()));
            self.keeper = Some(Keeper::start(&mut command).map_err(|error| error.to_string())?);
        }
        let expected = options.map_or(KERNEL, |options| options.policy().name);
        let now = State::in_charge(&self.root);
        match now == expected {
            true => Ok(()),
            false => Err(format!("the scheduler in charge is {now}, not {expected}")),
        }
    }

    /// Why the scheduler of this visit is not there any more, in words; `None` if that is not told.
    pub fn ending(&self) -> Option<String> {
        let keeper = self.keeper.as_ref()?;
        let record = record::read(&self.root).ok()??;
        let is_its = record.keeper.process == keeper.process();
        record.ending.filter(|_| is_its).map(|ending| ending.story())
    }
}
