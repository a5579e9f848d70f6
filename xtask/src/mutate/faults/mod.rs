//! The faults, as data: each is a plausible mistake in a place where it would give wrong results
//! or do harm without a word.

mod core;
mod machine;
mod schedulers;
mod statistics;
mod studies;

/// Where a test is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Suite {
    /// Beside the code of this package.
    Unit(&'static str),
    /// In this file of the package's tests.
    Tests(&'static str, &'static str),
    /// The same with the programs for the kernel, which not every machine takes.
    Live(&'static str, &'static str),
    /// In this boot of `cargo xtask vm sched`; a test is the beginning of a check's name.
    Guest(&'static str),
}

/// A fault, and the test that must notice it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub(super) name: &'static str,
    pub(super) file: &'static str,
    /// Text that is in the file exactly once.
    pub(super) find: &'static str,
    /// What stands there instead.
    pub(super) put: &'static str,
    pub(super) suite: Suite,
    /// The test's whole name.
    pub(super) test: &'static str,
}

const BASE: Suite = Suite::Unit("coretwin-base");
const STATS: Suite = Suite::Unit("coretwin-stats");
const DECISION: Suite = Suite::Tests("coretwin-stats", "decision");
const SIMULATION: Suite = Suite::Tests("coretwin-stats", "simulation");
const STUDY: Suite = Suite::Tests("coretwin-stats", "study");
const STORE: Suite = Suite::Unit("coretwin-store");
const HOST: Suite = Suite::Unit("coretwin-host");
const SMT: Suite = Suite::Tests("coretwin-host", "smt");
const TOPOLOGY: Suite = Suite::Tests("coretwin-host", "topology");
const SIM: Suite = Suite::Unit("coretwin-sim");
const CORE: Suite = Suite::Tests("coretwin-sim", "core");
const KERNEL: Suite = Suite::Tests("coretwin-sim", "kernel");
const WORKLOADS: Suite = Suite::Unit("coretwin-workloads");
const CHAT: Suite = Suite::Tests("coretwin-workloads", "chat");
const SERVICE: Suite = Suite::Tests("coretwin-workloads", "service");
const ACCOUNT: Suite = Suite::Unit("coretwin-account");
const LAB: Suite = Suite::Unit("coretwin-lab");
const ENGINE: Suite = Suite::Tests("coretwin-lab", "study");
const PAIRS: Suite = Suite::Tests("coretwin-lab", "pairs");
const REPLAY: Suite = Suite::Tests("coretwin-lab", "replay");
const RULERS: Suite = Suite::Tests("coretwin-lab", "rulers");
const SWITCHING: Suite = Suite::Tests("coretwin-lab", "switching");
const DECISIONS: Suite = Suite::Tests("coretwin-bpf", "decisions");
const FLOORS: Suite = Suite::Guest("floors");
const OVERLAP: Suite = Suite::Live("coretwin-bpf", "overlap");
const LOAD_REPORT: Suite = Suite::Tests("coretwin-report", "load");
const TOP: Suite = Suite::Unit("coretwin-top");
const CLI: Suite = Suite::Unit("coretwin");

/// All of them; those of one package stand together, so that little is built.
pub(super) fn all() -> impl Iterator<Item = &'static Fault> {
    [statistics::FAULTS, machine::FAULTS, core::FAULTS, schedulers::FAULTS, studies::FAULTS]
        .into_iter()
        .flatten()
}
