//! Every suite: a file, and a line here.

use super::{
    Suite, account, boots, clock, compare, cputime, recording, sched, sched_study, service, smt,
    survey,
};
use anyhow::{Result, bail};

/// Every suite, in the order in which they run.
pub(crate) const SUITES: &[&Suite] = &[
    &boots::SUITE,
    &clock::SUITE,
    &smt::SUITE,
    &compare::SUITE,
    &cputime::SUITE,
    &account::SUITE,
    &recording::SUITE,
    &sched::SUITE,
    &sched::COST,
    &sched_study::SUITE,
    &service::SUITE,
    &survey::SUITE,
];

/// The suite of this name.
pub(crate) fn find(name: &str) -> Result<&'static Suite> {
    let Some(suite) = SUITES.iter().find(|suite| suite.name == name) else {
        let known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
        bail!("there is no suite '{name}'; known are: {}", known.join(", "));
    };
    Ok(suite)
}

#[cfg(test)]
mod tests {
    use super::super::Wanted;
    use super::*;
    use crate::vm::kernel::Kernel;
    use std::path::PathBuf;

    #[test]
    fn suites_are_found_by_names_that_can_be_arguments_of_a_boot() {
        let kernel = Kernel { release: "6.1".into(), image: PathBuf::new() };
        for suite in SUITES {
            assert_eq!(find(suite.name).expect("found").about, suite.about);
            for fast in [true, false] {
                let mut wanted = Wanted {
                    kernels: vec![kernel.clone()],
                    old: Vec::new(),
                    boots: Vec::new(),
                    fast,
                    seed: 1,
                };
                let machines = suite.wanted(&wanted);
                let may_have_none = match suite.name {
                    "clock" | "recording" | "service" | "survey" => fast,
                    "compare" | "schedcost" => true,
                    _ => false,
                };
                assert!(!machines.is_empty() || may_have_none, "{}", suite.name);
                for boot in machines.iter().flat_map(|machine| &machine.boots) {
                    let word = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric());
                    assert!(word(suite.name) && word(boot.name), "{} {}", suite.name, boot.name);
                    wanted.boots = vec![boot.name.to_owned()];
                    assert!(!suite.wanted(&wanted).is_empty(), "{}", boot.name);
                }
                wanted.boots = vec!["nobody".to_owned()];
                assert!(suite.wanted(&wanted).is_empty());
            }
        }
        let error = find("boot").map(|_| ()).expect_err("unknown").to_string();
        assert!(error.contains("'boot'") && error.contains("boots"), "{error}");
    }
}
