//! The effects of a fleet as OpenMetrics text: gauges by model, row and arm.

use crate::openmetrics::{self, Gauge};
use coretwin_base::fleet::summary::{FleetEffect, FleetSummary};
use coretwin_base::study::plan::Scale;

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
