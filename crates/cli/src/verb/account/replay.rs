//! `account --replay`: what a recording says of the same load with SMT off, on, or within groups only.

use super::Args;
use crate::exit::{DONE, usage};
use crate::{options, out};
use anyhow::{Context, Result};
use coretwin_account::replay;
use coretwin_base::account::replay::ReplaySmt;
use std::path::Path;

pub(super) fn state(text: &str) -> Result<ReplaySmt, String> {
    options::named("state", text, ReplaySmt::ALL, |state| state.name())
}

pub(super) fn replay(args: &Args, path: &Path, smt: ReplaySmt) -> Result<u8> {
    let recorded = coretwin_store::recording::read(path)?;
    if recorded.torn_bytes > 0 {
        let bytes = recorded.torn_bytes;
        out::news(&format!("{} ends in a torn block of {bytes} bytes: left out", path.display()));
    }
    let sessions = &recorded.sessions;
    let (_, threads) = replay::threads(sessions);
    let model = sessions.last().and_then(|session| session.head.cpu_model.as_deref());
    let valuation = args.basis.valuation_of(model, threads)?;
    let replay = replay::replay(sessions, smt, &valuation).ok_or_else(|| {
        usage(format!("{} has no whole block yet: record for longer", path.display()))
    })?;
    if let Some(svg) = &args.svg {
        out::file(svg, coretwin_report::replay_svg(&replay))
            .with_context(|| format!("cannot draw {}", svg.display()))?;
    }
    match args.json || args.full {
        true => out::json_or(args.json, &replay, || coretwin_report::replay_text(&replay))?,
        false => {
            let brief = coretwin_report::replay_brief(&replay);
            out::brief_of(brief, "hours, groups and their requests")?;
        }
    }
    Ok(DONE)
}
