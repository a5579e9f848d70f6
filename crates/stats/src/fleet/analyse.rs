//! From groups of machines to effects, outliers and words.

use super::groups::{self, Groups, Key, One};
use super::outliers::outliers;
use super::prediction::Prediction;
use super::random_effects::RandomEffects;
use super::{sentences, warnings};
use crate::study::rows::from_scale;
use crate::{confidence, holm, verdict};
use coretwin_base::fleet::summary::{
    FleetEffect, FleetModel, FleetOutlier, FleetPoint, FleetSummary, PartialStudy,
};
use coretwin_base::fleet::{Fleet, Member, MemberState};
use coretwin_base::origin::Origin;
use coretwin_base::schema::SCHEMA;
use coretwin_base::shared_text::SharedText;
use coretwin_base::study::plan::Scale;
use std::collections::BTreeMap;

const POINTS_MAX: usize = 24;
/// A machine is unlike the others where that would happen by chance to one group in twenty.
const LEVEL: f64 = 0.05;

/// Analyses a fleet. `margin` is the share below which an effect is not material; without it the
/// largest of the machines' own holds. The order of the members does not matter.
pub fn analyse(fleet: &Fleet, margin: Option<f64>) -> FleetSummary {
    let machines = groups::machines(fleet);
    let margin = margin.unwrap_or_else(|| groups::largest_margin(&fleet.members));
    let mut analysis = Analysis { machines: &machines, margin, unlike: BTreeMap::new() };
    let by_model = groups::by_model(fleet, &machines);
    let over_models = groups::over_models(&by_model);
    let named = ["all".into(), SharedText::default()];
    let mut suites = Vec::new();
    for groups in [&over_models, &by_model] {
        for (key, rows, ones) in groups::suites(groups, &named) {
            suites.push(FleetEffect { rows, ..analysis.effect(&key, &ones) });
        }
    }
    let mut effects = analysis.effects(&over_models, false);
    effects.append(&mut analysis.effects(&by_model, true));
    let mut summary = FleetSummary {
        suites,
        effects,
        outliers: analysis.named(),
        ..facts(fleet, &machines, margin)
    };
    summary.sentences = sentences::write(&summary);
    summary.warnings = warnings::write(fleet, &summary);
    summary
}

fn facts(fleet: &Fleet, machines: &[&Member], margin: f64) -> FleetSummary {
    let mut schemas: BTreeMap<u32, u32> = BTreeMap::new();
    fleet.members.iter().for_each(|member| *schemas.entry(member.bundle_schema).or_default() += 1);
    let partial = fleet.members.iter().filter_map(|member| match &member.state {
        MemberState::Complete => None,
        MemberState::Partial(reason) => {
            Some(PartialStudy { name: member.name.clone(), reason: reason.clone() })
        }
    });
    FleetSummary {
        schema: SCHEMA,
        machines: machines.len() as u32,
        studies: fleet.members.len() as u32,
        partial: partial.collect(),
        refused: fleet.refused.clone(),
        schemas,
        models: models(machines),
        comparison: groups::compares(&fleet.members),
        is_simulated: !machines.is_empty() && machines.iter().all(|member| member.is_simulated),
        origin: Origin::common(machines.iter().map(|member| member.origin)),
        margin,
        confidence: confidence::CONFIDENCE,
        ..FleetSummary::default()
    }
}

fn models(machines: &[&Member]) -> Vec<FleetModel> {
    let mut models: BTreeMap<&SharedText, FleetModel> = BTreeMap::new();
    for member in machines {
        let model = models.entry(&member.cpu_model).or_insert_with(|| FleetModel {
            cpu_model: member.cpu_model.clone(),
            machines: 0,
            cores: [member.cores; 2],
            threads_per_core: member.threads_per_core,
        });
        model.machines += 1;
        model.cores = [model.cores[0].min(member.cores), model.cores[1].max(member.cores)];
        model.threads_per_core = model.threads_per_core.max(member.threads_per_core);
    }
    models.into_values().collect()
}

struct Analysis<'a> {
    machines: &'a [&'a Member],
    margin: f64,
    /// By machine: how often it was looked at, how often it was unlike the others, and where most.
    unlike: BTreeMap<u32, (u32, u32, Option<FleetOutlier>)>,
}

impl Analysis<'_> {
    fn effects(&mut self, groups: &Groups<'_>, looks_for_outliers: bool) -> Vec<FleetEffect> {
        let effect = |(key, ones): (&Key<'_>, &Vec<One>)| FleetEffect {
            outliers: if looks_for_outliers { self.look(key, ones) } else { 0 },
            ..self.effect(key, ones)
        };
        let mut effects: Vec<FleetEffect> = groups.iter().map(effect).collect();
        // Groups of one model and arm follow each other.
        let same = |a: &FleetEffect, b: &FleetEffect| {
            (a.origin, &a.cpu_model, &a.arm, &a.reference)
                == (b.origin, &b.cpu_model, &b.arm, &b.reference)
        };
        for family in effects.chunk_by_mut(same) {
            let tested: Vec<f64> = family.iter().filter_map(|effect| effect.p).collect();
            let adjusted = holm::adjust(&tested);
            for (effect, p) in family.iter_mut().filter(|effect| effect.p.is_some()).zip(adjusted) {
                effect.p_adjusted = Some(p);
                effect.verdict = effect.verdict.map(|verdict| verdict::adjusted(verdict, Some(p)));
            }
        }
        effects
    }

    fn effect(&self, key: &Key<'_>, ones: &[One]) -> FleetEffect {
        let scale = key.scale;
        let found = groups::found(ones, scale);
        let all = RandomEffects::new(&found);
        let mean = groups::mean(ones, all.as_ref());
        let prediction = Prediction::new(&found);
        let next = |confidence| prediction.as_ref().map(|all| all.interval(confidence));
        let confidences = [confidence::EQUIVALENCE, confidence::CONFIDENCE];
        let [inner, outer] = confidences.map(|confidence| mean.interval(confidence));
        let [next_inner, next_outer] = confidences.map(next);
        let margin = verdict::margin(self.margin, scale, groups::size(ones));
        let decide = |inner: Option<_>, outer: Option<_>| {
            // One machine says what its study says, and a screening gives no verdict.
            let is_screening = matches!(ones, [only] if only.is_screening);
            let may = key.origin == Origin::Measured && !is_screening;
            Some(verdict::of_intervals(inner?, outer?, margin)).filter(|_| may)
        };
        let shown = |value: f64| from_scale(value, scale);
        FleetEffect {
            origin: key.origin,
            cpu_model: key.cpu_model.cloned(),
            row: key.row.clone(),
            workload: key.workload.clone(),
            arm: key.arm.clone(),
            reference: key.reference.clone(),
            unit: key.unit.clone(),
            better: key.better,
            scale,
            machines: ones.len() as u32,
            blocks: ones.iter().map(|one| u64::from(one.blocks)).sum(),
            rows: 1,
            effect: shown(mean.mean),
            low: outer.map(|ends| shown(ends.0)),
            high: outer.map(|ends| shown(ends.1)),
            next_low: next_outer.map(|ends| shown(ends.0)),
            next_high: next_outer.map(|ends| shown(ends.1)),
            between: all.as_ref().map(|all| libm::sqrt(all.between)),
            share_between: all.as_ref().map(|all| all.share_between),
            p: mean.p(),
            p_adjusted: None,
            verdict: decide(inner, outer),
            next: decide(next_inner, next_outer),
            outliers: 0,
            points: self.points(ones, scale),
        }
    }

    fn points(&self, ones: &[One], scale: Scale) -> Vec<FleetPoint> {
        if ones.len() > POINTS_MAX {
            return Vec::new();
        }
        let point = |one: &One| {
            let ends = one.estimate().interval(confidence::CONFIDENCE);
            FleetPoint {
                name: self.machines[one.machine as usize].name.as_str().into(),
                effect: from_scale(one.mean, scale),
                low: ends.map(|ends| from_scale(ends.0, scale)),
                high: ends.map(|ends| from_scale(ends.1, scale)),
            }
        };
        ones.iter().map(point).collect()
    }

    /// Looks for machines unlike the others in a group; how many there are.
    fn look(&mut self, key: &Key<'_>, ones: &[One]) -> u32 {
        let scale = key.scale;
        let found = groups::found(ones, scale);
        let Some(all) = RandomEffects::new(&found) else { return 0 };
        for one in ones {
            self.unlike.entry(one.machine).or_default().0 += 1;
        }
        let named = outliers(&found, &all, LEVEL);
        for outlier in &named {
            let one = &ones[outlier.index];
            let member = self.machines[one.machine as usize];
            let shown = |value: f64| from_scale(value, scale);
            let (_, count, worst) = self.unlike.entry(one.machine).or_default();
            *count += 1;
            if worst.as_ref().is_none_or(|worst| outlier.p_adjusted < worst.p_adjusted) {
                *worst = Some(FleetOutlier {
                    machine: member.machine.clone(),
                    name: member.name.as_str().into(),
                    cpu_model: member.cpu_model.clone(),
                    rows_unlike: 0,
                    rows_looked_at: 0,
                    row: key.row.clone(),
                    arm: key.arm.clone(),
                    unit: key.unit.clone(),
                    scale,
                    effect: shown(one.mean),
                    expected_low: shown(outlier.expected.0),
                    expected_high: shown(outlier.expected.1),
                    p_adjusted: outlier.p_adjusted,
                });
            }
        }
        named.len() as u32
    }

    fn named(&mut self) -> Vec<FleetOutlier> {
        let unlike = std::mem::take(&mut self.unlike);
        let mut named: Vec<FleetOutlier> = unlike
            .into_values()
            .filter_map(|(rows_looked_at, rows_unlike, worst)| {
                Some(FleetOutlier { rows_unlike, rows_looked_at, ..worst? })
            })
            .collect();
        named.sort_by(|a, b| {
            let by_p = || a.p_adjusted.total_cmp(&b.p_adjusted);
            b.rows_unlike
                .cmp(&a.rows_unlike)
                .then_with(by_p)
                .then_with(|| a.machine.cmp(&b.machine))
        });
        named
    }
}
