//! Processes that keep a guest busy, and what the kernel says of its scheduler.

use crate::vm::guest::{json_of, output, read};
use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, setpriority_process};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// A program that only computes.
const HOG: &str = "while :; do :; done";
/// A program that sleeps nearly always, in a process of its own each time.
const SLEEPER: &str = "while :; do /bin/sleep 0.1; done";
/// By then whatever was asked for has happened, even where others compile.
const PATIENCE: Duration = Duration::from_secs(60);

/// Processes that end when this goes.
#[derive(Default)]
pub(super) struct Load(Vec<Child>);

impl Load {
    /// Programs that only compute.
    pub(super) fn hogs(count: usize) -> Result<Self> {
        let mut load = Self::default();
        (0..count).try_for_each(|_| load.add(&["sh", "-c", HOG]))?;
        Ok(load)
    }

    /// Programs that start another for a moment, again and again.
    pub(super) fn sleepers(count: usize) -> Result<Self> {
        let mut load = Self::default();
        (0..count).try_for_each(|_| load.add(&["sh", "-c", SLEEPER]))?;
        Ok(load)
    }

    /// Another one, bound to a CPU, with a nice value.
    pub(super) fn add_pinned(&mut self, cpu: u32, nice: i32) -> Result<()> {
        self.add(&["taskset", &format!("{:x}", 1_u64 << cpu), "sh", "-c", HOG])?;
        setpriority_process(self.last()?, nice).context("setting a nice value")
    }

    /// Binds the last one to these CPUs.
    pub(super) fn bind_last(&self, cpus: &[usize]) -> Result<()> {
        let mut set = CpuSet::new();
        cpus.iter().for_each(|cpu| set.set(*cpu));
        sched_setaffinity(self.last()?, &set).context("binding a task")
    }

    fn last(&self) -> Result<Option<Pid>> {
        let last = self.0.last().context("no program")?;
        Ok(i32::try_from(last.id()).ok().and_then(Pid::from_raw))
    }

    /// Puts the last one into a group of its own, of this weight.
    pub(super) fn group_last(&self, name: &str, weight: u32) -> Result<()> {
        let groups = Path::new("/sys/fs/cgroup");
        let write = |path: std::path::PathBuf, text: String| {
            std::fs::write(&path, text).with_context(|| path.display().to_string())
        };
        let last = self.0.last().context("no program")?;
        write(groups.join("cgroup.subtree_control"), "+cpu".to_owned())?;
        std::fs::create_dir_all(groups.join(name))?;
        write(groups.join(name).join("cpu.weight"), weight.to_string())?;
        write(groups.join(name).join("cgroup.procs"), last.id().to_string())
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(Child::id)
    }

    /// Another program.
    pub(super) fn add(&mut self, command: &[&str]) -> Result<()> {
        let (program, arguments) = command.split_first().context("no program")?;
        let child = Command::new(program).args(arguments).spawn();
        self.0.push(child.with_context(|| format!("starting {program}"))?);
        Ok(())
    }

    /// CPU time of each so far, in ticks of the kernel's clock (proc_pid_stat(5), field 14).
    pub(super) fn used_ticks(&self) -> Result<Vec<u64>> {
        let of = |child: &Child| {
            let text = read(format!("/proc/{}/stat", child.id()))?;
            let fields = text.rsplit_once(')').context("no name")?.1;
            let user = fields.split_whitespace().nth(11).and_then(|field| field.parse().ok());
            user.with_context(|| format!("no user time in {text}"))
        };
        self.0.iter().map(of).collect()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// Loads the scheduler into a process of its own.
pub(super) fn start(set: &[&str]) -> Result<()> {
    start_policy("core-queue", set)
}

/// Loads the scheduler of a policy.
pub(super) fn start_policy(policy: &str, set: &[&str]) -> Result<()> {
    let set = set.iter().flat_map(|pair| ["--set", pair]);
    start_with(&["--policy", policy].into_iter().chain(set).collect::<Vec<_>>())
}

/// Loads a scheduler with these options.
pub(super) fn start_with(options: &[&str]) -> Result<()> {
    let arguments = [&["sched", "start", "--detach"], options].concat();
    let output = output("coretwin", &arguments)?;
    ensure!(output.status.success(), "start: {}", String::from_utf8_lossy(&output.stderr));
    is_ours()
}

/// Unloads it.
pub(super) fn stop() -> Result<()> {
    let output = output("coretwin", &["sched", "stop"])?;
    ensure!(output.status.success(), "stop: {}", String::from_utf8_lossy(&output.stderr));
    is_kernels()
}

/// What the scheduler tells.
pub(super) fn status() -> Result<Value> {
    json_of("coretwin", &["sched", "status", "--json"])
}

/// Ours is in charge. If not, the error has what its end left behind.
pub(super) fn is_ours() -> Result<()> {
    let ops = ["", "sys", "kernel", "sched_ext", "root", "ops"].join("/");
    let name = read(&ops).with_context(|| {
        let ending = status().map(|it| it["gone"]["ending"].clone()).unwrap_or_default();
        let dump = ending["dump"].as_str().map(std::fs::read_to_string);
        format!(
            "no scheduler is loaded: {ending}\n{}",
            dump.and_then(Result::ok).unwrap_or_default()
        )
    })?;
    ensure!(name.starts_with("coretwin_"), "{name} is loaded");
    Ok(())
}

/// The kernel's own is in charge, at once or soon.
pub(super) fn is_kernels() -> Result<()> {
    soon("the kernel's scheduler in charge", || {
        Ok(read("/sys/kernel/sched_ext/state")? == "disabled")
    })
}

/// Waits for something.
pub(super) fn soon(what: &str, mut is: impl FnMut() -> Result<bool>) -> Result<()> {
    let since = Instant::now();
    while !is()? {
        ensure!(since.elapsed() < PATIENCE, "not within {} s: {what}", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Switches a CPU.
pub(super) fn switch_cpu(cpu: u32, online: bool) -> Result<()> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    std::fs::write(Path::new(&path), if online { "1" } else { "0" }).with_context(|| path)
}

/// Switches SMT.
pub(super) fn switch_smt(on: bool) -> Result<()> {
    let path = "/sys/devices/system/cpu/smt/control";
    std::fs::write(path, if on { "on" } else { "off" }).context(path)
}
