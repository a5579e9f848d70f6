//! A load curve on declared siblings: `one-per-core` against `on`, and core-queue against the kernel's own
//! scheduler. Emulated siblings share nothing, so what it comes to is only that the way is whole and the
//! record says so.

use super::{Boot, Machine, Suite, Wanted};
use crate::vm::guest::{Guest, mount_one, output};
use crate::vm::qemu::Topology;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;

pub(crate) const SUITE: Suite = Suite {
    name: "service",
    about: "load curves of one-per-core against on, and of core-queue against the kernel's own",
    machines,
    guest,
};

const SERVICE: &str = "service:mix=spin-fixed,service_us=2000,connections=4,memory_kib=64";
/// An objective that is met on the way, with the least requests that a percentile takes.
const CURVE: [&str; 4] = ["--load-curve", "40/s,160/s", "--slo", "p50=20ms"];
const SHORT: [&str; 11] = [
    "--blocks",
    "2",
    "--settle",
    "0s",
    "--steal-limit",
    "100%",
    "--others-limit",
    "100%",
    "--yes",
    "--seed",
    "1",
];

/// The newest kernel, two cores of two siblings. Curves take their time, so a short run is without them.
fn machines(wanted: &Wanted) -> Vec<Machine> {
    let newest = wanted.kernels.last().filter(|_| !wanted.fast).cloned();
    let boots = vec![Boot::only(15)];
    let machine = |kernel| Machine { kernel, topology: Topology::new(1, 2, 2), boots };
    newest.map(machine).into_iter().collect()
}

fn guest(guest: &mut Guest) -> Result<()> {
    mount_one("tmpfs", "/dev/shm", "")?;
    output("busybox", &["ip", "link", "set", "lo", "up"])?;
    guest.check_told("a curve of one-per-core against on is whole, and says EMULATED", || {
        curve("/tmp/siblings", ["one-per-core", "on"])
    })?;
    if Path::new("/sys/kernel/sched_ext").exists() {
        guest.check_told("so is one of core-queue against the kernel's own scheduler", || {
            curve("/tmp/schedulers", ["on@kernel", "on@core-queue"])
        })?;
    }
    Ok(())
}

/// A study of both arms; what each rate came to.
fn curve(folder: &str, arms: [&str; 2]) -> Result<String> {
    let arms_given = ["--arm", arms[0], "--arm", arms[1]];
    let arguments =
        [&["study", SERVICE, "--out", folder], &CURVE[..], &SHORT, &arms_given].concat();
    let study = output("coretwin", &arguments)?;
    let said = String::from_utf8_lossy(&study.stderr);
    ensure!(study.status.success(), "{}: {said}", study.status);
    let summary = std::fs::read_to_string(format!("{folder}/summary.json"))?;
    let summary: Value = serde_json::from_str(&summary).context("the summary")?;
    ensure!(summary["origin"] == "emulated", "it is called {}", summary["origin"]);
    ensure!(summary["load"].as_array().is_some_and(|load| load.len() == 2), "{}", summary["load"]);
    let points = summary["curve"]["points"].as_array().context("no points")?;
    ensure!(points.len() == 4, "{} points", points.len());
    let told: Result<Vec<String>> = points.iter().map(point).collect();
    let page = output("coretwin", &["report", folder, "--full"])?;
    let page = String::from_utf8_lossy(&page.stdout);
    for part in ["EMULATED", "Capacity used, by account", arms[1]] {
        ensure!(page.contains(part), "'{part}' is not in:\n{page}");
    }
    Ok(told?.join(", "))
}

/// One rate of one arm, which must know what its CPU time was worth.
fn point(point: &Value) -> Result<String> {
    let number = |value: &Value| value.as_f64().with_context(|| point.to_string());
    let busy_s = number(&point["cpu_s"]["value"])?;
    let used = &point["capacity_s"];
    let [least, value, most] = [&used["low"], &used["value"], &used["high"]].map(number);
    let (least, value, most) = (least?, value?, most?);
    // A CPU second beside a busy sibling is half a second of a core, and alone it is no more than one.
    let is_inside = 0.49 * busy_s <= least && least <= value && value <= most;
    ensure!(is_inside && most <= 1.01 * busy_s, "{point}");
    Ok(format!(
        "{} at {:.0}/s: p50 {:.1} ms, {:.2} of a CPU second",
        point["arm"].as_str().unwrap_or_default(),
        number(&point["rate"])?,
        number(&point["latency"]["p50"]["value"])? * 1e3,
        value / busy_s
    ))
}
