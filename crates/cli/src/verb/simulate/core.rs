//! `coretwin simulate core`: threads on one simulated SMT core.

use super::{is_file, text_of};
use crate::exit::{DONE, usage};
use crate::options::named;
use crate::out;
use anyhow::{Context, Result};
use coretwin_base::origin::Origin;
use coretwin_base::schema::SCHEMA;
use coretwin_base::simulation::core_run::{
    CoreAccuracy, CoreEnhancement, CoreNote, CorePublished, CoreSievePages,
};
use coretwin_base::suggest;
use coretwin_lab::simulated_core::{self, Cache, Request};
use coretwin_report::topology::beside;
use coretwin_sim::core::experiments::published;
use coretwin_sim::core::length::Length;
use coretwin_sim::core::profile::{self, Profile};
use coretwin_sim::core::{Options, Preset, preset};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::PathBuf;

/// The processor of the article, on which its questions are asked.
const ARTICLE_PRESET: &str = "xeon-mp-foster";

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin simulate core --preset skylake-sp --thread gzip --thread perl-loop
  coretwin simulate core --preset xeon-mp-foster --thread spin --thread spin-pause --svg stack.svg
  coretwin simulate core --preset zen4 --thread gzip --thread gzip --seeds 10 --json
  coretwin simulate core --preset golden-cove --matrix
  coretwin simulate core --preset ./mine.toml --thread ./mine-work.toml
  coretwin simulate core --experiment sieve-pages
  coretwin simulate core --experiment note
  coretwin simulate core --experiment published
  coretwin simulate core --list

Speeds are uops (micro-operations) per cycle. A slowdown is a thread's time beside its siblings over \
its time alone on the same core, siblings halted. Equal seeds give equal results everywhere.")]
pub(crate) struct Args {
    /// The processor: a name of --list, or a file
    #[arg(long, value_name = "PRESET|FILE", required_unless_present_any = ["list", "experiment"])]
    preset: Option<String>,
    /// What a hardware thread does: a profile of --list, or a file; once for each thread
    #[arg(long = "thread", value_name = "PROFILE|FILE")]
    threads: Vec<String>,
    /// Every pair of profiles: those given with --thread, or twelve of the built-in ones
    #[arg(long)]
    matrix: bool,
    /// Seed of page maps and random streams
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run so many seeds, and show the spread of the results
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000),
          conflicts_with_all = ["matrix", "experiment"])]
    seeds: u32,
    /// Uops each thread retires at least while measured [default: those of the slowest thread's 1.5
    /// million cycles, 20,000 to 500,000, and on until each has done a round of its work and its speed is
    /// known to 1 %]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1000..=1_000_000_000))]
    uops: Option<u64>,
    /// Uops each thread retires before measurement begins [default: a fifth of --uops, or those of the
    /// slowest thread's 4 million cycles, up to 1,000,000: caches are warm]
    #[arg(long, requires = "uops", value_parser = clap::value_parser!(u64).range(0..=1_000_000_000))]
    warmup: Option<u64>,
    /// Longest run, in cycles; one that takes more is given up, with what waits on what
    /// [default: 2,000,000,000]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    cycles_max: Option<u64>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Write the stacks of cycles as a figure
    #[arg(long, value_name = "FILE", conflicts_with = "matrix")]
    svg: Option<PathBuf>,
    /// One of the article's questions instead of threads: a name of --list, or all
    #[arg(long, value_name = "NAME", conflicts_with_all = ["matrix", "threads", "svg"])]
    experiment: Option<String>,
    /// Where results of pairs are kept between runs of --matrix
    #[arg(long, value_name = "DIR", requires = "matrix",
          conflicts_with_all = ["no_cache", "experiment"])]
    cache: Option<PathBuf>,
    /// Keep no results, use none
    #[arg(long)]
    no_cache: bool,
    /// List presets, profiles and experiments
    #[arg(long, conflicts_with_all = ["preset", "threads", "matrix", "experiment", "uops", "svg"])]
    list: bool,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    if args.list {
        out::json_or(args.json, &Lists::all(), list)?;
        return Ok(DONE);
    }
    let preset = preset_of(args.preset.as_deref().unwrap_or(ARTICLE_PRESET))?;
    let profiles: Vec<Profile> =
        args.threads.iter().map(|name| profile_of(name)).collect::<Result<_>>()?;
    let measure_uops = args.uops.unwrap_or(Options::default().measure_uops);
    let options = Options {
        warmup_uops: args.warmup.unwrap_or(measure_uops / 5),
        measure_uops,
        seed: args.seed,
        cycle_bound: args.cycles_max.unwrap_or(Options::default().cycle_bound),
        ..Options::default()
    };
    if let Some(name) = &args.experiment {
        fixed_length(name, args)?;
        return experiment(name, &preset, &options, args.json);
    }
    if args.matrix {
        return matrix(args, &preset, profiles, &options);
    }
    let fit_length = args.uops.is_none();
    let request = Request { preset, profiles, options, fit_length, seeds: args.seeds };
    let run = with_bar(|done| simulated_core::run(&request, done))?;
    if let Some(file) = &args.svg {
        out::file(file, coretwin_report::core_figure(&run))?;
    }
    if args.json {
        out::json(&Predicted::new(&run))?;
    } else {
        let known = published::known();
        told(&known, &coretwin_report::core_run_text(&run, &known, out::page(usize::MAX)))?;
    }
    Ok(DONE)
}

/// Refuses lengths for an experiment that has its own: it would ignore them.
fn fixed_length(name: &str, args: &Args) -> Result<()> {
    let own = [simulated_core::NOTE, simulated_core::PUBLISHED, simulated_core::SIEVE_PAGES];
    let own = own.iter().any(|(own, _)| *own == name);
    let given = [("--uops", args.uops.is_some()), ("--cycles-max", args.cycles_max.is_some())];
    match given.iter().find(|(_, given)| *given && own) {
        None => Ok(()),
        Some((option, _)) => Err(usage(format!(
            "experiment '{name}' runs for a length of its own; leave out {option}"
        ))),
    }
}

fn experiment(name: &str, preset: &Preset, options: &Options, json: bool) -> Result<u8> {
    let known: Vec<&str> =
        simulated_core::experiments().into_iter().map(|(name, _)| name).collect();
    let chosen = match name {
        "all" => known,
        name if known.contains(&name) => vec![name],
        name => return Err(usage(suggest::unknown("experiment", name, &known))),
    };
    let enhancements = simulated_core::enhancements(preset, &chosen, options)?;
    let note = chosen
        .contains(&simulated_core::NOTE.0)
        .then(|| with_bar(|done| simulated_core::note(options.seed, done)))
        .transpose()?;
    let published = chosen
        .contains(&simulated_core::PUBLISHED.0)
        .then(|| with_bar(|done| simulated_core::published(options.seed, |_| true, done)))
        .transpose()?;
    let pages = chosen
        .contains(&simulated_core::SIEVE_PAGES.0)
        .then(|| simulated_core::sieve_pages(preset, options.seed))
        .transpose()?;
    if json {
        let experiments = Experiments { enhancements, note, published, sieve_pages: pages };
        out::json(&Predicted::new(&experiments))?;
    } else {
        let known =
            published.as_ref().map_or_else(published::known, |found| published::score(&found.rows));
        told(&known, &coretwin_report::core_enhancements_text(&enhancements))?;
        if let Some(note) = &note {
            out::text(&coretwin_report::core_note_text(note))?;
        }
        if let Some(found) = &published {
            out::text(&coretwin_report::core_published_text(found))?;
        }
        if let Some(pages) = &pages {
            out::text(&coretwin_report::core_sieve_pages_text(pages))?;
        }
    }
    Ok(DONE)
}

/// Prints a text behind what is known of the model's error.
fn told(known: &CoreAccuracy, text: &str) -> Result<()> {
    let mut head = String::new();
    beside(&mut head, "", &known.to_string(), out::page(usize::MAX));
    out::text(&(head + text))
}

#[derive(serde::Serialize)]
struct Predicted<'a, Record> {
    origin: Origin,
    known_error: CoreAccuracy,
    #[serde(flatten)]
    record: &'a Record,
}

impl<'a, Record> Predicted<'a, Record> {
    fn new(record: &'a Record) -> Self {
        Self { origin: Origin::Simulated, known_error: published::known(), record }
    }
}

/// Experiments with the simulated core.
#[derive(serde::Serialize)]
struct Experiments {
    enhancements: Vec<CoreEnhancement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<CoreNote>,
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<CorePublished>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sieve_pages: Option<CoreSievePages>,
}

fn matrix(args: &Args, preset: &Preset, profiles: Vec<Profile>, options: &Options) -> Result<u8> {
    let profiles = if profiles.is_empty() {
        simulated_core::PROFILES.iter().filter_map(|name| Profile::named(name)).collect()
    } else {
        profiles
    };
    let cache = match (&args.cache, args.no_cache) {
        (_, true) => None,
        (Some(folder), _) => Some(Cache::at(folder.clone())),
        (None, _) => Cache::of_user(),
    };
    let length = args.uops.is_none().then_some(Length::STEADY);
    let cache = cache.as_ref();
    let matrix =
        with_bar(|done| simulated_core::matrix(preset, &profiles, options, length, cache, done))?;
    if args.json {
        out::json(&Predicted::new(&matrix))?;
    } else {
        told(&published::known(), &coretwin_report::core_matrix_text(&matrix))?;
    }
    Ok(DONE)
}

/// Shows how much is done by a bar on standard error, where that is a terminal that can draw one.
pub(super) fn with_bar<T>(run: impl FnOnce(&mut dyn FnMut(usize, usize)) -> T) -> T {
    let bar = match out::redraws(&std::io::stderr()) {
        true => ProgressBar::new(0),
        false => ProgressBar::hidden(),
    };
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} runs, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let found = run(&mut |done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    found
}

pub(super) fn preset_of(name: &str) -> Result<Preset> {
    if is_file(name) {
        return Preset::read(name, &text_of(name)?).map_err(usage);
    }
    named("preset", name, preset::table::ALL, |entry| entry.name).map_err(usage)?;
    Preset::named(name).context("a preset of the table")
}

fn profile_of(name: &str) -> Result<Profile> {
    if is_file(name) {
        return Profile::read(name, &text_of(name)?).map_err(usage);
    }
    named("profile", name, profile::table::ALL, |entry| entry.name).map_err(usage)?;
    Profile::named(name).context("a profile of the table")
}

/// What `simulate core` can be told to run.
#[derive(serde::Serialize)]
struct Lists {
    schema: u32,
    presets: Vec<Listed>,
    profiles: Vec<Listed>,
    experiments: Vec<Listed>,
}

#[derive(serde::Serialize)]
struct Listed {
    name: String,
    about: String,
    /// Hardware threads per core, of a preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<u8>,
}

impl Lists {
    fn all() -> Self {
        let listed = |name: String, about: String| Listed { name, about, threads: None };
        let preset =
            |one: Preset| Listed { threads: Some(one.ways), ..listed(one.name, one.title) };
        let experiments = simulated_core::experiments().into_iter();
        Self {
            schema: SCHEMA,
            presets: Preset::all().into_iter().map(preset).collect(),
            profiles: Profile::all().into_iter().map(|p| listed(p.name, p.title)).collect(),
            experiments: experiments.map(|(n, about)| listed(n.into(), about.into())).collect(),
        }
    }
}

pub(crate) fn list() -> String {
    let mut text = "presets\n".to_owned();
    for preset in Preset::all() {
        text += &format!("  {:<16} {}, SMT{}\n", preset.name, preset.title, preset.ways);
    }
    text += "\nprofiles\n";
    for profile in Profile::all() {
        text += &format!("  {:<18} {}\n", profile.name, profile.title);
    }
    text += "\nexperiments\n";
    for (name, about) in simulated_core::experiments() {
        text += &format!("  {name:<18} {about}\n");
    }
    text
}
