//! What became of the rows themselves: value against value, arm by arm.

use super::cells::{cells, heads, result};
use crate::document::{Block, Column, Table};
use crate::number;
use crate::words;
use coretwin_base::distinct::distinct;
use coretwin_base::study::comparison::{StudyComparison, ValueChange};

pub(super) fn blocks(comparison: &StudyComparison) -> Vec<Block> {
    let arms = distinct(comparison.values.iter().map(|line| line.arm.as_str()));
    let mut blocks = vec![Block::Text(
        "Different sessions, boots or machines are set against each other here, one of each. The \
         intervals cover only the spread between the blocks of a study: a change that they exclude \
         may still be one boot's luck, and none of it proves a cause."
            .to_owned(),
    )];
    blocks.extend(arms.into_iter().map(|arm| Block::Table(table(comparison, arm))));
    blocks
}

fn table(comparison: &StudyComparison, arm: &str) -> Table {
    let [first, second] = heads(comparison);
    let of_arm = |lines: &[ValueChange]| -> Vec<Vec<String>> {
        lines.iter().filter(|line| line.arm == arm).map(row).collect()
    };
    let mut rows = of_arm(&comparison.values);
    let suites = of_arm(&comparison.value_suites);
    // A suite of one row would only say the same twice.
    let with_suites = rows.len() > 1 && !suites.is_empty();
    let total = with_suites && suites.len() == 1;
    if with_suites {
        rows.extend(suites.into_iter().map(|mut suite| {
            suite[0].push_str(" (suite)");
            suite
        }));
    }
    let interval = format!("#{}", comparison.interval_name());
    let mut columns = Column::list([
        "Row",
        &format!("#{first}"),
        &format!("#{second}"),
        "Unit",
        "#Change",
        &interval,
        "Result",
        "#p (Holm)",
        "#Blocks",
    ]);
    columns[4].opens = true;
    columns[8].detail = true;
    let caption = words::clean(&format!("Arm {arm}: {second} against {first}"));
    let note = "↑ higher is better, ↓ lower is better; a positive change is better.";
    Table { total, ..Table::new(caption, columns, rows).note(note) }
}

fn row(line: &ValueChange) -> Vec<String> {
    let arrow = match line.unit.is_empty() {
        true => String::new(),
        false => format!(" {}", words::arrow(line.better)),
    };
    let [size, interval] = cells(&line.contrast, line.scale, &line.unit);
    let [first, second] = line.values.map(number::value_or_none);
    vec![
        words::clean(&line.name),
        first,
        second,
        format!("{}{arrow}", words::clean(&line.unit)),
        size,
        interval,
        result(&line.contrast),
        number::or_none(line.contrast.p_adjusted.map(number::p_value)),
        format!("{} and {}", line.blocks[0], line.blocks[1]),
    ]
}
