//! A fleet sorted for the analysis: what every machine found, by model, row and arm.

use super::random_effects::{Found, RandomEffects};
use super::spread;
use crate::welch::Estimate;
use coretwin_base::fleet::{Effect, Fleet, Member};
use coretwin_base::origin::Origin;
use coretwin_base::shared_text::SharedText;
use coretwin_base::study::plan::{Comparison, Scale};
use coretwin_base::study::reading::Better;
use std::collections::{BTreeMap, BTreeSet};

/// What is analysed together. Rows of one name but of another unit are others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key<'a> {
    /// Where the figures come from: what is measured and what is not never mix.
    pub(super) origin: Origin,
    /// Model of the processor; none: all of them.
    pub(super) cpu_model: Option<&'a SharedText>,
    pub(super) arm: &'a SharedText,
    pub(super) reference: &'a SharedText,
    pub(super) workload: &'a SharedText,
    pub(super) row: &'a SharedText,
    pub(super) unit: &'a SharedText,
    pub(super) better: Better,
    pub(super) scale: Scale,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct One {
    /// Its place among the fleet's machines.
    pub(super) machine: u32,
    pub(super) mean: f64,
    /// Square of the standard error; 0 where `degrees` is 0.
    pub(super) variance: f64,
    pub(super) degrees: f64,
    pub(super) blocks: u32,
    pub(super) reference: f64,
    /// Whether it has only been screened.
    pub(super) is_screening: bool,
}

impl One {
    /// What its own study says; a single block tells nothing of spread.
    pub(super) fn estimate(&self) -> Estimate {
        match self.degrees >= 1.0 {
            true => Estimate::new(self.mean, libm::sqrt(self.variance), self.degrees),
            false => Estimate::point(self.mean),
        }
    }
}

/// The mean of what some machines found. One machine says what its study says.
pub(super) fn mean(ones: &[One], all: Option<&RandomEffects>) -> Estimate {
    match (all, ones) {
        (Some(all), _) => all.estimate(),
        (None, [only]) => only.estimate(),
        (None, ones) => Estimate::point(ones.first().map_or(0.0, |one| one.mean)),
    }
}

/// Mean size of the machines' values in the reference arm, which a margin is a share of.
pub(super) fn size(ones: &[One]) -> f64 {
    ones.iter().map(|one| libm::fabs(one.reference)).sum::<f64>() / ones.len() as f64
}

/// What they all compare; `none` where they disagree.
pub(super) fn compares(members: &[Member]) -> Comparison {
    let mut kinds = members.iter().map(|member| member.comparison);
    let first = kinds.next().unwrap_or(Comparison::None);
    if kinds.all(|kind| kind == first) { first } else { Comparison::None }
}

pub(super) fn largest_margin(members: &[Member]) -> f64 {
    members.iter().map(|member| member.margin).fold(0.0, f64::max)
}

pub(super) type Groups<'a> = BTreeMap<Key<'a>, Vec<One>>;

/// Every machine once, with the first of its studies.
pub(super) fn machines(fleet: &Fleet) -> Vec<&Member> {
    let mut machines: BTreeMap<&SharedText, &Member> = BTreeMap::new();
    for member in &fleet.members {
        machines.entry(&member.machine).or_insert(member);
    }
    machines.into_values().collect()
}

/// Every effect under its model. Machines are numbered as [`machines`] has them.
pub(super) fn by_model<'a>(fleet: &'a Fleet, machines: &[&'a Member]) -> Groups<'a> {
    let mut groups = Groups::new();
    for member in &fleet.members {
        let Ok(machine) = machines.binary_search_by_key(&&member.machine, |known| &known.machine)
        else {
            continue;
        };
        // A machine keeps the model of its first study, so that it is in one model only.
        let first = machines[machine];
        for effect in &member.effects {
            if let Some(one) = one(machine, effect, member.is_screening) {
                groups.entry(key(first, effect)).or_default().push(one);
            }
        }
    }
    for ones in groups.values_mut() {
        ones.sort_by_key(|one| one.machine);
        merge(ones);
    }
    groups
}

fn one(machine: usize, effect: &Effect, is_screening: bool) -> Option<One> {
    let numbers = [effect.mean, effect.standard_error, effect.degrees, effect.value_reference];
    let usable = numbers.iter().all(|number| number.is_finite()) && effect.standard_error >= 0.0;
    usable.then_some(One {
        machine: machine as u32,
        mean: effect.mean,
        variance: effect.standard_error * effect.standard_error,
        degrees: if effect.degrees >= 1.0 { effect.degrees } else { 0.0 },
        blocks: effect.blocks,
        reference: effect.value_reference,
        is_screening,
    })
}

pub(super) fn key<'a>(member: &'a Member, effect: &'a Effect) -> Key<'a> {
    Key {
        origin: member.origin,
        cpu_model: Some(&member.cpu_model),
        arm: &effect.arm,
        reference: &effect.reference,
        workload: &effect.workload,
        row: &effect.row,
        unit: &effect.unit,
        better: effect.better,
        scale: effect.scale,
    }
}

/// Studies of one machine become one: the machine is the unit, so they are weighed by their blocks
/// and do not count as machines.
fn merge(ones: &mut Vec<One>) {
    if ones.windows(2).all(|pair| pair[0].machine != pair[1].machine) {
        return;
    }
    let merged = ones.chunk_by(|a, b| a.machine == b.machine).map(|same| {
        let blocks: f64 = same.iter().map(|one| f64::from(one.blocks)).sum();
        let share = |one: &One| f64::from(one.blocks) / blocks;
        One {
            machine: same[0].machine,
            mean: same.iter().map(|one| share(one) * one.mean).sum(),
            variance: same.iter().map(|one| share(one) * share(one) * one.variance).sum(),
            degrees: same.iter().map(|one| one.degrees).sum(),
            blocks: same.iter().map(|one| one.blocks).sum(),
            reference: same.iter().map(|one| share(one) * one.reference).sum(),
            is_screening: same.iter().all(|one| one.is_screening),
        }
    });
    *ones = merged.collect();
}

/// The same over all models, where there are several.
pub(super) fn over_models<'a>(groups: &Groups<'a>) -> Groups<'a> {
    let models: BTreeSet<_> = groups.keys().map(|key| (key.origin, key.cpu_model)).collect();
    let of_origin = |origin| models.iter().filter(|model| model.0 == origin).count();
    let mut over = all_models(groups);
    over.retain(|key, _| of_origin(key.origin) > 1);
    over
}

/// The same whatever the model.
pub(super) fn all_models<'a>(groups: &Groups<'a>) -> Groups<'a> {
    let mut over = Groups::new();
    for (key, ones) in groups {
        over.entry(Key { cpu_model: None, ..key.clone() }).or_default().extend(ones);
    }
    over.values_mut().for_each(|ones| ones.sort_by_key(|one| one.machine));
    over
}

/// Rows that every machine of their model has, compared by ratio, by model and arm.
pub(super) fn shared_rows<'g, 'a>(groups: &'g Groups<'a>) -> Vec<Vec<(&'g Key<'a>, &'g Vec<One>)>> {
    type Arm<'a> = (Origin, Option<&'a SharedText>, &'a SharedText, &'a SharedText);
    let mut arms: BTreeMap<Arm<'_>, Vec<(&Key<'a>, &Vec<One>)>> = BTreeMap::new();
    for (key, ones) in groups.iter().filter(|(key, _)| key.scale == Scale::Ratio) {
        arms.entry((key.origin, key.cpu_model, key.arm, key.reference))
            .or_default()
            .push((key, ones));
    }
    let mut shared: Vec<_> = arms.into_values().collect();
    for rows in &mut shared {
        let most = rows.iter().map(|(_, ones)| ones.len()).max().unwrap_or(0);
        rows.retain(|(_, ones)| ones.len() == most);
    }
    // As many machines need not be the same ones.
    shared.retain(|rows| {
        rows.iter().all(|(_, ones)| {
            ones.iter().zip(rows[0].1).all(|(one, first)| one.machine == first.machine)
        })
    });
    shared
}

/// A machine's mean over the rows that every machine of the group has, workloads weighing equally,
/// for each arm with two such rows or more: the machine, and what stands for its error. Rows of a
/// machine share its blocks, which a record of rows does not tell, so their errors are added up as if
/// they were independent: a little too small, whereby a little too much of the spread is put down
/// to machines, never too little.
pub(super) fn suites<'a>(
    groups: &Groups<'a>,
    [all, no_unit]: &'a [SharedText; 2],
) -> Vec<(Key<'a>, u32, Vec<One>)> {
    let mut suites = Vec::new();
    for rows in shared_rows(groups).into_iter().filter(|rows| rows.len() > 1) {
        let mut workloads: BTreeMap<&SharedText, u32> = BTreeMap::new();
        rows.iter().for_each(|(key, _)| *workloads.entry(key.workload).or_default() += 1);
        let weights: Vec<f64> = rows
            .iter()
            .map(|(key, _)| 1.0 / (workloads.len() as f64 * f64::from(workloads[key.workload])))
            .collect();
        let machine = |index: usize| {
            let ones = || rows.iter().map(|(_, ones)| &ones[index]).zip(&weights);
            One {
                machine: rows[0].1[index].machine,
                mean: ones().map(|(one, weight)| weight * one.mean).sum(),
                variance: ones().map(|(one, weight)| weight * weight * one.variance).sum(),
                degrees: ones().map(|(one, _)| one.degrees).fold(f64::INFINITY, f64::min),
                blocks: ones().map(|(one, _)| one.blocks).min().unwrap_or(0),
                reference: 1.0,
                is_screening: ones().any(|(one, _)| one.is_screening),
            }
        };
        let key = Key {
            workload: all,
            row: all,
            unit: no_unit,
            better: Better::Higher,
            scale: Scale::Ratio,
            ..rows[0].0.clone()
        };
        let machines = 0..rows[0].1.len();
        suites.push((key, rows.len() as u32, machines.map(machine).collect()));
    }
    suites
}

/// What the machines found, with the spread of blocks moderated by that of the other machines; a
/// machine of a single block gets the typical spread.
pub(super) fn found(ones: &[One], scale: Scale) -> Vec<Found> {
    let known: Vec<&One> = ones.iter().filter(|one| one.degrees >= 1.0).collect();
    let spreads: Vec<(f64, f64)> =
        known.iter().map(|one| (one.variance * f64::from(one.blocks), one.degrees)).collect();
    let mut moderated = spread::moderated(&spreads).into_iter().peekable();
    let typical =
        spreads.iter().map(|(variance, _)| variance).sum::<f64>() / spreads.len().max(1) as f64;
    // Nothing is measured more exactly than this: a millionth.
    let size = match scale {
        Scale::Ratio => 1.0,
        Scale::Raw => ones.iter().map(|one| libm::fabs(one.reference)).fold(1e-9, f64::max),
    };
    let least = 1e-12 * size * size;
    ones.iter()
        .map(|one| {
            let own = moderated.next_if(|_| one.degrees >= 1.0);
            let (spread, degrees) = own.unwrap_or((typical, 1.0));
            let variance = (spread / f64::from(one.blocks.max(1))).max(least);
            Found { mean: one.mean, variance, degrees }
        })
        .collect()
}
