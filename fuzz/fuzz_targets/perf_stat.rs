//! What perf stat wrote, in any of its three forms; what is imported is a profile that reads.

#![no_main]

use coretwin_sim::core::profile::{Profile, import};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(imported) = import::from_perf_stat("fuzzed", "name", text) {
        Profile::read("imported", &imported.text).expect("what is imported can be read");
    }
});
