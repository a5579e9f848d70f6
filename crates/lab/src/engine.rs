//! The engine: walks a plan on a machine and tells what happens. [`visits`] makes a visit to an arm,
//! [`protocol`] says which visits are made.
//!
//! ```text
//! warm-up (each row once) → screening of thread counts → blocks, until a look is satisfied,
//! the last block is done, the budget ends, or somebody stops it
//! ```
//! A block that something outside disturbed is run again; a block that was broken off starts over.
//! Where nothing at all can be kept, the study ends soon ([`Toll`]).
//! Where SMT is switched, every visit to an arm is a switch of its own and starts with a discarded run.
//! Where boots are compared, a session is one visit: the rest waits for other boots
//! ([`crate::boots`]).
//! One cell is run at a time, always: two at once would be each other's siblings.

pub(crate) mod visits;

use visits::Engine;

use crate::boots::BootVisit;
use crate::error::Error;
use crate::estimate::Estimate;
use crate::event::{Event, Listener};
use crate::history::History;
use crate::machine::{Machine, MachineError, Stop};
use crate::protocol;
use crate::too_busy::Toll;
use coretwin_base::machine::environment::Environment;
use coretwin_base::study::consistency;
use coretwin_base::study::job::RunAs;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::Reading;
use coretwin_base::study::summary::StoppedBecause;
use std::collections::BTreeMap;

pub struct Setup<'a> {
    pub plan: &'a Plan,
    /// Readings of earlier sessions, from the journal.
    pub readings: Vec<Reading>,
    /// Environment of earlier sessions, with this session added.
    pub environment: Environment,
    /// User whom workers become.
    pub run_as: Option<RunAs>,
    /// What this boot may be used for, in a study that compares boots.
    pub boot: Option<BootVisit>,
    pub stop: Stop,
}

#[derive(Debug)]
pub struct Finished {
    /// Every reading, earlier sessions included.
    pub readings: Vec<Reading>,
    pub environment: Environment,
    pub stopped: StoppedBecause,
}

/// Runs a study to its end, or until it is stopped. Errors: if the machine refuses an arm, a
/// listener cannot keep a reading, or the budget is too small. Everything measured until then was
/// told to the listener.
pub fn run(
    setup: Setup<'_>,
    machine: &mut dyn Machine,
    listener: &mut dyn Listener,
) -> Result<Finished, Error> {
    let started = machine.now();
    let history = History::new(setup.plan, setup.readings);
    let mut engine = Engine {
        plan: setup.plan,
        machine,
        listener,
        stop: setup.stop,
        switch: history.next_switch(),
        history,
        environment: setup.environment,
        run_as: setup.run_as,
        foretells: true,
        started,
        chosen: BTreeMap::new(),
        saturation: BTreeMap::new(),
        estimate: Estimate::default(),
        toll: Toll::default(),
        blocks_needed: None,
    };
    engine.tell(&Event::Started { plan: setup.plan, done: engine.history.readings.len() })?;
    let stopped = match protocol::run(&mut engine, setup.boot) {
        Ok(stopped) => stopped,
        Err(Error::Machine(MachineError::Stopped)) if engine.is_too_busy() => StoppedBecause::Busy,
        Err(Error::Machine(MachineError::Stopped)) => StoppedBecause::Interrupted,
        Err(error) => return Err(error),
    };
    engine.tell(&Event::Ended(stopped))?;
    let Engine { history, environment, .. } = engine;
    debug_assert_eq!(consistency::check(setup.plan, &history.readings), Ok(()));
    Ok(Finished { readings: history.readings, environment, stopped })
}
