//! `cargo xtask mutate`: whether tests can fail. Faults are planted one at a time into a copy of the tree,
//! and the test that [`faults::all`] names for it must fail, having passed before.

mod faults;

use crate::print;
use anyhow::{Context, Result, bail, ensure};
use faults::{Fault, Suite};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What a test may take, in seconds: one that does not end has noticed the fault, too.
const LIMIT_S: &str = "240";
/// The kernel of guests, as `vm --kernel` takes it.
const GUEST: &str = "7.3";
/// How `timeout` tells that it was needed.
const TIMED_OUT: [i32; 2] = [124, 137];

/// Plants all faults, or those named; whether every one was caught.
pub(crate) fn run(root: &Path, names: &[String]) -> Result<bool> {
    if let Some(name) = names.iter().find(|name| faults::all().all(|fault| fault.name != **name)) {
        bail!("no planted fault is called '{name}'");
    }
    let is_chosen = |fault: &&Fault| names.is_empty() || names.iter().any(|n| n == fault.name);
    let chosen: Vec<&Fault> = faults::all().filter(is_chosen).collect();
    let folder = crate::target_folder(root).join("mutate");
    let tree = Tree { root, copy: &folder.join("tree"), target: &folder.join("target") };
    tree.refresh()?;
    let skipped = tree.check_without_faults(&chosen)?;
    let (untried, tried): (Vec<&Fault>, Vec<&Fault>) =
        chosen.into_iter().partition(|fault| skipped.contains(&fault.suite));
    for fault in untried {
        print(&format!("{:<34} not tried: this machine cannot run its test\n", fault.name));
    }
    let mut escaped = Vec::new();
    for fault in &tried {
        tree.refresh()?;
        let path = tree.copy.join(fault.file);
        fs::write(&path, fault.planted(&fs::read_to_string(&path)?)?)?;
        let answer = tree.test(fault.suite, &[fault.test]);
        let answer = answer.with_context(|| format!("the fault '{}'", fault.name))?;
        let told = match answer {
            Answer::Passed | Answer::Skipped => "NOT CAUGHT",
            Answer::Failed => "caught",
            Answer::TookTooLong => "caught (no end)",
        };
        print(&format!("{:<34} {told:<16} {}\n", fault.name, fault.test));
        if told == "NOT CAUGHT" {
            escaped.push(fault.name);
        }
    }
    tree.refresh()?;
    print(&format!("did: {} planted faults caught\n", tried.len() - escaped.len()));
    if !escaped.is_empty() {
        print(&format!(
            "not caught: {}; the tests named for them cannot fail\n",
            escaped.join(", ")
        ));
    }
    Ok(escaped.is_empty())
}

impl Fault {
    /// The file's text with the fault.
    fn planted(&self, text: &str) -> Result<String> {
        let count = text.matches(self.find).count();
        ensure!(
            count == 1,
            "the fault '{}': its text is in {} {count} times and must be there once; write it anew \
             in xtask/src/mutate/faults/",
            self.name,
            self.file
        );
        Ok(text.replace(self.find, self.put))
    }
}

/// How a test went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Passed,
    /// The machine cannot run it.
    Skipped,
    Failed,
    TookTooLong,
}

/// A copy of the sources, with a target folder of its own.
struct Tree<'a> {
    root: &'a Path,
    copy: &'a Path,
    target: &'a Path,
}

impl Tree<'_> {
    /// Makes the copy equal to the sources again. Files that are equal keep their time, so that
    /// little is built.
    fn refresh(&self) -> Result<()> {
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let listed = Command::new("git").args(list).current_dir(self.root).output()?;
        ensure!(listed.status.success(), "git cannot list the files of {}", self.root.display());
        let listed = String::from_utf8(listed.stdout)?;
        let names: BTreeSet<PathBuf> = listed.split_terminator('\0').map(PathBuf::from).collect();
        // A module that moved must not be found at its old place, too.
        let mut folders = vec![self.copy.join("crates")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if !names.contains(path.strip_prefix(self.copy)?) {
                    fs::remove_file(path)?;
                }
            }
        }
        for name in names {
            let (from, to) = (self.root.join(&name), self.copy.join(&name));
            // One that was removed is listed until that is committed.
            let Ok(bytes) = fs::read(&from) else { continue };
            if fs::read(&to).is_ok_and(|there| there == bytes) {
                continue;
            }
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(&to, bytes).with_context(|| format!("writing {}", to.display()))?;
        }
        Ok(())
    }

    /// What fails anyway catches nothing. The suites that this machine cannot run.
    fn check_without_faults(&self, faults: &[&Fault]) -> Result<BTreeSet<Suite>> {
        let mut skipped = BTreeSet::new();
        let suites: BTreeSet<Suite> = faults.iter().map(|fault| fault.suite).collect();
        for suite in suites {
            let of_suite = faults.iter().filter(|fault| fault.suite == suite);
            let tests: BTreeSet<&str> = of_suite.map(|fault| fault.test).collect();
            let tests: Vec<&str> = tests.into_iter().collect();
            match self.test(suite, &tests)? {
                Answer::Passed => {}
                Answer::Skipped => drop(skipped.insert(suite)),
                _ => bail!("without a fault one of these does not pass: {}", tests.join(", ")),
            }
        }
        Ok(skipped)
    }

    /// Builds and runs tests, on what the copy holds now.
    fn test(&self, suite: Suite, tests: &[&str]) -> Result<Answer> {
        if let Suite::Guest(boot) = suite {
            return self.boot(boot, tests);
        }
        let (package, arguments) = (["--package", suite.package()], suite.arguments());
        if suite.needs_examples() {
            let built = self.cargo(&["cargo", "build", "--quiet", "--examples"], &package, &[])?;
            ensure!(built.status.success(), "it does not build:\n{}", text(&built));
        }
        let build = ["cargo", "test", "--quiet", "--no-run"];
        let built = self.cargo(&build, &package, &arguments)?;
        ensure!(built.status.success(), "it does not build:\n{}", text(&built));
        let limited = ["timeout", "--kill-after=5", LIMIT_S, "cargo", "test"];
        let words = [&arguments[..], &["--", "--exact", "--nocapture"], tests].concat();
        let ran = self.cargo(&limited, &package, &words)?;
        if ran.status.code().is_some_and(|code| TIMED_OUT.contains(&code)) {
            return Ok(Answer::TookTooLong);
        }
        let said = text(&ran);
        let began = match tests.len() {
            1 => "running 1 test\n".to_owned(),
            count => format!("running {count} tests\n"),
        };
        ensure!(said.contains(&began), "not all are there of {}:\n{said}", tests.join(", "));
        Ok(match ran.status.success() {
            true if said.lines().any(|line| line.starts_with("skipped: ")) => Answer::Skipped,
            true => Answer::Passed,
            false => Answer::Failed,
        })
    }

    /// Boots a guest with what the copy holds now, and looks for the checks that begin with these words.
    fn boot(&self, boot: &str, checks: &[&str]) -> Result<Answer> {
        let words = ["cargo", "xtask", "vm", "sched", "--boot", boot, "--kernel", GUEST];
        let said = text(&self.cargo(&words, &[], &[])?);
        if said.contains("(skipped: ") {
            return Ok(Answer::Skipped);
        }
        let told = |check: &&str| said.lines().find(|line| line.contains(&format!(": {check}")));
        let lines: Vec<&str> = checks.iter().filter_map(told).collect();
        let ended = !said.lines().any(|line| line.starts_with("FAILED"));
        let all = lines.len() == checks.len() || !ended;
        ensure!(all, "not all are there of {}:\n{said}", checks.join(", "));
        lines.iter().for_each(|line| print(&format!("{line}\n")));
        let passed =
            lines.len() == checks.len() && lines.iter().all(|line| line.starts_with("ok "));
        Ok(if passed { Answer::Passed } else { Answer::Failed })
    }

    fn cargo(&self, words: &[&str], package: &[&str], more: &[&str]) -> Result<Output> {
        Command::new(words[0])
            .args(&words[1..])
            .args(package)
            .args(more)
            .current_dir(self.copy)
            .env("CARGO_TARGET_DIR", self.target)
            // No backtrace is read here, and without it building takes half as long.
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("RUST_BACKTRACE", "0")
            .env("PROPTEST_RNG_SEED", "20261121")
            .env("PROPTEST_FAILURE_PERSISTENCE", "off")
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("starting {}", words[0]))
    }
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

impl Suite {
    fn package(self) -> &'static str {
        match self {
            Self::Unit(package) | Self::Tests(package, _) | Self::Live(package, _) => package,
            Self::Guest(_) => "xtask",
        }
    }

    fn arguments(self) -> Vec<&'static str> {
        match self {
            // It is a program, without a library.
            Self::Unit("coretwin") => vec!["--bin", "coretwin"],
            Self::Unit(_) => vec!["--lib"],
            Self::Tests(_, name) => vec!["--test", name],
            Self::Live(_, name) => vec!["--features", "bpf", "--test", name],
            Self::Guest(_) => Vec::new(),
        }
    }

    /// Cargo builds the worker for all tests together, and not for one of them.
    fn needs_examples(self) -> bool {
        matches!(self, Self::Tests("coretwin-workloads", _))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_can_be_planted_and_its_test_is_there() {
        let root = crate::root();
        let mut names = BTreeSet::new();
        for fault in faults::all() {
            assert!(names.insert(fault.name), "'{}' is there twice", fault.name);
            assert_ne!(fault.find, fault.put, "{}", fault.name);
            let text = fs::read_to_string(root.join(fault.file)).expect(fault.file);
            fault.planted(&text).unwrap_or_else(|error| panic!("{error}"));
            if let Suite::Guest(_) = fault.suite {
                assert!(holds(&root.join("xtask/src/vm"), fault.test), "{}", fault.name);
                continue;
            }
            let function = format!("fn {}(", fault.test.rsplit("::").next().unwrap_or_default());
            // A fault may show in the tests of a crate that imports its own.
            let name = fault.suite.package().trim_start_matches("coretwin-");
            let folder = if name == "coretwin" { "cli" } else { name };
            let folder = root.join("crates").join(folder);
            assert!(holds(&folder, &function), "{}: no {function}", fault.name);
            if let Suite::Unit(_) = fault.suite {
                let (module, _) = fault.test.split_once("::tests").unwrap_or((fault.test, ""));
                let module = folder.join("src").join(module.replace("::", "/"));
                let there = module.is_dir() || module.with_extension("rs").is_file();
                assert!(there, "{}: its test has moved: {}", fault.name, fault.test);
            }
        }
        assert!(names.len() >= 30, "{}", names.len());
    }

    fn holds(folder: &Path, function: &str) -> bool {
        fs::read_dir(folder).expect("folder").flatten().map(|entry| entry.path()).any(|path| {
            if path.is_dir() {
                return holds(&path, function);
            }
            path.extension().is_some_and(|ending| ending == "rs")
                && fs::read_to_string(&path).is_ok_and(|text| text.contains(function))
        })
    }

    #[test]
    fn a_text_that_is_not_there_once_is_an_error_of_the_list() {
        let fault = Fault { find: "a", put: "b", ..*faults::all().next().expect("one") };
        assert_eq!(fault.planted("xay").expect("once"), "xby");
        for text in ["xy", "aa"] {
            assert!(fault.planted(text).is_err(), "{text}");
        }
    }
}
