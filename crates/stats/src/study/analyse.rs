//! The analysis of a study.

use super::blocks::Blocks;
use super::facts::{Facts, blank};
use super::rows::Differences;
use super::{
    diagnosis, protocol_2003, resolution, sentences, split, split_words, suites, warnings,
};
use crate::load::{self, Capacities};
use crate::{confidence, holm, sequence};
use coretwin_base::schema::SCHEMA;
use coretwin_base::simulation::prediction::Prediction;
use coretwin_base::study::plan::{Plan, Protocol, Rule};
use coretwin_base::study::reading::Reading;
use coretwin_base::study::summary::{Interaction, RowEffect, StoppedBecause, Summary, Verdict};
use coretwin_base::warning::Warning;
use std::collections::BTreeMap;

/// Analyses a study: effects of every row and suite in every arm, verdicts, warnings, and the
/// answer in words. The order of the readings does not matter. The summary's warnings begin with
/// those of the plan.
pub fn analyse(plan: &Plan, readings: &[Reading], stopped: StoppedBecause) -> Summary {
    analyse_predicted(plan, readings, stopped, None)
}

pub fn analyse_predicted(
    plan: &Plan,
    readings: &[Reading],
    stopped: StoppedBecause,
    prediction: Option<Prediction>,
) -> Summary {
    let mut summary = Summary {
        schema: SCHEMA,
        machine: plan.machine.clone(),
        origin: plan.origin(),
        comparison: plan.comparison,
        protocol: plan.rules.protocol,
        arms: plan.arms.clone(),
        reference_arm: plan.reference_arm.clone(),
        stopped_because: stopped,
        rule: plan.rules.until,
        meaning: plan.rules.until.into(),
        margin: plan.rules.margin,
        target: plan.rules.target,
        warnings: plan.warnings.clone(),
        prediction: prediction.map(Box::new),
        ..Summary::default()
    };
    if plan.screening.is_some() {
        summary.threads_chosen = crate::screening::choose_threads(plan, readings);
    }
    let facts = Facts::new(plan, readings);
    if plan.rules.protocol == Protocol::Article2003 {
        protocol_2003::fill(&mut summary, plan, readings, &facts);
    } else {
        fill(&mut summary, plan, readings, &facts);
        hold_against_control(plan, &mut summary);
    }
    if is_interim(plan, readings, &summary) {
        summary.interim = true;
        let verdicts =
            summary.rows.iter_mut().map(|row| (&mut row.verdict, &mut row.blocks_needed));
        let interactions = summary.interactions.iter_mut().map(|of| &mut of.effect);
        let parts = summary.split.iter_mut().map(|of| &mut of.effect);
        let suites = summary.suites.iter_mut().chain(interactions).chain(parts);
        let suites = suites.map(|suite| (&mut suite.verdict, &mut suite.blocks_needed));
        for (verdict, blocks_needed) in verdicts.chain(suites) {
            (*verdict, *blocks_needed) = (None, None);
        }
    }
    summary.curve = load::curve(plan, readings).map(Box::new);
    if let Some(capacities) = Capacities::new(plan, readings) {
        summary.load = capacities.records(&summary.suites);
    }
    let nothing_done = summary.blocks == 0 && summary.prediction.is_none();
    let too_busy = nothing_done.then(|| super::too_busy(plan, readings)).flatten();
    summary.sentences = match too_busy {
        Some(sentence) => vec![sentence],
        None => {
            let interactions = sentences::interactions(plan, &summary).into_iter();
            let interactions = interactions.map(|said| format!("Interaction: {said}."));
            let split = split_words::sentence(plan, &summary);
            sentences::write(plan, &summary).into_iter().chain(interactions).chain(split).collect()
        }
    };
    summary
}

/// Whether the study was stopped before its own rule let it stop. One that used up its budget ended
/// by its plan.
fn is_interim(plan: &Plan, readings: &[Reading], summary: &Summary) -> bool {
    match summary.stopped_because {
        StoppedBecause::Target
        | StoppedBecause::Verdict
        | StoppedBecause::Blocks
        | StoppedBecause::Budget => false,
        // A sequence holds whenever somebody stops.
        _ if plan.rules.until == Rule::Verdict => false,
        _ => {
            let look = super::look(plan, readings);
            let narrow = plan.rules.protocol == Protocol::Modern && look.satisfied && look.due;
            !narrow && summary.blocks < plan.blocks_max()
        }
    }
}

fn fill(summary: &mut Summary, plan: &Plan, readings: &[Reading], facts: &Facts) {
    let blocks = Blocks::new(plan, readings);
    let (mut coarse, mut compared) = (BTreeMap::new(), BTreeMap::new());
    let capacities = Capacities::new(plan, readings);
    summary.blocks = blocks.analysed.len() as u32;
    for arm in (0..plan.arms.len()).filter(|&arm| arm != plan.reference_index()) {
        let comparisons: Vec<Differences> = (0..plan.rows.len())
            .map(|row| Differences::new(plan, &blocks, &blocks.analysed, row, arm))
            .collect();
        let mut rows: Vec<RowEffect> = comparisons
            .iter()
            .enumerate()
            .map(|(row, comparison)| {
                let with_all = (blocks.set_aside > 0)
                    .then(|| Differences::new(plan, &blocks, &blocks.first, row, arm));
                effect(plan, facts, summary.stopped_because, comparison, with_all, (row, arm))
            })
            .collect();
        for row in &mut rows {
            row.blocks_set_aside = blocks.set_aside;
        }
        judge(plan, &mut rows, &comparisons);
        coarse.extend(comparisons.iter().enumerate().filter_map(|(row, comparison)| {
            let step = comparison.step_that_decides(&blocks, row, arm, plan.base_index(arm))?;
            Some((row, step))
        }));
        summary.rows.append(&mut rows);
        summary.suites.append(&mut match &capacities {
            Some(capacities) => vec![capacities.effect(arm)],
            None => suites::effects(plan, &comparisons, arm),
        });
        summary.warnings.extend(diagnosis::one_sided(plan, &comparisons, arm));
        compared.insert(arm, comparisons);
    }
    summary.interactions = interactions(plan, &compared);
    summary.split = split::parts(plan, &compared);
    summary.warnings.extend(diagnosis::carry_over(plan, &blocks));
    summary.warnings.extend(diagnosis::steal(plan, &blocks, readings));
    summary.warnings.append(&mut warnings::of_blocks(plan, &blocks, summary.stopped_because));
    summary.warnings.extend(resolution::warning(plan, &coarse));
    summary.warnings.append(&mut warnings::of_readings(plan, readings, facts));
}

/// Whether each command does as much in the other arms as in the reference's: differences of differences
/// within blocks.
fn interactions(plan: &Plan, compared: &BTreeMap<usize, Vec<Differences>>) -> Vec<Interaction> {
    let name = |arm: usize| plan.arms[arm].variant.as_ref().map(|variant| &variant.name);
    let is_first = |arm: &usize| plan.arms[*arm].against.is_none() && !plan.arms[*arm].control;
    let others = compared
        .keys()
        .filter(|arm| plan.arms[**arm].against.is_some() && plan.arms[**arm].variant.is_some());
    let found = others.filter_map(|&arm| {
        let first = *compared.keys().find(|first| is_first(first) && name(**first) == name(arm))?;
        let rows = compared[&arm].iter().zip(&compared[&first]);
        let beyond: Vec<Differences> = rows.map(|(row, first)| row.beyond(first)).collect();
        let effect = suites::effects(plan, &beyond, arm).pop()?;
        Some(Interaction { against: plan.arms[first].label.clone(), effect })
    });
    found.collect()
}

/// Takes every verdict back if the reference, run twice, differs from itself: what makes that difference
/// can make the others. Its own verdict stays, as the reason.
fn hold_against_control(plan: &Plan, summary: &mut Summary) {
    let is_control = |arm: &str| plan.arm(arm).is_some_and(|arm| arm.control);
    let differs =
        |verdict: Option<Verdict>| matches!(verdict, Some(Verdict::Helps | Verdict::Hurts));
    let rows = summary.rows.iter().map(|row| (&row.arm, row.verdict, row.row.as_str()));
    let suites =
        summary.suites.iter().map(|suite| (&suite.arm, suite.verdict, "all rows together"));
    let found = rows.chain(suites).find(|(arm, verdict, _)| is_control(arm) && differs(*verdict));
    let Some((_, _, what)) = found else { return };
    let warning = Warning::new(
        warnings::CONTROL_DIFFERS,
        format!("{} differs from itself, run twice, in {what}", plan.reference_arm),
        "No verdict is given: what makes equal runs differ can make the other differences too. Look at \
         the order of the runs, give the machine rest, and measure again.",
    );
    for row in summary.rows.iter_mut().filter(|row| !is_control(&row.arm)) {
        (row.verdict, row.blocks_needed) = (None, None);
    }
    for suite in summary.suites.iter_mut().filter(|suite| !is_control(&suite.arm)) {
        (suite.verdict, suite.blocks_needed) = (None, None);
    }
    let interactions = summary.interactions.iter_mut().map(|of| &mut of.effect);
    for effect in interactions.chain(summary.split.iter_mut().map(|of| &mut of.effect)) {
        (effect.verdict, effect.blocks_needed) = (None, None);
    }
    summary.warnings.push(warning);
}

/// Fills in the adjusted p-values of one arm's rows, and the verdicts that follow from them.
fn judge(plan: &Plan, rows: &mut [RowEffect], comparisons: &[Differences]) {
    let tested: Vec<f64> = rows.iter().filter_map(|row| row.p).collect();
    let adjusted = holm::adjust(&tested);
    let open = adjusted.iter().filter(|p| **p >= confidence::LEVEL).count();
    let mut adjusted = adjusted.into_iter();
    for (index, (row, comparison)) in rows.iter_mut().zip(comparisons).enumerate() {
        row.p_adjusted = row.p.and_then(|_| adjusted.next());
        if let Some(p) = row.p_adjusted {
            (row.verdict, row.blocks_needed) = comparison.verdict(plan, &plan.rows[index], p, open);
        }
    }
}

fn effect(
    plan: &Plan,
    facts: &Facts,
    stopped_because: StoppedBecause,
    comparison: &Differences,
    with_all: Option<Differences>,
    (row, arm): (usize, usize),
) -> RowEffect {
    let scale = plan.rows[row].scale;
    let [ratio, low, high] = comparison.shown(scale);
    let [ratio_all, low_all, high_all] = with_all.map_or([None; 3], |all| all.shown(scale));
    RowEffect {
        value_reference: comparison.values[0],
        value_arm: comparison.values[1],
        ratio,
        low,
        high,
        hodges_lehmann: comparison.hodges_lehmann(scale),
        p: comparison.paired.and_then(|paired| match plan.rules.until {
            Rule::Width => paired.p(comparison.widening),
            Rule::Verdict => sequence::p(&paired),
        }),
        ratio_all,
        low_all,
        high_all,
        blocks: comparison.paired.map_or(0, |paired| paired.blocks),
        stopped_because,
        ..blank(plan, facts, row, arm)
    }
}
