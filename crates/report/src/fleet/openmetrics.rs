//! The effects of a fleet as OpenMetrics text, for a monitor that keeps them beside what the machines
//! do: gauges by model, row and arm.

use coretwin_base::fleet_summary::{FleetEffect, FleetSummary};
use coretwin_base::plan::Scale;

/// A gauge: its name, what it is, and its value in an effect.
type Gauge = (&'static str, &'static str, fn(&FleetEffect) -> Option<f64>);

const GAUGES: [Gauge; 7] = [
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
    let mut out = String::new();
    for (name, about, value) in GAUGES {
        out.push_str(&format!("# TYPE coretwin_fleet_{name} gauge\n"));
        out.push_str(&format!("# HELP coretwin_fleet_{name} {about}\n"));
        let all = summary.suites.iter().chain(&summary.effects);
        for effect in all.filter(|effect| effect.scale == Scale::Ratio) {
            if let Some(value) = value(effect).filter(|value| value.is_finite()) {
                out.push_str(&format!("coretwin_fleet_{name}{{{}}} {value}\n", labels(effect)));
            }
        }
    }
    out.push_str("# EOF\n");
    out
}

fn labels(effect: &FleetEffect) -> String {
    let model = effect.cpu_model.as_deref().unwrap_or("");
    let pairs = [
        ("cpu_model", model),
        ("workload", &effect.workload),
        ("row", &effect.row),
        ("arm", &effect.arm),
        ("reference", &effect.reference),
        ("unit", &effect.unit),
    ];
    let pair = |(name, value): (&str, &str)| format!("{name}=\"{}\"", escaped(value));
    pairs.map(pair).join(",")
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
