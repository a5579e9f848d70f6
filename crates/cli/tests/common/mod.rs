//! Running the real programs from tests.

// Every test file uses some of this and none uses all.
#![allow(dead_code, clippy::allow_attributes, reason = "what is unused differs by test file")]

use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The program.
pub(crate) const CORETWIN: &str = env!("CARGO_BIN_EXE_coretwin");

/// Studies of one host exclude each other, also those of tests side by side.
static HOST: Mutex<()> = Mutex::new(());

/// Holds the host for one test.
pub(crate) fn host() -> MutexGuard<'static, ()> {
    HOST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a call of the program gave.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs the program in a folder. If somebody else's study holds the host, waits for it.
pub(crate) fn coretwin(folder: &Path, args: &[&str]) -> Ran {
    let Output { status, stdout, stderr } =
        patiently(Command::new(CORETWIN).args(args).current_dir(folder));
    Ran {
        status: status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&stdout).into_owned(),
        err: String::from_utf8_lossy(&stderr).into_owned(),
    }
}

/// Runs a command that runs the program, again as long as somebody else's study holds the host.
pub(crate) fn patiently(command: &mut Command) -> Output {
    for _ in 0..600 {
        let output = command.output().expect("starts");
        if !String::from_utf8_lossy(&output.stderr).contains("measures on this host") {
            return output;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    panic!("another study held the host for two minutes");
}

/// A journal as older versions wrote it, without checksums: what is changed in it is not noticed.
pub(crate) fn unsealed(journal: &str) -> String {
    let plain = |line: &str| line.rsplit_once(",\"checksum\":").expect("a checksum").0.to_owned();
    journal.lines().map(|line| plain(line) + "}\n").collect()
}

/// The lines of a journal, as JSON.
pub(crate) fn journal(folder: &Path) -> Vec<serde_json::Value> {
    std::fs::read_to_string(folder.join("journal.jsonl"))
        .expect("journal")
        .lines()
        .map(|line| serde_json::from_str(line).expect("line"))
        .collect()
}
