//! The two studies, what differs between their machines, and what only one of them has.

use super::cells::heads;
use crate::document::{Block, Column, ColumnOf, Table};
use crate::number;
use crate::words;
use coretwin_base::study::comparison::{ComparedStudy, FactChange, StudyComparison};

const FACT_MAX: usize = 300;
const FACTS_MAX: usize = 400;

pub(super) fn unmatched(comparison: &StudyComparison) -> Vec<Block> {
    let mut blocks = Vec::new();
    for study in &comparison.studies {
        let head = words::clean(&study.head);
        for (what, names) in [("Rows", &study.rows_only), ("Arms", &study.arms_only)] {
            if !names.is_empty() {
                let names = words::clean(&names.join(", "));
                blocks.push(Block::Text(format!("{what} only in {head}: {names}.")));
            }
        }
    }
    blocks
}

pub(super) fn blocks(comparison: &StudyComparison) -> Vec<Block> {
    let mut blocks = vec![Block::Table(studies(comparison))];
    let (foremost, others): (Vec<&FactChange>, Vec<&FactChange>) =
        comparison.facts.iter().partition(|fact| fact.foremost);
    if !foremost.is_empty() {
        let caption = "Facts that differ and matter most for speed".to_owned();
        blocks.push(Block::Table(table(comparison, caption, &foremost, false)));
    }
    if !others.is_empty() {
        let caption = format!("{} more that differ", number::count(others.len() as u64, "fact"));
        blocks.push(Block::Table(table(comparison, caption, &others, true)));
    }
    let same = number::count(comparison.facts_same.into(), "recorded fact");
    blocks.push(Block::Text(match (foremost.len(), others.len()) {
        (0, 0) if comparison.facts_same == 0 => {
            "The environment was not recorded in both.".to_owned()
        }
        (0, 0) => format!("No recorded fact of the machines differs; {same} are the same."),
        (_, 0) => format!("{same} are the same."),
        (_, 1) => format!(
            "One fact of less weight differs too (in the other formats); {same} are the same."
        ),
        (_, others) => format!(
            "{others} facts of less weight differ too (in the other formats); {same} are the same."
        ),
    }));
    blocks
}

fn studies(comparison: &StudyComparison) -> Table {
    let row = |name: &str, cell: &dyn Fn(&ComparedStudy) -> String| {
        let [first, second] = comparison.studies.each_ref().map(|study| words::clean(&cell(study)));
        vec![name.to_owned(), first, second]
    };
    let [first, second] = heads(comparison);
    let rows = vec![
        row("Folder", &|study| study.folder.clone()),
        row("Origin", &|study| study.origin.to_string()),
        row("Started (UTC)", &|study| number::or_none(study.started_utc.clone())),
        row("Boots", &|study| study.boots.to_string()),
        row("Blocks", &|study| study.blocks.to_string()),
        row("Ended", &|study| words::stopped(study.stopped_because).to_owned()),
        row("Arms", &|study| {
            let arm = |arm: &coretwin_base::study::plan::PlanArm| {
                format!("{} ({} on CPUs {})", arm.label, arm.threads, arm.cpus)
            };
            study.arms.iter().map(arm).collect::<Vec<_>>().join(", ")
        }),
        row("Coretwin", &|study| study.coretwin.clone()),
        row("Warnings of its own", &|study| study.warnings.to_string()),
    ];
    Table::new("Studies", Column::list(["", &first, &second]), rows)
}

fn table(
    comparison: &StudyComparison,
    caption: String,
    facts: &[&FactChange],
    folded: bool,
) -> Table {
    let [first, second] = heads(comparison);
    let cell = |fact: &FactChange, study: usize| {
        let text = fact.values[study].as_ref();
        number::or_none(text.map(|text| words::shorten(&words::clean(text), FACT_MAX)))
    };
    let more = match facts.len().saturating_sub(FACTS_MAX) {
        0 => String::new(),
        more => format!("{} more are in the JSON.", number::whole(more as u64)),
    };
    let columns: [ColumnOf<'_, FactChange>; 3] = [
        (Column::words("Fact"), &|fact| words::clean(&fact.fact)),
        (Column::words(first), &|fact| cell(fact, 0)),
        (Column::words(second), &|fact| cell(fact, 1)),
    ];
    let facts = facts.iter().copied().take(FACTS_MAX);
    Table { folded, ..Table::of(caption, facts, columns).note(more) }
}
