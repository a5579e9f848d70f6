//! `cargo xtask check-all`: the checks too long for every change, one row each. How long each takes, or how
//! often it tries, is a variable of its environment; one that is set already is left as it is, so that
//! `CORETWIN_KILLS=5 cargo xtask check-all kills` is short. `--short` sets them all. A check that ends at full
//! length writes its line into `docs/evidence/check-all.md`, so that the whole can be run in parts.

use crate::stages::{Ended, Stage, listed, run_all};
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
    // Every suite but the scheduler's, in full, on kernels old and new.
    &Stage {
        name: "vm",
        argv: &[
            "sh",
            "-c",
            "cargo xtask vm boots clock smt compare cputime account recording service survey",
        ],
        environment: &[],
    },
    // An hour each: the scheduler, on the newest kernel; on one without sched_ext and on the first series with it,
    // which is built once.
    &Stage {
        name: "vm-7.3",
        argv: &["cargo", "xtask", "vm", "sched", "schedstudy", "--kernel", "7.3"],
        environment: &[],
    },
    &Stage {
        name: "vm-6.12",
        argv: &["sh", "-c", "cargo xtask vm sched schedstudy --kernel 6.1 --kernel own:6.12"],
        environment: &[],
    },
    // An hour each: it beside the kernel's own; rows that are finished are not run again.
    &Stage {
        name: "cost-7.3",
        argv: &["cargo", "xtask", "vm", "schedcost", "--kernel", "7.3", "--page"],
        environment: &[],
    },
    &Stage {
        name: "cost-6.12",
        argv: &["cargo", "xtask", "vm", "schedcost", "--kernel", "own:6.12"],
        environment: &[],
    },
    // Hours: core-queue beside the best schedulers of others; it goes on where it was broken off.
    &Stage {
        name: "peers",
        argv: &[
            "sh",
            "-c",
            "cargo xtask peers && for load in pipe tbench chat10 chat20 groups1 groups4; do \
             set -- \"$@\" --boot peers$load; done && cargo xtask vm schedcost --page \"$@\"",
        ],
        environment: &[],
    },
    // Over an hour: CPUs go and come under chat for half an hour of a guest's time, on two kernels side by side.
    &Stage {
        name: "hotplug-storm",
        argv: &[
            "cargo",
            "xtask",
            "vm",
            "sched",
            "--boot",
            "hotplugstorm",
            "--kernel",
            "7.3",
            "--kernel",
            "own:6.12",
        ],
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
    // Two hours on two CPUs: ten minutes for each parser of outside text, as many at a time as there are CPUs.
    &Stage {
        name: "fuzz",
        argv: &["cargo", "xtask", "fuzz"],
        environment: &[("CORETWIN_FUZZ_MINUTES", "10")],
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
            "sh",
            "-c",
            "cargo build --package coretwin-workloads --examples && cargo test --package \
             coretwin-workloads --test strangers a_stranger_fails_no_row -- --nocapture",
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
const ALWAYS_LONG: &[&str] = &[
    "real",
    "vm-7.3",
    "vm-6.12",
    "cost-7.3",
    "cost-6.12",
    "hotplug-storm",
    "reproducible",
    "simulated-study",
    "exchange",
    "mutate",
    "peers",
];

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
        [] => run_all(root, &chosen(&names), &[], &mut |ended| record(root, ended)),
        [flag] if flag == "--short" => run_short(&names),
        _ => bail!("cargo xtask check-all [--short] [NAME...], not '{}'", arguments.join(" ")),
    }
}

/// Those named; all, if none is.
fn chosen(names: &[&String]) -> Vec<&'static Stage> {
    let wanted = |check: &&&Stage| names.is_empty() || names.iter().any(|name| *name == check.name);
    CHECKS.iter().filter(wanted).copied().collect()
}

/// Where it is written when each check last ended at full length.
const PAGE: &str = "docs/evidence/check-all.md";
const HEAD: &str = "\
# The long checks, one by one

Written by `cargo xtask check-all [NAME...]`: when each last ended at full length, how long it took, and what of it
passed. `make test` runs none of them.

| check | day | commit | minutes | passed | failed | done |
|---|---|---|---|---|---|---|
";

/// Writes the line of a check that has ended, if nobody made it shorter.
fn record(root: &Path, ended: &Ended) -> Result<()> {
    let Some(check) = CHECKS.iter().find(|check| check.name == ended.name) else { return Ok(()) };
    let is_short =
        |(name, length): &(&str, &str)| std::env::var(name).is_ok_and(|given| given != *length);
    if check.environment.iter().any(is_short) {
        return Ok(());
    }
    let said_by = |program: &str, words: &[&str]| -> Result<String> {
        let output = Command::new(program).args(words).current_dir(root).output();
        let output = output.with_context(|| format!("starting {program}"))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let day = said_by("date", &["--utc", "+%F"])?;
    let commit = said_by("git", &["describe", "--always", "--dirty"])?;
    let page = root.join(PAGE);
    let before = std::fs::read_to_string(&page).unwrap_or_default();
    std::fs::write(&page, with_line(&before, ended, &day, &commit))
        .with_context(|| format!("writing {}", page.display()))
}

/// The page with the line of one check made anew; those without a line have not been run.
fn with_line(before: &str, ended: &Ended, day: &str, commit: &str) -> String {
    let outcome = &ended.outcome;
    let minutes = ended.took.as_secs_f64() / 60.0;
    let made = format!(
        "| {} | {day} | {commit} | {minutes:.1} | {} | {} | {} |",
        ended.name,
        outcome.tally.passed,
        outcome.tally.failed,
        listed(&outcome.deeds)
    );
    let line_of = |name: &str| match name == ended.name {
        true => Some(made.clone()),
        false => {
            before.lines().find(|line| line.starts_with(&format!("| {name} |"))).map(str::to_owned)
        }
    };
    let lines = CHECKS.iter().map(|check| {
        let none = || format!("| {} | not yet | | | | | |", check.name);
        line_of(check.name).unwrap_or_else(none) + "\n"
    });
    HEAD.to_owned() + &lines.collect::<String>()
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
    fn a_check_that_ended_has_a_line_and_the_others_keep_theirs() {
        use crate::stages::{Deeds, Outcome, Tally};
        let ended = |name, passed, failed| Ended {
            name,
            took: std::time::Duration::from_secs(90),
            how: "",
            outcome: Outcome {
                tally: Tally { passed, failed },
                deeds: Deeds::from([("kills".to_owned(), 9)]),
            },
        };
        let first = with_line("", &ended("kills", 3, 0), "2026-01-02", "abc");
        assert!(
            first.contains("\n| kills | 2026-01-02 | abc | 1.5 | 3 | 0 | 9 kills |\n"),
            "{first}"
        );
        assert!(first.contains("\n| soak | not yet |"), "{first}");
        let second = with_line(&first, &ended("soak", 0, 1), "2026-01-03", "abd");
        assert!(second.contains("| kills | 2026-01-02 | abc |"), "{second}");
        assert!(second.contains("| soak | 2026-01-03 | abd | 1.5 | 0 | 1 |"), "{second}");
        assert_eq!(first.lines().count(), second.lines().count());
        let again = with_line(&second, &ended("kills", 4, 0), "2026-01-04", "abe");
        assert!(again.contains("abe") && !again.contains("abc"), "{again}");
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        for (words, part) in [(["kilsl"], "'kilsl'"), (["--long"], "'--long'")] {
            let error = run(Path::new("/"), &words.map(str::to_owned)).expect_err("refused");
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
