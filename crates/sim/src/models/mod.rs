//! The article's benchmarks as work for the simulated kernel: one file for each family, which says
//! which facts of the benchmark it keeps and which it drops.
//!
//! Data flow: a [`MachinePreset`], the speeds of its core, perhaps a [`Fit`], a policy and whether
//! siblings are on make a [`Setting`]; [`predict`] turns a workload's name and parameters into a
//! [`Load`](load::Load), has [`crate::kernel`] do it, and gives a [`Prediction`].
//!
//! A task's work of a family runs at the speed of the family's profile on the machine's core, entering
//! and leaving the kernel at that of the profile `syscall`; how much two of them slow each other on one
//! core comes from [`crate::core`] alone, and who runs beside whom from the policy.

mod chat;
mod lmbench;
mod load;
mod rows;
mod setting;
pub mod speeds;
mod tbench;
mod unmodelled;

pub use load::{Family, Row, Sizes};
pub use setting::{Prediction, Setting, predict};
pub use unmodelled::UNMODELLED;

/// Profiles of [`crate::core`] that a matrix for [`Setting::speeds`] holds.
pub const PROFILES: [&str; 5] = ["chat", "dbench", "tbench", KERNEL, POLLING];

/// The profile of entering and leaving the kernel.
const KERNEL: &str = "syscall";

/// The profile of an idle CPU that polls.
const POLLING: &str = "spin-pause";

/// Every family that has a model.
pub const TABLE: &[&Family] = &[&lmbench::FAMILY, &chat::FAMILY, &tbench::FAMILY];

/// A time of a workload's work alone on a core, as a machine preset or a fit gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its key in `[work]`.
    pub name: &'static str,
    /// What takes that time.
    pub about: &'static str,
}

/// Every parameter of the families.
pub const PARAMETERS: &[Parameter] = &[
    Parameter { name: "pipe_call", about: "a read or write of a pipe, beyond the system call" },
    Parameter {
        name: "chat_message",
        about: "chat: sending and receiving one message, beyond the two system calls",
    },
    Parameter {
        name: "tbench_exchange",
        about: "tbench: a request, its reply and their making, beyond system calls and copying",
    },
    Parameter { name: "tbench_kib", about: "tbench: copying 1 KiB from one process to the other" },
    Parameter {
        name: "dbench_call",
        about: "dbench: one call, beyond the system call and copying",
    },
    Parameter { name: "dbench_kib", about: "dbench: copying 1 KiB to or from the page cache" },
];

/// The model of a workload, with its family.
#[must_use]
pub fn find(workload: &str) -> Option<(&'static Family, &'static Row)> {
    let rows = TABLE.iter().flat_map(|family| family.rows.iter().map(move |row| (*family, row)));
    rows.into_iter().find(|(_, row)| row.workload == workload)
}

/// Why a workload has no model.
#[must_use]
pub fn reason(workload: &str) -> Option<&'static str> {
    let is_of =
        |prefix: &str| workload == prefix || prefix.ends_with('/') && workload.starts_with(prefix);
    UNMODELLED.iter().find(|(prefix, _)| is_of(prefix)).map(|(_, reason)| *reason)
}
