//! What changed in the machines of two fleets.

use crate::comparison::facts::{is_foremost, rank};
use coretwin_base::fleet::Member;
use coretwin_base::fleet::comparison::{FactMixture, FleetFactChange};
use coretwin_base::shared_text::SharedText;
use std::collections::{BTreeMap, BTreeSet};

/// A fact, and its text before and after.
type Changed<'a> = (&'a SharedText, [Option<&'a SharedText>; 2]);

/// Facts that changed on machines of both fleets, with the machines on which they changed alike, and
/// the number of facts that changed nowhere. What matters most for speed comes first, and of that what
/// changed on most machines.
pub(super) fn changes(pairs: &[[&Member; 2]]) -> (Vec<FleetFactChange>, u32) {
    let mut keys: BTreeSet<&SharedText> = BTreeSet::new();
    let mut changed: BTreeMap<Changed<'_>, Vec<SharedText>> = BTreeMap::new();
    for [first, second] in pairs {
        // Nothing differs from a machine whose environment was not recorded.
        if first.facts.is_empty() || second.facts.is_empty() {
            continue;
        }
        for key in first.facts.keys().chain(second.facts.keys()).collect::<BTreeSet<_>>() {
            keys.insert(key);
            let values = [first, second].map(|member| member.facts.get(key));
            if values[0] != values[1] {
                changed.entry((key, values)).or_default().push(second.name.as_str().into());
            }
        }
    }
    let differing: BTreeSet<&SharedText> = changed.keys().map(|(key, _)| *key).collect();
    let same = keys.len() - differing.len();
    let mut changes: Vec<FleetFactChange> = changed
        .into_iter()
        .map(|((fact, values), machines)| FleetFactChange {
            fact: fact.clone(),
            values: values.map(|value| value.cloned()),
            machines,
            foremost: is_foremost(fact),
        })
        .collect();
    changes.sort_by_key(|change| (rank(&change.fact), std::cmp::Reverse(change.machines.len())));
    (changes, same as u32)
}

/// Facts that matter most and that the fleets' machines have in other shares; empty where both are made
/// of the same machines, for then the changes say it machine by machine.
pub(super) fn mixtures(sides: &[&[&Member]; 2], pairs: &[[&Member; 2]]) -> Vec<FactMixture> {
    if sides.iter().all(|machines| machines.len() == pairs.len()) {
        return Vec::new();
    }
    let mut mixtures: BTreeMap<&SharedText, [BTreeMap<SharedText, u32>; 2]> = BTreeMap::new();
    for (side, machines) in sides.iter().enumerate() {
        let facts = machines.iter().flat_map(|member| &member.facts);
        for (key, value) in facts.filter(|(key, _)| is_foremost(key)) {
            let counts = &mut mixtures.entry(key).or_default()[side];
            *counts.entry(value.clone()).or_default() += 1;
        }
    }
    let differs = |[first, second]: &[BTreeMap<SharedText, u32>; 2]| {
        let [all_first, all_second] = [first, second].map(|counts| counts.values().sum::<u32>());
        let other_share = |(value, count): (&SharedText, &u32)| {
            u64::from(*count) * u64::from(all_second)
                != u64::from(second[value]) * u64::from(all_first)
        };
        !first.keys().eq(second.keys()) || first.iter().any(other_share)
    };
    let mut mixtures: Vec<FactMixture> = mixtures
        .into_iter()
        .filter(|(_, values)| differs(values))
        .map(|(fact, values)| FactMixture { fact: fact.clone(), values })
        .collect();
    mixtures.sort_by_key(|mixture| rank(&mixture.fact));
    mixtures
}
