//! Loops that fill one thing CPUs may share, side by side on chosen CPUs, and what each achieved.
//!
//! A process of its own, started with [`command`]: it reads [`Orders`], then a [`Round`] a line,
//! and answers each with a [`Reply`]. It ends when its standard input closes or its parent dies,
//! and its threads with it, so no loop outlives a killed parent.
//!
//! Each CPU has two threads bound to it: one that burns when a round asks for it ([`crew`],
//! [`loops`]), and one of the idle class that looks, while the CPU should rest, whether it does: a
//! thread of that class gets the CPU at once unless another task runs there.

pub(crate) mod crew;
mod loops;

use crate::{Error, role};
use coretwin_base::account::probe::Contention;
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;

/// What the process is told first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Orders {
    /// CPUs that rounds may name.
    pub cpus: CpuSet,
    /// Whether others are kept off the CPUs while a round lasts, by real-time priority.
    pub exclusive: bool,
    /// Size of a first-level data cache, in KiB.
    pub l1_kib: u64,
    /// Size of a second-level cache, in KiB.
    pub l2_kib: u64,
}

/// One round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// What is done.
    pub kind: Contention,
    /// CPUs that do it; the others rest.
    pub active: CpuSet,
    /// For [`Contention::PingPong`]: the pairs of CPUs; each CPU once at most.
    pub pairs: Vec<(CpuId, CpuId)>,
    /// How long is counted, in microseconds.
    pub window_us: u64,
}

/// What one CPU achieved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Busy {
    /// The CPU.
    pub cpu: CpuId,
    /// Steps (or round trips) per second.
    pub per_s: f64,
    /// How often another task took the CPU, or the thread gave it away.
    pub switches: u64,
    /// How much later than planned it began, in seconds.
    pub late_s: f64,
}

/// What was seen of a CPU that should rest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resting {
    /// The CPU.
    pub cpu: CpuId,
    /// How long a thread of the idle class had to wait for it, at most, in seconds.
    pub late_s: f64,
}

/// What the process answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Every thread stands.
    Ready,
    /// A round is over.
    Done {
        /// CPUs that were active.
        busy: Vec<Busy>,
        /// CPUs that should rest.
        resting: Vec<Resting>,
    },
    /// It cannot be done, and why.
    Failed(String),
}

/// The command that starts the process, from the program of the worker. The process dies with the
/// thread that starts it.
///
/// # Errors
/// If the orders cannot be written as JSON.
pub fn command(worker: &Path, orders: &Orders) -> Result<Command, Error> {
    let entry = role::Entry { parent: std::process::id(), cpus: None, core_sched: false };
    let mut command = Command::new(worker);
    command.arg(role::CONTENTION).arg(role::written(&entry)?).arg(role::written(orders)?);
    Ok(command)
}
