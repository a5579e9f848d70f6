//! What the scheduler costs beside the kernel's own, interleaved: a boot for each row. Time passes by
//! instructions, so that whatever else the host does is not in it. An emulated guest shows decisions and
//! overhead, never what SMT gains.

use crate::vm::guest::{Guest, json_of, mount_one, output};
use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// A load, in a boot of its own.
pub(super) struct Row {
    pub(super) boot: &'static str,
    blocks: &'static str,
    /// The lower end that it must have of the kernel's own, where its interval is narrow.
    least: f64,
    words: &'static [&'static str],
}

/// Two tasks that wake each other, clients with their servers, rooms of eighty tasks, and groups of senders and
/// receivers.
pub(super) const ROWS: &[Row] = &[
    row("costpipe", "24", 0.95, &["lmbench/pipe-latency:sample=0.1,samples=3"]),
    row("costtbench", "24", 0.98, &[TBENCH]),
    row("costchat", "6", 0.98, &["chat:rooms=1,messages=100"]),
    row("costchat10", "6", 0.98, &["chat:rooms=10,messages=10"]),
    row("costgroups1", "6", 0.98, &["--", "/init", GROUPS, "1"]),
    row("costgroups", "6", 0.98, &["--", "/init", GROUPS, "4"]),
    row("costgroups16", "6", 0.98, &["--", "/init", GROUPS, "16"]),
];
const TBENCH: &str = "tbench:clients=2,mode=timed,seconds=0.5,warmup=0.3,loadfile=/tmp/calls.txt";
/// An interval of which both ends lie so far from the ratio is wide: then its upper end must reach 1.
const WIDE: f64 = 0.02;

const fn row(
    boot: &'static str,
    blocks: &'static str,
    least: f64,
    words: &'static [&'static str],
) -> Row {
    Row { boot, blocks, least, words }
}

/// The word by which this program is what the last of them measures.
pub(crate) const GROUPS: &str = "groups";
/// What a client of tbench asks for over and over: the load of a file server takes a guest too long to make.
const CALLS: &str = r#"
Mkdir "\clients\client1" 0x0
NTCreateX "\clients\client1\a" 0x40 0x2 9938 NT_STATUS_OK
WriteX 9938 0 4096 4096 NT_STATUS_OK
WriteX 9938 4096 4096 4096 NT_STATUS_OK
ReadX 9938 0 4096 4096 NT_STATUS_OK
QUERY_FILE_INFORMATION 9938 258 NT_STATUS_OK
Close 9938 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\a" 1004 NT_STATUS_OK
Unlink "\clients\client1\a" 0x6 NT_STATUS_OK
"#;
const FOLDER: &str = "/tmp/cost";

pub(super) fn run(guest: &mut Guest, row: &Row) -> Result<()> {
    // The workloads keep their semaphores there, and talk over the loopback.
    mount_one("tmpfs", "/dev/shm", "")?;
    output("busybox", &["ip", "link", "set", "lo", "up"])?;
    std::fs::write("/tmp/calls.txt", CALLS.trim_start())?;
    guest.check_told("cost beside the kernel's own scheduler, as a ratio", || {
        let arms = ["--arm", "on@kernel", "--arm", "on@core-queue"];
        let options = ["study", "--yes", "--settle", "0s", "--blocks", row.blocks, "--out", FOLDER];
        // What the kernel does for a loader is no neighbour.
        let limits = ["--steal-limit", "100%", "--others-limit", "100%"];
        let output = output("coretwin", &[&options[..], &arms, &limits, row.words].concat())?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let summary = json_of("cat", &[&format!("{FOLDER}/summary.json")])?;
        let rows = summary["rows"].as_array().context("no rows")?;
        let told: Vec<String> =
            rows.iter().map(|it| ratio(it, row.least)).collect::<Result<_>>()?;
        ensure!(!told.is_empty(), "no rows in {summary}");
        Ok(told.join("; "))
    })?;
    Ok(())
}

/// hackbench's shape: in each group every sender writes to every receiver.
pub(crate) fn groups(count: usize) -> Result<bool> {
    const ENDS: usize = 10;
    const TIMES: usize = 50;
    const BYTES: [u8; 100] = [0; 100];
    std::thread::scope(|scope| {
        let mut tasks = Vec::new();
        for _ in 0..count {
            let pairs: Vec<_> = (0..ENDS).map(|_| UnixStream::pair()).collect::<io::Result<_>>()?;
            let (readers, writers): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            let writers = Arc::new(writers);
            for _ in 0..ENDS {
                let writers = Arc::clone(&writers);
                tasks.push(scope.spawn(move || {
                    (0..TIMES * ENDS).try_for_each(|at| (&writers[at % ENDS]).write_all(&BYTES))
                }));
            }
            tasks.extend(readers.into_iter().map(|mut reader| {
                let mut bytes = BYTES;
                scope.spawn(move || {
                    (0..TIMES * ENDS).try_for_each(|_| reader.read_exact(&mut bytes))
                })
            }));
        }
        for task in tasks {
            task.join().map_err(|_| anyhow!("a task of a group is gone"))??;
        }
        Ok(true)
    })
}

/// A row's ratio to the kernel's own with its interval; an error if it lies below.
fn ratio(row: &Value, least: f64) -> Result<String> {
    let number = |name: &str| row[name].as_f64().with_context(|| format!("no {name} in {row}"));
    let (ratio, low, high) = (number("ratio")?, number("low")?, number("high")?);
    let (workload, placement) = (&row["workload"], &row["placement"]);
    let told =
        format!("{workload} {placement} {ratio:.3} ({low:.3} to {high:.3})").replace('"', "");
    ensure!(is_kept(low, high, least), "behind the kernel's own: {told}, least {least}");
    Ok(told)
}

/// Whether an interval is where it must be; a wide one may at least hold 1.
fn is_kept(low: f64, high: f64, least: f64) -> bool {
    let is_wide = high - low > 2.0 * WIDE;
    low >= least || (is_wide && high >= 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_interval_below_the_least_is_behind_and_a_wide_one_below_1() {
        assert!(is_kept(0.99, 1.01, 0.98) && is_kept(0.9, 1.1, 0.98));
        assert!(!is_kept(0.97, 1.0, 0.98) && !is_kept(0.8, 0.99, 0.98));
    }
}
