//! `coretwin account`: raw, core-capacity and alone-equivalent CPU time.

mod args;
mod command;

pub(crate) use args::Args;

use crate::exit::{CELLS_FAILED, DONE, INTERRUPTED};
use crate::{host, out, signals};
use anyhow::Result;
use command::Command;
use coretwin_account::choice;
use coretwin_account::model::Valuation;
use coretwin_account::sampled::Effort;
use coretwin_account::summary::{Findings, summarise};
use coretwin_account::target::{Target, Watched};
use coretwin_account::watch::watch;
use coretwin_base::account::{AccountSummary, CommandEnd, Siblings};
use coretwin_base::cpu_set::CpuSet;
use coretwin_base::topology::Topology;
use coretwin_host::cgroup;
use coretwin_host::root::Root;
use coretwin_lab::machine::Stop;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How often it is looked up who belongs to what is watched.
const REFRESH_EVERY: Duration = Duration::from_secs(2);

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let root = Root::system();
    let topology = host::topology(&root)?;
    let siblings = args.basis.siblings(&root, &topology)?;
    let valuation = args.basis.valuation(&topology, siblings.threads_per_core_max())?;
    let stop = signals::stop_flag()?;
    let summary = account(args, &root, &topology, &siblings, &valuation, &stop)?;
    if args.json {
        out::json(&summary)?;
    } else {
        out::text(&coretwin_report::account_text(&summary))?;
    }
    let status = match &summary.command {
        _ if summary.interrupted => INTERRUPTED,
        Some(CommandEnd { exit_status: Some(0), .. }) | None => DONE,
        Some(_) => CELLS_FAILED,
    };
    Ok(ExitCode::from(status))
}

/// CPUs outside of our cpuset that share a core with CPUs inside.
fn not_usable(siblings: &Siblings, allowed: &CpuSet) -> CpuSet {
    let mixed = siblings.cores.iter().filter(|core| !core.intersection(allowed).is_empty());
    mixed.flat_map(|core| core.difference(allowed).iter().collect::<Vec<_>>()).collect()
}

fn account(
    args: &Args,
    root: &Root,
    topology: &Topology,
    siblings: &Siblings,
    valuation: &Valuation,
    stop: &Stop,
) -> Result<AccountSummary> {
    let effort = Effort { seed: args.basis.seed, ..Effort::default() };
    // Before anything is measured, so that a slip costs nothing.
    let early = match args.command.is_empty() {
        true => Some(Watched::new(root, target(args, root))?),
        false => None,
    };
    let mut chosen = choice::start(root, siblings, args.basis.method, effort)?;
    let (mut watched, mut command) = match early {
        Some(mut watched) => {
            watched.begin();
            (watched, None)
        }
        None => {
            let command = Command::start(root, &args.command)?;
            (Watched::new(root, Target::Process(command.id()))?, Some(command))
        }
    };
    let started = Instant::now();
    let mut refreshed = started;
    let mut goes_on = || {
        if refreshed.elapsed() > REFRESH_EVERY {
            refreshed = Instant::now();
            watched.refresh();
        }
        let in_time = args.length().is_none_or(|length| started.elapsed() < length);
        let is_there =
            command.as_ref().map_or_else(|| watched.is_there(), |command| !command.has_ended());
        in_time && is_there && !stop.raised()
    };
    watch(chosen.method.as_mut(), &mut goes_on)?;
    // Before the window ends: what runs between the two is in neither.
    let whole = watched.whole_s();
    // Before the command is waited for: until then its last run time can be read.
    let window = chosen.method.window()?;
    let end = command.as_mut().map(|command| command.end(stop.raised())).transpose()?;
    let tasks = watched.pick(&window);
    let whole = match &command {
        Some(command) => command.whole(),
        None => whole,
    };
    let mut summary = summarise(Findings {
        target: describe(args),
        window: &window,
        tasks,
        whole,
        valuation,
        method_why: chosen.why,
        not_usable: not_usable(siblings, &topology.allowed),
        interrupted: stop.raised(),
    });
    if command.is_none() && !watched.is_there() {
        out::news(&format!("{} has ended; this is its time up to then", describe(args)));
    }
    summary.command = end;
    Ok(summary)
}

fn target(args: &Args, root: &Root) -> Target {
    match (args.pid, &args.cgroup) {
        (Some(pid), _) => Target::Process(pid),
        (None, Some(path)) => {
            let known = cgroup::folder(root, path).map(|folder| cgroup::path_of(root, &folder));
            Target::Cgroup(known.unwrap_or_else(|| path.clone()))
        }
        (None, None) => Target::All,
    }
}

fn describe(args: &Args) -> String {
    match (args.pid, &args.cgroup) {
        (Some(pid), _) => format!("process {pid} and its descendants"),
        (None, Some(path)) => format!("cgroup {path}"),
        (None, None) if args.all => "everything that runs here".to_owned(),
        (None, None) => coretwin_report::shell_line(&args.command),
    }
}
