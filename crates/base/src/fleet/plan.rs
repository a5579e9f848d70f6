//! What a fleet is to do (`fleet.json`, stored before the first run), and what a bundle says of
//! itself (`manifest.json`).

use crate::fleet::{MachineId, MemberState};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a fleet is to do, stored before the first run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetPlan {
    pub schema: u32,
    /// SHA-256 of the object with an empty digest, as one line of JSON in this order; bundles name
    /// it.
    pub digest: String,
    pub coretwin: String,
    pub engine: EngineOptions,
    /// The program on the machines: a path, or a name that is looked for in `PATH` there.
    pub program: String,
    pub subject: FleetSubject,
    /// Seed that those of the tasks are drawn from.
    pub seed: u64,
    /// One for each machine, or share of a sweep.
    pub tasks: Vec<Task>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FleetSubject {
    /// `coretwin study` with these options.
    Study(Vec<String>),
    /// `coretwin simulate sweep`: the cells of the grid are shared among the tasks.
    Sweep(SweepTexts),
    /// `coretwin account --record` with these options.
    Record(Vec<String>),
}

/// A sweep with every file it names, so that a machine needs nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepTexts {
    pub name: String,
    pub text: String,
    pub files: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// From 0, without gaps.
    pub number: u32,
    /// What people call it: the host, the node, the simulated machine.
    pub name: String,
    pub seed: u64,
    /// A simulated machine that is studied instead of the one the task runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

/// Who runs a fleet, and how: `{name: "ssh", hosts: [{destination, options[]}], side_by_side,
/// options[], install}`, `{name: "slurm", places[], time, warn_s, hint, options[]}` (a place is
/// `"any"`, `{node}` or `{constraint}`) or `{name: "kubernetes", image, namespace, node_selector{},
/// cpus, memory, claim, deadline_s, allow_switch}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineOptions {
    pub name: String,
    /// The engine's own, in the order they were written in, because the digest is of their text.
    #[serde(flatten, with = "in_order")]
    pub options: Vec<(String, Value)>,
}

impl EngineOptions {
    /// What a plan keeps of an engine and its options, which are a struct. Errors: if they cannot be
    /// written as JSON.
    pub fn of(name: &str, options: &impl Serialize) -> serde_json::Result<Self> {
        #[derive(Serialize)]
        struct Named<'a, Options> {
            name: &'a str,
            #[serde(flatten)]
            options: &'a Options,
        }
        serde_json::from_str(&serde_json::to_string(&Named { name, options })?)
    }
}

/// An object whose fields keep their order.
mod in_order {
    use serde::de::{MapAccess, Visitor};
    use serde::{Deserializer, Serializer};
    use serde_json::Value;
    use std::fmt;

    type Fields = Vec<(String, Value)>;

    pub(super) fn serialize<S: Serializer>(fields: &Fields, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(fields.iter().map(|(name, value)| (name, value)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Fields, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                std::iter::from_fn(|| map.next_entry().transpose()).collect()
            }
        }
        from.deserialize_map(Object)
    }
}

/// What a bundle is, and what its files must be. A bundle is a tar archive compressed by gzip:
/// `manifest.json` first, then the files that it names. Its file is called `MACHINE-DIGEST.tar.gz`;
/// the digest is the first 16 digits of the manifest's SHA-256.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub schema: u32,
    pub coretwin: String,
    /// Digest of the fleet's plan.
    pub fleet: String,
    /// Number of its task.
    pub task: u32,
    pub machine: MachineId,
    pub name: String,
    pub holds: BundleHolds,
    pub state: MemberState,
    pub files: BTreeMap<String, FileDigest>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BundleHolds {
    /// A study's folder: `plan.json`, `journal.jsonl`, `environment.json`.
    Study,
    /// A share of a sweep: `sweep.json`, `cells.jsonl`.
    Sweep,
    /// What ran on a machine: `recording.jsonl`.
    Recording,
    /// What `survey` found: `survey.json`, `cputime.json`, and a study's folder.
    Survey,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDigest {
    pub sha256: String,
    pub bytes: u64,
}

impl FleetPlan {
    /// Why a task of that number does not count; `None` if the fleet has it.
    pub fn unplanned(&self, number: u32) -> Option<String> {
        let is_planned = self.tasks.iter().any(|task| task.number == number);
        (!is_planned).then(|| format!("it is of task {number}, which this fleet never planned"))
    }

    /// Checks what every reader relies on; a plan from outside may hold anything. Errors: a sentence
    /// naming the field that is wrong.
    pub fn check(&self) -> Result<(), String> {
        if self.tasks.is_empty() || !self.tasks.iter().map(|task| task.number).eq(0..self.count()) {
            return Err("field tasks must be numbered from 0 without gaps".to_owned());
        }
        if self.digest.len() != 64 || !self.digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err("field digest must be 64 hexadecimal digits".to_owned());
        }
        Ok(())
    }

    pub fn count(&self) -> u32 {
        u32::try_from(self.tasks.len()).unwrap_or(u32::MAX)
    }

    /// The first digits of the digest, enough to tell fleets apart in names.
    pub fn short(&self) -> &str {
        self.digest.get(..12).unwrap_or(&self.digest)
    }

    /// The plan's text without its digest, which the digest is of. Errors: never for a plan that was
    /// read.
    pub fn digested(&self) -> serde_json::Result<String> {
        serde_json::to_string(&Self { digest: String::new(), ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_an_engine_are_written_as_they_were_read() {
        // Neither in alphabetical order, nor known to any program of today.
        let text = r#"{"name":"pbs","time":"1:00","nodes":[{"a":1}],"later":null}"#;
        let options: EngineOptions = serde_json::from_str(text).expect("options");
        assert_eq!(serde_json::to_string(&options).expect("text"), text);
    }
}
