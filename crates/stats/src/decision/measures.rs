//! The numbers of a reading that arms are compared by. Each is turned so that more is better.

use coretwin_base::study::decision::{ENERGY_METRIC, Licence, Measure};
use coretwin_base::study::plan::{Plan, PlanArm, PlanRow, Scale};
use coretwin_base::study::reading::{Better, Phase, Reading, Status};
use std::collections::{BTreeMap, BTreeSet};

/// What the names of metrics of the 99th percentile have in them.
const TAIL: &str = "p99_";

/// Whether the plan, and any reading, has what the measure needs.
pub(super) fn is_present(measure: Measure, plan: &Plan, readings: &[Reading]) -> bool {
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

pub(super) struct Taken<'a> {
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
    pub(super) fn new(plan: &'a Plan, readings: &'a [Reading], measure: Measure) -> Self {
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
        let taking: BTreeSet<&str> =
            plan.rows.iter().filter(|row| takes_part(row)).map(|row| row.id.as_str()).collect();
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
    pub(super) fn value(&self, reading: &Reading) -> Option<f64> {
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

pub(super) fn takes_part(row: &PlanRow) -> bool {
    row.scale == Scale::Ratio
}
