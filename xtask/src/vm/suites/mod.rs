//! The suites, one file each: which boots it wants, and what is checked in them.

mod account;
mod boots;
mod clock;
mod compare;
mod cputime;
mod recording;
pub(crate) mod sched;
mod sched_study;
mod service;
mod smt;
mod survey;
pub(crate) mod table;

use super::guest::Guest;
use super::kernel::Kernel;
use super::qemu::{Clock, Topology};
use anyhow::Result;
use std::time::Duration;

/// Something to be shown on real kernels.
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// The host half: the machines wanted.
    pub(crate) machines: fn(&Wanted) -> Vec<Machine>,
    /// The guest half, run in every boot.
    pub(crate) guest: fn(&mut Guest) -> Result<()>,
}

/// For what machines are wanted.
pub(crate) struct Wanted {
    /// The oldest first.
    pub(crate) kernels: Vec<Kernel>,
    /// Too old for the programs that count overlap: for what is to be shown there.
    pub(crate) old: Vec<Kernel>,
    /// Only machines with a boot of one of these names; all, if there are none.
    pub(crate) boots: Vec<String>,
    /// Only what belongs to every change's test.
    pub(crate) fast: bool,
    /// Of every random choice.
    pub(crate) seed: u64,
}

impl Wanted {
    /// Whether a boot is asked for by its name.
    pub(crate) fn names(&self, boot: &str) -> bool {
        self.boots.iter().any(|name| name == boot)
    }
}

impl Suite {
    /// The machines that are wanted.
    pub(crate) fn wanted(&self, wanted: &Wanted) -> Vec<Machine> {
        let mut machines = (self.machines)(wanted);
        let named = |boot: &Boot| wanted.names(boot.name);
        machines.retain(|machine| wanted.boots.is_empty() || machine.boots.iter().any(named));
        machines
    }
}

/// A machine, booted one or more times. What a boot brings out is there in the next.
pub(crate) struct Machine {
    pub(crate) kernel: Kernel,
    pub(crate) topology: Topology,
    pub(crate) boots: Vec<Boot>,
}

/// One boot of a machine.
#[derive(Clone)]
pub(crate) struct Boot {
    pub(crate) name: &'static str,
    /// Another kernel than the machine's.
    pub(crate) kernel: Option<Kernel>,
    /// For the kernel.
    pub(crate) command_line: &'static str,
    /// From start to power off.
    pub(crate) timeout: Duration,
    /// How time passes in it.
    pub(crate) clock: Clock,
}

impl Boot {
    /// The only one of a machine, by the host's clock.
    fn only(minutes: u64) -> Self {
        Self {
            name: "only",
            kernel: None,
            command_line: "",
            timeout: Duration::from_secs(minutes * 60),
            clock: Clock::Host,
        }
    }
}
