//! Where tasks really ran, and which processes there are.

use crate::sys;
use coretwin_base::machine::cpu_set::{CPU_MAX, CpuId, CpuSet};
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) struct CpusSeen(Vec<AtomicU64>);

impl CpusSeen {
    pub(crate) fn new() -> Self {
        Self((0..=CPU_MAX / u64::BITS).map(|_| AtomicU64::new(0)).collect())
    }

    /// Notes the CPU that this thread is on. No system call, and no write once a CPU is known.
    pub(crate) fn note(&self) {
        let cpu = sys::current_cpu();
        let bit = 1 << (cpu % u64::BITS as usize);
        if let Some(word) = self.0.get(cpu / u64::BITS as usize)
            && word.load(Ordering::Relaxed) & bit == 0
        {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    pub(crate) fn cpus(&self) -> CpuSet {
        let noted = |cpu: &u32| {
            let word = self.0[(cpu / u64::BITS) as usize].load(Ordering::Relaxed);
            word >> (cpu % u64::BITS) & 1 == 1
        };
        (0..=CPU_MAX).filter(noted).map(CpuId).collect()
    }
}

/// So many tasks per sample, so that a look at a command of many threads stays cheap.
const TASKS_PER_SAMPLE: usize = 256;

pub(crate) fn cpus_of_trees(roots: impl IntoIterator<Item = i32>) -> CpuSet {
    let mut cpus = CpuSet::new();
    let mut left = TASKS_PER_SAMPLE;
    let mut pids: Vec<i32> = roots.into_iter().collect();
    while let Some(pid) = pids.pop() {
        for task in numbers(&format!("/proc/{pid}/task")) {
            if left == 0 {
                return cpus;
            }
            left -= 1;
            let stat = fs::read_to_string(format!("/proc/{pid}/task/{task}/stat"));
            if let Some(cpu) = stat.ok().as_deref().and_then(last_cpu) {
                cpus.insert(cpu);
            }
        }
        pids.extend(children(pid));
    }
    cpus
}

/// The CPU on which a process ran last; also of one that has ended and is not reaped.
pub(crate) fn cpu_of(pid: i32) -> Option<CpuId> {
    last_cpu(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

pub(crate) fn children(pid: i32) -> Vec<i32> {
    let mut found = Vec::new();
    for task in numbers(&format!("/proc/{pid}/task")) {
        match fs::read_to_string(format!("/proc/{pid}/task/{task}/children")) {
            Ok(text) => found.extend(text.split_whitespace().flat_map(str::parse::<i32>)),
            // Either this kernel has no such file (CONFIG_PROC_CHILDREN), or the task has ended.
            Err(_) if !has_children_file() => return children_by_scan(pid),
            Err(_) => {}
        }
    }
    found
}

fn has_children_file() -> bool {
    let own = std::process::id();
    fs::exists(format!("/proc/{own}/task/{own}/children")).unwrap_or(false)
}

fn children_by_scan(parent: i32) -> Vec<i32> {
    let of_parent = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        field(&stat, 4).and_then(|ppid| ppid.parse().ok()) == Some(parent)
    };
    numbers("/proc").into_iter().filter(of_parent).collect()
}

fn numbers(folder: &str) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Field of a `/proc/PID/stat` line, counted from 1 as in proc(5). The second field, the name,
/// may hold blanks and brackets, so counting starts behind its last bracket.
fn field(stat: &str, number: usize) -> Option<&str> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(number.checked_sub(3)?)
}

fn last_cpu(stat: &str) -> Option<CpuId> {
    field(stat, 39)?.parse().ok().map(CpuId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let rest: Vec<String> = (4..=52).map(|n| n.to_string()).collect();
        let stat = format!("7 (a) b) S {}", rest.join(" "));
        assert_eq!(field(&stat, 3), Some("S"));
        assert_eq!(field(&stat, 4), Some("4"));
        assert_eq!(last_cpu(&stat), Some(CpuId(39)));
        assert_eq!(last_cpu("7 (a"), None);
    }

    #[test]
    fn both_ways_find_a_child() {
        let mut child = std::process::Command::new("sleep").arg("30").spawn().expect("sleep");
        let pid = child.id().cast_signed();
        let own = std::process::id().cast_signed();
        assert!(children(own).contains(&pid));
        assert!(children_by_scan(own).contains(&pid));
        assert!(!cpus_of_trees([pid]).is_empty());
        child.kill().expect("kill");
        child.wait().expect("wait");
        assert!(!children(own).contains(&pid));
    }

    #[test]
    fn a_thread_sees_its_cpu() {
        let seen = CpusSeen::new();
        assert!(seen.cpus().is_empty());
        seen.note();
        assert_eq!(seen.cpus().len(), 1);
    }
}
