//! What a fleet is to do (`fleet.json`, stored before the first run), and what a bundle says of
//! itself (`manifest.json`).

use crate::fleet::{MachineId, MemberState};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `fleet.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetPlan {
    /// Record version.
    pub schema: u32,
    /// SHA-256 of all the rest, as hexadecimal digits; bundles name it.
    pub digest: String,
    /// Version of the program that drew it.
    pub coretwin: String,
    /// Who runs it.
    pub engine: EngineOptions,
    /// The program on the machines: a path, or a name that is looked for in `PATH` there.
    pub program: String,
    /// What is run.
    pub subject: FleetSubject,
    /// Seed that those of the tasks are drawn from.
    pub seed: u64,
    /// One for each machine, or share of a sweep.
    pub tasks: Vec<Task>,
}

/// What every task runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FleetSubject {
    /// `coretwin study` with these options.
    Study(Vec<String>),
    /// `coretwin simulate sweep`: the cells of the grid are shared among the tasks.
    Sweep(SweepTexts),
}

/// A sweep with every file it names, so that a machine needs nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepTexts {
    /// Its name, or the file it was read from.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Texts of the scenario files it names.
    pub files: BTreeMap<String, String>,
}

/// One job of the fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// From 0, without gaps.
    pub number: u32,
    /// What people call it: the host, the node, the simulated machine.
    pub name: String,
    /// Seed of its study.
    pub seed: u64,
    /// A simulated machine that is studied instead of the one the task runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

/// Who runs a fleet, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum EngineOptions {
    /// Hosts that are reached by `ssh`.
    Ssh(SshOptions),
    /// A Slurm cluster.
    Slurm(SlurmOptions),
    /// A Kubernetes cluster.
    Kubernetes(KubernetesOptions),
}

/// Hosts that are reached by `ssh`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SshOptions {
    /// One a task, in their order.
    pub hosts: Vec<SshHost>,
    /// How many at once.
    pub side_by_side: u32,
    /// Options for every call of `ssh`, before those of the host.
    pub options: Vec<String>,
    /// The program is copied from this machine, and taken away when the bundle is here.
    pub install: bool,
}

/// A host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SshHost {
    /// As `ssh` takes it: `user@host`, or a name of its configuration.
    pub destination: String,
    /// Options of its own, like `-p` `2222`.
    pub options: Vec<String>,
}

impl SshHost {
    /// What people call it: with its port, if that is not the usual one.
    #[must_use]
    pub fn name(&self) -> String {
        let port = self.options.iter().position(|option| option == "-p");
        match port.and_then(|at| self.options.get(at + 1)) {
            Some(port) => format!("{}:{port}", self.destination),
            None => self.destination.clone(),
        }
    }
}

/// A Slurm cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlurmOptions {
    /// Where each task may run, in the tasks' order.
    pub places: Vec<SlurmPlace>,
    /// Time limit of a job, as Slurm reads it; none: the partition's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// How long before the limit a study is told to stop, in seconds.
    pub warn_s: u32,
    /// `--hint`; none: no hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Further options of `sbatch`, like `--partition=long`.
    pub options: Vec<String>,
}

/// Where a task of Slurm may run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlurmPlace {
    /// On any node.
    Any,
    /// On this one.
    Node(String),
    /// On one that has these features (`--constraint`).
    Constraint(String),
}

/// A Kubernetes cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KubernetesOptions {
    /// The image with the program.
    pub image: String,
    /// Namespace; none: that of the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Labels that a node must have.
    pub node_selector: BTreeMap<String, String>,
    /// CPUs of a pod, whole ones.
    pub cpus: u32,
    /// Memory of a pod, as Kubernetes writes it.
    pub memory: String,
    /// A claim that many nodes may write to; the fleet's folder is then kept there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Longest time of a pod, in seconds; none: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_s: Option<u64>,
    /// Whether a pod may switch SMT of its node; it is privileged then.
    pub allow_switch: bool,
}

/// `manifest.json`: what a bundle is, and what its files must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Record version.
    pub schema: u32,
    /// Version of the program that made the bundle.
    pub coretwin: String,
    /// Digest of the fleet's plan.
    pub fleet: String,
    /// The task.
    pub task: u32,
    /// The machine.
    pub machine: MachineId,
    /// What its users call it.
    pub name: String,
    /// What is in it.
    pub holds: BundleHolds,
    /// Whether the study was done.
    pub state: MemberState,
    /// Every other file.
    pub files: BTreeMap<String, FileDigest>,
}

/// What is in a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BundleHolds {
    /// A study's folder: `plan.json`, `journal.jsonl`, `environment.json`.
    Study,
    /// A share of a sweep: `sweep.json`, `cells.jsonl`.
    Sweep,
}

/// What a file must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDigest {
    /// SHA-256, as hexadecimal digits.
    pub sha256: String,
    /// Length, in bytes.
    pub bytes: u64,
}

impl FleetPlan {
    /// Why a task of that number does not count; `None` if the fleet has it.
    #[must_use]
    pub fn unplanned(&self, number: u32) -> Option<String> {
        let is_planned = self.tasks.iter().any(|task| task.number == number);
        (!is_planned).then(|| format!("it is of task {number}, which this fleet never planned"))
    }

    /// Checks what every reader relies on; a plan from outside may hold anything.
    ///
    /// # Errors
    /// A sentence naming the field that is wrong.
    pub fn check(&self) -> Result<(), String> {
        if self.tasks.is_empty() || !self.tasks.iter().map(|task| task.number).eq(0..self.count()) {
            return Err("field tasks must be numbered from 0 without gaps".to_owned());
        }
        let places = match &self.engine {
            EngineOptions::Ssh(ssh) => ssh.hosts.len(),
            EngineOptions::Slurm(slurm) => slurm.places.len(),
            EngineOptions::Kubernetes(_) => self.tasks.len(),
        };
        if places != self.tasks.len() {
            return Err("field engine must have a place for every task".to_owned());
        }
        if self.digest.len() != 64 || !self.digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err("field digest must be 64 hexadecimal digits".to_owned());
        }
        Ok(())
    }

    /// Number of tasks.
    #[must_use]
    pub fn count(&self) -> u32 {
        u32::try_from(self.tasks.len()).unwrap_or(u32::MAX)
    }

    /// The first digits of the digest, enough to tell fleets apart in names.
    #[must_use]
    pub fn short(&self) -> &str {
        self.digest.get(..12).unwrap_or(&self.digest)
    }

    /// The plan's text without its digest, which the digest is of.
    ///
    /// # Errors
    /// Never for a plan that was read; kept for the writer's sake.
    pub fn digested(&self) -> serde_json::Result<String> {
        serde_json::to_string(&Self { digest: String::new(), ..self.clone() })
    }
}
