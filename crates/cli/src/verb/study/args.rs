//! Options of `coretwin study`, and what they ask for.

use super::{load, variants};
use crate::exit::usage;
use crate::metric;
use crate::options::{Limit, drawn_seed, limit, placement, share};
use crate::slip;
use anyhow::Result;
use coretwin_base::machine::placement::Placement;
use coretwin_base::parameters::WorkloadSpec;
use coretwin_base::study::arm::{ArmSpec, ArmState, KERNEL};
use coretwin_base::study::command::{CommandSpec, LoadSpec, MetricSpec, ServerSpec};
use coretwin_base::study::load::Objective;
use coretwin_base::study::plan::{DISTURBED_SHARE_MAX, Protocol, Rule, Variant};
use coretwin_base::study::summary::Verdict;
use coretwin_base::suggest::unknown;
use coretwin_base::units::parse_duration;
use coretwin_lab::host_machine::HOST;
use coretwin_lab::request::{Counts, Request, Subject};
use coretwin_stats::confidence;
use std::path::PathBuf;
use std::time::Duration;

#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  coretwin study -- ./mycmd -t {threads}         one CPU per core against all CPUs
  coretwin study --copies auto -- ./single       a single-threaded command, one copy per CPU
  coretwin study --threads auto -- ./mycmd {threads}      best thread count of each arm, confirmed
  coretwin study --metric 'rate:req/s:higher=([0-9.]+) req/s' --server './srv' --ready './ping' \\
      -- ./load                                  a server restarted for every run, and its load
  coretwin study chat --out chat-study           the chat suite: 20, 30, 40 and 50 rooms
  coretwin study article --quick                 every table of the article of 2003, in minutes
  coretwin study chat:rooms=20 --placement same-cpu,cores
  coretwin study --arm a=cpus:0-3 --arm b=cpus:4-7 -- ./mycmd      any two sets of CPUs
  coretwin study --switch -- ./mycmd -t {threads}       SMT really off and on, as root; put back after
  coretwin study chat --arm on@kernel --arm on@core-queue      the kernel's scheduler against ours
  coretwin study --variant old='./old {size}' --variant new='./new {size}' -L size 1,4
  coretwin study service --load-curve 10%..90% --slo p99=10ms      what it carries at an objective
  coretwin study --server ./srv --load './gen -r {rate} > lat' --latencies lat --load-curve auto
  coretwin study --split smt,threads -- mpirun -np {threads} ./solver      siblings or more ranks?
  coretwin study --arm boot:nosmt --arm boot:smt -- ./mycmd      the same by booting, one boot a visit
  coretwin study article --machine xeon-mp-foster       the article's study on its machine, simulated
  coretwin study chat --machine zen4-2x96 --arm on@fair --arm on@core-queue
  coretwin study --resume chat-study             go on where it was broken off

{threads}, {cpus}, {arm}, {copy} and {variant} are filled in for each run. The first arm is the reference.")]
pub(crate) struct Args {
    /// Suites or workloads, like chat or chat:rooms=20; with none and no command, what could be studied
    /// here is printed (status 2)
    #[arg(value_name = "WORKLOAD", value_parser = WorkloadSpec::parse)]
    pub(crate) workloads: Vec<WorkloadSpec>,
    /// Your own command, after `--`
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,

    /// An arm: STATE, STATE@SCHED or LABEL=STATE@SCHED, repeatable; the first is the reference.
    /// STATE: on, one-per-core, packed, on-cores, core-sched, cpus:LIST, off, boot:NAME (default:
    /// one-per-core and on). SCHED: kernel, core-queue, linux-2.4.19, linux-2.5.32 or
    /// linux-2.5.32-a9, also with values as in core-queue[active=off], loaded for each visit, as root
    #[arg(long = "arm", value_name = "ARM", value_parser = ArmSpec::parse, help_heading = "What is compared")]
    arms: Vec<ArmSpec>,
    /// A command to compare, [NAME=]CMD, repeatable; the first is the reference. Compared in every arm
    /// (default: one arm, all CPUs). One alone is compared at the values of its parameters
    #[arg(long = "variant", value_name = "[NAME=]CMD", value_parser = variants::typed, conflicts_with = "command", help_heading = "What is compared")]
    variants: Vec<variants::Typed>,
    /// Measure the reference twice: if it differs from itself no verdict is given
    #[arg(long, help_heading = "What is compared")]
    aa: bool,
    /// Tell what siblings do from what more threads do: both arms with the threads of each. Needs work
    /// that is told how many: {threads} in a command, or chat:rooms={threads}
    #[arg(long, value_name = "smt,threads", value_parser = ["smt,threads"], conflicts_with = "variants", help_heading = "What is compared")]
    split: Option<String>,
    /// Switch SMT itself: short for --arm off --arm on
    #[arg(long, conflicts_with = "arms", help_heading = "What is compared")]
    switch: bool,
    /// Where a workload's roles run: free, same-cpu, siblings, cores, packages (comma-separated;
    /// default: free, and lmbench's pipe in every one that an arm has)
    #[arg(long, value_delimiter = ',', value_parser = placement, help_heading = "What is compared")]
    placement: Vec<Placement>,
    /// The machine to study: host, or a simulated one of coretwin list or of your own file, like
    /// ./mine.toml; its arms are off@POLICY and on@POLICY
    #[arg(long, default_value = HOST, value_name = "NAME|FILE", help_heading = "What is compared")]
    pub(crate) machine: String,
    /// Fitted parameters of the simulated machine, as `simulate calibrate` writes them (default: those
    /// built in)
    #[arg(long, value_name = "FILE", help_heading = "What is compared")]
    pub(crate) fit: Option<PathBuf>,

    /// Thread counts for {threads}: auto (screened, best per arm) or a list (default: the arm's own)
    #[arg(long, value_name = "auto|LIST", value_parser = Counts::parse, help_heading = "Your command")]
    threads: Option<Counts>,
    /// Fill these values in for {NAME} in turn, comma-separated; each is a row; repeatable
    #[arg(short = 'L', long, num_args = 2, allow_hyphen_values = true, value_names = ["NAME", "VALUES"], action = clap::ArgAction::Append, help_heading = "Your command")]
    parameter_list: Vec<String>,
    /// Fill the numbers from MIN to MAX in for {NAME}; each is a row; repeatable
    #[arg(short = 'P', long, num_args = 3, value_names = ["NAME", "MIN", "MAX"], allow_negative_numbers = true, action = clap::ArgAction::Append, help_heading = "Your command")]
    parameter_scan: Vec<String>,
    /// Step of --parameter-scan (default: 1)
    #[arg(
        short = 'D',
        long,
        value_name = "STEP",
        requires = "parameter_scan",
        help_heading = "Your command"
    )]
    parameter_step_size: Option<String>,
    /// Shell that runs the variants: none, default (/bin/sh) or a command line (default: none, unless
    /// one of them needs it)
    #[arg(
        short = 'S',
        long,
        value_name = "SHELL",
        requires = "variants",
        help_heading = "Your command"
    )]
    shell: Option<String>,
    /// Copies side by side: auto (one per CPU of the arm) or a list; the value is then runs/s
    #[arg(long, value_name = "auto|LIST", value_parser = Counts::parse, help_heading = "Your command")]
    copies: Option<Counts>,
    /// A number from the output: NAME[:UNIT[:higher|lower]]=REGEX (its last match; after (?m) ^ and $
    /// are of lines) or =/JSON/POINTER; repeatable, the first is compared (without UNIT of a cost,
    /// higher is better)
    #[arg(long = "metric", value_name = "METRIC", value_parser = metric::parse, help_heading = "Your command")]
    metrics: Vec<MetricSpec>,
    /// Which metric is compared: its name, or 'time' for wall time
    #[arg(long, value_name = "NAME", help_heading = "Your command")]
    primary: Option<String>,
    /// Start this server (a shell line) for every run; the command is then its load
    #[arg(long, value_name = "CMD", help_heading = "Your command")]
    server: Option<String>,
    /// Shell line that succeeds once the server can take load
    #[arg(long, value_name = "CMD", requires = "server", help_heading = "Your command")]
    ready: Option<String>,
    /// How long the server may take to become ready
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration, help_heading = "Your command")]
    ready_timeout: Duration,
    /// A shell line that offers the server {rate} requests a second
    #[arg(long, value_name = "CMD", requires = "load_curve", conflicts_with_all = ["command", "variants", "workloads"], help_heading = "A service under load")]
    load: Option<String>,
    /// File of latencies that the load writes, one a line, like 1.2ms (default: read from its output,
    /// by --metric: mean, p50, p95, p99, p99.9 and throughput)
    #[arg(
        long,
        value_name = "FILE",
        requires = "load_curve",
        conflicts_with = "workloads",
        help_heading = "A service under load"
    )]
    latencies: Option<String>,
    /// Unit of numbers without one in that file: ns, us, ms or s
    #[arg(
        long,
        value_name = "UNIT",
        default_value = "s",
        requires = "latencies",
        help_heading = "A service under load"
    )]
    latency_unit: String,
    /// Offer these rates in every arm, as shares of what the reference carries, or a second: 10%..90%
    /// (five of them), 10%..90%:9, 30%,60%,90%, 500/s..2500/s, or auto (10 to 150 %)
    #[arg(long, value_name = "RATES", value_parser = load::curve, conflicts_with_all = ["variants", "protocol"], help_heading = "A service under load")]
    load_curve: Option<load::Curve>,
    /// Compare the highest rate that keeps this, like p99=10ms; p50, p95, p99 or p99.9
    #[arg(long, value_name = "OBJECTIVE", value_parser = Objective::parse, requires = "load_curve", help_heading = "A service under load")]
    slo: Option<Objective>,
    /// Shell line run once, before everything
    #[arg(long, value_name = "CMD", help_heading = "Your command")]
    setup: Option<String>,
    /// Shell line run before every run, untimed
    #[arg(long, value_name = "CMD", help_heading = "Your command")]
    prepare: Option<String>,
    /// Shell line run after every run, untimed
    #[arg(long, visible_alias = "conclude", value_name = "CMD", help_heading = "Your command")]
    cleanup: Option<String>,
    /// Repeat the command within a run until it has taken this long
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_duration, help_heading = "Your command")]
    min_time: Duration,
    /// End a run (its whole process group) after this long; it is then a failed cell
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_duration, help_heading = "Your command")]
    timeout: Duration,

    /// Longest time the study may take (default: 30m); not with --blocks, --quick, --protocol
    #[arg(long, conflicts_with_all = ["blocks", "quick", "protocol"], value_name = "TIME", value_parser = parse_duration, help_heading = "How long and how sure")]
    budget: Option<Duration>,
    /// Exactly this many blocks, whatever they take
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "How long and how sure")]
    blocks: Option<u32>,
    /// When it ends: width, for how much; or verdict, for which is better, as soon as that is sure
    #[arg(long, value_name = "RULE", default_value = "width", value_parser = ["width", "verdict"], help_heading = "How long and how sure")]
    until: String,
    #[arg(long, help = format!("Half-width of a {} that is narrow enough", confidence::interval()), value_name = "SHARE", default_value = "1%", value_parser = share, help_heading = "How long and how sure")]
    target: f64,
    /// Differences smaller than this are not material
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = share, help_heading = "How long and how sure")]
    margin: f64,
    /// A screening of 3 blocks, with short samples and without a verdict; with --until verdict as
    /// many blocks as that takes
    #[arg(long, conflicts_with_all = ["blocks", "protocol"], help_heading = "How long and how sure")]
    quick: bool,
    /// Follow the protocol of the article of 2003 instead, with its sizes and run counts
    #[arg(long, value_parser = ["2003"], conflicts_with = "blocks", help_heading = "How long and how sure")]
    protocol: Option<String>,
    /// Runs of every row within one visit to an arm; they count as one (default: 1; 3 with boots)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "How long and how sure")]
    repeats: Option<u32>,
    /// How long the machine rests after SMT was switched, or after a boot
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = settle, help_heading = "How long and how sure")]
    settle: Duration,
    /// Do not run every row once, unanalysed, before the first block, nor one after every switch
    #[arg(long, help_heading = "How long and how sure")]
    no_warmup: bool,
    /// Run every row so often, unanalysed, before the first block (default: 1)
    #[arg(short = 'w', long, value_name = "N", conflicts_with = "no_warmup", value_parser = clap::value_parser!(u32).range(0..=1000), help_heading = "How long and how sure")]
    warmup: Option<u32>,
    /// Set a run aside if the hypervisor took more of the measured CPUs' time; 100% never does
    #[arg(long, value_name = "SHARE", default_value_t = Limit(DISTURBED_SHARE_MAX), value_parser = limit, help_heading = "How long and how sure")]
    steal_limit: Limit,
    /// Set a run aside if other processes used more of the measured CPUs' time; 100% never does
    #[arg(long, value_name = "SHARE", default_value_t = Limit(DISTURBED_SHARE_MAX), value_parser = limit, help_heading = "How long and how sure")]
    others_limit: Limit,
    /// Before the first block, wait until others leave the CPUs, at most so long (without TIME: 1h)
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "1h", value_parser = parse_duration, help_heading = "How long and how sure")]
    pub(crate) wait_quiet: Option<Duration>,
    /// Seed of every random choice (default: drawn, and stored with the plan)
    #[arg(long, help_heading = "How long and how sure")]
    seed: Option<u64>,

    /// Folder for plan, journal and report (default: study-DATE-TIME)
    #[arg(long, value_name = "DIR", conflicts_with = "resume", help_heading = "Results")]
    pub(crate) out: Option<PathBuf>,
    /// Go on with the study in this folder, by its own plan; only --budget can be given anew
    #[arg(long, value_name = "DIR", conflicts_with_all = ["workloads", "command", "arms",
        "placement", "machine", "fit", "variants", "aa", "split", "parameter_list", "parameter_scan",
        "shell", "warmup", "load", "latencies", "load_curve", "slo", "threads", "copies", "metrics",
        "primary", "server", "ready",
        "ready_timeout", "setup", "prepare", "cleanup", "min_time", "timeout", "blocks", "target",
        "until", "margin", "quick", "protocol", "no_warmup", "steal_limit", "others_limit", "seed",
        "dry_run", "switch", "repeats", "settle"], help_heading = "Results")]
    pub(crate) resume: Option<PathBuf>,
    /// Read options from this file, as --write writes it; those beside it replace or add to its own
    #[arg(
        short = 'f',
        long,
        value_name = "FILE",
        conflicts_with = "resume",
        help_heading = "Results"
    )]
    pub(crate) file: Option<PathBuf>,
    /// Write these options to a file for -f, and run nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["resume", "dry_run"], help_heading = "Results")]
    pub(crate) write: Option<PathBuf>,
    /// This boot is the one of that name, where only you can know
    #[arg(long, value_name = "NAME", help_heading = "Results")]
    pub(crate) boot: Option<String>,
    /// Switch SMT without asking
    #[arg(long, help_heading = "Results")]
    pub(crate) yes: bool,
    /// Print what would be done, and do nothing
    #[arg(long, help_heading = "Results")]
    pub(crate) dry_run: bool,
    /// Exit with status 1 if an arm's verdict is one of these: hurts (or slower, worse), helps (or
    /// faster, better), inconclusive
    #[arg(long, value_name = "VERDICT", value_delimiter = ',', value_parser = verdict, help_heading = "Results")]
    pub(crate) fail_on: Vec<Verdict>,
    /// Print all of it, not the answer in seven lines
    #[arg(long, conflicts_with = "json", help_heading = "Results")]
    pub(crate) full: bool,
    /// Print the summary as JSON
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
}

/// A study's options that were stored, or stand in another command.
#[derive(clap::Parser)]
#[command(no_binary_name = false, about = None, long_about = None)]
pub(crate) struct Line {
    #[command(flatten)]
    args: Args,
}

impl Line {
    /// Reads them; the first word is what a message calls them.
    pub(crate) fn read(words: Vec<String>) -> Result<Args> {
        let line = <Self as clap::Parser>::try_parse_from(words);
        Ok(line.map_err(|error| usage(Self::words_of(error)))?.args)
    }

    pub(super) fn into_args(self) -> Args {
        self.args
    }

    /// What is wrong with options, without the word that says that it is an error.
    pub(crate) fn words_of(error: clap::Error) -> String {
        let text = slip::in_words(error).render().to_string();
        text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()
    }
}

const BUDGET_DEFAULT: Duration = Duration::from_secs(30 * 60);

impl Args {
    pub(crate) fn budget_given_s(&self) -> Option<f64> {
        self.budget.map(|budget| budget.as_secs_f64())
    }

    pub(crate) fn is_bare(&self) -> bool {
        self.workloads.is_empty()
            && self.command.is_empty()
            && self.load.is_none()
            && self.variants.is_empty()
            && self.resume.is_none()
            && self.file.is_none()
    }

    pub(crate) fn is_simulated(&self) -> bool {
        self.machine != HOST
    }

    /// Refuses options that mean nothing on the machine that is asked for.
    fn refuse_what_a_simulation_has_not(&self) -> Result<()> {
        let why = if !self.is_simulated() {
            match self.fit {
                Some(_) => "--fit is for a simulated machine; name it with --machine",
                None => return Ok(()),
            }
        } else if self.budget.is_some() {
            "--budget: a simulated study has none, or its result would hang on how fast this host is; \
             give --blocks or --quick"
        } else if self.wait_quiet.is_some() {
            "--wait-quiet: others do not disturb a simulated machine"
        } else if self.boot.is_some() {
            "--boot is for boots of a host; a simulated machine is booted as its arms say"
        } else if self.aa {
            "--aa: a simulated machine runs equal arms alike, so there is nothing to control"
        } else if self.until() == Rule::Verdict {
            "--until verdict needs a measurement; a simulated study has predictions"
        } else if self.load_curve.is_some() {
            "--load-curve: no simulated machine has a model of a service"
        } else if !self.fail_on.is_empty() {
            "--fail-on asks for verdicts, which need a measurement; a simulated study has predictions"
        } else {
            return Ok(());
        };
        Err(usage(why))
    }

    /// Refuses options that a fleet sets itself, or that mean nothing in one. Simulated machines may
    /// be switched by anybody.
    #[cfg(feature = "fleet")]
    pub(crate) fn refuse_what_a_fleet_has_not(
        &self,
        no_switch: Option<&str>,
        is_simulated: bool,
    ) -> Result<()> {
        let has_off = self.arms.iter().any(|arm| arm.state == ArmState::Off);
        let switches = !is_simulated && (self.switch || has_off);
        let boots = self.arms.iter().any(|arm| matches!(arm.state, ArmState::Boot(_)));
        let why = if self.out.is_some() || self.resume.is_some() {
            "--out and --resume: a fleet has folders of its own for its studies"
        } else if self.seed.is_some() {
            "--seed: every machine draws from the fleet's; give --seed to fleet plan"
        } else if self.dry_run || self.json {
            "--dry-run and --json are for one study; try it on one machine first"
        } else if self.protocol.is_some() {
            "--protocol 2003 has no intervals, so machines could not be put together"
        } else if self.until() == Rule::Verdict {
            "--until verdict stops where an effect looks large, so machines could not be put together"
        } else if self.load_curve.is_some() {
            "--load-curve: shares of saturation differ from machine to machine; study them one by one"
        } else if !self.variants.is_empty() || self.aa || self.split.is_some() {
            "--variant, --split and --aa: a fleet compares arms of all CPUs; ask machine by machine"
        } else if self.file.is_some() || self.write.is_some() {
            "--file and --write: a fleet's plan holds the options itself; write them out"
        } else if boots || self.boot.is_some() {
            "a fleet does not boot its machines; compare boots machine by machine and add the \
             studies by fleet bundle"
        } else if let Some(why) = no_switch.filter(|_| switches) {
            why
        } else if switches && !self.yes {
            "nobody is asked on the machines of a fleet; if SMT may be switched there, say --yes \
             with the study's options"
        } else {
            return Ok(());
        };
        Err(usage(why))
    }

    pub(crate) fn request(&self) -> Result<Request> {
        self.refuse_what_a_simulation_has_not()?;
        let protocol = match (&self.protocol, self.quick, self.blocks) {
            (Some(_), ..) => Protocol::Article2003,
            (None, true, _) => Protocol::Quick,
            (None, false, Some(_)) => Protocol::Fixed,
            (None, false, None) => Protocol::Modern,
        };
        Ok(Request {
            subject: self.subject()?,
            arms: self.arms()?,
            placements: self.placement.clone(),
            seed: match self.seed {
                Some(seed) => seed,
                None => drawn_seed()?,
            },
            protocol,
            blocks: self.blocks,
            until: self.until(),
            target: self.target,
            margin: self.margin,
            budget_s: self.budget.unwrap_or(BUDGET_DEFAULT).as_secs_f64(),
            warmup: !self.no_warmup && self.warmup != Some(0),
            warmup_runs: self.warmup.filter(|runs| *runs > 0),
            control: self.aa,
            split: self.split.is_some(),
            settle_s: self.settle.as_secs_f64(),
            repeats: self.repeats,
            steal_share_max: self.steal_limit.0,
            others_share_max: self.others_limit.0,
            load: self.load_curve.clone().map(|curve| curve.request(self.slo)),
        })
    }

    fn until(&self) -> Rule {
        if self.until == "verdict" { Rule::Verdict } else { Rule::Width }
    }

    fn arms(&self) -> Result<Vec<ArmSpec>> {
        if self.switch {
            let typed = |state: ArmState| ArmSpec {
                label: state.to_string(),
                state,
                scheduler: KERNEL.to_owned(),
            };
            return Ok(vec![typed(ArmState::Off), typed(ArmState::On)]);
        }
        let has_boots = self.arms.iter().any(|arm| matches!(arm.state, ArmState::Boot(_)));
        if has_boots && self.budget.is_some() {
            let why =
                "--budget cannot be kept where boots are compared; give --blocks and --repeats";
            return Err(usage(why));
        }
        if !has_boots && self.boot.is_some() {
            let why = "--boot is for a study that compares boots, like --arm boot:a --arm boot:b";
            return Err(usage(why));
        }
        Ok(self.arms.clone())
    }

    fn subject(&self) -> Result<Subject> {
        let (lists, scans) = (&self.parameter_list, &self.parameter_scan);
        let mut parameters =
            variants::parameters(lists, scans, self.parameter_step_size.as_deref())?;
        let shell = self.shell.as_deref();
        let variants = variants::resolve(&self.variants, shell, &mut parameters)?;
        if self.command.is_empty() && self.load.is_none() && variants.is_empty() {
            let has_own = self.threads.is_some() || self.copies.is_some();
            if has_own || !self.metrics.is_empty() || !parameters.is_empty() {
                let why = "--threads, --copies, --metric, -L and -P are for your own command; give it \
                           after --";
                return Err(usage(why));
            }
            let mut workloads = self.workloads.clone();
            if workloads.is_empty() {
                workloads.push(WorkloadSpec { name: "chat".to_owned(), params: [].into() });
            }
            return Ok(Subject::Workloads(workloads));
        }
        if !self.workloads.is_empty() {
            let why = "a study is of workloads or of your own command (after --), not of both";
            return Err(usage(why));
        }
        let spec = self.command_spec(variants.first())?;
        let shares = self.load_curve.as_ref().is_some_and(load::Curve::has_shares);
        let percentile = self.slo.map(Objective::percentile);
        coretwin_workloads::command::check_load(&spec, shares, percentile).map_err(usage)?;
        for argv in [&spec.argv].into_iter().chain(variants.iter().map(|one| &one.argv)) {
            let of_one = CommandSpec { argv: argv.clone(), ..spec.clone() };
            coretwin_workloads::command::check(&of_one).map_err(usage)?;
        }
        Ok(Subject::Command {
            spec: Box::new(spec),
            threads: self.threads.clone().unwrap_or(Counts::Default),
            copies: self.copies.clone().unwrap_or(Counts::Default),
            variants,
            parameters,
        })
    }

    fn command_spec(&self, first: Option<&Variant>) -> Result<CommandSpec> {
        let mut metrics = self.metrics.clone();
        match self.primary.as_deref() {
            Some("time") => {}
            Some(name) => {
                let names: Vec<&str> = self.metrics.iter().map(|m| m.name.as_str()).collect();
                let found = metrics.iter_mut().find(|metric| metric.name == name);
                found.ok_or_else(|| usage(unknown("metric", name, &names)))?.primary = true;
            }
            None => {
                if let Some(first) = metrics.first_mut() {
                    first.primary = true;
                }
            }
        }
        let folder = crate::host::working_folder()?;
        Ok(CommandSpec {
            argv: match (first, &self.load) {
                (Some(variant), _) => variant.argv.clone(),
                (None, Some(line)) => vec!["/bin/sh".into(), "-c".into(), line.clone()],
                (None, None) => self.command.clone(),
            },
            metrics,
            server: self.server.clone().map(|command| ServerSpec {
                command,
                ready: self.ready.clone(),
                ready_timeout_s: self.ready_timeout.as_secs_f64(),
            }),
            setup: self.setup.clone(),
            prepare: self.prepare.clone(),
            cleanup: self.cleanup.clone(),
            min_time_s: self.min_time.as_secs_f64(),
            timeout_s: self.timeout.as_secs_f64(),
            folder,
            load: self.load_curve.is_some().then(|| {
                Box::new(LoadSpec {
                    latencies: self.latencies.clone(),
                    unit: self.latency_unit.clone(),
                    rate: None,
                })
            }),
        })
    }
}

fn verdict(text: &str) -> Result<Verdict, String> {
    match text {
        "hurts" | "slower" | "worse" => Ok(Verdict::Hurts),
        "helps" | "faster" | "better" => Ok(Verdict::Helps),
        "inconclusive" => Ok(Verdict::Inconclusive),
        _ => Err(format!(
            "'{text}' is not hurts (slower, worse), helps (faster, better) or inconclusive"
        )),
    }
}

/// Reads a time to rest: at most a day, which is a typing error already.
fn settle(text: &str) -> Result<Duration, String> {
    let settle = parse_duration(text).map_err(|bad| bad.to_string())?;
    if settle.as_secs() <= 86_400 { Ok(settle) } else { Err("more than a day".to_owned()) }
}
