//! A whole simulated machine, as a file: what reads can be laid out, or says why not.

#![no_main]

use coretwin_sim::machine::MachinePreset;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(machine) = MachinePreset::read("fuzzed", text) {
        for smt in [false, true] {
            let _ = machine.layout(smt);
        }
    }
});
