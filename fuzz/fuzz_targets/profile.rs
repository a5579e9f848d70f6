//! Work for the simulated core, as a file.

#![no_main]

use coretwin_sim::core::profile::Profile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = Profile::read("fuzzed", text);
});
