//! The order in which a machine is put back: each step can succeed only after those before it.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// First, because while the word is `off` the kernel refuses siblings.
    Control,
    /// CPUs that must be online, then those that must not.
    Cpus,
    /// CPU sets, parents before children.
    Cpusets,
    /// Tasks that the kernel moved out of a CPU set that had no CPU left.
    Members,
    Interrupts,
    /// Affinities last: a task may not use what its CPU set does not have.
    Tasks,
}

impl Step {
    pub(super) const ALL: [Self; 6] =
        [Self::Control, Self::Cpus, Self::Cpusets, Self::Members, Self::Interrupts, Self::Tasks];
}
