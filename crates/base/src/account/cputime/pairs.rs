//! Several commands, each beside each on one core, and which of them should share cores.

use super::estimate::Estimate;
use crate::machine::cpu_set::CpuSet;
use serde::{Deserialize, Serialize};

/// Seats of cores that can be gone through exactly: two a core.
pub const SEATS_MAX: usize = 20;

/// The most commands that are put beside each other.
pub const COMMANDS_MAX: usize = SEATS_MAX;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WithCommand {
    pub name: String,
    pub argv: Vec<String>,
    /// Whether it is a row of ours, which says itself what it measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub row: bool,
}

/// What a placement makes least.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[derive(Serialize, Deserialize, strum::Display, strum::EnumString, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Objective {
    /// The sum of all slowdowns.
    #[default]
    Sum,
    /// The largest slowdown.
    Worst,
}

impl Objective {
    pub const ALL: [Self; 2] = [Self::Sum, Self::Worst];
}

/// Two commands beside each other, by number. A slowdown is time beside the other over time alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PairSlowdown {
    /// Number of a command, from 0.
    pub a: usize,
    pub b: usize,
    pub slowdown_a: f64,
    pub low_a: Option<f64>,
    pub high_a: Option<f64>,
    pub slowdown_b: f64,
    pub low_b: Option<f64>,
    pub high_b: Option<f64>,
    /// Progress of both over their progress alone, summed: 1 is one of them alone.
    pub core_yield: Estimate,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    pub objective: Objective,
    /// Which share a core, by number; the second is `None` where the first has a core for itself.
    pub pairs: Vec<(usize, Option<usize>)>,
    /// The sum, or the largest, of the slowdowns.
    pub cost: f64,
    /// Most that it can cost more than the best one, if every slowdown is within its interval; `None`
    /// without intervals.
    pub regret: Option<f64>,
    pub rivals: Rivals,
    /// Cost of a random placement over that of this rule, which sees all blocks but the one it is
    /// tried on; `None` for fewer than three blocks.
    pub gain: Option<Estimate>,
    /// CPUs of the core of each pair; absent where the kernel tells of too few cores with siblings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<CpuSet>,
}

/// What the same commands cost without a look at who slows whom.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rivals {
    /// Placed in the order in which they were named.
    pub in_order: f64,
    /// Mean of random placements: what a scheduler that knows no slowdowns gives, over time.
    pub random: f64,
    /// The placement that costs most.
    pub worst: f64,
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pairs {
    pub commands: Vec<WithCommand>,
    /// Those of which both sides were measured.
    pub pairs: Vec<PairSlowdown>,
    /// `None` where a pair was not measured, or they do not fit.
    pub placement: Option<Placement>,
}
