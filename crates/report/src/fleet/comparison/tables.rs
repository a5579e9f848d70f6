//! The tables of a comparison of fleets.

use crate::comparison::cells::{amount, cells, interval, no_regression, rank, result};
use crate::document::{Block, Column, ColumnOf, Table};
use crate::fleet::cells::{heads, machines, row};
use crate::fleet::tables::{LINES_MAX, more_lines};
use crate::number::{self, or_none};
use crate::words::{arrow, clean, shorten};
use coretwin_base::fleet::comparison::{
    FactMixture, FleetChange, FleetComparison, FleetFactChange,
};
use coretwin_base::shared_text::SharedText;
use std::collections::BTreeMap;

const NAMES_MAX: usize = 6;
const FACT_MAX: usize = 120;

/// The regressions, suites first, the largest first; or that there is none.
pub(super) fn regressions(comparison: &FleetComparison) -> Vec<Block> {
    let heads = heads(comparison);
    let all = || comparison.suites.iter().chain(&comparison.effects);
    let changes: Vec<_> = all().map(|line| line.change.change).collect();
    let mut worse: Vec<&FleetChange> =
        all().filter(|line| line.change.is_regression(comparison.confidence)).collect();
    if let Some(text) = no_regression(&heads, &changes, worse.len()) {
        return vec![Block::Text(text)];
    }
    let key = |line: &FleetChange| rank(line.change.ratio, line.scale);
    worse.sort_by(|a, b| (a.rows == 1).cmp(&(b.rows == 1)).then(key(a).total_cmp(&key(b))));
    let [first, second] = heads;
    let caption = format!("Worse in {second} than in {first}");
    vec![Block::Table(lines(comparison, &caption, &worse))]
}

pub(super) fn suites(comparison: &FleetComparison) -> Vec<Block> {
    if comparison.suites.is_empty() {
        return Vec::new();
    }
    let caption = "Mean over the rows that all machines of both have, workloads weighing equally; the \
                   primary result";
    vec![Block::Table(lines(comparison, caption, &comparison.suites.iter().collect::<Vec<_>>()))]
}

pub(super) fn effects(comparison: &FleetComparison) -> Vec<Block> {
    vec![Block::Table(lines(comparison, "Rows", &comparison.effects.iter().collect::<Vec<_>>()))]
}

fn lines(comparison: &FleetComparison, caption: &str, lines: &[&FleetChange]) -> Table {
    let [first, second] = heads(comparison);
    let many_models = lines.iter().any(|line| line.cpu_model != lines[0].cpu_model);
    let many_arms = lines.iter().any(|line| line.arm != lines[0].arm);
    let name = |line: &FleetChange| {
        // A terminal repeats the first column alone where a table is too wide, so it names the line.
        let mut name = row(line);
        if line.rows == 1 {
            name.push_str(&format!(" {}", arrow(line.better)));
        }
        if many_models {
            let model = line.cpu_model.as_deref().map_or_else(|| "all models".to_owned(), clean);
            name.push_str(&format!(" · {model}"));
        }
        if many_arms {
            name.push_str(&format!(" · {}", clean(&line.arm)));
        }
        name
    };
    let effect = |line: &FleetChange, fleet: usize| {
        amount(Some(line.effects[fleet].effect), line.scale, &line.unit)
    };
    let ends = |line: &FleetChange, fleet: usize| {
        interval(line.effects[fleet].low.zip(line.effects[fleet].high), line.scale)
    };
    let change = |line: &FleetChange| cells(&line.change, line.scale, &line.unit);
    let columns: [ColumnOf<'_, FleetChange>; 11] = [
        (Column::words("Row"), &|line| name(line)),
        (Column::number(first).opening(), &|line| effect(line, 0)),
        (Column::number("Its interval").detail(), &|line| ends(line, 0)),
        (Column::number(second), &|line| effect(line, 1)),
        (Column::number("Its interval").detail(), &|line| ends(line, 1)),
        (Column::number("Change").opening(), &|line| change(line)[0].clone()),
        (Column::number(comparison.interval_name()), &|line| change(line)[1].clone()),
        (Column::words("Result"), &|line| result(&line.change)),
        (Column::words("Machines"), &|line| machines(line)),
        (Column::number("p (Holm)"), &|line| or_none(line.change.p_adjusted.map(number::p_value))),
        (Column::number("Degrees").detail(), &|line| {
            or_none(line.change.degrees.map(|degrees| format!("{degrees:.1}")))
        }),
    ];
    Table::of(caption, lines.iter().copied().take(LINES_MAX), columns).note(format!(
        "Effects against {}; ↑ higher is better, ↓ lower is better, a positive change is always \
         better.{}",
        clean(lines.first().map_or("", |line| &line.reference)),
        more_lines(lines.len())
    ))
}

pub(super) fn facts(comparison: &FleetComparison) -> Vec<Block> {
    let (foremost, others): (Vec<&FleetFactChange>, Vec<&FleetFactChange>) =
        comparison.facts.iter().partition(|fact| fact.foremost);
    let mut blocks = Vec::new();
    if !foremost.is_empty() {
        let caption = "Facts that changed on machines of both and matter most for speed";
        blocks.push(Block::Table(changed(comparison, caption.to_owned(), &foremost, false)));
    }
    if !others.is_empty() {
        let caption = format!("{} more", number::count(others.len() as u64, "change"));
        blocks.push(Block::Table(changed(comparison, caption, &others, true)));
    }
    if !comparison.mixtures.is_empty() {
        blocks.push(Block::Table(mixtures(comparison)));
    }
    let same = number::count(comparison.facts_same.into(), "recorded fact");
    blocks.push(Block::Text(match (comparison.machines_paired, comparison.facts.len()) {
        (0, _) => "No machine is in both, so nothing is said machine by machine.".to_owned(),
        (_, 0) if comparison.facts_same == 0 => {
            "The environment of machines of both was not recorded.".to_owned()
        }
        (_, 0) => format!("On machines of both no recorded fact changed; {same} are the same."),
        (..) if others.is_empty() => format!("{same} are the same on all machines of both."),
        (..) => format!(
            "{} of less weight in the other formats; {same} are the same on all machines of both.",
            number::count(others.len() as u64, "change")
        ),
    }));
    blocks
}

fn changed(
    comparison: &FleetComparison,
    caption: String,
    facts: &[&FleetFactChange],
    folded: bool,
) -> Table {
    let [first, second] = heads(comparison);
    let cell = |value: &Option<SharedText>| {
        or_none(value.as_deref().map(|text| shorten(&clean(text), FACT_MAX)))
    };
    let columns: [ColumnOf<'_, FleetFactChange>; 5] = [
        (Column::words("Fact"), &|it| clean(&it.fact)),
        (Column::words(first), &|it| cell(&it.values[0])),
        (Column::words(second), &|it| cell(&it.values[1])),
        (Column::number("Machines"), &|it| it.machines.len().to_string()),
        (Column::words("Which"), &|it| named(it.machines.iter().map(|name| clean(name)))),
    ];
    let table = Table::of(caption, facts.iter().copied().take(LINES_MAX), columns);
    Table { folded, ..table.note(left_out(facts.len())) }
}

fn mixtures(comparison: &FleetComparison) -> Table {
    let [first, second] = heads(comparison);
    let cell = |values: &BTreeMap<SharedText, u32>| {
        let mut values: Vec<_> = values.iter().collect();
        values.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let one = |(value, count): (&SharedText, &u32)| {
            format!("{} on {count}", shorten(&clean(value), FACT_MAX))
        };
        if values.is_empty() { number::NONE.to_owned() } else { named(values.into_iter().map(one)) }
    };
    let columns: [ColumnOf<'_, FactMixture>; 3] = [
        (Column::words("Fact"), &|it| clean(&it.fact)),
        (Column::words(first), &|it| cell(&it.values[0])),
        (Column::words(second), &|it| cell(&it.values[1])),
    ];
    let mixtures = comparison.mixtures.iter().take(LINES_MAX);
    Table::of("Facts that matter most, by number of machines", mixtures, columns)
        .note(left_out(comparison.mixtures.len()))
}

fn left_out(count: usize) -> String {
    match count.saturating_sub(LINES_MAX) {
        0 => String::new(),
        more => format!("{} more are in the JSON.", number::whole(more as u64)),
    }
}

fn named(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(NAMES_MAX);
    let shown = names.take(NAMES_MAX).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

pub(super) fn unmatched(comparison: &FleetComparison) -> Vec<Block> {
    let mut blocks = Vec::new();
    for fleet in &comparison.fleets {
        let machines: Vec<String> =
            fleet.machines_only.iter().map(|name| name.to_string()).collect();
        for (what, names) in
            [("Machines", &machines), ("Rows", &fleet.rows_only), ("Arms", &fleet.arms_only)]
        {
            if !names.is_empty() {
                let names = named(names.iter().map(|name| clean(name)));
                blocks
                    .push(Block::Text(format!("{what} only in {}: {names}.", clean(&fleet.head))));
            }
        }
    }
    blocks
}
