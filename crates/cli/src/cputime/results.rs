//! What is made of the readings of `cputime`, again at will: `cputime.json` and the reports.

use super::experiment;
use anyhow::{Context, Result};
use coretwin_base::cpu_set::CpuSet;
use coretwin_base::cputime::CputimeSummary;
use coretwin_base::plan::Plan;
use coretwin_base::reading::Reading;
use coretwin_base::summary::StoppedBecause;
use coretwin_base::topology::Topology;
use coretwin_store::{Bundle, CPUTIME};

/// Groups of CPUs that `probe` found to share a core, where the kernel shows no siblings.
pub(super) fn probed(_topology: &Topology) -> Vec<CpuSet> {
    Vec::new()
}

/// Analyses the readings and writes everything that is derived from them.
pub(crate) fn save(
    bundle: &Bundle,
    plan: &Plan,
    readings: &[Reading],
    stopped: StoppedBecause,
) -> Result<CputimeSummary> {
    experiment(plan)?;
    let summary = coretwin_stats::cputime::summarise(plan, readings, stopped)
        .context("this is no plan of cputime")?;
    bundle.write_json(CPUTIME, &summary)?;
    Ok(summary)
}

/// The report for a terminal.
pub(crate) fn folder_text(
    _bundle: &Bundle,
    _plan: &Plan,
    summary: &CputimeSummary,
) -> Result<String> {
    Ok(serde_json::to_string_pretty(summary)?)
}
