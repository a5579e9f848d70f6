//! `coretwin fleet plan`: which machines, what is measured, who runs it.

use super::sweeps;
use crate::exit::{DONE, usage};
use crate::options;
use crate::out;
use crate::verb::account;
use crate::verb::study::args::{self as study_args, Line};
use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use coretwin_base::fleet::plan::FleetSubject;
use coretwin_base::suggest::unknown;
use coretwin_lab::fleet::plan::draw;
use coretwin_lab::fleet::{ENGINES, Typed};
use coretwin_store::fleet_folder::FleetFolder;
use coretwin_workloads::{suites, table};
use std::path::{Path, PathBuf};

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
  coretwin fleet plan day --engine ssh --hosts hosts.txt -- account --for 24h

hosts.txt has a host a line, [USER@]HOST[:PORT] and options of ssh. For Slurm the folder must be where \
every node reaches it. Nothing is started: coretwin fleet run DIR does that.")]
pub(crate) struct Args {
    /// Folder of the new fleet
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[arg(long, help = who(), value_parser = PossibleValuesParser::new(engines()))]
    engine: String,
    /// What is run: study …, account --for TIME … (recorded), or simulate sweep …
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

    #[command(flatten)]
    options: Typed,
}

fn engines() -> Vec<&'static str> {
    ENGINES.iter().map(|engine| engine.name).collect()
}

fn who() -> String {
    let names = engines();
    let [others @ .., last] = &names[..] else { return String::new() };
    format!("Who runs it: {} or {last}", others.join(", "))
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let mut engine = args.options.engine(&args.engine)?;
    let (subject, machines) = subject(args, engine.no_switch())?;
    let wanted = args.tasks.map(|tasks| tasks as usize).or(Some(machines.len()).filter(|n| *n > 0));
    let names = engine.draw(wanted).map_err(usage)?;
    let seed = match args.seed {
        Some(seed) => seed,
        None => options::drawn_seed()?,
    };
    let program = match &args.program {
        Some(program) => program.clone(),
        None => engine.program().context("no path of this program")?,
    };
    let kept = engine.kept(&args.engine)?;
    let plan = draw(kept, names, &machines, program, subject, seed);
    let mut plan = plan.map_err(usage)?;
    let fleet = FleetFolder::create(&args.folder, &mut plan)?;
    for (name, text) in engine.files(&fleet, &plan)? {
        let path = fleet.write(&name, text.as_bytes())?;
        out::news(&format!("written: {}", path.display()));
    }
    if let Some(note) = engine.note() {
        out::news(note);
    }
    out::text(&format!(
        "fleet {}: {} in {}\nrun it: {}\n",
        plan.short(),
        match plan.tasks.len() {
            1 => "1 task".to_owned(),
            tasks => format!("{tasks} tasks"),
        },
        args.folder.display(),
        out::command("fleet run", &args.folder)
    ))?;
    Ok(DONE)
}

/// What is run, and the simulated machines it is run on, if it is.
fn subject(args: &Args, no_switch: Option<&str>) -> Result<(FleetSubject, Vec<String>)> {
    match args.subject.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["study", ..] => {
            let (words, machines) = machines(&args.subject[1..]);
            let line: Vec<String> =
                std::iter::once("coretwin study".to_owned()).chain(words.iter().cloned()).collect();
            let study = Line::read(line)?;
            known_names(&study, &machines)?;
            study.refuse_what_a_fleet_has_not(no_switch, !machines.is_empty())?;
            Ok((FleetSubject::Study(words), machines))
        }
        ["account", ..] => {
            let words = &args.subject[1..];
            account::recorder(words, Path::new("day.rec"))?;
            Ok((FleetSubject::Record(words.to_vec()), Vec::new()))
        }
        ["simulate", "sweep", name] => Ok((FleetSubject::Sweep(sweeps::texts(name)?), Vec::new())),
        _ => Err(usage(
            "behind -- comes what is run: study or account with options, or simulate sweep FILE",
        )),
    }
}

/// Refuses names that no machine of the fleet would know either.
fn known_names(study: &study_args::Args, machines: &[String]) -> Result<()> {
    for spec in &study.workloads {
        let is_suite = suites::find(&spec.name).is_some_and(|suite| suite.is_meant(spec));
        if !is_suite {
            table::resolve(spec).map_err(usage)?;
        }
    }
    let known = sweeps::machines();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    match machines.iter().find(|machine| !known.contains(&machine.as_str())) {
        Some(machine) => Err(usage(unknown("machine", machine, &known))),
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
