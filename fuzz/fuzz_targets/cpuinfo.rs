//! `/proc/cpuinfo` of any architecture, and of none.

#![no_main]

use coretwin_base::machine::cpu_set::CPU_MAX;
use coretwin_host::cpuinfo;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let parsed = cpuinfo::parse(text);
    assert!(parsed.processors.len() <= text.lines().count());
    for processor in &parsed.processors {
        assert!(processor.cpu.0 <= CPU_MAX);
        assert!(processor.mhz.is_none_or(f64::is_finite));
    }
});
