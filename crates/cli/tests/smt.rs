//! The verb `smt` as a real program on this machine, which it must not change.

#![expect(clippy::print_stdout, reason = "what is skipped is said")]

mod common;

use common::{CORETWIN, coretwin, host};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a guard may take to stand or to end; generous, the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn status_tells_the_switch_the_ways_and_what_is_saved() {
    let status = json(&coretwin(Path::new("/"), &["smt", "status", "--json"]).out);
    let topology = json(&coretwin(Path::new("/"), &["topology", "--json"]).out);
    assert_eq!(status["control"], topology["smt"]["control"]);
    assert_eq!(status["online"], topology["online"]);
    for way in ["switch", "boot", "core_scheduling"] {
        assert!(status["ways"][way]["available"].is_boolean(), "{status}");
        assert_eq!(status["ways"][way], topology["ways"][way]);
    }
    assert_eq!(status["ways"]["switch"]["available"], topology["smt"]["switchable"]);
    assert!(status["saved"].is_array() && status["security"].is_array(), "{status}");
    let text = coretwin(Path::new("/"), &["topology"]).out;
    assert!(text.contains("security ") && text.contains("core scheduling, "), "{text}");
}

/// Without a word nothing is switched: refused for what the machine is, or for want of a yes.
#[test]
fn nobody_switches_by_accident() {
    let _host = host();
    let before = json(&coretwin(Path::new("/"), &["smt", "status", "--json"]).out);
    let ran = coretwin(Path::new("/"), &["smt", "off"]);
    if before["switchable"] == true {
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.err.contains("give --yes"), "{ran:?}");
    } else {
        assert_eq!(ran.status, 3, "{ran:?}");
        let why = before["why"].as_str().expect("why");
        assert!(ran.err.contains("SMT cannot be switched here") && ran.err.contains(why));
    }
    let dry = coretwin(Path::new("/"), &["smt", "off", "--dry-run", "--json"]);
    let would = json(&dry.out);
    let refused = !would["refusals"].as_array().expect("refusals").is_empty();
    assert_eq!(dry.status, if refused { 3 } else { 0 }, "{dry:?}");
    let after = json(&coretwin(Path::new("/"), &["smt", "status", "--json"]).out);
    assert_eq!((&before["control"], &before["online"]), (&after["control"], &after["online"]));
    assert_eq!(coretwin(Path::new("/"), &["smt", "level", "0"]).status, 2);
    assert_eq!(coretwin(Path::new("/"), &["smt", "level", "64"]).status, 2);
}

#[test]
fn restore_with_nothing_saved_has_nothing_to_do() {
    let _host = host();
    let status = json(&coretwin(Path::new("/"), &["smt", "status", "--json"]).out);
    if status["saved"] != Value::Array(Vec::new()) {
        println!("skipped: something is saved on this machine");
        return;
    }
    for args in
        [&["smt", "restore"][..], &["smt", "restore", "--dry-run"], &["smt", "restore", "--forget"]]
    {
        let ran = coretwin(Path::new("/"), args);
        assert_eq!(ran.status, 0, "{ran:?}");
        assert!(ran.out.contains("Nothing is saved"), "{ran:?}");
    }
}

/// `PID:TICKS:NAMESPACE` of a process.
fn identity(process: u32) -> String {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("stat");
    let (_, rest) = stat.rsplit_once(')').expect("a name");
    let ticks = rest.split_whitespace().nth(19).expect("field 22");
    let namespace = fs::read_link("/proc/self/ns/pid").expect("namespace");
    let namespace = namespace.to_string_lossy().replace(|c: char| !c.is_ascii_digit(), "");
    format!("{process}:{ticks}:{namespace}")
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "it took too long until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(process: u32, signal: Signal) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw).expect("a process");
    kill_process(pid, signal).expect("signalled");
}

fn lives(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

fn start_guard(holder: &Child) -> Child {
    Command::new(CORETWIN)
        .args(["smt", "guard", "--slot", "hand", "--holder", &identity(holder.id())])
        .stdin(Stdio::null())
        .spawn()
        .expect("starts")
}

/// A guard of a process that never changes anything: it takes shelter, is deaf to polite signals,
/// and goes with the process.
#[test]
fn a_guard_is_sheltered_deaf_and_goes_with_its_holder() {
    if !geteuid().is_root() {
        println!("skipped: guards are root's");
        return;
    }
    let _host = host();
    let mut holder = Command::new("sleep").arg("600").spawn().expect("sleep");
    let mut guard = start_guard(&holder);
    let record = || {
        let text = fs::read_to_string("/run/coretwin/smt-hand.guard").unwrap_or_default();
        serde_json::from_str::<Value>(&text).ok()
    };
    let stands = |record: &Value| record["ready"] == true && record["leader"] == guard.id();
    wait_until("the guard stands", || record().is_some_and(|record| stands(&record)));
    let record = record().expect("record");
    let understudy = u32::try_from(record["understudy"].as_u64().expect("number")).expect("fits");
    let processes = [guard.id(), understudy];
    if record["warnings"] == Value::Array(Vec::new()) {
        for process in processes {
            let file = |name: &str| fs::read_to_string(format!("/proc/{process}/{name}"));
            wait_until("it is sheltered", || {
                let groups = file("cgroup").unwrap_or_default();
                file("oom_score_adj").is_ok_and(|text| text.trim() == "-1000")
                    && groups.lines().all(|line| line.ends_with(":/"))
                    && file("comm").is_ok_and(|name| name.trim() == "smt-guard")
            });
        }
    }
    for process in processes {
        for polite in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
            signal(process, polite);
        }
    }
    // A signal that ended it would do so long before it could answer to its understudy's death.
    signal(understudy, Signal::KILL);
    let replaced = |record: &Value| record["understudy"].as_u64() != Some(understudy.into());
    let again = || fs::read_to_string("/run/coretwin/smt-hand.guard").unwrap_or_default();
    wait_until("the understudy is replaced", || {
        serde_json::from_str::<Value>(&again()).is_ok_and(|record| replaced(&record))
    });
    let now = json(&again());
    let second = u32::try_from(now["understudy"].as_u64().expect("number")).expect("fits");
    assert!(guard.try_wait().expect("wait").is_none() && lives(second));
    holder.kill().expect("kill");
    holder.wait().expect("reaped");
    assert!(guard.wait().expect("ends").success());
    wait_until("the understudy is gone", || !lives(second));
    assert!(!Path::new("/run/coretwin/smt-hand.guard").exists());
}

#[test]
fn a_guard_of_nobody_is_refused() {
    for holder in ["", "1", "1:2:x"] {
        let args = ["smt", "guard", "--slot", "study", "--holder", holder];
        assert_eq!(coretwin(Path::new("/"), &args).status, 2, "{holder}");
    }
    let elsewhere = ["smt", "guard", "--slot", "study", "--holder", "1:2:3"];
    let ran = coretwin(Path::new("/"), &elsewhere);
    assert_eq!(ran.status, 3, "{ran:?}");
    assert!(ran.err.contains("another pid namespace"), "{ran:?}");
}
