//! `cargo xtask test`: what every change must pass.

use crate::stages::{Beside, Stage, run_all};
use anyhow::Result;
use std::path::Path;

/// The program with that part alone of those that can be left out: it builds, and nothing of it is unused.
macro_rules! core {
    ($part:literal) => {
        &[
            "cargo",
            "clippy",
            "--package",
            "coretwin",
            "--no-default-features",
            "--features",
            $part,
            "--",
            "-D",
            "warnings",
        ]
    };
}

/// In order: the quick ones first.
const STAGES: &[&Stage] = &[
    &Stage { name: "format", argv: &["cargo", "fmt", "--all", "--check"], environment: &[] },
    &Stage { name: "tidy", argv: &["cargo", "xtask", "tidy"], environment: &[] },
    &Stage {
        name: "lints",
        argv: &["cargo", "clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
        environment: &[],
    },
    // What a cautious administrator installs, and each part of the laboratory without the others.
    &Stage { name: "core", argv: core!(""), environment: &[] },
    &Stage { name: "core+fleet", argv: core!("fleet"), environment: &[] },
    &Stage { name: "core+sched", argv: core!("sched"), environment: &[] },
    &Stage { name: "core+sim", argv: core!("sim"), environment: &[] },
    // With the stable compiler: that they build. Running them is for `check-all`.
    &Stage {
        name: "fuzz",
        argv: &["cargo", "check", "--manifest-path", "fuzz/Cargo.toml", "--bins", "--locked"],
        environment: &[],
    },
    // By itself, so that the soak has its program.
    &Stage {
        name: "build",
        argv: &["cargo", "test", "--workspace", "--no-run", "--quiet"],
        environment: &[],
    },
    &Stage { name: "python", argv: &["cargo", "xtask", "python"], environment: &[] },
    &Stage { name: "vm", argv: &["cargo", "xtask", "vm", "--fast"], environment: &[] },
    &Stage {
        name: "tests a-d",
        argv: &[
            "cargo",
            "test",
            "--workspace",
            "--no-fail-fast",
            "--lib",
            "--bins",
            "--test",
            "[a-d]*",
        ],
        environment: INPUTS,
    },
    &Stage {
        name: "doc tests",
        argv: &["cargo", "test", "--workspace", "--doc"],
        environment: &[],
    },
    &Stage {
        name: "docs",
        argv: &["cargo", "doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"],
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
    },
];

/// The same inputs in every run: what a drawn one finds is for `check-all`, not for an unrelated change.
const INPUTS: &[(&str, &str)] = &[("PROPTEST_RNG_SEED", "20261121")];

/// Tests wait for most of their time, and one program of them keeps about one CPU busy: so they run in two
/// halves by name, side by side.
const BESIDE: &[Beside] = &[
    Beside {
        after: "build",
        stage: &Stage {
            name: "tests e-z",
            argv: &["cargo", "test", "--workspace", "--no-fail-fast", "--test", "[e-z]*"],
            environment: INPUTS,
        },
    },
    // Ten minutes of real time, which cost 2 % of a CPU.
    Beside {
        after: "build",
        stage: &Stage { name: "soak", argv: &["cargo", "xtask", "soak", "10"], environment: &[] },
    },
];

/// Runs the stages; whether all passed.
pub(crate) fn run(root: &Path) -> Result<bool> {
    run_all(root, STAGES, BESIDE, &mut |_| Ok(()))
}
