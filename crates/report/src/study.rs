//! The report of a study: its sections in their order, and its formats.

use crate::article::{article_csv, article_json};
use crate::csv::csv;
use crate::digest::{Digest, Study};
use crate::document::{Block, Document, Outline};
use crate::format::{Format, document_formats};
use crate::json::json;
use crate::openmetrics::openmetrics;
use crate::{article, conditions, decision, effects, readings, words};
use coretwin_stats::study::foremost;

/// A form in which a study can be reported.
pub type StudyFormat = Format<fn(&Study<'_>) -> String>;

/// Every format of a study, in the order they are listed to people.
pub const FORMATS: &[StudyFormat] = document_formats![
    document, "report", " with all figures", ", without figures";
    Format { in_full: true, ..Format::new("csv", "every reading, one line each", csv) },
    Format::new("json", "the summary: effects, intervals, verdicts", json),
    Format::new("openmetrics", "effects for a monitor: OpenMetrics text", openmetrics),
    Format::new(
        "article-csv",
        "the article's tables, one line for each row and arm, with what it printed",
        article_csv,
    ),
    Format::new("article-json", "the same as JSON, with the sizes of Table 3", article_json),
];

/// The report for a terminal.
#[must_use]
pub fn text(study: &Study<'_>) -> String {
    crate::text::write(&document(study, false))
}

/// The report as Markdown.
#[must_use]
pub fn markdown(study: &Study<'_>) -> String {
    crate::markdown::write(&document(study, false))
}

/// The report as one self-contained HTML page.
#[must_use]
pub fn html(study: &Study<'_>) -> String {
    crate::html::write(&document(study, true))
}

/// With figures, or without those that need a page to be drawn on.
fn document(study: &Study<'_>, with_figures: bool) -> Document {
    let digest = Digest::new(study);
    let decision = decision::of(study);
    let mut outline = Outline::default();
    if let Some(decision) = &decision {
        let title = match decision::applies(study, decision) {
            true => "What to set",
            false => "What each arm is worth",
        };
        outline.add("decision", title, decision::blocks(study, decision));
    }
    outline.add("effects", "Effect per row", effects::blocks(study, &digest));
    outline.add("article", "The 2003 article's tables", article::blocks(study));
    if with_figures {
        outline.add("counts", "Thread and copy counts", readings::curves(study, &digest));
        outline.add("readings", "Readings in run order", readings::run_order(study, &digest));
        outline.add("distribution", "Distribution", readings::distribution(study, &digest));
    }
    outline.add("troubled", "Failed and disturbed runs", readings::troubled(study, &digest));
    outline.add("conditions", "What differed between the arms", conditions::differences(study));
    outline.add("environment", "Environment", conditions::environment(study));
    outline.warnings(conditions::warnings(study));
    outline.add("method", "Method", vec![Block::List(conditions::method(study))]);
    outline.add("reproduce", "How to reproduce", conditions::reproduce(study));
    // Where licences are counted the answer is what they say, above as below.
    let sentences = match decision.as_ref().filter(|_| study.licence.is_some()) {
        Some(decision) => &decision.choice.sentences,
        None => &study.summary.sentences,
    };
    let answers = effects::answers(study, decision.as_ref());
    let interim = study.summary.interim.then_some("INTERIM");
    Document {
        kind: "Coretwin study",
        title: effects::title(study),
        marks: [words::mark(study.summary.origin)].into_iter().chain(interim).collect(),
        notice: words::notice(study),
        headline: answers.get(foremost(&answers)).map(|answer| words::clean(&answer.title())),
        sentences: sentences.iter().map(|text| words::clean(text)).collect(),
        headlines: answers.iter().map(|answer| effects::card(study, answer)).collect(),
        facts: effects::facts(study),
        arms: (0..study.plan.arms.len()).map(|arm| words::arm_name(study, arm)).collect(),
        sections: outline.sections,
    }
}
