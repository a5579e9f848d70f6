//! Studies of real commands and of chat, through the real programs, on whatever machine this is.

mod common;

use common::{Ran, coretwin, host, journal};
use serde_json::Value;
use std::path::Path;

const ARMS: [&str; 4] = ["--arm", "a=cpus:0", "--arm", "b=cpus:0"];

fn study(folder: &Path, args: &[&str]) -> Ran {
    coretwin(
        folder,
        &[&["study", "--others-limit", "100%", "--steal-limit", "100%"], args].concat(),
    )
}

fn summary(folder: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join("summary.json")).expect("summary"))
        .expect("json")
}

#[test]
fn until_verdict_ends_with_the_first_sets_that_decide() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let line = "case {arm} in a) sleep 0.3;; *) sleep 0.02;; esac";
    let args =
        [&ARMS[..], &["--quick", "--until", "verdict", "--out", "s", "--", "sh", "-c", line]];
    let ran = study(folder.path(), &args.concat());
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.out.starts_with("BETTER: choose b") && ran.out.lines().count() <= 7, "{}", ran.out);
    assert!(ran.out.contains("95 % confidence sequence"), "{}", ran.out);
    let out = folder.path().join("s");
    let summary = summary(&out);
    assert_eq!(summary["rule"], "verdict");
    assert_eq!(summary["meaning"], "beyond-margin");
    assert_eq!(summary["stopped_because"], "verdict");
    let blocks = summary["blocks"].as_u64().expect("blocks");
    assert!(blocks.is_multiple_of(4) && blocks <= 12, "{blocks}");
    for file in ["report.html", "report.md"] {
        let text = std::fs::read_to_string(out.join(file)).expect(file);
        assert!(text.contains("95 % confidence sequence"), "{file}");
    }
    // What stopped where an effect looked large is no part of a fleet's mean.
    std::fs::write(folder.path().join("hosts"), "a\n").expect("hosts");
    let plan = ["fleet", "plan", "f", "--engine=ssh", "--hosts=hosts", "--", "study"];
    let planned = |more: &[&str]| coretwin(folder.path(), &[&plan[..], more].concat());
    assert!(planned(&["--until=verdict", "chat"]).err.contains("--until verdict"));
    assert_eq!(planned(&["chat"]).status, 0);
    let ran = coretwin(folder.path(), &["fleet", "bundle", "s", "--fleet=f", "--task=0"]);
    assert!(ran.status == 2 && ran.err.contains("--until verdict"), "{ran:?}");
    let ran = study(
        folder.path(),
        &[&ARMS[..], &["--until=verdict", "--blocks=9", "--", "true"]].concat(),
    );
    assert!(ran.status == 2 && ran.err.contains("leave out --blocks"), "{ran:?}");
}

#[test]
fn a_command_is_compared_end_to_end_and_leaves_every_file() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let args =
        [&ARMS[..], &["--blocks", "4", "--out", "s", "--", "sh", "-c", "sleep 0.0{threads}1"]]
            .concat();
    let ran = study(folder.path(), &args);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let first = ran.err.lines().next().unwrap_or_default();
    assert!(first.contains("says nothing about SMT"), "the first line is honest: {first}");
    let out = folder.path().join("s");
    for file in [
        "plan.json",
        "journal.jsonl",
        "environment.json",
        "summary.json",
        "report.html",
        "report.md",
    ] {
        assert!(out.join(file).metadata().expect(file).len() > 100, "{file}");
    }
    let readings = journal(&out);
    assert_eq!(readings.len(), 1 + 8);
    for reading in &readings {
        assert_eq!(reading["status"], "ok", "{reading}");
        assert!(reading["value"].as_f64().expect("value") > 0.01);
        assert!(reading["checks"].as_object().expect("checks").values().all(|held| held == true));
        assert!(reading["metrics"]["peak_memory_kib"]["value"].as_f64().expect("peak") > 100.0);
    }
    let summary = summary(&out);
    assert_eq!(summary["comparison"], "none");
    assert_eq!(summary["rows"][0]["blocks"], 4);
    let again = coretwin(folder.path(), &["report", "s", "--format", "json"]);
    let again: Value = serde_json::from_str(&again.out).expect("json");
    assert_eq!(again, summary, "the journal alone gives the same summary");
}

#[test]
fn a_planted_difference_is_found_from_the_output_of_the_command() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let script = "[ {arm} = a ] && echo 'rate: 100 per second' || echo 'rate: 125 per second'";
    let metric = "rate:per second:higher=rate: ([0-9]+)";
    let args = [&ARMS[..], &["--out", "s", "--metric", metric, "--json", "--", "sh", "-c", script]]
        .concat();
    let ran = study(folder.path(), &args);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let summary: Value = serde_json::from_str(&ran.out).expect("json");
    let suite = &summary["suites"][0];
    assert_eq!(suite["verdict"], "helps");
    assert!((suite["ratio"].as_f64().expect("ratio") - 1.25).abs() < 1e-9);
    assert_eq!(summary["stopped_because"], "target");
    let matched = study(
        folder.path(),
        &[
            &ARMS[..],
            &["--fail-on", "helps", "--out", "t", "--metric", metric, "--", "sh", "-c", script],
        ]
        .concat(),
    );
    assert_eq!(matched.status, 1, "--fail-on matched");
}

#[test]
fn copies_are_compared_by_their_rate() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let args = [
        "--arm", "a=cpus:0", "--arm", "b=cpus:0", "--copies", "1,3", "--blocks", "2", "--out", "s",
    ];
    let ran = study(folder.path(), &[&args[..], &["--", "sleep", "0.1"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.err);
    for reading in journal(&folder.path().join("s")) {
        assert_eq!(reading["unit"], "runs/s");
        let rate = reading["value"].as_f64().expect("value");
        let copies = reading["copies"].as_f64().expect("copies");
        assert!(rate < copies * 10.0 && rate > copies, "{copies} sleeps side by side: {rate}/s");
    }
}

#[test]
fn chat_is_studied_with_its_totals_checked() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let args = [&ARMS[..], &["--blocks", "2", "--out", "s", "chat:rooms=1,messages=10"]].concat();
    let ran = study(folder.path(), &args);
    assert_eq!(ran.status, 0, "{}", ran.err);
    for reading in journal(&folder.path().join("s")) {
        assert_eq!(reading["operations"], 20 * 10 + 19 * 20 * 10);
        assert_eq!(reading["threads"], 80);
    }
}

#[test]
fn a_failing_command_is_a_result_with_its_output() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let script =
        "echo to be seen; [ {arm} = a ] || { echo no such; printf 'in\\033put\\n'; exit 7; } >&2";
    let args =
        [&ARMS[..], &["--blocks", "2", "--full", "--out", "s", "--", "sh", "-c", script]].concat();
    let ran = study(folder.path(), &args);
    assert_eq!(ran.status, 1, "done, but cells failed: {}", ran.err);
    let failed: Vec<Value> = journal(&folder.path().join("s"))
        .into_iter()
        .filter(|reading| reading["status"] == "failed")
        .collect();
    assert_eq!(failed.len(), 2);
    assert!(failed[0]["cause"].as_str().expect("cause").contains('7'), "{}", failed[0]);
    assert!(failed[0]["output"].as_str().expect("output").contains("to be seen"));
    let said = "failed: command in arm b: the command ended with status 7; it said: no such in put";
    assert!(ran.err.contains(said), "the message has the end of standard error: {}", ran.err);
    assert!(ran.out.contains("it said: no such in put"), "and the report: {}", ran.out);
    assert!(folder.path().join("s/report.html").exists());
}

#[test]
fn a_server_is_started_for_every_run_and_ended_after_it() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let server = "echo $$ >> pids; touch up; exec sleep 1000";
    let args = [
        &ARMS[..],
        &["--blocks", "2", "--no-warmup", "--out", "s", "--prepare", "rm -f up"],
        &["--server", server, "--ready", "test -e up", "--", "test", "-e", "up"],
    ]
    .concat();
    let ran = study(folder.path(), &args);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let pids = std::fs::read_to_string(folder.path().join("pids")).expect("pids");
    assert_eq!(pids.lines().count(), 4, "one server a run");
    for pid in pids.lines() {
        assert!(!Path::new("/proc").join(pid).exists(), "server {pid} was ended");
    }
}

#[test]
fn a_broken_off_study_is_resumed() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let args = [&ARMS[..], &["--blocks", "3", "--out", "s", "--", "true"]].concat();
    assert_eq!(study(folder.path(), &args).status, 0);
    let path = folder.path().join("s/journal.jsonl");
    let text = std::fs::read_to_string(&path).expect("journal");
    let cut: String = text.split_inclusive('\n').take(4).collect();
    std::fs::write(&path, &cut[..cut.len() - 30]).expect("cut in the middle of a line");
    let ran = coretwin(folder.path(), &["study", "--resume", "s"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.err.contains("torn"), "{}", ran.err);
    assert_eq!(summary(&folder.path().join("s"))["blocks"], 3);
    for (index, reading) in journal(&folder.path().join("s")).iter().enumerate() {
        assert_eq!(reading["seq"], index as u64);
    }
}

#[test]
fn a_full_disk_stops_the_study_and_keeps_what_there_is() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    // A limit on the size of written files stands for a full disk: the kernel refuses alike.
    let script = format!(
        "ulimit -f 12; trap '' XFSZ; exec {} study --blocks 40 --arm a=cpus:0 --arm b=cpus:0 --others-limit 100% --steal-limit 100% --out s -- true",
        common::CORETWIN
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder.path())
        .output()
        .expect("sh");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("no space left") && err.contains("KiB"), "{err}");
    assert!(err.contains("--resume"), "{err}");
    let kept = journal(&folder.path().join("s")).len();
    assert!(kept > 0, "{err}");
    let ran = coretwin(folder.path(), &["study", "--resume", "s"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert_eq!(summary(&folder.path().join("s"))["blocks"], 40);
}

#[test]
fn two_studies_at_once_are_refused() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let root = coretwin_host::root::Root::system();
    // A study that another test has interrupted may take a moment to end.
    let lock = (0..100).find_map(|_| {
        let lock = coretwin_host::lock::acquire(&root);
        if lock.is_err() {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        lock.ok()
    });
    let _lock = lock.expect("no other study runs while tests do");
    let mut args = vec!["study", "--out", "s"];
    args.extend(ARMS);
    args.extend(["--", "true"]);
    let output = std::process::Command::new(common::CORETWIN)
        .args(&args)
        .current_dir(folder.path())
        .output()
        .expect("starts");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains(&format!("process {}", std::process::id())), "{err}");
    assert!(!folder.path().join("s").exists(), "nothing is written");
    // What makes no sense is said all the same: the holder of the lock may be hours from its end.
    for (verb, args, part) in [
        ("study", &["chta"][..], "did you mean 'chat'"),
        ("study", &["chat", "--arm", "a=cpus:0", "--arm", "a=cpus:0"], "two arms are called 'a'"),
        ("study", &["--metric", "x=/y", "--primary", "z", "--", "true"], "no metric 'z'"),
        ("run", &["chta"], "did you mean 'chat'"),
        ("cputime", &["--spinner", "natve"], "did you mean 'native'"),
        ("cputime", &["--spinners", "0"], "compares nothing"),
    ] {
        let output = std::process::Command::new(common::CORETWIN)
            .arg(verb)
            .args(args)
            .current_dir(folder.path())
            .output()
            .expect("starts");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{verb} {args:?}: {err}");
        assert!(err.contains(part), "{verb} {args:?}: {err}");
    }
}

#[test]
fn a_parent_that_was_not_there_is_told() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let run = |out| {
        let args = [&ARMS[..], &["--blocks", "1", "--no-warmup", "--out", out, "--", "true"]];
        study(folder.path(), &args.concat()).err
    };
    let said = run("resluts/s");
    assert!(said.contains("results go to resluts/s (made resluts, which was not there)"), "{said}");
    assert!(!run("resluts/t").contains("made"), "now it is there");
    assert!(!run("s").contains("made"), "a folder of its own is expected");
}

#[test]
fn a_busy_machine_is_told_waited_for_and_given_up() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let mut shell = std::process::Command::new("taskset");
    let mut other = shell.args(["-c", "0", "sh", "-c", "while :; do :; done"]).spawn().expect("sh");
    let run = |more: &[&str]| {
        let args = [&["study"], &ARMS[..], &["--blocks", "1", "--no-warmup"], more];
        coretwin(folder.path(), &[&args.concat()[..], &["--", "sleep", "0.2"]].concat())
    };
    let waited = run(&["--wait-quiet=6s", "--out", "w"]);
    let told = run(&["--out", "s"]);
    other.kill().expect("kill");
    other.wait().expect("wait");
    assert_eq!(waited.status, 5, "{}", waited.err);
    assert!(waited.err.contains("after 6.0 s of waiting others use"), "{}", waited.err);
    assert!(waited.err.contains("coretwin study --resume w"), "{}", waited.err);
    assert_eq!(told.status, 5, "{}", told.err);
    for part in ["This machine is busy: others use", "--wait-quiet", "--quick"] {
        assert!(told.err.contains(part), "{part}: {}", told.err);
    }
    assert!(!told.err.contains("is set aside:"), "no line for each: {}", told.err);
    let said = "This machine is too busy to say: 3 of 3 attempts at a block were set aside because";
    assert!(told.out.starts_with("TOO BUSY to say"), "{}", told.out);
    assert!(told.out.contains("the same with --wait-quiet added"), "{}", told.out);
    assert!(summary(&folder.path().join("s"))["sentences"].to_string().contains(said));
}

#[test]
fn commands_are_compared_and_the_answer_says_nothing_of_smt() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let script = |rate: &str| format!("echo rate: {rate} {{n}}; true");
    let metric = "rate:per second:higher=rate: ([0-9]+)";
    let (old, new) = (format!("old={}", script("100")), format!("new={}", script("150")));
    let args = ["--variant", &old, "--variant", &new, "-L", "n", "1,2", "--metric", metric];
    let rest = ["--aa", "--blocks", "4", "-w", "2", "--out", "s"];
    let ran = study(folder.path(), &[&args[..], &rest].concat());
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.out.starts_with("FASTER: choose new: 50.0 % faster"), "{}", ran.out);
    assert!(ran.out.contains("old/again ±0.0 %"), "{}", ran.out);
    let said = format!("{}{}", ran.out, ran.err);
    assert!(!said.to_lowercase().contains("smt") && !said.contains("probe"), "{said}");
    let out = folder.path().join("s");
    let readings = journal(&out);
    let warmups = readings.iter().filter(|reading| reading["phase"] == "warmup").count();
    assert_eq!((warmups, readings.len()), (2 * 2 * 3, 12 + 4 * 2 * 3));
    let summary = summary(&out);
    assert_eq!(summary["arms"][1]["variant"]["argv"][2], script("150"));
    assert_eq!(summary["rows"][1]["row"], "command:n=2");
    for (format, part) in
        [("md", "old against new"), ("csv", ",old/again,"), ("html", "old against new")]
    {
        let shown = coretwin(folder.path(), &["report", "s", "--format", format]);
        assert!(shown.out.contains(part), "{format}: {}", shown.out);
    }
    let gate = study(
        folder.path(),
        &[&args[..], &["--blocks", "4", "--fail-on", "faster", "--out", "t"]].concat(),
    );
    assert_eq!(gate.status, 1, "--fail-on faster matched");
    assert!(gate.out.contains("add --aa"), "{}", gate.out);
}

#[test]
fn a_control_that_differs_withholds_every_verdict() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let rates = "case {arm} in old/again) r=130;; new) r=150;; *) r=100;; esac; echo rate: $r";
    let variants = [format!("--variant=old={rates}"), format!("--variant=new={rates}")];
    let options = ["--metric", "rate:per second:higher=rate: ([0-9]+)", "--blocks", "4", "--aa"];
    let args = [&[&*variants[0], &variants[1]], &options[..], &["--fail-on=faster", "--out", "s"]];
    let ran = study(folder.path(), &args.concat());
    let said = "NO VERDICT, for the control differs from itself: 50.0 % faster with new than\n";
    assert!(ran.status == 0 && ran.out.starts_with(said), "{}: {}", ran.status, ran.out);
    assert!(ran.out.contains("find what makes equal runs differ"), "{}", ran.out);
    let summary = summary(&folder.path().join("s"));
    let verdicts = |list: &str| -> Vec<Value> {
        let all = summary[list].as_array().expect("a list").iter();
        all.map(|one| one["verdict"].clone()).collect()
    };
    assert_eq!(verdicts("rows"), [Value::Null, "helps".into()], "the control's is the reason");
    let mut warnings = summary["warnings"].as_array().expect("a list").iter();
    assert!(warnings.any(|warning| warning["kind"] == "control-differs"), "{summary}");
}

#[test]
fn commands_crossed_with_arms_have_an_interaction_in_every_format() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let script =
        "case {arm} in a/new) echo rate: 200;; b/new) echo rate: 150;; *) echo rate: 100;; esac";
    let variants = ["old", "new"].map(|name| format!("--variant={name}={script}"));
    let options = ["--metric", "rate:per second:higher=rate: ([0-9]+)", "--blocks", "4"];
    let args = [&ARMS[..], &[&*variants[0], &variants[1]], &options, &["--out", "s"]].concat();
    let ran = study(folder.path(), &args);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let said = "FASTER: choose a/new: 100.0 % faster with a/new than with a/old.\n";
    assert!(ran.out.starts_with(said), "{}", ran.out);
    let said = "arms      GAINS LESS: new over old −25.0 % (−30.7 to −18.8 %), b beside a\n";
    assert!(ran.out.contains(said) && ran.out.lines().count() <= 7, "{}", ran.out);
    let summary = summary(&folder.path().join("s"));
    let [interaction] = summary["interactions"].as_array().expect("a list").as_slice() else {
        panic!("{summary}")
    };
    assert_eq!((&interaction["arm"], &interaction["against"]), (&"b/new".into(), &"a/new".into()));
    let ratio = interaction["ratio"].as_f64().expect("a ratio");
    assert!((ratio - 0.75).abs() < 1e-9 && interaction["verdict"] == "hurts", "{interaction}");
    for format in ["text", "md", "html"] {
        let shown = coretwin(folder.path(), &["report", "s", "--format", format]).out;
        for part in ["Interactions", "GAINS LESS", "b/new against b/old", "Effect of each arm"] {
            // A figure has its title where it can be drawn.
            let is_figure = part.starts_with("Effect of") && format != "html";
            assert!(is_figure || shown.contains(part), "{format}: {part}: {shown}");
        }
        assert!(!shown.contains("NaN") && !shown.contains("SMT off"), "{format}: {shown}");
    }
    let told = study(folder.path(), &[&args[..], &["--dry-run"]].concat()).out;
    assert!(told.contains("Command      b/new: /bin/sh -c case {arm} in"), "{told}");
    std::fs::write(folder.path().join("hosts"), "a\n").expect("hosts");
    let plan = ["fleet", "plan", "f", "--engine=ssh", "--hosts=hosts", "--", "study", "chat"];
    assert_eq!(coretwin(folder.path(), &plan).status, 0);
    let ran = coretwin(folder.path(), &["fleet", "bundle", "s", "--fleet=f", "--task=0"]);
    assert!(ran.status == 2 && ran.err.contains("a fleet compares arms"), "{ran:?}");
}

#[test]
fn an_interrupted_study_of_commands_is_gone_on_with() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let metric = "rate:per second:higher=rate: ([0-9]+)";
    let variants = ["--variant", "a=echo rate: 100", "--variant", "b=echo rate: 50"];
    let args = [&variants[..], &["--metric", metric, "--blocks", "3"]].concat();
    let whole = study(folder.path(), &[&args[..], &["--out", "s"]].concat());
    assert_eq!(whole.status, 0, "{}", whole.err);
    let path = folder.path().join("s/journal.jsonl");
    let text = std::fs::read_to_string(&path).expect("journal");
    let kept: Vec<&str> = text.lines().take(5).collect();
    std::fs::write(&path, kept.join("\n") + "\n").expect("a broken journal");
    let again = coretwin(folder.path(), &["study", "--resume", "s"]);
    assert_eq!(again.status, 0, "{}", again.err);
    assert!(again.out.starts_with("SLOWER: stay with a:"), "{}", again.out);
    assert_eq!(summary(&folder.path().join("s"))["blocks"], 3);
}

#[test]
fn slips_in_commands_to_compare_are_said_before_anything_runs() {
    let folder = tempfile::tempdir().expect("folder");
    for (args, part) in [
        (&["--variant", "a=true", "--variant", "a=false"][..], "two commands are called 'a'"),
        (&["--variant", "a=no-such-program"], "in no folder of PATH"),
        (&["--variant", "a=true", "--variant", "b=false", "-L", "n", "1"], "needs {n}"),
        (&["--variant", "true", "--dry-run"], "there is one arm only"),
        (
            &["--variant", "a=true", "--variant", "b=false", "--protocol", "2003"],
            "--variant, --split and --aa",
        ),
        (&["-P", "n", "3", "1", "--variant", "true {n}"], "nothing from 3 to 1"),
        (
            &["-P", "n", "1", "99", "-P", "m", "1", "99", "--variant", "true {n} {m}"],
            "more than 1000 combinations",
        ),
        (&["--variant", "a=true {n}", "-L", "n", "1,1"], "two commands are called"),
        (&["chat", "--machine", "zen4-2x96", "--aa"], "nothing to control"),
    ] {
        let ran = study(folder.path(), args);
        assert!(ran.status == 2 || ran.status == 3, "{args:?}: {} {}", ran.status, ran.err);
        assert!(ran.err.contains(part), "{args:?}: {}", ran.err);
    }
}

#[test]
fn a_study_is_written_as_a_file_and_run_from_it() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let options = [
        "--write", "q.toml", "--arm", "a=cpus:0", "--arm", "b=cpus:0", "--blocks", "3", "--seed",
        "9",
    ];
    let command = ["--", "sh", "-c", "sleep 0.0{threads}1"];
    let ran = study(folder.path(), &[&options[..], &command].concat());
    assert_eq!((ran.status, ran.out.as_str()), (0, ""), "{}", ran.err);
    let text = std::fs::read_to_string(folder.path().join("q.toml")).expect("a file");
    assert!(text.contains("arm = [\"a=cpus:0\", \"b=cpus:0\"]\n"), "{text}");
    let planned = |args: &[&str]| -> Value {
        let ran = coretwin(folder.path(), &[&["study", "--dry-run", "--json"], args].concat());
        serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err))
    };
    let mut typed = options[2..].to_vec();
    typed.extend(["--others-limit", "100%", "--steal-limit", "100%"]);
    typed.extend(command);
    assert_eq!(planned(&["-f", "q.toml"]), planned(&typed), "the same plan");
    let ran = coretwin(folder.path(), &["study", "--file=q.toml", "--blocks", "2", "--out", "s"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert_eq!(journal(&folder.path().join("s")).len(), 1 + 2 * 2);
    let shown = coretwin(folder.path(), &["report", "s", "--format", "md"]).out;
    let again = shown.lines().map(str::trim).find(|line| line.starts_with("coretwin study"));
    let again = again.expect("a line");
    assert!(!again.contains("q.toml"), "the file may change: {again}");
    assert!(again.contains("--blocks=2") && again.contains("--out=s-again"), "{again}");
    // What the line says is the same study.
    let words = ["-c", &again.replacen("coretwin study", "\"$0\" study --dry-run --json", 1)];
    let ran = std::process::Command::new("sh")
        .args(words)
        .arg(common::CORETWIN)
        .current_dir(folder.path())
        .output()
        .expect("a shell");
    let plan: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    let was = std::fs::read_to_string(folder.path().join("s/plan.json")).expect("a plan");
    let was: Value = serde_json::from_str(&was).expect("json");
    for field in ["arms", "rows", "command", "seed", "orders", "rules"] {
        assert_eq!(plan[field], was[field], "{field}");
    }
}
