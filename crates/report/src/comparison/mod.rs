//! The report of studies compared with a first one: regressions first, then the article's Table 7 layout with
//! the interaction added, the values arm by arm, and what differs between the machines.

pub(crate) mod cells;
pub(crate) mod csv;
mod effects;
mod machines;
mod regressions;
pub(crate) mod together;
mod values;

use crate::brief::{Brief, of_document, tally};
use crate::comparison::cells::{cells, csv_of, heads, json, notice, tone};
use crate::document::{Block, Document, Headline, Outline};
use crate::format::{Format, document_formats};
use crate::{number, words};
use coretwin_base::distinct::distinct;
use coretwin_base::origin::Origin;
use coretwin_base::study::comparison::StudyComparison;
use coretwin_base::study::plan::Scale;
use coretwin_stats::confidence;

pub type ComparisonFormat = Format<fn(&[StudyComparison]) -> String>;

/// Every format of comparisons, in the order they are listed to people.
pub const COMPARISON_FORMATS: &[ComparisonFormat] = document_formats![
    |comparisons, _figures| whole(comparisons), "comparison", "", "";
    Format::new("csv", "every effect and value, one line each", |comparisons| {
        csv_of(comparisons, csv::of_studies)
    }),
    Format::new("json", "the whole record", json),
];

pub fn comparison_brief(comparisons: &[StudyComparison]) -> Brief {
    let changes =
        comparisons.iter().flat_map(regressions::changes).map(|change| change.to_string());
    of_document(&whole(comparisons)).line("all lines", [tally(changes)])
}

fn whole(comparisons: &[StudyComparison]) -> Document {
    together::together(comparisons.iter().map(document).collect())
}

fn document(comparison: &StudyComparison) -> Document {
    let mut outline = Outline::default();
    outline.add("regressions", "Regressions", regressions::blocks(comparison));
    outline.add("effects", "Effects and interaction", effects::blocks(comparison));
    outline.add("values", "Values, arm by arm", values::blocks(comparison));
    outline.add("unmatched", "Not in both", machines::unmatched(comparison));
    outline.add("machines", "Studies and machines", machines::blocks(comparison));
    outline.warnings(&comparison.warnings);
    outline.add("method", "Method", vec![Block::List(method(comparison))]);
    let origins = comparison.studies.each_ref().map(|study| Some(study.origin));
    Document {
        kind: "Coretwin comparison",
        title: title(comparison),
        marks: words::marks_of_pair(origins),
        notice: notice(
            "studies",
            origins,
            comparison.studies.each_ref().map(|study| study.comparison),
        ),
        sentences: comparison.sentences.iter().map(|text| words::clean(text)).collect(),
        headlines: headlines(comparison),
        facts: facts(comparison),
        arms: heads(comparison).into(),
        sections: outline.sections,
        ..Document::default()
    }
}

fn title(comparison: &StudyComparison) -> String {
    let [first, second] = heads(comparison);
    let families = distinct(comparison.effects.iter().map(|line| line.family.as_str()));
    let subject = match families.as_slice() {
        [] => String::new(),
        families => format!("{}: ", families.join(", ")),
    };
    words::shorten(&words::clean(&format!("{subject}{second} against {first}")), 90)
}

/// The interaction of each arm, by its suite over everything, else its only row.
fn headlines(comparison: &StudyComparison) -> Vec<Headline> {
    let [first, second] = heads(comparison);
    let mut headlines: Vec<Headline> = Vec::new();
    for arm in distinct(comparison.effects.iter().map(|line| line.effects[0].arm.as_str())) {
        let mut lines = comparison.effects.iter();
        let Some(line) = lines.find(|line| line.effects[0].arm == arm) else { continue };
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
            against: words::clean(&format!(
                "{arm} against {}: {second} over {first}",
                comparison.reference_arm
            )),
            effect,
            interval: contrast.low.map(|_| format!("{} {interval}", comparison.interval_name())),
            verdict: contrast.change.map(|change| (tone(change), change.to_string())),
            mark: Origin::of_change(comparison.studies.iter().map(|study| study.origin)).mark(),
            basis: format!("{}, {} and {} blocks", words::clean(&subject), blocks[0], blocks[1]),
        });
    }
    headlines
}

fn facts(comparison: &StudyComparison) -> String {
    let part = |study: &coretwin_base::study::comparison::ComparedStudy| {
        format!("{}: {}", words::clean(&study.head), number::count(study.blocks.into(), "block"))
    };
    let [first, second] = comparison.studies.each_ref().map(part);
    let mut rows: Vec<&str> = comparison.values.iter().map(|line| line.name.as_str()).collect();
    rows.sort_unstable();
    rows.dedup();
    format!("{first} · {second} · {} in common", number::count(rows.len() as u64, "row"))
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
         WORSE."
            .to_owned(),
        format!(
            "Result at a margin of ±{}: no material change if the {} lies inside it, \
             else BETTER or WORSE if the adjusted p-value is below {}, else inconclusive.",
            number::share(comparison.margin),
            confidence::equivalence_interval(),
            confidence::level(),
        ),
    ]
}
