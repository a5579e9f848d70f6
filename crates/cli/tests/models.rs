//! Every workload has a model on the simulated machine, or a stated reason why not.

use coretwin_sim::models::{TABLE, UNMODELLED, find, reason};
use coretwin_workloads::table::ALL;

#[test]
fn every_workload_has_a_model_or_a_reason() {
    for workload in ALL.iter() {
        let name = workload.name();
        match (find(name), reason(name)) {
            (Some((_, row)), None) => {
                assert_eq!(row.better, workload.facts().better, "{name}");
            }
            (None, Some(reason)) => assert!(reason.len() > 20, "{name}: '{reason}'"),
            (Some(_), Some(_)) => panic!("{name} has a model, and a reason why it has none"),
            (None, None) => panic!("{name} has neither a model nor a reason why it has none"),
        }
    }
}

#[test]
fn models_and_reasons_are_of_workloads_that_there_are() {
    let is_known = |name: &str| ALL.iter().any(|workload| workload.name() == name);
    for family in TABLE {
        assert!(!family.keeps.is_empty() && !family.drops.is_empty(), "{}", family.name);
        for row in family.rows {
            assert!(is_known(row.workload), "{}", row.workload);
        }
    }
    for (name, _) in UNMODELLED {
        let begins = |full: &str| name.ends_with('/') && full.starts_with(name);
        assert!(ALL.iter().any(|workload| workload.name() == *name || begins(workload.name())));
    }
}
