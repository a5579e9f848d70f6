//! Limits of the system that a workload may run into, checked before it runs.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Open files of one process, `RLIMIT_NOFILE` (the hard limit; workers raise the soft one).
    OpenFiles,
    UserTasks,
    Threads,
    CgroupTasks,
    MemoryMaps,
    /// Memory that can be used without swapping, in KiB: `MemAvailable`, or what the cgroup has left.
    MemoryKib,
    SemaphoreSets,
    SemaphoresPerSet,
    SemaphoresTotal,
    /// Largest value of a SysV semaphore, 32767 (SEMVMX, fixed in the kernel).
    SemaphoreValue,
    ListenBacklog,
    EphemeralPorts,
}

impl Limit {
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenFiles => "open files of one process (ulimit -Hn)",
            Self::UserTasks => "processes and threads of the user (ulimit -u)",
            Self::Threads => "threads of the machine (kernel.threads-max, kernel.pid_max)",
            Self::CgroupTasks => "tasks of the cgroup (pids.max)",
            Self::MemoryMaps => "memory maps of one process (vm.max_map_count)",
            Self::MemoryKib => "KiB of free memory (MemAvailable, memory.max of the cgroup)",
            Self::SemaphoreSets => "SysV semaphore sets (kernel.sem, 4th field)",
            Self::SemaphoresPerSet => "SysV semaphores per set (kernel.sem, 1st field)",
            Self::SemaphoresTotal => "SysV semaphores in all (kernel.sem, 2nd field)",
            Self::SemaphoreValue => "largest value of a SysV semaphore (fixed in the kernel)",
            Self::ListenBacklog => "listen backlog (net.core.somaxconn)",
            Self::EphemeralPorts => "ephemeral ports (net.ipv4.ip_local_port_range)",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    pub limit: Limit,
    /// How much must be free of it, for one copy of the workload.
    pub amount: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {needed} needed, {value} available; {remedy}", limit.name())]
pub struct Unmet {
    pub limit: Limit,
    pub needed: u64,
    pub value: u64,
    pub remedy: String,
}
