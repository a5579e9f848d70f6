//! One session of measuring, from the journal as it was found to the journal as it is left: the same
//! for a study and for an experiment of `cputime`, on every kind of machine.

use crate::progress::Progress;
use crate::{host, out, quiet};
use anyhow::Result;
use coretwin_base::machine::environment::Environment;
use coretwin_base::study::job::RunAs;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::Reading;
use coretwin_base::study::summary::StoppedBecause;
use coretwin_host::root::Root;
use coretwin_lab::Error;
use coretwin_lab::boots::BootVisit;
use coretwin_lab::engine::{self, Setup};
use coretwin_lab::event::{Event, Listener, Listeners};
use coretwin_lab::host_machine;
use coretwin_lab::machine::{Machine, Stop};
use coretwin_store::{Bundle, ENVIRONMENT, Journal};
use std::time::Duration;

pub(crate) struct Session {
    pub(crate) bundle: Bundle,
    pub(crate) plan: Plan,
    pub(crate) readings: Vec<Reading>,
    pub(crate) environment: Environment,
    journal: Journal,
}

pub(crate) struct Means {
    /// User whom workers become.
    pub(crate) run_as: Option<RunAs>,
    /// What this boot may be used for, where boots are compared.
    pub(crate) boot: Option<BootVisit>,
    pub(crate) patience: Option<Duration>,
    pub(crate) stop: Stop,
}

impl Session {
    /// Reads what earlier sessions measured, and enters this one into the environment.
    pub(crate) fn open(bundle: Bundle, plan: Plan, root: &Root) -> Result<Self> {
        let (journal, earlier) = bundle.journal(&plan)?;
        if earlier.torn_bytes > 0 {
            out::news("the journal's last line was torn by a crash; that run is made again");
        }
        let mut environment = bundle.environment()?;
        earlier.note(&mut environment);
        environment.sessions.push(host_machine::session(root, host::words()));
        Ok(Self { bundle, plan, readings: earlier.readings, environment, journal })
    }

    /// Measures until the plan is done or something ends it, and tells why it ended. Every reading is
    /// in the journal before anybody hears of it.
    pub(crate) fn measure(
        &mut self,
        machine: &mut dyn Machine,
        Means { run_as, boot, patience, stop }: Means,
    ) -> Result<StoppedBecause, Error> {
        let plan = &self.plan;
        let is_told = quiet::before(plan, patience, &stop)?;
        let mut keeper = Keeper { bundle: &self.bundle, journal: &mut self.journal };
        let mut progress = Progress::new(plan, is_told);
        let readings = std::mem::take(&mut self.readings);
        let environment = std::mem::take(&mut self.environment);
        let setup = Setup { plan, readings, environment, run_as, boot, stop };
        let listeners: Vec<&mut dyn Listener> = vec![&mut keeper, &mut progress];
        let finished = engine::run(setup, machine, &mut Listeners(listeners))?;
        (self.readings, self.environment) = (finished.readings, finished.environment);
        Ok(finished.stopped)
    }
}

/// The listener that keeps what is measured: readings in the journal, the machine in
/// `environment.json`.
struct Keeper<'a> {
    bundle: &'a Bundle,
    journal: &'a mut Journal,
}

impl Listener for Keeper<'_> {
    fn hear(&mut self, event: &Event<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        match event {
            Event::Started { plan, .. } => {
                let cells = plan.rows.len() * plan.arms.len() * plan.rules.repeats as usize;
                self.journal.expect(u64::from(plan.blocks_min()) * cells as u64);
            }
            // The reading that names a moment must never be there before the moment.
            Event::ArmPrepared { environment, .. } => {
                self.bundle.write_json(ENVIRONMENT, environment)?;
            }
            Event::ReadingTaken(reading) => self.journal.append(reading)?,
            Event::BlockEnded { .. } | Event::Ended(_) => self.journal.sync()?,
            _ => {}
        }
        Ok(())
    }
}
