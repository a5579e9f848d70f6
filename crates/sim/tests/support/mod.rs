//! What tests of machines and of models share.

use coretwin_base::simulation::core_run::CoreMatrix;
use coretwin_sim::machine::MachinePreset;
use coretwin_sim::models::PROFILES;

/// Speeds with every pair slowed alike, so that no test waits for the core.
pub(crate) fn speeds(machine: &MachinePreset, slowdown: f64) -> CoreMatrix {
    let count = PROFILES.len();
    CoreMatrix {
        schema: 1,
        preset: machine.core.name.clone(),
        profiles: PROFILES.map(str::to_owned).to_vec(),
        alone_ipc: vec![0.5; count],
        slowdown: vec![vec![slowdown; count]; count],
        throughput: vec![vec![2.0 / slowdown; count]; count],
        slowdown_by_formula: Vec::new(),
        cached: 0,
        seed: 1,
        warmup_uops: 0,
        measure_uops: 0,
    }
}
