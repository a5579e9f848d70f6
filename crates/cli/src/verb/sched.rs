//! `coretwin sched`: a scheduler of ours on a live kernel: core-queue, or one of the article's.

pub(crate) mod doctor;
mod keep;
#[cfg(feature = "sim")]
mod scenario;
mod status;
mod stop;
mod view;

use crate::exit::usage;
use crate::out;
use anyhow::Result;
use coretwin_base::caps;
use coretwin_base::simulation::core_queue;
use coretwin_base::simulation::live::{Options, POLICIES, Policy};
use coretwin_base::simulation::policy_parameter::Parameter;
use coretwin_bpf::scheduler::{Partners, Trial, Wish};
use coretwin_host::root::Root;
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin sched doctor                     whether it could be loaded here, without loading it
  sudo coretwin sched start                 in charge until Ctrl-C, with live statistics
  sudo coretwin sched start --detach --set idle_core_first=off --set slice_us=5000
  sudo coretwin sched start --partners pairs.json      of what waits, what goes best with the sibling's
  sudo coretwin sched start --policy linux-2.4.19      the scheduler of the article's older kernel
  sudo coretwin sched start --policy linux-2.5.32-a9   of its newer one, with the patch for siblings
  sudo coretwin sched status --watch        what it does, each second
  sudo coretwin sched stop                  the kernel's own scheduler back in charge
  sudo coretwin study chat --arm on@kernel --arm on@core-queue       compare the two

The kernel's own scheduler takes over as soon as the process that loaded it ends, however it \
ends, and when the kernel's watchdog ejects it. It needs Linux 6.12 or later with sched_ext.

Exit status: 0 done; 1 the kernel ejected it; 2 usage; 3 not possible or not permitted here.")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Load it, and stay with it until Ctrl-C
    #[command(after_long_help = parameters())]
    Start {
        #[command(flatten)]
        set: Set,
        /// Load it, and leave it to a process of its own
        #[arg(long)]
        detach: bool,
    },
    /// Which scheduler is in charge, and what ours does
    Status(status::How),
    /// Unload it; the kernel's own scheduler is in charge again
    Stop,
    /// Whether it could be loaded here, and what stands in the way
    Doctor {
        /// Read the machine from this folder instead of /
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
        /// Print the findings as JSON
        #[arg(long)]
        json: bool,
    },
    /// Run a scenario of the simulated kernel for real, and count what the scheduler does with its tasks
    #[cfg(feature = "sim")]
    Scenario {
        #[command(flatten)]
        set: Set,
        #[command(flatten)]
        how: scenario::How,
    },
    /// What holds it while it is loaded; started by the others
    #[command(hide = true)]
    Keep {
        #[command(flatten)]
        set: Set,
        /// The study it belongs to, whose life line is the standard input
        #[arg(long)]
        study: Option<u32>,
    },
}

#[derive(clap::Args)]
struct Set {
    /// Which scheduler; `coretwin sched start --help` lists them
    #[arg(long, value_name = "POLICY", default_value = POLICIES[0].name)]
    policy: String,
    /// A parameter, repeatable; `coretwin sched start --help` lists them
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Which programs go well together: what `cputime --with a=A,b=A,c=B,d=B --json` printed on this machine. Of the
    /// first that wait on a core, core-queue runs the one that goes best with what a sibling runs. Programs are told
    /// apart by the name of their threads (comm), so that a script or a wrapper is what its program is called
    #[arg(long, value_name = "FILE")]
    partners: Option<PathBuf>,
    /// Never gives a task a CPU, so that the kernel's watchdog ends it
    #[arg(long, hide = true)]
    trial_stuck: bool,
    /// How long a task may wait before the kernel's watchdog ends it
    #[arg(long, hide = true, value_name = "N")]
    trial_watchdog_ms: Option<u64>,
}

impl Set {
    fn wish(&self) -> Result<Wish> {
        let mut options = Options::of(Policy::find(&self.policy).map_err(usage)?);
        for pair in &self.set {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                usage(format!("'{pair}' is no parameter; write it like slice_us=3000"))
            })?;
            options.set(name, value).map_err(usage)?;
        }
        let watchdog = self.trial_watchdog_ms.map(Duration::from_millis);
        let partners = self.partners()?;
        let trial = Trial { stuck: self.trial_stuck, watchdog, ..Trial::default() };
        Ok(Wish { options, partners, trial })
    }

    fn partners(&self) -> Result<Partners> {
        let Some(path) = &self.partners else { return Ok(Partners::default()) };
        if self.set.iter().any(|pair| pair == "pickup=off" || pair == "pickup=0") {
            return Err(usage(
                "--partners chooses from the queue of a core, which pickup=off leaves empty",
            ));
        }
        if self.policy != core_queue::NAME {
            return Err(usage(format!("--partners is for core-queue, not for {}", self.policy)));
        }
        let text = File::open(path).and_then(|file| caps::RECORD.text(file));
        let text = text.map_err(|error| error.to_string());
        let partners = text.and_then(|text| Partners::read(&text));
        let partners = partners.map_err(|why| usage(format!("{}: {why}", path.display())))?;
        for name in partners.alone() {
            out::news(&format!(
                "{name} was not measured beside itself: beside one of its own the first that waits goes next; cputime \
                 measures that if --with names it twice, like a='{name} …',b='{name} …'"
            ));
        }
        Ok(partners)
    }

    /// What a process of its own is told besides the parameters.
    fn arguments(&self) -> Result<Vec<OsString>> {
        let mut arguments: Vec<OsString> = Vec::new();
        if let Some(path) = &self.partners {
            arguments.extend(["--partners".into(), std::path::absolute(path)?.into()]);
        }
        if self.trial_stuck {
            arguments.push("--trial-stuck".into());
        }
        if let Some(ms) = self.trial_watchdog_ms {
            arguments.push(format!("--trial-watchdog-ms={ms}").into());
        }
        Ok(arguments)
    }
}

const INTERVAL: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &Args) -> Result<u8> {
    let root = Root::system();
    match &args.what {
        What::Start { set, detach } => {
            keep::start(&root, &set.wish()?, detach.then(|| set.arguments()).transpose()?)
        }
        What::Status(how) => status::run(&root, how),
        What::Stop => stop::run(&root),
        What::Doctor { root: None, json } => doctor::run(&root, *json),
        What::Doctor { root: Some(folder), .. } if !folder.join("proc").is_dir() => {
            Err(usage(format!("--root: {} has no proc/ below it", folder.display())))
        }
        What::Doctor { root: Some(folder), json } => doctor::run(&Root::at(folder), *json),
        #[cfg(feature = "sim")]
        What::Scenario { set, .. } if set.partners.is_some() => Err(usage(
            "--partners tells programs apart, and the tasks of a scenario are all of this one",
        )),
        #[cfg(feature = "sim")]
        What::Scenario { set, how } => scenario::run(&set.wish()?, how),
        What::Keep { set, study } => keep::run(&root, &set.wish(), *study),
    }
}

fn parameters() -> String {
    let line = |parameter: &Parameter| {
        let default = parameter.word(parameter.default);
        let limits = match parameter.is_switch() {
            true => "on or off".to_owned(),
            false => format!("{} to {}", parameter.low, parameter.high),
        };
        format!("  {:<19} {} [{default}; {limits}]\n", parameter.name, parameter.about)
    };
    let of = |policy: &Policy| {
        let lines: String = policy.parameters.iter().map(line).collect();
        format!("{}: {}\n{lines}", policy.name, policy.title)
    };
    let policies: Vec<String> = POLICIES.iter().map(of).collect();
    format!("Policies, and their parameters with default and limits:\n\n{}", policies.join("\n"))
}
