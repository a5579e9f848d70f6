//! `coretwin account`: raw, core-capacity and alone-equivalent CPU time.

mod command;
mod record;
mod replay;

use crate::basis::Basis;
use crate::exit::{DONE, INTERRUPTED};
use crate::signals::Signalled;
use crate::{exit, host, out};
use anyhow::Result;
use command::{Command, NotStarted};
use coretwin_account::choice;
use coretwin_account::method::watch;
use coretwin_account::model::Valuation;
use coretwin_account::sampled::Effort;
use coretwin_account::summary::{Findings, summarise};
use coretwin_account::target::{Target, Watched};
use coretwin_base::account::replay::ReplaySmt;
use coretwin_base::account::{AccountSummary, CommandEnd, Siblings};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::Topology;
use coretwin_host::cgroup;
use coretwin_host::root::Root;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const LENGTH: Duration = Duration::from_secs(10);

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin account -- make -j8
  coretwin account --pid 1234 --for 1m --yield 1.3:1.2-1.4
  coretwin account --cgroup /system.slice/nginx.service
  sudo coretwin account --all --for 10s --json
  coretwin account --siblings 0+1 -- ./mycmd     as if CPUs 0 and 1 shared a core
  sudo coretwin account --record day.rec         everything, a block a minute, until Ctrl-C
  coretwin account --replay day.rec --smt off    would that load fit without siblings?
  coretwin account --replay hosts --smt off      the same of a fleet that recorded, by machine and hour
  coretwin account --replay day.rec --parquet t  the recording as tables for DuckDB, pandas, Spark

Raw time is what the kernel counts. Of it, shared time ran beside a busy sibling. Capacity is the \
seconds of a whole core that were used: what a bill wants. Alone-equivalent is how long the same \
work would have run with no sibling busy: what tuning wants. Measure yield and slowdown of your \
work with coretwin cputime; they are then taken from there.

Exit status: with a command, that of the command, 128 and the signal's number if a signal ended it; \
124 it goes on after --for, 125 coretwin failed (message on standard error), 126 the command cannot \
be run, 127 there is none of that name. Without one, 0 done, 3 not possible here, 130 interrupted. \
A slip in the options is 2, before anything runs. A signal to coretwin is passed on to every process \
of the command, and what was measured is printed.")]
pub(crate) struct Args {
    /// A command with its arguments, after `--`
    #[arg(
        last = true,
        value_name = "CMD",
        required_unless_present_any = ["pid", "cgroup", "all", "record", "replay"]
    )]
    command: Vec<String>,
    /// A process that runs, with everything that descends from it
    #[arg(long, value_name = "PID", conflicts_with_all = ["command", "cgroup", "all"])]
    pid: Option<u32>,
    /// A cgroup and those below it: its folder, or its path as in /proc/PID/cgroup
    #[arg(long, value_name = "PATH", conflicts_with_all = ["command", "all"])]
    cgroup: Option<String>,
    /// Everything that runs on this machine
    #[arg(long, conflicts_with = "command")]
    all: bool,
    /// Append what runs on this machine to a file, until it is stopped: some 2 MB a day
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "pid", "cgroup", "full", "json"])]
    record: Option<PathBuf>,
    /// How long a block of a recording is [default: 1m]
    #[arg(
        long,
        value_name = "TIME",
        value_parser = crate::basis::length,
        requires = "record",
        conflicts_with_all = ["command", "pid", "cgroup"]
    )]
    every: Option<Duration>,
    /// Ask a recording, or those of a fleet's folder, whether the load would fit with SMT off, on, or with
    /// core scheduling
    #[arg(
        long,
        value_name = "FILE|DIR",
        requires = "asked",
        conflicts_with_all = ["command", "pid", "cgroup", "all", "record", "length", "method", "siblings"]
    )]
    replay: Option<PathBuf>,
    /// With --replay: off, on or core-sched (siblings run tasks of one cgroup at a time)
    #[arg(
        long,
        value_name = "STATE",
        value_parser = replay::state,
        requires = "replay",
        group = "asked",
        conflicts_with_all = ["command", "pid", "cgroup", "all", "record"]
    )]
    smt: Option<ReplaySmt>,
    /// With --replay: demand and capacity by day, as a figure; of a fleet, machines by hour
    #[arg(long, value_name = "FILE.svg", requires = "smt")]
    svg: Option<PathBuf>,
    /// With --replay: what was recorded, as a folder of Parquet tables
    #[arg(
        long,
        value_name = "DIR",
        requires = "replay",
        group = "asked",
        conflicts_with_all = ["command", "pid", "cgroup", "all", "record"]
    )]
    parquet: Option<PathBuf>,
    /// How long to watch [default: a command to its end, else 10s]; a command goes on after it
    #[arg(long = "for", value_name = "TIME", value_parser = crate::basis::length)]
    length: Option<Duration>,
    #[command(flatten)]
    basis: Basis,
    /// Print all of it, not the answer in seven lines
    #[arg(long, conflicts_with = "json")]
    full: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    fn length(&self) -> Option<Duration> {
        self.length.or(self.command.is_empty().then_some(LENGTH))
    }
}

// Where there is a command, statuses of our own are those of env(1), time(1) and timeout(1).
const STILL_RUNS: u8 = 124;
/// It is not the command that failed.
const OWN_FAILURE: u8 = 125;
/// The command is there and cannot be run.
const NOT_RUNNABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// What is left of a recording and not worth a block.
#[cfg(feature = "fleet")]
const LEAST: Duration = Duration::from_secs(1);
const REFRESH_EVERY: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &Args) -> Result<u8> {
    match (&args.record, &args.replay) {
        (Some(path), _) => return record::record(args, path),
        (None, Some(path)) => return replay::replay(args, path),
        _ => {}
    }
    match measure(args) {
        Err(error) if !args.command.is_empty() => {
            exit::tell(&error);
            Ok(match error.downcast_ref::<NotStarted>() {
                Some(error) if error.is_absent() => NOT_FOUND,
                Some(_) => NOT_RUNNABLE,
                None => OWN_FAILURE,
            })
        }
        result => result,
    }
}

/// Options of a recorder that stand in a fleet's plan. Errors: those of the options; one without an end.
#[cfg(feature = "fleet")]
pub(crate) fn recorder(words: &[String], path: &std::path::Path) -> Result<Args> {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }
    let path = path.display().to_string();
    let own = ["coretwin account", "--record", &path].map(str::to_owned);
    let line = <Line as clap::Parser>::try_parse_from(own.into_iter().chain(words.iter().cloned()));
    let args =
        line.map_err(|error| exit::usage(crate::verb::study::args::Line::words_of(error)))?.args;
    if args.length.is_none() {
        return Err(exit::usage("a fleet's recording needs an end: account --for 24h"));
    }
    Ok(args)
}

/// Records what is left of the time that is asked for; whether all of it is recorded.
#[cfg(feature = "fleet")]
pub(crate) fn record_rest(words: &[String], path: &std::path::Path) -> Result<bool> {
    let mut args = recorder(words, path)?;
    let had =
        if path.exists() { coretwin_store::recording::read(path)?.sessions } else { Vec::new() };
    let blocks = had.iter().flat_map(|session| &session.blocks);
    let had_s: f64 = blocks.map(|block| block.elapsed_s).sum();
    let left = args.length.unwrap_or_default().saturating_sub(Duration::from_secs_f64(had_s));
    if left < LEAST {
        return Ok(true);
    }
    args.length = Some(left);
    Ok(record::record(&args, path)? == DONE)
}

fn measure(args: &Args) -> Result<u8> {
    let root = Root::system();
    let topology = host::topology(&root)?;
    let siblings = args.basis.siblings(&root, &topology)?;
    let valuation = args.basis.valuation(&topology, siblings.threads_per_core_max())?;
    let stopped = Signalled::listen()?;
    let summary = account(args, &root, &topology, &siblings, &valuation, &stopped)?;
    let printed = match args.json || args.full {
        true => out::json_or(args.json, &summary, || coretwin_report::account_text(&summary)),
        false => {
            let brief = coretwin_report::account_brief(&summary);
            out::brief_of(brief, "every process, thread and cgroup")
        }
    };
    match printed {
        // Who reads no further still wants to know how the command ended.
        Err(error) if !exit::is_broken_pipe(&error) => Err(error),
        _ => Ok(status(&summary)),
    }
}

/// That of the command, as a shell tells it, if there is one.
fn status(summary: &AccountSummary) -> u8 {
    let of = |number: i32| u8::try_from(number).unwrap_or(OWN_FAILURE);
    match &summary.command {
        Some(CommandEnd { exit_status: Some(status), .. }) => of(*status),
        Some(CommandEnd { signal: Some(signal), .. }) => of(128 + signal),
        _ if summary.interrupted => INTERRUPTED,
        Some(_) => STILL_RUNS,
        None => DONE,
    }
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
    stopped: &Signalled,
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
        // Until the command has ended too: what it does in its last moments is its own.
        let mut is_wanted = || match (stopped.signal(), &mut command) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(signal), Some(command)) => command.is_ending(signal),
        };
        in_time && is_there && is_wanted()
    };
    watch(chosen.method.as_mut(), &mut goes_on)?;
    // Before the window ends: what runs between the two is in neither.
    let whole = watched.whole_s();
    // Before the command is waited for: until then its last run time can be read.
    let window = chosen.method.window()?;
    let end = command.as_mut().map(Command::end).transpose()?;
    let tasks = watched.pick(&window);
    let whole = command.as_ref().map_or(whole, Command::whole);
    let mut summary = summarise(Findings {
        origin: topology.origin(),
        target: describe(args),
        window: &window,
        tasks,
        is_all: *watched.target() == Target::All,
        whole,
        valuation,
        method_why: chosen.why,
        not_usable: not_usable(siblings, &topology.allowed),
        interrupted: stopped.stop.raised(),
    });
    if command.is_none() && !watched.is_there() {
        tell_of_its_end(args, whole.is_some());
    }
    summary.command = end;
    Ok(summary)
}

fn tell_of_its_end(args: &Args, whole_is_known: bool) {
    let until = match (args.pid, whole_is_known) {
        (Some(_), _) => "this is its time up to then",
        (None, true) => "this is its time up to the last look at it",
        (None, false) => "what it used as a whole is not known, only what its tasks showed",
    };
    out::news(&format!("{} has ended; {until}", describe(args)));
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
        (Some(pid), _) => format!("process {pid} with its descendants"),
        (None, Some(path)) => format!("cgroup {path}"),
        (None, None) if args.all => "everything that runs here".to_owned(),
        (None, None) => coretwin_report::shell_line(&args.command),
    }
}
