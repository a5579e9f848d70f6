//! The verdict and the effects per row: headlines, forest plot, table.

use crate::Study;
use crate::article;
use crate::digest::Digest;
use crate::document::{Block, Column, ColumnOf, Figure, Headline, Table};
use crate::number::{self, or_none};
use crate::plot::{Forest, ForestGroup, ForestLine, Plot};
use crate::words;
use coretwin_base::distinct::distinct;
use coretwin_base::origin::Origin;
use coretwin_base::study::decision::{Decision, Measure, Worth};
use coretwin_base::study::plan::{PlanRow, Protocol, Rule, Scale};
use coretwin_base::study::summary::{
    Interaction, RowEffect, SplitEffect, StoppedBecause, SuiteEffect, Verdict,
};
use coretwin_stats::confidence;
use coretwin_stats::study::{self, Headline as Answer, belief};
use std::collections::BTreeSet;

const TITLE_MAX: usize = 90;

/// Name of the study: the command, the workloads, or their families where they are too many.
pub(crate) fn title(study: &Study<'_>) -> String {
    if study.plan.has_variants() {
        let variants = study.plan.arms.iter().filter_map(|arm| arm.variant.as_ref());
        let names = distinct(variants.map(|variant| variant.name.as_str()));
        return words::shorten(&words::clean(&names.join(" against ")), TITLE_MAX);
    }
    if let Some(command) = &study.plan.command {
        return words::shorten(&words::clean(&words::shell_line(&command.argv)), TITLE_MAX);
    }
    let listed = |name: fn(&PlanRow) -> &str| distinct(study.plan.rows.iter().map(name));
    if article::is_whole(study.plan) {
        return format!("the 2003 article ({})", article::SOURCE);
    }
    let workloads = words::clean(&listed(|row| &row.workload).join(", "));
    match workloads.chars().count() > TITLE_MAX {
        true => words::shorten(&words::clean(&listed(|row| &row.family).join(", ")), TITLE_MAX),
        false => workloads,
    }
}

pub(crate) fn facts(study: &Study<'_>) -> String {
    let blocks = number::count(study.summary.blocks.into(), "block");
    let rounds = match study.plan.rules.protocol {
        Protocol::Article2003 => "protocol of 2003".to_owned(),
        Protocol::Quick if study.plan.rules.is_screening() => {
            format!("screening of {blocks}, no verdict")
        }
        Protocol::Modern | Protocol::Fixed | Protocol::Quick => blocks,
    };
    let origin = match study.summary.origin {
        Origin::Measured => String::new(),
        origin => format!("{origin} "),
    };
    let interim = if study.summary.interim { "interim · " } else { "" };
    format!(
        "{interim}{origin}{} · {} · {rounds} · {} · {}",
        words::clean(&study.summary.machine),
        number::count(study.plan.rows.len() as u64, "row"),
        number::count(study.readings.len() as u64, "reading"),
        ended(study),
    )
}

/// Why the study ended; of one whose budget did, how exact it is.
pub(crate) fn ended(study: &Study<'_>) -> String {
    let because = words::stopped(study.summary.stopped_because);
    let ratios = study.summary.rows.iter().filter(|row| row.scale == Scale::Ratio);
    let half = ratios.filter_map(|row| Some((row.high? / row.low?).sqrt() - 1.0)).reduce(f64::max);
    match (study.summary.stopped_because, half) {
        (StoppedBecause::Budget, Some(half)) => format!(
            "{because}; the widest interval is ±{}, ±{} was aimed at",
            number::share(half),
            number::share(study.summary.target)
        ),
        _ => because.to_owned(),
    }
}

/// The answer on each arm other than the reference; where licences are counted, what it is worth by
/// them.
pub(crate) fn answers(study: &Study<'_>, decision: Option<&Decision>) -> Vec<Answer> {
    let all = study::headlines(study.plan, study.summary);
    let Some((decision, rule)) = decision.zip(study.licence) else { return all };
    let of_arm = |arm: &str| {
        let is_of = |worth: &&Worth| worth.measure == Measure::Licence(rule) && worth.arm == arm;
        decision.worth.iter().find(is_of)
    };
    let by = |answer: Answer| {
        Some(of_arm(&answer.arm)?).map(|it| answer.by_licence(it, study.plan, study.summary))
    };
    all.into_iter().filter_map(by).collect()
}

/// The card of an arm, with what stands in for a verdict where there is none.
pub(crate) fn card(study: &Study<'_>, answer: &Answer) -> Headline {
    let name = |arm: &str| words::arm_name(study, words::arm_index(study, arm));
    let (scale, rows) = (answer.scale, number::count(answer.rows.into(), "row"));
    let size = match (study.plan.rules.protocol, answer.rows) {
        (_, 0 | 1) => number::count(answer.blocks.into(), "block"),
        (Protocol::Article2003, _) => format!("geometric mean of {rows}"),
        _ => format!("{rows}, {}", number::count(answer.blocks.into(), "block")),
    };
    let error = belief::error(study.summary.prediction.as_deref());
    let error = match (answer.origin, error) {
        (Origin::Simulated, None) => "; unvalidated".to_owned(),
        (Origin::Simulated, Some(score)) => {
            format!("; model error {:.1} points", score.mean_error_points)
        }
        _ => String::new(),
    };
    let subject = match study.licence {
        Some(rule) => Measure::Licence(rule).to_string(),
        None => answer.subject.clone(),
    };
    Headline {
        against: format!("{} against {}", name(&answer.arm), name(&answer.reference)),
        effect: answer.times().unwrap_or_else(|| {
            let effect = |effect| number::effect_on(scale, &answer.unit, effect);
            answer.effect.map_or_else(|| "no result".to_owned(), effect)
        }),
        interval: answer.interval.map(|ends| interval_of(study, answer, ends)),
        verdict: answer.verdict.map(|verdict| (verdict, answer.word.to_owned())),
        mark: match answer.word {
            _ if answer.verdict.is_some() => None,
            "SCREENING" | "NO VERDICT" if answer.is_open() => Some("NO DIRECTION VISIBLE"),
            word => Some(word),
        },
        basis: format!("{}, {size}{error}", words::clean(&subject)),
    }
}

/// The interval of an answer with its name: of a capacity in times, else as effects are shown.
pub(crate) fn interval_of(study: &Study<'_>, of: &Answer, (low, high): (f64, f64)) -> String {
    let ends = match of.capacity {
        Some(_) => format!("{low:.2} to {high:.2}"),
        None => number::interval_on(of.scale, low, high),
    };
    format!("{} {ends}", interval_name(study))
}

pub(crate) fn interval_name(study: &Study<'_>) -> String {
    let confidence =
        study.summary.rows.first().map_or(confidence::CONFIDENCE, |row| row.confidence);
    match (study.summary.origin, study.summary.rule) {
        (Origin::Measured, Rule::Verdict) => confidence::sequence(),
        (origin, _) => origin.interval_name(confidence),
    }
}

pub(crate) fn effect(row: &RowEffect) -> Option<String> {
    Some(number::effect_on(row.scale, &row.unit, row.ratio?))
}

pub(crate) fn interval_text(row: &RowEffect) -> Option<String> {
    Some(number::interval_on(row.scale, row.low?, row.high?))
}

/// What is said instead of an effect, or beside it.
fn outcome(study: &Study<'_>, digest: &Digest<'_>, row: &RowEffect) -> String {
    let failed = number::count(row.failed.into(), "run");
    let text = match row.verdict {
        Some(verdict) => words::verdict(study, &row.arm, verdict),
        None if row.ratio.is_none() && row.failed > 0 => {
            return failure(study, digest, row).unwrap_or_else(|| format!("FAILED in {failed}"));
        }
        None => or_none(words::not_run(study, row)),
    };
    match (row.failed, text.as_str()) {
        (0, _) => text,
        (_, number::NONE) => format!("{failed} failed"),
        _ => format!("{text}; {failed} failed"),
    }
}

fn failure(study: &Study<'_>, digest: &Digest<'_>, row: &RowEffect) -> Option<String> {
    let arm = words::arm_index(study, &row.arm);
    let arms = [arm, study.plan.base_index(arm)];
    let reading = &study.readings[digest.first_failure(&row.row, &arms)?];
    let cause = reading.cause.as_deref().unwrap_or("no cause was recorded");
    let cause = words::shorten(&words::clean(cause), 200);
    Some(format!("FAILED in {}: {cause}", words::clean(&reading.arm)))
}

pub(crate) fn blocks(study: &Study<'_>, digest: &Digest<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    blocks.extend(digest.common.clone().map(Block::Text));
    blocks.extend(forest(study, digest));
    if study.summary.suites.len() > 1 {
        blocks.push(Block::Table(suites(study)));
    }
    blocks.push(Block::Table(rows(study, digest)));
    blocks.extend(split(study).map(Block::Table));
    blocks.extend(interactions(study).map(Block::Table));
    blocks.extend(with_set_aside(study, digest).map(Block::Table));
    blocks
}

/// Fewer rows than this are not worth folding away.
const QUIET_MIN: usize = 4;

/// Whether a row stays inside the margin: by its verdict, where there is none by its interval.
fn is_inside(study: &Study<'_>, row: &RowEffect) -> bool {
    let is_inside = |end: f64| (end - 1.0).abs() <= study.summary.margin;
    match (row.verdict, row.ratio) {
        _ if row.failed > 0 || row.scale == Scale::Raw => false,
        (Some(verdict), _) => verdict == Verdict::NoMaterialDifference,
        (None, Some(ratio)) => {
            [ratio, row.low.unwrap_or(ratio), row.high.unwrap_or(ratio)].into_iter().all(is_inside)
        }
        (None, None) => false,
    }
}

fn inside(study: &Study<'_>, rows: usize) -> String {
    let rows = number::count(rows as u64, "row");
    format!("{rows} inside the margin of ±{}", number::share(study.summary.margin))
}

/// Places of the rows that say nothing new, and what they are called; none where they are few.
fn quiet(study: &Study<'_>) -> (Vec<usize>, String) {
    let rows = &study.summary.rows;
    let (mut places, mut within) = (Vec::new(), 0);
    for (place, row) in rows.iter().enumerate() {
        within += usize::from(is_inside(study, row));
        if is_inside(study, row) || words::not_run(study, row).is_some() {
            places.push(place);
        }
    }
    if places.len() < QUIET_MIN {
        return (Vec::new(), String::new());
    }
    let absent = places.len() - within;
    let absent =
        (absent > 0).then(|| format!("{} not run in an arm", number::count(absent as u64, "row")));
    let within = (within > 0).then(|| inside(study, within));
    (places, within.into_iter().chain(absent).collect::<Vec<_>>().join(", "))
}

fn forest(study: &Study<'_>, digest: &Digest<'_>) -> Option<Block> {
    let mut groups: Vec<ForestGroup> = Vec::new();
    let mut add = |label: String, primary: bool, line: ForestLine| {
        let same = |group: &&mut ForestGroup| (&group.label, group.primary) == (&label, primary);
        match groups.iter_mut().find(same) {
            Some(group) => group.lines.push(line),
            None => groups.push(ForestGroup { label, primary, lines: vec![line] }),
        }
    };
    // A suite of one row would only say the same twice.
    let suites = study.summary.suites.iter().filter(|suite| suite.rows > 1);
    for suite in suites {
        let label = format!("{} (suite)", words::clean(&suite.suite));
        let interval = suite.low.zip(suite.high);
        add(label, true, forest_line(study, &suite.arm, suite.ratio, interval));
    }
    let drawn =
        |row: &&RowEffect| row.scale == Scale::Ratio && words::not_run(study, row).is_none();
    let rows: Vec<&RowEffect> = study.summary.rows.iter().filter(drawn).collect();
    // A row that differs in any arm is drawn in all.
    let loud: BTreeSet<&str> =
        rows.iter().filter(|row| !is_inside(study, row)).map(|row| &*row.row).collect();
    let all: BTreeSet<&str> = rows.iter().map(|row| &*row.row).collect();
    let folds = all.len() - loud.len() >= QUIET_MIN;
    for row in rows.iter().filter(|row| !folds || loud.contains(&*row.row)) {
        let interval = row.low.zip(row.high);
        add(digest.label(&row.row), false, forest_line(study, &row.arm, row.ratio, interval));
    }
    let left_out = if folds { all.len() - loud.len() } else { 0 };
    let plot = Forest { groups, margin: study.summary.margin };
    let drawable = plot.lines().any(|line| line.ratio.is_some());
    let reference = words::arm_name(study, study.plan.reference_index());
    let caption = forest_caption(study, &plot, left_out);
    let title = match study.plan.arms.iter().any(|arm| arm.against.is_some()) {
        true => "Effect of each arm".to_owned(),
        false => format!("Effect against {reference}"),
    };
    drawable.then(|| Figure::block(title, caption, Plot::Forest(plot)))
}

fn forest_line(
    study: &Study<'_>,
    arm: &str,
    ratio: Option<f64>,
    interval: Option<(f64, f64)>,
) -> ForestLine {
    let arm = words::arm_index(study, arm);
    let name = words::compared_name(study, &study.plan.arms[arm].label);
    ForestLine::new(arm, name, ratio, interval)
}

fn forest_caption(study: &Study<'_>, plot: &Forest, left_out: usize) -> String {
    let mut caption = format!(
        "Right of the line is better. The shaded band is the margin of ±{}, inside which a \
         difference does not matter",
        number::share(study.summary.margin)
    );
    caption.push_str(&match plot.lines().any(|line| line.interval.is_some()) {
        true => format!("; bars are the {}, on a logarithmic axis.", interval_name(study)),
        false => ". There are no intervals.".to_owned(),
    });
    if left_out > 0 {
        caption.push_str(&format!(" Only in the table: {}.", inside(study, left_out)));
    }
    let raw = study.summary.rows.iter().filter(|row| row.scale == Scale::Raw).count();
    if raw > 0 {
        let rows = number::count(raw as u64, "row");
        caption.push_str(&format!(
            " Only in the table: {rows} compared by difference instead of ratio."
        ));
    }
    caption
}

fn suites(study: &Study<'_>) -> Table {
    let verdict = |it: &SuiteEffect| it.verdict.map(|one| words::verdict(study, &it.arm, one));
    let interval = |it: &SuiteEffect| it.low.zip(it.high);
    let columns: [ColumnOf<'_, SuiteEffect>; 7] = [
        (Column::words("Suite"), &|it| words::clean(&it.suite)),
        (Column::words("Arm"), &|it| words::compared_name(study, &it.arm)),
        (Column::number("Effect"), &|it| or_none(it.ratio.map(number::effect))),
        (Column::number(interval_name(study)), &|it| {
            or_none(interval(it).map(|(low, high)| number::interval(low, high)))
        }),
        (Column::number("Rows"), &|it| it.rows.to_string()),
        (Column::number("Blocks"), &|it| it.blocks.to_string()),
        (Column::words(words::verdict_column(study)), &|it| or_none(verdict(it))),
    ];
    let caption = "Suites: families weigh equally; the primary result";
    Table::of(caption, &study.summary.suites, columns)
}

/// Whether a change of command does as much in one state of the machine as in another.
fn interactions(study: &Study<'_>) -> Option<Table> {
    let all = &study.summary.interactions;
    let of = |it: &Interaction| it.effect.low.zip(it.effect.high);
    let name = |label: &str| words::arm_name(study, words::arm_index(study, label));
    let word = |verdict| study::interaction_word(verdict).to_owned();
    let verdict = |it: &Interaction| or_none(it.effect.verdict.map(word));
    let columns: [ColumnOf<'_, Interaction>; 6] = [
        (Column::words("Arm"), &|it| name(&it.effect.arm)),
        (Column::words("Beside"), &|it| name(&it.against)),
        (Column::number("Interaction"), &|it| or_none(it.effect.ratio.map(number::effect))),
        (Column::number(interval_name(study)), &|it| {
            or_none(of(it).map(|(low, high)| number::interval(low, high)))
        }),
        (Column::number("Blocks"), &|it| it.effect.blocks.to_string()),
        (Column::words("Result"), &verdict),
    ];
    let note = "What the command gains in this arm, divided by what it gains in the other.";
    (!all.is_empty()).then(|| Table::of("Interactions", all, columns).note(note))
}

/// What siblings do and what more threads do, apart.
fn split(study: &Study<'_>) -> Option<Table> {
    let Study { plan, summary, .. } = study;
    let name = |label: &str| words::arm_name(study, words::arm_index(study, label));
    let of = |it: &SplitEffect| it.effect.low.zip(it.effect.high);
    let columns: [ColumnOf<'_, SplitEffect>; 7] = [
        (Column::words("Part"), &|it| study::part_name(plan, it.part)),
        (Column::words("Arm"), &|it| name(&it.effect.arm)),
        (Column::words("Over"), &|it| name(&it.against)),
        (Column::number("Effect"), &|it| or_none(it.effect.ratio.map(number::effect))),
        (Column::number(interval_name(study)), &|it| {
            or_none(of(it).map(|(low, high)| number::interval(low, high)))
        }),
        (Column::number("Blocks"), &|it| it.effect.blocks.to_string()),
        (Column::words("Result"), &|it| {
            or_none(study::part_word(plan, summary, it).map(str::to_owned))
        }),
    ];
    let note = "Both together is the product of more threads and of the siblings that bear them; the \
                interaction is what siblings do with more threads, divided by what they do with fewer.";
    let table = Table::of("Siblings and threads apart", &summary.split, columns);
    (!summary.split.is_empty()).then(|| table.note(note))
}

/// The answer first, then the values it was made from, then details.
fn rows(study: &Study<'_>, digest: &Digest<'_>) -> Table {
    let rows = &study.summary.rows;
    let arm = |row: &RowEffect| words::compared_name(study, &row.arm);
    let many_arms = study.plan.arms.len() > 2;
    let with_intervals = study.plan.rules.protocol != Protocol::Article2003;
    // Protocols without verdicts still have rows that failed.
    let with_outcomes = rows.iter().any(|row| outcome(study, digest, row) != number::NONE);
    let with_needed = rows.iter().any(|row| row.blocks_needed.is_some());
    let reference = match study.plan.arms.iter().any(|arm| arm.against.is_some()) {
        true => "Its base".to_owned(),
        false => words::arm_name(study, study.plan.reference_index()),
    };
    let compared = rows.first().filter(|_| !many_arms).map(arm);
    let compared = compared.unwrap_or_else(|| "Arm's value".to_owned());
    let estimate = |row: &RowEffect| match row.scale {
        Scale::Ratio => row.hodges_lehmann.map(number::effect),
        Scale::Raw => row.hodges_lehmann.map(number::difference),
    };
    let needed = |row: &RowEffect| row.blocks_needed.map(|it| number::whole(it.into()));
    let detail = |name: &str| Column::number(name).detail().expert();
    let columns: [ColumnOf<'_, RowEffect>; 13] = [
        (Column::words("Row"), &|row| digest.label(&row.row)),
        (Column::words("Arm").only_if(many_arms), &arm),
        (Column::number("Effect"), &|row| or_none(effect(row))),
        (Column::number(interval_name(study)).only_if(with_intervals), &|row| {
            or_none(interval_text(row))
        }),
        (Column::words(words::verdict_column(study)).only_if(with_outcomes), &|row| {
            outcome(study, digest, row)
        }),
        (Column::number("p (Holm)").expert().only_if(with_intervals), &|row| {
            or_none(row.p_adjusted.map(number::p_value))
        }),
        (Column::number(reference).opening(), &|row| number::value_or_none(row.value_reference)),
        (Column::number(compared), &|row| number::value_or_none(row.value_arm)),
        (Column::words("Unit"), &unit),
        (detail("Threads"), &threads),
        (detail("Hodges–Lehmann").only_if(with_intervals), &|row| or_none(estimate(row))),
        (detail("Blocks").only_if(with_intervals), &|row| row.blocks.to_string()),
        (Column::number("Blocks that would decide").expert().only_if(with_needed), &|row| {
            or_none(needed(row))
        }),
    ];
    let (quiet, quiet_caption) = quiet(study);
    let arrows = "↑ higher is better, ↓ lower is better; a positive effect is always better.";
    Table { quiet, quiet_caption, ..Table::of("Rows", rows, columns).note(arrows) }
}

fn unit(row: &RowEffect) -> String {
    format!("{} {}", words::clean(&row.unit), words::arrow(row.better)).trim_start().to_owned()
}

/// Threads, and copies where there are several.
fn threads(row: &RowEffect) -> String {
    let threads = if row.threads == row.threads_reference {
        number::whole(row.threads.into())
    } else {
        let (before, after) = (row.threads_reference, row.threads);
        format!("{} → {}", number::whole(before.into()), number::whole(after.into()))
    };
    if row.copies > 1 { format!("{threads} × {}", row.copies) } else { threads }
}

/// The rows that had disturbed blocks, compared once more with those blocks included.
fn with_set_aside(study: &Study<'_>, digest: &Digest<'_>) -> Option<Table> {
    let disturbed = study.summary.rows.iter().filter(|row| row.blocks_set_aside > 0);
    let lines: Vec<&RowEffect> = disturbed.filter(|row| row.ratio_all.is_some()).collect();
    let all = |row: &RowEffect| RowEffect {
        ratio: row.ratio_all,
        low: row.low_all,
        high: row.high_all,
        ..row.clone()
    };
    let columns: [ColumnOf<'_, RowEffect>; 6] = [
        (Column::words("Row"), &|row| digest.label(&row.row)),
        (Column::words("Arm"), &|row| words::arm_name(study, words::arm_index(study, &row.arm))),
        (Column::number("Set aside"), &|row| row.blocks_set_aside.to_string()),
        (Column::number("Effect without"), &|row| or_none(effect(row))),
        (Column::number("Effect with"), &|row| or_none(effect(&all(row)))),
        (Column::number("Interval with"), &|row| or_none(interval_text(&all(row)))),
    ];
    let caption = "With and without the blocks that were set aside";
    (!lines.is_empty()).then(|| Table::of(caption, lines, columns))
}
