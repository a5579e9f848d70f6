//! `coretwin top`: cores, sibling overlap, capacity left, live.

use crate::basis::Basis;
use crate::exit::{DONE, usage};
use crate::{host, options, out};
use anyhow::Result;
use coretwin_account::choice;
use coretwin_account::sampled::Effort;
use coretwin_base::openmetrics::Dialect;
use coretwin_base::units::parse_duration;
use coretwin_base::warning::Warning;
use coretwin_host::root::Root;
use coretwin_top::Error;
use coretwin_top::live::{self, Until};
use coretwin_top::openmetrics::endpoint::Endpoint;
use coretwin_top::openmetrics::target::Target;
use coretwin_top::openmetrics::totals::Totals;
use coretwin_top::openmetrics::{dialect_of_file, text, textfile};
use coretwin_top::source::{LOOKS_SHARE_MAX, Make, Source, Watch};
use coretwin_top::terminal::{self, Signals};
use coretwin_top::view::{INTERVAL_TENTHS, Order, View};
use std::path::PathBuf;
use std::time::Duration;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin top                                     a screen; h shows its keys
  sudo coretwin top --sort capacity --filter nginx
  coretwin top --json --for 1m --interval 5s       a line of JSON every five seconds
  coretwin top --openmetrics 127.0.0.1:9741        for Prometheus, at /metrics; no screen
  coretwin top --openmetrics /var/lib/node_exporter/coretwin.prom

Shows cores, not CPUs: half of the CPUs busy may be nearly all of what the machine can do.")]
pub(crate) struct Args {
    /// Length of a window
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    interval: u32,
    /// End after so long
    #[arg(long = "for", value_name = "TIME", value_parser = crate::basis::length)]
    length: Option<Duration>,
    /// End after so many windows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print every window as a line of JSON instead of a screen
    #[arg(long)]
    json: bool,
    /// Write every window for a monitor, instead of a screen: to a file, or at an address
    #[arg(long, value_name = "FILE|ADDRESS")]
    openmetrics: Option<String>,
    /// Serve to other machines too, if the address says so
    #[arg(long, requires = "openmetrics")]
    allow_remote: bool,
    /// Sort tasks and cgroups by this
    #[arg(long, value_name = "COLUMN", default_value = "shared", value_parser = order)]
    sort: Order,
    /// Show only what has this in its name, cgroup or number
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,
    /// No colours; so does the variable NO_COLOR
    #[arg(long)]
    no_color: bool,
    /// Draw with ASCII alone; so does a locale that is not UTF-8, and TERM=linux
    #[arg(long)]
    ascii: bool,
    /// Leave the mouse to the terminal, so that text can be selected; so does the key m
    #[arg(long)]
    no_mouse: bool,
    /// No short looks between the windows, which give the maxima
    #[arg(long)]
    no_short_looks: bool,
    /// Read sys/ and proc/ below this folder instead of /
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(flatten)]
    basis: Basis,
}

fn interval(text: &str) -> Result<u32, String> {
    let wanted = parse_duration(text).map_err(|error| error.to_string())?;
    let tenths = u32::try_from(wanted.as_millis() / 100).unwrap_or(u32::MAX);
    match INTERVAL_TENTHS.contains(&tenths) {
        true => Ok(tenths),
        false => Err("an interval is from 0.2s to 10m".to_owned()),
    }
}

fn order(name: &str) -> Result<Order, String> {
    options::named("column", name, Order::ALL, |order| order.name())
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let until = Until { windows: args.count, time: args.length };
    let every = Duration::from_millis(u64::from(args.interval) * 100);
    let target = args.openmetrics.as_deref().map(|text| Target::parse(text, args.allow_remote));
    let target = target.transpose().map_err(slip)?;
    if !args.json && target.is_none() {
        terminal::check(std::env::var("TERM").ok().as_deref())?;
    }
    let signals = Signals::listen()?;
    if !args.json && target.is_none() {
        let view = View {
            order: args.sort,
            filter: args.filter.clone(),
            interval_tenths: args.interval,
            ascii: args.ascii || !terminal::draws_utf8(|name| std::env::var(name).ok()),
            no_mouse: args.no_mouse,
            plain: args.no_color || out::no_color(),
            ..View::default()
        };
        let mut source = source(args)?;
        live::run(&mut source, view, until, &signals)?;
        return Ok(DONE);
    }
    let mut sink = Sink { json: args.json, target, endpoint: None, totals: Totals::default() };
    // Before the first window, so that an address that is taken is told at once.
    sink.listen()?;
    let mut source = source(args)?;
    live::each(&mut source, every, until, &signals, &mut |snapshot| sink.take(snapshot))?;
    Ok(DONE)
}

/// A slip of whoever typed it is usage; all else is the machine's.
fn slip(error: Error) -> anyhow::Error {
    match error {
        Error::Target { .. } | Error::NotLoopback { .. } => usage(error),
        error => error.into(),
    }
}

struct Sink {
    json: bool,
    target: Option<Target>,
    endpoint: Option<Endpoint>,
    totals: Totals,
}

impl Sink {
    fn listen(&mut self) -> Result<()> {
        if let Some(Target::Address(address)) = self.target {
            let endpoint = Endpoint::start(address)?;
            out::news(&format!("serving http://{}/metrics", endpoint.address));
            self.endpoint = Some(endpoint);
        }
        Ok(())
    }

    fn take(&mut self, snapshot: &coretwin_top::snapshot::Snapshot) -> Result<(), Error> {
        if self.json {
            live::json(&mut std::io::stdout().lock(), snapshot)?;
        }
        if self.target.is_some() {
            self.totals.add(snapshot);
        }
        match (&self.target, &self.endpoint) {
            (Some(Target::File(path)), _) => {
                textfile::write(path, &text(&self.totals, snapshot, dialect_of_file(path)))
            }
            (_, Some(endpoint)) => {
                endpoint.publish(text(&self.totals, snapshot, Dialect::OpenMetrics));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The machine, watched by the method that was asked for or the best that is possible.
fn source(args: &Args) -> Result<Source> {
    let root = args.root.as_ref().map_or_else(Root::system, Root::at);
    let below = root.clone();
    let basis = args.basis.clone();
    let watch = move || -> Result<Watch> {
        let topology = host::topology(&below)?;
        let siblings = basis.siblings(&below, &topology)?;
        let valuation = basis.valuation(&topology, siblings.threads_per_core_max())?;
        let effort = Effort {
            share_max: LOOKS_SHARE_MAX,
            is_thorough: false,
            seed: basis.seed,
            ..Effort::default()
        };
        let chosen = choice::start(&below, &siblings, basis.method, effort)?;
        let why = (!chosen.why.is_empty()).then(|| Warning::new("method", chosen.why, ""));
        Ok(Watch {
            topology,
            siblings,
            valuation,
            method: chosen.method,
            warnings: why.into_iter().collect(),
        })
    };
    let first = watch()?;
    let make: Make = Box::new(move || watch().map_err(|error| format!("{error:#}")));
    Ok(Source::new(root, first, make, !args.no_short_looks)?)
}
