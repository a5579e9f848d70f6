//! The effects of a fleet for other programs: tidy CSV, and OpenMetrics text.
//!
//! CSV has every effect, suites first, one line each; RFC 4180 quoting. An empty field is a missing
//! number; an empty `cpu_model` is all of them. OpenMetrics has gauges by model, row and arm.

use crate::csv::table;
use crate::dataset::fleet_effect_columns;
use crate::openmetrics::{self, Gauge};
use coretwin_base::column::Column;
use coretwin_base::fleet::summary::{FleetEffect, FleetSummary};
use coretwin_base::study::plan::Scale;

pub(super) fn csv(summary: &FleetSummary) -> String {
    let mut columns = fleet_effect_columns();
    // Where figures come from stands last; what a dataset's folder tells is a column here.
    columns.rotate_left(1);
    columns.insert(1, Column::text("workload", |row| Some((&*row.workload).into())));
    let effects: Vec<&FleetEffect> = summary.suites.iter().chain(&summary.effects).collect();
    table(&columns, effects.iter())
}

const GAUGES: [Gauge<FleetEffect>; 7] = [
    ("effect_ratio", "Mean over machines; above 1 is better in the arm.", |e| Some(e.effect)),
    ("effect_low_ratio", "Lower end of its interval.", |e| e.low),
    ("effect_high_ratio", "Upper end of its interval.", |e| e.high),
    ("next_low_ratio", "Lower end of the interval for the next machine.", |e| e.next_low),
    ("next_high_ratio", "Upper end of the interval for the next machine.", |e| e.next_high),
    ("machines", "Machines that were measured.", |e| Some(e.machines.into())),
    ("outliers", "Machines unlike the others of their model.", |e| Some(e.outliers.into())),
];

/// All of them; rows compared by difference have no ratio and are left out.
pub(super) fn openmetrics(summary: &FleetSummary) -> String {
    let effects = summary.suites.iter().chain(&summary.effects);
    let ratios = effects.filter(|effect| effect.scale == Scale::Ratio);
    let rows: Vec<_> = ratios.map(|effect| (labels(effect), effect)).collect();
    openmetrics::write("coretwin_fleet", &GAUGES, &rows)
}

fn labels(effect: &FleetEffect) -> Vec<(&str, &str)> {
    vec![
        ("origin", effect.origin.name()),
        ("cpu_model", effect.cpu_model.as_deref().unwrap_or("")),
        ("workload", &effect.workload),
        ("row", &effect.row),
        ("arm", &effect.arm),
        ("reference", &effect.reference),
        ("unit", &effect.unit),
    ]
}
