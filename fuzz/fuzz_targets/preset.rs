//! A processor of the simulated core, as a file.

#![no_main]

use coretwin_sim::core::Preset;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = Preset::read("fuzzed", text);
});
