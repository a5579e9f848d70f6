//! Plans and readings to test with.

use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::placement::Placement;
use coretwin_base::machine::topology::Topology;
use coretwin_base::parameters::Params;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::plan::{
    Comparison, CopyRule, Plan, PlanArm, PlanRow, Protocol, Rule, Rules, Scale, ThreadRule,
};
use coretwin_base::study::reading::{Better, Phase, Reading, Status};
use std::sync::Arc;

/// An arm of that label and state on that many CPUs, one thread on each.
pub(crate) fn arm(label: &str, state: ArmState, cpus: u32) -> PlanArm {
    PlanArm {
        label: label.to_owned(),
        state,
        scheduler: "kernel".to_owned(),
        cpus: CpuSet::parse(&format!("0-{}", cpus - 1)).expect("a list"),
        cores: cpus.min(4),
        smt: None,
        threads: cpus,
        about: String::new(),
        ..PlanArm::default()
    }
}

/// A row of that label and family: seconds, less is better.
pub(crate) fn row(id: &str, family: &str) -> PlanRow {
    PlanRow {
        id: id.to_owned(),
        workload: id.to_owned(),
        family: family.to_owned(),
        params: Params::new(),
        placement: Placement::Free,
        threads: ThreadRule::Arm,
        copies: CopyRule::Fixed(1),
        unit: "s".to_owned(),
        better: Better::Lower,
        scale: Scale::Ratio,
        arms: Vec::new(),
    }
}

/// `one-per-core` against `on` at default settings, for these rows.
pub(crate) fn plan(rows: &[PlanRow]) -> Plan {
    Plan {
        schema: 1,
        coretwin: "test".to_owned(),
        machine: "host".to_owned(),
        origin: None,
        comparison: Comparison::StandIn,
        arms: vec![arm("one-per-core", ArmState::OnePerCore, 4), arm("on", ArmState::On, 8)],
        reference_arm: "one-per-core".to_owned(),
        rows: rows.to_vec(),
        command: None,
        cputime: None,
        load: None,
        simulation: None,
        split: None,
        seed: 1,
        orders: Vec::new(),
        rules: Rules {
            protocol: Protocol::Modern,
            looks: coretwin_stats::stopping::LOOKS.to_vec(),
            target: 0.01,
            margin: 0.02,
            budget_s: None,
            steal_share_max: 0.02,
            others_share_max: 0.02,
            retries_max: 2,
            warmup: true,
            warmup_runs: 1,
            settle_s: 0.0,
            repeats: 1,
            until: Rule::Width,
        },
        screening: None,
        topology: topology(),
        warnings: Vec::new(),
    }
}

fn topology() -> Topology {
    Topology::regular(1, 4, 2)
}

/// A good reading of a row in an arm.
pub(crate) fn reading(
    plan: &Plan,
    seq: u64,
    block: u32,
    arm: usize,
    row: usize,
    value: f64,
) -> Reading {
    let rule = &plan.rows[row];
    Reading {
        schema: 1,
        seq,
        phase: Phase::Study,
        block,
        switch: 0,
        attempt: 0,
        arm: plan.arms[arm].label.as_str().into(),
        row: rule.id.as_str().into(),
        workload: rule.workload.as_str().into(),
        params: rule.params.clone().into(),
        placement_asked: rule.placement,
        cpus_ran: Arc::default(),
        status: Status::Ok,
        cause: None,
        value: Some(value),
        unit: rule.unit.as_str().into(),
        better: rule.better,
        metrics: Arc::default(),
        operations: 0,
        elapsed_s: 1.0,
        user_s: 1.0,
        system_s: 0.0,
        steal_s: 0.0,
        threads: plan.arms[arm].threads,
        copies: 1,
        samples: Arc::default(),
        notes: Arc::default(),
        checks: Arc::default(),
        output: None,
        latency: None,
        env: "m0".into(),
    }
}

/// Readings of whole blocks; `value(block, arm, row)` is what they read.
pub(crate) fn readings(
    plan: &Plan,
    blocks: u32,
    mut value: impl FnMut(u32, usize, usize) -> f64,
) -> Vec<Reading> {
    let mut readings = Vec::new();
    for block in 0..blocks {
        // ABBA, so that no test has an unbalanced order by accident.
        let mut arms: Vec<usize> = (0..plan.arms.len()).collect();
        if block % 2 == 1 {
            arms.reverse();
        }
        for arm in arms {
            for row in 0..plan.rows.len() {
                let seq = readings.len() as u64;
                readings.push(reading(plan, seq, block, arm, row, value(block, arm, row)));
            }
        }
    }
    readings
}
