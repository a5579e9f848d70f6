//! From a study to what to set: the arms by every measure that counts, not by throughput alone.
//!
//! Each measure is a number of every reading (work per second, CPU seconds per unit of work, …) that
//! goes the way of the study's own value: attempts to blocks, blocks to suite means, Student's t. So
//! a measure's interval is as good as the study's, and its readings are the same.

mod choice;
mod measures;

use crate::study::blocks::Blocks;
use crate::study::rows::{Differences, decides};
use crate::study::suites;
use coretwin_base::origin::Origin;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::decision::{Decision, Licence, Measure, Price, Worth};
use coretwin_base::study::plan::{Plan, PlanRow};
use coretwin_base::study::reading::{Better, Reading};
use coretwin_base::study::summary::{SuiteEffect, Summary};

/// What the study says about what to set. `None` where its protocol gives no verdicts, where no row can
/// be compared by ratio, or where nothing was measured.
pub fn decide(
    plan: &Plan,
    readings: &[Reading],
    summary: &Summary,
    licence: Option<Licence>,
) -> Option<Decision> {
    // An emulator's times say nothing of any machine.
    if !decides(plan) || plan.origin() == Origin::Emulated {
        return None;
    }
    let rules =
        licence.map_or_else(|| vec![Licence::PerCore, Licence::PerThread], |licence| vec![licence]);
    use Measure::{CoreSeconds, CpuSeconds, Energy, Tail, Throughput};
    let wanted = [Throughput, Tail, CpuSeconds, CoreSeconds, Energy];
    let arms = || (0..plan.arms.len()).filter(|&arm| arm != plan.reference_index());
    let worth: Vec<Worth> = wanted
        .into_iter()
        .chain(rules.into_iter().map(Measure::Licence))
        .filter(|measure| measures::is_present(*measure, plan, readings))
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
        let taken = measures::Taken::new(&plan, readings, measure);
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
