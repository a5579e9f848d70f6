//! `--format parquet` of `report` and `fleet report`: tables in a folder, for other people's tools.

use crate::exit::usage;
use crate::options::format_value;
use crate::out;
use anyhow::Result;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use coretwin_base::column::Column;
use coretwin_report::dataset::{self, ByWorkload};
use coretwin_report::{Format, Study};
use coretwin_store::dataset::Dataset;
use std::path::Path;

pub(crate) const PARQUET: &str = "parquet";

#[derive(Clone, Copy)]
pub(crate) enum As<Form: 'static> {
    Text(&'static Form),
    Tables,
}

impl<Render: Clone + Send + Sync> As<Format<Render>> {
    pub(crate) fn parser(
        formats: &'static [Format<Render>],
    ) -> impl TypedValueParser<Value = Self> {
        let tables = PossibleValue::new(PARQUET).help("a folder of tables, named by --out");
        let values = formats.iter().map(format_value).chain([tables]);
        PossibleValuesParser::new(values).map(|name| {
            let found = formats.iter().find(|format| format.name == name);
            found.map_or(Self::Tables, Self::Text)
        })
    }
}

/// Where a dataset is to be. Errors: if nobody said.
pub(crate) fn folder(out: Option<&Path>) -> Result<&Path> {
    out.ok_or_else(|| usage("--format parquet writes a folder of files; name it with --out DIR"))
}

pub(crate) fn of_study(study: &Study<'_>, folder: &Path) -> Result<()> {
    let host = study.environment.sessions.last().map(|session| session.host.as_str());
    let machine = match host {
        Some(host) if study.plan.simulation.is_none() => host,
        _ => &study.plan.machine,
    };
    let made = Dataset::create(folder)?;
    put_readings(
        &made,
        machine,
        &dataset::readings(study.plan, study.readings, study.environment),
    )?;
    put(&made, "effects", machine, &dataset::effect_columns(), &dataset::study_effects(study))?;
    finish(made, folder)
}

pub(crate) fn put_readings(
    made: &Dataset,
    machine: &str,
    readings: &ByWorkload<'_, dataset::ReadingRow<'_>>,
) -> Result<(), coretwin_store::Error> {
    put(made, "readings", machine, &dataset::reading_columns(), readings)?;
    put(made, "metrics", machine, &dataset::metric_columns(), &dataset::metrics(readings))
}

pub(crate) fn put<Row>(
    made: &Dataset,
    table: &str,
    machine: &str,
    columns: &[Column<Row>],
    rows: &ByWorkload<'_, Row>,
) -> Result<(), coretwin_store::Error> {
    rows.iter().try_for_each(|(workload, rows)| {
        made.part(table, &[("machine", machine), ("workload", workload)], columns, rows)
    })
}

pub(crate) fn finish(made: Dataset, folder: &Path) -> Result<()> {
    let tables = made.finish()?;
    let table = |(name, size): (&String, &coretwin_store::dataset::Size)| {
        format!("{name}: {} rows in {} files", size.rows, size.files)
    };
    let tables: Vec<String> = tables.iter().map(table).collect();
    out::news(&format!("{} in {}", tables.join(", "), folder.display()));
    Ok(())
}
