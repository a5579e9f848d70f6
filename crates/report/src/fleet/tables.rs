//! The tables of a fleet's report.

use super::cells::{amount, ends, next_word};
use crate::document::{Block, Column, ColumnOf, Table};
use crate::number::{self, or_none};
use crate::words::{arrow, clean};
use coretwin_base::fleet::summary::{FleetEffect, FleetModel, FleetOutlier, FleetSummary};
use coretwin_base::study::plan::Scale;

pub(super) const LINES_MAX: usize = 300;

pub(super) fn suites(summary: &FleetSummary) -> Vec<Block> {
    if summary.suites.is_empty() {
        return Vec::new();
    }
    let caption =
        "Mean over the rows that all machines have, workloads weighing equally; the primary result";
    let note = "Effects are ratios; a positive effect is always better.";
    vec![Block::Table(lines(summary, caption, &summary.suites).note(note))]
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
    let columns: [ColumnOf<'_, FleetEffect>; 14] = [
        (Column::words("Row"), &row),
        (Column::words("CPU model").only_if(many_models), &model),
        (Column::words("Origin").only_if(summary.origin.is_none()), &|it| it.origin.to_string()),
        (Column::words("Arm").only_if(many_arms), &|it| clean(&it.arm)),
        (Column::number("Machines"), &|it| number::whole(it.machines.into())),
        (Column::number("Effect"), &|it| amount(it, it.effect)),
        (Column::number(summary.interval_name()), &|it| or_none(ends(it, it.low, it.high))),
        (Column::words("Verdict"), &|it| or_none(it.verdict.map(|one| one.to_string()))),
        (Column::number("p (Holm)"), &|it| or_none(it.p_adjusted.map(number::p_value))),
        (Column::number("Next machine"), &|it| or_none(ends(it, it.next_low, it.next_high))),
        (Column::words("There"), &|it| next_word(it).to_owned()),
        (Column::number("Between machines").detail(), &between),
        (Column::number("I²").detail(), &|it| or_none(it.share_between.map(number::share))),
        (Column::number("Unlike").detail(), &|it| it.outliers.to_string()),
    ];
    Table::of(caption, effects.iter().take(LINES_MAX), columns).note(format!(
        "↑ higher is better, ↓ lower is better; a positive effect is always better. Intervals \
         of rows are unadjusted.{}",
        more_lines(effects.len())
    ))
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
    let expected = |it: &FleetOutlier| [it.expected_low, it.expected_high].map(|end| cell(it, end));
    let columns: [ColumnOf<'_, FleetOutlier>; 7] = [
        (Column::words("Machine"), &|it| clean(&it.name)),
        (Column::words("CPU model"), &|it| clean(&it.cpu_model)),
        (Column::number("Rows unlike"), &|it| {
            format!("{} of {}", it.rows_unlike, it.rows_looked_at)
        }),
        (Column::words("Most so"), &|it| clean(&format!("{} · {}", it.row, it.arm))),
        (Column::number("Effect"), &|it| cell(it, it.effect)),
        (Column::number("Expected"), &|it| expected(it).join(" to ")),
        (Column::number("p (Holm)").detail(), &|it| number::p_value(it.p_adjusted)),
    ];
    let note = match summary.outliers.len().saturating_sub(LINES_MAX) {
        0 => "One row in twenty names a machine by chance. Look at what differs on it: cooling, \
             firmware, memory, neighbours."
            .to_owned(),
        more => format!("{} more are in the JSON.", number::whole(more as u64)),
    };
    let caption = "Machines whose effects the others of their model do not predict";
    let outliers = summary.outliers.iter().take(LINES_MAX);
    vec![Block::Table(Table::of(caption, outliers, columns).note(note))]
}

pub(super) fn fleet(summary: &FleetSummary) -> Vec<Block> {
    let cores = |[least, most]: [u32; 2]| match least == most {
        true => least.to_string(),
        false => format!("{least} to {most}"),
    };
    let columns: [ColumnOf<'_, FleetModel>; 4] = [
        (Column::words("CPU model"), &|model| clean(&model.cpu_model)),
        (Column::number("Machines"), &|model| number::whole(model.machines.into())),
        (Column::number("Cores"), &|model| cores(model.cores)),
        (Column::number("Threads per core"), &|model| model.threads_per_core.to_string()),
    ];
    let mut blocks = vec![Block::Table(Table::of("CPU models", &summary.models, columns))];
    let mut listed = |caption: &str, columns: [&str; 2], rows: Vec<Vec<String>>| {
        if !rows.is_empty() {
            let caption = format!("{caption} ({})", number::whole(rows.len() as u64));
            let rows = rows.into_iter().take(LINES_MAX).collect();
            blocks.push(Block::Table(Table::new(caption, Column::list(columns), rows)));
        }
    };
    let partial =
        summary.partial.iter().map(|study| vec![clean(&study.name), clean(&study.reason)]);
    listed("Bundles that are not complete, but count", ["Machine", "Why"], partial.collect());
    let refused = summary.refused.iter().map(|file| vec![clean(&file.file), clean(&file.reason)]);
    listed("Files that do not count", ["File", "Why, and what to do"], refused.collect());
    blocks
}
