//! Rows of a pair beside the article's.

use super::pairs::{PATCHED, Pair};
use crate::printed::{self, MEAN, Printed, Remark};
use coretwin_base::machine::placement::Placement;
use coretwin_base::simulation::Simulation;
use coretwin_base::simulation::prediction::{PredictedRow, Standing};
use coretwin_base::study::plan::{CopyRule, PlanRow};
use coretwin_base::study::reading::Better;

/// Every row of the pair that the article printed for its kernel.
pub(super) fn of(pair: &Pair, simulation: &Simulation) -> Vec<PredictedRow> {
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
    Some(coretwin_stats::geometric::ratio(off, on, better)? - 1.0)
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
