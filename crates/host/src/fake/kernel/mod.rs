//! A fake kernel: acts on the folder of a fake machine as Linux acts on /sys and /proc when CPUs
//! come and go.
//!
//! It proves what we believe about kernels, no more; the belief is from kernel/cpu.c,
//! kernel/irq/cpuhotplug.c, kernel/cgroup/cpuset.c and kernel/sched/core.c, versions 5.10 to 6.12,
//! and is held against real kernels elsewhere (`cargo xtask vm smt`). What it knows:
//!
//! * the control word and its refusals; a loop over CPUs stops at the first failure and undoes
//!   nothing, and since 6.6 the level is remembered all the same, so that the same word again does
//!   nothing ([`hotplug`]);
//! * interrupts lose their affinity with their last CPU, managed ones do not and take no wish;
//! * CPU sets of version 1 lose CPUs for good, and their tasks with the last; those of version 2
//!   keep what was asked for ([`groups`]);
//! * tasks lose their affinity with their last CPU, before 6.2 also when their CPU set changes.

mod groups;
mod hotplug;

use super::{Fake, Thread, Writer};
use crate::root::{CPUS, Root};
use crate::smt::kernel::Kernel;
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use groups::Groups;
use hotplug::Switch;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The mount point of CPU sets, below the root.
const GROUPS: [(u8, &str); 2] = [(1, "sys/fs/cgroup/cpuset"), (2, "sys/fs/cgroup")];

#[derive(Debug, Clone, Copy)]
pub struct Release {
    pub name: &'static str,
    pub groups: u8,
    /// Whether an invalid partition becomes valid by itself when its CPUs are back.
    pub partitions_revive: bool,
}

impl Release {
    /// Fake kernels to test with: old and new, both versions of control groups.
    pub const ALL: [Self; 4] = [
        Self { name: "5.10.0-fake", groups: 1, partitions_revive: false },
        Self { name: "6.1.0-fake", groups: 2, partitions_revive: false },
        Self { name: "6.5.0-fake", groups: 1, partitions_revive: true },
        Self { name: "6.12.0-fake", groups: 2, partitions_revive: true },
    ];

    fn files(self) -> Vec<(&'static str, &'static str)> {
        let mut files = vec![("proc/sys/kernel/osrelease", self.name)];
        if self.groups == 1 {
            let mounts = "22 28 0:20 / /sys rw,nosuid - sysfs sysfs rw\n\
                          31 22 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset";
            files.extend([("proc/self/mountinfo", mounts), ("proc/self/cgroup", "3:cpuset:/")]);
        }
        files
    }

    fn at_least(self, major: u32, minor: u32) -> bool {
        let mut numbers = self.name.split('.').map(|number| number.parse().unwrap_or(0));
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// This write, counted from 0, fails and does nothing.
    Write(u64, Errno),
    /// Every write to files whose path begins so fails and does nothing.
    Path(String, Errno),
    /// This CPU cannot be taken offline or brought online: a loop over CPUs stops there.
    Stuck(CpuId, Errno),
}

pub struct FakeKernel {
    root: Root,
    state: Mutex<State>,
}

struct State {
    fake: Fake,
    root: Root,
    writer: Writer,
    release: Release,
    threads: Vec<Thread>,
    online: CpuSet,
    switch: Switch,
    interrupts: BTreeMap<u32, Interrupt>,
    groups: Groups,
    faults: Vec<Fault>,
    log: Vec<String>,
    /// What the files of CPUs show: how many CPUs, which are online, the control word.
    shown: Option<(usize, CpuSet, Option<String>)>,
}

#[derive(Debug, Clone)]
struct Interrupt {
    cpus: CpuSet,
    managed: bool,
}

impl FakeKernel {
    pub fn boot(fake: &Fake, release: Release, folder: &Path) -> io::Result<Self> {
        let root = fake.write(folder)?;
        let threads = fake.threads();
        let all: CpuSet = threads.iter().map(|thread| thread.cpu).collect();
        let offline = CpuSet::parse(fake.offline).map_err(io::Error::other)?;
        let online = all.difference(&offline);
        let mut state = State {
            fake: *fake,
            root: root.clone(),
            writer: Writer { absent: fake.absent, ..Writer::new(folder) },
            release,
            switch: Switch::new(fake, release, &threads),
            groups: Groups::new(release, &online),
            threads,
            online,
            interrupts: BTreeMap::new(),
            faults: Vec::new(),
            log: Vec::new(),
            shown: None,
        };
        let overridden = |path: &str| fake.files.iter().any(|(other, _)| *other == path);
        for (path, text) in release.files() {
            if !overridden(path) {
                state.put(path, text)?;
            }
            state.writer.kept.push(path);
        }
        state.writer.kept.extend(fake.files.iter().map(|(path, _)| path));
        state.flush()?;
        Ok(Self { root, state: Mutex::new(state) })
    }

    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Adds an interrupt. A kernel since 6.11 shows by the mode of the file that it takes no wish.
    pub fn add_interrupt(
        &self,
        number: u32,
        user: &str,
        cpus: &str,
        managed: bool,
    ) -> io::Result<()> {
        let mut state = self.lock();
        let cpus = CpuSet::parse(cpus).map_err(io::Error::other)?;
        state.writer.folder(&format!("proc/irq/{number}/{user}"))?;
        state.interrupts.insert(number, Interrupt { cpus, managed });
        state.flush()
    }

    /// Adds a control group with a CPU set, below the mount, `jobs/a`; no CPUs: those of its
    /// parent (version 2). A partition is a child of the root: `root` or `isolated`.
    pub fn add_group(&self, name: &str, cpus: &str, partition: Option<&str>) -> io::Result<()> {
        let mut state = self.lock();
        let cpus = CpuSet::parse(cpus).map_err(io::Error::other)?;
        let online = state.online.clone();
        state.groups.add(name, cpus, partition, &online);
        state.flush()
    }

    pub fn delete_group(&self, name: &str) -> io::Result<()> {
        let mut state = self.lock();
        let all = state.threads.iter().map(|thread| thread.cpu).collect();
        state.groups.delete(name, &all);
        state.writer.remove(&state.groups.folder(name))?;
        state.flush()
    }

    /// Adds a process with one task in a group (empty: the root), and its affinity.
    pub fn add_task(&self, task: u32, group: &str, cpus: &str) -> io::Result<()> {
        let mut state = self.lock();
        let cpus = CpuSet::parse(cpus).map_err(io::Error::other)?;
        state.groups.add_task(task, group, cpus);
        state.flush()
    }

    pub fn end_task(&self, task: u32) -> io::Result<()> {
        let mut state = self.lock();
        state.groups.end_task(task);
        state.writer.remove(&format!("proc/{task}"))?;
        state.flush()
    }

    /// Takes a CPU out of the machine, as a hypervisor can.
    pub fn unplug(&self, cpu: CpuId) -> io::Result<()> {
        let mut state = self.lock();
        state.take_offline(&[cpu].into_iter().collect());
        state.threads.retain(|thread| thread.cpu != cpu);
        state.writer.remove(&format!("{CPUS}/cpu{cpu}"))?;
        state.flush()
    }

    /// Adds a core of one CPU with the next free number, offline, as a hypervisor can.
    pub fn plug(&self) -> io::Result<CpuId> {
        let mut state = self.lock();
        let Some(last) = state.threads.last().cloned() else { return Ok(CpuId(0)) };
        let cpu = CpuId(last.cpu.0 + 1);
        state.threads.push(Thread { cpu, core: u32::MAX, ..last });
        state.flush()?;
        Ok(cpu)
    }

    pub fn add_fault(&self, fault: Fault) {
        self.lock().faults.push(fault);
    }

    pub fn clear_faults(&self) {
        self.lock().faults.clear();
    }

    /// The writes that were asked for until now, `path = text`, refused ones too.
    pub fn log(&self) -> Vec<String> {
        self.lock().log.clone()
    }

    /// Everything that switching may change, by name, as the kernel holds it: `smt/control`,
    /// `cpu3`, `interrupt 24`, `cpuset jobs cpuset.cpus`, `task 77`.
    pub fn facts(&self) -> BTreeMap<String, String> {
        let state = self.lock();
        let mut facts = state.groups.facts();
        facts.extend(state.switch.word().map(|word| ("smt/control".to_owned(), word)));
        for thread in &state.threads {
            let word = if state.online.contains(thread.cpu) { "online" } else { "offline" };
            facts.insert(format!("cpu{}", thread.cpu), word.to_owned());
        }
        for (number, interrupt) in &state.interrupts {
            facts.insert(format!("interrupt {number}"), interrupt.cpus.to_string());
        }
        facts
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kernel for FakeKernel {
    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.admit(path, text)?;
        let done = state.write(path, text.trim());
        state.flush()?;
        Ok(done?)
    }

    fn set_affinity(&self, task: u32, cpus: &CpuSet) -> io::Result<()> {
        let mut state = self.lock();
        state.admit(&format!("affinity/{task}"), &cpus.to_string())?;
        let done = state.groups.set_affinity(task, cpus);
        state.flush()?;
        Ok(done?)
    }
}

impl Kernel for Arc<FakeKernel> {
    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        FakeKernel::write(self, path, text)
    }

    fn set_affinity(&self, task: u32, cpus: &CpuSet) -> io::Result<()> {
        FakeKernel::set_affinity(self, task, cpus)
    }
}

impl State {
    /// Counts a write, and refuses it if that was wished.
    fn admit(&mut self, path: &str, text: &str) -> Result<(), Errno> {
        let number = self.log.len() as u64;
        self.log.push(format!("{path} = {}", text.trim()));
        let refusal = self.faults.iter().find_map(|fault| match fault {
            Fault::Write(at, errno) if *at == number => Some(*errno),
            Fault::Path(start, errno) if path.starts_with(start.as_str()) => Some(*errno),
            _ => None,
        });
        refusal.map_or(Ok(()), Err)
    }

    fn write(&mut self, path: &str, text: &str) -> Result<(), Errno> {
        if self.root.path(path).symlink_metadata().is_err() {
            return Err(Errno::NOENT);
        }
        if let Some(rest) = path.strip_prefix(CPUS) {
            return match rest.trim_start_matches('/').split_once('/') {
                Some(("smt", "control")) => self.write_control(text),
                Some((cpu, "online")) => self.write_online(cpu, text),
                _ => Err(Errno::ACCESS),
            };
        }
        if let Some(number) = path.strip_prefix("proc/irq/") {
            let number = number.split('/').next().and_then(|number| number.parse().ok());
            let interrupt = number.and_then(|number: u32| self.interrupts.get_mut(&number));
            return interrupt.ok_or(Errno::NOENT)?.write(text, &self.online, self.release);
        }
        self.groups.write(path, text, &self.online)
    }

    /// After CPUs went or came: whatever follows them.
    fn follow(&mut self) {
        let all: CpuSet = self.threads.iter().map(|thread| thread.cpu).collect();
        for interrupt in self.interrupts.values_mut() {
            // A managed one is shut down and keeps its mask.
            let lost = interrupt.cpus.intersection(&self.online).is_empty();
            if lost && !interrupt.managed {
                interrupt.cpus = self.online.clone();
            }
        }
        self.groups.follow(&self.online, &all);
    }

    fn flush(&mut self) -> io::Result<()> {
        let word = self.switch.word();
        let shown = (self.threads.len(), self.online.clone(), word.clone());
        if self.shown.as_ref() != Some(&shown) {
            self.fake.write_state(&self.writer, &self.threads, &self.online, word.as_deref())?;
            self.shown = Some(shown);
        }
        for (number, interrupt) in &self.interrupts {
            let path = format!("proc/irq/{number}/smp_affinity_list");
            self.put(&path, &interrupt.cpus.to_string())?;
            if interrupt.managed && self.release.at_least(6, 11) {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o444);
                std::fs::set_permissions(self.root.path(&path), mode)?;
            }
        }
        for (path, text) in self.groups.files() {
            self.put(&path, &text)?;
        }
        Ok(())
    }

    fn put(&self, path: &str, text: &str) -> io::Result<()> {
        self.writer.file(path, &format!("{text}\n"))
    }
}

impl Interrupt {
    /// write_irq_affinity of kernel/irq/proc.c.
    fn write(&mut self, text: &str, online: &CpuSet, release: Release) -> Result<(), Errno> {
        if self.managed {
            return Err(if release.at_least(6, 11) { Errno::PERM } else { Errno::IO });
        }
        let cpus = CpuSet::parse(text).map_err(|_| Errno::INVAL)?;
        // Without an online CPU the kernel sets its default, silently.
        let usable = !cpus.intersection(online).is_empty();
        self.cpus = if usable { cpus } else { online.clone() };
        Ok(())
    }
}
