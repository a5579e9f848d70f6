//! The program goes with its process, and is refused to those who may not have it.

use crate::machine::{map, start, turn};
use coretwin_bpf::overlap::{Overlap, Room};
use libbpf_rs::query::ProgInfoIter;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What the child says when it has started.
const STARTED: &str = "started";

/// Not a test of its own: starts the program and waits for its end.
#[test]
#[ignore = "the child of other tests"]
fn child() {
    match Overlap::start(&map(), Room::default()) {
        Ok(_overlap) => {
            println!("\n{STARTED}");
            std::thread::sleep(Duration::from_secs(600));
        }
        Err(error) => println!("\nrefused: {error}"),
    }
}

fn spawn(user: Option<u32>) -> (Child, String) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "detach::child", "--ignored", "--nocapture"]);
    command.stdout(Stdio::piped()).stdin(Stdio::null()).stderr(Stdio::null());
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    let mut child = command.spawn().expect("a child");
    let output = BufReader::new(child.stdout.take().expect("its output"));
    let mut said = output.lines().map_while(Result::ok);
    let line = said.find(|line| line == STARTED || line.starts_with("refused"));
    (child, line.unwrap_or_default())
}

/// The programs that a process holds.
fn programs(process: u32) -> BTreeSet<u32> {
    let folder = std::fs::read_dir(format!("/proc/{process}/fdinfo")).expect("its descriptors");
    let texts = folder.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok());
    let ids = texts.flat_map(|text| {
        let id = text.lines().find_map(|line| line.strip_prefix("prog_id:")?.trim().parse().ok());
        id.into_iter().collect::<Vec<u32>>()
    });
    ids.collect()
}

#[test]
fn killed_it_leaves_nothing_in_the_kernel() {
    // Where it cannot start at all, that is said.
    if start().is_none() {
        return;
    }
    let _turn = turn();
    let (mut child, said) = spawn(None);
    assert_eq!(said, STARTED);
    let held = programs(child.id());
    assert!(held.len() >= 4, "switch, newtask, exec and hotplug at least: {held:?}");
    child.kill().expect("killed");
    child.wait().expect("ended");
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        let left: Vec<u32> =
            ProgInfoIter::default().map(|info| info.id).filter(|id| held.contains(id)).collect();
        if left.is_empty() {
            break;
        }
        assert!(Instant::now() < patience, "still in the kernel: {left:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_ordinary_user_is_told_what_is_missing() {
    if start().is_none() {
        return;
    }
    let _turn = turn();
    let (mut child, said) = spawn(Some(65_534));
    child.wait().expect("ended");
    assert!(said.contains("refused: not permitted") && said.contains("CAP_BPF"), "it says: {said}");
}
