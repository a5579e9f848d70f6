//! What `probe` found: who shares a core, a cache or the time of a physical CPU, by measurement.

use crate::machine::cpu_set::{CpuId, CpuSet};
use serde::{Deserialize, Serialize};

/// A way in which two CPUs can be in each other's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Contention {
    /// Arithmetic that fills the execution ports of a core: its siblings halve each other.
    Ports,
    /// One long chain of multiplications, which leaves a core nearly idle: siblings do not feel it,
    /// CPUs that take turns on one physical CPU halve each other.
    Turns,
    /// A walk through three quarters of a first-level data cache.
    L1,
    /// A walk through three quarters of a second-level cache.
    L2,
    /// A cache line that goes to and fro between two CPUs: its round trip.
    PingPong,
}

impl Contention {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// A physical core: they are siblings.
    Core,
    /// A physical CPU, by turns: a hypervisor runs one or the other.
    Time,
    /// A second-level cache, of several cores.
    L2,
    /// The nearest of the caches (or packages) between which cache lines travel fast.
    LastLevel,
}

impl Sharing {
    pub fn words(self) -> &'static str {
        match self {
            Self::Core => "a core",
            Self::Time => "the time of a physical CPU",
            Self::L2 => "a second-level cache",
            Self::LastLevel => "a last-level cache",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shared {
    pub what: Sharing,
    pub cpus: CpuSet,
    /// Probability that they do, given what was measured; 0 to 1.
    pub confidence: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The lower number.
    pub a: CpuId,
    pub b: CpuId,
    pub kind: Contention,
    /// Speed side by side over speed apart, mean of both: 1 is no contention, 0.5 is half the speed
    /// each. For `ping-pong` the round trip over the shortest one seen.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    pub repeats: u32,
    /// Probability that the two are in each other's way.
    pub confidence: f64,
}

/// Work of others on a CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Foreign {
    pub cpu: CpuId,
    /// Share of the rounds in which others were seen at work there, 0 to 1.
    pub rounds_share: f64,
    /// Share of the CPU's time that it took.
    pub busy_share: f64,
    /// Share of the CPU's time that was stolen.
    pub steal_share: f64,
    /// So much that the CPU is undecided for it.
    pub prevents: bool,
}

/// Who shares a core, a cache or the time of a physical CPU, by measurement. The last result is
/// kept as `probe.json` in the state folder; `topology` and `study` use it until the next boot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    pub schema: u32,
    /// CPUs that could be probed. Every one is in exactly one of `groups`, `alone` and `undecided`.
    pub cpus: CpuSet,
    /// Those that were tested directly; of four CPUs or fewer every pair is there.
    pub pairs: Vec<Pair>,
    /// CPUs that share a core, or the time of a physical CPU; `shared` says which.
    pub groups: Vec<CpuSet>,
    /// CPUs of which it is known that they share neither with any other that could be probed.
    pub alone: CpuSet,
    /// CPUs of which nothing is known.
    pub undecided: CpuSet,
    pub shared: Vec<Shared>,
    /// The least of what was decided of cores and CPUs alone, 0 to 1.
    pub confidence: f64,
    /// Siblings by the kernel's word.
    pub reported: Vec<CpuSet>,
    /// `None` while a CPU is undecided.
    pub agrees_with_reported: Option<bool>,
    /// Work of others, by CPU.
    pub foreign: Vec<Foreign>,
    /// Why nothing was measured, on an emulated processor only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaningless: Option<String>,
    pub rounds: u32,
    pub rounds_disturbed: u32,
    pub elapsed_s: f64,
    /// Longest time that it may take.
    pub budget_s: f64,
    /// Whether that was too short.
    pub out_of_time: bool,
    /// Whether others were kept off the CPUs by real-time priority.
    pub exclusive: bool,
    /// It was true from then (RFC 3339, UTC) …
    pub valid_from_utc: String,
    /// … to then. A hypervisor may move its virtual CPUs at any later time.
    pub valid_until_utc: String,
    pub boot_id: String,
    pub seed: u64,
}

impl Probe {
    pub fn decided(&self) -> CpuSet {
        self.cpus.difference(&self.undecided)
    }

    pub fn quality(&self) -> String {
        let rounds = self.rounds.saturating_add(self.rounds_disturbed);
        let disturbed = 100.0 * f64::from(self.rounds_disturbed) / f64::from(rounds.max(1));
        let disturbed = format!("{disturbed:.0} % of {rounds} rounds disturbed");
        match self.decided().len() {
            0 => format!("undecided; {disturbed}"),
            decided => format!(
                "{decided} of {} CPUs decided, confidence {:.1} %; {disturbed}",
                self.cpus.len(),
                // Rounded down: nothing measured is certain.
                (self.confidence * 1000.0).floor().min(999.0) / 10.0
            ),
        }
    }

    /// Whether a later result is to stand in its place: one that decides as many CPUs, or that finds
    /// otherwise of CPUs both decide.
    pub fn gives_way_to(&self, later: &Self) -> bool {
        let group = |probe: &Self, cpu: CpuId, both: &CpuSet| {
            let group = probe.groups.iter().find(|group| group.contains(cpu));
            group.map(|group| group.intersection(both)).filter(|group| group.len() > 1)
        };
        let (mine, its) = (self.decided(), later.decided());
        let both = mine.intersection(&its);
        its.len() >= mine.len()
            || both.iter().any(|cpu| group(self, cpu, &both) != group(later, cpu, &both))
    }
}
