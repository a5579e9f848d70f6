//! The article's tables as CSV and JSON: one record for each row and arm, numbers in full.

use super::columns;
use crate::csv;
use crate::{Study, json, words};
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
    rows: Vec<Record>,
    printed: Vec<Cells>,
}

#[derive(Serialize)]
struct Record {
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

fn records(study: &Study<'_>, line: &Line<'_>) -> Vec<Record> {
    let reference = study.plan.reference_index();
    let others = (0..study.plan.arms.len()).filter(|arm| *arm != reference);
    let record = |arm: usize| {
        let effect = columns::find(study, arm, &line.row.id)?;
        Some(Record {
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
        rows: table.lines.iter().flat_map(|line| records(study, line)).collect(),
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
    json::pretty(&tables(study))
}

/// Tables 1, 2 and 4 to 6 as CSV, one line for each row and arm.
pub fn article_csv(study: &Study<'_>) -> String {
    let tables = tables(study);
    let of_table = |table: &'_ Table| (tables.origin, table.table);
    let lines: Vec<CsvLine<'_>> = tables
        .tables
        .iter()
        .flat_map(|table| table.rows.iter().map(move |record| (of_table(table), record)))
        .map(|((origin, table), record)| CsvLine {
            table,
            record,
            reference_arm: &tables.reference_arm,
            origin,
        })
        .collect();
    csv::table(&csv_columns(), lines.iter())
}

struct CsvLine<'a> {
    table: u8,
    record: &'a Record,
    reference_arm: &'a str,
    origin: Origin,
}

impl CsvLine<'_> {
    fn article<T>(&self, cell: impl Fn(&Cells) -> Option<T>) -> Option<T> {
        self.record.article.as_ref().and_then(cell)
    }
}

fn csv_columns<'a>() -> Vec<Column<CsvLine<'a>>> {
    vec![
        Column::count("table", |line| Some(line.table.into())),
        Column::text("label", |line| Some((&*line.record.label).into())),
        Column::text("row", |line| Some((&*line.record.row).into())),
        Column::text("workload", |line| Some((&*line.record.workload).into())),
        Column::text("placement", |line| Some(line.record.placement.to_string().into())),
        Column::text("unit", |line| Some((&*line.record.unit).into())),
        Column::text("better", |line| Some(line.record.better.name().into())),
        Column::text("scale", |line| Some(line.record.scale.name().into())),
        Column::text("reference_arm", |line| Some(line.reference_arm.into())),
        Column::text("arm", |line| Some((&*line.record.arm).into())),
        Column::number("value_reference", |line| line.record.value_reference),
        Column::number("value_arm", |line| line.record.value_arm),
        Column::number("ratio", |line| line.record.ratio),
        Column::number("low", |line| line.record.low),
        Column::number("high", |line| line.record.high),
        Column::text("verdict", |line| Some(csv::word(line.record.verdict).into())),
        Column::count("failed", |line| Some(line.record.failed.into())),
        Column::number("article_noht", |line| line.article(|cells| cells.noht)),
        Column::number("article_ht", |line| line.article(|cells| cells.ht)),
        Column::number("article_speed_up_percent", |line| {
            line.article(|cells| cells.speed_up_percent)
        }),
        Column::text("article_remark", |line| {
            line.record.article.as_ref()?.remark.as_deref().map(Into::into)
        }),
        Column::text("origin", |line| Some(line.origin.name().into())),
    ]
}
