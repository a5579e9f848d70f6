//! `coretwin survey`: a machine that nobody has measured yet, in one bundle.

mod contents;

use crate::exit::{CELLS_FAILED, DONE, INTERRUPTED, USAGE, is_broken_pipe, meaning, status, usage};
use crate::verb::study::args::Line;
use crate::verb::{cputime, probe, study};
use crate::{consent, host, options, out, resuming, signals};
use anyhow::{Context, Result};
use clap::Parser;
use contents::Contents;
use coretwin_base::fleet::survey::{Survey, SurveyCheck, SurveyStep};
use coretwin_base::machine::environment::folded;
use coretwin_base::machine::topology::Topology;
use coretwin_base::schema::SCHEMA;
use coretwin_base::units::{human_seconds, parse_duration};
use coretwin_host::environment;
use coretwin_host::root::Root;
use coretwin_lab::fleet::survey::{self, Private};
use coretwin_lab::launcher::worker_path;
use coretwin_lab::machine::Stop;
use coretwin_lab::probe::{Options, Request};
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin survey                    measures, shows what it would write, and asks
  coretwin survey --yes --budget 3m  in less time, with wider intervals
  coretwin survey --pack DIR         shows again what DIR's survey measured, and asks
  coretwin fleet report *.tar.gz     what surveys of several machines say together

It takes topology, microcode, clock and mitigations, then runs probe, cputime, and a study of chat \
and tbench by affinity. It needs no root and changes nothing. Host name, users, paths, boot id and \
kernel command line are left out of the bundle. Ctrl-C ends it and keeps what was measured.")]
pub(crate) struct Args {
    /// Longest time it may take; below 75s it takes about 75s
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_duration)]
    budget: Duration,
    /// Folder for the results and the bundle (default: survey-DATE-TIME)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the bundle without asking
    #[arg(long)]
    yes: bool,
    /// Measure nothing: write the bundle of a survey that was made without one
    #[arg(long, value_name = "DIR", conflicts_with_all = ["budget", "out"])]
    pack: Option<PathBuf>,
}

/// Rows of the study: the article's two programs, at a size that every machine can run.
const ROWS: [&str; 3] = ["chat:rooms=10", "chat:rooms=20", "tbench:seconds=2"];
/// What three blocks of all rows take on two CPUs, in seconds; with less left the first row must do.
const QUICK_S: f64 = 140.0;
const CPUTIME_FOLDER: &str = "cputime";
const STUDY_FOLDER: &str = "study";
/// What the shortest survey takes on a busy machine, in seconds: three blocks of chat and little else.
const LEAST_S: f64 = 75.0;
/// Longest time of the probe, as a share of the budget.
const PROBE_SHARE: f64 = 0.1;
/// Share of what is then left that `cputime` gets.
const CPUTIME_SHARE: f64 = 0.3;
/// Kept for the bundle and the end of a run, in seconds.
const SPARE_S: f64 = 5.0;

/// The options of `cputime`, as they are typed there.
#[derive(clap::Parser)]
struct CputimeLine {
    #[command(flatten)]
    args: cputime::Args,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    if !args.yes && !std::io::stdin().is_terminal() {
        let why = "what is in a bundle is shown before it is written, and there is no terminal to \
                   ask at; give --yes";
        return Err(usage(why));
    }
    let root = Root::system();
    if let Some(folder) = &args.pack {
        let contents = Contents::again(folder)?;
        offer(&contents, args.yes)?;
        return Ok(DONE);
    }
    worker_path().map_err(coretwin_lab::Error::NotPossible)?;
    let folder = args.out.clone().unwrap_or_else(|| resuming::new_folder("survey"));
    let topology = host::topology(&root)?;
    if folder.exists() {
        return Err(usage(format!(
            "{} is there already; name another folder by --out, or write that one's bundle: {}",
            folder.display(),
            out::command("survey --pack", &folder)
        )));
    }
    fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    out::news(&format!(
        "This takes {}; {}. Nothing of the machine is changed.",
        match args.budget.as_secs_f64() {
            budget_s if budget_s < LEAST_S =>
                format!("about {}, its shortest", human_seconds(LEAST_S)),
            budget_s => format!("at most {}", human_seconds(budget_s)),
        },
        out::results_go_to(&folder, None)
    ));
    let stop = signals::stop_flag()?;
    let budget_s = args.budget.as_secs_f64();
    let mut kit = Kit { folder: &folder, stop, budget_s, started: Instant::now(), steps: vec![] };
    let survey = kit.measure(&root, &topology)?;
    let private = Private::of(&root, &|name| std::env::var(name).ok());
    let survey = private.survey(survey);
    let machine = survey::machine(&root, options::drawn_seed()?);
    offer(&Contents::gather(&folder, survey, machine, &private)?, args.yes)?;
    Ok(match (kit.stop.raised(), kit.steps.iter().all(|step| step.result == DONE_WORD)) {
        (true, _) => INTERRUPTED,
        (_, true) => DONE,
        _ => CELLS_FAILED,
    })
}

/// Shows what the bundle would have, and writes it if that is wanted.
fn offer(contents: &Contents, yes: bool) -> Result<()> {
    let shown = out::text(&contents.shown(out::page(100)));
    if !yes {
        // Nobody is asked about what they have not seen.
        shown?;
    }
    let ask = || {
        let question = "Write the bundle? [y/N] ";
        consent::ask_word(question, &mut std::io::stdin().lock(), &["y", "Y", "yes"])
    };
    if !yes && !ask()? {
        let folder = contents.survey_folder();
        out::news(&format!(
            "no bundle was written; what was measured is in {}, and this writes it: {}",
            folder.display(),
            out::command("survey --pack", folder)
        ));
        return Ok(());
    }
    let path = contents.write()?;
    let bytes = fs::metadata(&path).map_or(0, |file| file.len());
    let told = format!("bundle: {} ({} KB)\n", path.display(), bytes.div_ceil(1000));
    // It is there, whether anybody reads this or not.
    if out::text(&told).is_err() {
        out::news(told.trim_end());
    }
    Ok(())
}

const DONE_WORD: &str = "done";

struct Kit<'a> {
    folder: &'a Path,
    stop: Stop,
    budget_s: f64,
    started: Instant,
    steps: Vec<SurveyStep>,
}

impl Kit<'_> {
    fn measure(&mut self, root: &Root, topology: &Topology) -> Result<Survey> {
        let doctor = doctor(root);
        let probe = self.step("probe", |kit| {
            let budget_s = (kit.budget_s * PROBE_SHARE).max(1.0);
            let cpus = topology.allowed.clone();
            let options = Options { cpus, budget_s, caches: true, seed: 1 };
            probe::probe(root, topology, &Request { options, exclusive: false }).map(|it| (it, 0))
        });
        self.step("cputime", |kit| {
            let seconds = (kit.left_s() - SPARE_S) * CPUTIME_SHARE;
            let mut words = words("cputime", &kit.folder.join(CPUTIME_FOLDER), seconds);
            // As many blocks as can be: what one busy sibling costs is the question.
            words.extend(["--spinners", "0,1"].map(str::to_owned));
            let line = CputimeLine::try_parse_from(words);
            let line = line.map_err(|error| usage(Line::words_of(error)))?;
            Ok(((), cputime::run(&line.args)?))
        });
        self.step("study of chat and tbench", |kit| {
            let folder = kit.folder.join(STUDY_FOLDER);
            let mut words = words("study", &folder, kit.left_s() - SPARE_S);
            words.extend(ROWS.map(str::to_owned));
            let error = match study::run(&Line::read(words.clone())?) {
                Ok(ended) => return Ok(((), ended)),
                Err(error) => error,
            };
            if kit.stop.raised() || is_broken_pipe(&error) {
                return Err(error);
            }
            // Three blocks say more than nothing.
            let rows = if kit.left_s() < QUICK_S { &ROWS[..1] } else { &ROWS[..] };
            let why = match status(&error) {
                USAGE => "the time left is too short for a verdict".to_owned(),
                _ => format!("{error:#}"),
            };
            let rows_named = rows.join(", ");
            out::news(&format!("{why}; three blocks of {rows_named} instead, in the same folder"));
            fs::remove_dir_all(&folder)?;
            words.drain(3..5);
            words.truncate(words.len() - (ROWS.len() - rows.len()));
            words.push("--quick".to_owned());
            Ok(((), study::run(&Line::read(words)?)?))
        });
        Ok(Survey {
            schema: SCHEMA,
            coretwin: env!("CARGO_PKG_VERSION").to_owned(),
            origin: topology.origin(),
            steps: self.steps.clone(),
            facts: folded(&environment::facts(root, topology)),
            topology: topology.clone(),
            probe,
            doctor,
        })
    }

    fn left_s(&self) -> f64 {
        (self.budget_s - self.started.elapsed().as_secs_f64()).max(SPARE_S + 1.0)
    }

    /// One part, unless it was told to stop. What goes wrong with it is told, and the next goes on.
    fn step<T>(&mut self, name: &str, part: impl FnOnce(&Self) -> Result<(T, u8)>) -> Option<T> {
        let began = Instant::now();
        let (value, result) = if self.stop.raised() {
            (None, "interrupted before it began".to_owned())
        } else {
            let number = self.steps.len() + 1;
            let left = match self.budget_s < LEAST_S {
                true => String::new(),
                false => format!("; {} left at most", human_seconds(self.left_s())),
            };
            // What it advises is then known for the options of that verb.
            out::news(&format!("step {number} of 3: coretwin {name}{left}"));
            match part(self) {
                Ok((value, DONE)) => (Some(value), DONE_WORD.to_owned()),
                Ok((value, INTERRUPTED)) => (Some(value), "interrupted".to_owned()),
                Ok((value, status)) => (Some(value), meaning(status).to_owned()),
                // What it measured is in its folder, and how it ended is not known.
                Err(error) if is_broken_pipe(&error) => {
                    (None, format!("its answer was not printed: {error:#}"))
                }
                Err(error) => {
                    out::news(&format!("{name}: {error:#}"));
                    (None, format!("{error:#}"))
                }
            }
        };
        let seconds = began.elapsed().as_secs_f64();
        self.steps.push(SurveyStep { name: name.to_owned(), result, seconds });
        value
    }
}

fn words(verb: &str, folder: &Path, seconds: f64) -> Vec<String> {
    let budget = format!("{:.0}s", seconds.max(1.0));
    let folder = folder.display().to_string();
    let first = format!("coretwin {verb}");
    vec![first, "--out".to_owned(), folder, "--budget".to_owned(), budget]
}

#[cfg(feature = "sched")]
fn doctor(root: &Root) -> Vec<SurveyCheck> {
    use coretwin_host::sched_ext::doctor::Level;
    let level = |level| match level {
        Level::Ok => "ok",
        Level::Mind => "mind",
        Level::Blocks => "blocks",
    };
    let checks = super::sched::doctor::checks(root).into_iter();
    let check = |it: coretwin_host::sched_ext::doctor::Check| SurveyCheck {
        name: it.name.to_owned(),
        level: level(it.level).to_owned(),
        found: it.found,
    };
    checks.map(check).collect()
}

#[cfg(not(feature = "sched"))]
fn doctor(_: &Root) -> Vec<SurveyCheck> {
    Vec::new()
}
