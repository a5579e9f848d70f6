//! The effects of a fleet for other programs: tidy CSV, and OpenMetrics text.
//!
//! CSV has every effect, suites first, one line each; RFC 4180 quoting. An empty field is a number that
//! there is none of; an empty `cpu_model` is all of them. OpenMetrics has gauges by model, row and arm.

use crate::csv::{field, number, word};
use crate::openmetrics::{self, Gauge};
use coretwin_base::fleet::summary::{FleetEffect, FleetSummary};
use coretwin_base::study::plan::Scale;

const COLUMNS: &str = "cpu_model,workload,row,arm,reference_arm,unit,better,scale,rows,machines,blocks,\
                       effect,low,high,next_low,next_high,between,share_between,p,p_adjusted,verdict,\
                       next,outliers,origin";

pub(super) fn csv(summary: &FleetSummary) -> String {
    let mut out = format!("{COLUMNS}\n");
    for effect in summary.suites.iter().chain(&summary.effects) {
        line(&mut out, effect);
    }
    out
}

fn line(out: &mut String, effect: &FleetEffect) {
    let texts = [
        effect.cpu_model.as_deref().unwrap_or(""),
        &effect.workload,
        &effect.row,
        &effect.arm,
        &effect.reference,
        &effect.unit,
    ];
    for text in texts {
        field(out, text);
        out.push(',');
    }
    let FleetEffect { better, scale, rows, machines, blocks, .. } = effect;
    let (better, scale) = (better.name(), scale.name());
    out.push_str(&format!("{better},{scale},{rows},{machines},{blocks},"));
    let numbers = [
        Some(effect.effect),
        effect.low,
        effect.high,
        effect.next_low,
        effect.next_high,
        effect.between,
        effect.share_between,
        effect.p,
        effect.p_adjusted,
    ];
    for value in numbers {
        if let Some(value) = value {
            number(out, value);
        }
        out.push(',');
    }
    let FleetEffect { outliers, origin, .. } = effect;
    let [verdict, next] = [effect.verdict, effect.next].map(word);
    out.push_str(&format!("{verdict},{next},{outliers},{origin}\n"));
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
