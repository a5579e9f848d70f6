//! What the scheduler costs beside the kernel's own, interleaved: a boot for each row. Time passes by
//! instructions, so that whatever else the host does is not in it. An emulated guest shows decisions and
//! overhead, never what SMT gains.

use crate::vm::guest::{Guest, json_of, mount_one, output};
use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Rows, each with the name of its boot and what to measure: two tasks that wake each other, eighty that do, clients
/// with their servers, and groups of senders and receivers.
pub(super) const ROWS: &[(&str, &[&str])] = &[
    ("costpipe", &["lmbench/pipe-latency:sample=0.1,samples=3"]),
    ("costchat", &["chat:rooms=1,messages=100"]),
    ("costtbench", &["tbench:clients=2,mode=timed,seconds=0.5,warmup=0.3,loadfile=/tmp/calls.txt"]),
    ("costgroups", &["--", "/init", GROUPS, "4"]),
];
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
/// Enough for an interval.
const BLOCKS: &str = "6";
const FOLDER: &str = "/tmp/cost";

pub(super) fn run(guest: &mut Guest, row: &[&str]) -> Result<()> {
    // The workloads keep their semaphores there, and talk over the loopback.
    mount_one("tmpfs", "/dev/shm", "")?;
    output("busybox", &["ip", "link", "set", "lo", "up"])?;
    std::fs::write("/tmp/calls.txt", CALLS.trim_start())?;
    guest.check_told("cost beside the kernel's own scheduler, as a ratio", || {
        let arms = ["--arm", "on@kernel", "--arm", "on@core-queue"];
        let options = ["study", "--yes", "--settle", "0s", "--blocks", BLOCKS, "--out", FOLDER];
        // What the kernel does for a loader is no neighbour.
        let limits = ["--steal-limit", "100%", "--others-limit", "100%"];
        let output = output("coretwin", &[&options[..], &arms, &limits, row].concat())?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let summary = json_of("cat", &[&format!("{FOLDER}/summary.json")])?;
        let rows = summary["rows"].as_array().context("no rows")?;
        let told: Vec<String> = rows.iter().map(ratio).collect::<Result<_>>()?;
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

fn ratio(row: &Value) -> Result<String> {
    let number = |name: &str| row[name].as_f64().with_context(|| format!("no {name} in {row}"));
    let (ratio, low, high) = (number("ratio")?, number("low")?, number("high")?);
    let (workload, placement) = (&row["workload"], &row["placement"]);
    Ok(format!("{workload} {placement} {ratio:.3} ({low:.3} to {high:.3})").replace('"', ""))
}
