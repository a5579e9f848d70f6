//! Two fleets: what became of the effects from one to the other.
//!
//! Data flow: two [`FleetRecords`] → `groups` of each, with the rows and arms of both → `change` (machines
//! of both against themselves, others as samples) → `FleetComparison`, with `facts` of the machines that
//! changed, `sentences` and `warnings`.
//!
//! Invariants:
//! * each fleet is analysed as in its own report; only rows of one unit and scale, and arms with the same
//!   reference, are compared;
//! * a machine is the same where its id is; what a machine is like never counts as a change;
//! * what makes a verdict meaningless is said, and then there is none.

mod change;
mod facts;
mod sentences;
mod warnings;

pub use crate::comparison::records::FleetRecords;
pub use change::{MeanChange, mean_change};

use super::groups::{self, Groups, Key, One};
use super::random_effects::{Found, RandomEffects};
use crate::comparison::contrast::{adjust, of_difference};
use crate::comparison::records::NothingInCommon;
use crate::study::rows::from_scale;
use crate::{confidence, verdict};
use coretwin_base::fleet::comparison::{ComparedFleet, FleetChange, FleetComparison, FleetSide};
use coretwin_base::fleet::{Fleet, Member};
use coretwin_base::origin::Origin;
use coretwin_base::schema::SCHEMA;
use coretwin_base::shared_text::SharedText;
use coretwin_base::study::comparison::Contrast;
use coretwin_base::study::plan::Scale;
use std::collections::{BTreeMap, BTreeSet};

/// Compares the second fleet with the first. Without `margin` the largest of all their studies holds.
/// Errors: [`NothingInCommon`] if no row is in both under the same arm and reference arm.
pub fn compare_fleets(
    fleets: [&FleetRecords<'_>; 2],
    margin: Option<f64>,
) -> Result<FleetComparison, NothingInCommon> {
    let mut sides = fleets.map(Side::new);
    let origins = sides.each_ref().map(Side::origin);
    if let [Some(first), Some(_)] = origins {
        // Rows meet by their names; every line says which origins meet.
        sides[1].rename(first);
    }
    let rows = sides.each_ref().map(|side| described(&side.by_model));
    if rows[0].is_disjoint(&rows[1]) {
        let what = "fleets have no row of one unit, scale, arm and reference arm";
        let names = rows.map(|rows| rows.into_iter().collect());
        return Err(NothingInCommon::new(what, fleets.map(|fleet| fleet.folder), names));
    }
    let own = fleets.map(|fleet| groups::largest_margin(&fleet.fleet.members));
    let margin = margin.unwrap_or(f64::max(own[0], own[1]));
    let compared = [0, 1].map(|side: usize| compared(&sides, side));
    let is_decidable = bundles(fleets[0].fleet) != bundles(fleets[1].fleet)
        && compared[0].comparison == compared[1].comparison;
    let lines = Lines { margin: is_decidable.then_some(margin), origins };
    let [suites, effects] = lines.all(&sides);
    let paired: Vec<[&Member; 2]> = pairs(&sides);
    let (facts, facts_same) = facts::changes(&paired);
    let mixtures = facts::mixtures(&sides.each_ref().map(|side| side.machines.as_slice()), &paired);
    let mut comparison = FleetComparison {
        schema: SCHEMA,
        fleets: compared,
        machines_paired: paired.len() as u32,
        margin,
        confidence: confidence::CONFIDENCE,
        suites,
        effects,
        facts,
        facts_same,
        mixtures,
        ..FleetComparison::default()
    };
    comparison.sentences = sentences::write(&comparison);
    comparison.warnings = warnings::write(&comparison, fleets, is_decidable);
    Ok(comparison)
}

struct Side<'a> {
    records: &'a FleetRecords<'a>,
    machines: Vec<&'a Member>,
    by_model: Groups<'a>,
}

impl<'a> Side<'a> {
    fn new(records: &'a FleetRecords<'a>) -> Self {
        let machines = groups::machines(records.fleet);
        let by_model = groups::by_model(records.fleet, &machines);
        Self { records, machines, by_model }
    }

    fn origin(&self) -> Option<Origin> {
        Origin::common(self.machines.iter().map(|member| member.origin))
    }

    /// Calls the only origin of its rows by another name.
    fn rename(&mut self, origin: Origin) {
        let by_model = std::mem::take(&mut self.by_model).into_iter();
        let renamed = |(mut key, ones): (Key<'a>, Vec<One>)| {
            key.origin = origin;
            (key, ones)
        };
        self.by_model = by_model.map(renamed).collect();
    }
}

/// Rows as they must be the same in both, in words.
fn described(groups: &Groups<'_>) -> BTreeSet<String> {
    groups.keys().map(|key| format!("{}, {}", row(key), arm(key))).collect()
}

fn row(key: &Key<'_>) -> String {
    format!("{} ({})", key.row, key.unit)
}

fn arm(key: &Key<'_>) -> String {
    format!("{} against {}", key.arm, key.reference)
}

fn bundles(fleet: &Fleet) -> BTreeSet<&SharedText> {
    fleet.members.iter().map(|member| &member.bundle).collect()
}

fn pairs<'a>([first, second]: &[Side<'a>; 2]) -> Vec<[&'a Member; 2]> {
    let find = |member: &&'a Member| {
        let found = second.machines.binary_search_by_key(&&member.machine, |other| &other.machine);
        found.ok().map(|index| [*member, second.machines[index]])
    };
    first.machines.iter().filter_map(find).collect()
}

fn compared(sides: &[Side<'_>; 2], index: usize) -> ComparedFleet {
    let [side, other] = [&sides[index], &sides[1 - index]];
    let Fleet { members, refused } = side.records.fleet;
    let others: BTreeSet<&SharedText> =
        other.machines.iter().map(|member| &member.machine).collect();
    let mut models: BTreeMap<SharedText, u32> = BTreeMap::new();
    for member in &side.machines {
        *models.entry(member.cpu_model.clone()).or_default() += 1;
    }
    let only = |name: fn(&Key<'_>) -> String| {
        let [own, theirs] =
            [side, other].map(|side| side.by_model.keys().map(name).collect::<BTreeSet<_>>());
        own.difference(&theirs).cloned().collect()
    };
    ComparedFleet {
        head: side.records.head.to_owned(),
        folder: side.records.folder.to_owned(),
        machines: side.machines.len() as u32,
        models,
        comparison: groups::compares(members),
        is_simulated: side.machines.iter().all(|member| member.is_simulated),
        origin: side.origin(),
        margin: groups::largest_margin(members),
        partial: members.iter().filter(|member| !member.is_complete()).count() as u32,
        refused: refused.len() as u32,
        machines_only: side
            .machines
            .iter()
            .filter(|member| !others.contains(&member.machine))
            .map(|member| member.name.as_str().into())
            .collect(),
        rows_only: only(row),
        arms_only: only(arm),
    }
}

struct Lines {
    margin: Option<f64>,
    /// Of each fleet; `None` of one whose machines differ in it, which then meet their like alone.
    origins: [Option<Origin>; 2],
}

impl Lines {
    /// Suites and rows, over all models (where there are several) first.
    fn all(&self, sides: &[Side<'_>; 2]) -> [Vec<FleetChange>; 2] {
        let ids = sides.each_ref().map(|side| {
            side.machines.iter().map(|member| &member.machine).collect::<Vec<&SharedText>>()
        });
        let by_model = sides.each_ref().map(|side| side.by_model.clone());
        let models: BTreeSet<_> =
            by_model.iter().flat_map(|groups| groups.keys().map(|key| key.cpu_model)).collect();
        let over = by_model.each_ref().map(|groups| {
            if models.len() > 1 { groups::all_models(groups) } else { Groups::new() }
        });
        let named = ["all".into(), SharedText::default()];
        let mut lines = [Vec::new(), Vec::new()];
        for mut groups in [over, by_model] {
            in_both(&mut groups);
            let rows = groups[0].iter().zip(&groups[1]);
            lines[1].extend(rows.filter_map(|((key, first), (_, second))| {
                self.line(key, 1, [first, second], &ids)
            }));
            alike_suites(&mut groups);
            let [first, second] = groups.each_ref().map(|groups| groups::suites(groups, &named));
            let suites = first.iter().zip(&second);
            lines[0].extend(suites.filter_map(|((key, rows, first), (_, _, second))| {
                self.line(key, *rows, [first, second], &ids)
            }));
        }
        lines.iter_mut().for_each(|lines| adjusted(lines));
        lines
    }

    fn line(
        &self,
        key: &Key<'_>,
        rows: u32,
        ones: [&[One]; 2],
        ids: &[Vec<&SharedText>; 2],
    ) -> Option<FleetChange> {
        let scale = key.scale;
        let found = ones.map(|ones| groups::found(ones, scale));
        let id = |side: usize, place: usize| ids[side][ones[side][place].machine as usize];
        let second: BTreeMap<&SharedText, usize> =
            (0..ones[1].len()).map(|place| (id(1, place), place)).collect();
        let mut pairs: Vec<[Found; 2]> = Vec::new();
        let mut others: [Vec<Found>; 2] = Default::default();
        let mut taken: BTreeSet<usize> = BTreeSet::new();
        for (place, own) in found[0].iter().enumerate() {
            match second.get(id(0, place)) {
                Some(&other) => {
                    pairs.push([*own, found[1][other]]);
                    taken.insert(other);
                }
                None => others[0].push(*own),
            }
        }
        others[1] = (0..found[1].len())
            .filter(|place| !taken.contains(place))
            .map(|place| found[1][place])
            .collect();
        let change = mean_change(&pairs, [&others[0], &others[1]])?;
        let origins = match self.origins {
            [Some(first), Some(second)] => [first, second],
            _ => [key.origin; 2],
        };
        let measured = origins == [Origin::Measured; 2];
        let margin = self.margin.filter(|_| measured);
        let margin = margin.map(|share| verdict::margin(share, scale, groups::size(ones[0])));
        Some(FleetChange {
            origins,
            cpu_model: key.cpu_model.cloned(),
            row: key.row.clone(),
            workload: key.workload.clone(),
            arm: key.arm.clone(),
            reference: key.reference.clone(),
            unit: key.unit.clone(),
            better: key.better,
            scale,
            rows,
            effects: [0, 1].map(|side: usize| effect(ones[side], &found[side], scale)),
            machines_paired: change.paired,
            machines_independent: change.independent,
            change: of_difference(&change.estimate, scale, margin),
        })
    }
}

fn in_both(groups: &mut [Groups<'_>; 2]) {
    let [first, second] = groups;
    first.retain(|key, _| second.contains_key(key));
    second.retain(|key, _| first.contains_key(key));
}

/// Leaves rows that every machine of its model has in both, so that the suites are of the same rows.
fn alike_suites(groups: &mut [Groups<'_>; 2]) {
    for side in [0, 1, 0] {
        let kept: BTreeSet<Key<'_>> = groups::shared_rows(&groups[side])
            .into_iter()
            .flatten()
            .map(|(key, _)| key.clone())
            .collect();
        groups.iter_mut().for_each(|groups| groups.retain(|key, _| kept.contains(key)));
    }
}

fn effect(ones: &[One], found: &[Found], scale: Scale) -> FleetSide {
    let mean = groups::mean(ones, RandomEffects::new(found).as_ref());
    let interval = mean.interval(confidence::CONFIDENCE);
    FleetSide {
        effect: from_scale(mean.mean, scale),
        low: interval.map(|ends| from_scale(ends.0, scale)),
        high: interval.map(|ends| from_scale(ends.1, scale)),
        machines: ones.len() as u32,
    }
}

/// Fills in the adjusted p-values: over all lines of an arm by model, and over those of all models.
fn adjusted(lines: &mut [FleetChange]) {
    let family =
        |line: &FleetChange| (line.cpu_model.is_none(), line.arm.clone(), line.reference.clone());
    let families: BTreeSet<_> = lines.iter().map(family).collect();
    for wanted in families {
        let of_family = lines.iter_mut().filter(|line| family(line) == wanted);
        adjust(of_family.map(|line| -> &mut Contrast { &mut line.change }));
    }
}
