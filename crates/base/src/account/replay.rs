//! What a recording says of the same load with SMT off, on, or shared within groups only: the record of
//! `account --replay --json`. Demand and capacity are in cores: seconds of work alone, a second.

use super::{FactorOrigin, MethodName, Span};
use crate::fleet::Refused;
use crate::origin::Origin;
use crate::warning::Warning;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ReplaySmt {
    Off,
    On,
    /// On, and siblings run tasks of one group at a time.
    CoreSched,
}

impl ReplaySmt {
    pub const ALL: [Self; 3] = [Self::Off, Self::On, Self::CoreSched];

    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What a recording says of the same load with SMT off, on, or shared within groups only. Demand
/// and capacity are in cores: seconds of work alone, a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    pub schema: u32,
    #[serde(default)]
    pub origin: Origin,
    /// What was asked.
    pub smt: ReplaySmt,
    /// CPUs of a core in the recording; 1: it has no siblings.
    pub recorded_threads: usize,
    /// How many cores.
    pub cores: usize,
    pub method: MethodName,
    /// Throughput of a core with all siblings busy over one busy.
    #[serde(rename = "yield")]
    pub core_yield: Span,
    /// Where the yield is from.
    pub yield_origin: FactorOrigin,
    /// Hours that are recorded.
    pub hours: f64,
    /// Of them, those whose minutes fit for certain: the most demand is within the least capacity.
    /// `None` where the kernel did not say how many tasks waited.
    pub fits_low_h: Option<f64>,
    /// Those that fit possibly: the least demand is within the most capacity.
    pub fits_high_h: f64,
    /// Hours that fit by the rule that a busy CPU is a busy core.
    pub rule_fits_h: f64,
    /// The hours in a row that want most; `None` where all fit for certain.
    pub worst: Option<Stretch>,
    /// The longest that new work would wait beyond what it waited when it was recorded, in seconds, if the
    /// same work arrives at the same times: at least (as a mean over a block), and at most.
    pub wait_low_s: f64,
    pub wait_high_s: f64,
    /// Work done over what was done when it was recorded.
    pub throughput_low: f64,
    pub throughput_high: Option<f64>,
    /// The same for each thread (vCPU) that is online: what a licence by the thread is worth. By the core
    /// it is the throughput.
    #[serde(default)]
    pub per_thread_low: f64,
    #[serde(default)]
    pub per_thread_high: Option<f64>,
    /// What holds if the same work arrives at the same times and every core takes what there is.
    pub model: ReplayModel,
    /// The blocks of the recording: a minute each, unless `--every` said otherwise.
    pub minutes: Vec<ReplayMinute>,
    pub by_hour: Vec<ReplayHour>,
    pub groups: Vec<ReplayGroup>,
    pub warnings: Vec<Warning>,
}

/// The same by the model: `fits_…_h` and `wait_…_s` as above.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReplayModel {
    pub fits_low_h: f64,
    pub fits_high_h: f64,
    pub wait_low_s: f64,
    pub wait_high_s: f64,
}

/// From and until, in seconds since 1970; demand over capacity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    pub from: i64,
    pub until: i64,
    pub low: f64,
    pub high: Option<f64>,
}

/// One block of a recording. Cores, as a mean over it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReplayMinute {
    /// When it began, in seconds since 1970.
    pub t: i64,
    pub elapsed_s: f64,
    pub core_busy: f64,
    /// Cores with two and more busy.
    pub both_busy: f64,
    /// Capacity of the cores in use when it was recorded.
    pub capacity_used: Span,
    /// Tasks that waited, at least.
    pub waiting: f64,
    pub demand_low: f64,
    pub demand_high: Option<f64>,
    pub model_low: f64,
    pub model_high: f64,
    pub capacity: f64,
    pub capacity_high: f64,
}

/// The minutes of an hour of the clock (UTC).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReplayHour {
    pub t: i64,
    pub recorded_s: f64,
    pub demand_low: f64,
    pub demand_high: Option<f64>,
    pub capacity: f64,
    pub capacity_high: f64,
    /// Minutes that fit neither for certain nor possibly, and those that fit possibly only.
    pub over: u32,
    pub doubtful: u32,
}

/// A machine of a fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MachineReplay {
    pub name: String,
    pub file: String,
    /// Without its minutes, of which a fleet has many.
    pub replay: Replay,
}

/// Recordings of several machines: the record of `account --replay DIR --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetReplay {
    pub schema: u32,
    pub smt: ReplaySmt,
    pub machines: Vec<MachineReplay>,
    /// Bundles that do not count, and why.
    pub refused: Vec<Refused>,
}

/// A group over the whole recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplayGroup {
    pub name: String,
    pub alone_s: f64,
    pub beside_s: f64,
    /// In which some task of it waited for a CPU, where the kernel tells.
    pub waiting_s: Option<f64>,
    /// By which a CPU request of it would change, so that the same work fits.
    pub request: Span,
}
