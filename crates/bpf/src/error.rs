//! What can go wrong, and what to do about it.

/// Why a program is not running in the kernel, or cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The feature `bpf` is off.
    #[error(
        "this build has no BPF programs in it; build with `--features bpf`, which needs clang 16 or \
         later (`make` installs it)"
    )]
    NotBuilt,
    /// The kernel does not describe its types.
    #[error(
        "this kernel has no {path}: it is older than 5.15, or built without CONFIG_DEBUG_INFO_BTF=y; \
         boot a kernel that has it"
    )]
    NoTypes { path: &'static str },
    /// EPERM.
    #[error(
        "not permitted to load BPF programs: run as root{or}; a container may forbid it for root, too"
    )]
    NotPermitted {
        /// What else will do, and what for; empty if nothing.
        or: &'static str,
    },
    /// The kernel refuses a program, and is older than those for which it is made.
    #[error(
        "this kernel is {release}, and the BPF object {object} is for 5.15 and later: {reason}; boot a \
         later one"
    )]
    TooOld {
        object: &'static str,
        /// As `uname -r` tells it.
        release: String,
        reason: String,
    },
    /// The kernel refuses a program for another reason.
    #[error("the kernel does not take the BPF object {object}: {reason}{}", said(.log))]
    Refused {
        object: &'static str,
        reason: String,
        /// What libbpf and the kernel's verifier said last; may be empty.
        log: String,
    },
    /// A program that is running cannot be asked.
    #[error("{what}: {reason}")]
    Failed {
        /// What was tried, such as `closing the window on CPU 3`.
        what: String,
        reason: String,
    },
    /// The kernel has no sched_ext.
    #[error(
        "this kernel takes no schedulers: it has no sched_ext (CONFIG_SCHED_CLASS_EXT, from Linux \
         6.12 on); everything else works without it"
    )]
    NoSchedExt,
    /// Another scheduler is loaded.
    #[error(
        "the scheduler {name} is loaded, and the kernel takes one at a time; stop that one first"
    )]
    Occupied { name: String },
    /// The machine is not what it was when the scheduler was made for it.
    #[error("CPUs changed while the scheduler was being loaded: {0}")]
    Changed(String),
    /// The scheduler ended as soon as it began.
    #[error("the scheduler did not come to work: {0}")]
    Ended(String),
    /// More CPUs than the scheduler has room for.
    #[error(
        "this machine may have {cpus} CPUs, up to {threads} on a core; the scheduler has room for \
         {cpus_max}, and {threads_max} on a core"
    )]
    TooLarge { cpus: usize, threads: usize, cpus_max: usize, threads_max: usize },
    /// The machine cannot be read.
    #[error(transparent)]
    Host(#[from] coretwin_host::Error),
    /// The map of siblings cannot be used.
    #[error("the map of siblings: {0}")]
    Siblings(String),
}

/// The last line of a log, as part of a message.
fn said(log: &str) -> String {
    log.lines().rev().find(|line| !line.trim().is_empty()).map_or_else(String::new, |line| {
        format!("; the last that was said about it: {}", line.trim())
    })
}
