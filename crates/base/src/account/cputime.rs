//! The experiment of the note *Hyper-threading and CPU time*: one piece of work, alone and beside
//! spinners, on every placement; what is planned, what a worker is asked, and what came out ([`result`]).

pub mod estimate;
pub mod pairs;
pub mod result;
pub mod rulers;

use crate::machine::cpu_set::{CpuId, CpuSet};
use crate::study::command::CommandSpec;
use pairs::{COMMANDS_MAX, Objective, WithCommand};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    pub pair: Pair,
    /// A CPU of another core behind the same last-level cache; `None` if there is none.
    pub control: Option<CpuId>,
    pub spinner: Spinner,
    pub work: String,
    pub repeat: u32,
    /// Bytes of generated data, where the work is the default one.
    pub data_bytes: Option<u64>,
    /// How long a spinner is measured without the work, in seconds.
    pub window_s: f64,
    pub conditions: Vec<Condition>,
    /// Commands of which each is put beside each; none where there are spinners.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<WithCommand>,
    /// What a placement of the commands makes least.
    #[serde(default)]
    pub objective: Objective,
    /// Cores to place them on; `None`: as few as hold them all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<usize>,
}

impl Experiment {
    pub fn condition(&self, row: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.name == row)
    }

    /// Whether work is put beside a spinner for each shared resource.
    pub fn has_rulers(&self) -> bool {
        self.conditions.iter().any(|condition| condition.ruler.is_some())
    }

    /// Errors: what commands and conditions do not agree on.
    pub fn check(&self) -> Result<(), String> {
        let commands = self.commands.len();
        let strange = |number: Option<usize>| number.is_some_and(|number| number >= commands);
        match self.conditions.iter().find(|it| strange(it.work) || strange(it.beside)) {
            _ if commands > COMMANDS_MAX => {
                Err(format!("field cputime.commands holds more than {COMMANDS_MAX}"))
            }
            Some(condition) => Err(format!(
                "field cputime.conditions: {} names a command that there is not",
                condition.name
            )),
            None => Ok(()),
        }
    }
}

/// The two CPUs on which work and spinners meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    pub work: CpuId,
    pub neighbour: CpuId,
    pub relation: Relation,
}

impl Pair {
    pub fn cpus(&self) -> CpuSet {
        [self.work, self.neighbour].into_iter().collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// Siblings of one core; the kernel says so.
    Siblings,
    /// The kernel shows no siblings, but by contention they share a core.
    Probed,
    /// Named by the user; nobody says that they share a core.
    Named,
    /// The kernel shows no siblings: as far as anybody knows, two cores.
    Separate,
}

impl Relation {
    pub fn is_smt(self) -> bool {
        matches!(self, Self::Siblings | Self::Probed)
    }
}

/// Where spinners run, seen from the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, strum::Display, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Place {
    /// Nothing runs beside the work.
    Alone,
    /// On the sibling.
    Siblings,
    /// On the other of two CPUs that you named.
    Pair,
    /// On the work's own CPU.
    SameCpu,
    /// Both free on both CPUs.
    Free,
    /// On another core behind the same last-level cache: the control.
    Cores,
}

impl Place {
    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn about(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Siblings => "on the sibling",
            Self::Pair => "on the pair's other CPU",
            Self::SameCpu => "on the work's own CPU",
            Self::Free => "and the work free on both CPUs",
            Self::Cores => "on another core",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Name, which is that of its row: `siblings/1`, `spinner@1`.
    pub name: String,
    pub place: Place,
    pub has_work: bool,
    pub spinners: u32,
    pub work_cpus: CpuSet,
    pub spinner_cpus: CpuSet,
    /// Of several commands the one that is the work, and the one that runs beside it, by number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<usize>,
    /// The spinner of this condition, where each has another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ruler: Option<SpinnerKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpinnerKind {
    Interpreted,
    Native,
    Pause,
    Chase,
    Stream,
    FrontEnd,
    Integer,
    Vector,
    LoadStore,
    L1d,
    L2,
    Tlb,
    Branches,
    Command,
}

impl SpinnerKind {
    /// Those that have a name, with what they are.
    pub const NAMED: [(&'static str, Self, &'static str); 13] = [
        ("interpreted", Self::Interpreted, "the note's: a tight loop of perl, else python3"),
        ("native", Self::Native, "shifts in registers, as fast as the core can"),
        ("pause", Self::Pause, "a loop of PAUSE, as a waiting lock does"),
        ("chase", Self::Chase, "loads that wait for each other, through 8 MiB"),
        ("stream", Self::Stream, "reads and writes of 32 MiB, one after another"),
        ("front-end", Self::FrontEnd, "128 functions in turn, more code than an L1I holds"),
        ("integer", Self::Integer, "rotations and additions in registers, eight chains"),
        ("vector", Self::Vector, "additions and multiplications of doubles, 24 chains"),
        ("load-store", Self::LoadStore, "a load and a store of every word of a page"),
        ("l1d", Self::L1d, "loads that wait for each other, through 3/4 of an L1D"),
        ("l2", Self::L2, "loads that wait for each other, through 3/4 of an L2"),
        ("tlb", Self::Tlb, "loads that wait for each other, a line on each of 4,096 pages"),
        ("branches", Self::Branches, "branches by random bits, which no predictor learns"),
    ];

    /// The name people type; that of a command is `command`.
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, kind, _)| *kind == self).map_or("command", |(name, ..)| name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spinner {
    pub kind: SpinnerKind,
    #[serde(default)]
    pub argv: Vec<String>,
}

/// What a worker is asked: the work beside so many spinners, or spinners alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// The work; none: the spinners are measured for `window_s`.
    pub work: Option<CommandSpec>,
    /// Whether the work is a row of ours: its value is the one it prints.
    #[serde(default)]
    pub row: bool,
    pub repeat: u32,
    pub work_cpus: CpuSet,
    pub spinner: Spinner,
    pub spinners: u32,
    pub spinner_cpus: CpuSet,
    pub window_s: f64,
}

/// Names of the metrics of a reading of this experiment.
pub mod metric {
    pub const WORK_USER: &str = "work_user_s";
    pub const WORK_SYSTEM: &str = "work_system_s";
    /// CPU time of all spinners from their start to their end, in seconds.
    pub const SPINNER_CPU: &str = "spinner_cpu_s";
    /// Progress of one spinner, by its number from 0: what it counted, per second.
    pub fn spinner_rate(spinner: u32) -> String {
        format!("spinner_{spinner}_rate")
    }
}
