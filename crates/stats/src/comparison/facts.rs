//! What differs between the machines of two studies.

use super::records::StudyRecords;
use coretwin_base::machine::environment::{Environment, Facts, folded};
use coretwin_base::study::comparison::FactChange;
use std::collections::{BTreeMap, BTreeSet};

/// Keys of facts, or what they begin with, that matter most for a comparison of speed, in the order
/// they are shown.
const FOREMOST: [&str; 20] = [
    "cpu.model",
    "kernel.release",
    "kernel.command_line",
    "mitigation.",
    "cpu.microcode",
    "hypervisor",
    "smt.control",
    "smt.active",
    "smt.siblings",
    "cpu.online",
    "cpu.allowed",
    "cpu.isolated",
    "cpu.*.governor",
    "cpu.*.mhz_max",
    "cpu.*.energy_preference",
    "cpufreq.driver",
    "turbo.",
    "pstate.",
    "scheduler.",
    "cgroup.",
];

/// The facts that differ, foremost ones first, and how many do not. Nothing differs from a study
/// whose environment was not recorded.
pub(super) fn changes(studies: [&StudyRecords<'_>; 2], arms: &[String]) -> (Vec<FactChange>, u32) {
    let facts = studies.map(|study| of_study(study.environment, arms));
    if facts.iter().any(BTreeMap::is_empty) {
        return (Vec::new(), 0);
    }
    let keys: BTreeSet<&String> = facts.iter().flat_map(BTreeMap::keys).collect();
    let mut changes = Vec::new();
    let mut same = 0;
    for key in keys {
        let values = facts.each_ref().map(|facts| facts.get(key).cloned());
        if values[0] == values[1] {
            same += 1;
        } else {
            let foremost = is_foremost(key);
            changes.push(FactChange { fact: key.clone(), values, foremost });
        }
    }
    changes.sort_by_key(|change| rank(&change.fact));
    (changes, same)
}

pub(crate) fn is_foremost(key: &str) -> bool {
    rank(key) < FOREMOST.len()
}

pub(crate) fn rank(key: &str) -> usize {
    let is = |wanted: &&str| {
        if wanted.ends_with('.') { key.starts_with(*wanted) } else { key == *wanted }
    };
    FOREMOST.iter().position(is).unwrap_or(FOREMOST.len())
}

/// Every fact as one text, by arm where the arms differ.
fn of_study(environment: &Environment, arms: &[String]) -> BTreeMap<String, String> {
    let by_arm: Vec<(&String, Facts)> = arms
        .iter()
        .map(|arm| (arm, of_arm(environment, arm)))
        .filter(|(_, facts)| !facts.is_empty())
        .collect();
    let keys: BTreeSet<&String> = by_arm.iter().flat_map(|(_, facts)| facts.keys()).collect();
    let text = |key: &String| {
        let values: Vec<Option<&String>> = by_arm.iter().map(|(_, facts)| facts.get(key)).collect();
        match values.as_slice() {
            [Some(first), others @ ..] if others.iter().all(|other| *other == Some(*first)) => {
                (*first).clone()
            }
            _ => {
                let part = |((arm, _), value): (&(&String, Facts), &Option<&String>)| {
                    format!("{arm}: {}", value.map_or("–", |value| value.as_str()))
                };
                by_arm.iter().zip(&values).map(part).collect::<Vec<_>>().join("; ")
            }
        }
    };
    keys.into_iter().map(|key| (key.clone(), text(key))).collect()
}

/// The facts that held in an arm; several values over time are joined.
fn of_arm(environment: &Environment, arm: &str) -> Facts {
    let moments = environment.moments.values().filter(|moment| moment.arm == arm);
    let sets: BTreeSet<&str> = moments.map(|moment| moment.facts.as_str()).collect();
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for facts in sets.iter().filter_map(|set| environment.facts.get(*set)) {
        for (key, value) in folded(facts) {
            let known = values.entry(key).or_default();
            if !known.contains(&value) {
                known.push(value);
            }
        }
    }
    values.into_iter().map(|(key, values)| (key, values.join(" / "))).collect()
}
