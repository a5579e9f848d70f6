//! CPU lists, as the kernel and people write them: what is read is written back as the same set.

#![no_main]

use coretwin_base::machine::cpu_set::{CPU_MAX, CpuSet};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match CpuSet::parse(text) {
        Ok(set) => {
            assert!(set.iter().all(|cpu| cpu.0 <= CPU_MAX));
            assert_eq!(CpuSet::parse(&set.to_string()).as_ref(), Ok(&set));
        }
        Err(bad) => assert!(bad.to_string().contains("is not a CPU list")),
    }
});
