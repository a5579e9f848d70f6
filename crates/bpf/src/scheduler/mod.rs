//! A scheduler on a live kernel, by sched_ext: its loader, and what it tells while it is in charge. The programs are in
//! [`crate::programs`].
//!
//! ```text
//! topology ─▶ places ─┐
//! Options ────────────┴▶ loader ─▶ kernel (c/*.bpf.c)
//!                          Statistics ◀─┤
//!                          End ◀────────┘
//! ```
//!
//! While a [`Scheduler`] lives the kernel schedules every normal task by it; when it is dropped, or the
//! process ends in whatever way, the kernel's own scheduler is in charge again.

pub(crate) mod counters;
mod decision;
mod end;
#[cfg(feature = "bpf")]
mod loader;
#[cfg(any(feature = "bpf", test))]
mod places;
mod statistics;
#[cfg(not(feature = "bpf"))]
mod without;

pub use coretwin_base::simulation::core_queue::partners::Partners;
pub use coretwin_base::simulation::live::Options;
pub use counters::{Counter, Kind};
pub use decision::Decision;
pub use end::End;
#[cfg(feature = "bpf")]
pub use loader::Scheduler;
pub use statistics::{CoreNow, Statistics};
#[cfg(not(feature = "bpf"))]
pub use without::Scheduler;

use std::time::Duration;

/// What only trials of the scheduler itself set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trial {
    /// No task is ever taken out of a queue, so that the kernel's watchdog has to end it.
    pub stuck: bool,
    /// How long a task may wait for a CPU before the kernel ends the scheduler, at most 30 s; none: 30 s.
    pub watchdog: Option<Duration>,
    /// Only tasks of this process are counted; none: all.
    pub watch: Option<u32>,
    /// Nothing is counted, for nobody watches: what a study measures.
    pub silent: bool,
    /// The first decisions of each kind are told with what they were taken from.
    pub tells: bool,
}

/// What it is loaded with: its parameters, which programs go well together, and what a trial sets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wish {
    pub options: Options,
    /// For core-queue alone; none: nobody is told apart.
    pub partners: Partners,
    pub trial: Trial,
}
