//! What SMT costs in security on a machine, and the ways there to go without it.

use serde::{Deserialize, Serialize};

/// One of the kernel's entries under `/sys/devices/system/cpu/vulnerabilities` that speaks of
/// siblings (Documentation/admin-guide/hw-vuln).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exposure {
    /// The kernel's name of it: `mds`, `l1tf`, `spectre_v2`.
    pub name: String,
    /// What the kernel says of it here, in its own words.
    pub text: String,
    /// Whether going without SMT would change something about it here, now.
    pub smt_matters: bool,
    /// What the text means for siblings, in one sentence.
    pub meaning: String,
}

/// One way to go without SMT.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    /// Whether it can be gone here, now, by this user.
    pub available: bool,
    /// Why, or why not, in one sentence that says what to type or what would help.
    pub why: String,
}

/// The three ways to go without SMT.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ways {
    /// The switch of the running kernel, `/sys/devices/system/cpu/smt/control`.
    pub switch: Way,
    /// The next boot, with `nosmt` on the kernel's command line.
    pub boot: Way,
    /// Core scheduling (`PR_SCHED_CORE`): SMT stays on, but siblings only ever run tasks that trust
    /// each other.
    pub core_scheduling: Way,
}

impl Ways {
    /// The ways in a fixed order, each with its name.
    #[must_use]
    pub fn each(&self) -> [(&'static str, &Way); 3] {
        [("switch", &self.switch), ("boot", &self.boot), ("core scheduling", &self.core_scheduling)]
    }
}
