//! Pages of the reference that come from tables of the libraries: columns, metrics, caps.

use anyhow::Result;
use coretwin_base::caps;
use coretwin_base::column::{Column, Values};
use coretwin_report::dataset::{
    effect_columns, fleet_effect_columns, metric_columns, reading_columns,
};
use coretwin_top::openmetrics::metrics::METRICS;
use std::fmt::Write;

const FIGURES: &str = "\
# Figures for other tools

For those who read datasets and metrics with programs of their own; [export](../export.md) has queries.

## Datasets

`report` and `fleet report --format parquet` write a folder: `dataset.json` `{schema, coretwin, tables: {name: {files, rows}}}`,
and for each table Parquet files in `TABLE/machine=NAME/workload=NAME/part-0.parquet` (`fleet_effects` in
`fleet_effects/workload=NAME/`). Machine and workload are columns by their folders alone; in names, signs other than
letters, digits, `-`, `_` and `.` are percent-encoded. The machine of a study is its host's name or its simulated
machine; of a fleet the member's name, followed by its id where several have it. Every column may be null; texts are
UTF-8 strings, whole numbers 64 bits, numbers doubles, moments microseconds in UTC. Columns without a word are fields of
the [records](format-study.md) of the same name.
";

/// What columns say that no field of a record does.
const COLUMNS: &[(&str, &str)] = &[
    ("cpu_model", "or the simulated machine; of `fleet_effects` null over all models"),
    ("analysed", "whether the run takes part in the comparison"),
    ("arm_began_utc", "when the machine was made ready for the arm; null on simulated machines"),
    ("checks_failed", "names of the checks that did not hold"),
    ("capacity_per_cpu_s", "of a service, value of `capacity.per_cpu_s`"),
    ("effect", "above 1 better in the arm; on the raw scale above 0"),
    ("mean", "of the blocks' differences on the scale of the analysis: log ratio, or unit"),
    ("standard_error", "of that"),
    ("degrees", "of freedom, of that"),
    ("weight", "share in the mean over the machines of its model; in fleets"),
    ("p", "in studies, and over machines"),
    ("p_adjusted", "in studies, and over machines"),
    ("verdict", "in studies, and over machines"),
    ("rule", "of the verdict"),
    ("meaning", "of the verdict"),
];

pub(super) fn page() -> Result<String> {
    let mut page = FIGURES.to_owned();
    columns(&mut page, "`readings`, a run each", &reading_columns())?;
    columns(&mut page, "`metrics`, a number beside a run's value each", &metric_columns())?;
    let title = "`effects`, a row and arm of a machine each; suites under the workload `all`";
    columns(&mut page, title, &effect_columns())?;
    let title = "`fleet_effects`, a row and arm over machines each; suites under `all`";
    columns(&mut page, title, &fleet_effect_columns())?;
    page += "\n## Metrics\n\n\
             `report` and `fleet report --format openmetrics` write gauges `coretwin_study_*` and `coretwin_fleet_*`: \
             `effect_ratio`, `effect_low_ratio`, `effect_high_ratio`; of studies `blocks`; of fleets `next_low_ratio`, \
             `next_high_ratio`, `machines` and `outliers`. They are labelled by origin, machine (studies), `cpu_model`, \
             workload, row, arm, reference and unit; suites have the workload `all`. Rows compared by difference are \
             left out.\n\n\
             `top --openmetrics` has these at `/metrics` and in files, as OpenMetrics 1.0; files named `*.prom` are in the \
             Prometheus text format 0.0.4, which the node exporter's collector reads. Files are replaced whole. No \
             timestamps. Counters count from the start of the program, gauges are of the last window; ranges have \
             samples with `bound` = `value`, `low`, `high`. Other labels: `method`, `state` (of CPUs and CPU seconds), \
             `cpus` and `package` (of a core), `busy` (how many of its CPUs), `of` (short looks), `resource` and `kind` \
             (pressure, notes), `cgroup`. Threads are not exported. Of cgroups 200 are kept apart; \
             one that did not run for ten minutes makes room, what finds none is under `(others)`, tasks whose cgroup \
             is not known under `(not known)`.\n\n\
             | metric | kind | meaning |\n|---|---|---|\n";
    for metric in METRICS {
        let family = &metric.family;
        let (end, kind) = if family.counter { ("_total", "counter") } else { ("", "gauge") };
        writeln!(page, "| `{}{end}` | {kind} | {} |", family.name, family.help)?;
    }
    Ok(page)
}

fn columns<Row>(page: &mut String, title: &str, columns: &[Column<Row>]) -> Result<()> {
    write!(page, "\n### {title}\n\n| column | type | meaning |\n|---|---|---|\n")?;
    for Column { name, values } in columns {
        let kind = match values {
            Values::Text(_) => "text",
            Values::Count(_) => "whole number",
            Values::Number(_) => "number",
            Values::Flag(_) => "yes or no",
            Values::Time(_) => "moment",
        };
        let meaning = COLUMNS.iter().find(|(column, _)| column == name);
        writeln!(page, "| `{name}` | {kind} | {} |", meaning.map_or("", |(_, words)| words))?;
    }
    Ok(())
}

/// How much is read of what comes from outside.
pub(super) fn input_limits() -> Result<String> {
    let mut page = "# How much is read\n\n\
                    For those who hand Coretwin large files. More of anything from outside is an error that names the \
                    file, what there was too much of, and the most that is read.\n\n\
                    | of | at most | |\n|---|---|---|\n"
        .to_owned();
    for cap in caps::ALL {
        writeln!(page, "| {} | {} | {} |", cap.of, caps::size(cap.bytes), cap.why)?;
    }
    Ok(page)
}
