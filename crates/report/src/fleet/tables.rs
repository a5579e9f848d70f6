//! The tables of a fleet's report.

use super::cells::{amount, ends, next_word};
use crate::document::{Block, Column, Table};
use crate::number::{self, or_none};
use crate::words::{arrow, clean};
use coretwin_base::fleet::summary::{FleetEffect, FleetOutlier, FleetSummary};
use coretwin_base::study::plan::Scale;

pub(super) const LINES_MAX: usize = 300;

pub(super) fn suites(summary: &FleetSummary) -> Vec<Block> {
    if summary.suites.is_empty() {
        return Vec::new();
    }
    let mut table = lines(
        summary,
        "Mean over the rows that all machines have, workloads weighing equally; the primary result",
        &summary.suites,
    );
    table.note = Some("Effects are ratios; a positive effect is always better.".to_owned());
    vec![Block::Table(table)]
}

pub(super) fn effects(summary: &FleetSummary) -> Vec<Block> {
    if summary.effects.is_empty() {
        return Vec::new();
    }
    vec![Block::Table(lines(summary, "Rows", &summary.effects))]
}

fn lines(summary: &FleetSummary, caption: &str, effects: &[FleetEffect]) -> Table {
    let many_models = summary.models.len() > 1;
    let many_arms = effects.iter().any(|effect| effect.arm != effects[0].arm);
    type Cell<'a> = (bool, Column, Box<dyn Fn(&FleetEffect) -> String + 'a>);
    let columns: Vec<Cell<'_>> = vec![
        (true, Column::words("Row"), Box::new(row)),
        (many_models, Column::words("CPU model"), Box::new(model)),
        (
            summary.origin.is_none(),
            Column::words("Origin"),
            Box::new(|effect| effect.origin.to_string()),
        ),
        (many_arms, Column::words("Arm"), Box::new(|effect| clean(&effect.arm))),
        (
            true,
            Column::number("Machines"),
            Box::new(|effect| number::whole(effect.machines.into())),
        ),
        (true, Column::number("Effect"), Box::new(|effect| amount(effect, effect.effect))),
        (
            true,
            Column::number(summary.interval_name()),
            Box::new(|effect| or_none(ends(effect, effect.low, effect.high))),
        ),
        (
            true,
            Column::words("Verdict"),
            Box::new(|effect| or_none(effect.verdict.map(|verdict| verdict.to_string()))),
        ),
        (
            true,
            Column::number("p (Holm)"),
            Box::new(|effect| or_none(effect.p_adjusted.map(number::p_value))),
        ),
        (
            true,
            Column::number("Next machine"),
            Box::new(|effect| or_none(ends(effect, effect.next_low, effect.next_high))),
        ),
        (true, Column::words("There"), Box::new(|effect| next_word(effect).to_owned())),
        (true, Column::number("Between machines").detail(), Box::new(between)),
        (
            true,
            Column::number("I²").detail(),
            Box::new(|effect| or_none(effect.share_between.map(number::share))),
        ),
        (true, Column::number("Unlike").detail(), Box::new(|effect| effect.outliers.to_string())),
    ];
    let columns: Vec<Cell<'_>> = columns.into_iter().filter(|(shown, ..)| *shown).collect();
    let line = |effect: &FleetEffect| columns.iter().map(|(_, _, cell)| cell(effect)).collect();
    let more = more_lines(effects.len());
    Table {
        caption: caption.to_owned(),
        rows: effects.iter().take(LINES_MAX).map(line).collect(),
        columns: columns.iter().map(|(_, column, _)| column.clone()).collect(),
        note: Some(format!(
            "↑ higher is better, ↓ lower is better; a positive effect is always better. Intervals \
             of rows are unadjusted.{more}"
        )),
        ..Table::default()
    }
}

/// That a table shows the first of so many lines, if it does.
pub(super) fn more_lines(lines: usize) -> String {
    match lines.saturating_sub(LINES_MAX) {
        0 => String::new(),
        _ => format!(
            " The first {LINES_MAX} of {} lines; --format csv has all of them.",
            number::whole(lines as u64)
        ),
    }
}

fn row(effect: &FleetEffect) -> String {
    if effect.rows > 1 {
        return number::count(effect.rows.into(), "row");
    }
    format!("{} {}", clean(&effect.row), arrow(effect.better))
}

fn model(effect: &FleetEffect) -> String {
    effect.cpu_model.as_deref().map_or_else(|| "all".to_owned(), clean)
}

/// The deviation between machines: a percentage, or in the unit.
fn between(effect: &FleetEffect) -> String {
    or_none(effect.between.map(|deviation| match effect.scale {
        Scale::Ratio => format!("±{:.1} %", (deviation.exp() - 1.0) * 100.0),
        Scale::Raw => format!("±{}", number::value(deviation)),
    }))
}

pub(super) fn outliers(summary: &FleetSummary) -> Vec<Block> {
    if summary.outliers.is_empty() {
        let looked = summary.effects.iter().any(|effect| effect.machines >= 4);
        let text = match looked {
            true => "None: every machine's effects are what the others of its model predict.",
            false => "Nobody can be told: that takes four machines of one model.",
        };
        return vec![Block::Text(text.to_owned())];
    }
    let cell =
        |outlier: &FleetOutlier, value| number::effect_on(outlier.scale, &outlier.unit, value);
    let line = |outlier: &FleetOutlier| {
        vec![
            clean(&outlier.name),
            clean(&outlier.cpu_model),
            format!("{} of {}", outlier.rows_unlike, outlier.rows_looked_at),
            clean(&format!("{} · {}", outlier.row, outlier.arm)),
            cell(outlier, outlier.effect),
            format!(
                "{} to {}",
                cell(outlier, outlier.expected_low),
                cell(outlier, outlier.expected_high)
            ),
            number::p_value(outlier.p_adjusted),
        ]
    };
    let more = summary.outliers.len().saturating_sub(LINES_MAX);
    vec![Block::Table(Table {
        caption: "Machines whose effects the others of their model do not predict".to_owned(),
        columns: vec![
            Column::words("Machine"),
            Column::words("CPU model"),
            Column::number("Rows unlike"),
            Column::words("Most so"),
            Column::number("Effect"),
            Column::number("Expected"),
            Column::number("p (Holm)").detail(),
        ],
        rows: summary.outliers.iter().take(LINES_MAX).map(line).collect(),
        note: Some(match more {
            0 => {
                "One row in twenty names a machine by chance. Look at what differs on it: cooling, \
                  firmware, memory, neighbours."
                    .to_owned()
            }
            more => format!("{} more are in the JSON.", number::whole(more as u64)),
        }),
        ..Table::default()
    })]
}

pub(super) fn fleet(summary: &FleetSummary) -> Vec<Block> {
    let mut blocks = vec![Block::Table(Table {
        caption: "CPU models".to_owned(),
        columns: vec![
            Column::words("CPU model"),
            Column::number("Machines"),
            Column::number("Cores"),
            Column::number("Threads per core"),
        ],
        rows: summary
            .models
            .iter()
            .map(|model| {
                let [least, most] = model.cores;
                vec![
                    clean(&model.cpu_model),
                    number::whole(model.machines.into()),
                    if least == most { least.to_string() } else { format!("{least} to {most}") },
                    model.threads_per_core.to_string(),
                ]
            })
            .collect(),
        ..Table::default()
    })];
    let mut listed = |caption: &str, columns: [&str; 2], rows: Vec<Vec<String>>| {
        if !rows.is_empty() {
            let count = number::whole(rows.len() as u64);
            blocks.push(Block::Table(Table {
                caption: format!("{caption} ({count})"),
                columns: columns.map(Column::words).into(),
                rows: rows.into_iter().take(LINES_MAX).collect(),
                ..Table::default()
            }));
        }
    };
    let partial =
        summary.partial.iter().map(|study| vec![clean(&study.name), clean(&study.reason)]);
    listed("Studies that were broken off, but count", ["Machine", "Why"], partial.collect());
    let refused = summary.refused.iter().map(|file| vec![clean(&file.file), clean(&file.reason)]);
    listed("Files that do not count", ["File", "Why, and what to do"], refused.collect());
    blocks
}
