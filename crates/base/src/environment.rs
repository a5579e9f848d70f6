//! What a machine was like while it was measured. The only record that holds host facts and
//! wall-clock times.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `environment.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Record version.
    pub schema: u32,
    /// Each start or resumption of the study.
    pub sessions: Vec<Session>,
    /// Sets of facts that stay put while a machine is left alone, by name (`f0`, `f1`, …). A fact
    /// is a dotted key (`cpu.model`, `cpu.3.governor`, `mitigation.mds`) and its text.
    pub facts: BTreeMap<String, Facts>,
    /// What a reading's `env` names: the facts and the passing state at one arm change.
    pub moments: BTreeMap<String, Moment>,
}

/// Facts by dotted key.
pub type Facts = BTreeMap<String, String>;

/// One start or resumption.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// When, in UTC, RFC 3339.
    pub started_utc: String,
    /// Version of the program.
    pub coretwin: String,
    /// The command line.
    pub argv: Vec<String>,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
    /// Host name.
    pub host: String,
}

/// The machine at one arm change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Name of the set of facts that held.
    pub facts: String,
    /// Label of the arm.
    pub arm: String,
    /// When, in UTC, RFC 3339.
    pub at_utc: String,
    /// Load average over one minute.
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
}
