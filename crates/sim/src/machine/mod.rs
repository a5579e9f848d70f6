//! Whole machines as data: a processor of [`crate::core`], where its CPUs are, memory, disk, what the
//! kernel's work costs there, and how long the work of a workload takes. What [`crate::models`] runs on.
//!
//! Every value has its source and the confidence in it, as a processor's preset has.

pub(crate) mod fit;
mod read;
pub mod table;

pub use fit::{Fit, Residual};

use crate::core::Preset;
use crate::core::preset::Provenance;
use crate::kernel::{
    CPUS_MAX, CoRun, CoreId, Costs, CpuId, DiskSpec, Idle, Layout, Machine, PageCacheSpec, Place,
};
use crate::{Error, Result};
use std::collections::BTreeMap;

/// Counted up with every change of the simulated kernel or of a model that changes results: a fit of
/// another version is refused.
pub const MODEL_VERSION: u32 = 7;

/// What a workload's own work takes on a machine, as its preset or a fit gives it: mostly times alone on
/// a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    pub name: &'static str,
    /// Its unit, which is the key of its value: `ns` or `messages`.
    pub unit: &'static str,
    pub about: &'static str,
}

const fn time(name: &'static str, about: &'static str) -> Parameter {
    Parameter { name, unit: "ns", about }
}

pub const PARAMETERS: &[Parameter] = &[
    time("pipe_call", "a read or write of a pipe, beyond the system call"),
    time("chat_message", "chat: sending and receiving a message, beyond two system calls"),
    Parameter {
        name: "chat_send",
        unit: "percent",
        about: "chat: part of a message's work that sending is; half if it is missing",
    },
    time("chat_segment", "chat: a segment's way over the loopback, with its acknowledgement"),
    Parameter {
        name: "chat_messages_held",
        unit: "messages",
        about: "chat: messages that a connection holds before the sender waits",
    },
    Parameter {
        name: "chat_segment_writes",
        unit: "messages",
        about: "chat: messages of several senders that fill a segment; any number if it is missing",
    },
    Parameter {
        name: "chat_quick_segments",
        unit: "segments",
        about: "chat: segments of a new connection that are acknowledged at once; none if it is missing",
    },
    time("tbench_exchange", "tbench: a request and its reply, beyond system calls and copying"),
    time("tbench_kib", "tbench: copying 1 KiB from one process to the other"),
    time("dbench_call", "dbench: one call, beyond system calls and copying"),
    time("dbench_kib", "dbench: copying 1 KiB to or from the page cache"),
    Parameter {
        name: "dbench_flushes",
        unit: "flushes",
        about: "dbench: flushes of a client's load; none if it is missing, as of dbench 1",
    },
];

#[derive(Debug, Clone, PartialEq)]
pub struct MachinePreset {
    pub name: String,
    pub title: String,
    pub core: Preset,
    /// Packages, last-level caches of each, cores of each cache.
    pub packages: u32,
    pub caches: u32,
    pub cores: u32,
    pub idle: Idle,
    /// Memory for the page cache; `None`: no model that uses files runs here.
    pub memory: Option<PageCacheSpec>,
    /// The disk; `None`: no model that uses files runs here.
    pub disk: Option<DiskSpec>,
    pub costs: Costs,
    /// What the work of workloads takes, by the parameter's name; units as in [`PARAMETERS`].
    pub work: BTreeMap<String, u64>,
    pub provenance: Vec<Provenance>,
    /// What a fit names to be of this preset: of its text and its processor's.
    pub fingerprint: String,
}

impl MachinePreset {
    /// Where its CPUs are, with every sibling or with one of each core only. As the kernel numbers
    /// them: first one CPU of every core, then their siblings.
    pub fn layout(&self, smt: bool) -> Result<Layout> {
        let threads = if smt { u32::from(self.core.ways) } else { 1 };
        let refuse = |problem| Error::Value {
            file: self.name.clone(),
            key: "processor.topology".to_owned(),
            problem,
        };
        let counts = [self.packages, self.caches, self.cores, threads].map(u64::from);
        let cpus = counts.into_iter().fold(1, u64::saturating_mul);
        if cpus > CPUS_MAX as u64 {
            return Err(refuse(format!("a machine has 1 to {CPUS_MAX} CPUs, not {cpus}")));
        }
        let cores = self.packages * self.caches * self.cores;
        let place = |cpu: u32| {
            let core = cpu % cores;
            let package = core / (self.caches * self.cores);
            Place { core: CoreId(core), cache: core / self.cores, package }
        };
        Layout::new((0..cores * threads).map(place).collect()).map_err(refuse)
    }

    pub fn has_siblings(&self) -> bool {
        self.core.ways > 1
    }

    /// The machine for the simulated kernel.
    pub fn machine(&self, smt: bool, speeds: CoRun) -> Result<Machine> {
        let bare = Machine::new(self.layout(smt)?, speeds);
        Ok(Machine {
            costs: self.costs,
            idle: self.idle,
            interrupts: CpuId(0),
            cache: self.memory.unwrap_or(bare.cache),
            disk: self.disk.unwrap_or(bare.disk),
            ..bare
        })
    }

    /// A value of `[work]`; an error if the preset does not have it names the model that needs it.
    pub fn work(&self, name: &str, model: &str) -> Result<u64> {
        self.work.get(name).copied().ok_or_else(|| Error::Value {
            file: self.name.clone(),
            key: format!("work.{name}"),
            problem: format!("is missing; the model of {model} needs it"),
        })
    }
}

/// A word for a text, equal on every host: 64-bit FNV-1a.
pub(crate) fn fingerprint<'text>(texts: impl IntoIterator<Item = &'text str>) -> String {
    let bytes = texts.into_iter().flat_map(|text| text.bytes().chain([0]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}
