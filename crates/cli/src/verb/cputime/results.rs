//! What is kept of `cputime` on this machine: the factors, for accounting.

use anyhow::Result;
use coretwin_base::account::cputime::result::{CputimeSummary, MeasuredFactors};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::environment::Environment;
use coretwin_base::schema::SCHEMA;
use coretwin_base::study::plan::Plan;
use coretwin_host::root::Root;
use coretwin_host::topology::state_folder;
use coretwin_lab::host_machine::now_utc;
use coretwin_store::factors;
use std::path::PathBuf;

fn state() -> PathBuf {
    state_folder(&Root::system(), &|name| std::env::var(name).ok())
}

/// Groups of CPUs that `probe` found to share a core, since this boot.
pub(super) fn probed() -> Vec<CpuSet> {
    coretwin_lab::probe::recall(&Root::system(), &state())
        .map_or_else(Vec::new, |probe| probe.groups)
}

/// Keeps slowdown and yield for accounting, where they are those of a core; whether they are kept.
pub(super) fn keep_factors(
    plan: &Plan,
    environment: &Environment,
    summary: &CputimeSummary,
) -> Result<String> {
    let Some(factors) = summary.factors else {
        let why = match summary.cpus.relation.is_smt() {
            true => "one spinner on the sibling was not measured",
            false => "these CPUs are not known to share a core",
        };
        return Ok(format!("no factors are kept for accounting: {why}"));
    };
    if plan.topology.is_emulated() {
        return Ok("no factors are kept for accounting: this processor is emulated".to_owned());
    }
    let facts = environment.facts.values().next_back();
    let fact = |name: &str| {
        facts.and_then(|facts| facts.get(name)).cloned().unwrap_or_else(|| "unknown".to_owned())
    };
    let measured = MeasuredFactors {
        schema: SCHEMA,
        measured_utc: now_utc(),
        cpu_model: fact("cpu.model"),
        kernel: fact("kernel.release"),
        hypervisor: fact("hypervisor"),
        work: summary.work.clone(),
        neighbour: summary.spinner.clone(),
        cpus: summary.cpus.clone(),
        topology_trust: summary.topology_trust,
        factors,
        blocks: summary.blocks,
    };
    let path = factors::append(&state(), &measured)?;
    Ok(format!("slowdown and yield are kept for accounting in {}", path.display()))
}
