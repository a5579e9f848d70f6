//! `cargo xtask check-all`: the checks too long for every change, one row each. How long each takes, or how
//! often it tries, is a variable of its environment; one that is set already is left as it is, so that
//! `CORETWIN_KILLS=5 cargo xtask check-all kills` is short. `--short` sets them all.

use crate::stages::{Stage, run_all};
use anyhow::{Context, Result, bail};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

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
    // Minutes: what intervals cover, with trials enough for a tenth of a point.
    &Stage {
        name: "coverage",
        argv: &[
            "cargo",
            "test",
            "--release",
            "--package",
            "coretwin-stats",
            "--test",
            "simulation",
            "--",
            "--nocapture",
            "coverage",
            "verdicts_are_rarely_wrong",
        ],
        environment: &[("CORETWIN_TRIALS", "20000")],
    },
    // Studies ended by signals at random moments.
    &Stage {
        name: "kills",
        argv: &["cargo", "test", "--release", "--package", "coretwin", "--test", "kill"],
        environment: &[("CORETWIN_KILLS", "200")],
    },
    // Properties on inputs drawn anew, and more of them than `make test` has.
    &Stage {
        name: "properties",
        argv: &["cargo", "test", "--workspace", "--no-fail-fast"],
        environment: &[("PROPTEST_CASES", "1000")],
    },
    // 5 minutes: every suite in full, on kernels old and new.
    &Stage { name: "vm", argv: &["cargo", "xtask", "vm"], environment: &[] },
    // 10 minutes, four of them to build the kernel once: the scheduler on the first series with sched_ext.
    &Stage {
        name: "vm-6.12",
        argv: &["cargo", "xtask", "vm", "sched", "schedstudy", "--kernel", "own:6.12"],
        environment: &[],
    },
    // The processes that switch SMT, killed at any moment, on fake machines.
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
    // An hour: memory of `top` and `account`, and of all servers beside clients of every kind.
    &Stage {
        name: "soak",
        argv: &["cargo", "xtask", "soak"],
        environment: &[("CORETWIN_SOAK_MINUTES", "60")],
    },
    // An hour for each parser of outside text.
    &Stage {
        name: "fuzz",
        argv: &["cargo", "xtask", "fuzz"],
        environment: &[("CORETWIN_FUZZ_MINUTES", "60")],
    },
    // A minute: disks that are full, fail, write short; sockets that do, are interrupted, slow, gone.
    &Stage {
        name: "faults",
        argv: &[
            "cargo",
            "test",
            "--release",
            "--package",
            "coretwin-store",
            "--package",
            "coretwin-workloads",
            "--lib",
            "faults",
        ],
        environment: &[("CORETWIN_FAULT_SEEDS", "50000")],
    },
    // Minutes: files of the machine that vanish, cannot be read, are cut off, say what cannot be.
    &Stage {
        name: "read-faults",
        argv: &[
            "cargo",
            "test",
            "--release",
            "--package",
            "coretwin-host",
            "--package",
            "coretwin-account",
            "--package",
            "coretwin-top",
            "faults",
        ],
        environment: &[("CORETWIN_FAULT_SEEDS", "2000")],
    },
    // Half an hour: faults planted in a copy of the tree, each of which the test named for it must catch.
    &Stage { name: "mutate", argv: &["cargo", "xtask", "mutate"], environment: &[] },
    // 7 minutes: runs of every kind with sockets beside another user that attacks them. Needs root.
    &Stage {
        name: "strangers",
        argv: &[
            "cargo",
            "test",
            "--package",
            "coretwin-workloads",
            "a_stranger_fails_no_row",
            "--",
            "--nocapture",
        ],
        environment: &[("CORETWIN_STRANGERS", "204")],
    },
    // Ten minutes, most of them to draw the bundles: a fleet of ten thousand machines.
    &Stage {
        name: "fleet-scale",
        argv: &[
            "cargo",
            "test",
            "--release",
            "--package",
            "coretwin",
            "--test",
            "fleet_scale",
            "--",
            "--nocapture",
        ],
        environment: &[("CORETWIN_BUNDLES", "10000")],
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
    // An hour: a fresh Debian root, the package and the image there, and make's first words. Needs root.
    &Stage {
        name: "chroot",
        argv: &["sh", "packaging/chroot.sh"],
        environment: &[("CORETWIN_CHROOT", "package study test image")],
    },
    // Simulated studies by an optimised build, which gives what the debug build gives.
    &Stage {
        name: "simulated",
        argv: &["cargo", "test", "--release", "--package", "coretwin", "--test", "simulated"],
        environment: &[],
    },
    // 5 minutes: the article's study on the simulated Xeon, of which the tests of `report` keep the report.
    &Stage {
        name: "simulated-study",
        argv: &[
            "cargo",
            "test",
            "--release",
            "--package",
            "coretwin",
            "--test",
            "simulated",
            "--",
            "--ignored",
        ],
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

/// As short as it goes: what `--short` sets, where nothing else is said.
const SHORT: &[(&str, &str)] = &[
    ("CORETWIN_TRIALS", "2000"),
    ("CORETWIN_KILLS", "5"),
    ("CORETWIN_SOAK_MINUTES", "1"),
    ("CORETWIN_FUZZ_MINUTES", "0.1"),
    ("CORETWIN_FAULT_SEEDS", "500"),
    ("CORETWIN_STRANGERS", "24"),
    ("CORETWIN_BUNDLES", "100"),
    ("CORETWIN_CHROOT", "package"),
];

/// What has no short form: left out by `--short`, unless it is named. One study says nothing of how often
/// studies are right, and on a busy machine it finds nothing.
const ALWAYS_LONG: &[&str] =
    &["real", "vm-6.12", "reproducible", "simulated-study", "exchange", "mutate"];

/// Runs all checks, or those named; whether all passed.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<bool> {
    let (flags, names): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|argument| argument.starts_with('-'));
    for name in &names {
        if !CHECKS.iter().any(|check| check.name == *name) {
            let known: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
            bail!("there is no long check '{name}'; known are: {}", known.join(", "));
        }
    }
    match flags[..] {
        [] => run_all(root, &chosen(&names), None),
        [flag] if flag == "--short" => run_short(&names),
        _ => bail!("cargo xtask check-all [--short] [NAME...], not '{}'", arguments.join(" ")),
    }
}

/// Those named; all, if none is.
fn chosen(names: &[&String]) -> Vec<&'static Stage> {
    let wanted = |check: &&&Stage| names.is_empty() || names.iter().any(|name| *name == check.name);
    CHECKS.iter().filter(wanted).copied().collect()
}

/// Becomes this chore once more, with the variables set.
fn run_short(names: &[&String]) -> Result<bool> {
    let is_short = |check: &&Stage| !names.is_empty() || !ALWAYS_LONG.contains(&check.name);
    let names = chosen(names).into_iter().filter(is_short).map(|check| check.name);
    let unset = SHORT.iter().filter(|(name, _)| std::env::var_os(name).is_none());
    let program = std::env::current_exe().context("finding this program")?;
    let mut again = Command::new(&program);
    let error = again.arg("check-all").args(names).envs(unset.copied()).exec();
    Err(error).with_context(|| format!("starting {}", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_checks_and_variables_that_there_are() {
        for name in ALWAYS_LONG {
            assert!(CHECKS.iter().any(|check| check.name == *name), "{name}");
        }
        for (name, _) in SHORT {
            let is_read = |check: &&Stage| check.environment.iter().any(|(other, _)| other == name);
            assert!(CHECKS.iter().copied().any(|check| is_read(&check)), "{name}");
        }
        let names = ["faults".to_owned(), "kills".to_owned()];
        let chosen = chosen(&names.iter().collect::<Vec<_>>());
        assert_eq!(chosen.iter().map(|check| check.name).collect::<Vec<_>>(), ["kills", "faults"]);
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        for (words, part) in [(["kilsl"], "'kilsl'"), (["--long"], "'--long'")] {
            let error = run(Path::new("/"), &words.map(str::to_owned)).expect_err("refused");
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
