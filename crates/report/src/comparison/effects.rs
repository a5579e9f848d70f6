//! Workload × study × arm, as in the article's Table 7, with the interaction and intervals.

use super::cells::{amount, cells, heads, interval, result};
use crate::document::{Block, Column, Figure, Table};
use crate::number;
use crate::plot::{Forest, ForestGroup, ForestLine, Plot};
use crate::words;
use coretwin_base::distinct::distinct;
use coretwin_base::study::comparison::{Contrast, EffectChange, StudyComparison, SuiteChange};
use coretwin_base::study::plan::{Comparison, Scale};
use coretwin_base::study::summary::RowEffect;
use coretwin_stats::geometric;

pub(super) fn blocks(comparison: &StudyComparison) -> Vec<Block> {
    let arms = distinct(comparison.effects.iter().map(|line| line.effects[0].arm.as_str()));
    let families = distinct(comparison.effects.iter().map(|line| line.family.as_str()));
    let mut blocks = Vec::new();
    for arm in arms {
        blocks.extend(forest(comparison, arm));
        for family in &families {
            blocks.extend(family_tables(comparison, arm, family).map(Block::Table));
        }
        if families.len() > 1 {
            blocks.push(Block::Table(suites(comparison, arm)));
        }
    }
    blocks
}

fn of_arm<'a>(
    comparison: &'a StudyComparison,
    arm: &'a str,
) -> impl Iterator<Item = &'a EffectChange> {
    comparison.effects.iter().filter(move |line| line.effects[0].arm == arm)
}

fn suites_of<'a>(
    comparison: &'a StudyComparison,
    arm: &'a str,
) -> impl Iterator<Item = &'a SuiteChange> {
    comparison.suites.iter().filter(move |line| line.effects[0].arm == arm)
}

/// Both effects of every suite and row, side by side.
fn forest(comparison: &StudyComparison, arm: &str) -> Option<Block> {
    let heads = heads(comparison);
    let line =
        |study: usize, (ratio, ends)| ForestLine::new(study, heads[study].clone(), ratio, ends);
    let suites = suites_of(comparison, arm).filter(|suite| suite.effects[0].rows > 1);
    let suites = suites.map(|suite| {
        let label = format!("{} (suite)", words::clean(&suite.effects[0].suite));
        let effects = suite.effects.each_ref().map(|it| (it.ratio, it.low.zip(it.high)));
        (label, true, effects)
    });
    let rows = of_arm(comparison, arm).filter(|row| row.effects[0].scale == Scale::Ratio);
    let rows = rows.map(|row| {
        let effects = row.effects.each_ref().map(|it| (it.ratio, it.low.zip(it.high)));
        (words::clean(&row.effects[0].row), false, effects)
    });
    let group = |(label, primary, [first, second]): (String, bool, [_; 2])| ForestGroup {
        label,
        primary,
        lines: vec![line(0, first), line(1, second)],
    };
    let groups = suites.chain(rows).map(group).collect();
    let plot = Forest { groups, margin: comparison.margin };
    let drawable = plot.lines().any(|line| line.ratio.is_some());
    let reference = words::clean(&comparison.reference_arm);
    let title = format!("Effect of {} against {reference} in each study", words::clean(arm));
    let caption = format!(
        "Right of the line is better than {reference}. Two bars that lie apart are an interaction; \
         two that overlap may be one too, so read its own interval in the table."
    );
    drawable.then(|| Figure::block(title, caption, Plot::Forest(plot)))
}

/// Table 7 of one family, and the interaction of each of its lines.
fn family_tables(comparison: &StudyComparison, arm: &str, family: &str) -> [Table; 2] {
    let lines: Vec<&EffectChange> =
        of_arm(comparison, arm).filter(|line| line.family == family).collect();
    let suite = suites_of(comparison, arm)
        .find(|suite| suite.effects[0].suite == family)
        .filter(|suite| suite.effects[0].rows > 1);
    let mut rows: Vec<Vec<String>> = lines.iter().map(|line| row(line)).collect();
    rows.extend(suite.map(|suite| mean(suite, &lines)));
    let names: Vec<String> = rows.iter().map(|row| row[0].clone()).collect();
    let of_row = |line: &&EffectChange| {
        let [first, _] = &line.effects;
        interaction(&line.interaction, first.scale, &first.unit)
    };
    let mut interactions: Vec<[String; 5]> = lines.iter().map(of_row).collect();
    interactions.extend(suite.map(|suite| interaction(&suite.interaction, Scale::Ratio, "")));
    let named = |(name, cells): (String, [String; 5])| [vec![name], cells.into()].concat();
    let [first, second] = heads(comparison);
    let total = suite.is_some();
    let table_7 = Table::new(caption(comparison, arm, family), columns(comparison, arm), rows);
    let table_7 = Table { total, ..table_7.note(note(&lines)) };
    let mut columns = vec![Column::words("Row")];
    columns.extend(interaction_columns(comparison));
    let rows = names.into_iter().zip(interactions).map(named).collect();
    let note = format!(
        "The speed-up on {second} over that on {first}; above 0 the arm does more on {second}."
    );
    let caption = words::clean(&format!("Interaction: {family}"));
    let interaction = Table { total, ..Table::new(caption, columns, rows).note(note) };
    [table_7, interaction]
}

fn caption(comparison: &StudyComparison, arm: &str, family: &str) -> String {
    let [first, second] = heads(comparison);
    let is_smt = comparison.studies.iter().all(|study| study.comparison == Comparison::Smt);
    let what = if is_smt && arm == "on" && comparison.reference_arm == "off" {
        "Effects of Hyper-Threading".to_owned()
    } else {
        format!("Effects of {arm} against {}", comparison.reference_arm)
    };
    words::clean(&format!("Table 7. {what} on {first} and {second}: {family}"))
}

fn columns(comparison: &StudyComparison, arm: &str) -> Vec<Column> {
    let mut columns = vec![Column::words("Row")];
    for head in heads(comparison) {
        columns.extend([
            Column::number(words::clean(&format!("{head} {}", comparison.reference_arm))).opening(),
            Column::number(words::clean(&format!("{head} {arm}"))),
            Column::number("Speed-up"),
            Column::number(comparison.interval_name()),
        ]);
    }
    columns
}

fn interaction_columns(comparison: &StudyComparison) -> [Column; 5] {
    [
        Column::number("Interaction").opening(),
        Column::number(comparison.interval_name()),
        Column::words("Result"),
        Column::number("p (Holm)"),
        Column::number("Degrees").detail(),
    ]
}

fn row(line: &EffectChange) -> Vec<String> {
    let mut row = vec![words::clean(&line.effects[0].row)];
    for effect in &line.effects {
        row.extend([
            number::value_or_none(effect.value_reference),
            number::value_or_none(effect.value_arm),
            amount(effect.ratio, effect.scale, &effect.unit),
            interval(effect.low.zip(effect.high), effect.scale),
        ]);
    }
    row
}

fn interaction(contrast: &Contrast, scale: Scale, unit: &str) -> [String; 5] {
    let [size, ends] = cells(contrast, scale, unit);
    [
        size,
        ends,
        result(contrast),
        number::or_none(contrast.p_adjusted.map(number::p_value)),
        number::or_none(contrast.degrees.map(|degrees| format!("{degrees:.1}"))),
    ]
}

/// The line of geometric means. Values in several units, or of rows that are no part of the suite,
/// have none that would mean anything.
fn mean(suite: &SuiteChange, lines: &[&EffectChange]) -> Vec<String> {
    let whole = suite.effects[0].rows as usize == lines.len();
    let first = &lines[0].effects[0];
    let one_unit = lines.iter().all(|line| line.effects[0].unit == first.unit);
    let name = if whole {
        "Geometric mean".to_owned()
    } else {
        format!("Geometric mean of {} rows", suite.effects[0].rows)
    };
    let mut row = vec![name];
    for (study, effect) in suite.effects.iter().enumerate() {
        let values = |value: fn(&RowEffect) -> Option<f64>| {
            let values: Option<Vec<f64>> =
                lines.iter().map(|line| value(&line.effects[study])).collect();
            let mean = values.filter(|_| whole && one_unit).and_then(|all| geometric::mean(&all));
            number::value_or_none(mean)
        };
        row.extend([
            values(|effect| effect.value_reference),
            values(|effect| effect.value_arm),
            amount(effect.ratio, Scale::Ratio, ""),
            interval(effect.low.zip(effect.high), Scale::Ratio),
        ]);
    }
    row
}

fn note(lines: &[&EffectChange]) -> String {
    let unit = |line: &&EffectChange| {
        let [RowEffect { better, unit, .. }, _] = &line.effects;
        format!("{} ({} is better)", words::clean(unit), better.name())
    };
    format!("Data are {}.", distinct(lines.iter().map(unit)).join(", "))
}

fn suites(comparison: &StudyComparison, arm: &str) -> Table {
    let mut columns = vec![Column::words("Suite"), Column::number("Rows")];
    for head in heads(comparison) {
        columns.push(Column::number(format!("{head} speed-up")).opening());
        columns.push(Column::number(comparison.interval_name()));
    }
    columns.extend(interaction_columns(comparison));
    let line = |suite: &SuiteChange| {
        let mut row =
            vec![words::clean(&suite.effects[0].suite), suite.effects[0].rows.to_string()];
        for effect in &suite.effects {
            row.push(amount(effect.ratio, Scale::Ratio, ""));
            row.push(interval(effect.low.zip(effect.high), Scale::Ratio));
        }
        row.extend(interaction(&suite.interaction, Scale::Ratio, ""));
        row
    };
    let caption = words::clean(&format!(
        "Suites, {arm} against {}: families weigh equally; the primary result",
        comparison.reference_arm
    ));
    Table::new(caption, columns, suites_of(comparison, arm).map(line).collect())
}
