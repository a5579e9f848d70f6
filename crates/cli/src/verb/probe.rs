//! `coretwin probe`: which CPUs share a core, by contention.

use crate::exit::{DONE, TOO_BUSY};
use crate::{host, out, signals};
use anyhow::Result;
use coretwin_base::account::probe::Probe;
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::Topology;
use coretwin_base::units::{human_seconds, parse_duration};
use coretwin_host::lock;
use coretwin_host::root::Root;
use coretwin_lab::probe::{self, Options, Request};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin probe                        all CPUs this process may use
  coretwin probe --cpus 0-7 --json
  sudo coretwin probe --exclusive       on a machine that is never quiet

It loads the CPUs for some seconds, in bursts of hundredths of a second, and says so before. \
Other work on them is noticed: what it disturbs is measured again, and where it never ends the \
CPU is reported as undecided; where all are, it ends with 5. Holds for now only: a hypervisor may \
move its CPUs at any time.")]
pub(crate) struct Args {
    /// CPUs to probe, like 0-3,8 [default: all that this process may use]
    #[arg(long, value_name = "LIST", value_parser = CpuSet::parse)]
    cpus: Option<CpuSet>,
    /// Most time it may take
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    budget: std::time::Duration,
    /// Keep others off the CPUs while a round lasts, by real-time priority (needs root)
    #[arg(long)]
    exclusive: bool,
    /// What to look for
    #[arg(long, value_enum, default_value_t = Kind::All)]
    kind: Kind,
    /// Draw the rounds from this seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print all of it, not the answer in seven lines
    #[arg(long, conflicts_with = "json")]
    full: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// Cores and the time of CPUs
    Core,
    /// Shared caches too
    All,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let root = Root::system();
    let topology = host::topology(&root)?;
    let cpus = args.cpus.clone().unwrap_or_else(|| topology.allowed.clone());
    let (budget_s, caches) = (args.budget.as_secs_f64(), args.kind == Kind::All);
    let options = Options { cpus, budget_s, caches, seed: args.seed };
    let request = Request { options, exclusive: args.exclusive };
    let found = probe(&root, &topology, &request)?;
    if args.json {
        out::facts(topology.origin(), &found)?;
    } else if args.full {
        out::text(&coretwin_report::probe::text(&found))?;
    } else {
        let more = "every pair; remembered for topology, account, top";
        out::brief_of(coretwin_report::probe::brief(&found), more)?;
    }
    let says_nothing = found.decided().is_empty() && found.meaningless.is_none();
    Ok(if says_nothing { TOO_BUSY } else { DONE })
}

/// Probes under the host's lock, says how long it takes, and remembers what is found.
pub(super) fn probe(root: &Root, topology: &Topology, request: &Request) -> Result<Probe> {
    probe::check(topology, request)?;
    // A study would be disturbed by it, and it by a study.
    let _lock = lock::acquire(root)?;
    let stop = signals::stop_flag()?;
    let budget_s = request.options.budget_s;
    out::news(&format!(
        "Loading CPUs {} in bursts, for about {} if nobody disturbs it and {} at most; Ctrl-C \
         stops it.",
        request.options.cpus,
        human_seconds(probe::expected_s(request)),
        human_seconds(budget_s)
    ));
    let bar = bar(budget_s);
    let found = probe::probe(root, topology, request, &stop, &mut |elapsed_s| {
        bar.set_position((elapsed_s * 10.0) as u64);
        bar.set_message(format!("{} left at most", human_seconds(budget_s - elapsed_s)));
    });
    bar.finish_and_clear();
    let found = found?;
    host::remember(root, &found);
    Ok(found)
}

/// Drawn five times a second, so that drawing does not disturb what is measured more than that.
fn bar(budget_s: f64) -> ProgressBar {
    let target = match out::redraws(&std::io::stderr()) {
        true => ProgressDrawTarget::stderr_with_hz(5),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(Some((budget_s * 10.0) as u64), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {wide_msg}") {
        bar.set_style(style);
    }
    bar
}
