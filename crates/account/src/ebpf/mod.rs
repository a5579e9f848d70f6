//! The method `ebpf`: a program in the kernel sees every switch. Exact, but for what it says itself
//! that it missed.
//!
//! The program keeps tasks until they end; it is asked every second, so that its table and the ring of
//! ended tasks stay small, and [`gathered`] adds up what it said.

mod gathered;

use crate::Error;
use crate::method::Method;
use coretwin_base::account::{CpuUse, MethodName, Siblings, Window};
use coretwin_base::machine::cpu_set::CpuId;
use coretwin_bpf::overlap::{Overlap, Room, SiblingMap, TaskTime};
use coretwin_host::cgroup::CgroupPaths;
use coretwin_host::observe::{self, CpuTimes};
use coretwin_host::root::Root;
use coretwin_host::tasks::Tasks;
use gathered::Gathered;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Processes that are remembered.
const KNOWN_MAX: usize = 65_536;
/// The pid namespace of this process, and what it is called if it is the machine's own
/// (PROC_PID_INIT_INO, include/linux/proc_ns.h).
const NUMBERS: &str = "proc/self/ns/pid";
const NUMBERS_OF_ALL: &str = "pid:[4026531836]";

#[derive(Debug)]
pub struct Ebpf {
    root: Root,
    siblings: Siblings,
    running: Option<Overlap>,
    gathered: Gathered,
    groups: Groups,
    due: Instant,
    stat: Option<CpuTimes>,
}

impl Ebpf {
    pub fn new(root: &Root, siblings: Siblings) -> Self {
        Self {
            root: root.clone(),
            siblings,
            running: None,
            gathered: Gathered::default(),
            groups: Groups::new(root),
            due: Instant::now(),
            stat: None,
        }
    }

    /// Room for twice the tasks there are.
    fn room(&self) -> Room {
        let load = self.root.fact("proc/loadavg").unwrap_or_default();
        let tasks = load.split(['/', ' ']).nth(4).and_then(|text| text.parse::<u32>().ok());
        let room = Room::default();
        Room { tasks: tasks.unwrap_or_default().saturating_mul(2).max(room.tasks), ..room }
    }
}

impl Method for Ebpf {
    fn name(&self) -> MethodName {
        MethodName::Ebpf
    }

    fn start(&mut self) -> Result<(), Error> {
        if !self.root.is_system() {
            return Err(not_possible(
                "it sees this machine's kernel, not a folder",
                "take sampled",
            ));
        }
        if let Some(space) = numbers_of_own(&self.root) {
            return Err(not_possible(
                &format!(
                    "it knows tasks by the numbers of the whole machine, and this container has its own ({space})"
                ),
                "run it outside of the container, or in its host's pid namespace",
            ));
        }
        let online = self.siblings.cpus();
        let possible = self.root.cpus("sys/devices/system/cpu/possible")?;
        let possible = possible.unwrap_or_default().union(&online);
        let map = SiblingMap::new(&possible, &online, &self.siblings.cores).map_err(impossible)?;
        let overlap = Overlap::start(&map, self.room()).map_err(impossible)?;
        // So that descendants of a command stay its own, however many generations have ended.
        overlap.follow_children(std::process::id()).map_err(impossible)?;
        self.running = Some(overlap);
        self.gathered = Gathered::default();
        self.stat = Some(observe::cpu_times(&self.root)?);
        self.due = Instant::now() + LOOK_EVERY;
        Ok(())
    }

    fn due(&self) -> Option<Instant> {
        Some(self.due)
    }

    fn look(&mut self) -> Result<(), Error> {
        self.due = Instant::now() + LOOK_EVERY;
        let Some(overlap) = &mut self.running else {
            return Err(not_possible("it was not started", "start it first"));
        };
        let window = overlap.window().map_err(impossible)?;
        window.tasks.iter().for_each(|task| self.groups.learn(task));
        self.gathered.add(window);
        Ok(())
    }

    fn window(&mut self) -> Result<Window, Error> {
        self.look()?;
        let stat = observe::cpu_times(&self.root)?;
        let before = self.stat.take();
        let cpu_use = |cpu: CpuId| {
            let told = stat.since(before.as_ref().unwrap_or(&stat), &[cpu].into_iter().collect());
            CpuUse { cpu, busy_s: 0.0, interrupts_s: told.interrupts_s, steal_s: told.steal_s }
        };
        let told = stat.since(before.as_ref().unwrap_or(&stat), &self.siblings.cpus());
        let gathered = std::mem::take(&mut self.gathered);
        let window = gathered.window(&self.siblings, told, cpu_use, |task| self.groups.path(task));
        self.groups.forget();
        self.stat = Some(stat);
        Ok(window)
    }
}

/// The pid namespace of this process, if it is not the machine's own.
fn numbers_of_own(root: &Root) -> Option<String> {
    let space = std::fs::read_link(root.path(NUMBERS)).ok()?.to_string_lossy().into_owned();
    (space != NUMBERS_OF_ALL).then_some(space)
}

fn not_possible(why: &str, remedy: &str) -> Error {
    Error::Method { method: MethodName::Ebpf, why: why.to_owned(), remedy: remedy.to_owned() }
}

/// The loader's errors say what is wrong and, after it, what to do.
fn impossible(error: coretwin_bpf::Error) -> Error {
    let text = error.to_string();
    let parted = text.split_once("; ").or_else(|| text.split_once(": "));
    let (why, remedy) = parted.unwrap_or((&text, "take sampled"));
    not_possible(why, remedy)
}

/// Whose cgroup is which, asked for while it is there: the program tells a number, and a group that has
/// gone has no path any more.
#[derive(Debug)]
struct Groups {
    paths: CgroupPaths,
    tasks: Tasks,
    /// By process, where groups have no numbers to be found by: those of version 1.
    of_process: BTreeMap<u32, Option<String>>,
}

impl Groups {
    fn new(root: &Root) -> Self {
        let mut paths = CgroupPaths::new(root);
        // No group has this number: all there are are looked up.
        paths.path(0);
        Self { paths, tasks: Tasks::new(root), of_process: BTreeMap::new() }
    }

    fn learn(&mut self, task: &TaskTime) {
        if self.paths.path(task.cgroup).is_some() || self.of_process.contains_key(&task.tgid) {
            return;
        }
        if self.of_process.len() >= KNOWN_MAX {
            self.of_process.clear();
        }
        // Who has ended already was in the group of whoever started it, as a rule.
        let group = self.tasks.cgroup(task.tgid);
        let group = group.or_else(|| self.of_process.get(&task.parent).cloned().flatten());
        self.of_process.insert(task.tgid, group);
    }

    /// The path of a task's group, as in `/proc/PID/cgroup`.
    fn path(&mut self, task: &TaskTime) -> Option<String> {
        let known = self.paths.path(task.cgroup);
        known.or_else(|| self.of_process.get(&task.tgid).cloned().flatten())
    }

    /// Processes may be in other groups by now.
    fn forget(&mut self) {
        self.of_process.clear();
    }
}
