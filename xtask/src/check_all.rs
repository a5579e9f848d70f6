//! `cargo xtask check-all`: the checks too long for every change, one row each.

use crate::stages::{Stage, run_all};
use anyhow::{Result, bail};
use std::path::Path;

/// Each is run by its name, too. The time is on two cores.
const CHECKS: &[&Stage] = &[
    // Half an hour on a quiet machine: studies of which the answer is known.
    &Stage {
        name: "real",
        argv: &[
            "cargo",
            "test",
            "--release",
            "--package",
            "coretwin",
            "--test",
            "real",
            "--",
            "--ignored",
            "--nocapture",
        ],
        environment: &[("CORETWIN_STUDIES", "20")],
    },
    // Studies ended by signals at random moments.
    &Stage {
        name: "kills",
        argv: &["cargo", "test", "--release", "--package", "coretwin", "--test", "kill"],
        environment: &[("CORETWIN_KILLS", "200")],
    },
    // 5 minutes: every suite in full, on kernels old and new.
    &Stage { name: "vm", argv: &["cargo", "xtask", "vm"], environment: &[] },
    // 10 minutes, four of them to build the kernel once: the scheduler on the first series with sched_ext.
    &Stage {
        name: "vm-6.12",
        argv: &["cargo", "xtask", "vm", "sched", "schedstudy", "--kernel", "own:6.12"],
        environment: &[],
    },
    // Whoever switches SMT killed at any moment, on fake machines.
    &Stage {
        name: "switch-kills",
        argv: &["cargo", "test", "--package", "coretwin-host", "--test", "smt", "kill"],
        environment: &[("CORETWIN_KILLS", "500")],
    },
    // What the hour's soak runs.
    &Stage {
        name: "soak-build",
        argv: &["cargo", "build", "--package", "coretwin"],
        environment: &[],
    },
    // An hour: memory of `top` and `account`.
    &Stage { name: "soak", argv: &["cargo", "xtask", "soak", "60"], environment: &[] },
    // An hour for each parser of outside text; CORETWIN_FUZZ_MINUTES makes it shorter.
    &Stage { name: "fuzz", argv: &["cargo", "xtask", "fuzz"], environment: &[] },
    // A minute: disks that are full, fail, write short.
    &Stage {
        name: "faults",
        argv: &["cargo", "test", "--release", "--package", "coretwin-store", "faults"],
        environment: &[("CORETWIN_FAULT_SEEDS", "50000")],
    },
    // Licences, sources, duplicates of what we build on. Advisories need the network.
    &Stage {
        name: "deny",
        argv: &[
            "sh",
            "-c",
            "cargo deny --version >/dev/null 2>&1 || cargo install --quiet --locked cargo-deny; \
             cargo deny --log-level error check licenses bans sources",
        ],
        environment: &[],
    },
    // Half an hour: two clones at two places, built apart, give the same packages.
    &Stage { name: "reproducible", argv: &["sh", "packaging/reproducible.sh"], environment: &[] },
    // The package in a root of its own, and a short study there. Needs debootstrap and root.
    &Stage { name: "chroot", argv: &["sh", "packaging/chroot.sh"], environment: &[] },
    // Simulated studies by an optimised build, which gives what the debug build gives.
    &Stage {
        name: "simulated",
        argv: &["cargo", "test", "--release", "--package", "coretwin", "--test", "simulated"],
        environment: &[],
    },
    // 2 minutes: a sample of each family's load, and the whole of it.
    &Stage {
        name: "samples",
        argv: &[
            "cargo",
            "test",
            "--release",
            "--package",
            "coretwin-sim",
            "--test",
            "models",
            "--",
            "--ignored",
        ],
        environment: &[],
    },
    // Every pair of programs on every processor, in both orders.
    &Stage {
        name: "exchange",
        argv: &[
            "cargo",
            "test",
            "--release",
            "--package",
            "coretwin-sim",
            "--test",
            "core",
            "exchange",
            "--",
            "--ignored",
        ],
        environment: &[],
    },
];

/// Runs all checks, or those named; whether all passed.
pub(crate) fn run(root: &Path, names: &[String]) -> Result<bool> {
    for name in names {
        if !CHECKS.iter().any(|check| check.name == name) {
            let known: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
            bail!("there is no long check '{name}'; known are: {}", known.join(", "));
        }
    }
    let wanted = |check: &&&Stage| names.is_empty() || names.iter().any(|name| name == check.name);
    let checks: Vec<&Stage> = CHECKS.iter().filter(wanted).copied().collect();
    run_all(root, &checks, None)
}
