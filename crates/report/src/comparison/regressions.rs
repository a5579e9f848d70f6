//! What got worse, before anything else.

use super::cells::{cells, heads, no_regression, rank};
use crate::document::{Block, Column, Table};
use crate::number;
use crate::words;
use coretwin_base::study::comparison::{Change, Contrast, StudyComparison, ValueChange};
use coretwin_base::study::plan::Scale;

struct Line<'a> {
    what: String,
    name: String,
    scale: Scale,
    unit: &'a str,
    contrast: &'a Contrast,
}

/// The regressions, suites first, the largest first; or that there is none.
pub(super) fn blocks(comparison: &StudyComparison) -> Vec<Block> {
    let heads = heads(comparison);
    let lines = lines(comparison);
    let changes: Vec<_> = lines.iter().map(|line| line.contrast.change).collect();
    let regressions: Vec<&Line<'_>> =
        lines.iter().filter(|line| line.contrast.is_regression(comparison.confidence)).collect();
    if let Some(text) = no_regression(&heads, &changes, regressions.len()) {
        return vec![Block::Text(text)];
    }
    let [first, second] = heads;
    let row = |line: &&Line<'_>| {
        let [size, interval] = cells(line.contrast, line.scale, line.unit);
        let p = number::or_none(line.contrast.p_adjusted.map(number::p_value));
        vec![line.name.clone(), line.what.clone(), size, interval, p]
    };
    let interval = format!("#{}", comparison.interval_name());
    let columns = Column::list(["Row or suite", "What", "#Change", &interval, "#p (Holm)"]);
    let caption = format!("Worse in {second} than in {first}");
    let rows = regressions.iter().map(row).collect();
    vec![Block::Table(Table::new(caption, columns, rows))]
}

pub(super) fn changes(comparison: &StudyComparison) -> Vec<Change> {
    lines(comparison).iter().filter_map(|line| line.contrast.change).collect()
}

/// Every line: suites, then rows, those that lost most first.
fn lines<'a>(comparison: &'a StudyComparison) -> Vec<Line<'a>> {
    let effect = |arm: &str| words::clean(&format!("effect of {arm}"));
    let value = |arm: &str| words::clean(&format!("value in {arm}"));
    let suite = |name: &str| words::clean(&format!("{name} (suite)"));
    // A suite of one row would only say the same twice.
    let effect_suites = comparison.suites.iter().filter(|line| line.effects[0].rows > 1);
    let mut suites: Vec<Line<'_>> = effect_suites
        .map(|line| Line {
            what: effect(&line.effects[0].arm),
            name: suite(&line.effects[0].suite),
            scale: Scale::Ratio,
            unit: "",
            contrast: &line.interaction,
        })
        .collect();
    let rows = comparison.effects.iter().map(|line| Line {
        what: effect(&line.effects[0].arm),
        name: words::clean(&line.effects[0].row),
        scale: line.effects[0].scale,
        unit: &line.effects[0].unit,
        contrast: &line.interaction,
    });
    let mut rows: Vec<Line<'_>> = rows.collect();
    let of_values = |line: &'a ValueChange, name: String, unit: &'a str| {
        let (what, scale) = (value(&line.arm), line.scale);
        Line { what, name, scale, unit, contrast: &line.contrast }
    };
    let many_rows = comparison.values.iter().any(|line| line.name != comparison.values[0].name);
    let value_suites = comparison.value_suites.iter().filter(|_| many_rows);
    suites.extend(value_suites.map(|line| of_values(line, suite(&line.name), "")));
    let values = comparison.values.iter();
    rows.extend(values.map(|line| of_values(line, words::clean(&line.name), &line.unit)));
    for lines in [&mut suites, &mut rows] {
        let key = |line: &Line<'_>| rank(line.contrast.ratio, line.scale);
        lines.sort_by(|a, b| key(a).total_cmp(&key(b)));
    }
    suites.append(&mut rows);
    suites
}
