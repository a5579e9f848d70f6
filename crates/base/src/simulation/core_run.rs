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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreRun {
    pub schema: u32,
    pub preset: String,
    pub about: String,
    /// Clock, in GHz; the model counts in cycles, so this only turns them into time.
    pub clock_ghz: f64,
    pub width: u8,
    pub threads: Vec<CoreThread>,
    pub throughput: f64,
    pub antt: f64,
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreThread {
    pub profile: String,
    /// Beside its siblings; the fields stand in the thread itself.
    #[serde(flatten)]
    pub beside: CoreSide,
    pub slowdown: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown_by_formula: Option<f64>,
    pub alone: CoreSide,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreSide {
    pub uops: u64,
    pub cycles: u64,
    /// Uops per cycle.
    pub ipc: f64,
    pub cpi: BTreeMap<String, f64>,
    #[serde(default)]
    pub events: BTreeMap<String, u64>,
}

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
    pub slowdown: Vec<[f64; 2]>,
    pub throughput: [f64; 2],
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreMatrix {
    pub schema: u32,
    pub preset: String,
    pub profiles: Vec<String>,
    pub alone_ipc: Vec<f64>,
    pub slowdown: Vec<Vec<f64>>,
    pub throughput: Vec<Vec<f64>>,
    pub slowdown_by_formula: Vec<Vec<f64>>,
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreNoteChange {
    pub change: String,
    pub slowdown: Vec<f64>,
}

/// What is known of the simulated core's error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CoreAccuracy {
    /// Median error of a pair's throughput against published figures, as a share, after a warm-up that
    /// fills the caches.
    pub median_warm: f64,
    /// The same at the usual length.
    pub median_usual: f64,
    /// The rival: a slowdown that is said of every pair.
    pub constant: f64,
    /// Median error of that over the published services, as a share.
    pub constant_median: f64,
    pub services: usize,
}

impl fmt::Display for CoreAccuracy {
    /// In words; where the constant is nearer that comes first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| 100.0 * share;
        let Self { median_warm, median_usual, constant, constant_median, services } = *self;
        let rival = format!(
            "{constant} as every pair's slowdown misses {services} published services by {:.1} % in the \
             median",
            percent(constant_median)
        );
        let own = format!(
            "this model's throughput of a pair is off by {:.0} % (by {:.0} % with caches full)",
            percent(median_usual),
            percent(median_warm)
        );
        if constant_median < median_warm {
            write!(f, "Predicted, and a constant predicts better: {rival}; {own}.")
        } else {
            write!(f, "Predicted: {own}; {rival}.")
        }
    }
}
