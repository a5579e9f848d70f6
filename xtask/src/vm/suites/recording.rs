//! The way to a switch on declared siblings, two and four to a core: what overlaps is recorded where the overlap
//! is known, killed in the middle, and replayed; then commands beside each other and beside rulers. Emulated
//! siblings share nothing, so slowdowns come to nothing, and the records must say so.

use super::{Boot, Machine, Suite, Wanted};
use crate::vm::guest::{Guest, json_of, output};
use crate::vm::qemu::Topology;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub(crate) const SUITE: Suite = Suite {
    name: "recording",
    about: "a known overlap recorded, killed and replayed on two and four siblings; pairs and rulers",
    machines,
    guest,
};

const FILE: &str = "/tmp/day.rec";
const RECORD: [&str; 5] = ["account", "--record", FILE, "--every", "3s"];
const REPLAY: [&str; 6] = ["account", "--replay", FILE, "--yield", "1.1..1.4", "--smt"];
const GROUP: &str = "/sys/fs/cgroup/hot";
/// How far a recording may be from the overlap that was made, in cores: the recorder and the kernel run too.
const OFF_MAX: f64 = 0.1;
/// Fewest runs; a guest is never quiet.
const ONE_BLOCK: [&str; 7] =
    ["--blocks", "1", "--others-limit", "100%", "--steal-limit", "100%", "--json"];

/// The newest kernel. For the long checks: a change's test has the recording of this machine.
fn machines(wanted: &Wanted) -> Vec<Machine> {
    let newest = wanted.kernels.last().filter(|_| !wanted.fast);
    let shapes = [Topology::new(1, 2, 2), Topology::new(1, 1, 4)];
    let of = |kernel: &crate::vm::kernel::Kernel| {
        shapes.map(|topology| Machine {
            kernel: kernel.clone(),
            topology,
            boots: vec![Boot::only(15)],
        })
    };
    newest.map(of).into_iter().flatten().collect()
}

/// Loops that end with this.
struct Loops(Vec<Child>);

impl Drop for Loops {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A loop on each of these CPUs, in a group of their own.
fn busy(cpus: &[usize]) -> Result<Loops> {
    std::fs::create_dir_all(GROUP).context(GROUP)?;
    let mut loops = Loops(Vec::new());
    for cpu in cpus {
        let script = format!(
            "echo $$ > {GROUP}/cgroup.procs; exec busybox taskset -c {cpu} busybox sh -c 'while :; do :; done'"
        );
        let child = Command::new("busybox").args(["sh", "-c", &script]).spawn();
        loops.0.push(child.context("starting a loop")?);
    }
    Ok(loops)
}

fn guest(guest: &mut Guest) -> Result<()> {
    let siblings = guest.topology.threads as usize;
    // Of two siblings both, of four three; of a second core one.
    let (both, cores) = if siblings == 2 { (2, 2.0) } else { (3, 1.0) };
    let cpus: Vec<usize> = (0..both).chain((siblings == 2).then_some(2)).collect();
    for method in ["ebpf", "sampled"] {
        let _ = std::fs::remove_file(FILE);
        guest.check_told(
            &format!("{method}: what overlaps is recorded, and survives a kill"),
            || recorded(method, &cpus, cores, both as f64),
        )?;
    }
    for state in ["off", "on", "core-sched"] {
        guest.check_told(&format!("{state}: the recording is replayed"), || {
            let record = json_of("coretwin", &[&REPLAY[..], &[state, "--json"]].concat())?;
            ensure!(record["origin"] == "emulated", "it is called {}", record["origin"]);
            ensure!(record["recorded_threads"] == siblings, "{}", record["recorded_threads"]);
            let brief = output("coretwin", &[&REPLAY[..], &[state]].concat())?;
            let brief = String::from_utf8_lossy(&brief.stdout).into_owned();
            ensure!(brief.contains("fit") && brief.lines().count() <= 7, "{brief}");
            Ok(brief.lines().next().unwrap_or_default().to_owned())
        })?;
    }
    let work =
        |count: u32| format!("busybox sh -c 'i=0; while [ $i -lt {count} ]; do i=$((i+1)); done'");
    let (a, b) = (format!("a={}", work(20_000)), format!("b={}", work(30_000)));
    guest.check_told("commands beside each other say that emulation means nothing", || {
        let words = ["cputime", "--with", &a, "--with", &b, "--out", "/tmp/pairs"];
        let record = json_of("coretwin", &[&words[..], &ONE_BLOCK].concat())?;
        ensure!(record.to_string().contains("mean nothing here"), "it does not say so: {record}");
        let pairs = find(&record, "pairs").and_then(Value::as_array).context("no pairs")?;
        // Each beside each other one and beside itself.
        ensure!(!pairs.is_empty(), "no pair");
        Ok(format!("{} pairs", pairs.len()))
    })?;
    guest.check_told("so do rulers", || {
        let line = work(20_000);
        let words = ["cputime", "--rulers", "--out", "/tmp/rulers"];
        let command = ["--", "busybox", "sh", "-c", &line];
        let record = json_of("coretwin", &[&words[..], &ONE_BLOCK, &command].concat())?;
        ensure!(record.to_string().contains("mean nothing here"), "it does not say so: {record}");
        let scales = find(&record, "scales").and_then(Value::as_array).context("no rulers")?;
        let names: Vec<&str> = scales.iter().filter_map(|it| it["ruler"].as_str()).collect();
        // Emulated, a pass over memory may take longer than a window.
        ensure!(names.len() >= 9, "{names:?}");
        Ok(names.join(", "))
    })?;
    Ok(())
}

/// The first field of this name, at any depth.
fn find<'a>(record: &'a Value, name: &str) -> Option<&'a Value> {
    match record {
        Value::Object(fields) => {
            fields.get(name).or_else(|| fields.values().find_map(|value| find(value, name)))
        }
        Value::Array(values) => values.iter().find_map(|value| find(value, name)),
        _ => None,
    }
}

/// Records busy loops with that method, to the end and then killed; what was recorded of them.
fn recorded(method: &str, cpus: &[usize], cores: f64, shared: f64) -> Result<String> {
    let _loops = busy(cpus)?;
    std::thread::sleep(Duration::from_millis(500));
    let words = [&RECORD[..], &["--method", method]].concat();
    let whole = output("coretwin", &[&words[..], &["--for", "9s"]].concat())?;
    ensure!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));
    let mut recorder = Command::new("coretwin")
        .args(&words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("starting coretwin")?;
    let blocks = || std::fs::read_to_string(FILE).map_or(0, |text| text.lines().count());
    let before = blocks();
    // A head and two blocks more; loading a program takes its time in a guest.
    let grown = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        blocks() >= before + 3
    });
    recorder.kill().context("killing the recorder")?;
    recorder.wait().context("its end")?;
    ensure!(grown, "nothing was recorded in a minute");
    let record = json_of("coretwin", &[&REPLAY[..], &["off", "--json"]].concat())?;
    let minutes = record["minutes"].as_array().context("no minutes")?;
    // The second recorder adds to what the first wrote, and lost at most the block that it was in.
    ensure!(minutes.len() >= 4, "{} blocks", minutes.len());
    let mean = |name: &str| -> Result<f64> {
        let values: Option<Vec<f64>> = minutes.iter().map(|it| it[name].as_f64()).collect();
        let values = values.with_context(|| format!("no {name}"))?;
        Ok(values.iter().sum::<f64>() / values.len() as f64)
    };
    let (busy, both) = (mean("core_busy")?, mean("both_busy")?);
    let told = format!("{} blocks, {busy:.3} cores busy, {both:.3} with both", minutes.len());
    // The recorder runs too, emulated for much of the time, and where a core has a CPU to spare.
    ensure!((busy - cores).abs() <= OFF_MAX && both >= 1.0 - OFF_MAX, "{told}");
    let groups = record["groups"].as_array().context("no groups")?;
    let hot = groups.iter().find(|group| group["name"] == "/hot");
    let hot = hot.with_context(|| format!("no /hot in {groups:?}"))?;
    let elapsed_s: f64 = minutes.iter().filter_map(|it| it["elapsed_s"].as_f64()).sum();
    let of = |name: &str| hot[name].as_f64().map(|time_s| time_s / elapsed_s);
    let (alone, beside) = (of("alone_s").context("alone")?, of("beside_s").context("beside")?);
    let told = format!("{told}; the loops {alone:.3} CPUs alone, {beside:.3} beside");
    // A loop on a core of its own is alone but for the recorder.
    let most = cpus.len() as f64;
    let is_all = (alone + beside - most).abs() <= OFF_MAX * most;
    ensure!(is_all && beside >= shared - OFF_MAX * most, "{told}");
    Ok(told)
}
