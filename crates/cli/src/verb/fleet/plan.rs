//! `coretwin fleet plan`: which machines, what is measured, who runs it.

use super::sweeps;
use crate::exit::{DONE, Usage};
use crate::options;
use crate::out;
use crate::verb::study::args::{self as study_args, Line};
use anyhow::{Context, Result};
use coretwin_base::caps;
use coretwin_base::fleet::plan::{
    EngineOptions, FleetSubject, KubernetesOptions, SlurmOptions, SlurmPlace, SshHost, SshOptions,
};
use coretwin_base::suggest::unknown;
use coretwin_base::units::parse_duration;
use coretwin_lab::fleet::plan::{
    FleetRequest, constraints, draw, nodes, ssh_hosts, ssh_options, time_limit,
};
use coretwin_lab::fleet::{self, ENGINES};
use coretwin_store::fleet_folder::FleetFolder;
use coretwin_workloads::{suites, table};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Options of the verb.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin fleet plan hosts --engine ssh --hosts hosts.txt -- study chat --quick
  coretwin fleet plan cluster --engine slurm --nodes 'n[01-16]' --time 2:00:00 \\
      -- study -- ./mycmd -t {threads}
  coretwin fleet plan types --engine slurm --constraint zen4=4,icelake=4 -- study lmbench
  coretwin fleet plan pods --engine kubernetes --image registry.example/coretwin --tasks 8 \\
      --cpus 16 -- study chat
  coretwin fleet plan grid --engine slurm --tasks 20 -- simulate sweep ablation
  coretwin fleet plan presets --engine ssh --hosts hosts.txt \\
      -- study chat --machine xeon-mp-foster,zen4-2x96 --blocks 8

hosts.txt has a host a line, [USER@]HOST[:PORT] and options of ssh. For Slurm the folder must be where
every node reaches it. Nothing is started: coretwin fleet run DIR does that.")]
pub(crate) struct Args {
    /// Folder of the new fleet
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Who runs it: ssh, slurm or kubernetes
    #[arg(long, value_parser = ENGINES.map(|(name, _)| name))]
    engine: String,
    /// What is run: study …, or simulate sweep …
    #[arg(last = true, required = true, value_name = "STUDY")]
    subject: Vec<String>,
    /// Number of tasks, where machines are not named
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    tasks: Option<u32>,
    /// The program on the machines [default: this one; with ssh: coretwin, in PATH there]
    #[arg(long, value_name = "PATH")]
    program: Option<String>,
    /// Seed of every random choice [default: drawn, and stored with the plan]
    #[arg(long)]
    seed: Option<u64>,

    /// File with a host a line
    #[arg(long, value_name = "FILE", help_heading = "ssh")]
    hosts: Option<PathBuf>,
    /// Hosts side by side
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "ssh")]
    side_by_side: u32,
    /// An option for ssh, repeatable, like --ssh-option=-oUser=bench
    #[arg(
        long = "ssh-option",
        value_name = "OPTION",
        allow_hyphen_values = true,
        help_heading = "ssh"
    )]
    ssh_options: Vec<String>,
    /// Copy this machine's program to the hosts, and take it away when they are done
    #[arg(long, conflicts_with = "program", help_heading = "ssh")]
    install: bool,

    /// A task for each of these nodes, like n[01-16],gpu1
    #[arg(long, value_name = "NODES", help_heading = "Slurm")]
    nodes: Option<String>,
    /// So many tasks on nodes of each type, like zen4=4,icelake=4
    #[arg(long, value_name = "FEATURE=N,…", conflicts_with = "nodes", help_heading = "Slurm")]
    constraint: Option<String>,
    /// Time limit of a job, as Slurm reads it
    #[arg(long, value_name = "TIME", help_heading = "Slurm")]
    time: Option<String>,
    /// How long before the limit a study is told to stop and keep what it has
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = parse_duration, help_heading = "Slurm")]
    warn: Duration,
    /// What Slurm is told of SMT: multithread, or none
    #[arg(long, default_value = "multithread", value_parser = ["multithread", "none"], help_heading = "Slurm")]
    hint: String,
    /// An option for sbatch, repeatable, like --sbatch-option=--partition=long
    #[arg(
        long = "sbatch-option",
        value_name = "OPTION",
        allow_hyphen_values = true,
        help_heading = "Slurm"
    )]
    sbatch_options: Vec<String>,

    /// Image with the program
    #[arg(long, help_heading = "Kubernetes")]
    image: Option<String>,
    /// Namespace
    #[arg(long, help_heading = "Kubernetes")]
    namespace: Option<String>,
    /// Label that a node must have, as KEY=VALUE, repeatable
    #[arg(long = "node-label", value_name = "KEY=VALUE", help_heading = "Kubernetes")]
    node_labels: Vec<String>,
    /// CPUs of a pod: whole ones, so that they are its own
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=100_000), help_heading = "Kubernetes")]
    cpus: u32,
    /// Memory of a pod
    #[arg(long, default_value = "4Gi", help_heading = "Kubernetes")]
    memory: String,
    /// Keep the fleet's folder on this claim, which many nodes may write to [default: bundles come back
    /// in the pods' logs]
    #[arg(long, help_heading = "Kubernetes")]
    claim: Option<String>,
    /// Longest time of the whole Job
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Kubernetes")]
    deadline: Option<Duration>,
    /// Let pods switch SMT of their nodes; they are privileged then
    #[arg(long, help_heading = "Kubernetes")]
    allow_switch: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let (subject, machines) = subject(args)?;
    let (engine, names) = engine(args, machines.len())?;
    let default = match &engine {
        EngineOptions::Slurm(_) => {
            std::env::current_exe().context("no path of this program")?.display().to_string()
        }
        EngineOptions::Ssh(_) | EngineOptions::Kubernetes(_) => "coretwin".to_owned(),
    };
    let seed = match args.seed {
        Some(seed) => seed,
        None => options::drawn_seed()?,
    };
    let program = args.program.clone().unwrap_or(default);
    let request = FleetRequest { engine, names, machines, program, subject, seed };
    let mut plan = draw(request).map_err(Usage)?;
    let fleet = FleetFolder::create(&args.folder, &mut plan)?;
    for (name, text) in fleet::engine_of(&plan).files(&fleet, &plan)? {
        let path = fleet.write(&name, text.as_bytes())?;
        out::news(&format!("written: {}", path.display()));
    }
    if args.allow_switch {
        out::news("the pods are privileged and may switch SMT of their nodes, as you said");
    }
    out::text(&format!(
        "fleet {}: {} in {}\nrun it: coretwin fleet run {}\n",
        plan.short(),
        match plan.tasks.len() {
            1 => "1 task".to_owned(),
            tasks => format!("{tasks} tasks"),
        },
        args.folder.display(),
        args.folder.display()
    ))?;
    Ok(ExitCode::from(DONE))
}

/// What is run, and the simulated machines it is run on, if it is.
fn subject(args: &Args) -> Result<(FleetSubject, Vec<String>)> {
    match args.subject.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["study", ..] => {
            let (words, machines) = machines(&args.subject[1..]);
            let line: Vec<String> =
                std::iter::once("coretwin study".to_owned()).chain(words.iter().cloned()).collect();
            let study = Line::read(line)?;
            known_names(&study, &machines)?;
            let may_switch = args.engine != "kubernetes" || args.allow_switch;
            study.refuse_what_a_fleet_has_not(may_switch, !machines.is_empty())?;
            Ok((FleetSubject::Study(words), machines))
        }
        ["simulate", "sweep", name] => Ok((FleetSubject::Sweep(sweeps::texts(name)?), Vec::new())),
        _ => Err(Usage(
            "behind -- comes what is run: study with its options, or simulate sweep FILE"
                .to_owned(),
        )
        .into()),
    }
}

/// Refuses names that no machine of the fleet would know either.
fn known_names(study: &study_args::Args, machines: &[String]) -> Result<()> {
    for spec in &study.workloads {
        let is_suite = suites::find(&spec.name).is_some_and(|suite| suite.is_meant(spec));
        if !is_suite {
            table::resolve(spec).map_err(|error| Usage(error.to_string()))?;
        }
    }
    let known = sweeps::machines();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    match machines.iter().find(|machine| !known.contains(&machine.as_str())) {
        Some(machine) => Err(Usage(unknown("machine", machine, &known)).into()),
        None => Ok(()),
    }
}

/// Takes `--machine A,B` out of a study's options, for each task has one.
fn machines(words: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut kept, mut machines) = (Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let list = match word.strip_prefix("--machine") {
            Some("") => words.next().cloned(),
            Some(rest) => rest.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        match list {
            Some(list) => machines.extend(list.split(',').map(str::to_owned)),
            None => kept.push(word.clone()),
        }
        if word == "--" {
            kept.extend(words.by_ref().cloned());
        }
    }
    machines.retain(|machine| machine != coretwin_lab::host_machine::HOST);
    (kept, machines)
}

/// Who runs it, and the name of every task.
fn engine(args: &Args, machines: usize) -> Result<(EngineOptions, Vec<String>)> {
    let wanted = args.tasks.map(|tasks| tasks as usize).or(Some(machines).filter(|n| *n > 0));
    let numbered = |what: &str, or: &str| -> Result<Vec<String>> {
        let count = wanted.ok_or_else(|| Usage(format!("say how many machines: --tasks N{or}")))?;
        Ok((0..count).map(|number| format!("{what}-{number}")).collect())
    };
    match args.engine.as_str() {
        "ssh" => ssh(args, wanted),
        "slurm" => {
            let places: Vec<(String, SlurmPlace)> = match (&args.nodes, &args.constraint) {
                (Some(list), _) => {
                    let nodes = nodes(list).map_err(|why| Usage(format!("--nodes: {why}")))?;
                    nodes.into_iter().map(|n| (n.clone(), SlurmPlace::Node(n))).collect()
                }
                (_, Some(list)) => {
                    constraints(list).map_err(|why| Usage(format!("--constraint: {why}")))?
                }
                _ => numbered("any", ", or which: --nodes LIST, --constraint TYPE=N")?
                    .into_iter()
                    .map(|name| (name, SlurmPlace::Any))
                    .collect(),
            };
            let (names, places) = places.into_iter().unzip();
            leaves_time(args)?;
            if let Some(word) = args.sbatch_options.iter().find(|word| !word.starts_with('-')) {
                return Err(Usage(format!("--sbatch-option: '{word}' is no option")).into());
            }
            let options = SlurmOptions {
                places,
                time: args.time.clone(),
                warn_s: u32::try_from(args.warn.as_secs()).unwrap_or(u32::MAX),
                hint: Some(args.hint.clone()).filter(|hint| hint != "none"),
                options: args.sbatch_options.clone(),
            };
            Ok((EngineOptions::Slurm(options), names))
        }
        _ => {
            let image = args.image.clone().ok_or_else(|| {
                Usage("say which image has the program: --image IMAGE".to_owned())
            })?;
            for (option, text, what, is_good) in [
                ("--image", Some(&image), "an image", is_image as fn(&str) -> bool),
                ("--namespace", args.namespace.as_ref(), "a namespace", is_dns_label),
                ("--claim", args.claim.as_ref(), "a claim", is_dns_name),
            ] {
                if let Some(text) = text.filter(|text| !is_good(text)) {
                    return Err(Usage(format!("{option}: '{text}' is no name of {what}")).into());
                }
            }
            let label = |text: &String| {
                let (key, value) = text
                    .split_once('=')
                    .ok_or_else(|| Usage(format!("--node-label: '{text}' is not KEY=VALUE")))?;
                Ok((key.to_owned(), value.to_owned()))
            };
            let options = KubernetesOptions {
                image,
                namespace: args.namespace.clone(),
                node_selector: args.node_labels.iter().map(label).collect::<Result<_>>()?,
                cpus: args.cpus,
                memory: args.memory.clone(),
                claim: args.claim.clone(),
                deadline_s: args.deadline.map(|deadline| deadline.as_secs()),
                allow_switch: args.allow_switch,
            };
            Ok((EngineOptions::Kubernetes(options), numbered("pod", "")?))
        }
    }
}

/// A name as Kubernetes has it for namespaces (RFC 1123, a label).
fn is_dns_label(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=63).contains(&text.len())
        && text.bytes().all(|byte| plain(byte) || byte == b'-')
        && text.bytes().next().is_some_and(plain)
        && text.bytes().next_back().is_some_and(plain)
}

/// The same for claims: labels with points between them.
fn is_dns_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_label)
}

fn is_image(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/:@".contains(&byte))
}

/// Refuses a time limit that Slurm would not read, or that comes before its own warning.
fn leaves_time(args: &Args) -> Result<()> {
    let Some(text) = &args.time else { return Ok(()) };
    let limit = time_limit(text).map_err(Usage)?;
    let warn = args.warn.as_secs();
    match limit {
        Some(limit_s) if limit_s <= warn => Err(Usage(format!(
            "--time {text} is {limit_s} s, and --warn tells the study to stop {warn} s before its \
             end: nothing is left to measure in; give more --time, or a shorter --warn"
        ))
        .into()),
        _ => Ok(()),
    }
}

/// Hosts of a list. More tasks than hosts are shared out in turn.
fn ssh(args: &Args, wanted: Option<usize>) -> Result<(EngineOptions, Vec<String>)> {
    let file = args
        .hosts
        .as_ref()
        .ok_or_else(|| Usage("say which hosts: --hosts FILE, with a host a line".to_owned()))?;
    let text = std::fs::File::open(file)
        .and_then(|file| caps::HOSTS.text(file))
        .map_err(|error| Usage(format!("cannot read {}: {error}", file.display())))?;
    let listed = ssh_hosts(&text).map_err(|why| Usage(format!("{}: {why}", file.display())))?;
    let count = wanted.unwrap_or(listed.len());
    let hosts: Vec<_> = listed.iter().cycle().take(count).cloned().collect();
    let names = hosts.iter().map(SshHost::name).collect();
    ssh_options(&args.ssh_options).map_err(|why| Usage(format!("--ssh-option: {why}")))?;
    let options = SshOptions {
        hosts,
        side_by_side: args.side_by_side,
        options: args.ssh_options.clone(),
        install: args.install,
    };
    Ok((EngineOptions::Ssh(options), names))
}
