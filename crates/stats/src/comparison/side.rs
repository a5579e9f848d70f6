//! The two studies: what they have in common, each analysed by itself, and where a verdict on a change
//! may be given.

use super::records::{NothingInCommon, StudyRecords};
use crate::paired::Paired;
use crate::study::analyse;
use crate::study::blocks::{Blocks, Cell};
use crate::study::rows::{Differences, gives_verdicts, pair_comparison, widening};
use crate::study::suites::{self, SuiteRow, suite_mean};
use crate::welch::Estimate;
use coretwin_base::study::command::CommandSpec;
use coretwin_base::study::plan::{Plan, PlanArm, PlanRow, Protocol, Scale, ThreadRule};
use coretwin_base::study::reading::Better;
use coretwin_base::study::summary::{RowEffect, Summary};
use std::mem::discriminant;

/// One study, with its rows and arms numbered as they are in common.
pub(super) struct Side<'a> {
    pub(super) records: &'a StudyRecords<'a>,
    pub(super) plan: Plan,
    pub(super) summary: Summary,
    blocks: Blocks,
    rows: Vec<usize>,
    arms: Vec<usize>,
}

/// A number of each block, above 0 or more is better, and their mean.
#[derive(Debug, Clone, Default)]
pub(super) struct Series {
    /// `None` where a run failed; empty by the protocol of 2003, which keeps no spread.
    blocks: Vec<Option<f64>>,
    /// Most that rounding can have moved the mean.
    rounding: f64,
    pub(super) mean: Option<Estimate>,
    /// Blocks, or runs of the protocol of 2003, that the mean is made of.
    pub(super) count: u32,
}

impl Series {
    fn new(plan: &Plan, blocks: Vec<Option<f64>>, rounding: f64) -> Self {
        let row = SuiteRow { differences: &blocks, rounding, weight: 1.0 };
        let paired = suite_mean(&[row]);
        let mean = paired.map(|paired| Estimate::of(&paired, widening(plan, blocks.len())));
        Self { mean, count: paired.map_or(0, |paired| paired.blocks), rounding, blocks }
    }

    fn point(value: Option<f64>, count: u32) -> Self {
        let mean = value.map(Estimate::point);
        Self { mean, count: if mean.is_some() { count } else { 0 }, ..Self::default() }
    }

    pub(super) fn is_present(&self) -> bool {
        self.mean.is_some() && (self.blocks.is_empty() || suites::is_present(&self.blocks))
    }
}

impl<'a> Side<'a> {
    pub(super) fn new(records: &'a StudyRecords<'a>, common: &Common, index: usize) -> Self {
        let reference_arm = common.arms[0].clone();
        // Both studies are read against the one reference, whatever an arm of either was compared with.
        let arm = |arm: &PlanArm| PlanArm { against: None, ..arm.clone() };
        let arms = records.plan.arms.iter().map(arm).collect();
        let plan = Plan { reference_arm, arms, split: None, ..records.plan.clone() };
        let place = |label: &String| plan.arms.iter().position(|arm| arm.label == *label);
        Self {
            summary: analyse(&plan, records.readings, records.stopped_because),
            blocks: Blocks::new(&plan, records.readings),
            rows: common.rows.iter().map(|pair| pair[index]).collect(),
            arms: common.arms.iter().filter_map(place).collect(),
            plan,
            records,
        }
    }

    fn is_2003(&self) -> bool {
        self.plan.rules.protocol == Protocol::Article2003
    }

    pub(super) fn row_effect(&self, row: usize, arm: usize) -> Option<&RowEffect> {
        let (row, arm) = (&self.plan.rows[self.rows[row]], &self.plan.arms[self.arms[arm]]);
        self.summary.rows.iter().find(|effect| effect.row == row.id && effect.arm == arm.label)
    }

    /// The effect of an arm on a row, by block.
    pub(super) fn effect(&self, row: usize, arm: usize) -> Series {
        if self.is_2003() {
            let effect = self.row_effect(row, arm);
            let ratio = effect.and_then(|effect| Some(to_scale(effect.ratio?, effect.scale)));
            return Series::point(ratio, effect.map_or(0, |effect| effect.blocks));
        }
        let (row, arm) = (self.rows[row], self.arms[arm]);
        let compared = Differences::new(&self.plan, &self.blocks, &self.blocks.analysed, row, arm);
        let rounding = compared.paired.map_or(0.0, |paired| paired.rounding);
        Series::new(&self.plan, compared.differences, rounding)
    }

    /// The value of a row in an arm, by block, turned so that more is better.
    pub(super) fn value(&self, row: usize, arm: usize) -> Series {
        let rule = &self.plan.rows[self.rows[row]];
        if self.is_2003() {
            let value = self.value_2003(row, arm).map(|value| to_scale(value, rule.scale));
            return Series::point(
                value.map(|value| turned(value, rule.better)),
                self.summary.blocks,
            );
        }
        let value = |attempt| match self.blocks.cell(attempt, self.arms[arm], self.rows[row]) {
            Cell::Value(value) => Some(turned(value, rule.better)),
            Cell::Missing | Cell::NotRun | Cell::Failed => None,
        };
        let values = self.blocks.analysed.iter().map(value).collect();
        let rounding = self.blocks.resolution(self.arms[arm], self.rows[row]).error;
        Series::new(&self.plan, values, rounding)
    }

    fn value_2003(&self, row: usize, arm: usize) -> Option<f64> {
        if arm > 0 {
            return self.row_effect(row, arm)?.value_arm;
        }
        let id = &self.plan.rows[self.rows[row]].id;
        self.summary.rows.iter().find(|effect| effect.row == *id)?.value_reference
    }

    pub(super) fn suite<'s>(&self, weighed: &[(&'s Series, f64)]) -> Option<Paired> {
        if self.is_2003() {
            return None;
        }
        let row = |(series, weight): &(&'s Series, f64)| SuiteRow {
            differences: &series.blocks,
            rounding: series.rounding,
            weight: *weight,
        };
        suite_mean(&weighed.iter().map(row).collect::<Vec<_>>())
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks.analysed.len()
    }

    /// The same as a mean with its spread; by the protocol of 2003 the mean alone.
    pub(super) fn suite_mean(&self, weighed: &[(&Series, f64)]) -> Option<Estimate> {
        if self.is_2003() {
            let part = |(series, weight): &(&Series, f64)| Some(series.mean?.mean * weight);
            let sum = weighed.iter().map(part).sum::<Option<f64>>()?;
            return (!weighed.is_empty()).then(|| Estimate::point(sum));
        }
        let widening = widening(&self.plan, self.blocks());
        self.suite(weighed).map(|paired| Estimate::of(&paired, widening))
    }

    pub(super) fn arm(&self, arm: usize) -> usize {
        self.arms[arm]
    }
}

/// From what is shown to the scale of the analysis.
fn to_scale(value: f64, scale: Scale) -> f64 {
    match scale {
        Scale::Ratio => libm::log(value),
        Scale::Raw => value,
    }
}

/// Turned so that more is better, and back.
pub(super) fn turned(value: f64, better: Better) -> f64 {
    match better {
        Better::Higher => value,
        Better::Lower => -value,
    }
}

pub(super) struct Both<'a> {
    pub(super) sides: [Side<'a>; 2],
    pub(super) common: Common,
    pub(super) gate: Gate,
    pub(super) margin: f64,
}

pub(super) struct Gate {
    pub(super) same_study: bool,
    pub(super) protocols: bool,
    /// For each common arm: whether it is the same kind of state in both.
    pub(super) states: Vec<bool>,
    /// For each common arm: whether it and the reference say the same about SMT in both.
    pub(super) questions: Vec<bool>,
    pub(super) works: Vec<bool>,
}

impl Gate {
    pub(super) fn new(sides: &[Side<'_>; 2], common: &Common) -> Self {
        let [a, b] = [0, 1].map(|side: usize| sides[side].records);
        let arms = 0..common.arms.len();
        let pair =
            |arm: usize| [0, 1].map(|side: usize| &sides[side].plan.arms[sides[side].arm(arm)]);
        let question = |arm: usize| {
            let [first, second] =
                [0, 1].map(|side: usize| pair_comparison(&sides[side].plan, pair(arm)[side]));
            first == second
        };
        let same_state = |arm: usize| {
            let is = |arm: &PlanArm| (discriminant(&arm.state), arm.variant.clone());
            let [first, second] = pair(arm).map(is);
            first == second
        };
        let same_work = |rows: &[usize; 2]| {
            work(&a.plan.rows[rows[0]], a.plan) == work(&b.plan.rows[rows[1]], b.plan)
        };
        let states: Vec<bool> = arms.clone().map(same_state).collect();
        let same_reference = states[0];
        Self {
            same_study: a.plan == b.plan && a.environment == b.environment,
            protocols: sides
                .iter()
                .all(|side| gives_verdicts(side.records.plan) && !side.summary.interim),
            questions: arms.map(|arm| same_reference && states[arm] && question(arm)).collect(),
            states,
            works: common.rows.iter().map(same_work).collect(),
        }
    }

    pub(super) fn effect(&self, rows: &[usize], arm: usize) -> bool {
        self.questions[arm] && self.rows(rows)
    }

    pub(super) fn value(&self, rows: &[usize], arm: usize) -> bool {
        self.states[arm] && self.rows(rows)
    }

    fn rows(&self, rows: &[usize]) -> bool {
        !self.same_study && self.protocols && rows.iter().all(|row| self.works[*row])
    }
}

fn work(row: &PlanRow, plan: &Plan) -> (PlanRow, Option<CommandSpec>) {
    let row = PlanRow { threads: ThreadRule::Arm, family: String::new(), ..row.clone() };
    // Where it was run, and how long it was waited for, is no part of the work.
    let command = plan.command.clone().filter(|_| row.workload == "command");
    let command = command.map(|spec| CommandSpec { folder: None, timeout_s: 0.0, ..spec });
    (row, command)
}

/// What two studies have in common: rows of equal label, unit and scale, and arms of equal label.
pub(super) struct Common {
    pub(super) rows: Vec<[usize; 2]>,
    /// Labels of the common arms, the reference first, then in the order of the first plan.
    pub(super) arms: Vec<String>,
    pub(super) rows_only: [Vec<String>; 2],
    pub(super) arms_only: [Vec<String>; 2],
    pub(super) unlike: Vec<[usize; 2]>,
}

impl Common {
    pub(super) fn new(studies: [&StudyRecords<'_>; 2]) -> Result<Self, NothingInCommon> {
        let plans = studies.map(|study| study.plan);
        let index = |plan: &Plan, id: &str| plan.rows.iter().position(|row| row.id == id);
        let pairs: Vec<[usize; 2]> = (0..plans[0].rows.len())
            .filter_map(|first| Some([first, index(plans[1], &plans[0].rows[first].id)?]))
            .collect();
        let (rows, unlike): (Vec<[usize; 2]>, Vec<[usize; 2]>) =
            pairs.into_iter().partition(|[a, b]| are_alike(&plans[0].rows[*a], &plans[1].rows[*b]));
        let rows_only = [0, 1].map(|side: usize| {
            let all = plans[side].rows.iter().enumerate();
            all.filter(|(index, _)| rows.iter().all(|pair| pair[side] != *index))
                .map(|(_, row)| row.id.clone())
                .collect()
        });
        let mut arms: Vec<String> = plans[0].arms.iter().map(|arm| arm.label.clone()).collect();
        arms.retain(|label| plans[1].arm(label).is_some());
        // The first study's reference, where the second has it.
        if let Some(reference) = arms.iter().position(|arm| *arm == plans[0].reference_arm) {
            arms[..=reference].rotate_right(1);
        }
        let arms_only = plans.map(|plan| {
            let labels = plan.arms.iter().map(|arm| arm.label.clone());
            labels.filter(|label| !arms.contains(label)).collect()
        });
        let nothing =
            |what, names| NothingInCommon::new(what, studies.map(|study| study.folder), names);
        if rows.is_empty() {
            let names = plans.map(|plan| plan.rows.iter().map(described).collect());
            return Err(nothing("studies have no row of one unit and scale", names));
        }
        if arms.is_empty() {
            return Err(nothing("studies have no arm", arms_only));
        }
        Ok(Self { rows, arms, rows_only, arms_only, unlike })
    }
}

fn are_alike(a: &PlanRow, b: &PlanRow) -> bool {
    (&a.unit, a.better, a.scale) == (&b.unit, b.better, b.scale)
}

fn described(row: &PlanRow) -> String {
    format!("{} ({})", row.id, row.unit)
}
