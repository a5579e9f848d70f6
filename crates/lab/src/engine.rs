//! The engine: walks a plan on a machine and tells what happens.
//!
//! ```text
//! warm-up (each row once) → screening of thread counts → blocks, until a look is satisfied,
//! the last block is done, the budget ends, or somebody stops it
//! ```
//! A block that something outside disturbed is run again; a block that was broken off starts over.
//! Where nothing at all can be kept, the study ends soon ([`Toll`]).
//! Where SMT is switched, every visit to an arm is a switch of its own and starts with a run in vain.
//! Where boots are compared, a session is one visit: the rest waits for other boots ([`boots`]).
//! One cell is run at a time, always: two at once would be each other's siblings.

use crate::boots::{self, BootVisit};
use crate::cputime;
use crate::error::Error;
use crate::estimate::{Estimate, attempts_left};
use crate::event::{Event, Listener};
use crate::history::{History, Next};
use crate::machine::{Machine, MachineError, Measured, Stop};
use crate::rows;
use crate::schedule::{self, Cell};
use crate::set_aside;
use crate::too_busy::Toll;
use coretwin_base::machine::environment::{Environment, Moment};
use coretwin_base::machine::placement::Placement;
use coretwin_base::machine::scheduler::name_of;
use coretwin_base::schema::SCHEMA;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::command::CommandSpec;
use coretwin_base::study::consistency;
use coretwin_base::study::job::{Job, RunAs, Work};
use coretwin_base::study::plan::{CopyRule, Plan, PlanRow, Protocol, ThreadRule};
use coretwin_base::study::reading::{Phase, Reading, Status};
use coretwin_base::study::summary::StoppedBecause;
use coretwin_base::units::Nanos;
use coretwin_stats::study::{self, Look};
use std::collections::BTreeMap;

/// Longest time one run of a workload of the table may take, in seconds. A command brings its own.
const WORKLOAD_TIMEOUT_S: f64 = 600.0;

/// What a study starts from.
pub struct Setup<'a> {
    /// What to do.
    pub plan: &'a Plan,
    /// Readings of earlier sessions, from the journal.
    pub readings: Vec<Reading>,
    /// Environment of earlier sessions, with this session added.
    pub environment: Environment,
    /// User whom workers become.
    pub run_as: Option<RunAs>,
    /// What this boot may be used for, in a study that compares boots.
    pub boot: Option<BootVisit>,
    /// Raised to stop the study.
    pub stop: Stop,
}

/// What a study came to.
#[derive(Debug)]
pub struct Finished {
    /// Every reading, earlier sessions included.
    pub readings: Vec<Reading>,
    /// What the machine was like.
    pub environment: Environment,
    /// Why it ended.
    pub stopped: StoppedBecause,
}

/// Runs a study to its end, or until it is stopped.
///
/// # Errors
/// If the machine refuses an arm, a listener cannot keep a reading, or the budget is too small.
/// Everything measured until then was told to the listener.
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
        switch: setup.boot.map_or(history.next_switch(), |boot| boot.switch),
        history,
        environment: setup.environment,
        run_as: setup.run_as,
        boot: setup.boot,
        started,
        chosen: BTreeMap::new(),
        estimate: Estimate::default(),
        toll: Toll::default(),
        blocks_needed: None,
    };
    engine.tell(&Event::Started { plan: setup.plan, done: engine.history.readings.len() })?;
    let stopped = match engine.study() {
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

/// A study of which so many blocks hold nothing but failures is not gone on with.
const HOPELESS_BLOCKS: u32 = 3;

struct Engine<'a> {
    plan: &'a Plan,
    machine: &'a mut dyn Machine,
    listener: &'a mut dyn Listener,
    stop: Stop,
    history: History,
    environment: Environment,
    run_as: Option<RunAs>,
    boot: Option<BootVisit>,
    switch: u32,
    started: Nanos,
    chosen: BTreeMap<String, u32>,
    estimate: Estimate,
    toll: Toll,
    /// Blocks the last look asked for.
    blocks_needed: Option<u32>,
}

/// The state of the machine that a run is made in.
#[derive(Clone)]
struct Visit {
    phase: Phase,
    block: u32,
    attempt: u32,
    arm: usize,
    env: String,
    moment: Moment,
}

impl Engine<'_> {
    fn tell(&mut self, event: &Event<'_>) -> Result<(), Error> {
        self.listener.hear(event).map_err(Error::Listener)
    }

    fn study(&mut self) -> Result<StoppedBecause, Error> {
        if self.plan.rules.protocol == Protocol::Article2003 {
            return self.article();
        }
        self.set_up()?;
        if let Some(boot) = self.boot {
            return self.boot_visit(boot);
        }
        self.warm_up()?;
        self.check_budget()?;
        self.screen()?;
        for block in self.blocks_done()..self.plan.blocks_max() {
            let look = self.look();
            if look.due && look.satisfied {
                return Ok(StoppedBecause::Target);
            }
            while let Next::Run(attempt) = self.history.next(self.plan, Phase::Study, block) {
                if self.budget_ends_before_a_block() {
                    return Ok(StoppedBecause::Budget);
                }
                self.attempt(Phase::Study, block, attempt)?;
                // Later, a study that is only disturbed too often ends with what it has.
                if (block, attempt) == (0, 0) {
                    self.check_budget()?;
                }
            }
            let goes_on = block + 1 < self.plan.blocks_max();
            if goes_on && block + 1 >= HOPELESS_BLOCKS && self.nothing_works() {
                return Ok(StoppedBecause::Error);
            }
        }
        let look = self.look();
        let narrow = look.due && look.satisfied && self.plan.rules.looks.len() > 1;
        Ok(if narrow { StoppedBecause::Target } else { StoppedBecause::Blocks })
    }

    /// Whether every run failed, in every row and arm: then the command is wrong, not an arm.
    fn nothing_works(&self) -> bool {
        self.history.readings.iter().all(|reading| reading.status == Status::Failed)
    }

    /// The user's own preparation, once per session: what it made may be gone since the last.
    fn set_up(&mut self) -> Result<(), Error> {
        let Some(spec) = &self.plan.command else { return Ok(()) };
        let Some(line) = &spec.setup else { return Ok(()) };
        let arm = self.boot.map_or(self.plan.reference_index(), |boot| boot.arm);
        let arm = &self.plan.arms[arm];
        let shell = vec!["/bin/sh".to_owned(), "-c".to_owned(), line.clone()];
        let job = Job {
            schema: SCHEMA,
            work: Work::Command(CommandSpec {
                folder: spec.folder.clone(),
                ..CommandSpec::plain(shell, spec.timeout_s)
            }),
            arm: arm.label.clone(),
            cpus: arm.cpus.clone(),
            placement: Placement::Free,
            roles: Vec::new(),
            threads: arm.threads,
            copies: 1,
            rate: false,
            core_sched: false,
            scheduler: None,
            seed: 0,
            run_as: self.run_as.clone(),
            timeout_s: spec.timeout_s,
        };
        self.machine.prepare(arm, self.plan.rules.settle_s, &self.stop)?;
        let outcome = self.machine.run(&job, &self.stop)?.outcome;
        match outcome.failure {
            None => Ok(()),
            Some(why) => Err(Error::Usage(format!(
                "--setup failed: {why}{}",
                outcome.output.map(|text| format!("\n{text}")).unwrap_or_default()
            ))),
        }
    }

    /// Everything that this boot is for. What is left of the study needs other boots.
    fn boot_visit(&mut self, boot: BootVisit) -> Result<StoppedBecause, Error> {
        let BootVisit { block, arm, done, .. } = boot;
        self.tell(&Event::BlockStarted { phase: Phase::Study, block, attempt: 0 })?;
        let mut cells = schedule::cells(self.plan, Phase::Study, block, arm, &self.chosen);
        cells.drain(..done.min(cells.len()));
        self.visit(Phase::Study, block, 0, arm, &cells)?;
        if schedule::arm_order(self.plan, Phase::Study, block).last() == Some(&arm) {
            self.block_ended(Phase::Study, block)?;
        }
        let left = boots::due(self.plan, &self.environment.boots, &self.history.readings);
        Ok(if left.is_some() { StoppedBecause::Reboot } else { StoppedBecause::Blocks })
    }

    /// The article's protocol: all runs of one arm, then all of the next.
    fn article(&mut self) -> Result<StoppedBecause, Error> {
        for arm in 0..self.plan.arms.len() {
            for block in 0..self.plan.blocks_max() {
                let label = &self.plan.arms[arm].label;
                let cells: Vec<Cell> =
                    schedule::cells(self.plan, Phase::Study, block, arm, &self.chosen)
                        .into_iter()
                        .filter(|cell| {
                            !self.history.has(block, label, &self.plan.rows[cell.row].id)
                        })
                        .collect();
                if !cells.is_empty() {
                    self.visit(Phase::Study, block, 0, arm, &cells)?;
                }
            }
            self.block_ended(Phase::Study, self.plan.blocks_max().saturating_sub(1))?;
        }
        Ok(StoppedBecause::Blocks)
    }

    /// Each row once, in the reference arm: caches, page tables and slabs fill before block 0.
    fn warm_up(&mut self) -> Result<(), Error> {
        if !self.plan.rules.warmup {
            return Ok(());
        }
        let arm = self.plan.reference_index();
        let cells: Vec<Cell> = (0..self.plan.rows.len())
            .filter(|row| self.plan.rows[*row].runs_in(&self.plan.arms[arm].label))
            .filter(|row| !self.history.warmed_up(&self.plan.rows[*row].id))
            .map(|row| Cell { row, threads: schedule::threads(self.plan, row, arm, &self.chosen) })
            .collect();
        if !cells.is_empty() {
            self.visit(Phase::Warmup, 0, 0, arm, &cells)?;
        }
        Ok(())
    }

    /// Tries every candidate thread count, then freezes the best of each arm. The choice follows
    /// from the journal alone, so a resumed study makes the same one.
    fn screen(&mut self) -> Result<(), Error> {
        let Some(screening) = &self.plan.screening else { return Ok(()) };
        for block in 0..screening.blocks {
            while let Next::Run(attempt) = self.history.next(self.plan, Phase::Screen, block) {
                self.attempt(Phase::Screen, block, attempt)?;
            }
        }
        self.chosen = study::choose_threads(self.plan, &self.history.readings);
        let chosen = self.chosen.clone();
        self.tell(&Event::ThreadsChosen(&chosen))
    }

    /// Runs every cell of a block once, whatever disturbs it on the way: a disturbed attempt is
    /// shown beside the undisturbed one, and can only be if it is complete.
    fn attempt(&mut self, phase: Phase, block: u32, attempt: u32) -> Result<(), Error> {
        self.toll.begin(self.machine.now());
        self.tell(&Event::BlockStarted { phase, block, attempt })?;
        for arm in schedule::arm_order(self.plan, phase, block) {
            let cells = schedule::cells(self.plan, phase, block, arm, &self.chosen);
            self.visit(phase, block, attempt, arm, &cells)?;
        }
        self.block_ended(phase, block)
    }

    fn block_ended(&mut self, phase: Phase, block: u32) -> Result<(), Error> {
        let look = (phase == Phase::Study).then(|| self.look());
        self.blocks_needed = look.as_ref().and_then(|look| look.blocks_needed);
        let left_s = self.left_s();
        let set_aside = self.history.set_aside(phase, block).map(str::to_owned);
        self.toll.block(set_aside.is_some());
        self.tell(&Event::BlockEnded {
            phase,
            block,
            set_aside: set_aside.as_deref(),
            look: look.as_ref(),
            left_s,
        })?;
        self.give_up_if_too_busy()
    }

    fn is_too_busy(&self) -> bool {
        !self.stop.raised() && self.toll.is_too_much(self.machine.now())
    }

    /// Stops a study of which others leave nothing, also in the middle of a block.
    fn give_up_if_too_busy(&self) -> Result<(), Error> {
        if self.is_too_busy() { Err(MachineError::Stopped.into()) } else { Ok(()) }
    }

    fn look(&self) -> Look {
        study::look(self.plan, &self.history.readings)
    }

    /// Prepares an arm once and runs cells in it. After a switch or a boot the first runs are made
    /// in vain: they are kept as warm-up and take no part.
    fn visit(
        &mut self,
        phase: Phase,
        block: u32,
        attempt: u32,
        arm: usize,
        cells: &[Cell],
    ) -> Result<(), Error> {
        let plan = self.plan;
        let started = self.machine.now();
        let left_s = self.left_s();
        self.tell(&Event::Preparing { arm: &plan.arms[arm].label, left_s })?;
        let (facts, moment) =
            self.machine.prepare(&plan.arms[arm], plan.rules.settle_s, &self.stop)?;
        let env = self.environment.add(facts, moment.clone());
        self.listener
            .hear(&Event::ArmPrepared {
                arm: &plan.arms[arm].label,
                environment: &self.environment,
            })
            .map_err(Error::Listener)?;
        let visit = Visit { phase, block, attempt, arm, env, moment };
        let jobs = self.jobs(&visit, cells)?;
        self.machine.foresee(&jobs);
        let in_vain = match phase {
            Phase::Warmup => Vec::new(),
            Phase::Screen | Phase::Study => schedule::in_vain(plan, cells),
        };
        let warmup = Visit { phase: Phase::Warmup, ..visit.clone() };
        let vain_jobs = self.jobs(&warmup, &in_vain)?;
        for (cell, job) in in_vain.iter().zip(&vain_jobs) {
            self.run_cell(&warmup, *cell, job)?;
        }
        let opened = self.machine.now().saturating_sub(started);
        self.estimate.note_opening(opened.seconds());
        for (cell, job) in cells.iter().zip(&jobs) {
            self.run_cell(&visit, *cell, job)?;
        }
        self.switch += 1;
        Ok(())
    }

    fn run_cell(&mut self, visit: &Visit, cell: Cell, job: &Job) -> Result<(), Error> {
        if self.stop.raised() {
            return Err(MachineError::Stopped.into());
        }
        let left_s = self.left_s();
        let (plan, arm) = (self.plan, visit.arm);
        self.tell(&Event::RunStarted {
            arm: &plan.arms[arm].label,
            row: &plan.rows[cell.row].id,
            left_s,
        })?;
        let before = self.machine.now();
        let measured = self.machine.run(job, &self.stop)?;
        let took = self.machine.now().saturating_sub(before);
        self.estimate.note(arm, cell.row, took.seconds());
        let reading = self.reading(visit, cell, job, measured);
        self.tell(&Event::ReadingTaken(&reading))?;
        let is_set_aside = reading.status == Status::SetAside;
        self.history.push(plan, reading);
        if visit.phase == Phase::Warmup {
            return Ok(());
        }
        self.toll.run(is_set_aside);
        self.give_up_if_too_busy()
    }

    /// The jobs of a visit. A row that comes more than once has another seed each time.
    fn jobs(&self, visit: &Visit, cells: &[Cell]) -> Result<Vec<Job>, Error> {
        let repeat = |place: usize| {
            cells[..place].iter().filter(|cell| cell.row == cells[place].row).count()
        };
        let cells = cells.iter().enumerate();
        cells.map(|(place, cell)| self.job(visit, *cell, repeat(place))).collect()
    }

    fn job(&self, visit: &Visit, cell: Cell, repeat: usize) -> Result<Job, Error> {
        let row = &self.plan.rows[cell.row];
        let arm = &self.plan.arms[visit.arm];
        let roles = rows::roles(row, arm, self.machine.topology()).map_err(Error::NotPossible)?;
        let (work, timeout_s) = match &self.plan.command {
            Some(spec) if self.plan.cputime.is_some() => {
                (self.condition(row, spec)?, spec.timeout_s)
            }
            Some(spec) if row.workload == rows::COMMAND => {
                (Work::Command(spec.clone()), spec.timeout_s)
            }
            _ => {
                let work =
                    Work::Builtin { workload: row.workload.clone(), params: row.params.clone() };
                (work, WORKLOAD_TIMEOUT_S)
            }
        };
        Ok(Job {
            schema: SCHEMA,
            work,
            arm: arm.label.clone(),
            cpus: arm.cpus.clone(),
            placement: row.placement,
            roles,
            threads: cell.threads,
            copies: match row.copies {
                CopyRule::PerCpu => arm.threads,
                CopyRule::Fixed(copies) => copies,
            },
            rate: row.unit == "runs/s",
            core_sched: arm.state == ArmState::CoreSched,
            scheduler: Some(name_of(&arm.scheduler).to_owned()),
            seed: schedule::seed(self.plan, (visit.phase, visit.block), row, repeat),
            run_as: self.run_as.clone(),
            timeout_s,
        })
    }

    /// The work of a row of `cputime`.
    fn condition(&self, row: &PlanRow, spec: &CommandSpec) -> Result<Work, Error> {
        let experiment = self.plan.cputime.as_deref();
        let condition = experiment.and_then(|experiment| experiment.condition(&row.id));
        let Some((experiment, condition)) = experiment.zip(condition) else {
            return Err(Error::Usage(format!("the plan does not say what row {} is", row.id)));
        };
        Ok(cputime::work(experiment, condition, spec))
    }

    fn reading(&self, visit: &Visit, cell: Cell, job: &Job, measured: Measured) -> Reading {
        let row: &PlanRow = &self.plan.rows[cell.row];
        let cause = set_aside::cause(
            &self.plan.rules,
            &measured,
            self.environment.at_first(),
            &visit.moment,
        );
        let Measured { outcome, steal_s, .. } = measured;
        let failed = outcome.failure.is_some() || outcome.checks.values().any(|held| !held);
        let (status, cause) = match (failed, cause) {
            (true, _) => (
                Status::Failed,
                outcome.failure.or_else(|| Some("a check did not hold".to_owned())),
            ),
            // Warm-up and the article's protocol know no retries, so nothing is set aside there.
            (false, Some(cause))
                if self.plan.rules.retries_max > 0 && visit.phase != Phase::Warmup =>
            {
                (Status::SetAside, Some(cause))
            }
            (false, _) => (Status::Ok, None),
        };
        Reading {
            schema: SCHEMA,
            seq: self.history.readings.len() as u64,
            phase: visit.phase,
            block: visit.block,
            switch: self.switch,
            attempt: visit.attempt,
            arm: self.plan.arms[visit.arm].label.as_str().into(),
            row: row.id.as_str().into(),
            workload: row.workload.as_str().into(),
            params: row.params.clone().into(),
            placement_asked: row.placement,
            cpus_ran: outcome.cpus_ran.into(),
            status,
            cause: cause.map(Into::into),
            value: if failed { None } else { outcome.value },
            unit: row.unit.as_str().into(),
            better: row.better,
            metrics: outcome.metrics.into(),
            operations: outcome.operations,
            elapsed_s: outcome.elapsed_s,
            user_s: outcome.user_s,
            system_s: outcome.system_s,
            steal_s,
            threads: match row.threads {
                ThreadRule::Fixed(_) if row.workload != rows::COMMAND => outcome.threads,
                _ => cell.threads,
            },
            copies: job.copies,
            samples: outcome.samples.into(),
            notes: outcome.notes.into(),
            checks: outcome.checks.into(),
            output: outcome.output.map(Into::into),
            env: visit.env.as_str().into(),
        }
    }

    fn elapsed_s(&self) -> f64 {
        self.machine.now().saturating_sub(self.started).seconds()
    }

    fn blocks_done(&self) -> u32 {
        (0..self.plan.blocks_max())
            .take_while(|block| self.history.next(self.plan, Phase::Study, *block) == Next::Done)
            .count() as u32
    }

    fn budget_ends_before_a_block(&self) -> bool {
        match (self.plan.rules.budget_s, self.estimate.block_s(self.plan)) {
            (Some(budget_s), Some(block_s)) => self.elapsed_s() + block_s > budget_s,
            (Some(budget_s), None) => self.elapsed_s() > budget_s,
            (None, _) => false,
        }
    }

    /// Says early that the budget cannot be enough, instead of ending without a verdict.
    fn check_budget(&self) -> Result<(), Error> {
        let (Some(budget_s), Some(block_s)) =
            (self.plan.rules.budget_s, self.estimate.block_s(self.plan))
        else {
            return Ok(());
        };
        // An experiment of cputime says what it has, however little.
        if self.plan.cputime.is_some() {
            return Ok(());
        }
        let blocks = self.plan.blocks_min();
        let (_, kept) = self.history.attempts_and_kept(self.plan);
        let missing = blocks.saturating_sub(kept);
        let needed_s = self.elapsed_s() + f64::from(missing) * block_s;
        // A quarter more is forgiven: the estimate is rough, and nearly enough is worth trying.
        if missing > 0 && needed_s > budget_s * 1.25 {
            return Err(Error::BudgetTooSmall { block_s, blocks, needed_s, budget_s });
        }
        Ok(())
    }

    /// About how long the study will still take: blocks to the next decision, kept as often as so
    /// far, within the budget.
    fn left_s(&self) -> Option<f64> {
        // How long somebody takes to reboot is not ours to guess.
        if self.boot.is_some() {
            return None;
        }
        let block_s = self.estimate.block_s(self.plan)?;
        let done = self.blocks_done();
        let left_s = block_s * attempts_left(self.plan, &self.history, done, self.blocks_needed);
        Some(match self.plan.rules.budget_s {
            Some(budget_s) => left_s.min((budget_s - self.elapsed_s()).max(0.0)),
            None => left_s,
        })
    }
}
