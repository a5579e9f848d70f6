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

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Orders {
    pub cpus: CpuSet,
    /// Whether others are kept off the CPUs while a round lasts, by real-time priority.
    pub exclusive: bool,
    pub l1_kib: u64,
    pub l2_kib: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    pub kind: Contention,
    /// CPUs that do it; the others rest.
    pub active: CpuSet,
    /// For [`Contention::PingPong`]: the pairs of CPUs; each CPU once at most.
    pub pairs: Vec<(CpuId, CpuId)>,
    pub window_us: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Busy {
    pub cpu: CpuId,
    /// Steps (or round trips) per second.
    pub per_s: f64,
    /// How often another task took the CPU, or the thread gave it away.
    pub switches: u64,
    /// How much later than planned it began, in seconds.
    pub late_s: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resting {
    pub cpu: CpuId,
    /// How long a thread of the idle class had to wait for it, at most, in seconds.
    pub late_s: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Ready,
    Done { busy: Vec<Busy>, resting: Vec<Resting> },
    Failed(String),
}

/// The command that starts the process, from the program of the worker. The process dies with the
/// thread that starts it.
pub fn command(worker: &Path, orders: &Orders) -> Result<Command, Error> {
    let entry = role::Entry { parent: std::process::id(), cpus: None, core_sched: false };
    let mut command = Command::new(worker);
    command.arg(role::CONTENTION).arg(role::written(&entry)?).arg(role::written(orders)?);
    Ok(command)
}
