//! A fake machine with things on it that a switch can disturb.

use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_host::fake::kernel::{FakeKernel, Release};
use coretwin_host::fake::{self, Fake};
use coretwin_host::root::Root;
use coretwin_host::smt::guard::{GuardError, Guardian};
use coretwin_host::smt::kernel::Kernel;
use coretwin_host::smt::restore::Restored;
use coretwin_host::smt::saved::{self, Slot, Stored};
use coretwin_host::smt::{capture, session::Session};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tempfile::TempDir;

/// The release of that number.
pub(crate) fn release(start: &str) -> Release {
    *Release::ALL.iter().find(|release| release.name.starts_with(start)).expect("release")
}

/// A temporary folder, in memory where that is possible: states are synchronised to disk.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("folder")
}

/// A machine in a temporary folder.
pub(crate) struct Machine {
    pub(crate) kernel: Arc<FakeKernel>,
    pub(crate) root: Root,
    _folder: Option<TempDir>,
}

impl Machine {
    pub(crate) fn boot(name: &str, release: Release) -> Self {
        Self::boot_fake(fake::machine(name).expect(name), release)
    }

    pub(crate) fn boot_fake(fake: &Fake, release: Release) -> Self {
        let folder = folder();
        let kernel = FakeKernel::boot(fake, release, folder.path()).expect("boots");
        let root = kernel.root().clone();
        Self { kernel: Arc::new(kernel), root, _folder: Some(folder) }
    }

    /// One with interrupts, control groups and pinned tasks on the last of its CPUs and elsewhere.
    pub(crate) fn furnished(name: &str, release: Release) -> Self {
        let machine = Self::boot(name, release);
        machine.furnish();
        machine
    }

    pub(crate) fn furnish(&self) {
        let online: Vec<u32> = self.online().iter().map(|cpu| cpu.0).collect();
        let first = online[0];
        let last = online[online.len() - 1];
        let before = online[online.len().saturating_sub(2)];
        let all = self.online().to_string();
        let kernel = &self.kernel;
        let ends = format!("{first},{last}");
        kernel.add_interrupt(24, "eth0", &last.to_string(), false).expect("interrupt");
        kernel.add_interrupt(25, "eth1", &all, false).expect("interrupt");
        kernel.add_interrupt(31, "nvme0q1", &last.to_string(), true).expect("interrupt");
        kernel.add_group("jobs", &ends, None).expect("group");
        kernel.add_group("jobs/a", &last.to_string(), None).expect("group");
        kernel.add_group("other", &all, None).expect("group");
        if before != first && before != last {
            kernel.add_group("quiet", &before.to_string(), Some("isolated")).expect("group");
        }
        kernel.add_task(71, "", &last.to_string()).expect("task");
        kernel.add_task(72, "jobs", &first.to_string()).expect("task");
        kernel.add_task(73, "jobs/a", &last.to_string()).expect("task");
        kernel.add_task(74, "other", &ends).expect("task");
        kernel.add_task(75, "", &all).expect("task");
    }

    pub(crate) fn facts(&self) -> BTreeMap<String, String> {
        self.kernel.facts()
    }

    pub(crate) fn control(&self) -> String {
        self.facts().get("smt/control").cloned().unwrap_or_default()
    }

    pub(crate) fn online(&self) -> CpuSet {
        self.root.cpus("sys/devices/system/cpu/online").expect("list").expect("file")
    }

    /// Saves it as for a study of this process.
    pub(crate) fn save(&self, slot: Slot) -> Stored {
        let state = capture::capture(&self.root).expect("captured");
        saved::write(&self.root, slot, state).expect("saved")
    }

    pub(crate) fn session(&self) -> Session {
        Session::open(&self.root, self.boxed(), Box::new(Nobody)).expect("session")
    }

    pub(crate) fn boxed(&self) -> Box<dyn Kernel> {
        Box::new(Arc::clone(&self.kernel))
    }
}

/// A guardian that starts nobody.
pub(crate) struct Nobody;

impl Guardian for Nobody {
    fn ensure(&mut self, _root: &Root, _slot: Slot) -> Result<(), GuardError> {
        Ok(())
    }
}

pub(crate) fn set(list: &str) -> CpuSet {
    CpuSet::parse(list).expect("list")
}

/// What is not as it was, by name, as the kernel holds it; what was added or is gone included.
pub(crate) fn changed(
    before: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> BTreeSet<String> {
    let names = before.keys().chain(now.keys());
    names.filter(|name| before.get(*name) != now.get(*name)).cloned().collect()
}

/// The report names what differs, all of it and nothing else, each with what it was and is; and
/// what is left to do speaks of each thing that can be written, and of no other.
pub(crate) fn assert_exact(
    before: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
    restored: &Restored,
    context: &str,
) {
    let reported: BTreeSet<String> =
        restored.differences.iter().map(|difference| difference.what.clone()).collect();
    assert_eq!(reported, changed(before, now), "{context}: {restored:#?}");
    for difference in &restored.differences {
        if let (Some(was), Some(is)) = (before.get(&difference.what), now.get(&difference.what)) {
            assert_eq!(
                (&difference.saved, &difference.now),
                (was, is),
                "{context}: {difference:?}"
            );
        }
    }
    let to_do = restored.left_to_do.join("\n");
    for difference in &restored.differences {
        let what = &difference.what;
        let follows = difference.managed || what.contains("effective");
        let named = match what.strip_prefix("cpu").and_then(|number| number.parse().ok()) {
            Some(cpu) => cpus_in(&restored.left_to_do).contains(CpuId(cpu)),
            None if difference.now.is_empty() => to_do.contains(&format!("{what} is none and was")),
            None => to_do.contains(&format!("{what} is {} and was", difference.now)),
        };
        assert_eq!(named, !follows, "{context}: {what}: {to_do}");
    }
    let others = restored.left_to_do.iter().filter(|line| !line.starts_with("CPUs that were "));
    let named = restored.differences.iter().filter(|difference| {
        let what = &difference.what;
        !difference.managed && !what.contains("effective") && !is_cpu(what)
    });
    assert_eq!(others.count(), named.count(), "{context}: {to_do}");
    let cpus = restored.differences.iter().filter(|difference| is_cpu(&difference.what)).count();
    assert_eq!(cpus_in(&restored.left_to_do).len(), cpus, "{context}: {to_do}");
}

fn is_cpu(what: &str) -> bool {
    what.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok())
}

/// CPUs that are left to do.
fn cpus_in(left_to_do: &[String]) -> CpuSet {
    let lines = left_to_do.iter().filter_map(|line| line.strip_prefix("CPUs that were "));
    let lists = lines.filter_map(|line| {
        let (_, rest) = line.split_once(": ")?;
        CpuSet::parse(rest.split(' ').next()?).ok()
    });
    lists.fold(CpuSet::new(), |all, list| all.union(&list))
}
