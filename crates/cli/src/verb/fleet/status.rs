//! `coretwin fleet status`: what is there, what is missing, how to finish.

use super::with_engine;
use crate::exit::{CELLS_FAILED, DONE};
use crate::out;
use anyhow::Result;
use coretwin_base::fleet::plan::{FleetPlan, FleetSubject};
use coretwin_lab::fleet::engine::Known;
use coretwin_lab::fleet::engine_of;
use coretwin_lab::fleet::status::{Bundles, State, Status, status};
use coretwin_store::fleet_folder::FleetFolder;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "\
Example:
  coretwin fleet status hosts

Looks at the bundles and asks the engine of the rest; what is done elsewhere is brought home. Exit \
status 0 if every task is done, 1 if not.")]
pub(crate) struct Args {
    /// The fleet's folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Ask nobody: only what lies in the folder
    #[arg(long)]
    offline: bool,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    with_engine(&args.folder, |fleet, plan, call| {
        let open = Bundles::of(fleet, plan)?.open(plan);
        let known = if args.offline || open.is_empty() {
            BTreeMap::new()
        } else {
            match engine_of(plan)?.look(call, &open) {
                Ok(known) => known,
                Err(why) => {
                    out::news(&format!("{why}; this is what lies in the folder"));
                    BTreeMap::new()
                }
            }
        };
        let status = status(fleet, plan, Bundles::of(fleet, plan)?, &known);
        out::json_or(args.json, &status, || text(fleet, plan, &status))?;
        Ok(if status.finish.is_some() { CELLS_FAILED } else { DONE })
    })
}

pub(super) fn tell(
    fleet: &FleetFolder,
    plan: &FleetPlan,
    known: &BTreeMap<u32, Known>,
) -> Result<()> {
    let status = status(fleet, plan, Bundles::of(fleet, plan)?, known);
    out::text(&text(fleet, plan, &status))
}

const LISTED: usize = 50;

fn text(fleet: &FleetFolder, plan: &FleetPlan, status: &Status) -> String {
    use std::fmt::Write;
    let folder = &fleet.folder().display().to_string();
    let mut text = String::new();
    let of = |state: State| status.tasks.iter().filter(move |task| task.state == state);
    let open = [State::Running, State::Waiting, State::Partial, State::Failed, State::Missing];
    let counts =
        [State::Done].into_iter().chain(open).map(|state| (of(state).count(), state.word()));
    let counts = counts.filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
    let _ = writeln!(text, "fleet {}: {}", plan.short(), counts.join(", "));
    for state in open {
        for task in of(state).take(LISTED) {
            let (word, about) = (state.word(), &task.about);
            let _ = writeln!(text, "  {:>4}  {:<20} {word}: {about}", task.task, task.name);
        }
        if let Some(more) = of(state).count().checked_sub(LISTED).filter(|more| *more > 0) {
            let _ = writeln!(text, "        and {more} more: {}", state.word());
        }
    }
    for refused in &status.refused {
        let _ = writeln!(text, "  does not count: {}: {}", refused.file, refused.reason);
    }
    let line = |words: &[String]| coretwin_report::shell_line(words);
    let _ = match &status.finish {
        Some(words) if words.iter().any(|word| word == "status") => {
            writeln!(text, "nothing is left to start; look again: {}", line(words))
        }
        Some(words) => writeln!(text, "to finish: {}", line(words)),
        None => {
            let next = match &plan.subject {
                FleetSubject::Record(_) => {
                    &["coretwin", "account", "--replay", folder, "--smt", "off"][..]
                }
                _ => &["coretwin", "fleet", "merge", folder],
            };
            let next: Vec<String> = next.iter().map(|word| (*word).to_owned()).collect();
            writeln!(text, "every machine has its bundle; next: {}", line(&next))
        }
    };
    text
}
