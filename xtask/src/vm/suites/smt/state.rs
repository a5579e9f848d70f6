//! The machine as the kernel tells it, read without any code of coretwin's; and a machine arranged so
//! that there is something to lose.

use crate::vm::guest::{mount_one, read};
use anyhow::{Context, Result, ensure};
use rustix::process::Pid;
use rustix::thread::{CpuSet, gettid, sched_setaffinity};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

pub(super) const CPUS: &str = "/sys/devices/system/cpu";
pub(super) const CONTROL: &str = "/sys/devices/system/cpu/smt/control";
const CGROUP: &str = "/sys/fs/cgroup";
/// Where version 1 of the CPU sets is mounted.
const CGROUP1: &str = "/run/cpuset";
/// Files of a control group that hold CPUs.
const OF_GROUP: &[&str] = &["cpuset.cpus", "cpuset.cpus.effective", PARTITION];
const PARTITION: &str = "cpuset.cpus.partition";

/// Longest wait for something that takes a second in a guest whose host has time for it.
const PATIENCE: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(5);

/// Waits for a condition; an error if it does not come true.
pub(super) fn wait_until(what: &str, condition: impl FnMut() -> Result<bool>) -> Result<()> {
    wait_for(PATIENCE, what, condition)
}

fn wait_for(
    patience: Duration,
    what: &str,
    mut condition: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let started = Instant::now();
    while !condition()? {
        ensure!(started.elapsed() < patience, "not within {} s: {what}", patience.as_secs());
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Every fact that switching may change, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State(BTreeMap<String, String>);

impl State {
    fn now(tasks: &[u32]) -> Result<Self> {
        let mut facts = BTreeMap::new();
        for path in [CONTROL, &format!("{CPUS}/online"), &format!("{CPUS}/offline")] {
            facts.insert(path.to_owned(), read(path)?);
        }
        for entry in fs::read_dir("/proc/irq")? {
            let path = entry?.path().join("smp_affinity_list");
            if path.is_file() {
                facts.insert(path.display().to_string(), read(&path)?);
            }
        }
        for top in [CGROUP, CGROUP1] {
            groups(Path::new(top), &mut facts)?;
        }
        for task in tasks {
            let status = read(format!("/proc/{task}/status"))?;
            let cpus = status.lines().find(|line| line.starts_with("Cpus_allowed_list"));
            facts.insert(format!("task {task}"), cpus.unwrap_or_default().to_owned());
        }
        Ok(Self(facts))
    }

    /// What is otherwise in another state.
    fn differences(&self, other: &Self) -> Vec<String> {
        let names = self.0.keys().chain(other.0.keys().filter(|name| !self.0.contains_key(*name)));
        let missing = "nothing".to_owned();
        let value = |state: &Self, name: &String| state.0.get(name).unwrap_or(&missing).clone();
        let difference = |name: &String| {
            let (was, is) = (value(self, name), value(other, name));
            (was != is).then(|| format!("{name} was '{was}' and is '{is}'"))
        };
        names.filter_map(difference).collect()
    }
}

/// The CPU sets of a control group and of all below it.
fn groups(folder: &Path, facts: &mut BTreeMap<String, String>) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for name in OF_GROUP {
        let path = folder.join(name);
        if path.is_file() {
            facts.insert(path.display().to_string(), read(&path)?);
        }
    }
    // Where a task is matters in version 1: the kernel moves it when its group has no CPU left.
    let tasks = folder.join("tasks");
    if tasks.is_file() && folder != Path::new(CGROUP1) {
        facts.insert(tasks.display().to_string(), read(&tasks)?);
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            groups(&entry.path(), facts)?;
        }
    }
    Ok(())
}

/// A machine on which every kind of thing is set that switching may lose.
pub(super) struct Arranged {
    tasks: Vec<Bound>,
    before: State,
}

impl Arranged {
    /// A CPU offline by hand, CPU sets of version 2, interrupts and tasks bound to siblings.
    pub(super) fn new() -> Result<Self> {
        let last = take_last_offline()?;
        make_groups(last)?;
        bind_interrupts()?;
        let in_group = Bound::sleeping()?;
        put(Path::new(CGROUP).join("jobs/cgroup.procs"), &in_group.task.to_string())?;
        in_group.bind(&[1])?;
        let awake = Bound::awake()?;
        awake.bind(&[1])?;
        Self::with_tasks(vec![in_group, awake])
    }

    /// The same with a partition, which takes its CPU from all others, ourselves included.
    pub(super) fn with_partition() -> Result<Self> {
        let mut machine = Self::new()?;
        put(Path::new(CGROUP).join("part").join(PARTITION), "root")?;
        machine.before = State::now(&machine.numbers())?;
        Ok(machine)
    }

    /// CPU sets of version 1: a task in a group that loses a sibling, and a group that loses all it
    /// has; none on a kernel without them.
    pub(super) fn with_old_cpusets() -> Result<Option<Self>> {
        if mount_one("cgroup", CGROUP1, "cpuset").is_err() {
            return Ok(None);
        }
        take_last_offline()?;
        let top = Path::new(CGROUP1);
        for (name, cpus) in [("jobs", "0-1"), ("jobs/inner", "0-1"), ("lone", "1")] {
            let folder = top.join(name);
            fs::create_dir_all(&folder)?;
            put(folder.join("cpuset.mems"), "0")?;
            put(folder.join("cpuset.cpus"), cpus)?;
        }
        let task = Bound::sleeping()?;
        put(top.join("jobs/inner/tasks"), &task.task.to_string())?;
        Self::with_tasks(vec![task]).map(Some)
    }

    /// Puts the task into the group that will have no CPU.
    pub(super) fn move_task(&mut self) -> Result<()> {
        let folder = Path::new(CGROUP1).join("lone");
        for task in self.numbers() {
            put(folder.join("tasks"), &task.to_string())?;
        }
        self.before = State::now(&self.numbers())?;
        Ok(())
    }

    /// Gives a group another CPU, as its owner may at any time: what it has then is to stay.
    pub(super) fn set_group_anew(&mut self) -> Result<()> {
        let folder = Path::new(CGROUP).join("wish");
        put(folder.join("cpuset.cpus"), "0")?;
        let now = State::now(&self.numbers())?.0.into_iter();
        self.before.0.extend(now.filter(|(name, _)| Path::new(name).starts_with(&folder)));
        Ok(())
    }

    /// Deletes a group; it is not missed afterwards.
    pub(super) fn delete_group(&mut self) -> Result<()> {
        let folder = Path::new(CGROUP).join("wish");
        fs::remove_dir(&folder).context("deleting a group")?;
        self.before.0.retain(|name, _| !Path::new(name).starts_with(&folder));
        Ok(())
    }

    /// A machine that was booted with `nosmt`, as it is.
    pub(super) fn of_nosmt() -> Result<Self> {
        Self::with_tasks(Vec::new())
    }

    fn with_tasks(tasks: Vec<Bound>) -> Result<Self> {
        let numbers: Vec<u32> = tasks.iter().map(|bound| bound.task).collect();
        Ok(Self { tasks, before: State::now(&numbers)? })
    }

    fn numbers(&self) -> Vec<u32> {
        self.tasks.iter().map(|bound| bound.task).collect()
    }

    /// The machine is as it was. Some kernels adjust CPU sets a moment later, so it is waited for.
    pub(super) fn is_as_before(&self) -> Result<()> {
        let numbers = self.numbers();
        let mut differences = Vec::new();
        let waited = wait_for(Duration::from_secs(10), "as before", || {
            differences = self.before.differences(&State::now(&numbers)?);
            Ok(differences.is_empty())
        });
        ensure!(differences.is_empty(), "{}", differences.join("; "));
        waited
    }

    /// What is otherwise now.
    pub(super) fn changed(&self) -> Result<Vec<String>> {
        Ok(self.before.differences(&State::now(&self.numbers())?))
    }
}

/// A task whose CPUs may be lost: one that sleeps, when its group loses CPUs; one that wakes up, when
/// it finds none of its CPUs.
struct Bound {
    task: u32,
    /// Of one that sleeps.
    child: Option<Child>,
    /// Of one that wakes up, a thread of ours.
    stop: Arc<AtomicBool>,
}

impl Bound {
    fn sleeping() -> Result<Self> {
        let child = Command::new("/bin/sleep").arg("100000").spawn().context("starting sleep")?;
        Ok(Self { task: child.id(), child: Some(child), stop: Arc::default() })
    }

    fn awake() -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, told) = mpsc::channel();
        let until = Arc::clone(&stop);
        std::thread::spawn(move || {
            tell.send(gettid().as_raw_nonzero().get()).ok();
            while !until.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let task = u32::try_from(told.recv().context("a thread ended")?)?;
        Ok(Self { task, child: None, stop })
    }

    fn bind(&self, cpus: &[usize]) -> Result<()> {
        let mut set = CpuSet::new();
        cpus.iter().for_each(|cpu| set.set(*cpu));
        let pid = i32::try_from(self.task).ok().and_then(Pid::from_raw);
        sched_setaffinity(pid, &set).context("binding a task")
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(child) = &mut self.child {
            // It may be gone already.
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// Takes the last CPU, a sibling, offline by hand.
fn take_last_offline() -> Result<u32> {
    let present = read(format!("{CPUS}/present"))?;
    let last = present.rsplit(['-', ',']).next().context("no CPU")?;
    put(format!("{CPUS}/cpu{last}/online"), "0")?;
    last.parse().with_context(|| format!("the CPUs {present}"))
}

/// A group with siblings, one below it with a single sibling, one that may become a partition, and one
/// that wishes for the CPU that is offline.
fn make_groups(last: u32) -> Result<()> {
    let top = Path::new(CGROUP);
    put(top.join("cgroup.subtree_control"), "+cpuset")?;
    let groups: &[(&str, &str)] =
        &[("jobs", "0-1"), ("jobs/inner", "1"), ("part", "2"), ("wish", &last.to_string())];
    for (name, cpus) in groups {
        let folder = top.join(name);
        fs::create_dir_all(&folder)?;
        put(folder.join("cpuset.cpus"), cpus)?;
        if *name == "jobs" {
            put(folder.join("cgroup.subtree_control"), "+cpuset")?;
        }
    }
    put(top.join("part").join(PARTITION), "member")
}

/// Gives interrupts, as far as they take a wish, to CPUs that are no default.
fn bind_interrupts() -> Result<()> {
    let mut folders: Vec<PathBuf> =
        fs::read_dir("/proc/irq")?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    folders.sort();
    let wishes = ["1", "0", "0-1", "2"];
    let mut bound = 0;
    for (folder, wish) in folders.iter().zip(wishes.iter().cycle()) {
        let path = folder.join("smp_affinity_list");
        if path.is_file() && fs::write(&path, wish).is_ok() && read(&path)? == *wish {
            bound += 1;
        }
    }
    ensure!(bound >= wishes.len(), "only {bound} interrupts take a wish");
    Ok(())
}

/// Writes a file of the kernel's.
pub(super) fn put(path: impl AsRef<Path>, text: &str) -> Result<()> {
    let path = path.as_ref();
    fs::write(path, text).with_context(|| format!("writing {text} to {}", path.display()))
}
