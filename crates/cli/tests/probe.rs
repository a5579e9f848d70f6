//! `coretwin probe` on this machine, whatever it is: well-formed results, foreign load told from
//! sharing, clear refusals, and nothing left behind.

mod common;

use common::{CORETWIN, coretwin, host};
use coretwin_base::account::probe::Probe;
use coretwin_base::machine::cpu_set::CpuSet;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Some two CPUs of this machine, as a list; `None` if there is only one.
fn two_cpus() -> Option<(CpuSet, String)> {
    let root = coretwin_host::root::Root::system();
    let topology = coretwin_host::topology::read(&root).expect("topology");
    let two: CpuSet = topology.allowed.iter().take(2).collect();
    let list = two.to_string();
    (two.len() == 2).then_some((two, list))
}

fn probe(list: &str, more: &[&str]) -> Probe {
    let folder = tempfile::tempdir().expect("folder");
    let args = [&["probe", "--json", "--cpus", list][..], more].concat();
    let ran = coretwin(folder.path(), &args);
    assert!(ran.err.contains("Loading CPUs"), "it is announced: {}", ran.err);
    let found: Probe = serde_json::from_str(&ran.out).expect("a result");
    let says_nothing = found.decided().is_empty() && found.meaningless.is_none();
    assert_eq!(ran.status, if says_nothing { 5 } else { 0 }, "{}", ran.err);
    found
}

#[test]
fn every_cpu_is_in_a_group_alone_or_undecided() {
    let _host = host();
    let Some((cpus, list)) = two_cpus() else { return };
    let found = probe(&list, &["--budget", "5s"]);
    let mut told = found.alone.union(&found.undecided);
    for group in &found.groups {
        assert!(group.len() > 1);
        told = told.union(group);
    }
    assert_eq!((told, &found.cpus), (cpus.clone(), &cpus));
    assert!(found.elapsed_s < 10.0, "the budget is kept: {}", found.elapsed_s);
    assert_eq!(found.agrees_with_reported.is_some(), found.undecided.is_empty());
    assert!(!found.boot_id.is_empty() && found.valid_from_utc <= found.valid_until_utc);
}

/// A loop that uses up a CPU until it is dropped.
struct Neighbour(Child);

impl Neighbour {
    fn on(cpu: coretwin_base::machine::cpu_set::CpuId) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec taskset -c {cpu} sh -c 'while :; do :; done'")]);
        Self(shell.spawn().expect("starts"))
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_neighbour_is_foreign_load_and_not_sharing() {
    let _host = host();
    let Some((cpus, list)) = two_cpus() else { return };
    let busy = cpus.iter().next_back().expect("a CPU");
    let _neighbour = Neighbour::on(busy);
    let found = probe(&list, &["--budget", "8s"]);
    let foreign = found.foreign.iter().find(|one| one.cpu == busy).expect("it is noticed");
    assert!(foreign.rounds_share > 0.5, "{found:?}");
    assert!(found.groups.is_empty() && found.undecided.contains(busy), "{found:?}");
}

#[test]
fn what_cannot_be_probed_is_refused_in_words() {
    let Some((_, list)) = two_cpus() else { return };
    let first = list.split([',', '-']).next().expect("a CPU");
    for (args, said, status) in [
        (&["--cpus", "0,60000"][..], "CPU 60000 does not exist", 3),
        (&["--cpus", first], "name two CPUs at least", 2),
        (&["--cpus", "x"], "is not a CPU list", 2),
        (&["--cpus", &list, "--budget", "100ms"], "budget of 100 ms is too small", 2),
        (&["--budget", "soon"], "is not a duration", 2),
    ] {
        let ran = coretwin(Path::new("/"), &[&["probe"][..], args].concat());
        assert!(ran.err.contains(said), "{args:?}: {}", ran.err);
        assert_eq!(ran.status, status, "{args:?}: {}", ran.err);
        assert!(ran.out.is_empty());
    }
}

/// Processes that have this one as parent.
fn children(parent: u32) -> BTreeSet<u32> {
    let of = |entry: std::fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let parent_of: u32 = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        (parent_of == parent).then_some(pid)
    };
    std::fs::read_dir("/proc").expect("proc").flatten().filter_map(of).collect()
}

#[test]
fn whoever_kills_it_leaves_no_loop_running() {
    let _host = host();
    let Some((_, list)) = two_cpus() else { return };
    for signal in ["KILL", "TERM", "INT"] {
        let mut child = Command::new(CORETWIN)
            .args(["probe", "--cpus", &list, "--budget", "60s"])
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("starts");
        let mut lines = BufReader::new(child.stderr.take().expect("stderr")).lines();
        let first = lines.next().expect("a line").expect("text");
        if first.contains("measures on this host") {
            let _ = child.wait();
            return;
        }
        let mut loops = children(child.id());
        while loops.is_empty() && child.try_wait().expect("wait").is_none() {
            std::thread::sleep(Duration::from_millis(5));
            loops = children(child.id());
        }
        let kill =
            Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(kill.expect("kill").success());
        let status = child.wait().expect("wait");
        if signal != "KILL" {
            assert_eq!(status.code(), Some(130));
        }
        for pid in loops {
            let path = format!("/proc/{pid}/cmdline");
            while std::fs::read_to_string(&path).is_ok_and(|line| line.contains("contention")) {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}
