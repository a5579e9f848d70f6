//! Records as OpenMetrics text, for a monitor that keeps them beside what the machines do: a gauge a
//! number, labelled by what it is of. Rows compared by difference have no ratio and are left out.

use crate::Study;
use crate::dataset::{EffectRow, study_effects};
use coretwin_base::openmetrics::{Dialect, Exposition, Family};
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
pub fn openmetrics(study: &Study<'_>) -> String {
    let effects = study_effects(study);
    let machine = &study.summary.machine;
    let rows =
        effects.iter().flat_map(|(workload, rows)| rows.iter().map(move |row| (*workload, row)));
    let ratios = rows.filter(|(_, row)| row.scale == Scale::Ratio);
    let rows: Vec<_> =
        ratios.map(|(workload, row)| (labels(machine, workload, row), row)).collect();
    write("coretwin_study", &gauges(), &rows)
}

fn labels<'a>(
    machine: &'a str,
    workload: &'a str,
    row: &'a EffectRow<'_>,
) -> Vec<(&'a str, &'a str)> {
    vec![
        ("origin", row.machine.origin.name()),
        ("machine", machine),
        ("cpu_model", row.machine.cpu_model),
        ("workload", workload),
        ("row", row.row),
        ("arm", row.arm),
        ("reference", row.reference_arm),
        ("unit", row.unit),
    ]
}

/// The gauges of all rows, each with its labels.
pub(crate) fn write<Row>(
    family: &str,
    gauges: &[Gauge<Row>],
    rows: &[(Vec<(&str, &str)>, &Row)],
) -> String {
    let mut text = Exposition::new(Dialect::OpenMetrics);
    for (name, help, value) in gauges {
        let family = Family { name: &format!("{family}_{name}"), counter: false, unit: "", help };
        let mut samples = family.samples();
        for (labels, row) in rows {
            samples.add(labels, value(row).unwrap_or(f64::NAN));
        }
        text.add(&family, &samples);
    }
    text.finish()
}
