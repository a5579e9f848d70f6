//! Studies ended by signals at random moments: nothing is lost, doubled or left behind.
//!
//! `CORETWIN_KILLS` sets how many (a few by default, 200 in `make check-all`), `CORETWIN_SEED` the
//! seed of the moments and signals.

mod common;

use common::{CORETWIN, coretwin, host, journal};
use coretwin_base::random::Stream;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long what a study started may outlive it; generous, the machine may be busy.
const DYING: Duration = Duration::from_secs(20);

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Processes that inherited a mark in their environment.
fn marked(mark: &str) -> Vec<u32> {
    let needle = format!("CORETWIN_TEST_MARK={mark}");
    fs::read_dir("/proc")
        .expect("proc")
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| {
            fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
                environment.split(|byte| *byte == 0).any(|entry| entry == needle.as_bytes())
            })
        })
        .collect()
}

/// Keys of the SysV semaphore sets that no living run claims: those of other programs, and what a run
/// has left (never under the private key 0). Other runs come and go meanwhile.
fn unclaimed_semaphores() -> BTreeSet<i64> {
    let claims: Vec<_> = fs::read_dir("/dev/shm")
        .expect("shm")
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let holder = name.strip_prefix("coretwin-semaphores-")?.rsplit_once('-')?.1;
            let text = fs::read_to_string(entry.path()).ok()?;
            let (base, count) = text.trim().split_once(' ')?;
            let base: i64 = base.parse().ok()?;
            let count: i64 = count.parse().ok()?;
            Path::new("/proc").join(holder).exists().then_some(base..base + count)
        })
        .collect();
    fs::read_to_string("/proc/sysvipc/sem")
        .unwrap_or_default()
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next()?.parse().ok())
        .filter(|key| *key != 0 && !claims.iter().any(|claim| claim.contains(key)))
        .collect()
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let until = Instant::now() + DYING;
    while !done() {
        assert!(Instant::now() < until, "still there: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Work with stubborn descendants: a child in a session of its own that ignores polite signals.
const STUBBORN: &str = "setsid sh -c 'trap \"\" TERM HUP INT; sleep 30' & sleep 0.05";

fn work(draw: u64) -> Vec<&'static str> {
    if draw == 0 { vec!["--", "sh", "-c", STUBBORN] } else { vec!["chat:rooms=2,messages=40"] }
}

fn kill_once(folder: &Path, round: u64, stream: &mut Stream, before: &BTreeSet<i64>) {
    let mark = format!("{}-{round}", std::process::id());
    let work = work(stream.below(2));
    let args = ["study", "--blocks", "2", "--others-limit", "100%", "--steal-limit", "100%"];
    let arms = ["--arm", "a=cpus:0", "--arm", "b=cpus:0", "--out", "s"];
    let args = [&args[..], &arms, &work].concat();
    let mut study = Command::new(CORETWIN)
        .args(&args)
        .current_dir(folder)
        .env("CORETWIN_TEST_MARK", &mark)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    std::thread::sleep(Duration::from_millis(stream.below(1_200)));
    let signals = [Signal::KILL, Signal::INT, Signal::TERM, Signal::HUP];
    let signal = signals[if round % 4 == 3 { stream.below(4) as usize } else { 0 }];
    let pid = Pid::from_raw(study.id() as i32).expect("pid");
    let _ = kill_process(pid, signal);
    let status = study.wait().expect("ends");
    let what = format!("round {round}: {signal:?} to {work:?}, {status}");
    if signal != Signal::KILL && status.code() != Some(0) {
        assert_eq!(status.code(), Some(130), "{what}");
    }
    wait_until(&format!("processes of {what}"), || marked(&mark).is_empty());
    wait_until(&format!("semaphores of {what}"), || unclaimed_semaphores().is_subset(before));

    let out = folder.join("s");
    if !out.join("plan.json").exists() {
        return; // Killed before there was a study.
    }
    let read = coretwin(folder, &["report", "s"]);
    assert_eq!(read.status, 0, "{what}: the journal reads: {}", read.err);
    let kept = whole_lines(&out);
    let resumed = coretwin(folder, &["study", "--resume", "s"]);
    assert_eq!(resumed.status, 0, "{what}: it goes on: {}", resumed.err);
    let lines = journal(&out);
    assert!(lines.len() >= kept.len());
    let after: Vec<String> = whole_lines(&out);
    assert_eq!(after[..kept.len()], kept[..], "{what}: no reading is lost or changed");
    let cells: BTreeSet<String> = lines
        .iter()
        .map(|r| {
            format!("{} {} {} {} {}", r["phase"], r["block"], r["attempt"], r["arm"], r["row"])
        })
        .collect();
    assert_eq!(cells.len(), lines.len(), "{what}: no reading is doubled");
    for (index, reading) in lines.iter().enumerate() {
        assert_eq!(reading["seq"], index as u64, "{what}");
    }
    let summary = fs::read_to_string(out.join("summary.json")).expect("summary");
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("json");
    assert_eq!(summary["blocks"], 2, "{what}: the study is complete");
    fs::remove_dir_all(&out).expect("clean");
}

#[test]
fn a_hang_up_stops_a_study_but_not_under_nohup() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    for (how, expected) in [("--default-signal=HUP", 130), ("--ignore-signal=HUP", 0)] {
        let mark = format!("{}{how}", std::process::id());
        let rules = ["--blocks", "2", "--others-limit", "100%", "--steal-limit", "100%"];
        let arms = ["--arm", "a=cpus:0", "--arm", "b=cpus:0", "--out", how.trim_start_matches('-')];
        let mut study = Command::new("env")
            .args([&[how, CORETWIN, "study"], &rules[..], &arms, &["--", "sleep", "0.6"]].concat())
            .current_dir(folder.path())
            .env("CORETWIN_TEST_MARK", &mark)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        wait_until("the start of the work", || running(&mark, "sleep").is_some());
        let pid = Pid::from_raw(study.id() as i32).expect("pid");
        kill_process(pid, Signal::HUP).expect("signal");
        assert_eq!(study.wait().expect("ends").code(), Some(expected), "{how}");
    }
}

fn whole_lines(out: &Path) -> Vec<String> {
    let text = fs::read_to_string(out.join("journal.jsonl")).unwrap_or_default();
    text.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(str::to_owned).collect()
}

/// Whatever a study has running, by the name of the program.
fn running(mark: &str, name: &str) -> Option<u32> {
    let is = |pid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim_end() == name)
    };
    marked(mark).into_iter().find(is)
}

#[test]
fn a_killed_worker_leaves_nothing_either() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let before = unclaimed_semaphores();
    let server = ["--server", "sleep 1000", "--ready", "true"];
    let works: [&[&str]; 2] = [
        &["--", "sh", "-c", "(setsid sleep 1001 &) ; sleep 1002"],
        &["chat:rooms=5,messages=9000"],
    ];
    for (round, work) in works.into_iter().enumerate() {
        let mark = format!("{}-worker-{round}", std::process::id());
        let out = format!("s{round}");
        let arms = ["study", "--arm", "a=cpus:0", "--arm", "b=cpus:0", "--out", &out];
        let servers = if round == 0 { &server[..] } else { &[] };
        let study = Command::new(CORETWIN)
            .args([&arms[..], servers, work].concat())
            .current_dir(folder.path())
            .env("CORETWIN_TEST_MARK", &mark)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let inner = if round == 0 { "sleep" } else { "coretwin-worker" };
        wait_until("the start of the work", || running(&mark, inner).is_some());
        std::thread::sleep(Duration::from_millis(700));
        // The supervisor is the first of its name; chat's two roles come after it.
        let worker = running(&mark, "coretwin-worker").expect("worker");
        let _ = kill_process(Pid::from_raw(worker as i32).expect("pid"), Signal::KILL);
        let output = study.wait_with_output().expect("ends");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{err}");
        assert!(err.contains("no answer from"), "{err}");
        assert!(marked(&mark).is_empty(), "round {round}: {:?}", marked(&mark));
        wait_until(&format!("semaphores of round {round}"), || {
            unclaimed_semaphores().is_subset(&before)
        });
    }
}

#[test]
fn studies_killed_at_random_moments_leave_nothing_and_lose_nothing() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let before = unclaimed_semaphores();
    let mut stream = Stream::new(setting("CORETWIN_SEED", 1), "kills", 0);
    let rounds = setting("CORETWIN_KILLS", 8);
    for round in 0..rounds {
        kill_once(folder.path(), round, &mut stream, &before);
    }
    let _ = writeln!(std::io::stdout(), "\ndid: {rounds} kills of studies");
}
