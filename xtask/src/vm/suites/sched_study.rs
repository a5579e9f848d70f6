//! The scheduler core-queue as people use it: loaded and unloaded by hand, refused where it cannot be,
//! gone with its process, and as part of the arms of a study.

use super::{Boot, Machine, Suite, Wanted};
use crate::vm::guest::{Guest, json_of, mount_one, output, read};
use crate::vm::qemu::Topology;
use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

pub(crate) const SUITE: Suite = Suite {
    name: "schedstudy",
    about: "sched start, stop and doctor; a study of off@kernel, on@kernel and on@core-queue",
    machines,
    guest,
};

const STATE: &str = "/sys/kernel/sched_ext/state";
const OPS: &str = "/sys/kernel/sched_ext/root/ops";
/// A user of the guest's /etc/passwd that is not root.
const GUEST: u32 = 1000;
const ARMS: [&str; 6] = ["--arm", "off@kernel", "--arm", "on@kernel", "--arm", "on@core-queue"];
/// Longest wait for something that takes a second in a guest whose host has time for it.
const PATIENCE: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(10);

/// The newest kernel, and the oldest, which has no sched_ext.
fn machines(wanted: &Wanted) -> Vec<Machine> {
    let boot = Boot::only(15);
    let mut kernels: Vec<_> = [wanted.kernels.first(), wanted.kernels.last()].into_iter().collect();
    kernels.dedup_by(|a, b| a.map(|kernel| &kernel.release) == b.map(|kernel| &kernel.release));
    let machine = |kernel: Option<&_>| {
        let boots = vec![boot.clone()];
        kernel.cloned().map(|kernel| Machine { kernel, topology: Topology::new(1, 2, 2), boots })
    };
    kernels.into_iter().filter_map(machine).collect()
}

fn guest(guest: &mut Guest) -> Result<()> {
    // The workloads keep their semaphores there.
    mount_one("tmpfs", "/dev/shm", "")?;
    // And chat talks over the loopback.
    output("busybox", &["ip", "link", "set", "lo", "up"])?;
    if !Path::new(STATE).exists() {
        return without(guest);
    }
    guest.check("doctor finds nothing in the way", || {
        let findings = json_of("coretwin", &["sched", "doctor", "--json"])?;
        ensure!(findings["can_load"] == true, "{findings}");
        Ok(())
    })?;
    guest.check_told("doctor and start mind core-scheduling cookies", cookies)?;
    guest.check("it is loaded, told, refused twice and unloaded", by_hand)?;
    guest.check("whoever is not root is refused, and stops nothing", not_root)?;
    guest.check("in the foreground it goes with an interrupt, in good order", foreground)?;
    guest
        .check("a keeper that is killed leaves the kernel's scheduler in charge", killed_keeper)?;
    guest.check_told("a study of two schedulers with SMT off and on is complete", study)?;
    guest.check("a study that is killed leaves kernel and SMT as they were", || {
        killed_study("/tmp/killed", false)
    })?;
    guest.check("also when its keeper does not listen", || killed_study("/tmp/deaf", true))?;
    Ok(())
}

/// While a study's command has a cookie, the scheduler is refused; where the kernel gives none, that is told.
fn cookies() -> Result<String> {
    let finding = || -> Result<Value> {
        // It ends with 3 where something blocks.
        let output = output("coretwin", &["sched", "doctor", "--json"])?;
        let findings: Value = serde_json::from_slice(&output.stdout).context("its findings")?;
        let checks = findings["checks"].as_array().context("no checks")?;
        let found = checks.iter().find(|check| check["name"] == "core-scheduling");
        found.cloned().context("nothing about core scheduling")
    };
    let found = finding()?;
    ensure!(found["level"] == "ok", "{found}");
    if found["found"].as_str().is_some_and(|text| text.contains("there are none here")) {
        return Ok("this kernel gives none".to_owned());
    }
    let mut study = Command::new("coretwin")
        .args(["study", "--arm", "core-sched", "--arm", "on", "--settle", "0s", "--blocks", "1"])
        .args(["--out", "/tmp/cookies", "--", "/bin/sleep", "600"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create("/tmp/cookies.log")?)
        .spawn()
        .context("starting a study")?;
    let blocks = wait_until("somebody has a cookie", || {
        let ended = study.try_wait()?;
        ensure!(ended.is_none(), "{}", fs::read_to_string("/tmp/cookies.log")?);
        Ok(finding()?["level"] == "blocks")
    });
    let found = finding();
    let refused = output("coretwin", &["sched", "start", "--detach"]);
    study.kill()?;
    study.wait()?;
    blocks?;
    let (found, refused) = (found?, refused?);
    ensure!(refused.status.code() == Some(3), "{}", said(&refused));
    ensure!(said(&refused).contains("core-scheduling cookies"), "{}", said(&refused));
    wait_until("the cookies are gone", || Ok(finding()?["level"] == "ok"))?;
    Ok(found["found"].as_str().unwrap_or_default().to_owned())
}

/// A kernel without sched_ext: it is said, and everything else works.
fn without(guest: &mut Guest) -> Result<()> {
    guest.check("doctor, start and a study say that the kernel has no sched_ext", || {
        for arguments in [
            &["sched", "doctor"][..],
            &["sched", "start"],
            &["study", "--arm", "on", "--arm", "on@core-queue", "--out", "/tmp/no", "--", "true"],
        ] {
            let output = output("coretwin", arguments)?;
            let said = said(&output);
            ensure!(output.status.code() == Some(3), "{}: {said}", arguments.join(" "));
            ensure!(said.contains("6.12 or later"), "{said}");
        }
        ensure!(!Path::new("/tmp/no").exists(), "the study began");
        Ok(())
    })?;
    guest.check("status and stop tell of the kernel's own scheduler", || {
        let status = json_of("coretwin", &["sched", "status", "--json"])?;
        ensure!(status["scheduler"] == "kernel" && status["sched_ext"].is_null(), "{status}");
        ensure!(output("coretwin", &["sched", "stop"])?.status.success(), "stop failed");
        Ok(())
    })?;
    guest.check("a study under the kernel's own scheduler works", || {
        let arms = ["--arm", "one-per-core@kernel", "--arm", "on@kernel"];
        let limits = ["--steal-limit", "100%", "--others-limit", "100%"];
        let options = ["--blocks", "1", "--out", "/tmp/own", "--", "/bin/true"];
        let output = output("coretwin", &[&["study"], &arms[..], &limits, &options].concat())?;
        ensure!(output.status.success(), "{}", said(&output));
        Ok(())
    })?;
    Ok(())
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    format!("{} {}", text(&output.stdout), text(&output.stderr))
}

fn wait_until(what: &str, mut condition: impl FnMut() -> Result<bool>) -> Result<()> {
    let started = Instant::now();
    while !condition()? {
        ensure!(started.elapsed() < PATIENCE, "not within {} s: {what}", PATIENCE.as_secs());
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

fn is_ours() -> Result<bool> {
    Ok(read(STATE)? == "enabled" && read(OPS).is_ok_and(|name| name == "coretwin_core_queue"))
}

fn kernel_is_in_charge() -> Result<bool> {
    Ok(read(STATE)? == "disabled")
}

/// Loads it, detached; the process that holds it.
fn start(options: &[&str]) -> Result<Pid> {
    let output = output("coretwin", &[&["sched", "start", "--detach"], options].concat())?;
    ensure!(output.status.success(), "{}", said(&output));
    ensure!(is_ours()?, "{} is in charge", read(OPS).unwrap_or_default());
    let status = json_of("coretwin", &["sched", "status", "--json"])?;
    ensure!(status["scheduler"] == "core-queue", "{status}");
    let keeper = status["loaded"]["keeper"]["process"].as_i64().context("no keeper")?;
    i32::try_from(keeper).ok().and_then(Pid::from_raw).context("no process")
}

fn by_hand() -> Result<()> {
    let keeper = start(&["--set", "active=off"])?;
    let status = json_of("coretwin", &["sched", "status", "--json"])?;
    let loaded = &status["loaded"];
    ensure!(loaded["options"]["active"] == 0, "{loaded}");
    ensure!(loaded["cores"].as_array().is_some_and(|cores| cores.len() == 2), "{loaded}");
    let ran = |name: &str| loaded["counters"][name].as_u64();
    ensure!(ran("ran_same_cpu").is_some(), "{loaded}");
    let number = keeper.as_raw_nonzero().to_string();
    for arguments in [
        &["sched", "start"][..],
        &["sched", "start", "--detach"],
        &["study", "--arm", "on", "--arm", "on@core-queue", "--out", "/tmp/no", "--", "true"],
    ] {
        let output = output("coretwin", arguments)?;
        let said = said(&output);
        ensure!(output.status.code() == Some(3), "{}: {said}", arguments.join(" "));
        ensure!(said.contains("loaded already") && said.contains(&number), "{said}");
    }
    let metrics = output("coretwin", &["sched", "status", "--openmetrics", "-"])?;
    ensure!(said(&metrics).contains("coretwin_sched_ran_same_cpu_total "), "{}", said(&metrics));
    let stopped = output("coretwin", &["sched", "stop"])?;
    ensure!(stopped.status.success() && kernel_is_in_charge()?, "{}", said(&stopped));
    let status = json_of("coretwin", &["sched", "status", "--json"])?;
    ensure!(status["gone"].is_null() && status["loaded"].is_null(), "{status}");
    Ok(())
}

fn not_root() -> Result<()> {
    let as_guest = |arguments: &[&str]| {
        let mut command = Command::new("coretwin");
        command.args(arguments).uid(GUEST).gid(GUEST).output().context("starting coretwin")
    };
    let refused = as_guest(&["sched", "start"])?;
    ensure!(refused.status.code() == Some(3), "{}", said(&refused));
    ensure!(said(&refused).contains("run it as root"), "{}", said(&refused));
    start(&[])?;
    let refused = as_guest(&["sched", "stop"])?;
    ensure!(refused.status.code() == Some(3) && is_ours()?, "{}", said(&refused));
    let status = as_guest(&["sched", "status"])?;
    ensure!(status.status.success(), "{}", said(&status));
    ensure!(said(&status).contains("core-queue"), "{}", said(&status));
    ensure!(output("coretwin", &["sched", "stop"])?.status.success(), "root cannot stop it");
    Ok(())
}

fn foreground() -> Result<()> {
    let child = Command::new("coretwin")
        .args(["sched", "start"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("starting coretwin")?;
    wait_until("it is loaded", is_ours)?;
    // A line of statistics or two.
    std::thread::sleep(Duration::from_millis(2500));
    signal(&child, Signal::INT)?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success() && kernel_is_in_charge()?, "{}", said(&output));
    for part in ["2 cores, 4 CPUs", "ran_same_cpu", "kernel's own scheduler is in charge"] {
        ensure!(said(&output).contains(part), "'{part}' is not in: {}", said(&output));
    }
    Ok(())
}

fn signal(child: &Child, signal: Signal) -> Result<()> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("a process")?;
    kill_process(pid, signal).context("sending a signal")
}

fn killed_keeper() -> Result<()> {
    let keeper = start(&[])?;
    kill_process(keeper, Signal::KILL)?;
    wait_until("the kernel's scheduler is in charge", kernel_is_in_charge)?;
    let status = output("coretwin", &["sched", "status"])?;
    ensure!(said(&status).contains("ended without a word"), "{}", said(&status));
    // Nothing of it is in the way of the next.
    start(&[])?;
    ensure!(output("coretwin", &["sched", "stop"])?.status.success(), "it cannot be stopped");
    Ok(())
}

/// Both schedulers with SMT off and on; how many readings there are.
fn study() -> Result<String> {
    let options = ["study", "--yes", "--settle", "0s", "--blocks", "2", "--out", "/tmp/study"];
    let limits = ["--steal-limit", "100%", "--others-limit", "100%", "chat:rooms=1,messages=5"];
    let output = output("coretwin", &[&options[..], &ARMS, &limits].concat())?;
    ensure!(output.status.success(), "{}", said(&output));
    ensure!(kernel_is_in_charge()?, "a scheduler is still loaded");
    ensure!(read("/sys/devices/system/cpu/smt/control")? == "on", "SMT is not on");
    let journal = fs::read_to_string("/tmp/study/journal.jsonl").context("the journal")?;
    let mut told = Vec::new();
    for (arm, scheduler, cpus) in
        [("off", "kernel", "[0,2]"), ("on", "kernel", ""), ("on@core-queue", "core-queue", "")]
    {
        let mut readings = 0;
        for line in journal.lines() {
            let reading: Value = serde_json::from_str(line).context("a reading")?;
            if reading["arm"] != arm {
                continue;
            }
            ensure!(reading["status"] == "ok", "{reading}");
            ensure!(reading["checks"]["scheduler"] == true, "{reading}");
            ensure!(reading["notes"]["scheduler"] == scheduler, "{reading}");
            let ran = reading["cpus_ran"].to_string();
            ensure!(cpus.is_empty() || !ran.contains(['1', '3']), "{arm} ran on {ran}");
            readings += 1;
        }
        // Two blocks, each with a run in vain.
        ensure!(readings >= 4, "{readings} readings of {arm}");
        told.push(format!("{readings} of {arm}"));
    }
    let report = fs::read_to_string("/tmp/study/report.md").context("the report")?;
    for part in ["on@core-queue", "loads its scheduler anew", "no verdict on SMT"] {
        ensure!(report.contains(part), "'{part}' is not in the report:\n{report}");
    }
    ensure!(Path::new("/tmp/study/report.html").exists(), "no page");
    Ok(told.join(", "))
}

/// Kills a study while it measures under core-queue.
fn killed_study(folder: &str, deaf: bool) -> Result<()> {
    let log = File::create(format!("{folder}.log"))?;
    let mut study = Command::new("coretwin")
        .args(["study", "--yes", "--settle", "0s", "--blocks", "1000", "--out", folder])
        .args(ARMS)
        .args(["--", "/bin/sleep", "0.2"])
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .context("starting a study")?;
    let mut keeper = None;
    let loaded = wait_until("core-queue is loaded for the study", || {
        let loaded = json_of("coretwin", &["sched", "status", "--json"])?["loaded"].take();
        keeper = loaded["keeper"]["process"].as_i64();
        Ok(loaded["study"]["process"] == study.id() && is_ours()?)
    });
    let keeper = keeper.and_then(|keeper| Pid::from_raw(i32::try_from(keeper).ok()?));
    if let (true, Some(keeper)) = (deaf, keeper) {
        kill_process(keeper, Signal::STOP)?;
    }
    let refused = output("coretwin", &["sched", "stop"]);
    study.kill()?;
    study.wait()?;
    loaded.with_context(|| fs::read_to_string(format!("{folder}.log")).unwrap_or_default())?;
    let refused = refused?;
    ensure!(refused.status.code() == Some(3), "a study's is stopped: {}", said(&refused));
    wait_until("the kernel's scheduler is in charge", kernel_is_in_charge)?;
    wait_until("SMT is put back", || {
        Ok(read("/sys/devices/system/cpu/online")? == "0-3"
            && !Path::new("/run/coretwin/smt-study.json").exists())
    })
}
