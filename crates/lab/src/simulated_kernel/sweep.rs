//! A sweep: every cell of a grid, side by side, each kept as soon as it is done, so that a sweep that
//! was broken off is carried on.

use super::run::{Request, Speeds, outcome};
use crate::error::Error;
use crate::machine::{MachineError, Stop};
use crate::parallel;
use coretwin_base::caps;
use coretwin_base::origin::Origin;
use coretwin_base::schema::SCHEMA;
use coretwin_base::simulation::sweep::{SweepCell, SweepPlan};
use coretwin_sim::kernel::scenario::Scenario;
use coretwin_sim::kernel::scenario::expect::{MEASURES, Measure};
use coretwin_sim::kernel::{Layout, Outcome};
use coretwin_sim::policies::Settings;
use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

#[derive(Debug)]
pub struct Sweep {
    pub plan: SweepPlan,
    /// Its scenarios, in the plan's order, each with the speeds of its tasks.
    pub scenarios: Vec<(Scenario, Speeds)>,
    /// Where it is kept: `sweep.json` and `cells.jsonl`.
    pub folder: PathBuf,
    /// Of the cells those whose number leaves the first when divided by the second; (0, 1) is all.
    pub share: (u32, u32),
}

/// Runs what is not yet done. `done` hears how many of how many are. Gives every cell, scenarios
/// first, then machines, policies and seeds. Errors: [`Error::Usage`] for a folder that holds
/// another sweep; [`Error::Listener`] for one that cannot be written; [`MachineError::Stopped`] if
/// `stop` was raised before the last cell was begun: those that were begun are finished and kept. A
/// cell that cannot be run says so itself.
pub fn sweep(
    sweep: &Sweep,
    stop: &Stop,
    mut done: impl FnMut(usize, usize),
) -> Result<Vec<SweepCell>, Error> {
    let kept = open(sweep)?;
    let cells: Vec<SweepCell> = cells(&sweep.plan)
        .into_iter()
        .enumerate()
        .filter(|(number, _)| number % sweep.share.1.max(1) as usize == sweep.share.0 as usize)
        .map(|(_, cell)| cell)
        .collect();
    let is_kept = |cell: &SweepCell| kept.iter().any(|one| place(one) == place(cell));
    let left: Vec<&SweepCell> = cells.iter().filter(|cell| !is_kept(cell)).collect();
    let earlier = cells.len() - left.len();
    let file = append(&sweep.folder.join("cells.jsonl"), &kept)?;
    let file = Mutex::new((file, None));
    let new = parallel::map(
        &left,
        |cell| {
            if stop.raised() {
                return None;
            }
            let found = calculate(sweep, cell);
            keep(&file, &found);
            Some(found)
        },
        |finished| {
            // Those that are left undone finish too, but there is nothing to show of them.
            if !stop.raised() {
                done(earlier + finished, cells.len());
            }
        },
    );
    if let Ok((_, Some(error))) = file.into_inner() {
        return Err(unwritable(&sweep.folder, error));
    }
    let new: Option<Vec<SweepCell>> = new.into_iter().collect();
    let new = new.ok_or(MachineError::Stopped)?;
    let all: Vec<SweepCell> = kept.into_iter().chain(new).collect();
    let find = |cell: &SweepCell| all.iter().find(|one| place(one) == place(cell)).cloned();
    Ok(cells.iter().filter_map(find).collect())
}

/// The cells of the grid, none of them run.
fn cells(plan: &SweepPlan) -> Vec<SweepCell> {
    let mut cells = Vec::new();
    for scenario in &plan.scenarios {
        for topology in &plan.topologies {
            for policy in &plan.policies {
                cells.extend((1..=u64::from(plan.seeds)).map(|seed| SweepCell {
                    schema: SCHEMA,
                    origin: Origin::Simulated,
                    policy: policy.clone(),
                    topology: topology.clone(),
                    scenario: scenario.clone(),
                    seed,
                    measures: BTreeMap::new(),
                    trace_hash: String::new(),
                    failed: None,
                }));
            }
        }
    }
    cells
}

fn place(cell: &SweepCell) -> (&str, &str, &str, u64) {
    (&cell.scenario, &cell.topology, &cell.policy, cell.seed)
}

fn calculate(sweep: &Sweep, cell: &SweepCell) -> SweepCell {
    match outcome_of(sweep, cell) {
        Err(error) => SweepCell { failed: Some(error.to_string()), ..cell.clone() },
        Ok(outcome) => {
            let value =
                |measure: &Measure| Some((measure.key.to_owned(), measure.of(&outcome, None)?));
            let measures = MEASURES.iter().filter_map(value).collect();
            let trace_hash = format!("{:016x}", outcome.trace_hash);
            SweepCell { measures, trace_hash, ..cell.clone() }
        }
    }
}

fn outcome_of(sweep: &Sweep, cell: &SweepCell) -> Result<Outcome, Error> {
    let mut scenarios = sweep.plan.scenarios.iter().zip(&sweep.scenarios);
    let (_, (scenario, speeds)) = scenarios
        .find(|(name, _)| **name == cell.scenario)
        .ok_or_else(|| Error::Usage(format!("there is no scenario '{}'", cell.scenario)))?;
    let policy = Settings::parse(&cell.policy).map_err(Error::Usage)?;
    let request = Request {
        scenario: scenario.clone(),
        layout: Layout::parse(&cell.topology).map_err(Error::Usage)?,
        topology: cell.topology.clone(),
        speeds: speeds.clone(),
        policies: vec![policy],
        seed: cell.seed,
        seeds: 1,
        decisions_max: 0,
        spans_max: 0,
    };
    outcome(&request, policy, cell.seed)
}

/// Makes the folder, or checks that it holds this sweep; gives the cells that are done.
fn open(sweep: &Sweep) -> Result<Vec<SweepCell>, Error> {
    let mut plan = sweep.plan.clone();
    plan.inputs = inputs(sweep);
    let folder = &sweep.folder;
    let problem = |error: std::io::Error| unwritable(folder, error);
    std::fs::create_dir_all(folder).map_err(problem)?;
    let file = folder.join("sweep.json");
    let other = |why: &str| {
        Error::Usage(format!(
            "{} holds another sweep ({why}); give another folder",
            folder.display()
        ))
    };
    match File::open(&file).and_then(|file| caps::RECORD.text(file)) {
        Ok(text) => {
            let stored: SweepPlan =
                serde_json::from_str(&text).map_err(|error| other(&error.to_string()))?;
            if (&stored.inputs, &stored.speeds) != (&plan.inputs, &plan.speeds) {
                return Err(other("its scenarios or speeds were different"));
            }
            if stored != plan {
                return Err(other("its grid is different"));
            }
            let cells = folder.join("cells.jsonl");
            kept(&cells).map_err(|error| unreadable(&cells, &error))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let text =
                serde_json::to_string_pretty(&plan).map_err(|error| problem(error.into()))?;
            std::fs::write(&file, text + "\n").map_err(problem)?;
            Ok(Vec::new())
        }
        Err(error) => Err(unreadable(&file, &error)),
    }
}

/// Cells that were kept; a last line that was broken off is as good as none.
fn kept(path: &Path) -> std::io::Result<Vec<SweepCell>> {
    let mut found = Vec::new();
    let Ok(file) = File::open(path) else { return Ok(found) };
    let mut file = BufReader::new(file).take(caps::JOURNAL.bytes);
    let mut line = Vec::new();
    while caps::LINE.line(&mut file, &mut line)? > 0 {
        found.extend(serde_json::from_slice::<SweepCell>(&line));
    }
    if file.limit() == 0 { Err(caps::JOURNAL.exceeded()) } else { Ok(found) }
}

/// The file of cells with those that were kept, ready for more. Written anew, so that no line follows
/// half of one.
fn append(path: &Path, kept: &[SweepCell]) -> Result<File, Error> {
    let problem = |error: std::io::Error| unwritable(path, error);
    let part = path.with_extension("part");
    let mut file = File::create(&part).map_err(problem)?;
    for cell in kept {
        write_line(&mut file, cell).map_err(problem)?;
    }
    std::fs::rename(&part, path).map_err(problem)?;
    Ok(file)
}

fn keep(file: &Mutex<(File, Option<std::io::Error>)>, cell: &SweepCell) {
    let Ok(mut file) = file.lock() else { return };
    if let Err(error) = write_line(&mut file.0, cell) {
        file.1 = Some(error);
    }
}

fn write_line(file: &mut File, cell: &SweepCell) -> std::io::Result<()> {
    let line = serde_json::to_string(cell)? + "\n";
    file.write_all(line.as_bytes())
}

/// What scenarios and speeds are like, in a word.
fn inputs(sweep: &Sweep) -> String {
    let mut hasher = DefaultHasher::new();
    format!("{:?}", sweep.scenarios).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::Usage(format!("cannot read {}: {error}", path.display()))
}

fn unwritable(path: &Path, error: std::io::Error) -> Error {
    Error::Listener(format!("cannot write {}: {error}", path.display()).into())
}
