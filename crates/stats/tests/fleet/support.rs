//! Machines of a fleet with effects that are given.

use coretwin_base::fleet::{Effect, Member, MemberState};
use coretwin_base::study::plan::{Comparison, Scale};
use coretwin_base::study::reading::Better;
use std::collections::BTreeMap;

/// The effect of `on` against `off`, a log ratio, from ten blocks.
pub(crate) fn effect(row: &str, mean: f64, standard_error: f64) -> Effect {
    Effect {
        row: row.into(),
        workload: row.split(':').next().unwrap_or(row).into(),
        arm: "on".into(),
        reference: "off".into(),
        unit: "1/s".into(),
        better: Better::Higher,
        scale: Scale::Ratio,
        blocks: 10,
        mean,
        standard_error,
        degrees: 9.0,
        value_reference: 100.0,
        value_arm: 100.0 * mean.exp(),
    }
}

/// A machine that measured these.
pub(crate) fn member(number: u32, model: &str, effects: Vec<Effect>) -> Member {
    Member {
        schema: 1,
        machine: format!("{number:08x}").into(),
        name: format!("node-{number}"),
        cpu_model: model.into(),
        cores: 8,
        threads_per_core: 2,
        kernel: "6.12".into(),
        comparison: Comparison::Smt,
        is_simulated: false,
        origin: coretwin_base::origin::Origin::Measured,
        bundle: format!("b{number}").into(),
        plan: "plan".into(),
        bundle_schema: 1,
        started_utc: "2026-01-01T00:00:00Z".to_owned(),
        state: MemberState::Complete,
        margin: 0.02,
        facts: BTreeMap::new(),
        effects,
        uncompared: Vec::new(),
        is_screening: false,
    }
}
