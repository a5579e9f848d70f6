//! The table `effects`: what an arm did for a row on one machine.

use super::cells::{ByWorkload, Machine, some_text, text, verdict};
use crate::Study;
use coretwin_base::column::Column;
use coretwin_base::fleet::summary::{FleetEffect, FleetSummary};
use coretwin_base::fleet::{Effect, Member};
use coretwin_base::origin::Origin;
use coretwin_base::study::plan::{Rule, Scale};
use coretwin_base::study::reading::Better;
use coretwin_base::study::summary::{Meaning, RowEffect, SuiteEffect, Verdict};
use coretwin_stats::fleet::{Weights, shown};
use coretwin_stats::study;
use std::collections::BTreeMap;

/// One effect. In every one above 1 (on the raw scale above 0) is better in the arm.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectRow<'a> {
    pub(crate) machine: Machine<'a>,
    pub(crate) row: &'a str,
    pub(crate) arm: &'a str,
    pub(crate) reference_arm: &'a str,
    pub(crate) unit: &'a str,
    pub(crate) better: Better,
    pub(crate) scale: Scale,
    pub(crate) rows: u32,
    pub(crate) blocks: u32,
    pub(crate) effect: Option<f64>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) value_reference: Option<f64>,
    pub(crate) value_arm: Option<f64>,
    /// Mean of the blocks' differences on the scale of the analysis, its error, degrees of freedom.
    pub(crate) mean: Option<[f64; 3]>,
    /// Share in the mean over the machines of the model.
    pub(crate) weight: Option<f64>,
    pub(crate) p: Option<f64>,
    pub(crate) p_adjusted: Option<f64>,
    pub(crate) verdict: Option<Verdict>,
    /// What ended the study, by which its verdicts have their meaning.
    pub(crate) rule: Rule,
}

/// Effects of a study, its suites under the workload `all`.
pub fn study_effects<'a>(study: &Study<'a>) -> ByWorkload<'a, EffectRow<'a>> {
    let machine = Machine::of_plan(study.plan);
    let found = study::machine_effects(study.plan, study.readings).effects;
    let means: BTreeMap<(&str, &str), [f64; 3]> =
        found.iter().map(|effect| ((&*effect.row, &*effect.arm), mean(effect))).collect();
    let plan = study.plan;
    let reference = |arm: &str| match plan.arm(arm) {
        Some(arm) => plan.base_of(arm).label.as_str(),
        None => plan.reference_arm.as_str(),
    };
    let mut rows: ByWorkload<'_, EffectRow<'_>> = BTreeMap::new();
    for row in &study.summary.rows {
        let mean = means.get(&(row.row.as_str(), row.arm.as_str())).copied();
        let row_effect = EffectRow { mean, ..of_row(machine, reference(&row.arm), row) };
        rows.entry(&row.workload).or_default().push(row_effect);
    }
    let suites =
        study.summary.suites.iter().map(|suite| of_suite(machine, reference(&suite.arm), suite));
    rows.entry("all").or_default().extend(suites);
    rows.values_mut().flatten().for_each(|row| row.rule = plan.rules.until);
    rows.retain(|_, rows| !rows.is_empty());
    rows
}

pub fn machine_effects<'a>(
    member: &'a Member,
    weights: &Weights<'_>,
) -> ByWorkload<'a, EffectRow<'a>> {
    let machine = Machine { cpu_model: &member.cpu_model, origin: member.origin };
    let mut rows: ByWorkload<'_, EffectRow<'_>> = BTreeMap::new();
    for effect in &member.effects {
        let (value, ends) = shown(effect);
        rows.entry(&effect.workload).or_default().push(EffectRow {
            row: &effect.row,
            unit: &effect.unit,
            better: effect.better,
            scale: effect.scale,
            blocks: effect.blocks,
            effect: Some(value),
            low: ends.map(|ends| ends.0),
            high: ends.map(|ends| ends.1),
            value_reference: Some(effect.value_reference),
            value_arm: Some(effect.value_arm),
            mean: Some(mean(effect)),
            weight: weights.share(member, effect),
            ..blank(machine, &effect.arm, &effect.reference)
        });
    }
    rows
}

fn mean(effect: &Effect) -> [f64; 3] {
    [effect.mean, effect.standard_error, effect.degrees]
}

/// One row by its ratio, of which nothing is known.
fn blank<'a>(machine: Machine<'a>, arm: &'a str, reference_arm: &'a str) -> EffectRow<'a> {
    EffectRow {
        machine,
        row: "",
        arm,
        reference_arm,
        unit: "",
        better: Better::Higher,
        scale: Scale::Ratio,
        rows: 1,
        blocks: 0,
        effect: None,
        low: None,
        high: None,
        value_reference: None,
        value_arm: None,
        mean: None,
        weight: None,
        p: None,
        p_adjusted: None,
        verdict: None,
        rule: Rule::Width,
    }
}

fn of_row<'a>(machine: Machine<'a>, reference: &'a str, row: &'a RowEffect) -> EffectRow<'a> {
    EffectRow {
        row: &row.row,
        unit: &row.unit,
        better: row.better,
        scale: row.scale,
        blocks: row.blocks,
        effect: row.ratio,
        low: row.low,
        high: row.high,
        value_reference: row.value_reference,
        value_arm: row.value_arm,
        p: row.p,
        p_adjusted: row.p_adjusted,
        verdict: row.verdict,
        ..blank(machine, &row.arm, reference)
    }
}

fn of_suite<'a>(machine: Machine<'a>, reference: &'a str, suite: &'a SuiteEffect) -> EffectRow<'a> {
    EffectRow {
        row: &suite.suite,
        rows: suite.rows,
        blocks: suite.blocks,
        effect: suite.ratio,
        low: suite.low,
        high: suite.high,
        verdict: suite.verdict,
        ..blank(machine, &suite.arm, reference)
    }
}

pub fn effect_columns<'a>() -> Vec<Column<EffectRow<'a>>> {
    vec![
        Column::text("cpu_model", |row| text(row.machine.cpu_model)),
        Column::text("origin", |row| text(row.machine.origin.name())),
        Column::flag("is_simulated", |row| Some(row.machine.origin == Origin::Simulated)),
        Column::text("row", |row| text(row.row)),
        Column::text("arm", |row| text(row.arm)),
        Column::text("reference_arm", |row| text(row.reference_arm)),
        Column::text("unit", |row| some_text(row.unit)),
        Column::text("better", |row| text(row.better.name())),
        Column::text("scale", |row| text(row.scale.name())),
        Column::count("rows", |row| Some(row.rows.into())),
        Column::count("blocks", |row| Some(row.blocks.into())),
        Column::number("effect", |row| row.effect),
        Column::number("low", |row| row.low),
        Column::number("high", |row| row.high),
        Column::number("value_reference", |row| row.value_reference),
        Column::number("value_arm", |row| row.value_arm),
        Column::number("mean", |row| row.mean.map(|[mean, ..]| mean)),
        Column::number("standard_error", |row| row.mean.map(|[_, error, _]| error)),
        Column::number("degrees", |row| row.mean.map(|[.., degrees]| degrees)),
        Column::number("weight", |row| row.weight),
        Column::number("p", |row| row.p),
        Column::number("p_adjusted", |row| row.p_adjusted),
        Column::text("verdict", |row| verdict(row.verdict)),
        Column::text("rule", |row| text(row.rule.into())),
        Column::text("meaning", |row| text(Meaning::from(row.rule).into())),
    ]
}

/// All of them, suites under the workload `all`.
pub fn fleet_effects(summary: &FleetSummary) -> ByWorkload<'_, &FleetEffect> {
    let mut rows: ByWorkload<'_, &FleetEffect> = BTreeMap::new();
    for effect in summary.suites.iter().chain(&summary.effects) {
        rows.entry(&effect.workload).or_default().push(effect);
    }
    rows
}

/// Columns of the table `fleet_effects`. A `cpu_model` that is null is all of them.
pub fn fleet_effect_columns<'a>() -> Vec<Column<&'a FleetEffect>> {
    vec![
        Column::text("origin", |row| text(row.origin.name())),
        Column::text("cpu_model", |row| row.cpu_model.as_deref().and_then(text)),
        Column::text("row", |row| text(&row.row)),
        Column::text("arm", |row| text(&row.arm)),
        Column::text("reference_arm", |row| text(&row.reference)),
        Column::text("unit", |row| some_text(&row.unit)),
        Column::text("better", |row| text(row.better.name())),
        Column::text("scale", |row| text(row.scale.name())),
        Column::count("rows", |row| Some(row.rows.into())),
        Column::count("machines", |row| Some(row.machines.into())),
        Column::count("blocks", |row| Some(row.blocks)),
        Column::number("effect", |row| Some(row.effect)),
        Column::number("low", |row| row.low),
        Column::number("high", |row| row.high),
        Column::number("next_low", |row| row.next_low),
        Column::number("next_high", |row| row.next_high),
        Column::number("between", |row| row.between),
        Column::number("share_between", |row| row.share_between),
        Column::number("p", |row| row.p),
        Column::number("p_adjusted", |row| row.p_adjusted),
        Column::text("verdict", |row| verdict(row.verdict)),
        Column::text("next", |row| verdict(row.next)),
        // Studies that ended by another rule are no part of a fleet.
        Column::text("rule", |_| text(Rule::Width.into())),
        Column::text("meaning", |_| text(Meaning::from(Rule::Width).into())),
        Column::count("outliers", |row| Some(row.outliers.into())),
    ]
}
