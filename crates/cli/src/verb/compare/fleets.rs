//! Fleets among what is compared; a study beside them is a fleet of one machine.

use super::source::{Source, Stored};
use super::{Args, FailOn, is_open};
use crate::exit::usage;
use anyhow::Result;
use coretwin_base::fleet::comparison::FleetComparison;
use coretwin_base::fleet::{Fleet, MemberState};
use coretwin_base::schema::SCHEMA;
use coretwin_base::shared_text::SharedText;
use coretwin_base::study::summary::StoppedBecause;
use coretwin_lab::fleet::identity;
use coretwin_lab::fleet::merge;
use coretwin_report::{FLEET_COMPARISON_FORMATS, fleet_comparison_brief};
use coretwin_stats::comparison::folder_heads;
use coretwin_stats::fleet::comparison::{FleetRecords, compare_fleets};
use std::collections::{BTreeMap, BTreeSet};

/// A fleet of this one machine. Of a host the study tells no more than the name, by which it is
/// `known` again where only one machine has it.
fn of_study(study: Stored, known: &Names) -> (String, Fleet) {
    let Stored { folder, plan, readings, environment, stopped_because } = study;
    let host = environment.sessions.last().map(|session| session.host.as_str());
    let (machine, name) = match &plan.simulation {
        Some(_) => (
            identity::of_simulated(&plan.machine, plan.seed),
            format!("{}, seed {}", plan.machine, plan.seed),
        ),
        None => {
            let name = host.unwrap_or("unnamed").to_owned();
            let only = known.get(&name).filter(|ids| ids.len() == 1);
            let only = only.and_then(|ids| ids.first()).cloned();
            (only.unwrap_or_else(|| SharedText::from(&format!("study on {name}"))), name)
        }
    };
    let state = match stopped_because {
        StoppedBecause::Target
        | StoppedBecause::Verdict
        | StoppedBecause::Blocks
        | StoppedBecause::Budget => MemberState::Complete,
        _ => MemberState::Partial("the study did not come to its end".to_owned()),
    };
    let source = merge::Source {
        machine,
        name,
        bundle: folder.as_str().into(),
        plan: SharedText::default(),
        schema: SCHEMA,
        state,
    };
    let member = merge::member(source, &plan, &readings, &environment);
    (folder, Fleet { members: vec![member], refused: Vec::new() })
}

type Names = BTreeMap<String, BTreeSet<SharedText>>;

fn as_fleets(sources: Vec<Source>) -> Vec<(String, Fleet)> {
    let mut names = Names::new();
    for source in &sources {
        if let Source::Fleet(_, fleet) = source {
            for member in &fleet.members {
                names.entry(member.name.clone()).or_default().insert(member.machine.clone());
            }
        }
    }
    let as_fleet = |source| match source {
        Source::Fleet(folder, fleet) => (folder, fleet),
        Source::Study(study) => of_study(*study, &names),
    };
    sources.into_iter().map(as_fleet).collect()
}

pub(super) fn compared(args: &Args, sources: Vec<Source>) -> Result<bool> {
    let fleets = as_fleets(sources);
    let folders: Vec<&str> = fleets.iter().map(|(folder, _)| folder.as_str()).collect();
    let heads = folder_heads(&folders);
    let records = |place: usize| FleetRecords {
        head: &heads[place],
        folder: folders[place],
        fleet: &fleets[place].1,
    };
    let one = |place: usize| -> Result<FleetComparison> {
        let compared = compare_fleets([&records(0), &records(place)], args.margin);
        compared.map_err(usage)
    };
    let comparisons = (1..fleets.len()).map(one).collect::<Result<Vec<_>>>()?;
    args.show(FLEET_COMPARISON_FORMATS, fleet_comparison_brief, &comparisons)?;
    let mut conditions = args.fail_on.iter();
    Ok(conditions.any(|condition| comparisons.iter().any(|one| holds(*condition, one))))
}

fn holds(condition: FailOn, comparison: &FleetComparison) -> bool {
    let primary =
        if comparison.suites.is_empty() { &comparison.effects } else { &comparison.suites };
    let mut all = comparison.suites.iter().chain(&comparison.effects);
    match condition {
        FailOn::Worse | FailOn::EffectWorse => {
            all.any(|line| line.change.is_regression(comparison.confidence))
        }
        FailOn::ValueWorse => false,
        FailOn::Inconclusive => primary.iter().any(|line| is_open(&line.change)),
        FailOn::Unmatched => comparison.fleets.iter().any(|fleet| {
            !(fleet.rows_only.is_empty()
                && fleet.arms_only.is_empty()
                && fleet.machines_only.is_empty())
        }),
    }
}
