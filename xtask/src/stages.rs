//! Stages: commands run one after another, timed, their test results added up; one may run beside.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A command with a name.
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    /// Program and arguments.
    pub(crate) argv: &'static [&'static str],
    /// Environment variables to set. Those of this project only if they are not set already: they say how
    /// long a check takes, and a trial run may want it shorter.
    pub(crate) environment: &'static [(&'static str, &'static str)],
}

/// How much was done of what, as lines like `did: 200 kills of studies` tell.
type Deeds = BTreeMap<String, u64>;

/// What passed and what failed: tests where a stage runs tests, else the stage itself.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// A stage that takes long and costs little: it runs beside those that follow another, and is waited
/// for after the last.
pub(crate) struct Beside {
    /// The name of the stage after which it is started.
    pub(crate) after: &'static str,
    pub(crate) stage: &'static Stage,
}

/// Runs every stage, whatever became of those before it, and prints the minutes of each,
/// what was done, and `N passed, N failed`. Whether nothing failed.
pub(crate) fn run_all(root: &Path, stages: &[&Stage], beside: Option<&Beside>) -> Result<bool> {
    run_to(&mut std::io::stdout().lock(), root, stages, beside)
}

fn run_to(
    out: &mut dyn Write,
    root: &Path,
    stages: &[&Stage],
    beside: Option<&Beside>,
) -> Result<bool> {
    let mut total = Tally::default();
    let mut times = Vec::new();
    let mut deeds = Deeds::new();
    let began = Instant::now();
    let mut running = None;
    let mut end = |started: Instant, stage: &Stage, how: &str, tally: Tally| {
        let minutes = started.elapsed().as_secs_f64() / 60.0;
        let outcome = match tally {
            Tally { passed: 0, failed: 0 } => "skipped",
            Tally { failed: 0, .. } => "passed",
            _ => "FAILED",
        };
        times.push(format!("{:<12} {minutes:>6.1} min  {outcome}{how}\n", stage.name));
        total.add(tally);
    };
    for stage in stages {
        writeln!(out, "\n=== {}: {}", stage.name, command(stage).join(" "))?;
        out.flush()?;
        let started = Instant::now();
        let tally = match start(root, stage) {
            Ok(child) => finish(child, out, &mut deeds)?,
            Err(error) => {
                writeln!(out, "{error:#}")?;
                Tally { passed: 0, failed: 1 }
            }
        };
        end(started, stage, "", tally);
        if let Some(Beside { stage, .. }) = beside.filter(|beside| beside.after == stage.name) {
            writeln!(
                out,
                "\n=== {}: {}, beside what follows",
                stage.name,
                command(stage).join(" ")
            )?;
            running = Some((Instant::now(), *stage, start(root, stage)?));
        }
    }
    if let Some((started, stage, child)) = running {
        writeln!(out, "\n=== {}: waited for", stage.name)?;
        out.flush()?;
        end(started, stage, ", beside the others", finish(child, out, &mut deeds)?);
    }
    writeln!(out, "\n{}", times.concat())?;
    if !deeds.is_empty() {
        let hours = began.elapsed().as_secs_f64() / 3600.0;
        let deeds = deeds.iter().map(|(what, count)| format!("{count} {what}"));
        let deeds = deeds.collect::<Vec<_>>().join(", ");
        writeln!(out, "done: {deeds}; {hours:.1} hours, {} findings\n", total.failed)?;
    }
    writeln!(out, "{} passed, {} failed", total.passed, total.failed)?;
    Ok(total.failed == 0)
}

/// What a stage runs: where it has cargo build the program, with the features of all chores. Single
/// libraries do not know all of them.
fn command(stage: &Stage) -> Vec<&'static str> {
    let mut command = stage.argv.to_vec();
    let library = command.windows(2).any(|pair| pair[0] == "--package" && pair[1] != "coretwin");
    if let ["cargo", "build" | "test" | "clippy" | "doc" | "bench", ..] = command[..]
        && !library
    {
        command.splice(2..2, crate::FEATURES);
    }
    command
}

fn start(root: &Path, stage: &Stage) -> Result<Child> {
    let command = command(stage);
    let (program, arguments) = command.split_first().context("a stage without a command")?;
    let is_ours = |name: &str| name.starts_with("CORETWIN_");
    let given = |name: &str| is_ours(name) && std::env::var_os(name).is_some();
    Command::new(program)
        .args(arguments)
        .envs(stage.environment.iter().copied().filter(|(name, _)| !given(name)))
        .current_dir(root)
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {program}; is it installed?"))
}

/// Hands on what it prints until it has ended.
fn finish(mut child: Child, out: &mut dyn Write, deeds: &mut Deeds) -> Result<Tally> {
    let output = BufReader::new(child.stdout.take().context("no output to read")?);
    let mut tally: Option<Tally> = None;
    for line in output.split(b'\n') {
        let line = line?;
        out.write_all(&line)?;
        out.write_all(b"\n")?;
        let line = String::from_utf8_lossy(&line);
        if let Some(result) = test_result(&line) {
            tally.get_or_insert_default().add(result);
        }
        if let Some((count, what)) = deed(&line) {
            *deeds.entry(what.to_owned()).or_default() += count;
        }
    }
    out.flush()?;
    Ok(judge(tally, child.wait()?.success()))
}

/// A stage without tests counts as one; a failure that no test shows (a crate that does not build)
/// counts too.
fn judge(tally: Option<Tally>, success: bool) -> Tally {
    let mut tally = tally.unwrap_or(Tally { passed: u64::from(success), failed: 0 });
    if !success && tally.failed == 0 {
        tally.failed = 1;
    }
    tally
}

/// Reads `test result: ok. 3 passed; 0 failed; …` of a test program, and `vm: 3 passed, 0 failed (…)`.
fn test_result(line: &str) -> Option<Tally> {
    let line = line.trim();
    let counts = match line.strip_prefix("test result: ") {
        Some(rest) => rest.split_once(". ")?.1,
        None => line.strip_prefix("vm: ")?.split_once(" (")?.0,
    };
    let count = |word: &str| {
        counts.split([';', ',']).find_map(|part| part.strip_suffix(word)?.trim().parse().ok())
    };
    Some(Tally { passed: count("passed")?, failed: count("failed")? })
}

/// Reads `did: 200 kills of studies`.
fn deed(line: &str) -> Option<(u64, &str)> {
    let (count, what) = line.trim().strip_prefix("did: ")?.split_once(' ')?;
    Some((count.parse().ok()?, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_added_up_and_told_at_the_end() {
        let script =
            "echo 'did: 3 kills'; echo 'did: 4 kills'; echo 'did: x'; echo ' did: 1 fault'";
        let argv = Box::leak(Box::new(["sh", "-c", script]));
        let stage = Stage { name: "x", argv, environment: &[] };
        let mut out = Vec::new();
        run_to(&mut out, Path::new("/"), &[&stage, &stage], None).expect("run");
        let text = String::from_utf8(out).expect("text");
        assert!(text.contains("done: 2 fault, 14 kills; 0.0 hours, 0 findings"), "{text}");
        assert!(text.ends_with("\n2 passed, 0 failed\n"), "{text}");
    }

    #[test]
    fn results_of_tests_are_read() {
        let line =
            "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out";
        assert_eq!(test_result(line), Some(Tally { passed: 12, failed: 3 }));
        let line = "vm: 12 passed, 3 failed (41 s)";
        assert_eq!(test_result(line), Some(Tally { passed: 12, failed: 3 }));
        for other in [
            "vm: skipped: no kernel (x)",
            "test a ... ok",
            "test result: nonsense",
            "",
            "x test result: ok. 1 passed",
        ] {
            assert_eq!(test_result(other), None, "{other}");
        }
    }

    #[test]
    fn whatever_cargo_builds_has_the_features() {
        let of = |argv| command(&Stage { name: "x", argv, environment: &[] }).join(" ");
        assert_eq!(of(&["cargo", "test", "--", "x"]), "cargo test --features bpf,parquet -- x");
        let of_program = of(&["cargo", "test", "--package", "coretwin"]);
        assert_eq!(of_program, "cargo test --features bpf,parquet --package coretwin");
        let of_library = ["cargo", "test", "--package", "coretwin-store"];
        assert_eq!(of(Box::leak(Box::new(of_library))), of_library.join(" "));
        assert_eq!(of(&["cargo", "xtask", "tidy"]), "cargo xtask tidy");
        assert_eq!(of(&["sh", "build"]), "sh build");
    }

    #[test]
    fn a_failure_without_a_failed_test_counts() {
        let tally = |passed, failed| Tally { passed, failed };
        assert_eq!(judge(None, true), tally(1, 0));
        assert_eq!(judge(None, false), tally(0, 1));
        assert_eq!(judge(Some(tally(0, 0)), true), tally(0, 0));
        assert_eq!(judge(Some(tally(9, 0)), false), tally(9, 1));
        assert_eq!(judge(Some(tally(9, 2)), false), tally(9, 2));
    }

    #[test]
    fn stages_run_to_the_end_and_report_failure() {
        let stage = |argv| Stage { name: "x", argv, environment: &[("RESULT", "1 passed")] };
        let script = "echo \"test result: ok. $RESULT; 0 failed;\"";
        let good = stage(Box::leak(Box::new(["sh", "-c", script])));
        let bad = stage(&["false"]);
        let mut out = Vec::new();
        assert!(!run_to(&mut out, Path::new("/"), &[&bad, &good], None).expect("run"));
        let text = String::from_utf8(out).expect("text");
        assert!(text.ends_with("1 passed, 1 failed\n") && text.contains("FAILED"), "{text}");
        assert!(run_to(&mut Vec::new(), Path::new("/"), &[&good], None).expect("run"));
        // What cannot be started fails, and the next is run.
        let none = stage(&["no-such-program"]);
        let mut out = Vec::new();
        assert!(!run_to(&mut out, Path::new("/"), &[&none, &good], None).expect("run"));
        let text = String::from_utf8(out).expect("text");
        assert!(text.ends_with("1 passed, 1 failed\n") && text.contains("installed?"), "{text}");
    }

    #[test]
    fn a_stage_beside_the_others_is_waited_for_and_counts() {
        let stage = |name, argv| &*Box::leak(Box::new(Stage { name, argv, environment: &[] }));
        let folder = tempfile::tempdir().expect("folder");
        // Each waits for the other: only side by side do they end.
        let waits =
            stage("waits", &["sh", "-c", "touch a; until [ -e b ]; do sleep 0.01; done; exit 1"]);
        let answers =
            stage("answers", &["sh", "-c", "until [ -e a ]; do sleep 0.01; done; touch b"]);
        let beside = Beside { after: "first", stage: waits };
        let mut out = Vec::new();
        let stages = [stage("first", &["true"]), answers];
        let all_well = run_to(&mut out, folder.path(), &stages, Some(&beside));
        let text = String::from_utf8(out).expect("text");
        assert!(!all_well.expect("run"), "{text}");
        assert!(text.contains("FAILED, beside the others"), "{text}");
        assert!(text.ends_with("2 passed, 1 failed\n"), "{text}");
    }
}
