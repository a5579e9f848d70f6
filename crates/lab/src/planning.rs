//! Drawing the plan: every choice of a study, made and stored before its first run.

use crate::arms;
use crate::error::Error;
use crate::request::{Counts, Request, Subject};
use coretwin_base::arm::{ArmSpec, ArmState};
use coretwin_base::command::CommandSpec;
use coretwin_base::limits::Need;
use coretwin_base::param::{Params, WorkloadSpec, label};
use coretwin_base::placement::Placement;
use coretwin_base::plan::{
    Comparison, CopyRule, Plan, PlanArm, PlanRow, Protocol, Rules, Scale, Screening, ThreadRule,
};
use coretwin_base::random::Stream;
use coretwin_base::reading::Better;
use coretwin_base::schema::SCHEMA;
use coretwin_base::topology::{Topology, Trust};
use coretwin_base::warning::Warning;
use coretwin_stats::{article2003, orders, stopping};
use std::collections::{BTreeMap, BTreeSet};

/// Blocks of a screening of thread counts.
const SCREENING_BLOCKS: u32 = 3;
/// Blocks of `--quick`, which gives no verdict.
const QUICK_BLOCKS: u32 = 3;
/// Blocks of a study that compares boots, where nothing else is asked for: each costs a reboot an arm.
const BOOT_BLOCKS: u32 = 3;
/// Runs of each row in a boot, where nothing else is asked for.
const BOOT_REPEATS: u32 = 3;
/// How often a block is run again after something outside disturbed it.
const RETRIES_MAX: u32 = 2;
/// Name of the workload and family of a user's own command.
pub const COMMAND: &str = "command";

/// Draws the plan of a study on a machine of this topology.
///
/// # Errors
/// Unknown names, parameters out of range, arms or placements this machine cannot reach.
pub fn draw(request: &Request, machine: &str, topology: &Topology) -> Result<Plan, Error> {
    let specs =
        if request.arms.is_empty() { arms::default_arms(topology) } else { request.arms.clone() };
    let plan = assemble(request, &specs, rows(request, Names::Suites)?, machine, topology)?;
    match plan.arms.as_slice() {
        [] => Err(Error::NotPossible("no CPU is usable here".to_owned())),
        [arm] => Err(Error::NotPossible(format!(
            "there is one arm only ({}), and a study compares two or more; name another with --arm",
            arm.about
        ))),
        _ => Ok(plan),
    }
}

/// Draws the plan of a single run: the request's one arm, one block, no suites.
///
/// # Errors
/// As [`draw`].
pub fn draw_once(request: &Request, machine: &str, topology: &Topology) -> Result<Plan, Error> {
    assemble(request, &request.arms, rows(request, Names::Workloads)?, machine, topology)
}

fn assemble(
    request: &Request,
    specs: &[ArmSpec],
    rows: Vec<PlanRow>,
    machine: &str,
    topology: &Topology,
) -> Result<Plan, Error> {
    let arms = arms::resolve(specs, topology)?;
    check_placements(&rows, &arms, topology)?;
    let rules = rules(request, &rows, &arms)?;
    let count = *rules.looks.last().unwrap_or(&0) as usize;
    let screening = screening(&rows, &arms, request.seed);
    let comparison = arms::comparison(&arms, topology);
    Ok(Plan {
        schema: SCHEMA,
        coretwin: env!("CARGO_PKG_VERSION").to_owned(),
        machine: machine.to_owned(),
        comparison,
        reference_arm: arms.first().map(|arm| arm.label.clone()).unwrap_or_default(),
        orders: orders::balanced(arms.len(), count, &mut Stream::new(request.seed, "orders", 0)),
        warnings: warnings(comparison, &arms, topology),
        arms,
        rows,
        command: match &request.subject {
            Subject::Command { spec, .. } => Some(CommandSpec::clone(spec)),
            Subject::Workloads(_) => None,
        },
        cputime: None,
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
    check_rules(request, rows, reboots)?;
    let (protocol, blocks) = match (request.protocol, request.blocks) {
        (Protocol::Modern, blocks) if reboots => {
            (Protocol::Fixed, Some(blocks.unwrap_or(BOOT_BLOCKS)))
        }
        asked => asked,
    };
    let looks = match (protocol, blocks) {
        (Protocol::Article2003, _) => {
            vec![rows.iter().map(|row| article2003::runs(&row.family)).max().unwrap_or(0)]
        }
        (Protocol::Quick, _) => vec![QUICK_BLOCKS],
        (_, Some(blocks)) => vec![blocks],
        (_, None) => stopping::LOOKS.to_vec(),
    };
    let timed = protocol == Protocol::Modern;
    Ok(Rules {
        protocol,
        looks,
        target: request.target,
        margin: request.margin,
        budget_s: timed.then_some(request.budget_s),
        steal_share_max: request.steal_share_max,
        others_share_max: request.others_share_max,
        // The article knew no retries, and a boot is too dear to be made again.
        retries_max: if article || reboots { 0 } else { RETRIES_MAX },
        warmup: request.warmup && !article,
        settle_s: if switches || reboots { request.settle_s } else { 0.0 },
        repeats: request.repeats.unwrap_or(if reboots { BOOT_REPEATS } else { 1 }),
    })
}

/// Refuses what does not go together.
fn check_rules(request: &Request, rows: &[PlanRow], reboots: bool) -> Result<(), Error> {
    let article = request.protocol == Protocol::Article2003;
    let why = if article && request.repeats.is_some() {
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

/// What a bare name means where a suite and a workload share it.
#[derive(Clone, Copy, PartialEq)]
enum Names {
    Suites,
    Workloads,
}

fn rows(request: &Request, names: Names) -> Result<Vec<PlanRow>, Error> {
    let rows = match &request.subject {
        Subject::Workloads(specs) => workload_rows(specs, &request.placements, names)?,
        Subject::Command { spec, threads, copies } => {
            if request.placements.iter().any(|placement| *placement != Placement::Free) {
                return Err(Error::Usage(
                    "--placement is for workloads of the table; where a command's tasks run is \
                     decided by its arm, like --arm cpus:0-1"
                        .to_owned(),
                ));
            }
            let counted = !matches!(threads, Counts::Default);
            if counted && !spec.argv.iter().any(|arg| arg.contains("{threads}")) {
                return Err(Error::Usage(
                    "--threads needs {threads} in the command, where the number is filled in"
                        .to_owned(),
                ));
            }
            command_rows(spec, threads, copies)
        }
    };
    let mut ids = BTreeSet::new();
    for row in &rows {
        if !ids.insert(row.id.as_str()) {
            return Err(Error::Usage(format!("the row {} is asked for twice", row.id)));
        }
    }
    Ok(rows)
}

fn workload_rows(
    specs: &[WorkloadSpec],
    placements: &[Placement],
    names: Names,
) -> Result<Vec<PlanRow>, Error> {
    let mut rows = Vec::new();
    for spec in specs {
        for (given, workload, params) in expand(spec, names)? {
            for placement in placements {
                if *placement != Placement::Free && workload.roles().len() < 2 {
                    continue;
                }
                let mut id = label(&given.name, &given.params);
                if *placement != Placement::Free {
                    id.push_str(&format!("@{placement}"));
                }
                rows.push(PlanRow {
                    id,
                    workload: workload.name().to_owned(),
                    family: workload.family().to_owned(),
                    params: params.clone(),
                    placement: *placement,
                    threads: ThreadRule::Fixed(workload.tasks(&params)),
                    copies: workload.copies(&params),
                    unit: workload.unit().to_owned(),
                    better: workload.better(),
                    scale: workload.scale(),
                });
            }
        }
    }
    if rows.is_empty() {
        return Err(Error::Usage(
            "no row is left: the placements asked for need workloads with two or more roles"
                .to_owned(),
        ));
    }
    Ok(rows)
}

type Expanded = (WorkloadSpec, &'static dyn coretwin_workloads::workload::Workload, Params);

/// A suite's rows, or the workload itself.
fn expand(spec: &WorkloadSpec, names: Names) -> Result<Vec<Expanded>, Error> {
    let given = match coretwin_workloads::table::suite(&spec.name) {
        Some(suite) if names == Names::Suites && suite.is_meant(spec) => {
            suite.rows_with(&spec.params).map_err(|error| Error::Usage(error.to_string()))?
        }
        _ => vec![spec.clone()],
    };
    given
        .into_iter()
        .map(|given| {
            let (workload, params) = coretwin_workloads::table::resolve(&given)
                .map_err(|error| Error::Usage(error.to_string()))?;
            Ok((given, workload, params))
        })
        .collect()
}

fn command_rows(spec: &CommandSpec, threads: &Counts, copies: &Counts) -> Vec<PlanRow> {
    let thread_rules: Vec<ThreadRule> = match threads {
        Counts::Default => vec![ThreadRule::Arm],
        Counts::Auto => vec![ThreadRule::Screened],
        Counts::List(list) => list.iter().map(|count| ThreadRule::Fixed(*count)).collect(),
    };
    let copy_rules: Vec<CopyRule> = match copies {
        Counts::Default => vec![CopyRule::Fixed(1)],
        Counts::Auto => vec![CopyRule::PerCpu],
        Counts::List(list) => list.iter().map(|count| CopyRule::Fixed(*count)).collect(),
    };
    let primary = spec.metrics.iter().find(|metric| metric.primary);
    let (unit, better) = match (primary, copies) {
        (Some(metric), _) => (metric.unit.clone(), metric.better),
        (None, Counts::Default) => ("s".to_owned(), Better::Lower),
        (None, _) => ("runs/s".to_owned(), Better::Higher),
    };
    let mut rows = Vec::new();
    for thread_rule in &thread_rules {
        for copy_rule in &copy_rules {
            let mut params = Params::new();
            if let ThreadRule::Fixed(count) = thread_rule {
                params.insert("threads".to_owned(), (i64::from(*count)).into());
            }
            if let (CopyRule::Fixed(count), Counts::List(_)) = (copy_rule, copies) {
                params.insert("copies".to_owned(), (i64::from(*count)).into());
            }
            rows.push(PlanRow {
                id: label(COMMAND, &params),
                workload: COMMAND.to_owned(),
                family: COMMAND.to_owned(),
                params,
                placement: Placement::Free,
                threads: *thread_rule,
                copies: *copy_rule,
                unit: unit.clone(),
                better,
                scale: Scale::Ratio,
            });
        }
    }
    rows
}

fn check_placements(rows: &[PlanRow], arms: &[PlanArm], topology: &Topology) -> Result<(), Error> {
    for row in rows {
        for arm in arms.iter().filter(|arm| !matches!(arm.state, ArmState::Boot(_))) {
            roles(row, arm, topology).map_err(|why| {
                Error::NotPossible(format!(
                    "row {} in arm {}: {why}; leave out that placement or that arm",
                    row.id, arm.label
                ))
            })?;
        }
    }
    Ok(())
}

/// The CPU set of each role of a row in an arm; empty where every role has the whole arm.
///
/// # Errors
/// A sentence, if the arm has no CPUs that stand so to each other.
pub fn roles(
    row: &PlanRow,
    arm: &PlanArm,
    topology: &Topology,
) -> Result<Vec<coretwin_base::cpu_set::CpuSet>, String> {
    let count =
        coretwin_workloads::table::find(&row.workload).map_or(1, |workload| workload.roles().len());
    coretwin_host::placement::roles(topology, &arm.cpus, row.placement, count)
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
    if comparison == Comparison::None && !topology.has_usable_siblings() {
        warnings.push(Warning::new(
            "no-siblings",
            format!("no SMT siblings are visible on this machine: {}", topology.trust_why),
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
            if arm.cpus == other.cpus && arm.threads == other.threads && arm.state != other.state {
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
#[must_use]
pub fn needs(plan: &Plan) -> Vec<Need> {
    let mut most: BTreeMap<_, Need> = BTreeMap::new();
    for row in &plan.rows {
        let Some(workload) = coretwin_workloads::table::find(&row.workload) else { continue };
        for need in workload.needs(&row.params) {
            let entry = most.entry(need.limit).or_insert(need);
            entry.amount = entry.amount.max(need.amount);
        }
    }
    most.into_values().collect()
}
