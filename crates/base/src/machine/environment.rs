//! What a machine was like while it was measured. The only record that holds host facts and
//! wall-clock times.

use crate::machine::cpu_set::{CpuId, CpuSet};
use crate::study::boot::Boot;
use crate::warning::Warning;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the machine was like; the only file with host facts and wall-clock times. It is written
/// anew at every arm change, whole or not at all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    pub schema: u32,
    /// Each start or resumption.
    pub sessions: Vec<Session>,
    /// What stays put while a machine is left alone: processor, microcode, kernel, command line,
    /// mitigations, governors and limits of all siblings, idle states, SMT control, sibling map,
    /// cgroup limits, clock source, libc, shell and more, by dotted key.
    pub facts: BTreeMap<String, Facts>,
    /// One per arm change; a reading's `env` names one.
    pub moments: BTreeMap<String, Moment>,
    /// Which boot served which arm of which block, where boots are compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boots: Vec<Boot>,
    /// What happened to the machine, such as `smt-not-restored`; the summary repeats them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

pub type Facts = BTreeMap<String, String>;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    pub started_utc: String,
    pub coretwin: String,
    pub argv: Vec<String>,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
    pub host: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Entry of `facts`.
    pub facts: String,
    pub arm: String,
    pub at_utc: String,
    pub load_1min: f64,
    /// Current frequency by CPU, in MHz, where the machine tells; all siblings of measured CPUs
    /// included.
    #[serde(default)]
    pub mhz: BTreeMap<String, f64>,
    /// Highest frequency permitted now, by CPU, in MHz, where the machine tells.
    #[serde(default)]
    pub mhz_permitted: BTreeMap<String, f64>,
    /// Idle-state use since boot, `cpu.state` to microseconds, where the machine tells.
    #[serde(default)]
    pub idle_us: BTreeMap<String, u64>,
}

impl Default for Environment {
    fn default() -> Self {
        Self {
            schema: crate::schema::SCHEMA,
            sessions: Vec::new(),
            facts: BTreeMap::new(),
            moments: BTreeMap::new(),
            boots: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl Environment {
    /// Adds a moment with its facts and gives the name a reading's `env` uses. Equal sets of facts
    /// are stored once.
    pub fn add(&mut self, facts: Facts, mut moment: Moment) -> String {
        let known = self.facts.iter().find(|(_, known)| **known == facts).map(|(id, _)| id.clone());
        moment.facts = known.unwrap_or_else(|| {
            let id = format!("f{}", self.facts.len());
            self.facts.insert(id.clone(), facts);
            id
        });
        let id = format!("e{}", self.moments.len());
        self.moments.insert(id.clone(), moment);
        id
    }

    /// The machine when the study began, whichever session that was; `None` before its first arm.
    pub fn at_first(&self) -> Option<&Moment> {
        self.moments.get("e0")
    }
}

/// `cpu.0.governor`, `cpu.1.governor`, … as one `cpu.*.governor`: the value, or each value with its
/// CPUs. Other facts stay as they are.
pub fn folded(facts: &Facts) -> Facts {
    let mut per_cpu: BTreeMap<String, BTreeMap<&str, CpuSet>> = BTreeMap::new();
    let mut folded = Facts::new();
    for (key, value) in facts {
        let cpu = key.strip_prefix("cpu.").and_then(|rest| {
            let (cpu, rest) = rest.split_once('.')?;
            Some((cpu.parse::<u32>().ok()?, rest))
        });
        match cpu {
            Some((cpu, rest)) => {
                let values = per_cpu.entry(format!("cpu.*.{rest}")).or_default();
                values.entry(value).or_default().insert(CpuId(cpu));
            }
            None => {
                folded.insert(key.clone(), value.clone());
            }
        }
    }
    for (key, values) in per_cpu {
        let one = values.len() == 1;
        let part = |(value, cpus): (&str, CpuSet)| match cpus.len() {
            _ if one => value.to_owned(),
            1 => format!("{value} (CPU {cpus})"),
            _ => format!("{value} (CPUs {cpus})"),
        };
        folded.insert(key, values.into_iter().map(part).collect::<Vec<_>>().join("; "));
    }
    folded
}
