//! The experiment of the note *Hyper-threading and CPU time*: one piece of work, alone and beside
//! spinners, on every placement; what is planned, what a worker is asked, and what came out.

use crate::machine::cpu_set::{CpuId, CpuSet};
use crate::machine::topology::Trust;
use crate::study::command::CommandSpec;
use crate::warning::Warning;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a plan of this experiment holds beside its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// The two CPUs.
    pub pair: Pair,
    /// A CPU of another core behind the same last-level cache; none if there is none.
    #[serde(default)]
    pub control: Option<CpuId>,
    /// What runs beside the work.
    pub spinner: Spinner,
    /// The work, in words.
    pub work: String,
    /// How often the command is run for one piece of work.
    pub repeat: u32,
    /// Bytes of generated data, where the work is the default one.
    #[serde(default)]
    pub data_bytes: Option<u64>,
    /// How long a spinner is measured without the work, in seconds.
    pub window_s: f64,
    /// One for each row of the plan.
    pub conditions: Vec<Condition>,
}

impl Experiment {
    /// The condition that a row measures.
    #[must_use]
    pub fn condition(&self, row: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.name == row)
    }
}

/// The two CPUs on which work and spinners meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The work's.
    pub work: CpuId,
    /// The neighbour's.
    pub neighbour: CpuId,
    /// What they are to each other, and who says so.
    pub relation: Relation,
}

impl Pair {
    /// Both.
    #[must_use]
    pub fn cpus(&self) -> CpuSet {
        [self.work, self.neighbour].into_iter().collect()
    }
}

/// What two CPUs are to each other.
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
    /// Whether what is measured on the pair is an effect of SMT.
    #[must_use]
    pub fn is_smt(self) -> bool {
        matches!(self, Self::Siblings | Self::Probed)
    }
}

/// Where spinners run, seen from the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// There is no work, or no spinner.
    Alone,
    /// On the sibling of the work's CPU.
    Siblings,
    /// On the other CPU of a pair that nobody calls siblings.
    Pair,
    /// On the work's own CPU.
    SameCpu,
    /// Work and spinners anywhere on the pair.
    Free,
    /// On another core behind the same last-level cache: the control.
    Cores,
}

impl Place {
    /// The name in records and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Siblings => "siblings",
            Self::Pair => "pair",
            Self::SameCpu => "same-cpu",
            Self::Free => "free",
            Self::Cores => "cores",
        }
    }

    /// Where the spinners are, in words that follow "2 spinners".
    #[must_use]
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

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One cell of the experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Name, which is that of its row: `siblings/1`, `spinner@1`.
    pub name: String,
    /// Where the spinners are.
    pub place: Place,
    /// Whether the work is there; without it a spinner is measured alone.
    pub has_work: bool,
    /// How many spinners there are.
    pub spinners: u32,
    /// CPUs of the work.
    pub work_cpus: CpuSet,
    /// CPUs of the spinners.
    pub spinner_cpus: CpuSet,
}

/// The kinds of spinners that come with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpinnerKind {
    /// The note's: a tight loop of an interpreter.
    Interpreted,
    /// Shifts in registers, as fast as the core can.
    Native,
    /// A loop of PAUSE, as a waiting lock does.
    Pause,
    /// Loads that wait for each other, through a ring of cache lines.
    Chase,
    /// Reads and writes of memory, one after another.
    Stream,
    /// The user's own command.
    Command,
}

impl SpinnerKind {
    /// Those that have a name, with what they are.
    pub const NAMED: [(&'static str, Self, &'static str); 5] = [
        ("interpreted", Self::Interpreted, "the note's: a tight loop of perl, else python3"),
        ("native", Self::Native, "shifts in registers, as fast as the core can"),
        ("pause", Self::Pause, "a loop of PAUSE, as a waiting lock does"),
        ("chase", Self::Chase, "loads that wait for each other, through 8 MiB"),
        ("stream", Self::Stream, "reads and writes of 32 MiB, one after another"),
    ];

    /// The name people type; that of a command is `command`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, kind, _)| *kind == self).map_or("command", |(name, ..)| name)
    }
}

/// What runs beside the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spinner {
    /// Its kind.
    pub kind: SpinnerKind,
    /// The program and its arguments, where it is one of its own.
    #[serde(default)]
    pub argv: Vec<String>,
}

/// What a worker is asked: the work beside so many spinners, or spinners alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// The work; none: the spinners are measured for `window_s`.
    pub work: Option<CommandSpec>,
    /// How often the command is run for one piece of work.
    pub repeat: u32,
    /// CPUs of the work.
    pub work_cpus: CpuSet,
    /// What runs beside it.
    pub spinner: Spinner,
    /// How many of them.
    pub spinners: u32,
    /// Their CPUs.
    pub spinner_cpus: CpuSet,
    /// How long spinners are measured without work, in seconds.
    pub window_s: f64,
}

/// Names of the metrics of a reading of this experiment.
pub mod metric {
    /// User CPU time of the work, in seconds.
    pub const WORK_USER: &str = "work_user_s";
    /// System CPU time of the work, in seconds.
    pub const WORK_SYSTEM: &str = "work_system_s";
    /// CPU time of all spinners from their start to their end, in seconds.
    pub const SPINNER_CPU: &str = "spinner_cpu_s";
    /// Progress of one spinner, by its number from 0: what it counted, per second.
    #[must_use]
    pub fn spinner_rate(spinner: u32) -> String {
        format!("spinner_{spinner}_rate")
    }
}

/// A number with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Lower end of the 95 % interval; none for a single block.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// What came out of one condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConditionResult {
    /// Its name.
    pub name: String,
    /// Where the spinners were.
    pub placement: Place,
    /// How many there were.
    pub spinners: u32,
    /// CPUs of the work.
    pub work_cpus: CpuSet,
    /// CPUs of the spinners.
    pub spinner_cpus: CpuSet,
    /// Wall time of the work, in seconds: geometric mean over blocks, as all times here.
    pub real_s: Option<f64>,
    /// User CPU time of the work, in seconds (arithmetic mean).
    pub user_s: Option<f64>,
    /// System CPU time of the work, in seconds (arithmetic mean).
    pub system_s: Option<f64>,
    /// Wall time over wall time alone in the same block.
    pub slowdown: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The same of CPU time, user and system: what the neighbour does to a CPU second.
    pub cpu_slowdown: Option<Estimate>,
    /// Progress of one spinner alone over its progress here, mean of all spinners.
    pub spinner_slowdown: Option<Estimate>,
    /// System throughput: the progress of all, each over its own alone, summed (Eyerman & Eeckhout
    /// 2008). 1 is what a CPU gives to one of them.
    pub stp: Option<Estimate>,
    /// Average normalised turnaround time: the mean slowdown of all (as above).
    pub antt: Option<Estimate>,
    /// Blocks it was computed from.
    pub blocks: u32,
    /// Runs that failed.
    pub failed: u32,
    /// Why the last of them failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// A spinner without the work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpinnerAlone {
    /// Its CPUs.
    pub cpus: CpuSet,
    /// What it counted per second, geometric mean over blocks; none where it does not count.
    pub rate: Option<f64>,
    /// Unit of that.
    pub unit: String,
}

/// The whole result: `cputime --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CputimeSummary {
    /// Record version.
    pub schema: u32,
    /// The work, in words.
    pub work: String,
    /// The spinner, in words.
    pub spinner: String,
    /// The pair.
    pub cpus: Pair,
    /// The control's CPU.
    pub control: Option<CpuId>,
    /// How far the kernel's word on siblings can be trusted.
    pub topology_trust: Trust,
    /// What the pair is, and what the numbers can say about SMT; for people.
    pub meaning: Vec<String>,
    /// One for each condition with the work.
    pub conditions: Vec<ConditionResult>,
    /// Spinners alone.
    pub spinners_alone: Vec<SpinnerAlone>,
    /// Slowdown r and yield s of this pair, where it shares a core.
    pub factors: Option<Factors>,
    /// Blocks analysed.
    pub blocks: u32,
    /// Attempts at blocks that something outside disturbed.
    pub blocks_set_aside: u32,
    /// Seed of every random choice.
    pub seed: u64,
    /// Why it ended.
    pub stopped_because: crate::study::summary::StoppedBecause,
    /// That others left no block undisturbed, in a sentence, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_busy: Option<String>,
    /// What the reader must know.
    pub warnings: Vec<Warning>,
}

/// What a busy sibling does to a CPU second, both ways (DESIGN: `r` and `s`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Factors {
    /// CPU time of the work beside one busy sibling over its CPU time alone.
    pub slowdown: Estimate,
    /// The same of the neighbour, by its progress; none where it does not count.
    pub neighbour_slowdown: Option<Estimate>,
    /// Throughput of the core with both busy over one busy: the sum of the two progresses.
    pub core_yield: Option<Estimate>,
}

/// A line of `factors.jsonl`: what accounting may use on this machine, for this work beside this
/// neighbour. Only of CPUs that share a core, by the kernel's word or by contention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredFactors {
    /// Record version.
    pub schema: u32,
    /// When it was measured, in UTC, RFC 3339.
    pub measured_utc: String,
    /// The processor's name.
    pub cpu_model: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Name of the hypervisor, `none` on bare metal.
    pub hypervisor: String,
    /// The work, in words.
    pub work: String,
    /// What ran beside it.
    pub neighbour: String,
    /// The two CPUs, and what they are to each other.
    pub cpus: Pair,
    /// How far the kernel's word on siblings could be trusted.
    pub topology_trust: Trust,
    /// What was measured.
    pub factors: Factors,
    /// Blocks it was computed from.
    pub blocks: u32,
}
