//! `coretwin simulate calibrate`: fits a simulated machine's free parameters to published figures.

use crate::exit::{DONE, usage};
use crate::verb::simulate::{machine_of, text_of};
use crate::{out, signals};
use anyhow::Result;
use coretwin_lab::simulated_core::Cache;
use coretwin_sim::calibrate::{FREE, Fit, ROUNDS};
use std::fmt::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin simulate calibrate --out mine.toml
  coretwin simulate calibrate --from mine.toml --rounds 1 --out better.toml
  coretwin simulate calibrate --machine ./disk.toml --out mine.toml
  coretwin study article --machine xeon-mp-foster --fit mine.toml

Fitted are a few costs of kernel, memory and work, and a service time for each row of one task; what to \
are the article's figures without Hyper-Threading on Linux 2.4.19 (Tables 1, 2, 4, 5 and 6). No figure \
with Hyper-Threading and nothing of Table 7 is ever looked at. It takes minutes on all CPUs.")]
pub(crate) struct Args {
    /// The machine: xeon-mp-foster, or a file that describes it otherwise, with that name
    #[arg(long, value_name = "NAME|FILE", default_value = "xeon-mp-foster")]
    machine: String,
    /// Begin where this fit ended; without it with what the machine's description says
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Rounds for each group of parameters at most
    #[arg(long, default_value_t = ROUNDS, value_name = "N")]
    rounds: usize,
    /// Write the fit to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let from = args.from.as_ref().map(|file| {
        let file = file.display().to_string();
        text_of(&file).map(|text| (file, text))
    });
    let from = from.transpose()?;
    let machine = machine_of(&args.machine)?;
    let machine = match &from {
        Some((file, text)) => machine.fitted(Some((file, text)))?,
        None => machine,
    };
    if !machine.has_figures() {
        let why = format!(
            "{} has no published figures to be fitted to; the article's machine is xeon-mp-foster",
            args.machine
        );
        return Err(usage(why));
    }
    let stop = signals::stop_flag()?;
    let speeds = machine.speeds(Cache::of_user().as_ref(), |_, _| {})?;
    let fit = machine.calibrate(&speeds, args.rounds, &stop, |group| {
        out::news(&format!("fitted: {group}"));
    })?;
    out::news(&residuals(&fit)?);
    out::to(args.out.as_deref(), &fit.text())?;
    Ok(DONE)
}

fn residuals(fit: &Fit) -> Result<String, std::fmt::Error> {
    let mut text = format!(
        "{} free parameters, {} service times; published and simulated:",
        FREE.len(),
        fit.services.len()
    );
    for residual in &fit.residuals {
        let (cell, published, simulated) = (&residual.cell, residual.published, residual.simulated);
        let error = residual.error_percent();
        write!(text, "\n  {cell:<28} {published:>14.2} {simulated:>14.2} {error:>+8.2} %")?;
    }
    Ok(text)
}
