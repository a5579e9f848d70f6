//! The statistics of a load curve: latency against rate by arm, and capacity at an objective.
//!
//! Each block has a curve of its own in every arm, and so a capacity; what is compared is their ratio,
//! block by block. Where a block says only a bound, so does the study.

mod capacity;
mod curve;
mod saturation;

pub use capacity::{Kept, Seen, kept};
pub use curve::curve;
pub use saturation::{RAISED_BLOCKS, RUNS, next_rate, saturation};

use crate::paired::Paired;
use crate::study::blocks::{Attempt, Blocks, Cell};
use crate::study::rows::{blocks_for, widening};
use crate::study::suites;
use crate::{confidence, sequence};
use coretwin_base::distinct::distinct;
use coretwin_base::study::load::Objective;
use coretwin_base::study::plan::{Plan, Rule};
use coretwin_base::study::reading::{Reading, Status};
use coretwin_base::study::summary::{Capacity, SuiteEffect, Verdict};

/// What is known of a number beside its value: which way it may lie from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Exact,
    AtLeast,
    AtMost,
    /// Either way.
    Open,
}

impl Side {
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Exact, side) | (side, Self::Exact) => side,
            (a, b) if a == b => a,
            _ => Self::Open,
        }
    }

    fn turned(self) -> Self {
        match self {
            Self::AtLeast => Self::AtMost,
            Self::AtMost => Self::AtLeast,
            side => side,
        }
    }
}

/// Logarithm of a rate, or of a ratio of rates, in one block.
#[derive(Debug, Clone, Copy)]
struct Known {
    log: f64,
    side: Side,
}

impl From<Kept> for Known {
    fn from(kept: Kept) -> Self {
        let side = match kept {
            Kept::AtMost(_) => Side::AtMost,
            Kept::Rate(_) => Side::Exact,
            Kept::AtLeast(_) => Side::AtLeast,
        };
        Self { log: libm::log(kept.rate()), side }
    }
}

/// Blocks together. With bounds in it, the mean is one too: each bound stands for its own number, so the
/// interval's end on the side of the bound is as sure as that of any mean, and there is no other end.
#[derive(Debug)]
struct Together {
    paired: Option<Paired>,
    side: Side,
    bounds: u32,
    widening: f64,
}

impl Together {
    fn new(plan: &Plan, known: &[Known], analysed: usize) -> Self {
        let logs: Vec<f64> = known.iter().map(|known| known.log).collect();
        let counted = if plan.rules.until == Rule::Width { analysed } else { logs.len() };
        Self {
            paired: Paired::new(&logs),
            side: known.iter().fold(Side::Exact, |side, known| side.with(known.side)),
            bounds: known.iter().filter(|known| known.side != Side::Exact).count() as u32,
            widening: widening(plan, counted),
        }
    }

    /// Value and ends, as numbers: only those that are known.
    fn shown(&self) -> [Option<f64>; 3] {
        let ends = self.paired.and_then(|p| p.interval(confidence::CONFIDENCE, self.widening));
        let shown = [self.paired.map(|p| p.mean), ends.map(|ends| ends.0), ends.map(|ends| ends.1)];
        let [value, low, high] =
            shown.map(|log| log.map(|log| libm::exp(log.clamp(-700.0, 700.0))));
        match self.side {
            Side::Exact => [value, low, high],
            Side::AtLeast => [None, low, None],
            Side::AtMost => [None, None, high],
            Side::Open => [None; 3],
        }
    }
}

/// Every block's capacity, arm by arm.
pub(crate) struct Capacities<'a> {
    plan: &'a Plan,
    slo: Objective,
    /// By arm and analysed block.
    kept: Vec<Vec<Option<Known>>>,
    /// Blocks that could be analysed.
    complete: u32,
}

impl<'a> Capacities<'a> {
    /// `None` for a plan without an objective.
    pub(crate) fn new(plan: &'a Plan, readings: &[Reading]) -> Option<Self> {
        let slo = plan.slo()?;
        let latency = |reading: &Reading| latency_s(reading, slo.percentile());
        let of = |value: &dyn Fn(&Reading) -> Option<f64>| Blocks::of(plan, readings, value);
        let by_latency = of(&latency);
        let carried = of(&|reading| Some(reading.latency.as_ref()?.throughput_per_s));
        let offered = of(&|reading| reading.latency.as_ref()?.offered_per_s);
        let seen = |at: usize, attempt: &Attempt, arm: usize, row: usize| {
            let value = |blocks: &Blocks, attempt: &Attempt| match blocks.cell(attempt, arm, row) {
                Cell::Value(log) => Some(libm::exp(log)),
                _ => None,
            };
            Some(Seen {
                latency_s: value(&by_latency, attempt)?,
                carried: value(&carried, &carried.analysed[at])?,
                offered: value(&offered, &offered.analysed[at])?,
            })
        };
        let of_block = |arm: usize, at: usize, attempt: &Attempt| {
            let rows = 0..plan.rows.len();
            let seen: Vec<Seen> = rows.filter_map(|row| seen(at, attempt, arm, row)).collect();
            kept(&seen, slo.seconds).map(Known::from)
        };
        let of_arm = |arm: usize| {
            let blocks = by_latency.analysed.iter().enumerate();
            blocks.map(|(at, attempt)| of_block(arm, at, attempt)).collect()
        };
        let kept = (0..plan.arms.len()).map(of_arm).collect();
        Some(Self { plan, slo, kept, complete: by_latency.complete })
    }

    fn of_arm(&self, arm: usize) -> Together {
        let known: Vec<Known> = self.kept[arm].iter().flatten().copied().collect();
        Together::new(self.plan, &known, self.kept[arm].len())
    }

    /// The ratio to the arm it is compared with.
    fn ratio(&self, arm: usize) -> Together {
        let base = &self.kept[self.plan.base_index(arm)];
        let blocks = self.kept[arm].iter().zip(base);
        let ratio = |(arm, base): (&Option<Known>, &Option<Known>)| {
            let (arm, base) = ((*arm)?, (*base)?);
            Some(Known { log: arm.log - base.log, side: arm.side.with(base.side.turned()) })
        };
        let known: Vec<Known> = blocks.filter_map(ratio).collect();
        Together::new(self.plan, &known, base.len())
    }

    /// The effect of an arm, as a suite has it: by its verdict the study is decided.
    pub(crate) fn effect(&self, arm: usize) -> SuiteEffect {
        let ratio = self.ratio(arm);
        let name = format!("capacity at {}", self.slo.words());
        let blocks = self.kept[arm].len();
        let effect = suites::summarise(self.plan, &name, arm, 1, ratio.paired, blocks);
        let SuiteEffect { low, high, low_90, high_90, verdict, .. } = effect;
        let margin = match self.plan.rules.until {
            Rule::Width => 1.0,
            Rule::Verdict => 1.0 + self.plan.rules.margin,
        };
        let one_sided = |is_sure: bool, sure: Verdict| {
            verdict.map(|_| if is_sure { sure } else { Verdict::Inconclusive })
        };
        let bound = SuiteEffect { ratio: None, blocks_needed: None, ..effect.clone() };
        match ratio.side {
            Side::Exact => effect,
            Side::AtLeast => SuiteEffect {
                verdict: one_sided(low.is_some_and(|low| low > margin), Verdict::Helps),
                high: None,
                high_90: None,
                low_90,
                ..bound
            },
            Side::AtMost => SuiteEffect {
                verdict: one_sided(high.is_some_and(|high| high < 1.0 / margin), Verdict::Hurts),
                low: None,
                low_90: None,
                high_90,
                ..bound
            },
            Side::Open => SuiteEffect {
                verdict: verdict.map(|_| Verdict::Inconclusive),
                low: None,
                high: None,
                low_90: None,
                high_90: None,
                ..bound
            },
        }
    }

    /// Every arm's capacity; verdicts are those of the effects.
    pub(crate) fn records(&self, effects: &[SuiteEffect]) -> Vec<Capacity> {
        let record = |(index, arm): (usize, &coretwin_base::study::plan::PlanArm)| {
            let own = self.of_arm(index);
            let ratio = (index != self.plan.reference_index()).then(|| self.ratio(index));
            let [rate, rate_low, rate_high] = own.shown();
            let [ratio, low, high] = ratio.map_or([None; 3], |ratio| ratio.shown());
            let effect = effects.iter().find(|effect| effect.arm == arm.label);
            let names = distinct(self.plan.rows.iter().map(|row| row.workload.as_str()));
            Capacity {
                row: names.join(", "),
                arm: arm.label.clone(),
                slo: self.slo,
                rate,
                rate_low,
                rate_high,
                ratio,
                low,
                high,
                blocks: own.paired.map_or(0, |paired| paired.blocks),
                bounds: own.bounds,
                verdict: effect.and_then(|effect| effect.verdict),
            }
        };
        self.plan.arms.iter().enumerate().map(record).collect()
    }

    pub(crate) fn complete(&self) -> u32 {
        self.complete
    }

    /// How far an arm's ratio is from deciding the study.
    pub(crate) fn look(&self, arm: usize) -> CapacityLook {
        let together = self.ratio(arm);
        let effect = self.effect(arm);
        let rules = &self.plan.rules;
        let half = |of: fn(&Paired, f64, f64) -> Option<f64>| -> Option<f64> {
            of(&together.paired?, confidence::CONFIDENCE, together.widening)
        };
        let spread = half(Paired::half_width_of_spread);
        let target = libm::log1p(rules.target);
        let is_exact = together.side == Side::Exact;
        let ends = (
            effect.low.map_or(f64::NEG_INFINITY, libm::log),
            effect.high.map_or(f64::INFINITY, libm::log),
        );
        let margin = if rules.until == Rule::Verdict { libm::log1p(rules.margin) } else { 0.0 };
        let decided = sequence::verdict(ends, margin) != Verdict::Inconclusive;
        let is_satisfied = match rules.until {
            Rule::Width if is_exact => spread.is_some_and(|half| half <= target),
            // A bound does not become narrow, but it may say enough.
            _ => decided,
        };
        let narrow = |paired: Paired| blocks_for(self.plan, paired.deviation, target);
        let needed = match rules.until {
            Rule::Width => together.paired.filter(|_| spread.is_some() && is_exact).map(narrow),
            Rule::Verdict => effect.blocks_needed,
        };
        CapacityLook {
            half_width: half(Paired::half_width).filter(|_| is_exact),
            blocks_needed: if is_satisfied { Some(0) } else { needed },
            is_satisfied,
            effect,
        }
    }
}

pub(crate) struct CapacityLook {
    pub(crate) effect: SuiteEffect,
    /// On the log scale.
    pub(crate) half_width: Option<f64>,
    pub(crate) is_satisfied: bool,
    pub(crate) blocks_needed: Option<u32>,
}

/// A percentile of a run, in seconds.
fn latency_s(reading: &Reading, percentile: &str) -> Option<f64> {
    if reading.status == Status::Failed {
        return None;
    }
    reading.latency.as_ref()?.percentile_s(percentile)
}
