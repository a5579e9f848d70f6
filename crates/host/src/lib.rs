//! What touches the machine: sysfs, procfs, affinity, processes, locks
