//! The article's tables as CSV and JSON: one record for each row and arm, numbers in full.

use super::columns;
use crate::csv;
use crate::{Study, format, words};
use coretwin_article::printed::{Kernel, Printed, Remark};
use coretwin_article::tables::{ChatSize, Filled, Line, chat_size, filled};
use coretwin_base::column::Column;
use coretwin_base::machine::placement::Placement;
use coretwin_base::origin::Origin;
use coretwin_base::schema::SCHEMA;
use coretwin_base::study::plan::Scale;
use coretwin_base::study::reading::Better;
use coretwin_base::study::summary::Verdict;
use serde::Serialize;

/// The article's tables from a study's rows, one of Tables 1, 2 and 4 to 6 each. As CSV, a line for
/// each of `rows`, with `origin` last; columns `article_*` are empty where the article has no such
/// row.
#[derive(Serialize)]
struct Tables {
    schema: u32,
    origin: Origin,
    reference_arm: String,
    tables: Vec<Table>,
    chat_sizes: Vec<ChatSize>,
}

#[derive(Serialize)]
struct Table {
    table: u8,
    title: String,
    /// One for each row and arm; fields as in `summary.json`.
    rows: Vec<Record>,
    /// What was printed for the whole family: `label` is `geomean` for the means, `table` 7 on
    /// 2.5.32.
    printed: Vec<Cells>,
}

#[derive(Serialize)]
struct Record {
    #[serde(skip)]
    table: u8,
    #[serde(skip)]
    origin: Origin,
    #[serde(skip)]
    reference_arm: String,
    label: String,
    row: String,
    workload: String,
    placement: Placement,
    unit: String,
    better: Better,
    scale: Scale,
    arm: String,
    value_reference: Option<f64>,
    value_arm: Option<f64>,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    verdict: Option<Verdict>,
    failed: u32,
    /// What was printed for the row.
    article: Option<Cells>,
}

#[derive(Serialize, Clone)]
struct Cells {
    table: u8,
    kernel: &'static str,
    label: String,
    noht: Option<f64>,
    ht: Option<f64>,
    speed_up_percent: Option<f64>,
    remark: Option<String>,
}

fn cells(printed: &Printed) -> Cells {
    let pair = printed.pair();
    Cells {
        table: printed.table,
        kernel: match printed.kernel {
            Kernel::Stable2419 => "2.4.19",
            Kernel::Development2532 => "2.5.32",
        },
        label: printed.label.clone(),
        noht: pair.map(|(noht, _)| noht),
        ht: pair.map(|(_, ht)| ht),
        speed_up_percent: printed.speed_up_percent.parse().ok(),
        remark: printed.remark.as_ref().map(Remark::sentence),
    }
}

fn records(study: &Study<'_>, table: u8, line: &Line<'_>) -> Vec<Record> {
    let reference = study.plan.reference_index();
    let others = (0..study.plan.arms.len()).filter(|arm| *arm != reference);
    let record = |arm: usize| {
        let effect = columns::find(study, arm, &line.row.id)?;
        Some(Record {
            table,
            origin: study.plan.origin(),
            reference_arm: words::clean(&study.plan.reference_arm),
            label: line.label.clone(),
            row: words::clean(&line.row.id),
            workload: words::clean(&line.row.workload),
            placement: line.row.placement,
            unit: words::clean(&line.row.unit),
            better: line.row.better,
            scale: line.row.scale,
            arm: words::clean(&effect.arm),
            value_reference: effect.value_reference,
            value_arm: effect.value_arm,
            ratio: effect.ratio,
            low: effect.low,
            high: effect.high,
            verdict: effect.verdict,
            failed: effect.failed,
            article: line.printed.as_ref().map(cells),
        })
    };
    others.filter_map(record).collect()
}

fn tables(study: &Study<'_>) -> Tables {
    let filled = filled(study.plan);
    let chat = filled.iter().filter(|table| table.number == 4).flat_map(|table| &table.lines);
    let size = |line: &Line<'_>| chat_size(study.plan, study.readings, line.row);
    let table = |table: &Filled<'_>| Table {
        table: table.number,
        title: table.title.clone(),
        rows: table.lines.iter().flat_map(|line| records(study, table.number, line)).collect(),
        printed: table.printed.iter().map(cells).collect(),
    };
    Tables {
        schema: SCHEMA,
        origin: study.plan.origin(),
        reference_arm: words::clean(&study.plan.reference_arm),
        chat_sizes: chat.map(size).collect(),
        tables: filled.iter().map(table).collect(),
    }
}

pub fn article_json(study: &Study<'_>) -> String {
    format::pretty(&tables(study))
}

/// Tables 1, 2 and 4 to 6 as CSV, one line for each row and arm.
pub fn article_csv(study: &Study<'_>) -> String {
    let tables = tables(study);
    let records = tables.tables.iter().flat_map(|table| &table.rows);
    csv::table(&csv_columns(), records)
}

fn csv_columns() -> Vec<Column<Record>> {
    vec![
        Column::count("table", |line| Some(line.table.into())),
        Column::text("label", |line| Some((&*line.label).into())),
        Column::text("row", |line| Some((&*line.row).into())),
        Column::text("workload", |line| Some((&*line.workload).into())),
        Column::text("placement", |line| Some(line.placement.to_string().into())),
        Column::text("unit", |line| Some((&*line.unit).into())),
        Column::text("better", |line| Some(line.better.name().into())),
        Column::text("scale", |line| Some(line.scale.name().into())),
        Column::text("reference_arm", |line| Some((&*line.reference_arm).into())),
        Column::text("arm", |line| Some((&*line.arm).into())),
        Column::number("value_reference", |line| line.value_reference),
        Column::number("value_arm", |line| line.value_arm),
        Column::number("ratio", |line| line.ratio),
        Column::number("low", |line| line.low),
        Column::number("high", |line| line.high),
        Column::text("verdict", |line| Some(csv::word(line.verdict).into())),
        Column::count("failed", |line| Some(line.failed.into())),
        Column::number("article_noht", |line| line.article.as_ref()?.noht),
        Column::number("article_ht", |line| line.article.as_ref()?.ht),
        Column::number("article_speed_up_percent", |line| line.article.as_ref()?.speed_up_percent),
        Column::text("article_remark", |line| {
            line.article.as_ref()?.remark.as_deref().map(Into::into)
        }),
        Column::text("origin", |line| Some(line.origin.name().into())),
    ]
}
