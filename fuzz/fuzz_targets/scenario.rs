//! Work for the simulated kernel, as a file.

#![no_main]

use coretwin_sim::kernel::scenario::Scenario;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = Scenario::read("fuzzed", text);
});
