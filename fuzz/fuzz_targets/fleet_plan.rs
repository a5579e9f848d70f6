//! A fleet's plan: what is accepted has the place and number of every task, and is written as it was read.

#![no_main]

use coretwin_base::fleet::plan::FleetPlan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(plan) = serde_json::from_slice::<FleetPlan>(bytes) else { return };
    if plan.check().is_ok() {
        assert!(plan.count() > 0 && plan.short().len() == 12);
        let written = serde_json::to_string(&plan).expect("a plan can be written");
        assert_eq!(serde_json::from_str::<FleetPlan>(&written).expect("and read"), plan);
        plan.digested().expect("and digested");
    }
});
