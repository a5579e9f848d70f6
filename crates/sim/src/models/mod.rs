//! The article's benchmarks as work for the simulated kernel: one file for each family, which says
//! which facts of the benchmark it keeps and which it drops.
//!
//! Data flow: a [`MachinePreset`](crate::machine::MachinePreset), the speeds of its core, perhaps a
//! [`Fit`](crate::calibrate::Fit), a policy and whether siblings are on make a [`Setting`];
//! [`predict`] turns a workload's name and parameters into a [`Load`](load::Load), has
//! [`crate::kernel`] do it, and gives a [`Prediction`].
//!
//! A task's work of a family runs at the speed of the family's profile on the machine's core, entering
//! and leaving the kernel at that of the profile `syscall`; how much two of them slow each other on one
//! core comes from [`crate::core`] alone, and who runs beside whom from the policy.

mod aim9;
mod chat;
mod dbench;
mod gate;
mod lmbench;
mod load;
mod rows;
mod runs;
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
pub const TABLE: &[&Family] =
    &[&lmbench::FAMILY, &aim9::FAMILY, &chat::FAMILY, &dbench::FAMILY, &tbench::FAMILY];

/// What a workload's own work takes on a machine, as its preset or a fit gives it: mostly times alone on
/// a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its key in `[work]`.
    pub name: &'static str,
    /// Its unit, which is the key of its value: `ns` or `messages`.
    pub unit: &'static str,
    /// What it is.
    pub about: &'static str,
}

const fn time(name: &'static str, about: &'static str) -> Parameter {
    Parameter { name, unit: "ns", about }
}

/// Every parameter of the families.
pub const PARAMETERS: &[Parameter] = &[
    time("pipe_call", "a read or write of a pipe, beyond the system call"),
    time("chat_message", "chat: sending and receiving a message, beyond two system calls"),
    time("chat_segment", "chat: a segment's way over the loopback, with its acknowledgement"),
    Parameter {
        name: "chat_messages_held",
        unit: "messages",
        about: "chat: messages that a connection holds before the sender waits",
    },
    time("tbench_exchange", "tbench: a request and its reply, beyond system calls and copying"),
    time("tbench_kib", "tbench: copying 1 KiB from one process to the other"),
    time("dbench_call", "dbench: one call, beyond system calls and copying"),
    time("dbench_kib", "dbench: copying 1 KiB to or from the page cache"),
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
