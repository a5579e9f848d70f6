//! Stages: commands run one after another, timed, their test results added up; some run beside the others.

use anyhow::{Context, Result, anyhow};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

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
pub(crate) type Deeds = BTreeMap<String, u64>;

/// What a stage came to.
pub(crate) struct Outcome {
    pub(crate) tally: Tally,
    pub(crate) deeds: Deeds,
}

/// A stage that ran.
pub(crate) struct Ended {
    pub(crate) name: &'static str,
    pub(crate) took: Duration,
    /// Added to its line: whether it ran beside others.
    pub(crate) how: &'static str,
    pub(crate) outcome: Outcome,
}

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

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self { passed: 0, failed: 0 } => "skipped",
            Self { failed: 0, .. } => "passed",
            _ => "FAILED",
        }
    }
}

/// A stage that waits more than it computes: it runs beside those that follow another, and is waited
/// for after the last.
pub(crate) struct Beside {
    /// The name of the stage after which it is started.
    pub(crate) after: &'static str,
    pub(crate) stage: &'static Stage,
}

/// Runs every stage, whatever became of those before it, and prints the minutes of each,
/// what was done, and `N passed, N failed`. Whether nothing failed. `told` hears of each that ended.
pub(crate) fn run_all(
    root: &Path,
    stages: &[&'static Stage],
    beside: &[Beside],
    told: &mut dyn FnMut(&Ended) -> Result<()>,
) -> Result<bool> {
    run_to(&mut std::io::stdout().lock(), root, stages, beside, told)
}

fn run_to(
    out: &mut dyn Write,
    root: &Path,
    stages: &[&'static Stage],
    beside: &[Beside],
    told: &mut dyn FnMut(&Ended) -> Result<()>,
) -> Result<bool> {
    let began = Instant::now();
    let (mut ended, mut running) = (Vec::new(), Vec::new());
    for stage in stages {
        writeln!(out, "\n=== {}: {}", stage.name, command(stage).join(" "))?;
        out.flush()?;
        let started = Instant::now();
        let outcome = match start(root, stage) {
            Ok(child) => finish(child, out)?,
            Err(error) => {
                writeln!(out, "{error:#}")?;
                Outcome { tally: Tally { passed: 0, failed: 1 }, deeds: Deeds::new() }
            }
        };
        let stage_ended = Ended { name: stage.name, took: started.elapsed(), how: "", outcome };
        told(&stage_ended)?;
        ended.push(stage_ended);
        for Beside { stage, .. } in beside.iter().filter(|beside| beside.after == stage.name) {
            let command = command(stage).join(" ");
            writeln!(out, "\n=== {}: {command}, beside what follows", stage.name)?;
            running.push((stage.name, keep(stage, start(root, stage)?)));
        }
    }
    for (name, kept) in running {
        writeln!(out, "\n=== {name}: waited for")?;
        out.flush()?;
        let kept = kept.join().map_err(|_| anyhow!("reading what {name} prints"))?;
        let (printed, stage_ended) = kept?;
        out.write_all(&printed)?;
        told(&stage_ended)?;
        ended.push(stage_ended);
    }
    sum_up(out, &ended, began.elapsed())
}

/// The end of it: minutes, deeds, tests.
fn sum_up(out: &mut dyn Write, ended: &[Ended], took: Duration) -> Result<bool> {
    let (mut total, mut deeds) = (Tally::default(), Deeds::new());
    writeln!(out)?;
    for Ended { name, took, how, outcome } in ended {
        let minutes = took.as_secs_f64() / 60.0;
        writeln!(out, "{name:<12} {minutes:>6.1} min  {}{how}", outcome.tally.word())?;
        total.add(outcome.tally);
        for (what, count) in &outcome.deeds {
            *deeds.entry(what.clone()).or_default() += count;
        }
    }
    writeln!(out)?;
    if !deeds.is_empty() {
        let (deeds, hours) = (listed(&deeds), took.as_secs_f64() / 3600.0);
        writeln!(out, "done: {deeds}; {hours:.1} hours, {} findings\n", total.failed)?;
    }
    writeln!(out, "{} passed, {} failed", total.passed, total.failed)?;
    Ok(total.failed == 0)
}

/// Deeds in one line.
pub(crate) fn listed(deeds: &Deeds) -> String {
    let deeds = deeds.iter().map(|(what, count)| format!("{count} {what}"));
    deeds.collect::<Vec<_>>().join(", ")
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

/// Reads what it prints for later, so that it never waits for a reader and no two speak at once.
fn keep(stage: &'static Stage, child: Child) -> JoinHandle<Result<(Vec<u8>, Ended)>> {
    let started = Instant::now();
    std::thread::spawn(move || {
        let mut printed = Vec::new();
        let outcome = finish(child, &mut printed)?;
        let how = ", beside the others";
        Ok((printed, Ended { name: stage.name, took: started.elapsed(), how, outcome }))
    })
}

/// Hands on what it prints until it has ended.
fn finish(mut child: Child, out: &mut dyn Write) -> Result<Outcome> {
    let output = BufReader::new(child.stdout.take().context("no output to read")?);
    let (mut tally, mut deeds): (Option<Tally>, _) = (None, Deeds::new());
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
    Ok(Outcome { tally: judge(tally, child.wait()?.success()), deeds })
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

    fn run(out: &mut Vec<u8>, root: &Path, stages: &[&'static Stage], beside: &[Beside]) -> bool {
        run_to(out, root, stages, beside, &mut |_| Ok(())).expect("run")
    }

    fn stage(name: &'static str, argv: &[&'static str]) -> &'static Stage {
        let argv = Box::leak(Box::from(argv));
        Box::leak(Box::new(Stage { name, argv, environment: &[("RESULT", "1 passed")] }))
    }

    #[test]
    fn what_was_done_is_added_up_and_told_at_the_end() {
        let script =
            "echo 'did: 3 kills'; echo 'did: 4 kills'; echo 'did: x'; echo ' did: 1 fault'";
        let stage = stage("x", &["sh", "-c", script]);
        let mut out = Vec::new();
        run(&mut out, Path::new("/"), &[stage, stage], &[]);
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
        let script = "echo \"test result: ok. $RESULT; 0 failed;\"";
        let good = stage("x", &["sh", "-c", script]);
        let bad = stage("x", &["false"]);
        let mut out = Vec::new();
        assert!(!run(&mut out, Path::new("/"), &[bad, good], &[]));
        let text = String::from_utf8(out).expect("text");
        assert!(text.ends_with("1 passed, 1 failed\n") && text.contains("FAILED"), "{text}");
        assert!(run(&mut Vec::new(), Path::new("/"), &[good], &[]));
        // What cannot be started fails, and the next is run.
        let none = stage("x", &["no-such-program"]);
        let mut out = Vec::new();
        assert!(!run(&mut out, Path::new("/"), &[none, good], &[]));
        let text = String::from_utf8(out).expect("text");
        assert!(text.ends_with("1 passed, 1 failed\n") && text.contains("installed?"), "{text}");
    }

    #[test]
    fn a_stage_beside_the_others_never_waits_for_a_reader() {
        let folder = tempfile::tempdir().expect("folder");
        // More than a pipe holds, and only then what the next stage waits for.
        let talks =
            stage("talks", &["sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x; echo; touch a"]);
        let listens = stage("listens", &["sh", "-c", "until [ -e a ]; do sleep 0.01; done"]);
        let beside = [Beside { after: "first", stage: talks }];
        let mut out = Vec::new();
        let stages = [stage("first", &["true"]), listens];
        assert!(run(&mut out, folder.path(), &stages, &beside));
        assert!(out.len() > 1_000_000, "{}", out.len());
    }

    #[test]
    fn a_stage_beside_the_others_is_waited_for_and_counts() {
        let folder = tempfile::tempdir().expect("folder");
        // Each waits for the other: only side by side do they end.
        let waits = stage(
            "waits",
            &[
                "sh",
                "-c",
                "touch a; until [ -e b ]; do sleep 0.01; done; echo did: 2 waits; exit 1",
            ],
        );
        let answers =
            stage("answers", &["sh", "-c", "until [ -e a ]; do sleep 0.01; done; touch b"]);
        let beside = [Beside { after: "first", stage: waits }];
        let mut out = Vec::new();
        let stages = [stage("first", &["true"]), answers];
        let all_well = run(&mut out, folder.path(), &stages, &beside);
        let text = String::from_utf8(out).expect("text");
        assert!(!all_well, "{text}");
        assert!(text.contains("FAILED, beside the others"), "{text}");
        assert!(text.contains("done: 2 waits;"), "{text}");
        assert!(text.ends_with("2 passed, 1 failed\n"), "{text}");
    }
}
