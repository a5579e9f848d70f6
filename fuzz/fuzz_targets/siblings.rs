//! Siblings as people write them: every online CPU is in exactly one core.

#![no_main]

use coretwin_base::account::Siblings;
use coretwin_base::machine::cpu_set::CpuSet;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let online = CpuSet::parse("0-15,40").expect("a list");
    if let Ok(siblings) = Siblings::parse(text, &online) {
        assert_eq!(siblings.cpus(), online);
        let members: usize = siblings.cores.iter().map(CpuSet::len).sum();
        assert_eq!(members, online.len());
    }
});
