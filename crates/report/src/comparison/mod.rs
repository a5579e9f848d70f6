//! The report of two studies compared: regressions first, then the article's Table 7 layout with
//! the interaction added, the values arm by arm, and what differs between the machines.

mod csv;
mod effects;
mod machines;
mod regressions;
mod values;

use crate::document::{Block, Document, Headline, Section};
use crate::{html, markdown, number, text, words};
use coretwin_base::comparison::{Change, Contrast, StudyComparison};
use coretwin_base::plan::{Comparison, Scale};
use coretwin_base::summary::Verdict;

/// A form in which a comparison can be reported.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonFormat {
    /// The name people type.
    pub name: &'static str,
    /// What it is, in half a line.
    pub about: &'static str,
    /// Writes it.
    pub render: fn(&StudyComparison) -> String,
}

/// Every format, in the order they are listed to people.
pub const COMPARISON_FORMATS: &[ComparisonFormat] = &[
    ComparisonFormat {
        name: "text",
        about: "the whole comparison for a terminal, 100 columns",
        render: |comparison| text::write(&document(comparison)),
    },
    ComparisonFormat {
        name: "html",
        about: "one self-contained page",
        render: |comparison| html::write(&document(comparison)),
    },
    ComparisonFormat {
        name: "md",
        about: "the comparison as Markdown",
        render: |comparison| markdown::write(&document(comparison)),
    },
    ComparisonFormat {
        name: "csv",
        about: "every effect and value, one line each",
        render: csv::csv,
    },
    ComparisonFormat { name: "json", about: "the whole record", render: json },
];

fn json(comparison: &StudyComparison) -> String {
    let mut text = serde_json::to_string_pretty(comparison)
        .expect("a comparison has only text keys, so it is always JSON");
    text.push('\n');
    text
}

fn document(comparison: &StudyComparison) -> Document {
    let warnings: Vec<(String, String)> = comparison
        .warnings
        .iter()
        .map(|warning| (words::clean(&warning.text), words::clean(&warning.remedy)))
        .collect();
    let warning_count = warnings.len();
    let mut sections = Vec::new();
    let mut add = |id, title, blocks: Vec<Block>| {
        if !blocks.is_empty() {
            sections.push(Section { id, title, blocks });
        }
    };
    add("regressions", "Regressions", regressions::blocks(comparison));
    add("effects", "Effects and interaction", effects::blocks(comparison));
    add("values", "Values, arm by arm", values::blocks(comparison));
    add("unmatched", "Not in both", machines::unmatched(comparison));
    add("machines", "Studies and machines", machines::blocks(comparison));
    if warning_count > 0 {
        add("warnings", "Warnings", vec![Block::Warnings(warnings)]);
    }
    add("method", "Method", vec![Block::List(method(comparison))]);
    Document {
        kind: "Coretwin comparison",
        title: title(comparison),
        notice: notice(comparison),
        sentences: comparison.sentences.iter().map(|text| words::clean(text)).collect(),
        headlines: headlines(comparison),
        facts: facts(comparison),
        warnings: warning_count,
        arms: heads(comparison).into(),
        sections,
    }
}

/// Names of the two studies.
fn heads(comparison: &StudyComparison) -> [String; 2] {
    comparison.studies.each_ref().map(|study| words::clean(&study.head))
}

fn title(comparison: &StudyComparison) -> String {
    let [first, second] = heads(comparison);
    let mut families: Vec<&str> = Vec::new();
    for line in &comparison.effects {
        if !families.contains(&line.family.as_str()) {
            families.push(&line.family);
        }
    }
    let subject = match families.as_slice() {
        [] => String::new(),
        families => format!("{}: ", families.join(", ")),
    };
    words::shorten(&words::clean(&format!("{subject}{second} against {first}")), 90)
}

fn notice(comparison: &StudyComparison) -> Option<String> {
    let kinds = comparison.studies.each_ref().map(|study| study.comparison);
    match kinds {
        [Comparison::Smt, Comparison::Smt] => None,
        [Comparison::StandIn, Comparison::StandIn] => Some(
            "SMT was never switched off: in both studies one CPU per core stands in for it."
                .to_owned(),
        ),
        [Comparison::None, Comparison::None] => {
            Some("Plain CPU sets are compared here: nothing below is about SMT.".to_owned())
        }
        _ => Some("The studies compare different kinds of arms; see the warnings.".to_owned()),
    }
}

/// The interaction of each arm, by its suite over everything, else its only row.
fn headlines(comparison: &StudyComparison) -> Vec<Headline> {
    let [first, second] = heads(comparison);
    let mut headlines: Vec<Headline> = Vec::new();
    let mut arms: Vec<&str> = Vec::new();
    for line in &comparison.effects {
        let arm = line.effects[0].arm.as_str();
        if arms.contains(&arm) {
            continue;
        }
        arms.push(arm);
        let suite = comparison.suites.iter().rfind(|suite| suite.effects[0].arm == arm);
        let suite = suite.filter(|suite| suite.interaction.ratio.is_some());
        let (contrast, scale, unit, subject, blocks) = match suite {
            Some(suite) => {
                let [a, b] = &suite.effects;
                let rows = number::count(a.rows.into(), "row");
                let subject = format!("{}, {rows}", a.suite);
                (&suite.interaction, Scale::Ratio, "", subject, [a.blocks, b.blocks])
            }
            None => {
                let [a, b] = &line.effects;
                let row = (a.scale, a.unit.as_str(), a.row.clone(), [a.blocks, b.blocks]);
                (&line.interaction, row.0, row.1, row.2, row.3)
            }
        };
        let [effect, interval] = cells(contrast, scale, unit);
        headlines.push(Headline {
            comparison: words::clean(&format!(
                "{arm} against {}: {second} over {first}",
                comparison.reference_arm
            )),
            effect,
            interval: contrast.low.map(|_| format!("{} {interval}", interval_name(comparison))),
            verdict: contrast.change.map(|change| (tone(change), change.to_string())),
            basis: format!("{}, {} and {} blocks", words::clean(&subject), blocks[0], blocks[1]),
        });
    }
    headlines
}

/// The verdict of the same colour.
fn tone(change: Change) -> Verdict {
    match change {
        Change::Better => Verdict::Helps,
        Change::Worse => Verdict::Hurts,
        Change::NoMaterialChange => Verdict::NoMaterialDifference,
        Change::Inconclusive => Verdict::Inconclusive,
    }
}

fn facts(comparison: &StudyComparison) -> String {
    let part = |study: &coretwin_base::comparison::ComparedStudy| {
        format!("{}: {}", words::clean(&study.head), number::count(study.blocks.into(), "block"))
    };
    let [first, second] = comparison.studies.each_ref().map(part);
    let mut rows: Vec<&str> = comparison.values.iter().map(|line| line.name.as_str()).collect();
    rows.sort_unstable();
    rows.dedup();
    format!("{first} · {second} · {} in common", number::count(rows.len() as u64, "row"))
}

/// `95 % interval`.
fn interval_name(comparison: &StudyComparison) -> String {
    format!("{} interval", number::share(comparison.confidence))
}

/// A contrast and its interval.
fn cells(contrast: &Contrast, scale: Scale, unit: &str) -> [String; 2] {
    [amount(contrast.ratio, scale, unit), interval(contrast.low.zip(contrast.high), scale)]
}

/// An effect: a percentage, or a difference in its unit.
fn amount(ratio: Option<f64>, scale: Scale, unit: &str) -> String {
    match (ratio, scale) {
        (None, _) => number::NONE.to_owned(),
        (Some(ratio), Scale::Ratio) => number::effect(ratio),
        (Some(difference), Scale::Raw) => {
            format!("{} {}", number::difference(difference), words::clean(unit))
        }
    }
}

/// Its interval.
fn interval(ends: Option<(f64, f64)>, scale: Scale) -> String {
    match (ends, scale) {
        (None, _) => number::NONE.to_owned(),
        (Some((low, high)), Scale::Ratio) => number::interval(low, high),
        (Some((low, high)), Scale::Raw) => {
            format!("{} to {}", number::difference(low), number::difference(high))
        }
    }
}

/// What it comes to, in a word.
fn result(contrast: &Contrast) -> String {
    contrast.change.map_or_else(|| number::NONE.to_owned(), |change| change.to_string())
}

fn method(comparison: &StudyComparison) -> Vec<String> {
    let [first, second] = heads(comparison);
    vec![
        format!(
            "Each study is analysed by itself, in blocks, as in its own report; only rows and arms \
             of both are compared, against {} in both.",
            words::clean(&comparison.reference_arm)
        ),
        format!(
            "The interaction is an arm's effect in {second} over its effect in {first}: the \
             difference of the two means of log ratios over blocks, with Welch's interval (numbers \
             and spreads of blocks may differ). What a machine or a boot does to both arms alike \
             cancels in it; what it does to one of them does not."
        ),
        format!(
            "A value's change is {second} over {first} in one arm. Nothing cancels in it: its \
             interval covers the spread between blocks, not that between boots, sessions or \
             machines, so it is too narrow for a claim about the next boot, and proves no cause."
        ),
        "Suites are means over rows within each block, families weighing equally; p-values are \
         Holm-adjusted over all lines of a table, intervals are not. A regression is a line that is \
         WORSE and whose adjusted p-value is below 0.05."
            .to_owned(),
        format!(
            "Result at a margin of ±{}: no material change if the 90 % interval lies inside it, \
             else BETTER or WORSE if the {} excludes no change, else inconclusive.",
            number::share(comparison.margin),
            interval_name(comparison)
        ),
    ]
}
