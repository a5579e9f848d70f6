//! Warnings that follow from plan and readings.

use super::blocks::{Attempt, Blocks, Cell, Labels};
use super::counters::clocks_apart;
use super::diagnosis::slope;
use super::facts::Facts;
use super::rows::{decides, from_scale};
use crate::screening::choose_threads;
use crate::stopping::BLOCKS_MIN;
use crate::student;
use coretwin_base::parameters::THREADS;
use coretwin_base::study::plan::{CopyRule, Plan, PlanArm, Protocol, Rule, Scale};
use coretwin_base::study::reading::{Phase, Reading, Status};
use coretwin_base::study::summary::{StoppedBecause, Summary};
use coretwin_base::warning::Warning;
use std::collections::{BTreeMap, BTreeSet};

/// Share of attempts set aside above which the machine was too busy for a good study.
const SET_ASIDE_SHARE_MAX: f64 = 0.10;

/// Share of stolen time in the whole study above which a reader should know.
const STEAL_WARNED_SHARE: f64 = 0.01;

/// CPUs that one thread keeps busy at most, with its starting and what it leaves to the kernel.
const ONE_CPU_MOST: f64 = 1.1;

/// A trend is called drift if a straight line explains it at this level, shared among all rows.
const DRIFT_LEVEL: f64 = 0.01;

pub(super) fn of_blocks(plan: &Plan, blocks: &Blocks, stopped: StoppedBecause) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let analysed = blocks.analysed.len();
    let fewest = match plan.rules.until {
        Rule::Width => BLOCKS_MIN,
        Rule::Verdict => plan.blocks_min(),
    };
    if decides(plan) && analysed < fewest as usize {
        warnings.push(Warning::new(
            "few-blocks",
            format!("only {analysed} block(s) could be analysed"),
            format!(
                "Below {fewest} blocks one odd run moves the result and intervals are wide; {}.",
                more_blocks(plan, stopped)
            ),
        ));
    }
    warnings.extend(incomplete(plan, blocks));
    warnings.extend(set_aside(blocks));
    warnings.extend(order(plan, blocks, stopped));
    warnings.extend(drift(plan, blocks));
    warnings
}

/// Kind of the warning that the reference differs from itself.
pub(super) const CONTROL_DIFFERS: &str = "control-differs";

/// Whether the control took the verdicts back.
pub(crate) fn is_withheld(summary: &Summary) -> bool {
    summary.warnings.iter().any(|warning| warning.kind == CONTROL_DIFFERS)
}

fn incomplete(plan: &Plan, blocks: &Blocks) -> Option<Warning> {
    let (block, arm, row) = blocks.too_few?;
    let (row, arm, repeats) = (&plan.rows[row].id, &plan.arms[arm].label, plan.rules.repeats);
    Some(Warning::new(
        "incomplete",
        format!(
            "{} block(s) are not complete though later ones were begun: block {block} has fewer \
             than {repeats} run(s) of {row} in arm {arm}, as the first",
            blocks.incomplete
        ),
        "They take no part. No study leaves such blocks: plan or journal were altered, or are of \
         two studies.",
    ))
}

/// How to get more blocks. Resuming adds none to a number that was fixed and reached.
pub(super) fn more_blocks(plan: &Plan, stopped: StoppedBecause) -> &'static str {
    let is_over = matches!(
        stopped,
        StoppedBecause::Target
            | StoppedBecause::Verdict
            | StoppedBecause::Blocks
            | StoppedBecause::Budget
    );
    let is_open = plan.rules.protocol == Protocol::Modern || plan.rules.until == Rule::Verdict;
    match !is_open && is_over {
        true => "run it again with more --blocks",
        false => "go on with --resume",
    }
}

fn set_aside(blocks: &Blocks) -> Option<Warning> {
    let Blocks { set_aside, attempts, lost, .. } = *blocks;
    let share = f64::from(set_aside) / f64::from(attempts.max(1));
    if share <= SET_ASIDE_SHARE_MAX {
        return None;
    }
    Some(Warning::new(
        "set-aside",
        format!(
            "{set_aside} of {attempts} attempts at blocks were set aside for disturbances from \
             outside, and {lost} block(s) were lost for good"
        ),
        "Results with and without them are both shown. Stop what else runs on the machine, or on \
         a virtual machine ask for CPUs of your own, and measure again.",
    ))
}

fn order(plan: &Plan, blocks: &Blocks, stopped: StoppedBecause) -> Option<Warning> {
    let reference = plan.reference_index() as u16;
    let place = |attempt: &Attempt, arm: u16| attempt.order.iter().position(|&at| at == arm);
    let mut worst: Option<(u32, String)> = None;
    for (arm, index) in plan.arms.iter().zip(0u16..).filter(|(_, index)| *index != reference) {
        let reference = plan.base_index(usize::from(index)) as u16;
        let first = blocks
            .analysed
            .iter()
            .filter(|attempt| place(attempt, index) < place(attempt, reference))
            .count() as u32;
        let second = blocks.analysed.len() as u32 - first;
        let excess = first.abs_diff(second);
        // One or two are left over by chance or by an odd number of blocks.
        if excess > 2 && excess * 10 > first + second && worst.as_ref().is_none_or(|w| excess > w.0)
        {
            let (arm, reference) = (&arm.label, &plan.base_of(arm).label);
            let text = format!("{arm} ran before {reference} in {first} blocks, after in {second}");
            worst = Some((excess, text));
        }
    }
    let (_, text) = worst?;
    Some(Warning::new(
        "order",
        text,
        format!(
            "A drift of the machine no longer cancels completely. To complete the balanced orders, \
             {}.",
            more_blocks(plan, stopped)
        ),
    ))
}

/// The strongest trend of any row in the reference arm, if it is more than chance and more than the
/// margin.
fn drift(plan: &Plan, blocks: &Blocks) -> Option<Warning> {
    let reference = plan.reference_index();
    let ratio_rows = plan.rows.iter().filter(|row| row.scale == Scale::Ratio).count();
    let mut worst: Option<(f64, &str)> = None;
    for (index, row) in plan.rows.iter().enumerate().filter(|(_, row)| row.scale == Scale::Ratio) {
        let points: Vec<(f64, f64)> = blocks
            .analysed
            .iter()
            .filter_map(|attempt| match blocks.cell(attempt, reference, index) {
                Cell::Value(value) => Some((f64::from(attempt.block), value)),
                Cell::Missing | Cell::NotRun | Cell::Failed => None,
            })
            .collect();
        let Some((change, p)) = trend(&points) else { continue };
        let size = libm::fabs(change);
        if p < DRIFT_LEVEL / ratio_rows as f64
            && size > libm::log1p(plan.rules.margin)
            && worst.is_none_or(|(most, _)| size > libm::fabs(most))
        {
            worst = Some((change, &row.id));
        }
    }
    let (change, row) = worst?;
    let percent = (from_scale(change, Scale::Ratio) - 1.0) * 100.0;
    Some(Warning::new(
        "drift",
        format!(
            "values of {row} changed by {percent:+.1} % in arm {} from the first block to the last",
            plan.reference_arm
        ),
        "The orders of the arms cancel a steady drift, but it shows that the machine was not \
         steady: look at temperature, frequency and what else ran, and let it warm up.",
    ))
}

/// Total change along a straight line through the points, and the p-value of no slope (least
/// squares; NIST/SEMATECH e-Handbook 4.4.3). `None` for fewer than eight points.
fn trend(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    if points.len() < BLOCKS_MIN as usize {
        return None;
    }
    let count = points.len() as f64;
    let mean_x = points.iter().map(|p| p.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|p| p.1).sum::<f64>() / count;
    let centred: Vec<(f64, f64)> = points.iter().map(|p| (p.0 - mean_x, p.1 - mean_y)).collect();
    let (slope, error) = slope(&centred, count - 2.0);
    let change = slope * (points[points.len() - 1].0 - points[0].0);
    let p = if error > 0.0 { student::two_sided(slope / error, count - 2.0) } else { 0.0 };
    Some((change, p))
}

pub(super) fn of_readings(plan: &Plan, readings: &[Reading], facts: &Facts) -> Vec<Warning> {
    let mut warnings = facts.failures.warnings(plan);
    warnings.extend(unchosen(plan, readings));
    warnings.extend(steal(plan, readings));
    warnings.extend(clock(plan, readings));
    warnings.extend(checks(plan, readings));
    warnings.extend(noted(plan, readings));
    warnings.extend(one_cpu(plan, readings));
    warnings
}

/// A command that is started once, is not told how many threads to run, and kept no more than one CPU
/// busy where it had several: its arms differ in nothing that it uses.
fn one_cpu(plan: &Plan, readings: &[Reading]) -> Option<Warning> {
    let command = plan.command.as_ref().filter(|it| it.server.is_none() && it.load.is_none())?;
    let told = |argv: &[String]| argv.iter().any(|word| word.contains(THREADS));
    let once = plan.rows.iter().all(|row| row.copies == CopyRule::Fixed(1));
    let widest = plan.arms.iter().max_by_key(|arm| arm.cpus.len())?;
    let alike = plan.arms.iter().all(|arm| arm.cpus.len() == widest.cpus.len());
    if told(&command.argv) || plan.arms.iter().any(|arm| arm.variant.is_some()) || !once || alike {
        return None;
    }
    let of_widest = readings
        .iter()
        .filter(|it| it.arm == widest.label && it.status == Status::Ok && it.elapsed_s > 0.0);
    let busiest = of_widest.map(|it| (it.user_s + it.system_s) / it.elapsed_s).reduce(f64::max)?;
    Warning::when(
        busiest <= ONE_CPU_MOST,
        "one-cpu",
        format!(
            "the command kept {busiest:.1} CPUs busy at most, of {} in arm {}: it runs once in every arm",
            widest.cpus.len(),
            widest.label
        ),
        "One thread is as fast whether siblings are idle or off. '--copies auto' runs one command on \
         each CPU of the arm; {threads} in the command is replaced by that number.",
    )
}

/// Arms whose number of threads could not be chosen, though they were screened.
fn unchosen(plan: &Plan, readings: &[Reading]) -> Option<Warning> {
    plan.screening.as_ref()?;
    let chosen = choose_threads(plan, readings);
    let screened = |label: &str| {
        readings.iter().any(|reading| reading.phase == Phase::Screen && reading.arm == label)
    };
    let without = |arm: &&PlanArm| !chosen.contains_key(&arm.label) && screened(&arm.label);
    let arms: Vec<String> = plan
        .arms
        .iter()
        .filter(without)
        .map(|arm| format!("{} ({} threads)", arm.label, arm.threads))
        .collect();
    Warning::when(
        !arms.is_empty(),
        "screening",
        format!(
            "no number of threads was chosen for {}: every screening run was disturbed or failed",
            arms.join(", ")
        ),
        "Measure at a quieter time, or name the number with --threads.",
    )
}

/// Stolen time, by the arm that lost the largest share.
fn steal(plan: &Plan, readings: &[Reading]) -> Option<Warning> {
    let labels = Labels::new(plan);
    let mut stolen = vec![(0.0, 0.0); plan.arms.len()];
    for reading in readings.iter().filter(|reading| reading.phase == Phase::Study) {
        if let Some((arm, _)) = labels.find(reading) {
            let cpus = plan.arms[usize::from(arm)].cpus.len().max(1);
            let arm = &mut stolen[usize::from(arm)];
            arm.0 += reading.steal_s.max(0.0);
            arm.1 += reading.elapsed_s.max(0.0) * cpus as f64;
        }
    }
    let shares = stolen.iter().map(|(steal, time)| if *time > 0.0 { steal / time } else { 0.0 });
    let (arm, share) = plan.arms.iter().zip(shares).max_by(|a, b| a.1.total_cmp(&b.1))?;
    Warning::when(
        share > STEAL_WARNED_SHARE,
        "steal",
        format!("the hypervisor took {:.1} % of the CPU time of arm {}", share * 100.0, arm.label),
        "Somebody else was using the hardware. Measure at a quieter time or on CPUs of your \
         own.",
    )
}

/// Arms that did not run at one clock: the first thing that an effect is mistaken for.
fn clock(plan: &Plan, readings: &[Reading]) -> Option<Warning> {
    let (slow, fast, faster) = clocks_apart(plan, readings)?;
    Some(Warning::new(
        "clock",
        format!(
            "the processor's clock was {:.1} % faster in arm {} than in arm {}",
            faster * 100.0,
            plan.arms[fast].label,
            plan.arms[slow].label
        ),
        "The effect has this difference in it, as it has wherever power or heat lowers the clock. On \
         a machine with other cooling it is another; to leave it out, fix the clock (turbo off).",
    ))
}

fn checks(plan: &Plan, readings: &[Reading]) -> Vec<Warning> {
    let labels = Labels::new(plan);
    let mut broken: BTreeMap<(u16, &str), u32> = BTreeMap::new();
    for reading in readings.iter().filter(|reading| reading.phase == Phase::Study) {
        // A failed reading says itself which check broke it.
        if reading.status == Status::Failed || reading.checks.is_empty() {
            continue;
        }
        let Some((_, row)) = labels.find(reading) else { continue };
        for (name, _) in reading.checks.iter().filter(|(_, held)| !**held) {
            *broken.entry((row, name)).or_default() += 1;
        }
    }
    let warn = |((row, name), count): ((u16, &str), u32)| {
        Warning::new(
            "check",
            format!(
                "check '{name}' of {} did not hold in {count} run(s)",
                plan.rows[usize::from(row)].id
            ),
            "The run may not have done what it was asked to; do not act on this row before the \
             check is understood.",
        )
    };
    broken.into_iter().map(warn).collect()
}

fn noted(plan: &Plan, readings: &[Reading]) -> Vec<Warning> {
    let labels = Labels::new(plan);
    let mut rows: BTreeMap<&str, BTreeSet<u16>> = BTreeMap::new();
    for reading in readings.iter().filter(|reading| reading.phase == Phase::Study) {
        if let (Some(note), Some((_, row))) = (reading.notes.get("warning"), labels.find(reading)) {
            rows.entry(note).or_default().insert(row);
        }
    }
    let warn = |(note, rows): (&str, BTreeSet<u16>)| {
        let ids: Vec<&str> =
            rows.into_iter().map(|row| plan.rows[usize::from(row)].id.as_str()).collect();
        Warning::new(
            "workload",
            format!("{}: {note}", ids.join(", ")),
            "These rows did not measure what their names say; run them where they can, or leave \
             them out.",
        )
    };
    rows.into_iter().map(warn).collect()
}
