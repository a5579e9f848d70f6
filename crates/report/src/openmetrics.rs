//! Records as OpenMetrics text, for a monitor that keeps them beside what the machines do: a gauge a
//! number, labelled by what it is of. Rows compared by difference have no ratio and are left out.
//!
//! Source: OpenMetrics 1.0, <https://github.com/OpenObservability/OpenMetrics>.

use crate::Study;
use crate::dataset::{EffectRow, study_effects};
use coretwin_base::study::plan::Scale;

/// A gauge: its name, what it is, and its value in a row.
pub(crate) type Gauge<Row> = (&'static str, &'static str, fn(&Row) -> Option<f64>);

fn gauges<'a>() -> [Gauge<EffectRow<'a>>; 4] {
    [
        ("effect_ratio", "Mean over blocks; above 1 is better in the arm.", |row| row.effect),
        ("effect_low_ratio", "Lower end of its interval.", |row| row.low),
        ("effect_high_ratio", "Upper end of its interval.", |row| row.high),
        ("blocks", "Blocks that were analysed.", |row| Some(row.blocks.into())),
    ]
}

/// The effects of a study, suites with the workload `all`.
#[must_use]
pub fn openmetrics(study: &Study<'_>) -> String {
    let effects = study_effects(study);
    let machine = &study.summary.machine;
    let rows =
        effects.iter().flat_map(|(workload, rows)| rows.iter().map(move |row| (workload, row)));
    let rows: Vec<_> = rows
        .filter(|(_, row)| row.scale == Scale::Ratio)
        .map(|(workload, row)| (labels(machine, workload, row), row))
        .collect();
    let mut out = String::new();
    for gauge in gauges() {
        put(&mut out, "coretwin_study", gauge, rows.iter().map(|(labels, row)| (labels, *row)));
    }
    out + "# EOF\n"
}

fn labels(machine: &str, workload: &str, row: &EffectRow<'_>) -> String {
    labelled(&[
        ("origin", row.machine.origin.name()),
        ("machine", machine),
        ("cpu_model", row.machine.cpu_model),
        ("workload", workload),
        ("row", row.row),
        ("arm", row.arm),
        ("reference", row.reference_arm),
        ("unit", row.unit),
    ])
}

/// `name="value",…`.
pub(crate) fn labelled(labels: &[(&str, &str)]) -> String {
    let strange = |character: char| character.is_control() && character != '\n';
    let escaped = |text: &str| {
        let text = text.replace(strange, " ").replace('\\', "\\\\");
        text.replace('"', "\\\"").replace('\n', "\\n")
    };
    let pair = |(name, value): &(&str, &str)| format!("{name}=\"{}\"", escaped(value));
    labels.iter().map(pair).collect::<Vec<_>>().join(",")
}

/// A gauge of all rows that have it, each with its labels.
pub(crate) fn put<'a, Row: 'a>(
    out: &mut String,
    family: &str,
    (name, about, value): Gauge<Row>,
    rows: impl Iterator<Item = (&'a String, &'a Row)>,
) {
    out.push_str(&format!("# TYPE {family}_{name} gauge\n# HELP {family}_{name} {about}\n"));
    for (labels, row) in rows {
        if let Some(value) = value(row).filter(|value| value.is_finite()) {
            out.push_str(&format!("{family}_{name}{{{labels}}} {value}\n"));
        }
    }
}
