//! The report of a study: its sections in their order, and its formats.

use crate::article::{article_csv, article_json};
use crate::brief::{Brief, tally};
use crate::csv::csv;
use crate::digest::{Digest, Study};
use crate::document::{Block, Document, Outline};
use crate::format::{Format, document_formats, json};
use crate::hyperfine::hyperfine;
use crate::openmetrics::openmetrics;
use crate::{article, conditions, decision, effects, load, number, readings, words};
use coretwin_base::origin::Origin;
use coretwin_base::study::plan::{Protocol, Rule, Scale};
use coretwin_base::study::summary::RowEffect;
use coretwin_base::units::human_seconds;
use coretwin_stats::confidence;
use coretwin_stats::study::{Headline, belief, foremost, headlines, interactions, parts_said};

pub type StudyFormat = Format<fn(&Study<'_>) -> String>;

/// Every format of a study, in the order they are listed to people.
pub const FORMATS: &[StudyFormat] = document_formats![
    document, "report", " with all figures", ", without figures";
    Format { in_full: true, ..Format::new("csv", "every reading, one line each", csv) },
    Format::new("json", "the summary: effects, intervals, verdicts", json),
    Format::new("openmetrics", "effects for a monitor: OpenMetrics text", openmetrics),
    Format {
        in_full: true,
        ..Format::new("hyperfine", "what hyperfine --export-json writes, of rows in seconds", hyperfine)
    },
    Format::new(
        "article-csv",
        "the article's tables, one line for each row and arm, with what it printed",
        article_csv,
    ),
    Format::new("article-json", "the same as JSON, with the sizes of Table 3", article_json),
];

pub fn text(study: &Study<'_>) -> String {
    crate::text::write(&document(study, false))
}

/// The answer in a few lines. What to do next and where the report is are for the caller to add.
pub fn study_brief(study: &Study<'_>) -> Brief {
    let Study { plan, readings, summary, .. } = study;
    let all = headlines(plan, summary);
    let place = foremost(&all);
    let Some(first) = all.get(place) else { return Brief::default() };
    let why = summary.sentences.get(place).or(summary.sentences.first());
    let (label, pieces) = match (first.effect, why) {
        (None, Some(why)) => ("because", vec![why.clone()]),
        _ => ("interval", interval(study, first)),
    };
    let of_arm = |one: &Headline| {
        let effect = one.effect.map(|effect| number::effect_on(one.scale, &one.unit, effect));
        let effect = one.times().or(effect);
        let word = if summary.origin == Origin::Measured { one.word } else { "" };
        format!("{} {} {word}", one.arm, number::or_none(effect)).trim_end().to_owned()
    };
    let split = parts_said(plan, summary);
    let is_told = |arm: &str| !split.is_empty() && !plan.arm(arm).is_some_and(|arm| arm.control);
    let others =
        all.iter().enumerate().filter(|(index, one)| *index != place && !is_told(&one.arm));
    let runs_s = readings.iter().fold(0.0, |sum, reading| sum + reading.elapsed_s);
    let blocks = number::count(summary.blocks.into(), "block");
    let simulated = (summary.origin == Origin::Simulated).then(|| summary.machine.clone());
    Brief::new(first.word, first.sentence())
        .line(label, pieces.into_iter().chain(others.map(|(_, one)| of_arm(one))))
        .line("arms", interactions(plan, summary))
        .line("split", split)
        .line(
            "ended",
            [effects::ended(study), format!("{blocks}, {} of runs", human_seconds(runs_s))]
                .into_iter()
                .chain(simulated),
        )
        .warnings(conditions::warnings(study))
}

/// The interval; of several rows what they say one by one, and which is furthest from their mean.
fn interval(study: &Study<'_>, of: &Headline) -> Vec<String> {
    let mut pieces = vec![match of.interval {
        Some(ends) => effects::interval_of(study, of, ends),
        None if of.capacity.is_some() => "a bound, no interval".to_owned(),
        None if study.plan.rules.protocol == Protocol::Article2003 => "no interval".to_owned(),
        None if study.summary.rule == Rule::Verdict => format!(
            "no {} yet: it begins after {} blocks",
            confidence::sequence(),
            study.plan.blocks_min()
        ),
        None => "no interval: that takes two blocks".to_owned(),
    }];
    if study.summary.origin == Origin::Simulated {
        let error = belief::error(study.summary.prediction.as_deref());
        pieces.push(error.map_or_else(
            || "unvalidated".to_owned(),
            |score| format!("the model's own error is {:.1} points", score.mean_error_points),
        ));
    }
    if of.capacity.is_some() {
        pieces.extend(load::rates(study, of));
        return pieces;
    }
    let is_compared = |row: &&RowEffect| row.arm == of.arm && row.scale == Scale::Ratio;
    let rows: Vec<&RowEffect> = study.summary.rows.iter().filter(is_compared).collect();
    let Some(mean) = of.effect.filter(|_| rows.len() > 1) else { return pieces };
    let verdicts = rows.iter().filter_map(|row| row.verdict);
    let verdicts = tally(verdicts.map(|verdict| words::verdict(study, &of.arm, verdict)));
    let head = format!("geometric mean of {}", number::count(of.rows.into(), "row"));
    pieces.push(if verdicts.is_empty() { head } else { format!("{head}: {verdicts}") });
    let far = |row: &&&RowEffect| row.ratio.map_or(0.0, |ratio| (ratio / mean).ln().abs());
    if let Some(row) = rows.iter().max_by(|a, b| far(a).total_cmp(&far(b))) {
        let verdict =
            row.verdict.map(|verdict| format!(" {}", words::verdict(study, &of.arm, verdict)));
        let effect = number::or_none(row.ratio.map(number::effect));
        pieces.push(format!("furthest {} {effect}{}", row.row, verdict.unwrap_or_default()));
    }
    pieces
}

pub fn markdown(study: &Study<'_>) -> String {
    crate::markdown::write(&document(study, false))
}

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
    outline.add("load", "Latency and capacity under load", load::blocks(study));
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
