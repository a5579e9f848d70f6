//! Scenarios: work for the simulated kernel as files that anyone can read and add to, with what every
//! policy must make of it.
//!
//! `read` takes a scenario in TOML ([`table`] has the built-in ones), `steps` its programs,
//! [`expect`] what it expects; [`rt_app`] takes the JSON of rt-app. Both give a [`Scenario`], from
//! which a [`Machine`] and the [`Work`] of a run are made.

pub mod expect;
mod read;
pub mod rt_app;
mod steps;
pub mod sweep;
pub mod table;

use super::{CoRun, Costs, Idle, Layout, Machine, Work};
use expect::Expectation;

#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    pub name: String,
    pub title: String,
    /// What it shows, and where its numbers come from.
    pub about: String,
    /// The machine it is meant for, as `2x2`.
    pub topology: String,
    /// Kinds of work that its programs name; number `n` is [`ProfileId`](super::co_run::ProfileId)
    /// `n + 1` of its machine, whose first is the kernel's.
    pub profiles: Vec<String>,
    /// What its expectations were worked out with: every kind of work takes so many thousandths of
    /// its time alone beside a busy sibling.
    pub slowdown: u32,
    pub idle: Idle,
    pub costs: Costs,
    pub until_ns: u64,
    pub warmup_ns: u64,
    pub operations: Vec<String>,
    pub work: Work,
    /// Entries of the work's tasks whose number grows with the machine: which, and how many tasks to
    /// each CPU.
    pub per_cpu: Vec<(usize, f64)>,
    pub expectations: Vec<Expectation>,
}

impl Scenario {
    pub fn layout(&self) -> Result<Layout, String> {
        Layout::parse(&self.topology)
    }

    /// Speeds at which everything is slowed alike beside a busy sibling; `slowdown` in thousandths.
    /// An idle CPU that polls is as much in the way.
    pub fn uniform(&self, slowdown: u32) -> Result<CoRun, String> {
        let names: Vec<&str> = self.profiles.iter().map(String::as_str).collect();
        CoRun::uniform(&names, slowdown, slowdown)
    }

    pub fn work_on(&self, layout: &Layout) -> Work {
        let mut work = self.work.clone();
        for (entry, tasks) in &self.per_cpu {
            let count = libm::round(tasks * layout.cpus() as f64);
            work.starts[*entry].count = (count as u32).max(1);
        }
        work
    }

    /// A machine for it: its costs and idle CPUs, with these CPUs and speeds. The first row of the
    /// speeds is the kernel's, the others are [`Scenario::profiles`].
    pub fn machine(&self, layout: Layout, speeds: CoRun) -> Machine {
        Machine { costs: self.costs, idle: self.idle, ..Machine::new(layout, speeds) }
    }
}
