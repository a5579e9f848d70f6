//! Reads what switching SMT may change: the control word, the online map, interrupts, CPU sets,
//! and on kernels that forget them the CPUs of tasks.

use super::saved::{Cpuset, Holder, Interrupt, Machine, SavedState, Slot, Task, TaskId};
use super::{CONTROL, SwitchError};
use crate::root::{CPUS, Root};
use crate::stat_line::StatLine;
use crate::{Error, cgroup};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::SmtControl;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

/// The machine as it is now, saved for this process. Nothing is written.
pub fn capture(root: &Root) -> Result<SavedState, Error> {
    let (present, online) = present_and_online(root)?;
    let machine = machine(root);
    let (control, cores) = (control(root), cores(root));
    let stays = staying(control.as_ref(), &cores, &online, &present);
    Ok(SavedState {
        taken_utc: now_utc(),
        holder: holder(root, std::process::id()),
        kept: false,
        control,
        interrupts: interrupts(root),
        cpusets: cpusets(root),
        tasks: tasks_at_risk(root, &machine.kernel_release, &stays),
        present,
        online,
        cores,
        machine,
    })
}

pub(super) fn present_and_online(root: &Root) -> Result<(CpuSet, CpuSet), Error> {
    let needed = |name: &str| -> Result<CpuSet, Error> {
        let path = format!("{CPUS}/{name}");
        root.text(&path)?;
        Ok(root.cpus(&path)?.unwrap_or_default())
    };
    Ok((needed("present")?, needed("online")?))
}

fn now_utc() -> String {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

/// The word of `smt/control`; none on a kernel without it.
pub fn control(root: &Root) -> Option<SmtControl> {
    root.fact(CONTROL).map(|word| SmtControl::parse(&word))
}

pub fn machine(root: &Root) -> Machine {
    let fact = |path: &str| root.fact(path).unwrap_or_else(|| "unknown".to_owned());
    Machine {
        boot_id: fact("proc/sys/kernel/random/boot_id"),
        machine_id: root.fact("etc/machine-id"),
        host_name: fact("proc/sys/kernel/hostname"),
        kernel_release: fact("proc/sys/kernel/osrelease"),
    }
}

impl SavedState {
    /// Whether the machine that runs now is the one, in the boot, that was saved. Errors:
    /// [`SwitchError::OtherHost`] or [`SwitchError::OtherBoot`].
    pub fn check_machine(&self, root: &Root, slot: Slot) -> Result<(), SwitchError> {
        let here = machine(root);
        let path = root.path(&slot.file());
        let saved = &self.machine;
        let other_id = matches!(
            (&saved.machine_id, &here.machine_id),
            (Some(saved), Some(here)) if saved != here
        );
        if other_id || (saved.boot_id != here.boot_id && saved.host_name != here.host_name) {
            let (saved, here) = (saved.host_name.clone(), here.host_name);
            return Err(SwitchError::OtherHost { path, saved, here });
        }
        if saved.boot_id != here.boot_id {
            return Err(SwitchError::OtherBoot { path, taken_utc: self.taken_utc.clone() });
        }
        Ok(())
    }
}

/// Describes a process as a holder. A process that is gone started at 0.
pub fn holder(root: &Root, process: u32) -> Holder {
    let command = root.text(&format!("proc/{process}/cmdline")).unwrap_or_default();
    let started_ticks = started_ticks(root, process).unwrap_or(0);
    let command_line = command.trim_end_matches('\0').replace('\0', " ");
    Holder { process, started_ticks, command_line }
}

/// Whether a holder still runs: the process of that number started when it did and is no zombie. Where
/// that cannot be told (no file descriptor is left, no memory), it is taken to run: its machine must
/// not be put back under it.
pub fn is_alive(root: &Root, holder: &Holder) -> bool {
    let text = match root.text(&format!("proc/{}/stat", holder.process)) {
        Ok(text) => text,
        Err(error) => return !error.says_gone(),
    };
    StatLine::parse(&text)
        .is_some_and(|stat| stat.started_ticks() == Some(holder.started_ticks) && !stat.has_ended())
}

/// When a process or thread started, in clock ticks after the boot; `None` if it is gone.
pub(super) fn started_ticks(root: &Root, process: u32) -> Option<u64> {
    StatLine::parse(&root.text(&format!("proc/{process}/stat")).ok()?)?.started_ticks()
}

/// Cores as the kernel lists them: each by the CPUs of it that are online.
pub(super) fn cores(root: &Root) -> Vec<CpuSet> {
    let siblings = root.numbered(CPUS, "cpu").into_iter().filter_map(|cpu| {
        let list = |name: &str| root.cpus(&format!("{CPUS}/cpu{cpu}/topology/{name}")).ok()?;
        list("core_cpus_list").or_else(|| list("thread_siblings_list"))
    });
    let mut cores: Vec<CpuSet> = siblings.filter(|core| !core.is_empty()).collect();
    cores.sort();
    cores.dedup();
    cores
}

pub(super) fn interrupts(root: &Root) -> Vec<Interrupt> {
    root.numbered("proc/irq", "").into_iter().filter_map(|number| interrupt(root, number)).collect()
}

pub(super) fn affinity_file(number: u32) -> String {
    format!("proc/irq/{number}/smp_affinity_list")
}

/// One of them. The kernel places *managed* interrupts itself and refuses a wish with EIO, newer
/// ones with EPERM. Beforehand it tells by debugfs, or by a file that cannot be written even by
/// its owner; where it does not tell, the refusal will.
pub(super) fn interrupt(root: &Root, number: u32) -> Option<Interrupt> {
    let path = affinity_file(number);
    let cpus = root.cpus(&path).ok()??;
    let fixed =
        root.path(&path).metadata().is_ok_and(|meta| meta.permissions().mode() & 0o200 == 0);
    let debug = root.text(&format!("sys/kernel/debug/irq/irqs/{number}")).unwrap_or_default();
    let folder = format!("proc/irq/{number}");
    let users = root.names(&folder);
    let users = users.iter().filter(|name| root.path(&format!("{folder}/{name}")).is_dir());
    let name = users.map(String::as_str).collect::<Vec<_>>().join(" ");
    let managed = fixed || debug.contains("IRQD_AFFINITY_MANAGED");
    Some(Interrupt { number, name, cpus, managed })
}

/// CPU sets that somebody narrowed, parents before children. Roots are left out: they follow the
/// machine and take no wish; so do groups of version 2 that ask for nothing.
pub(super) fn cpusets(root: &Root) -> Vec<Cpuset> {
    let mut found = Vec::new();
    for (point, version) in cgroup::cpuset_mounts(root) {
        let mut open = vec![point.clone()];
        while let Some(path) = open.pop() {
            if path != point {
                let Some(cpuset) = cpuset(root, &path, version) else { continue };
                if cpuset.says_something() {
                    found.push(cpuset);
                }
            }
            let names = root.names(&path).into_iter().map(|name| format!("{path}/{name}"));
            let is_folder =
                |path: &String| root.path(path).symlink_metadata().is_ok_and(|meta| meta.is_dir());
            open.extend(names.filter(is_folder));
        }
    }
    found
}

/// The CPU set of a group; `None` if the group has none or is gone. A group without one has no child
/// with one.
pub(super) fn cpuset(root: &Root, path: &str, version: u8) -> Option<Cpuset> {
    let list = |name: &str| root.cpus(&format!("{path}/{name}")).ok().flatten();
    let cpus = list("cpuset.cpus")?;
    let effective = list(effective_file(version));
    let partition = root.fact(&format!("{path}/cpuset.cpus.partition"));
    let tasks = if version == 1 { tasks_of(root, path) } else { Vec::new() };
    let effective = effective.unwrap_or_else(|| cpus.clone());
    Some(Cpuset { path: path.to_owned(), version, cpus, effective, partition, tasks })
}

/// The file that tells which CPUs a group really has.
pub(super) fn effective_file(version: u8) -> &'static str {
    if version == 1 { "cpuset.effective_cpus" } else { "cpuset.cpus.effective" }
}

impl Cpuset {
    fn says_something(&self) -> bool {
        let member = self.partition.as_deref().is_none_or(|word| word == "member");
        self.version == 1 || !self.cpus.is_empty() || !member
    }
}

fn tasks_of(root: &Root, path: &str) -> Vec<TaskId> {
    let numbers = task_numbers(root, path).into_iter();
    let known = |task| Some(TaskId { task, started_ticks: started_ticks(root, task)? });
    numbers.filter_map(known).collect()
}

pub(super) fn task_numbers(root: &Root, path: &str) -> BTreeSet<u32> {
    let text = root.text(&format!("{path}/tasks")).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// The tasks whose affinity the kernel would lose. Every kernel forgets it when the last CPU of it
/// goes: there those that may run on no CPU that stays. Kernels before 6.2 forget it also when the
/// CPU set of its group changes (later ones keep what the user asked for): there all.
fn tasks_at_risk(root: &Root, release: &str, stays: &CpuSet) -> Vec<Task> {
    let forgetful = forgets_affinities(release);
    let tasks = root.threads().filter_map(|(process, thread)| task(root, process, thread));
    tasks.filter(|task| forgetful || task.cpus.intersection(stays).is_empty()).collect()
}

/// CPUs that stay online when SMT is off. The first thread of a core may itself be offline, and
/// then the kernel lists the core as if the next one were first.
fn staying(
    control: Option<&SmtControl>,
    cores: &[CpuSet],
    online: &CpuSet,
    present: &CpuSet,
) -> CpuSet {
    if control == Some(&SmtControl::Off) {
        return online.clone();
    }
    let sure = cores.iter().filter(|core| core.len() > 1 || online == present);
    sure.filter_map(CpuSet::first).collect()
}

fn forgets_affinities(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) < (6, 2),
        // Saving more than is needed does no harm.
        _ => true,
    }
}

/// One of them; `None` if it is gone or is bound by the kernel itself.
pub(super) fn task(root: &Root, process: u32, task: u32) -> Option<Task> {
    let folder = format!("proc/{process}/task/{task}");
    let text = root.text(&format!("{folder}/stat")).ok()?;
    let stat = StatLine::parse(&text)?;
    let status = root.text(&format!("{folder}/status")).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let cpus = CpuSet::parse(list).ok()?;
    let name = status.lines().find_map(|line| line.strip_prefix("Name:"))?.trim().to_owned();
    let id = TaskId { task, started_ticks: stat.started_ticks()? };
    (!stat.is_bound()?).then_some(Task { id, process, name, cpus })
}

/// The CPUs that the CPU set of a task's group leaves it now; those online if none can be read.
pub(super) fn cpus_of_group(root: &Root, task: &Task) -> CpuSet {
    let folder = format!("proc/{}/task/{}", task.process, task.id.task);
    let groups = cgroup::Cgroups::of(root, &folder);
    let mut lists = groups.values(root, "cpuset", effective_file(1), effective_file(2));
    let known = lists.next().and_then(|(_, list)| CpuSet::parse(&list).ok());
    known.or_else(|| Some(present_and_online(root).ok()?.1)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_kernels_before_6_2_forget_affinities() {
        for release in ["5.10.0-26-amd64", "6.1.0", "4.19.37+", "6.1-rc3", "strange", ""] {
            assert!(forgets_affinities(release), "{release}");
        }
        for release in ["6.2.0", "6.12.94+deb13-amd64", "7.2.0-rc1", "10.0"] {
            assert!(!forgets_affinities(release), "{release}");
        }
    }

    #[test]
    fn what_stays_is_known_only_where_all_threads_show() {
        let set = |list: &str| CpuSet::parse(list).expect("list");
        let cores = [set("0,4"), set("1,5"), set("7")];
        let on = Some(SmtControl::On);
        let all = set("0-1,4-5,7");
        assert_eq!(staying(on.as_ref(), &cores, &all, &set("0-7")), set("0-1"));
        assert_eq!(staying(on.as_ref(), &cores, &all, &all), set("0-1,7"));
        assert_eq!(staying(Some(&SmtControl::Off), &[set("7")], &set("7"), &all), set("7"));
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC*") {
            let _ = forgets_affinities(&text);
        }
    }
}
