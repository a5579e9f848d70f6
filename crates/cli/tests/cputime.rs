//! The note's experiment by the real programs, small: what comes out, what is refused, and that
//! nothing stays when it is killed.

mod common;

use common::{CORETWIN, Ran, coretwin, host, journal};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// However busy this machine is, nothing is set aside; one block of the fewest conditions.
const SMALL: [&str; 9] = [
    "cputime",
    "--blocks",
    "1",
    "--spinners",
    "1",
    "--others-limit",
    "100%",
    "--steal-limit",
    "100%",
];
/// Work of some tenths of a second that is all user time.
const BUSY: [&str; 4] = ["--", "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done"];

fn cputime(folder: &Path, options: &[&str], work: &[&str]) -> Ran {
    coretwin(folder, &[&SMALL[..], options, work].concat())
}

/// CPUs this test may use.
fn cpus() -> Vec<usize> {
    let status = fs::read_to_string("/proc/self/status").expect("status");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let set =
        coretwin_base::machine::cpu_set::CpuSet::parse(list.expect("list").trim()).expect("cpus");
    set.iter().map(|cpu| cpu.0 as usize).collect()
}

#[test]
fn both_sides_are_measured_and_the_folder_is_a_whole_report() {
    let _host = host();
    if cpus().len() < 2 {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let options = ["--spinner", "native", "--json", "--out", "c"];
    let ran = cputime(folder.path(), &options, &BUSY);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let summary: Value = serde_json::from_str(&ran.out).expect("json");
    assert_eq!(summary["origin"], "measured");
    let conditions = summary["conditions"].as_array().expect("conditions");
    let same = conditions.iter().find(|c| c["name"] == "same-cpu/1").expect("same-cpu");
    for field in ["real_s", "user_s", "system_s", "slowdown"] {
        assert!(same[field].as_f64().is_some(), "{field}: {same}");
    }
    for field in ["cpu_slowdown", "spinner_slowdown", "stp", "antt"] {
        assert!(same[field]["value"].as_f64().is_some_and(|value| value > 0.0), "{field}: {same}");
    }
    assert!(same["user_s"].as_f64() < same["real_s"].as_f64(), "the CPU was shared: {same}");
    for reading in journal(&folder.path().join("c")) {
        assert_eq!(reading["status"], "ok", "{reading}");
        let spins = reading["metrics"].get("spinner_0_rate").is_some();
        assert_eq!(spins, reading["row"] != "alone", "{reading}");
    }
    let text = coretwin(folder.path(), &["report", "c", "--full"]);
    assert_eq!(text.status, 0, "{}", text.err);
    for part in ["real / alone", "1 spinner on the work's own CPU", "THE NOTE'S MACHINES", "STP"] {
        assert!(text.out.contains(part), "{part} not in:\n{}", text.out);
    }
    let html = fs::read_to_string(folder.path().join("c/report.html")).expect("html");
    assert!(html.contains("<svg"), "there is a figure");
    let again = cputime(folder.path(), &["--out", "c"], &BUSY);
    assert_eq!(again.status, 2, "{}", again.err);
    let other = coretwin(folder.path(), &["cputime", "--resume", "nowhere"]);
    assert_eq!(other.status, 2, "{}", other.err);
}

#[test]
fn what_cannot_be_measured_is_refused_with_words_and_leaves_no_folder() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let none: [&str; 0] = [];
    let cases: [(&[&str], &[&str], &str); 7] = [
        (&["--pair", "0,0"], &none, "is one CPU"),
        (&["--pair", "0"], &none, "not a pair of CPUs"),
        (&["--pair", "0,4000"], &none, "CPU 4000 does not exist"),
        (&["--spinner", "natve"], &none, "did you mean 'native'"),
        (&[], &["--", "sh", "-c", "echo no such input; exit 7"], "no such input"),
        (&[], &["--", "true"], "repeat it: --repeat"),
        (&[], &["--", "./nothing-here"], "nothing-here"),
    ];
    for (options, work, part) in cases {
        let ran = cputime(folder.path(), options, work);
        assert!(matches!(ran.status, 2 | 3), "{part}: {} {}", ran.status, ran.err);
        assert!(ran.err.contains(part), "{part} not in: {}", ran.err);
    }
    let left: Vec<_> = fs::read_dir(folder.path()).expect("folder").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn work_that_moves_itself_and_spinners_that_die_are_told() {
    let _host = host();
    let cpus = cpus();
    if cpus.len() < 2 {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    // The work is put on the first CPU and goes to the second.
    let (first, second) = (cpus[0].to_string(), cpus[1].to_string());
    let pair = format!("{first},{second}");
    let busy = BUSY[3];
    let moved = ["--", "taskset", "-c", &second, "sh", "-c", busy];
    let ran = cputime(folder.path(), &["--pair", &pair], &moved);
    assert_eq!(ran.status, 2, "{}", ran.err);
    assert!(ran.err.contains("changes its own affinity"), "{}", ran.err);

    let options = ["--spinner", "sleep 0.05; exit 3", "--out", "never"];
    let ran = cputime(folder.path(), &options, &BUSY);
    assert_eq!(ran.status, 2, "{}", ran.err);
    assert!(ran.err.contains("a spinner alone failed"), "{}", ran.err);
    assert!(ran.err.contains("ended with status 3"), "{}", ran.err);
    let ran = coretwin(folder.path(), &[&["cputime", "--spinners", "0"][..], &BUSY].concat());
    assert_eq!(ran.status, 2, "{}", ran.err);

    // It goes on when it is tried, and dies in the blocks.
    let tried = folder.path().join("tried");
    let spinner = format!("[ -e {0} ] && exit 3; touch {0}; sleep 60", tried.display());
    let options = ["--spinner", &spinner, "--out", "dead", "--json"];
    let ran = cputime(folder.path(), &options, &BUSY);
    assert_eq!(ran.status, 1, "{}", ran.err);
    let summary: Value = serde_json::from_str(&ran.out).expect("json");
    for condition in summary["conditions"].as_array().expect("conditions") {
        if condition["spinners"] == 1 {
            let why = condition["failure"].as_str().unwrap_or_default();
            assert!(why.contains("ended with status 3"), "{condition}");
            assert!(condition["slowdown"].is_null(), "{condition}");
        }
    }
}

/// Three commands of some tenths of a second, by name; `fold` fails from its second run on.
fn commands(fails: Option<&Path>) -> Vec<String> {
    let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done";
    let once = fails.map(|flag| format!("[ -e {0} ] && exit 3; touch {0}; ", flag.display()));
    // Given one by one, commands may have commas.
    vec![
        format!("--with=add={busy}"),
        format!("--with=count={busy}; : 1,2"),
        format!("--with=fold={}{busy}", once.unwrap_or_default()),
    ]
}

#[test]
fn commands_beside_each_other_are_measured_and_placed_and_none_is_left_running() {
    let _host = host();
    if cpus().len() < 2 {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let limits = ["--blocks", "2", "--others-limit", "100%", "--steal-limit", "100%"];
    let run = |options: &[&str], with: &[String]| {
        let with: Vec<&str> = with.iter().map(String::as_str).collect();
        coretwin(folder.path(), &[&["cputime"][..], &with, &limits, options].concat())
    };
    let ran = run(&["--json", "--out", "w"], &commands(None));
    assert_eq!(ran.status, 0, "{}", ran.err);
    let summary: Value = serde_json::from_str(&ran.out).expect("json");
    let names = |field: &Value| -> Vec<String> {
        let all = field.as_array().expect("a list").iter();
        all.map(|one| one["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names(&summary["commands"]), ["add", "count", "fold"]);
    assert_eq!(names(&summary["conditions"]).len(), 9);
    let pairs = summary["pairs"].as_array().expect("pairs");
    assert_eq!(pairs.len(), 3);
    assert!(pairs.iter().all(|it| it["slowdown_a"].as_f64() > Some(0.0)), "{pairs:?}");
    assert_eq!(summary["placement"]["pairs"].as_array().map(Vec::len), Some(2));
    assert!(summary["factors"].is_null());
    let text = coretwin(folder.path(), &["report", "w", "--full"]);
    assert_eq!(text.status, 0, "{}", text.err);
    for part in ["add beside fold", "PLACEMENT", "in the order typed", "random"] {
        assert!(text.out.contains(part), "{part} not in:\n{}", text.out);
    }
    let is_smt = matches!(summary["cpus"]["relation"].as_str(), Some("siblings" | "probed"));
    assert_eq!(text.out.contains("cannot be measured here"), !is_smt, "{}", text.out);
    if !is_smt {
        fs::write(folder.path().join("pairs.json"), &ran.out).expect("file");
        let refused = coretwin(folder.path(), &["sched", "start", "--partners", "pairs.json"]);
        assert!(
            refused.status == 2 && refused.err.contains("did not run on siblings"),
            "{refused:?}"
        );
    }
    let html = fs::read_to_string(folder.path().join("w/report.html")).expect("html");
    assert!(html.contains("<svg"), "there is a heat map");
    let again = coretwin(folder.path(), &["report", "w", "--format", "json"]);
    let again: Value = serde_json::from_str(&again.out).expect("json");
    assert_eq!(again, summary, "a report says what the run said");
    let brief = coretwin(folder.path(), &["report", "w"]);
    assert_eq!(brief.out.starts_with("NOT SMT:"), !is_smt, "{}", brief.out);

    let ran = run(&["--json", "--out", "f"], &commands(Some(&folder.path().join("ran"))));
    assert_eq!(ran.status, 1, "{}", ran.err);
    let summary: Value = serde_json::from_str(&ran.out).expect("json");
    assert_eq!(summary["pairs"].as_array().map(Vec::len), Some(1), "add and count");
    assert!(summary["placement"].is_null());
    assert!(summary["conditions"].to_string().contains("ended with status 3"));

    let refused: [(&[&str], &str); 6] = [
        (&["--with", "sleep 1"], "needs 2 to 20 commands"),
        (&["--with", "sleep 1,sleep 2"], "two commands are called 'sleep'"),
        (&["--with", "a=sleep 1,b=sleep 2", "--least", "wurst"], "worst"),
        (&["--with", "a=sleep 1,b=sleep 2,c=sleep 3", "--cores", "1"], "--cores 2"),
        (&["--with", "a=true,b=true"], "repeat it: --repeat"),
        (&["--with", "a=./nothing-here,b=true"], "nothing-here"),
    ];
    for (options, part) in refused {
        let ran = run(options, &[]);
        assert!(matches!(ran.status, 2 | 3), "{part}: {} {}", ran.status, ran.err);
        assert!(ran.err.contains(part), "{part} not in: {}", ran.err);
    }
}

#[test]
fn rows_stand_beside_commands_and_are_compared_by_what_they_measure() {
    let _host = host();
    if cpus().len() < 2 {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let limits = ["--blocks", "1", "--others-limit", "100%", "--steal-limit", "100%"];
    let run = |with: &[&str]| {
        let with: Vec<String> = with.iter().map(|one| format!("--with={one}")).collect();
        let with: Vec<&str> = with.iter().map(String::as_str).collect();
        coretwin(
            folder.path(),
            &[&["cputime", "--json", "--out", "w"][..], &limits, &with].concat(),
        )
    };
    let loops = "busy=sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'";
    // Other load slows what is alone too: of some runs one shows what the neighbour does.
    let shows_the_neighbour = || {
        let _ = fs::remove_dir_all(folder.path().join("w"));
        let ran = run(&["sieve=aim9/sieve:seconds=0.4", loops]);
        assert_eq!(ran.status, 0, "{}", ran.err);
        let summary: Value = serde_json::from_str(&ran.out).expect("json");
        let commands = summary["commands"].as_array().expect("commands");
        assert_eq!((&commands[0]["row"], &commands[1]["row"]), (&Value::Bool(true), &Value::Null));
        let of = |name: &str| {
            let all = summary["conditions"].as_array().expect("conditions");
            all.iter().find(|it| it["name"] == name).expect(name).clone()
        };
        let alone = of("sieve");
        assert!(alone["real_s"].as_f64().is_some_and(|unit_s| unit_s < 0.2), "one loop: {alone}");
        let is_smt = matches!(summary["cpus"]["relation"].as_str(), Some("siblings" | "probed"));
        // It runs for as long beside another, and gets less done.
        is_smt || of("sieve beside busy")["slowdown"].as_f64() > Some(1.2)
    };
    assert!((0..6).any(|_| shows_the_neighbour()), "the neighbour never slowed it");
    let ran = run(&["aim9/sieve:second=1", "busy=true"]);
    assert!(ran.status == 2 && ran.err.contains("did you mean 'seconds'"), "{}", ran.err);
}

#[test]
fn rulers_are_timed_on_both_sides_and_without_siblings_it_takes_turns() {
    let _host = host();
    if cpus().len() < 2 {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let limits = ["--blocks", "1", "--others-limit", "100%", "--steal-limit", "100%"];
    let run = |options: &[&str], work: &[&str]| {
        coretwin(folder.path(), &[&["cputime", "--rulers"][..], &limits, options, work].concat())
    };
    let ran = run(&["--json", "--out", "r"], &BUSY);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let summary: Value = serde_json::from_str(&ran.out).expect("json");
    let [work] = &summary["rulers"]["signatures"].as_array().expect("a list")[..] else {
        panic!("{summary}")
    };
    let beside = work["beside"].as_array().expect("rulers");
    assert_eq!(beside.len(), 10);
    let is_time = |value: &Value| value.as_f64().is_some_and(|value| value > 0.0);
    for it in beside {
        assert!(
            is_time(&it["slowdown"]["value"]) && is_time(&it["ruler_slowdown"]["value"]),
            "{it}"
        );
    }
    assert_eq!(summary["rulers"]["scales"].as_array().map(Vec::len), Some(10));
    assert!(summary["factors"].is_null() && summary["rulers"]["predictions"].is_null());
    let is_smt = matches!(summary["cpus"]["relation"].as_str(), Some("siblings" | "probed"));
    let text = coretwin(folder.path(), &["report", "r", "--full"]);
    for part in ["WHAT IT FIGHTS FOR", "branch predictor", "it beside itself"] {
        assert!(text.out.contains(part), "{part} not in:\n{}", text.out);
    }
    let brief = coretwin(folder.path(), &["report", "r"]);
    assert_eq!(brief.out.starts_with("NOT SMT:"), !is_smt, "{}", brief.out);
    if !is_smt {
        assert!(brief.out.contains("Taking turns"), "{}", brief.out);
        // Two that share a CPU have half of it each. Where others have most of it, alone too, that shows less, and not in each.
        let slowed = beside.iter().filter(|it| it["slowdown"]["value"].as_f64() > Some(1.05));
        assert!(slowed.count() >= 6, "{beside:?}");
    }
    let ran = coretwin(folder.path(), &["cputime", "--rulers", "--spinner", "l2", "--", "true"]);
    assert!(ran.status == 2 && ran.err.contains("cannot be used with"), "{}", ran.err);
}

/// Processes that inherited a mark in their environment.
fn marked(mark: &str) -> Vec<String> {
    let needle = format!("CORETWIN_TEST_MARK={mark}");
    let entries = fs::read_dir("/proc").expect("proc").flatten();
    entries
        .filter(|entry| {
            fs::read(entry.path().join("environ")).is_ok_and(|environment| {
                environment.split(|byte| *byte == 0).any(|entry| entry == needle.as_bytes())
            })
        })
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn killed_in_the_middle_it_leaves_no_process_and_goes_on() {
    let _host = host();
    if cpus().len() < 2 {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let mark = format!("{}-cputime", std::process::id());
    // Of several blocks one is seen, however seldom this looks.
    let options = ["--blocks", "4", "--spinners", "4", "--spinner", "native", "--out", "k"];
    let limits = ["--others-limit", "100%", "--steal-limit", "100%"];
    let mut running = Command::new(CORETWIN)
        .args([&["cputime"][..], &options, &limits, &BUSY].concat())
        .current_dir(folder.path())
        .env("CORETWIN_TEST_MARK", &mark)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let until = Instant::now() + Duration::from_secs(60);
    // The program, a worker, the work and spinners.
    while marked(&mark).len() < 5 {
        let ended = running.try_wait().expect("its state");
        assert!(Instant::now() < until && ended.is_none(), "no spinners were seen: {ended:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = Pid::from_raw(running.id() as i32).expect("pid");
    kill_process(pid, Signal::KILL).expect("kill");
    running.wait().expect("ends");
    let until = Instant::now() + Duration::from_secs(20);
    while !marked(&mark).is_empty() {
        assert!(Instant::now() < until, "left: {:?}", marked(&mark));
        std::thread::sleep(Duration::from_millis(20));
    }
    let resumed = coretwin(folder.path(), &["cputime", "--resume", "k", "--json"]);
    assert_eq!(resumed.status, 0, "{}", resumed.err);
    let summary: Value = serde_json::from_str(&resumed.out).expect("json");
    assert_eq!(summary["blocks"], 4);
}
