//! Visits to arms: an arm is prepared, its cells are run one after another, and what came of each is
//! told. Which visits are made is a protocol's to say.

use crate::cputime;
use crate::error::Error;
use crate::estimate::{Estimate, attempts_left};
use crate::event::{Event, Listener};
use crate::history::History;
use crate::load_curve;
use crate::machine::{Machine, MachineError, Measured, Stop};
use crate::rows;
use crate::run_order::{self, Cell};
use crate::set_aside;
use crate::too_busy::Toll;
use coretwin_base::machine::environment::{Environment, Moment};
use coretwin_base::machine::scheduler::name_of;
use coretwin_base::parameters::ParamValue;
use coretwin_base::schema::SCHEMA;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::job::{Job, RunAs, Work};
use coretwin_base::study::plan::{CopyRule, Plan, PlanArm, PlanRow, ThreadRule};
use coretwin_base::study::reading::{Phase, Reading, Status};
use coretwin_base::units::Nanos;
use coretwin_stats::study::{self, Look};
use std::collections::BTreeMap;

/// Longest time one run of a workload of the table may take, in seconds. A command brings its own.
const WORKLOAD_TIMEOUT_S: f64 = 600.0;

/// Parameter of a service that draws its arrivals.
const SEED: &str = "seed";

pub(crate) struct Engine<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) machine: &'a mut dyn Machine,
    pub(crate) listener: &'a mut dyn Listener,
    pub(crate) stop: Stop,
    pub(crate) history: History,
    pub(crate) environment: Environment,
    pub(crate) run_as: Option<RunAs>,
    /// Whether how long it will still take can be said.
    pub(crate) foretells: bool,
    pub(crate) switch: u32,
    pub(crate) started: Nanos,
    pub(crate) chosen: BTreeMap<String, u32>,
    /// Requests a second that each arm carries at most, of a load curve.
    pub(crate) saturation: BTreeMap<String, f64>,
    pub(crate) estimate: Estimate,
    pub(crate) toll: Toll,
    /// Blocks the last look asked for.
    pub(crate) blocks_needed: Option<u32>,
}

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
    pub(crate) fn tell(&mut self, event: &Event<'_>) -> Result<(), Error> {
        self.listener.hear(event).map_err(Error::Listener)
    }

    /// Runs every cell of a block once, whatever disturbs it on the way: a disturbed attempt is
    /// shown beside the undisturbed one, and can only be if it is complete.
    pub(crate) fn attempt(&mut self, phase: Phase, block: u32, attempt: u32) -> Result<(), Error> {
        self.toll.begin(self.machine.now());
        self.tell(&Event::BlockStarted { phase, block, attempt })?;
        for arm in run_order::arm_order(self.plan, phase, block) {
            let cells = run_order::cells(self.plan, phase, block, arm, &self.chosen);
            self.visit(phase, block, attempt, arm, &cells)?;
        }
        self.block_ended(phase, block)
    }

    pub(crate) fn block_ended(&mut self, phase: Phase, block: u32) -> Result<(), Error> {
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

    pub(crate) fn is_too_busy(&self) -> bool {
        !self.stop.raised() && self.toll.is_too_much(self.machine.now())
    }

    /// Stops a study of which others leave nothing, also in the middle of a block.
    fn give_up_if_too_busy(&self) -> Result<(), Error> {
        if self.is_too_busy() { Err(MachineError::Stopped.into()) } else { Ok(()) }
    }

    pub(crate) fn look(&self) -> Look {
        study::look(self.plan, &self.history.readings)
    }

    /// Prepares an arm once and runs cells in it. After a switch or a boot the first runs are
    /// discarded: they are kept as warm-up and take no part.
    pub(crate) fn visit(
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
        let discarded = match phase {
            Phase::Warmup => Vec::new(),
            Phase::Screen | Phase::Study => run_order::discarded(plan, cells),
        };
        let warmup = Visit { phase: Phase::Warmup, ..visit.clone() };
        let discarded_jobs = self.jobs(&warmup, &discarded)?;
        for (cell, job) in discarded.iter().zip(&discarded_jobs) {
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
            row: &plan.planned(cell.row).id,
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
        let row = &self.row(visit, cell);
        let arm = &self.plan.arms[visit.arm];
        let roles = rows::roles(row, arm, self.machine.topology()).map_err(Error::NotPossible)?;
        let (work, timeout_s) = work(self.plan, row, arm)?;
        Ok(Job {
            schema: SCHEMA,
            work,
            arm: arm.label.clone(),
            cpus: arm.cpus.clone(),
            placement: row.placement,
            roles,
            spare_cpus: rows::spare_cpus(&self.plan.arms, self.machine.topology()),
            threads: cell.threads,
            copies: match row.copies {
                CopyRule::PerCpu => arm.threads,
                CopyRule::Fixed(copies) => copies,
            },
            rate: row.unit == "runs/s",
            core_sched: arm.state == ArmState::CoreSched,
            scheduler: Some(name_of(&arm.scheduler).to_owned()),
            seed: run_order::seed(self.plan, (visit.phase, visit.block), row, repeat),
            run_as: self.run_as.clone(),
            timeout_s,
        })
    }

    /// A cell's row, with the rate that it is run at.
    fn row(&self, visit: &Visit, cell: Cell) -> PlanRow {
        let (plan, arm) = (self.plan, &self.plan.arms[visit.arm].label);
        let readings = &self.history.readings;
        let at = (arm.as_str(), visit.block);
        let row = plan.planned(cell.row);
        let mut row = load_curve::resolved(plan, row, at, readings, &self.saturation);
        if plan.load.is_some()
            && let Some(seed) = row.params.get_mut(SEED)
        {
            // Other arrivals in each block, the same in every arm; as many bits as are easily typed.
            let drawn =
                run_order::seed(plan, (visit.phase, visit.block), plan.planned(cell.row), 0);
            *seed = ParamValue::Int((drawn >> 22) as i64);
        }
        row
    }

    fn reading(&self, visit: &Visit, cell: Cell, job: &Job, measured: Measured) -> Reading {
        let row: &PlanRow = &self.row(visit, cell);
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
            params: row.params_in(&self.plan.arms[visit.arm]).into(),
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
            latency: outcome.latency.map(Into::into),
            env: visit.env.as_str().into(),
        }
    }

    pub(crate) fn elapsed_s(&self) -> f64 {
        self.machine.now().saturating_sub(self.started).seconds()
    }

    pub(crate) fn blocks_done(&self) -> u32 {
        (0..self.plan.blocks_max())
            .take_while(|block| self.history.next(self.plan, Phase::Study, *block).is_none())
            .count() as u32
    }

    /// About how long the study will still take: blocks to the next decision, kept as often as so
    /// far, within the budget.
    fn left_s(&self) -> Option<f64> {
        if !self.foretells {
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

/// What a row runs, and the longest time it may take, in seconds.
fn work(plan: &Plan, row: &PlanRow, arm: &PlanArm) -> Result<(Work, f64), Error> {
    Ok(match &plan.command {
        Some(spec) if plan.cputime.is_some() => (cputime::work(plan, row, spec)?, spec.timeout_s),
        Some(spec) if row.workload == rows::COMMAND => {
            (Work::Command(rows::filled(spec, row, arm)), spec.timeout_s)
        }
        _ => {
            let (workload, params) = (row.workload.clone(), row.params_in(arm));
            (Work::Builtin { workload, params }, WORKLOAD_TIMEOUT_S)
        }
    })
}
