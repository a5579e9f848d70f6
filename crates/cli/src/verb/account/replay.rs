//! `account --replay`: what recordings say of the same load with SMT off, on, or within groups only; what they
//! hold, as tables.

use super::Args;
use crate::exit::{CELLS_FAILED, DONE, usage};
use crate::{dataset, options, out};
use anyhow::{Context, Result};
use coretwin_account::replay;
use coretwin_base::account::recording::Session;
use coretwin_base::account::replay::{FleetReplay, MachineReplay, Replay, ReplaySmt};
use coretwin_base::fleet::plan::{BundleHolds, FleetPlan, Manifest};
use coretwin_base::fleet::{MemberState, Refused};
use coretwin_base::schema::SCHEMA;
use coretwin_report::dataset as tables;
use coretwin_store::Extent;
use coretwin_store::dataset::Dataset;
use coretwin_store::fleet_bundle::FleetBundle;
use coretwin_store::fleet_folder::FleetFolder;
use coretwin_store::recording::{self, RECORDING, Recorded};
use std::collections::BTreeMap;
use std::path::Path;

pub(super) fn state(text: &str) -> Result<ReplaySmt, String> {
    options::named("state", text, ReplaySmt::ALL, |state| state.name())
}

pub(super) fn replay(args: &Args, path: &Path) -> Result<u8> {
    if path.is_dir() {
        return of_fleet(args, path);
    }
    let recorded = recording::read(path)?;
    if recorded.torn_bytes > 0 {
        let bytes = recorded.torn_bytes;
        out::news(&format!("{} ends in a torn block of {bytes} bytes: left out", path.display()));
    }
    if let Some(folder) = &args.parquet {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        export(folder, [(name.as_str(), &recorded.sessions[..])].into_iter())?;
    }
    let Some(smt) = args.smt else { return Ok(DONE) };
    let replay = one(args, smt, &recorded.sessions)?.ok_or_else(|| {
        usage(format!("{} has no whole block yet: record for longer", path.display()))
    })?;
    if let Some(svg) = &args.svg {
        out::file(svg, coretwin_report::replay_svg(&replay))
            .with_context(|| format!("cannot draw {}", svg.display()))?;
    }
    match args.json || args.full {
        true => out::json_or(args.json, &replay, || coretwin_report::replay_text(&replay))?,
        false => {
            let brief = coretwin_report::replay_brief(&replay);
            out::brief_of(brief, "hours, groups and their requests")?;
        }
    }
    Ok(DONE)
}

/// `None` if there is no block.
fn one(args: &Args, smt: ReplaySmt, sessions: &[Session]) -> Result<Option<Replay>> {
    let (_, threads) = replay::threads(sessions);
    let model = sessions.last().and_then(|session| session.head.cpu_model.as_deref());
    let valuation = args.basis.valuation_of(model, threads)?;
    Ok(replay::replay(sessions, smt, &valuation))
}

/// The recordings of a fleet: of each machine the longest.
fn of_fleet(args: &Args, folder: &Path) -> Result<u8> {
    let (fleet, plan) = FleetFolder::open(folder)?;
    let (mut machines, mut refused) = (BTreeMap::new(), Vec::new());
    for path in fleet.bundles()? {
        let file = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        match recording_of(&path, &plan) {
            Err(reason) => refused.push(Refused { file, reason }),
            Ok((manifest, recorded)) => {
                let length =
                    |of: &Recorded| of.sessions.iter().map(|it| it.blocks.len()).sum::<usize>();
                let held: Option<&(String, Manifest, Recorded)> = machines.get(&manifest.machine);
                if held.is_none_or(|held| length(&held.2) < length(&recorded)) {
                    machines.insert(manifest.machine.clone(), (file, manifest, recorded));
                }
            }
        }
    }
    for one in &refused {
        out::news(&format!("does not count: {}: {}", one.file, one.reason));
    }
    if let Some(folder) = &args.parquet {
        let all = machines
            .values()
            .map(|(_, manifest, recorded)| (manifest.name.as_str(), &recorded.sessions[..]));
        export(folder, all)?;
    }
    let status = if refused.is_empty() { DONE } else { CELLS_FAILED };
    let Some(smt) = args.smt else { return Ok(status) };
    let mut replays = Vec::new();
    for (file, manifest, recorded) in machines.into_values() {
        let Some(mut replay) = one(args, smt, &recorded.sessions)? else { continue };
        replay.minutes.clear();
        if let MemberState::Partial(why) = &manifest.state {
            out::news(&format!("{}: not all of its time is recorded: {why}", manifest.name));
        }
        replays.push(MachineReplay { name: manifest.name, file, replay });
    }
    if replays.is_empty() {
        let see = out::command("fleet status", folder);
        let why = format!("{} has no recording that counts; see {see}", folder.display());
        return Err(coretwin_lab::Error::NotPossible(why).into());
    }
    replays.sort_by(|a, b| (&a.name, &a.file).cmp(&(&b.name, &b.file)));
    let fleet = FleetReplay { schema: SCHEMA, smt, machines: replays, refused };
    if let Some(svg) = &args.svg {
        out::file(svg, coretwin_report::machines_svg(&fleet))
            .with_context(|| format!("cannot draw {}", svg.display()))?;
    }
    match args.json || args.full {
        true => out::json_or(args.json, &fleet, || coretwin_report::machines_text(&fleet))?,
        false => out::brief_of(coretwin_report::machines_brief(&fleet), "machines by hour")?,
    }
    Ok(status)
}

fn recording_of(path: &Path, plan: &FleetPlan) -> Result<(Manifest, Recorded), String> {
    let plain = |error: coretwin_store::Error| error.beside(path);
    let bundle = FleetBundle::read(path, Extent::Report).map_err(plain)?;
    if bundle.manifest.fleet != plan.digest {
        return Err("it is of another fleet".to_owned());
    }
    if let Some(reason) = plan.unplanned(bundle.manifest.task) {
        return Err(reason);
    }
    let bytes = bundle.file(RECORDING).filter(|_| bundle.manifest.holds == BundleHolds::Recording);
    let bytes = bytes.ok_or("it holds no recording")?;
    let recorded = recording::read_from(&path.join(RECORDING), bytes).map_err(plain)?;
    Ok((bundle.manifest, recorded))
}

fn export<'a>(
    folder: &Path,
    machines: impl Iterator<Item = (&'a str, &'a [Session])>,
) -> Result<()> {
    let made = Dataset::create(folder)?;
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for (name, sessions) in machines {
        let count = seen.entry(name).or_default();
        *count += 1;
        // Two machines of one name are two.
        let name = if *count > 1 { format!("{name}-{count}") } else { name.to_owned() };
        let of = [("machine", name.as_str())];
        made.part("minutes", &of, &tables::minute_columns(), &tables::minutes(sessions))?;
        made.part("cores", &of, &tables::core_columns(), &tables::cores(sessions))?;
        made.part("groups", &of, &tables::group_columns(), &tables::groups(sessions))?;
    }
    dataset::finish(made, folder)
}
