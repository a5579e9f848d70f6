//! From a study to what to set: the arms by every measure that counts, not by throughput alone.
//!
//! Each measure is a number of every reading (work per second, CPU seconds per unit of work, …) that
//! goes the way of the study's own value: attempts to blocks, blocks to suite means, Student's t. So
//! a measure's interval is as good as the study's, and its readings are the same.

mod choice;

use crate::study::blocks::Blocks;
use crate::study::is_withheld;
use crate::study::rows::{Differences, decides};
use crate::study::suites;
use coretwin_base::origin::Origin;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::decision::{Decision, ENERGY_METRIC, Licence, Measure, Price, Worth};
use coretwin_base::study::plan::{Plan, PlanArm, PlanRow, Scale};
use coretwin_base::study::reading::{Better, Phase, Reading, Status};
use coretwin_base::study::summary::{SuiteEffect, Summary};
use std::collections::{BTreeMap, BTreeSet};

/// What the study says about what to set. `None` where its protocol gives no verdicts, where no row can
/// be compared by ratio, or where nothing was measured.
pub fn decide(
    plan: &Plan,
    readings: &[Reading],
    summary: &Summary,
    licence: Option<Licence>,
) -> Option<Decision> {
    // An emulator's times say nothing of any machine, and commands are nothing that is set on one. At a
    // given rate every arm does the same work; what more it could do is its capacity.
    let is_none = plan.has_variants()
        || plan.split.is_some()
        || plan.load.is_some()
        || plan.origin() == Origin::Emulated;
    if is_none || !decides(plan) || is_withheld(summary) {
        return None;
    }
    let rules =
        licence.map_or_else(|| vec![Licence::PerCore, Licence::PerThread], |licence| vec![licence]);
    use Measure::{CoreSeconds, CpuSeconds, Energy, Tail, Throughput};
    let wanted = [Throughput, Tail, CpuSeconds, CoreSeconds, Energy];
    let is_other = |arm: &usize| *arm != plan.reference_index() && !plan.arms[*arm].control;
    let arms = || (0..plan.arms.len()).filter(is_other);
    let worth: Vec<Worth> = wanted
        .into_iter()
        .chain(rules.into_iter().map(Measure::Licence))
        .filter(|measure| is_present(*measure, plan, readings))
        .flat_map(|measure| {
            let compared = Measured::new(plan, readings, measure);
            arms()
                .filter_map(move |arm| worth(summary, measure, &compared.suite(plan, arm)?))
                .collect::<Vec<_>>()
        })
        .collect();
    if worth.is_empty() {
        return None;
    }
    let prices = prices(plan, readings);
    let choice = choice::choose(plan, summary, &worth, licence);
    Some(Decision { reference: plan.reference_arm.clone(), worth, prices, choice })
}

struct Measured {
    plan: Plan,
    blocks: Blocks,
}

impl Measured {
    fn new(plan: &Plan, readings: &[Reading], measure: Measure) -> Self {
        // Rows by difference have no rate, and more is better by every measure as it is taken here.
        let row = |row: &PlanRow| PlanRow { better: Better::Higher, ..row.clone() };
        let plan = Plan { rows: plan.rows.iter().map(row).collect(), ..plan.clone() };
        let taken = Taken::new(&plan, readings, measure);
        let blocks = Blocks::of(&plan, readings, |reading| taken.value(reading));
        Self { plan, blocks }
    }

    /// An arm against the reference of a plan that differs from the own one in that alone; the suite
    /// over everything.
    fn suite(&self, plan: &Plan, arm: usize) -> Option<SuiteEffect> {
        let plan = Plan { reference_arm: plan.reference_arm.clone(), ..self.plan.clone() };
        let compared: Vec<Differences> = (0..plan.rows.len())
            .map(|row| Differences::new(&plan, &self.blocks, &self.blocks.analysed, row, arm))
            .collect();
        suites::effects(&plan, &compared, arm).pop().filter(|suite| suite.ratio.is_some())
    }
}

fn worth(summary: &Summary, measure: Measure, suite: &SuiteEffect) -> Option<Worth> {
    Some(Worth {
        measure,
        arm: suite.arm.clone(),
        ratio: suite.ratio?,
        low: suite.low,
        high: suite.high,
        verdict: suite.verdict.filter(|_| !summary.interim),
        rows: suite.rows,
    })
}

/// What going without SMT costs, and what core scheduling does, against an arm that has all CPUs.
fn prices(plan: &Plan, readings: &[Reading]) -> Vec<Price> {
    let place = |wanted: &ArmState| plan.arms.iter().position(|arm| arm.state == *wanted);
    let Some(on) = place(&ArmState::On) else { return Vec::new() };
    let against = Plan { reference_arm: plan.arms[on].label.clone(), ..plan.clone() };
    let measured = Measured::new(plan, readings, Measure::Throughput);
    let asked = [
        (ArmState::Off, "going without SMT"),
        (ArmState::OnePerCore, "leaving every second thread idle, which stands in for SMT off"),
        (ArmState::CoreSched, "core scheduling"),
    ];
    asked
        .iter()
        .filter_map(|(state, what)| {
            let arm = place(state)?;
            // Under another scheduler a difference may be its doing.
            if plan.arms[arm].scheduler != plan.arms[on].scheduler {
                return None;
            }
            let suite = measured.suite(&against, arm)?;
            Some(Price {
                what: (*what).to_owned(),
                arm: plan.arms[arm].label.clone(),
                against: against.reference_arm.clone(),
                ratio: suite.ratio?,
                low: suite.low,
                high: suite.high,
            })
        })
        .collect()
}

const TAIL: &str = "p99_";

/// Whether the plan, and any reading, has what the measure needs.
fn is_present(measure: Measure, plan: &Plan, readings: &[Reading]) -> bool {
    let has = |name: &dyn Fn(&str) -> bool| {
        readings.iter().any(|reading| reading.metrics.keys().any(|metric| name(metric)))
    };
    match measure {
        Measure::Energy => has(&|metric| metric == ENERGY_METRIC),
        Measure::Tail => has(&|metric| metric.contains(TAIL)),
        // An arm of no cores is one of which they are unknown.
        Measure::CoreSeconds | Measure::Licence(Licence::PerCore) => {
            plan.arms.iter().all(|arm| arm.cores > 0)
        }
        Measure::Throughput | Measure::CpuSeconds | Measure::Licence(_) => true,
    }
}

struct Taken<'a> {
    measure: Measure,
    /// By arm: what the rate is divided by.
    divisors: BTreeMap<&'a str, f64>,
    /// By row: the metrics of tails that every good reading of it has.
    tails: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// Rows that take part; whether a smaller value is better.
    rows: BTreeMap<&'a str, bool>,
}

impl<'a> Taken<'a> {
    /// The plan's rows are turned already; which way their values go is in the readings.
    fn new(plan: &'a Plan, readings: &'a [Reading], measure: Measure) -> Self {
        let divisor = |arm: &PlanArm| match measure {
            Measure::CoreSeconds | Measure::Licence(Licence::PerCore) => f64::from(arm.cores),
            Measure::Licence(Licence::PerThread) => arm.cpus.len() as f64,
            Measure::Licence(Licence::PerPackage) => packages(plan, arm) as f64,
            _ => 1.0,
        };
        let good =
            |reading: &&Reading| reading.phase == Phase::Study && reading.status == Status::Ok;
        let mut rows = BTreeMap::new();
        let mut tails: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let taking: BTreeSet<&str> = plan
            .rows
            .iter()
            .filter(|row| row.scale == Scale::Ratio)
            .map(|row| row.id.as_str())
            .collect();
        for reading in readings.iter().filter(good) {
            let Some(row) = taking.get(&*reading.row) else { continue };
            rows.insert(*row, reading.better == Better::Lower);
            if measure == Measure::Tail {
                let own = || {
                    let names = reading.metrics.keys().map(String::as_str);
                    names.filter(|name| name.contains(TAIL))
                };
                tails
                    .entry(row)
                    .and_modify(|known| known.retain(|name| reading.metrics.contains_key(*name)))
                    .or_insert_with(|| own().collect());
            }
        }
        let divisors =
            plan.arms.iter().map(|arm| (arm.label.as_str(), divisor(arm).max(1.0))).collect();
        Self { measure, divisors, tails, rows }
    }

    /// The measure's number of a reading; `None` where it has none.
    fn value(&self, reading: &Reading) -> Option<f64> {
        let is_lower_better = *self.rows.get(&*reading.row)?;
        let value = reading.value.filter(|value| value.is_finite() && *value > 0.0)?;
        // Units of work per second, up to a factor that is the same in every arm.
        let rate = if is_lower_better { 1.0 / value } else { value };
        let work = rate * reading.elapsed_s;
        let per = |spent: f64| (spent > 0.0 && work > 0.0).then(|| work / spent);
        match self.measure {
            Measure::Throughput | Measure::CoreSeconds | Measure::Licence(_) => {
                Some(rate / self.divisors.get(&*reading.arm)?)
            }
            Measure::CpuSeconds => per(reading.user_s + reading.system_s),
            Measure::Energy => per(reading.metrics.get(ENERGY_METRIC)?.value),
            Measure::Tail => {
                let names = self.tails.get(&*reading.row).filter(|names| !names.is_empty())?;
                let logs = names.iter().map(|name| {
                    let value = reading.metrics.get(*name)?.value;
                    (value > 0.0).then(|| libm::log(value))
                });
                let sum = logs.sum::<Option<f64>>()?;
                Some(libm::exp(-sum / names.len() as f64))
            }
        }
    }
}

fn packages(plan: &Plan, arm: &PlanArm) -> usize {
    let of_arm = plan.topology.cpus.iter().filter(|cpu| arm.cpus.contains(cpu.cpu));
    of_arm.map(|cpu| cpu.package).collect::<BTreeSet<_>>().len()
}
