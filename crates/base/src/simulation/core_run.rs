//! What the simulated core says of threads that share it: the record of `simulate core --json`.
//!
//! Speeds are micro-operations (uops) per core cycle. A slowdown is the time of a thread beside its
//! siblings over its time alone on the same core with the siblings halted. Throughput and turnaround
//! follow Eyerman and Eeckhout, "System-Level Performance Metrics for Multiprogram Workloads",
//! IEEE Micro 28(3), 2008: `stp` is the sum of the threads' speeds relative to alone, `antt` the mean
//! slowdown.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What the simulated core says of threads that share it. Speeds are uops (micro-operations,
/// counted unfused) per core cycle. `origin` and `known_error` are there too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreRun {
    pub schema: u32,
    pub preset: String,
    pub about: String,
    /// Clock, in GHz; the model counts in cycles, so this only turns them into time.
    pub clock_ghz: f64,
    /// Uops that the core handles a cycle.
    pub width: u8,
    pub threads: Vec<CoreThread>,
    /// Sum of the threads' speeds relative to alone (STP; Eyerman and Eeckhout, IEEE Micro 28(3),
    /// 2008).
    pub throughput: f64,
    /// Mean slowdown.
    pub antt: f64,
    /// Where the threads do the work of more cores than there are of them: what made it so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_good: Option<CoreTooGood>,
    /// Two standard errors of the least known speed, as a share of it; `None` for a length that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_error: Option<f64>,
    pub occupancy: Vec<CoreOccupancy>,
    pub seed: u64,
    /// How much the results vary with the seed; `None` if one seed was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<CoreSpread>,
    /// Uops every thread retired before measurement began.
    pub warmup_uops: u64,
    /// Uops every thread retired at least while measured.
    pub measure_uops: u64,
}

/// Threads that do more together than as many cores could.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreTooGood {
    /// The thread that gains most from its siblings, from 0.
    pub thread: usize,
    /// The component of its cycles that shrinks most.
    pub component: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreThread {
    pub profile: String,
    /// Beside its siblings; the fields stand in the thread itself.
    #[serde(flatten)]
    pub beside: CoreSide,
    /// Time beside the siblings over time alone.
    pub slowdown: f64,
    /// What the interval model says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown_by_formula: Option<f64>,
    /// The same stretch of work with the siblings halted.
    pub alone: CoreSide,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreSide {
    pub uops: u64,
    pub cycles: u64,
    /// Uops per cycle.
    pub ipc: f64,
    /// Cycles by the component that took them; they add up to `cycles`. `base` is work; `fetch`,
    /// `code_miss`, `mispredict` the front end; `execution`, `first_level`, `outer_level`,
    /// `memory`, `stores` full windows by what they waited for; `machine_clear`, `lock`, `kernel`,
    /// `pause`, `halt`; and the sibling's share: `sibling_slots` (it was served instead),
    /// `sibling_ports` (it took the port), `sibling_entries` (a queue was full only because of what
    /// it holds).
    pub cpi: BTreeMap<String, f64>,
    /// Events by name.
    #[serde(default)]
    pub events: BTreeMap<String, u64>,
}

/// Mean entries of a resource that are held, by thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreOccupancy {
    pub resource: String,
    pub entries: u32,
    pub beside: Vec<f64>,
    pub alone: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreSpread {
    /// How many seeds were run, the record's own first.
    pub seeds: u32,
    /// Lowest and highest, by thread.
    pub slowdown: Vec<[f64; 2]>,
    /// Lowest and highest.
    pub throughput: [f64; 2],
}

/// Every profile beside every other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreMatrix {
    pub schema: u32,
    pub preset: String,
    pub profiles: Vec<String>,
    pub alone_ipc: Vec<f64>,
    /// `slowdown[a][b]` is that of `a` beside `b`.
    pub slowdown: Vec<Vec<f64>>,
    pub throughput: Vec<Vec<f64>>,
    pub slowdown_by_formula: Vec<Vec<f64>>,
    /// Pairs that were not run anew.
    pub cached: u32,
    pub seed: u64,
    /// Uops every thread retired before measurement began, at most: pairs with a slow thread run
    /// shorter.
    pub warmup_uops: u64,
    pub measure_uops: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreEnhancement {
    pub schema: u32,
    pub name: String,
    pub about: String,
    pub preset: String,
    pub sides: Vec<CoreEnhancementSide>,
    pub seed: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreEnhancementSide {
    pub label: String,
    /// Work of each thread, in uops per cycle; waiting is no work.
    pub ipc: [f64; 2],
    /// Speed of the first thread over that without.
    pub ratio: f64,
    pub machine_clears_per_1000: f64,
    /// First-level lines lost to the aliasing rule, per 1,000 uops.
    pub alias_evictions_per_1000: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreSievePages {
    pub schema: u32,
    pub preset: String,
    /// Sieves per second where page frames lie in the order of the pages.
    pub ideal_per_s: f64,
    /// Sieves per second on each random page map, from the slowest to the fastest.
    pub random_per_s: Vec<f64>,
    /// Least, lower quartile, median, upper quartile, most of them.
    pub quartiles_per_s: [f64; 5],
    /// Misses of the last cache level in one sieve: ideal, and on each random map in their order.
    pub last_level_misses_ideal: u64,
    pub last_level_misses: Vec<u64>,
    /// The article's rates, without and with Hyper-Threading.
    pub article_per_s: [f64; 2],
    pub explanation: String,
    pub seed: u64,
}

/// The note's experiment on its four machines, predicted beside measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreNote {
    pub schema: u32,
    pub machines: Vec<CoreNoteMachine>,
    pub sensitivity: Vec<CoreNoteChange>,
    /// How many numbers were fitted to a measured co-run.
    pub fitted_to_co_runs: u32,
    pub fitted_to_single_threads: String,
    /// How far a prediction may be off to count as a hit.
    pub error_max: f64,
    pub seeds: u32,
    /// The first of them.
    pub seed: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreNoteMachine {
    /// Name of the preset that stands for it.
    pub preset: String,
    /// The slowdown that was measured.
    pub measured: f64,
    pub source: String,
    /// One prediction for each kind of data, which the note does not name; the first is all three.
    pub predicted: Vec<CorePrediction>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CorePrediction {
    pub profile: String,
    /// Mean over the seeds.
    pub slowdown: f64,
    /// Lowest and highest of the seeds.
    pub range: [f64; 2],
    /// Predicted less measured.
    pub error: f64,
    pub alone_ipc: f64,
}

/// What a change of the model does to the slowdown, a number for each machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreNoteChange {
    pub change: String,
    pub slowdown: Vec<f64>,
}

/// Published yields of pairs, predicted beside measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CorePublished {
    /// Record version.
    pub schema: u32,
    /// Yields, in the order of the list.
    pub rows: Vec<CorePublishedRow>,
    /// Slowdowns of the note's machines: what was measured must lie within what kinds of data give.
    pub ranges: Vec<CorePublishedRange>,
    /// Seed of every run.
    pub seed: u64,
}

/// What was measured beside itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CorePublishedKind {
    /// Programs that compute.
    Programs,
    Service,
    /// One chain of dependent operations: two of them hardly meet, so no model can miss their yield of 2.
    Chain,
}

/// One published yield.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CorePublishedRow {
    /// What was run.
    pub what: String,
    pub kind: CorePublishedKind,
    /// Name of the preset nearest to its processor.
    pub preset: String,
    /// The profiles that stand for it, every pair of them; none where there are none.
    pub profiles: Vec<String>,
    /// Whether they are of other programs than the one that was measured.
    pub stand_in: bool,
    /// The yield that was measured.
    pub measured: f64,
    /// The model's, with its parameters fitted to other rows; `None` without profiles.
    pub predicted: Option<f64>,
    /// The constant's: the median of all other rows.
    pub constant: f64,
}

/// One of the note's machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CorePublishedRange {
    /// Name of the preset that stands for it.
    pub preset: String,
    /// The slowdown that was measured.
    pub measured: f64,
    /// The least and the greatest over kinds of data.
    pub predicted: [f64; 2],
}

/// What is known of the simulated core's error: its score on published yields, leave-one-out. Chains are
/// left out, which no model can miss.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CoreAccuracy {
    /// Rows that a profile stands for.
    pub rows: usize,
    /// How many of them by other programs' profiles.
    pub stand_ins: usize,
    /// Numbers of the model that were fitted to them.
    pub parameters: u32,
    /// Median error of a yield, as a share.
    pub median: f64,
    /// The same of the median of all other rows.
    pub constant_median: f64,
    /// Published services, and how many of them have a profile of their own.
    pub services: [usize; 2],
    /// Median error on services without one, as a share, of the median of all other rows.
    pub services_constant_median: f64,
    /// Spearman's rank correlation of predicted and measured.
    pub rank_correlation: f64,
    /// The greatest fold that a prediction is off. That of one more row is no greater with a probability of
    /// `rows` in `rows` + 1, if it is drawn as these were.
    pub fold: f64,
    /// The presets that the rows are on.
    pub presets: Vec<String>,
}

impl CoreAccuracy {
    /// Where a slowdown lies; no thread is taken to gain from a sibling.
    pub fn slowdown(&self, value: f64) -> [f64; 2] {
        [(value / self.fold).max(value.min(1.0)), value * self.fold]
    }

    /// Where the yield of so many threads lies; they are taken to do no more than as many cores.
    pub fn throughput(&self, value: f64, threads: usize) -> [f64; 2] {
        [value / self.fold, (value * self.fold).min(value.max(threads as f64))]
    }
}

impl fmt::Display for CoreAccuracy {
    /// In words; what a constant predicts better comes first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, stand_ins, parameters, services: [services, own], .. } = self;
        let [missed, rival, served] =
            [self.median, self.constant_median, self.services_constant_median].map(|x| 100.0 * x);
        write!(f, "Predicted. ")?;
        if own < services {
            let (own, have, them) = match own {
                0 => ("None".to_owned(), "has a profile of its own", "them"),
                1 => ("Only 1".to_owned(), "has a profile of its own", "the others"),
                _ => (format!("Only {own}"), "have profiles of their own", "the others"),
            };
            write!(
                f,
                "{own} of {services} published services {have}: a constant yield is the better guess \
                 for {them}, {served:.1} % off in the median. "
            )?;
        }
        if rival <= missed {
            write!(f, "It is so for pairs with a profile too. ")?;
        }
        let fitted = if *parameters == 1 { "parameter" } else { "parameters" };
        write!(
            f,
            "Of {rows} pairs that can be missed, {stand_ins} with other programs' profiles, the core misses the \
             yield by {missed:.1} % in the median, a constant by {rival:.1} %; {parameters} {fitted}, rank \
             correlation {:.2} (--experiment published).",
            self.rank_correlation
        )
    }
}
