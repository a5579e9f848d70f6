//! Where the time of all CPUs went, as the methods that read `/proc` know it, and what `/proc/stat`
//! says of it.

use coretwin_base::account::{Balance, StatTimes};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_host::observe::CpuTimes;

/// What `/proc/stat` says of some CPUs between two moments.
pub(crate) fn stat_times(now: &CpuTimes, before: &CpuTimes, cpus: &CpuSet) -> StatTimes {
    let told = now.since(before, cpus);
    StatTimes {
        busy_s: told.busy_s,
        interrupts_s: told.interrupts_s,
        steal_s: told.steal_s,
        idle_s: told.idle_s,
    }
}

/// The balance of a method that sees nothing but `/proc`: idle time and what was charged to nobody
/// are those of `/proc/stat`. What is missing ran in tasks that are not known.
pub(crate) fn of_stat(stat: StatTimes, cpus: usize, elapsed_s: f64, tasks_s: f64) -> Balance {
    Balance {
        cpus: u32::try_from(cpus).unwrap_or(u32::MAX),
        cpus_s: cpus as f64 * elapsed_s,
        tasks_s,
        idle_s: stat.idle_s,
        offline_s: 0.0,
        uncharged_s: stat.interrupts_s + stat.steal_s,
        stat,
    }
}
