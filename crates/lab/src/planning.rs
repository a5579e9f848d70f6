//! Drawing the plan: every choice of a study, made and stored before its first run.

use crate::arms;
use crate::error::Error;
use crate::load_curve;
use crate::request::{Request, Subject};
use crate::rows::{self, Asked, Names};
use coretwin_base::machine::limits::Need;
use coretwin_base::machine::topology::{Topology, Trust};
use coretwin_base::random::Stream;
use coretwin_base::schema::SCHEMA;
use coretwin_base::study::arm::{ArmSpec, ArmState};
use coretwin_base::study::command::CommandSpec;
use coretwin_base::study::plan::{
    Comparison, Plan, PlanArm, PlanRow, Protocol, Rule, Rules, Screening, Split, ThreadRule,
    one_state,
};
use coretwin_base::warning::Warning;
use coretwin_stats::study::protocol_2003;
use coretwin_stats::{orders, sequence, stopping};
use std::collections::BTreeMap;

const SCREENING_BLOCKS: u32 = 3;
/// Blocks of `--quick`, which gives no verdict.
const QUICK_BLOCKS: u32 = 3;
/// Blocks of a study that compares boots, where nothing else is asked for: each costs a reboot an arm.
const BOOT_BLOCKS: u32 = 3;
/// Runs of each row in a boot, where nothing else is asked for.
const BOOT_REPEATS: u32 = 3;
/// How often a block is run again after something outside disturbed it.
const RETRIES_MAX: u32 = 2;

/// Draws the plan of a study on a machine of this topology. Errors: unknown names, parameters out
/// of range, arms or placements this machine cannot reach.
pub fn draw(request: &Request, machine: &str, topology: &Topology) -> Result<Plan, Error> {
    let specs = match request.arms.as_slice() {
        [] if !request.variants().is_empty() => vec![arms::all_cpus()],
        [] if request.split && !topology.has_usable_siblings() => {
            return Err(Error::NotPossible(format!(
                "--split: siblings cannot be told from threads here: {}; sets of CPUs can, without a \
                 word on SMT: --arm cpus:0 --arm cpus:0-1",
                topology.trust_why
            )));
        }
        [] => arms::default_arms(topology),
        arms => arms.to_vec(),
    };
    let asked = rows::asked(request, Names::Suites, topology)?;
    let plan =
        assemble(request, Parts::on_host(request, &specs, asked, topology)?, machine, topology)?;
    match plan.arms.as_slice() {
        [] => Err(Error::NotPossible("no CPU is usable here".to_owned())),
        [arm] => Err(Error::NotPossible(format!(
            "there is one arm only ({}), and a study compares two or more; name another with --arm, \
             or with --aa measure it against itself",
            arm.about
        ))),
        _ => Ok(plan),
    }
}

/// Draws the plan of a single run: the request's one arm, one block, no suites. Errors: as
/// [`draw`].
pub fn draw_once(request: &Request, machine: &str, topology: &Topology) -> Result<Plan, Error> {
    let asked = rows::asked(request, Names::Workloads, topology)?;
    assemble(request, Parts::on_host(request, &request.arms, asked, topology)?, machine, topology)
}

pub(crate) struct Parts {
    pub(crate) arms: Vec<PlanArm>,
    pub(crate) rows: Vec<PlanRow>,
    pub(crate) left_out: Option<Warning>,
    pub(crate) split: Option<Split>,
}

impl Parts {
    fn on_host(
        request: &Request,
        specs: &[ArmSpec],
        asked: Asked,
        topology: &Topology,
    ) -> Result<Self, Error> {
        let (arms, split) = arms::split(arms::resolve(specs, topology)?, request.split)?;
        let arms = arms::crossed(arms, request.variants(), request.control);
        arms::check_labels(arms.iter().map(|arm| &arm.label))?;
        let left_out = asked.left_out();
        let rows = asked.placed(&arms, topology)?;
        Ok(Self { arms, rows, left_out, split })
    }
}

/// Puts a plan together. Errors: if what was asked for does not go together.
pub(crate) fn assemble(
    request: &Request,
    Parts { arms, rows, left_out, split }: Parts,
    machine: &str,
    topology: &Topology,
) -> Result<Plan, Error> {
    let (rows, load) = load_curve::plan(request, rows, &arms)?;
    let rules = rules(request, &rows, &arms)?;
    let count = *rules.looks.last().unwrap_or(&0) as usize;
    let screening = screening(&rows, &arms, request.seed);
    let comparison = arms::comparison(&arms, topology);
    Ok(Plan {
        schema: SCHEMA,
        coretwin: env!("CARGO_PKG_VERSION").to_owned(),
        machine: machine.to_owned(),
        origin: Some(topology.origin()),
        comparison,
        reference_arm: arms.first().map(|arm| arm.label.clone()).unwrap_or_default(),
        orders: orders::balanced(arms.len(), count, &mut Stream::new(request.seed, "orders", 0)),
        warnings: warnings(comparison, &arms, topology).into_iter().chain(left_out).collect(),
        arms,
        rows,
        command: match &request.subject {
            Subject::Command { spec, .. } => Some(CommandSpec::clone(spec)),
            Subject::Workloads(_) => None,
        },
        cputime: None,
        load,
        simulation: None,
        split,
        seed: request.seed,
        rules,
        screening,
        topology: topology.clone(),
    })
}

fn rules(request: &Request, rows: &[PlanRow], arms: &[PlanArm]) -> Result<Rules, Error> {
    let reboots = arms.iter().any(|arm| matches!(arm.state, ArmState::Boot(_)));
    let switches = arms.iter().any(|arm| arm.state == ArmState::Off);
    let article = request.protocol == Protocol::Article2003;
    let quick = request.protocol == Protocol::Quick;
    check_rules(request, rows, reboots)?;
    let (protocol, blocks) = match (request.protocol, request.blocks) {
        (Protocol::Modern, blocks) if reboots => {
            (Protocol::Fixed, Some(blocks.unwrap_or(BOOT_BLOCKS)))
        }
        asked => asked,
    };
    let until = request.until;
    let looks = match (protocol, blocks) {
        _ if until == Rule::Verdict => sequence::looks(arms.len()),
        (Protocol::Article2003, _) => {
            vec![rows.iter().map(|row| protocol_2003::runs(&row.family)).max().unwrap_or(0)]
        }
        (Protocol::Quick, _) => vec![QUICK_BLOCKS],
        (_, Some(blocks)) => vec![blocks],
        (_, None) => stopping::LOOKS.to_vec(),
    };
    let timed = protocol == Protocol::Modern || until == Rule::Verdict;
    Ok(Rules {
        protocol,
        looks,
        target: request.target,
        margin: request.margin,
        budget_s: timed.then_some(request.budget_s),
        steal_share_max: request.steal_share_max,
        others_share_max: request.others_share_max,
        // The article knew no retries, and a boot is too dear to be made again.
        // A screening is to be short, whatever happens beside it.
        retries_max: if article || reboots || quick { 0 } else { RETRIES_MAX },
        warmup: request.warmup && !article,
        warmup_runs: request.warmup_runs.unwrap_or(1),
        settle_s: if switches || reboots { request.settle_s } else { 0.0 },
        repeats: request.repeats.unwrap_or(if reboots { BOOT_REPEATS } else { 1 }),
        until,
    })
}

fn check_rules(request: &Request, rows: &[PlanRow], reboots: bool) -> Result<(), Error> {
    let article = request.protocol == Protocol::Article2003;
    let sequential = request.until == Rule::Verdict;
    let many = request.control || request.split || !request.variants().is_empty();
    let why = if (article || reboots) && many {
        "--variant, --split and --aa need blocks without boots; leave out --protocol 2003 and boot arms"
    } else if request.split && !request.variants().is_empty() {
        "--split and --variant both make arms of one; ask one after the other"
    } else if request.split && !rows.iter().all(|row| rows::follows_threads(row, request)) {
        "--split needs work that is told how many threads to run: {threads} in the command, or --copies \
         auto; of a workload a parameter, like dbench:clients={threads}"
    } else if sequential && (article || request.blocks.is_some()) {
        "--until verdict decides how many blocks there are; leave out --blocks and --protocol"
    } else if sequential && reboots {
        "--until verdict cannot ask for boots one by one; leave it out where boots are compared"
    } else if article && request.repeats.is_some() {
        "--protocol 2003 fixes the number of runs; leave out --repeats"
    } else if article && reboots {
        "--protocol 2003 knows no boot arms; --blocks 1 --repeats 5 boots each arm once, and takes \
         five runs there, as the article did"
    } else if reboots && rows.iter().any(|row| row.threads == ThreadRule::Screened) {
        "--threads auto would need boots for the screening alone; name the counts, like --threads 4,8"
    } else {
        return Ok(());
    };
    Err(Error::Usage(why.to_owned()))
}

/// Thread counts worth trying on an arm of this many CPUs: up to six, from one to twice as many.
fn candidates(cpus: u32) -> Vec<u32> {
    let mut counts: Vec<u32> = [1, cpus / 4, cpus / 2, cpus * 3 / 4, cpus, cpus * 2]
        .into_iter()
        .filter(|count| *count > 0)
        .collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

fn screening(rows: &[PlanRow], arms: &[PlanArm], seed: u64) -> Option<Screening> {
    rows.iter().any(|row| row.threads == ThreadRule::Screened).then(|| Screening {
        blocks: SCREENING_BLOCKS,
        candidates: arms.iter().map(|arm| candidates(arm.cpus.len() as u32)).collect(),
        orders: orders::balanced(
            arms.len(),
            SCREENING_BLOCKS as usize,
            &mut Stream::new(seed, "screening-orders", 0),
        ),
    })
}

fn warnings(comparison: Comparison, arms: &[PlanArm], topology: &Topology) -> Vec<Warning> {
    let mut warnings = Vec::new();
    // Of boots nothing is known yet.
    if arms.iter().any(|arm| matches!(arm.state, ArmState::Boot(_))) {
        return warnings;
    }
    if comparison == Comparison::None && !topology.has_usable_siblings() && !one_state(arms) {
        warnings.push(Warning::new(
            "no-siblings",
            match topology.cores_of(&topology.allowed) {
                Some(_) => format!("no SMT siblings are visible here: {}", topology.trust_why),
                None => format!("which CPUs are siblings is unknown here: {}", topology.trust_why),
            },
            "nothing here is a statement about SMT; run the study on a machine where \
             'coretwin topology' shows siblings",
        ));
    }
    if comparison != Comparison::None && topology.trust == Trust::Unknown {
        warnings.push(Warning::new(
            "topology-unconfirmed",
            format!("which CPUs share a core is not certain here: {}", topology.trust_why),
            "if the siblings shown are not real, this says nothing about SMT; \
             repeat the study on the hardware itself, or where the topology is known",
        ));
    }
    for (index, arm) in arms.iter().enumerate() {
        for other in &arms[..index] {
            let is_same = arm.cpus == other.cpus && arm.threads == other.threads;
            if is_same && arm.scheduler == other.scheduler && arm.state != other.state {
                warnings.push(Warning::new(
                    "same-arms",
                    format!(
                        "arms {} and {} have the same CPUs ({}) here",
                        other.label, arm.label, arm.cpus
                    ),
                    "the comparison shows noise only; choose arms that differ",
                ));
            }
        }
    }
    warnings
}

/// The most of every limit that any row of the plan needs.
pub fn needs(plan: &Plan) -> Vec<Need> {
    let mut most: BTreeMap<_, Need> = BTreeMap::new();
    for row in &plan.rows {
        let Some(workload) = coretwin_workloads::table::find(&row.workload) else { continue };
        for need in plan.arms.iter().flat_map(|arm| workload.needs(&row.params_in(arm))) {
            let entry = most.entry(need.limit).or_insert(need);
            entry.amount = entry.amount.max(need.amount);
        }
    }
    most.into_values().collect()
}
