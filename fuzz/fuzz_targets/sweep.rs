//! A grid of scenarios, policies and parameters, as a file.

#![no_main]

use coretwin_sim::kernel::scenario::sweep;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = sweep::read("fuzzed", text);
});
