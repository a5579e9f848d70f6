//! What the CPUs did, from `/proc/stat`: seen from outside the workload, to notice the work of
//! others and stolen time.

use crate::{Error, root::Root};
use coretwin_base::account::StatTimes;
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use std::collections::BTreeMap;

/// Ticks of one CPU since boot.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Ticks {
    /// User and niced work, guests included.
    pub user: u64,
    pub system: u64,
    /// Idle, waiting for a disk or not.
    pub idle: u64,
    pub interrupts: u64,
    /// Wanted, but taken by the hypervisor. Does not show what a foreign sibling takes.
    pub steal: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuTimes {
    /// Ticks by CPU. Offline CPUs have none.
    pub cpus: BTreeMap<CpuId, Ticks>,
    /// Ticks per second (USER_HZ).
    pub hertz: u64,
}

/// Reads `/proc/stat`. Errors: [`Error`] if it cannot be read or has no line of a CPU.
pub fn cpu_times(root: &Root) -> Result<CpuTimes, Error> {
    let path = "proc/stat";
    let cpus = parse(&root.text(path)?);
    if cpus.is_empty() {
        let why = "it has no line of a CPU, like 'cpu0 4705 356 …'".to_owned();
        return Err(Error::Content { path: root.path(path), why });
    }
    Ok(CpuTimes { cpus, hertz: rustix::param::clock_ticks_per_second() })
}

/// Reads the lines `cpuN user nice system idle iowait irq softirq steal guest guest_nice`
/// (proc(5)); fields that old kernels lack are 0. Guest time is part of user time already.
fn parse(text: &str) -> BTreeMap<CpuId, Ticks> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.strip_prefix("cpu")?.split(' ');
            let cpu = CpuId(words.next()?.parse().ok()?);
            let mut field = [0u64; 8];
            for (field, word) in field.iter_mut().zip(words.map_while(|word| word.parse().ok())) {
                *field = word;
            }
            let sum = |a: usize, b: usize| field[a].saturating_add(field[b]);
            let ticks = Ticks {
                user: sum(0, 1),
                system: field[2],
                idle: sum(3, 4),
                interrupts: sum(5, 6),
                steal: field[7],
            };
            Some((cpu, ticks))
        })
        .collect()
}

impl CpuTimes {
    /// What the CPUs of a set did since an earlier moment. A CPU that was offline at either moment
    /// counts nothing, and a counter that went backwards (the kernel's idle counters can) counts 0.
    /// Interrupts are apart from busy time, because the network's soft interrupts are work of whoever
    /// sends, and no process's CPU time shows them.
    pub fn since(&self, earlier: &Self, cpus: &CpuSet) -> StatTimes {
        let mut observed = StatTimes::default();
        let seconds = |later: u64, earlier: u64| {
            later.saturating_sub(earlier) as f64 / self.hertz.max(1) as f64
        };
        for cpu in cpus.iter() {
            let (Some(now), Some(then)) = (self.cpus.get(&cpu), earlier.cpus.get(&cpu)) else {
                continue;
            };
            observed.busy_s += seconds(now.user, then.user) + seconds(now.system, then.system);
            observed.interrupts_s += seconds(now.interrupts, then.interrupts);
            observed.steal_s += seconds(now.steal, then.steal);
            observed.idle_s += seconds(now.idle, then.idle);
        }
        observed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn times(text: &str) -> CpuTimes {
        CpuTimes { cpus: parse(text), hertz: 100 }
    }

    #[test]
    fn only_the_asked_cpus_count_and_guest_time_counts_once() {
        let before = times("cpu  9 9 9 9\ncpu0 100 0 50 1000 10 1 2 3 100 0\ncpu1 0 0 0 0\n");
        let after = times("cpu  9 9 9 9\ncpu0 300 10 60 1100 0 2 3 53 300 0\ncpu1 900 0 0 0\n");
        let set = CpuSet::parse("0").expect("set");
        let observed = after.since(&before, &set);
        assert!((observed.busy_s - 2.2).abs() < 1e-9, "{observed:?}");
        assert!((observed.interrupts_s - 0.02).abs() < 1e-9);
        assert!((observed.steal_s - 0.5).abs() < 1e-9);
        assert!((observed.idle_s - 0.9).abs() < 1e-9, "iowait went backwards: {observed:?}");
        let both = after.since(&before, &CpuSet::parse("0-7").expect("set"));
        assert!((both.busy_s - 11.2).abs() < 1e-9);
    }

    #[test]
    fn the_real_file_moves_forward() {
        let root = Root::system();
        let first = cpu_times(&root).expect("times");
        let second = cpu_times(&root).expect("times");
        let all: CpuSet = first.cpus.keys().copied().collect();
        let observed = second.since(&first, &all);
        assert!(first.hertz > 0 && !all.is_empty());
        assert!(observed.busy_s >= 0.0 && observed.busy_s < 60.0);
    }

    proptest! {
        #[test]
        fn never_panics(text in "(cpu[0-9]{0,12}( [0-9]{0,21}|\\PC)*\\n)*") {
            let parsed = times(&text);
            let all: CpuSet = parsed.cpus.keys().copied().collect();
            let _ = parsed.since(&times(""), &all);
        }
    }
}
