//! Of all bundles one fleet: a function of the set of bundles alone.

use crate::parallel;
use coretwin_base::fleet::plan::{BundleHolds, FleetPlan};
use coretwin_base::fleet::{Fleet, MachineId, Member, MemberState, Refused};
use coretwin_base::machine::environment::{Environment, folded};
use coretwin_base::schema::SCHEMA;
use coretwin_base::shared_text::SharedText;
use coretwin_base::simulation::sweep::{SweepCell, SweepPlan};
use coretwin_base::study::plan::{Plan, Rule};
use coretwin_base::study::reading::Reading;
use coretwin_stats::study::machine_effects;
use coretwin_store::fleet_bundle::FleetBundle;
use coretwin_store::recording::RECORDING;
use coretwin_store::{ENVIRONMENT, Extent, JOURNAL, PLAN};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const CELLS: &str = "cells.jsonl";

#[derive(Debug, Default)]
pub struct Merged {
    pub fleet: Fleet,
    /// Of a sweep: its grid and the cells that are there, in no order that means anything.
    pub sweep: Option<(SweepPlan, Vec<SweepCell>)>,
}

enum Part {
    Study(Box<Member>),
    Cells(Box<SweepPlan>, Vec<SweepCell>),
}

/// Reads bundles, side by side and one at a time each, and puts together what counts. `base` is what
/// file names are shown below. `done` hears how many were read.
pub fn merge(plan: &FleetPlan, files: &[PathBuf], base: &Path, done: impl FnMut(usize)) -> Merged {
    let mut files = files.to_vec();
    files.sort();
    files.dedup();
    // Texts are shared as they come, so that machines that wait their turn are small.
    let known = Mutex::new(BTreeSet::new());
    let parts = parallel::map(&files, |file| read(plan, file, &known), done);
    let mut merged = Merged::default();
    let mut members: BTreeMap<SharedText, (String, Member)> = BTreeMap::new();
    let mut cells: Vec<SweepCell> = Vec::new();
    for (file, part) in files.iter().zip(parts) {
        let file = file.strip_prefix(base).unwrap_or(file).display().to_string();
        match part {
            Err(reason) => merged.fleet.refused.push(Refused { file, reason }),
            Ok(Part::Study(member)) => {
                let loser = enter(&mut members, file, *member);
                merged.fleet.refused.extend(loser);
            }
            Ok(Part::Cells(grid, found)) => {
                cells.extend(found);
                merged.sweep = Some((*grid, Vec::new()));
            }
        }
    }
    if let Some((_, all)) = &mut merged.sweep {
        let key =
            |c: &SweepCell| (c.scenario.clone(), c.topology.clone(), c.policy.clone(), c.seed);
        cells.sort_by_cached_key(key);
        cells.dedup_by_key(|cell| key(cell));
        *all = cells;
    }
    merged.fleet.members = members.into_values().map(|(_, member)| member).collect();
    merged.fleet.members.sort_by(|a, b| (&a.machine, &a.bundle).cmp(&(&b.machine, &b.bundle)));
    merged.fleet.refused.sort();
    merged
}

#[derive(Debug)]
pub struct StudyParts {
    pub plan: Plan,
    pub environment: Environment,
    pub readings: Vec<Reading>,
}

/// Reads the study of every machine that counts, side by side, and hands it over. A file that is
/// gone or changed since the merge is left out. Errors: the first of the callee's, in the order of
/// the files.
pub fn each_study<E: Send>(
    fleet: &Fleet,
    files: &[PathBuf],
    call: impl Fn(&Member, &StudyParts) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let members: BTreeMap<&str, &Member> =
        fleet.members.iter().map(|member| (&*member.bundle, member)).collect();
    // Copies of a bundle are read once.
    let taken = Mutex::new(BTreeSet::new());
    let hand_over = |file: &PathBuf| {
        let Ok(mut bundle) = FleetBundle::read(file, Extent::Whole) else { return Ok(()) };
        let Some(member) = members.get(bundle.digest.as_str()) else { return Ok(()) };
        if !taken.lock().unwrap_or_else(PoisonError::into_inner).insert(bundle.digest.clone()) {
            return Ok(());
        }
        let plain = |error: coretwin_store::Error| error.to_string();
        let Ok((plan, environment)) = planned(&bundle, &plain) else { return Ok(()) };
        let Ok(read) = bundle.readings(&plan) else { return Ok(()) };
        drop(bundle);
        call(member, &StudyParts { plan, environment, readings: read.readings })
    };
    parallel::map(files, hand_over, |_| ()).into_iter().collect()
}

/// Enters a machine. One that is there already counts once: the complete one, else the one with more
/// blocks, else the newer one. Gives the other.
fn enter(
    members: &mut BTreeMap<SharedText, (String, Member)>,
    file: String,
    member: Member,
) -> Option<Refused> {
    let Some((other, _)) = members.get(&member.machine) else {
        members.insert(member.machine.clone(), (file, member));
        return None;
    };
    let other = other.clone();
    let rank = |member: &Member| {
        let blocks: u64 = member.effects.iter().map(|effect| u64::from(effect.blocks)).sum();
        (member.is_complete(), blocks, member.started_utc.clone(), member.bundle.clone())
    };
    let kept = &members[&member.machine].1;
    let name = &kept.name;
    if kept.bundle == member.bundle {
        return Some(Refused { file, reason: format!("it is a copy of {other}") });
    }
    let why = |winner: &Member, loser: &Member, of: &str| {
        let better = match (winner.is_complete(), loser.is_complete()) {
            (true, false) => "is complete",
            _ => "has more blocks or is newer",
        };
        format!("{name} counts once, and {of} {better}")
    };
    if rank(kept) >= rank(&member) {
        return Some(Refused { reason: why(kept, &member, &other), file });
    }
    let refused = Refused { reason: why(&member, kept, &file), file: other };
    members.insert(member.machine.clone(), (file, member));
    Some(refused)
}

fn read(
    fleet: &FleetPlan,
    file: &Path,
    known: &Mutex<BTreeSet<SharedText>>,
) -> Result<Part, String> {
    // The file is named beside the reason.
    let plain = |error: coretwin_store::Error| error.beside(file);
    let mut bundle = FleetBundle::read(file, Extent::Report).map_err(plain)?;
    if bundle.manifest.fleet != fleet.digest {
        return Err(format!(
            "it is of another fleet ({}…), not of this one ({}…); merge it there",
            bundle.manifest.fleet.chars().take(12).collect::<String>(),
            fleet.short()
        ));
    }
    if let Some(reason) = fleet.unplanned(bundle.manifest.task) {
        return Err(reason);
    }
    let (holds, measured) = match bundle.manifest.holds {
        BundleHolds::Study | BundleHolds::Survey => ("journal", JOURNAL),
        BundleHolds::Sweep => ("cells", CELLS),
        BundleHolds::Recording => ("recording", RECORDING),
    };
    if !bundle.has(measured) {
        return Err(format!("it has no {holds} ({measured}): nothing was measured"));
    }
    match bundle.manifest.holds {
        BundleHolds::Study | BundleHolds::Survey => {
            let mut member = study(fleet, &mut bundle, &plain)?;
            member.share(&mut known.lock().unwrap_or_else(PoisonError::into_inner));
            member.effects.shrink_to_fit();
            Ok(Part::Study(Box::new(member)))
        }
        BundleHolds::Sweep => {
            let grid = bundle.record("sweep.json").map_err(plain)?;
            let lines = bundle.file(CELLS).unwrap_or_default().split(|b| *b == b'\n');
            let cells: Result<Vec<SweepCell>, _> =
                lines.filter(|line| !line.is_empty()).map(serde_json::from_slice).collect();
            let cells = cells.map_err(|error| format!("{CELLS}: {error}"))?;
            Ok(Part::Cells(Box::new(grid), cells))
        }
        BundleHolds::Recording => Err("it holds a recording: account --replay reads it".to_owned()),
    }
}

/// Why a plan's study is no part of a fleet.
pub fn why_not(plan: &Plan) -> Option<&'static str> {
    if plan.cputime.is_some() {
        return Some("it holds an experiment of cputime, not a study");
    }
    if plan.arms.iter().any(|arm| arm.control || arm.variant.is_some() || arm.against.is_some()) {
        return Some(
            "it compares commands (--variant), splits (--split) or has a control (--aa); a fleet \
             compares arms",
        );
    }
    (plan.rules.until == Rule::Verdict).then_some(
        "it stopped at its verdict (--until verdict), so its effect leans that way; a fleet's mean \
         needs studies that stop on width",
    )
}

fn planned(
    bundle: &FleetBundle,
    plain: &dyn Fn(coretwin_store::Error) -> String,
) -> Result<(Plan, Environment), String> {
    let plan: Plan = bundle.record(PLAN).map_err(plain)?;
    plan.check().map_err(|what| format!("{PLAN}: {what}"))?;
    if let Some(why) = why_not(&plan) {
        return Err(why.to_owned());
    }
    let environment: Environment = match bundle.file(ENVIRONMENT) {
        Some(_) => bundle.record(ENVIRONMENT).map_err(plain)?,
        None => Environment::default(),
    };
    let plan = if plan.reboots() { plan.with_boots(&environment.boots) } else { plan };
    Ok((plan, environment))
}

fn study(
    fleet: &FleetPlan,
    bundle: &mut FleetBundle,
    plain: &dyn Fn(coretwin_store::Error) -> String,
) -> Result<Member, String> {
    let (plan, environment) = planned(bundle, plain)?;
    let read = bundle.readings(&plan).map_err(plain)?;
    let manifest = &bundle.manifest;
    let state = match &manifest.state {
        MemberState::Complete if read.torn_bytes > 0 => {
            MemberState::Partial("its journal ends in half a line".to_owned())
        }
        state => state.clone(),
    };
    let source = Source {
        machine: manifest.machine.clone(),
        name: manifest.name.clone(),
        bundle: bundle.digest.as_str().into(),
        plan: fleet.digest.as_str().into(),
        schema: manifest.schema,
        state,
    };
    Ok(member(source, &plan, &read.readings, &environment))
}

#[derive(Debug, Clone)]
pub struct Source {
    pub machine: MachineId,
    pub name: String,
    /// Digest of the bundle; of a study that is none, whatever tells it from others.
    pub bundle: SharedText,
    /// Digest of the fleet's plan; empty of a study by itself.
    pub plan: SharedText,
    /// Record version of what holds it.
    pub schema: u32,
    pub state: MemberState,
}

pub fn member(
    source: Source,
    plan: &Plan,
    readings: &[Reading],
    environment: &Environment,
) -> Member {
    let found = machine_effects(plan, readings);
    let facts = environment.facts.values().next().map(folded).unwrap_or_default();
    let text = |text: &str| SharedText::from(text);
    let simulated = plan.simulation.is_some();
    let model = plan.topology.cpuinfo.model_name.as_deref().unwrap_or("unknown");
    let sessions = environment.sessions.iter().map(|session| session.started_utc.as_str());
    let schemas = readings.iter().map(|reading| reading.schema);
    Member {
        schema: SCHEMA,
        machine: source.machine,
        name: source.name,
        cpu_model: text(if simulated { &plan.machine } else { model.trim() }),
        // 0 where no file of that machine named its cores.
        cores: plan.topology.cores.unwrap_or(0),
        threads_per_core: plan.topology.threads_per_core_max.unwrap_or(0),
        kernel: text(facts.get("kernel.release").map_or("", String::as_str)),
        comparison: plan.comparison,
        is_simulated: simulated,
        origin: plan.origin(),
        bundle: source.bundle,
        plan: source.plan,
        bundle_schema: schemas
            .chain([source.schema, plan.schema, environment.schema])
            .max()
            .unwrap_or(SCHEMA),
        started_utc: sessions.max().unwrap_or_default().to_owned(),
        state: source.state,
        margin: plan.rules.margin,
        facts: facts.iter().map(|(key, value)| (text(key), text(value))).collect(),
        effects: found.effects,
        uncompared: found.uncompared,
        is_screening: plan.rules.is_screening(),
    }
}
