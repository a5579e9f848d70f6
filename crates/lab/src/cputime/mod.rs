//! The note's experiment as a plan: conditions are rows of one arm, so that the engine runs them in a
//! random order in every block, and journal, resumption, set-aside and Ctrl-C are those of a study.
//!
//! Data flow: [`pair`] and [`Request`] → [`rehearse`] (the work once, alone: whether it runs, and how
//! long) → [`draw`] → the engine → `coretwin_stats::cputime`.

pub mod data;
pub mod pair;
mod pairs;
mod rulers;

use crate::error::Error;
use crate::machine::{Machine, Stop};
use crate::rows::COMMAND;
use coretwin_base::account::cputime::pairs::{Objective, WithCommand};
use coretwin_base::account::cputime::{
    Beside, Condition, Experiment, Pair, Place, Relation, Spinner, SpinnerKind,
};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::machine::placement::Placement;
use coretwin_base::machine::topology::Topology;
use coretwin_base::parameters::Params;
use coretwin_base::random::Stream;
use coretwin_base::schema::SCHEMA;
use coretwin_base::study::arm::{ArmState, KERNEL};
use coretwin_base::study::command::CommandSpec;
use coretwin_base::study::job::{Job, Outcome, RunAs, Work};
use coretwin_base::study::plan::{
    Comparison, CopyRule, Plan, PlanArm, PlanRow, Protocol, Rule, Rules, Scale, ThreadRule,
};
use coretwin_base::study::reading::Better;
use coretwin_base::units::human_seconds;
use coretwin_stats::orders;
use coretwin_workloads::spinner::{LINES_PER_S, STEPS_PER_S};

/// Blocks of an experiment, if the budget allows.
pub const BLOCKS: u32 = 8;
/// Blocks that the default work is made short for: fewer give no interval worth the name.
pub const BLOCKS_MIN: u32 = 3;
/// Of the budget, so much is planned with: blocks take longer than foretold on a machine in use.
const PLANNED_SHARE: f64 = 0.8;
/// Shorter work is all start and end, and drowns in the 10 ms tick, in seconds.
pub(crate) const WORK_MIN_S: f64 = 0.1;
/// How long a spinner is measured without the work, in seconds.
const WINDOW_S: f64 = 0.6;
/// The same of a ruler: a loop of our own, which is as fast in every tenth of a second.
const RULER_WINDOW_S: f64 = 0.2;
/// How long a user's own spinner is tried before the first block, in seconds.
const SPINNER_TRIAL_S: f64 = 0.3;
/// How often a block is run again after something outside disturbed it.
const RETRIES_MAX: u32 = 2;
/// Starting and ending a run, in seconds; only for telling in advance how long it will take.
const OVERHEAD_S: f64 = 0.1;
/// The name of the workload of rows that measure a spinner alone.
pub const SPINNER: &str = "spinner";

#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub work: CommandSpec,
    pub about: String,
    /// How often the command is run for one piece of work.
    pub repeat: u32,
    /// Bytes of generated data, where the work is the default one.
    pub data_bytes: Option<u64>,
    pub spinner: Spinner,
    /// How many of them, a condition each; 0 is always measured.
    pub spinners: Vec<u32>,
    pub pair: Pair,
    pub control: Option<CpuId>,
    pub seed: u64,
    /// Exactly this many blocks.
    pub blocks: Option<u32>,
    /// Longest time, in seconds, where no number of blocks is given.
    pub budget_s: f64,
    /// Set aside a run when more than this share of the CPUs' time was stolen.
    pub steal_share_max: f64,
    /// Set aside a run when others used more than this share of the CPUs' time.
    pub others_share_max: f64,
    /// Commands that are put beside each other, in place of work and spinners.
    pub commands: Vec<WithCommand>,
    pub objective: Objective,
    /// Cores to place them on; `None`: as few as hold them all.
    pub cores: Option<usize>,
    /// Whether the work, or each command, is put beside each ruler.
    pub rulers: bool,
}

impl Request {
    fn window_s(&self) -> f64 {
        if self.rulers { RULER_WINDOW_S } else { WINDOW_S }
    }

    /// The same with one of the commands as its work.
    #[must_use]
    pub fn of_command(&self, command: &WithCommand) -> Self {
        let work = CommandSpec { argv: command.argv.clone(), ..self.work.clone() };
        Self { work, about: command.name.clone(), ..self.clone() }
    }
}

/// Every CPU on which anything of the experiment runs: on all of them the work of others is noticed.
pub fn cpus(pair: &Pair, control: Option<CpuId>) -> CpuSet {
    pair.cpus().union(&control.into_iter().collect())
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rehearsal {
    /// Wall time, in seconds.
    pub elapsed_s: f64,
    /// CPU time, user and system, in seconds.
    pub cpu_s: f64,
}

/// Runs the work once, alone on its CPU: whether it goes well, and what it takes. Errors:
/// [`Error::Usage`] with the end of its output if it fails, changes its own affinity, or ends too
/// soon to be measured; whatever keeps the machine from running it.
pub fn rehearse(
    request: &Request,
    machine: &mut dyn Machine,
    run_as: Option<RunAs>,
    stop: &Stop,
) -> Result<Rehearsal, Error> {
    let alone = Beside {
        work: Some(request.work.clone()),
        work_cpus: [request.pair.work].into_iter().collect(),
        ..nothing(request)
    };
    let outcome = trial(request, alone, machine, run_as, stop)?;
    went_well("the work alone", &outcome)?;
    let Outcome { elapsed_s, user_s, system_s, .. } = outcome;
    Ok(Rehearsal { elapsed_s, cpu_s: user_s + system_s })
}

/// Runs one spinner for a moment, if it is the user's own command: whether it keeps on. Errors:
/// [`Error::Usage`] with the end of its output if it fails or ends by itself; whatever keeps the
/// machine from running it.
pub fn rehearse_spinner(
    request: &Request,
    machine: &mut dyn Machine,
    run_as: Option<RunAs>,
    stop: &Stop,
) -> Result<(), Error> {
    if request.spinner.kind != SpinnerKind::Command {
        return Ok(());
    }
    let spinning = Beside {
        spinners: 1,
        spinner_cpus: [request.pair.neighbour].into_iter().collect(),
        window_s: SPINNER_TRIAL_S,
        ..nothing(request)
    };
    went_well("a spinner alone", &trial(request, spinning, machine, run_as, stop)?)
}

fn nothing(request: &Request) -> Beside {
    Beside {
        work: None,
        row: false,
        repeat: request.repeat,
        work_cpus: CpuSet::new(),
        spinner: request.spinner.clone(),
        spinners: 0,
        spinner_cpus: CpuSet::new(),
        window_s: 0.0,
    }
}

fn trial(
    request: &Request,
    beside: Beside,
    machine: &mut dyn Machine,
    run_as: Option<RunAs>,
    stop: &Stop,
) -> Result<Outcome, Error> {
    let cpus = cpus(&request.pair, request.control);
    machine.prepare(&arm(&request.pair, request.control, machine.topology()), 0.0, stop)?;
    let work = Work::Beside(Box::new(beside));
    let job = Job { run_as, ..Job::plain(work, cpus.to_string(), cpus, request.work.timeout_s) };
    Ok(machine.run(&job, stop)?.outcome)
}

fn went_well(what: &str, outcome: &Outcome) -> Result<(), Error> {
    let Some(why) = &outcome.failure else { return Ok(()) };
    let output = outcome.output.as_ref().filter(|text| !text.trim().is_empty());
    let output = output.map(|text| format!("\n{text}")).unwrap_or_default();
    Err(Error::Usage(format!("{what} failed: {why}{output}")))
}

/// Refuses work that is too short to be measured. Errors: [`Error::Usage`], with the number of
/// repetitions that would do.
pub fn check_length(request: &Request, work_s: f64) -> Result<(), Error> {
    if work_s >= WORK_MIN_S {
        return Ok(());
    }
    let once_s = work_s / f64::from(request.repeat.max(1));
    let repeat = (1.0 / once_s.max(1e-5)).ceil();
    Err(Error::Usage(format!(
        "the work ends after {:.1} ms, and below {:.0} ms starting and ending it is what would be \
         measured; repeat it: --repeat {repeat:.0} makes one piece of work of about a second",
        work_s * 1e3,
        WORK_MIN_S * 1e3
    )))
}

/// How long the default work may take alone for [`BLOCKS_MIN`] blocks to fit into the budget, in
/// seconds: twice the shortest that can be measured at least, and `longest_s` at most.
pub fn work_s(request: &Request, longest_s: f64) -> f64 {
    let conditions = conditions(request);
    let fixed_s = block_s(request, &conditions, &[0.0]);
    let per_second = block_s(request, &conditions, &[1.0]) - fixed_s;
    let block_s = request.budget_s * PLANNED_SHARE / f64::from(BLOCKS_MIN);
    let fits_s = (block_s - fixed_s) / per_second;
    let fits_s = if request.blocks.is_some() { longest_s } else { fits_s };
    fits_s.clamp(2.0 * WORK_MIN_S, longest_s)
}

/// A time in which [`BLOCKS_MIN`] blocks are measured, in seconds.
pub fn enough_s(request: &Request, work_s: &[f64]) -> f64 {
    block_s(request, &conditions(request), work_s) * f64::from(BLOCKS_MIN) / PLANNED_SHARE
}

/// Draws the plan, for work that takes so long alone, in seconds: each of the commands where there are
/// several. Errors: [`Error::Usage`] if the
/// budget is not enough for a block.
pub fn draw(request: &Request, work_s: &[f64], topology: &Topology) -> Result<Plan, Error> {
    let conditions = conditions(request);
    let block_s = block_s(request, &conditions, work_s);
    if request.blocks.is_none() && block_s > request.budget_s {
        return Err(Error::Usage(format!(
            "a block of {} conditions takes about {}, but {} of --budget are left, too little for \
             any figure; give --budget {:.0}m or more, or {}",
            conditions.len(),
            human_seconds(block_s),
            human_seconds(request.budget_s),
            (enough_s(request, work_s) / 60.0).ceil(),
            match (request.commands.is_empty(), request.rulers) {
                (true, true) => "shorter work",
                (true, false) => "fewer --spinners",
                (false, _) => "fewer commands",
            }
        )));
    }
    let fit = ((request.budget_s / block_s) as u32).clamp(1, BLOCKS_MIN);
    let looks = request.blocks.map_or_else(|| vec![fit, BLOCKS], |blocks| vec![blocks]);
    let count = looks.last().copied().unwrap_or(0) as usize;
    let arm = arm(&request.pair, request.control, topology);
    Ok(Plan {
        schema: SCHEMA,
        coretwin: env!("CARGO_PKG_VERSION").to_owned(),
        machine: crate::host_machine::HOST.to_owned(),
        origin: Some(topology.origin()),
        comparison: Comparison::None,
        reference_arm: arm.label.clone(),
        arms: vec![arm],
        rows: conditions.iter().map(|condition| row(request, condition)).collect(),
        command: Some(request.work.clone()),
        simulation: None,
        split: None,
        cputime: Some(Box::new(Experiment {
            pair: request.pair.clone(),
            control: request.control,
            spinner: request.spinner.clone(),
            work: request.about.clone(),
            repeat: request.repeat,
            data_bytes: request.data_bytes,
            window_s: request.window_s(),
            conditions,
            commands: request.commands.clone(),
            objective: request.objective,
            cores: request.cores,
        })),
        seed: request.seed,
        orders: orders::balanced(1, count, &mut Stream::new(request.seed, "orders", 0)),
        rules: Rules {
            protocol: if request.blocks.is_some() { Protocol::Fixed } else { Protocol::Modern },
            looks,
            target: 0.01,
            margin: 0.02,
            budget_s: request.blocks.is_none().then_some(request.budget_s),
            steal_share_max: request.steal_share_max,
            others_share_max: request.others_share_max,
            retries_max: RETRIES_MAX,
            warmup: false,
            warmup_runs: 1,
            settle_s: 0.0,
            repeats: 1,
            until: Rule::Width,
        },
        screening: None,
        load: None,
        topology: topology.clone(),
        warnings: Vec::new(),
    })
}

/// What a row of the plan runs. Errors: [`Error::Usage`] if the plan does not say.
pub(crate) fn work(plan: &Plan, row: &PlanRow, work: &CommandSpec) -> Result<Work, Error> {
    let experiment = plan.cputime.as_deref();
    let condition = experiment.and_then(|experiment| experiment.condition(&row.id));
    let Some((experiment, condition)) = experiment.zip(condition) else {
        return Err(Error::Usage(format!("the plan does not say what row {} is", row.id)));
    };
    let command = |number: Option<usize>| number.and_then(|at| experiment.commands.get(at));
    let row = command(condition.work).is_some_and(|command| command.row);
    let work = match command(condition.work) {
        Some(command) => CommandSpec { argv: command.argv.clone(), ..work.clone() },
        None => work.clone(),
    };
    let spinner = match (command(condition.beside), condition.ruler) {
        (Some(command), _) => pairs::again(command, work.folder.as_deref()),
        (None, Some(ruler)) => rulers::spinner(ruler, &plan.topology),
        (None, None) => experiment.spinner.clone(),
    };
    Ok(Work::Beside(Box::new(Beside {
        work: condition.has_work.then_some(work),
        row,
        repeat: experiment.repeat,
        work_cpus: condition.work_cpus.clone(),
        spinner,
        spinners: condition.spinners,
        spinner_cpus: condition.spinner_cpus.clone(),
        window_s: experiment.window_s,
    })))
}

fn arm(pair: &Pair, control: Option<CpuId>, topology: &Topology) -> PlanArm {
    let cpus = cpus(pair, control);
    let core = |cpu| topology.cpu(cpu).map(|cpu| cpu.core);
    let mut cores: Vec<_> = cpus.iter().filter_map(core).collect();
    cores.sort_unstable();
    cores.dedup();
    PlanArm {
        label: format!("cpus:{cpus}"),
        state: ArmState::Cpus(cpus.clone()),
        scheduler: KERNEL.to_owned(),
        cores: cores.len() as u32,
        threads: 1,
        smt: None,
        about: format!("CPUs {cpus}"),
        cpus,
        ..PlanArm::default()
    }
}

/// All conditions, in the order of the table: the work alone, beside spinners place by place, and
/// one spinner alone on every set of CPUs that spinners have.
fn conditions(request: &Request) -> Vec<Condition> {
    if !request.commands.is_empty() {
        let pairs = pairs::conditions(request);
        return pairs.into_iter().chain(rulers::conditions(request)).collect();
    }
    if request.rulers {
        return std::iter::once(alone(request)).chain(rulers::conditions(request)).collect();
    }
    let pair = &request.pair;
    let work = pairs::one(pair.work);
    let mut counts: Vec<u32> =
        request.spinners.iter().copied().filter(|count| *count > 0).collect();
    counts.sort_unstable();
    counts.dedup();
    let beside = match pair.relation {
        Relation::Siblings | Relation::Probed => Some(Place::Siblings),
        Relation::Named => Some(Place::Pair),
        // The neighbour is the control.
        Relation::Separate => None,
    };
    let neighbour = beside.map(|place| (place, work.clone(), pairs::one(pair.neighbour)));
    let control = request.control.map(|cpu| (Place::Cores, work.clone(), pairs::one(cpu)));
    let places = neighbour
        .into_iter()
        .chain([
            (Place::SameCpu, work.clone(), work.clone()),
            (Place::Free, pair.cpus(), pair.cpus()),
        ])
        .chain(control);
    let mut conditions = vec![alone(request)];
    for (place, work_cpus, spinner_cpus) in places {
        conditions.extend(counts.iter().map(|count| Condition {
            name: format!("{place}/{count}"),
            place,
            has_work: true,
            spinners: *count,
            work_cpus: work_cpus.clone(),
            spinner_cpus: spinner_cpus.clone(),
            work: None,
            beside: None,
            ruler: None,
        }));
    }
    let mut sets: Vec<CpuSet> = Vec::new();
    for condition in conditions.iter().filter(|condition| condition.spinners > 0) {
        if !sets.contains(&condition.spinner_cpus) {
            sets.push(condition.spinner_cpus.clone());
        }
    }
    conditions.extend(sets.into_iter().map(|cpus| Condition {
        name: format!("{SPINNER}@{cpus}"),
        place: Place::Alone,
        has_work: false,
        spinners: 1,
        work_cpus: CpuSet::new(),
        spinner_cpus: cpus,
        work: None,
        beside: None,
        ruler: None,
    }));
    conditions
}

/// The one work alone.
fn alone(request: &Request) -> Condition {
    Condition {
        name: Place::Alone.name().to_owned(),
        place: Place::Alone,
        has_work: true,
        spinners: 0,
        work_cpus: pairs::one(request.pair.work),
        spinner_cpus: CpuSet::new(),
        work: None,
        beside: None,
        ruler: None,
    }
}

fn row(request: &Request, condition: &Condition) -> PlanRow {
    let (workload, unit, better) = if condition.has_work {
        (COMMAND, "s", Better::Lower)
    } else if request.spinner.kind == SpinnerKind::Command {
        (SPINNER, LINES_PER_S, Better::Higher)
    } else {
        (SPINNER, STEPS_PER_S, Better::Higher)
    };
    PlanRow {
        id: condition.name.clone(),
        workload: workload.to_owned(),
        family: "cputime".to_owned(),
        params: Params::from([("spinners".to_owned(), i64::from(condition.spinners).into())]),
        placement: Placement::Free,
        threads: ThreadRule::Fixed(1),
        copies: CopyRule::Fixed(1),
        unit: unit.to_owned(),
        better,
        scale: Scale::Ratio,
        arms: Vec::new(),
    }
}

/// About how long a block takes, in seconds, where siblings slow each other to half at worst.
fn block_s(request: &Request, conditions: &[Condition], work_s: &[f64]) -> f64 {
    let run_s = |condition: &Condition| {
        let tasks = f64::from(condition.spinners + 1);
        let shares = match (condition.has_work, condition.place) {
            (false, _) => return request.window_s() + OVERHEAD_S,
            (true, Place::Alone | Place::Cores) => 1.0,
            (true, Place::Siblings | Place::Pair) => 1.5,
            (true, Place::SameCpu) => tasks,
            (true, Place::Free) if request.pair.relation.is_smt() => 0.75 * tasks,
            (true, Place::Free) => tasks / 2.0,
        };
        work_s.get(condition.work.unwrap_or(0)).copied().unwrap_or(0.0) * shares + OVERHEAD_S
    };
    conditions.iter().map(run_s).sum()
}

#[cfg(test)]
mod tests;
