//! Work for the simulated kernel, as rt-app's JSON.

#![no_main]

use coretwin_sim::kernel::scenario::rt_app;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = rt_app::read("fuzzed", text, "gzip");
});
