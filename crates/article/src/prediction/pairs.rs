//! The two boots under one policy, as a study of their own, and its rows beside the article's.

use crate::printed::{self, Kernel, MEAN, Printed, Remark};
use coretwin_base::machine::placement::Placement;
use coretwin_base::simulation::Simulation;
use coretwin_base::simulation::prediction::{Gain, PredictedRow, Standing};
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::plan::{Comparison, CopyRule, Plan, PlanArm, PlanRow};
use coretwin_base::study::reading::{Better, Phase, Reading, Status};
use coretwin_base::study::summary::{StoppedBecause, Summary};
use coretwin_stats::geometric;
use coretwin_stats::study::analyse;

/// The article's policies, by its kernels; the variants of Molnar's patch stand beside the newer.
pub(super) const OLDER: &str = "linux-2.4.19";
pub(super) const NEWER: &str = "linux-2.5.32";
pub(super) const PATCHED: [&str; 2] = ["linux-2.5.32-f3", "linux-2.5.32-a9"];

/// Two boots under one policy.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The plan, as if these were its only arms.
    pub plan: Plan,
    pub readings: Vec<Reading>,
    pub summary: Summary,
}

/// Every policy under which the plan has a boot without SMT and one with it, in the plan's order.
pub fn pairs(plan: &Plan, readings: &[Reading], stopped: StoppedBecause) -> Vec<Pair> {
    if plan.simulation.is_none() {
        return Vec::new();
    }
    let off = plan.arms.iter().filter(|arm| arm.state == ArmState::Off);
    off.filter_map(|off| pair_of(plan, readings, stopped, off)).collect()
}

/// The same of a measured study, where one CPU of each core may stand in for SMT off; none where there is only one
/// scheduler, which the study's own tables are of.
pub fn by_scheduler(plan: &Plan, readings: &[Reading], stopped: StoppedBecause) -> Vec<Pair> {
    if plan.simulation.is_some() || plan.has_variants() {
        return Vec::new();
    }
    let is_off = |arm: &PlanArm| arm.state == ArmState::Off && !arm.control;
    let has_off = |other: &PlanArm| {
        plan.arms.iter().any(|arm| is_off(arm) && arm.scheduler == other.scheduler)
    };
    let stands_in =
        |arm: &PlanArm| arm.state == ArmState::OnePerCore && !arm.control && !has_off(arm);
    let bases = plan.arms.iter().filter(|arm| is_off(arm) || stands_in(arm));
    let found: Vec<Pair> =
        bases.filter_map(|base| pair_of(plan, readings, stopped, base)).collect();
    if found.len() > 1 { found } else { Vec::new() }
}

/// An arm without siblings and that with them under its scheduler.
fn pair_of(
    plan: &Plan,
    readings: &[Reading],
    stopped: StoppedBecause,
    base: &PlanArm,
) -> Option<Pair> {
    let same = |arm: &&PlanArm| arm.state == ArmState::On && arm.scheduler == base.scheduler;
    let on = plan.arms.iter().find(same)?;
    Some(pair(plan, readings, stopped, [base, on]))
}

fn pair(plan: &Plan, readings: &[Reading], stopped: StoppedBecause, arms: [&PlanArm; 2]) -> Pair {
    let has = |label: &str| arms.iter().any(|arm| arm.label == label);
    let place = |arm: u16| {
        let label = &plan.arms.get(usize::from(arm))?.label;
        (0u16..).zip(arms).find(|(_, arm)| arm.label == *label).map(|(place, _)| place)
    };
    let mut own = plan.clone();
    own.arms = arms.map(PlanArm::clone).into();
    own.reference_arm.clone_from(&arms[0].label);
    own.comparison = match arms[0].state {
        ArmState::Off => Comparison::Smt,
        _ => Comparison::StandIn,
    };
    own.warnings.clear();
    own.orders = plan
        .orders
        .iter()
        .map(|order| order.iter().filter_map(|arm| place(*arm)).collect())
        .collect();
    own.rows.retain(|row| arms.iter().all(|arm| row.runs_in(&arm.label)));
    for row in &mut own.rows {
        row.arms.clear();
    }
    let readings: Vec<Reading> = readings.iter().filter(|one| has(&one.arm)).cloned().collect();
    let summary = analyse(&own, &readings, stopped);
    Pair { plan: own, readings, summary }
}

impl Pair {
    pub fn scheduler(&self) -> &str {
        self.plan.arms.first().map_or("", |arm| arm.scheduler.as_str())
    }

    /// The kernel of the article that this is a prediction of; `None` if it had none like it.
    pub fn kernel(&self) -> Option<Kernel> {
        match self.scheduler() {
            OLDER => Some(Kernel::Stable2419),
            NEWER => Some(Kernel::Development2532),
            other if PATCHED.contains(&other) => Some(Kernel::Development2532),
            _ => None,
        }
    }

    /// The gain of each family; with the article's where that measured it.
    pub(super) fn gains(&self, is_articles: bool) -> Vec<Gain> {
        let suites = self.summary.suites.iter();
        let families =
            suites.filter(|suite| self.plan.rows.iter().any(|row| row.family == suite.suite));
        families
            .filter_map(|suite| {
                let kernel = self.kernel().filter(|_| is_articles);
                Some(Gain {
                    family: suite.suite.clone(),
                    scheduler: self.scheduler().to_owned(),
                    arm_off: self.plan.arms.first()?.label.clone(),
                    arm_on: suite.arm.clone(),
                    speed_up: suite.ratio? - 1.0,
                    low: suite.low.map(|low| low - 1.0),
                    high: suite.high.map(|high| high - 1.0),
                    processor: self
                        .core_throughput(&suite.suite, &suite.arm)
                        .map(|share| share - 1.0),
                    article: kernel.and_then(|kernel| article(&suite.suite, kernel)),
                })
            })
            .collect()
    }

    /// Mean throughput of a core with two busy siblings over that with one, in the family's runs.
    fn core_throughput(&self, family: &str, arm: &str) -> Option<f64> {
        let is_of = |row: &str| self.plan.row(row).is_some_and(|row| row.family == family);
        let values: Vec<f64> = self
            .readings
            .iter()
            .filter(|one| one.phase == Phase::Study && one.status == Status::Ok)
            .filter(|one| &*one.arm == arm && is_of(&one.row))
            .filter_map(|one| Some(one.metrics.get("core_throughput")?.value))
            .collect();
        geometric::mean(&values)
    }
}

/// The article's speed-up of a family with sizes: of the geometric means of its rows, misprint mended.
fn article(family: &str, kernel: Kernel) -> Option<f64> {
    let rows = printed::rows_of(family);
    let of_kernel = rows.iter().filter(|row| row.kernel == kernel && row.label != MEAN);
    let pairs: Option<Vec<(f64, f64)>> = of_kernel.map(Printed::mended).collect();
    let (off, on): (Vec<f64>, Vec<f64>) = pairs?.into_iter().unzip();
    if !printed::SIZES.iter().any(|(name, _)| *name == family) {
        return None;
    }
    let ratio = geometric::ratio(geometric::mean(&off)?, geometric::mean(&on)?, Better::Higher)?;
    Some(ratio - 1.0)
}

/// Every row of the pair that the article printed for its kernel.
pub(super) fn rows(pair: &Pair, simulation: &Simulation) -> Vec<PredictedRow> {
    let Some(kernel) = pair.kernel() else { return Vec::new() };
    let mut rows = Vec::new();
    for row in &pair.plan.rows {
        let all = printed::rows_of(&row.family);
        let comparable = row.placement == Placement::Free && row.copies == CopyRule::Fixed(1);
        let label = printed::find(&all, &row.workload, &row.params).map(|found| &found.label);
        let Some(label) = label.filter(|_| comparable) else { continue };
        let mut of_kernel = all.iter().filter(|one| one.kernel == kernel && one.label != MEAN);
        let found = of_kernel.find(|one| one.label == *label);
        rows.extend(found.and_then(|found| predicted(pair, row, found, simulation)));
    }
    rows.sort_by_key(|row| row.table);
    rows
}

fn predicted(
    pair: &Pair,
    row: &PlanRow,
    printed: &Printed,
    simulation: &Simulation,
) -> Option<PredictedRow> {
    let effect = pair.summary.rows.iter().find(|effect| effect.row == row.id)?;
    let (value_off, value_on) = (effect.value_reference?, effect.value_arm?);
    let (article_off, article_on) = printed.mended()?;
    // Not rounded: the article's column is.
    let speed_up = share(value_off, value_on, row.better)?;
    let article_speed_up = share(article_off, article_on, row.better)?;
    Some(PredictedRow {
        table: printed.table,
        scheduler: pair.scheduler().to_owned(),
        family: row.family.clone(),
        label: printed.label.clone(),
        row: row.id.clone(),
        value_off,
        value_on,
        article_off,
        article_on,
        speed_up,
        article_speed_up,
        error_points: 100.0 * (speed_up - article_speed_up),
        standing: standing(pair, row, printed, simulation),
    })
}

fn share(off: f64, on: f64, better: Better) -> Option<f64> {
    Some(geometric::ratio(off, on, better)? - 1.0)
}

fn standing(pair: &Pair, row: &PlanRow, printed: &Printed, simulation: &Simulation) -> Standing {
    match (&printed.remark, simulation.fitted_rows.get(&row.id)) {
        (Some(Remark::PagePlacement), _) => Standing::LeftOut(
            "the article's difference is where the kernel put the pages, not SMT".to_owned(),
        ),
        (Some(Remark::SingleCall), _) => Standing::LeftOut(
            "the article's figures are one call each: no spread is known, and nothing follows of SMT"
                .to_owned(),
        ),
        (_, Some(what)) => Standing::Fitted(what.clone()),
        _ if PATCHED.contains(&pair.scheduler()) => Standing::Beside,
        _ => Standing::Scored,
    }
}
