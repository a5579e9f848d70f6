//! `coretwin simulate sched` and `sweep` through the real program: what they print adds up, equal
//! seeds give equal bytes, a sweep is carried on, and bad input is refused by file and line.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn simulate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_coretwin"))
        .arg("simulate")
        .args(arguments)
        .output()
        .expect("coretwin starts")
}

/// A run with uniform speeds: what is tested here does not hang on the simulated core.
fn sched(arguments: &[&str]) -> Output {
    simulate(&[&["sched", "--slowdown", "1.6"], arguments].concat())
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// The message of a refusal, which must be one of usage.
fn refusal(output: &Output) -> String {
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    message
}

const A9: &str = "linux-2.5.32-a9";

#[test]
fn the_record_adds_up_and_equal_seeds_give_equal_bytes() {
    let one = ["--policy", A9, "--scenario", "make-j3", "--json", "--seed", "7"];
    let first = text(&sched(&one));
    assert_eq!(first, text(&sched(&one)));
    let run = json(&first);
    let number = |field: &Value| field.as_f64().expect("a number");
    assert_eq!((run["schema"].as_u64(), run["seed"].as_u64()), (Some(1), Some(7)));
    assert_eq!((run["policy"].as_str(), run["preset"].as_str()), (Some(A9), Some("uniform-1.6")));
    assert_eq!(run["unit"], "operations/s");
    assert_eq!(run["origin"], "simulated");
    let elapsed_s = number(&run["simulated_s"]);
    let done = number(&run["operations"][0]["count"]);
    assert!((done, run["finished"].as_bool()) == (24.0, Some(true)));
    assert!((number(&run["value"]) - done / elapsed_s).abs() < 1e-6);
    for cpu in run["cpus"].as_array().expect("CPUs") {
        let times = ["user_s", "system_s", "idle_s", "offline_s"].map(|key| number(&cpu[key]));
        assert!((times.iter().sum::<f64>() - elapsed_s).abs() < 1e-6, "{cpu}");
    }
    let moves = &run["migrations"];
    let far = ["same_cache", "same_package", "other_package"].map(|key| number(&moves[key]));
    assert_eq!(number(&moves["cross_core"]), far.iter().sum::<f64>());
    let other =
        json(&text(&sched(&["--policy", A9, "--scenario", "make-j3", "--json", "--seed", "8"])));
    assert_ne!(other["trace_hash"], run["trace_hash"]);
}

#[test]
fn several_policies_and_seeds_give_a_list_and_a_table_with_the_spread() {
    let both =
        ["--policy", "fair", "--policy", A9, "--scenario", "two-on-siblings", "--seeds", "3"];
    let runs = json(&text(&sched(&[&both[..], &["--json"]].concat())));
    let names = runs.as_array().expect("a list").iter().map(|run| run["policy"].as_str());
    let expected = ["fair"; 3].into_iter().chain([A9; 3]).map(Some);
    assert!(names.eq(expected), "{runs}");
    let table = text(&sched(&both));
    assert!(
        table.contains("two-on-siblings on 2x2, speeds uniform-1.6, 3 seeds from 1"),
        "{table}"
    );
    assert!(table.lines().all(|line| line.chars().count() <= 130), "{table}");
}

#[test]
fn a_policy_is_changed_by_its_parameters_and_the_log_gives_reasons() {
    let run = |policy: &str| {
        let arguments = ["--policy", policy, "--scenario", "two-on-siblings", "--json"];
        json(&text(&sched(&arguments)))["clash_s"].as_f64().expect("a number")
    };
    assert!(run(A9) < 0.1 && run("linux-2.5.32-a9[active=off]") > 0.2);
    let log = text(&sched(&["--policy", A9, "--scenario", "two-on-siblings", "--log", "400"]));
    assert!(log.contains("stopper") && log.contains("best priority: priority"), "{log}");
    let differ = ["linux-2.5.32", A9, "--scenario", "two-on-siblings"];
    let diff = text(&sched(&[&["--diff"], &differ[..]].concat()));
    assert!(diff.contains("then they differ") && diff.matches("\n> ").count() == 2, "{diff}");
    let same = text(&sched(&["--diff", A9, A9, "--scenario", "two-on-siblings"]));
    assert!(same.contains("decide the same: "), "{same}");
}

#[test]
fn timelines_are_drawn_and_traces_can_be_read() {
    let folder = tempfile::tempdir().expect("folder");
    let [svg, trace] = ["t.svg", "t.json"].map(|name| folder.path().join(name));
    let (svg_name, trace_name) = (svg.to_str().expect("UTF-8"), trace.to_str().expect("UTF-8"));
    let scenario = ["--policy", "linux-2.5.32", "--policy", A9, "--scenario", "two-on-siblings"];
    let files = ["--timeline", svg_name, "--perfetto", trace_name];
    text(&sched(&[&scenario[..], &files].concat()));
    let svg = std::fs::read_to_string(svg).expect("a figure");
    assert!(svg.starts_with("<svg") && svg.matches("cpu3 core1").count() == 2);
    assert!(svg.contains("<title>loop#1: 0.0"), "tasks are named");
    let trace = json(&std::fs::read_to_string(trace).expect("a trace"));
    let events = trace["traceEvents"].as_array().expect("events");
    let of = |kind: &str| events.iter().filter(|event| event["ph"] == kind).count();
    // Two processes of four CPUs, each with a name.
    assert_eq!(of("M"), 2 * 5);
    assert!(of("X") > 100 && of("i") > 100);
    // No two tasks on a CPU at a time.
    let mut spans: Vec<(u64, u64, f64, f64)> = events
        .iter()
        .filter(|event| event["ph"] == "X")
        .map(|event| {
            let [ts, dur] = ["ts", "dur"].map(|key| event[key].as_f64().expect("µs"));
            let [pid, tid] = ["pid", "tid"].map(|key| event[key].as_u64().expect("a number"));
            (pid, tid, ts, ts + dur)
        })
        .collect();
    spans.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
    let apart = |pair: &[(u64, u64, f64, f64)]| {
        (pair[0].0, pair[0].1) != (pair[1].0, pair[1].1) || pair[0].3 <= pair[1].2 + 0.0015
    };
    assert!(spans.windows(2).all(apart));
}

#[test]
fn every_policy_keeps_to_a_scenario_and_one_that_does_not_fails() {
    let check = |name: &str| simulate(&["sched", "--scenario", name, "--check"]);
    assert!(text(&check("two-on-siblings")).contains("linux-2.5.32-a9[active=off]: as expected"));
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("mine.toml");
    let built_in = include_str!("../../sim/scenarios/two-on-siblings.toml");
    std::fs::write(&file, built_in.replace("clash_percent = [95, 100]", "clash_percent = [0, 1]"))
        .expect("write");
    let output = check(file.to_str().expect("UTF-8"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("linux-2.5.32: not as expected\n  clash_percent is 9"), "{said}");
}

#[test]
fn bad_input_is_refused_with_what_would_help() {
    let folder = tempfile::tempdir().expect("folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("write");
        path.to_str().expect("UTF-8").to_owned()
    };
    let one = |scenario: &str, more: &[&str]| {
        refusal(&sched(&[&["--policy", "fair", "--scenario", scenario], more].concat()))
    };
    assert!(one("make-j22", &[]).contains("did you mean 'make-j2'"));
    assert!(one("make-j2", &["--topology", "0x2"]).contains("1 to 4096 CPUs"));
    assert!(one("make-j2", &["--topology", "1x9"]).contains("at most 8"));
    // The daemons of this scenario are bound to four CPUs.
    assert!(one("make-j2", &["--topology", "1x2"]).contains("there is no CPU 2"));
    assert!(one("make-j2", &["--policy", "fare"]).contains("did you mean 'fair'"));
    assert!(one("./nowhere.toml", &[]).contains("nowhere.toml"));
    assert!(one("make-j2", &["--profile", "gzip"]).contains("for files of rt-app"));
    let deadlock = r#"{ "tasks": {
        "left": { "loop": 1, "lock": "a", "run": 1000, "lock1": "b" },
        "right": { "loop": 1, "lock": "b", "run": 1000, "lock1": "a" } } }"#;
    let message = one(&file("stuck.json", deadlock), &[]);
    assert!(message.contains("deadlock") && message.contains("held by left#1"), "{message}");
    let message = one(&file("bad.json", "{ \"tasks\": {\n \"a\": { \"rnu\": 5 } } }"), &[]);
    assert!(message.contains("bad.json:2: tasks.a.rnu"), "{message}");
    let bomb = "{ \"tasks\": { \"a\": { \"fork\": \"a\", \"run\": 1 } } }";
    let message = one(&file("bomb.json", bomb), &[]);
    assert!(message.contains("too many tasks"), "{message}");
}

fn lines(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("cells.jsonl")).expect("cells");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_sweep_that_was_broken_off_is_carried_on_and_gives_the_same() {
    let folder = tempfile::tempdir().expect("folder");
    let grid = folder.path().join("grid.toml");
    let built_in = text(&simulate(&["sweep", "--show"]));
    let small = built_in
        .replace("seeds = 10", "seeds = 2\nuntil_ms = 100")
        .replace(
            "\"1x1\", \"2x1\", \"4x1\", \"1x2\", \"2x2\", \"2x4x2\", \"64x2\"",
            "\"1x1\", \"2x2\"",
        )
        .replace("\"half-loaded\", ", "\"two-on-siblings\", ");
    std::fs::write(&grid, &small).expect("write");
    let out = folder.path().join("out");
    let run = || {
        let (grid, out) = (grid.to_str().expect("UTF-8"), out.to_str().expect("UTF-8"));
        simulate(&["sweep", grid, "--out", out, "--json"])
    };
    let first = run();
    // CPUs 1 to 3 are not there on 1x1: those cells say so, the others are done.
    assert_eq!(first.status.code(), Some(1), "{}", String::from_utf8_lossy(&first.stderr));
    let cells = json(&String::from_utf8_lossy(&first.stdout));
    let cells = cells.as_array().expect("cells");
    assert_eq!(cells.len(), 7 * 2 * 2 * 2);
    assert!(cells.iter().all(|cell| cell["origin"] == "simulated"));
    let failed = cells.iter().filter(|cell| cell["failed"].is_string());
    assert!(failed.clone().count() == 14 && failed.clone().all(|cell| cell["topology"] == "1x1"));
    // Half of the cells are lost, the last one in the middle of its line.
    let mut kept = lines(&out);
    kept.truncate(20);
    let torn = kept.join("\n") + "\n{\"schema\":1,\"pol";
    std::fs::write(out.join("cells.jsonl"), torn).expect("write");
    assert_eq!(run().stdout, first.stdout);
    assert_eq!(lines(&out).len(), cells.len());
    assert_eq!(&lines(&out)[..20], &kept[..], "what was done is not done again");
    let map = std::fs::read_to_string(out.join("heat-mixed-load-wake_p99_us.svg"));
    assert!(map.expect("a heat map").contains("blue: better"));
    let csv = std::fs::read_to_string(out.join("cells.csv")).expect("a table");
    assert!(csv.lines().skip(1).all(|line| line.ends_with(",simulated")), "{csv}");
    assert!(out.join("table.txt").exists());
    // Another grid does not go into the same folder.
    std::fs::write(&grid, small.replace("slowdown = 1.6", "slowdown = 1.5")).expect("write");
    assert!(refusal(&run()).contains("holds another sweep"), "another grid");
}

#[test]
fn an_interrupted_sweep_keeps_what_is_done_and_says_how_to_go_on() {
    let folder = tempfile::tempdir().expect("folder");
    let out = folder.path().join("out");
    let mut sweep = Command::new(env!("CARGO_BIN_EXE_coretwin"))
        .args(["simulate", "sweep", "ablation", "--out"])
        .arg(&out)
        .stderr(Stdio::piped())
        .spawn()
        .expect("coretwin starts");
    let is_begun = || std::fs::read(out.join("cells.jsonl")).is_ok_and(|cells| !cells.is_empty());
    while !is_begun() {
        assert!(sweep.try_wait().expect("a child").is_none(), "it ended before its first cell");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&sweep), Signal::INT).expect("a signal");
    let ended = sweep.wait_with_output().expect("a child");
    let message = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{message}");
    assert!(message.contains("go on with: coretwin simulate sweep ablation --out"), "{message}");
    let kept = lines(&out);
    assert!(kept.iter().all(|line| json(line)["failed"].is_null()), "whole lines: {kept:?}");
    assert!(!out.join("table.txt").exists(), "there is no table of a part");
}
