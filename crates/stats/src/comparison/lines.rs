//! The lines of the comparison: rows and suites, effects and values.

use super::contrast::{adjust, contrast};
use super::side::{Both, Series, turned};
use crate::study::rows::from_scale;
use crate::study::suites;
use crate::verdict;
use coretwin_base::study::comparison::{
    Contrast, EffectChange, StudyComparison, SuiteChange, ValueChange,
};
use coretwin_base::study::plan::{PlanRow, Scale};
use coretwin_base::study::reading::Better;
use coretwin_base::study::summary::SuiteEffect;

/// Both studies' series of one arm, by common row.
type Columns = Vec<[Series; 2]>;

struct Suite {
    name: String,
    weighed: Vec<(usize, f64)>,
}

impl Suite {
    fn rows(&self) -> Vec<usize> {
        self.weighed.iter().map(|(row, _)| *row).collect()
    }

    fn of<'a>(&self, columns: &'a Columns, side: usize) -> Vec<(&'a Series, f64)> {
        self.weighed.iter().map(|(row, weight)| (&columns[*row][side], *weight)).collect()
    }
}

impl Both<'_> {
    pub(super) fn fill(&self, comparison: &mut StudyComparison) {
        let rows = 0..self.common.rows.len();
        for arm in 1..self.common.arms.len() {
            let columns: Columns = rows
                .clone()
                .map(|row| [0, 1].map(|side: usize| self.sides[side].effect(row, arm)))
                .collect();
            let mut effects: Vec<EffectChange> =
                rows.clone().filter_map(|row| self.effect(&columns, row, arm)).collect();
            adjust(effects.iter_mut().map(|line| &mut line.interaction));
            let of_suite = |suite: &Suite| self.suite(&columns, suite, arm);
            let mut suites: Vec<SuiteChange> = self.suites(&columns).iter().map(of_suite).collect();
            adjust(suites.iter_mut().map(|line| &mut line.interaction));
            comparison.effects.append(&mut effects);
            comparison.suites.append(&mut suites);
        }
        for arm in 0..self.common.arms.len() {
            let columns: Columns = rows
                .clone()
                .map(|row| [0, 1].map(|side: usize| self.sides[side].value(row, arm)))
                .collect();
            comparison.values.extend(rows.clone().map(|row| self.value(&columns, row, arm)));
            let suites = self.suites(&columns);
            comparison
                .value_suites
                .extend(suites.iter().map(|suite| self.value_suite(&columns, suite, arm)));
        }
        adjust(comparison.values.iter_mut().map(|line| &mut line.contrast));
        adjust(comparison.value_suites.iter_mut().map(|line| &mut line.contrast));
    }

    /// The common row as the first study plans it.
    fn rule(&self, row: usize) -> &PlanRow {
        &self.sides[0].plan.rows[self.common.rows[row][0]]
    }

    /// The margin, of a value of the first study; `None` where no verdict may be given.
    fn margin(&self, scale: Scale, value: Option<f64>, allowed: bool) -> Option<f64> {
        allowed.then(|| verdict::margin(self.margin, scale, value.unwrap_or(0.0)))
    }

    fn effect(&self, columns: &Columns, row: usize, arm: usize) -> Option<EffectChange> {
        let [first, second] = &self.sides;
        let effects = [first.row_effect(row, arm)?.clone(), second.row_effect(row, arm)?.clone()];
        let rule = self.rule(row);
        let allowed = self.gate.effect(&[row], arm);
        let margin = self.margin(rule.scale, effects[0].value_reference, allowed);
        let means = columns[row].each_ref().map(|series| series.mean);
        Some(EffectChange {
            family: rule.family.clone(),
            effects,
            interaction: contrast(means, rule.scale, margin),
        })
    }

    fn suite(&self, columns: &Columns, suite: &Suite, arm: usize) -> SuiteChange {
        let effect = |index: usize| {
            let side = &self.sides[index];
            let weighed = suite.of(columns, index);
            let (arm, rows) = (side.arm(arm), weighed.len());
            let paired = side.suite(&weighed);
            let effect =
                suites::summarise(&side.plan, &suite.name, arm, rows, paired, side.blocks());
            match (paired, side.suite_mean(&weighed)) {
                (None, Some(mean)) => SuiteEffect {
                    ratio: Some(from_scale(mean.mean, Scale::Ratio)),
                    blocks: blocks_of(&weighed),
                    ..effect
                },
                _ => effect,
            }
        };
        let allowed = self.gate.effect(&suite.rows(), arm);
        let interaction = self.suite_contrast(columns, suite, allowed);
        SuiteChange { effects: [effect(0), effect(1)], interaction }
    }

    fn suite_contrast(&self, columns: &Columns, suite: &Suite, allowed: bool) -> Contrast {
        let mean = |side: usize| self.sides[side].suite_mean(&suite.of(columns, side));
        contrast([mean(0), mean(1)], Scale::Ratio, self.margin(Scale::Ratio, None, allowed))
    }

    fn value(&self, columns: &Columns, row: usize, arm: usize) -> ValueChange {
        let rule = self.rule(row);
        let means = columns[row].each_ref().map(|series| series.mean);
        let values =
            means.map(|mean| Some(from_scale(turned(mean?.mean, rule.better), rule.scale)));
        let margin = self.margin(rule.scale, values[0], self.gate.value(&[row], arm));
        ValueChange {
            name: rule.id.clone(),
            arm: self.common.arms[arm].clone(),
            values,
            blocks: columns[row].each_ref().map(|series| series.count),
            unit: rule.unit.clone(),
            better: rule.better,
            scale: rule.scale,
            contrast: contrast(means, rule.scale, margin),
        }
    }

    fn value_suite(&self, columns: &Columns, suite: &Suite, arm: usize) -> ValueChange {
        let allowed = self.gate.value(&suite.rows(), arm);
        ValueChange {
            name: suite.name.clone(),
            arm: self.common.arms[arm].clone(),
            values: [None, None],
            blocks: [0, 1].map(|side| blocks_of(&suite.of(columns, side))),
            unit: String::new(),
            better: Better::Higher,
            scale: Scale::Ratio,
            contrast: self.suite_contrast(columns, suite, allowed),
        }
    }

    /// Suites of the rows that have a ratio and enough blocks in both studies: one per family, and
    /// one over all families if there are several.
    fn suites(&self, columns: &Columns) -> Vec<Suite> {
        let mut families: Vec<(String, Vec<usize>)> = Vec::new();
        for (row, both) in columns.iter().enumerate() {
            let rule = self.rule(row);
            if rule.scale == Scale::Raw || !both.iter().all(Series::is_present) {
                continue;
            }
            match families.iter_mut().find(|(family, _)| *family == rule.family) {
                Some((_, rows)) => rows.push(row),
                None => families.push((rule.family.clone(), vec![row])),
            }
        }
        let suite = |name: &str, families: &[Vec<usize>]| Suite {
            name: name.to_owned(),
            weighed: suites::equal_weights(families),
        };
        let mut all: Vec<Suite> = families
            .iter()
            .map(|(family, rows)| suite(family, std::slice::from_ref(rows)))
            .collect();
        if families.len() > 1 {
            let rows: Vec<Vec<usize>> = families.into_iter().map(|(_, rows)| rows).collect();
            all.push(suite(suites::ALL, &rows));
        }
        all
    }
}

fn blocks_of(weighed: &[(&Series, f64)]) -> u32 {
    weighed.iter().map(|(series, _)| series.count).max().unwrap_or(0)
}
