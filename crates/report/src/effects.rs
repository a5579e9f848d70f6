//! The verdict and the effects per row: headlines, forest plot, table.

use crate::Study;
use crate::digest::Digest;
use crate::document::{Block, Column, Figure, Headline, Table};
use crate::number;
use crate::plot::{Forest, ForestGroup, ForestLine, Plot};
use crate::words;
use coretwin_base::origin::Origin;
use coretwin_base::study::decision::{Decision, Measure, Worth};
use coretwin_base::study::plan::{Protocol, Scale};
use coretwin_base::study::summary::{RowEffect, StoppedBecause, SuiteEffect, Verdict};
use coretwin_stats::confidence;
use coretwin_stats::study::belief;

/// Name of the study: the command, or the rows.
pub(crate) fn title(study: &Study<'_>) -> String {
    if let Some(command) = &study.plan.command {
        return words::shorten(&words::clean(&words::shell_line(&command.argv)), 90);
    }
    let mut names: Vec<&str> = Vec::new();
    for row in &study.plan.rows {
        if !names.contains(&row.workload.as_str()) {
            names.push(&row.workload);
        }
    }
    words::shorten(&words::clean(&names.join(", ")), 90)
}

/// One line: what was measured, how much, why it ended.
pub(crate) fn facts(study: &Study<'_>) -> String {
    let blocks = number::count(study.summary.blocks.into(), "block");
    let rounds = match study.plan.rules.protocol {
        Protocol::Article2003 => "protocol of 2003".to_owned(),
        Protocol::Quick => format!("screening of {blocks}, no verdict"),
        Protocol::Modern | Protocol::Fixed => blocks,
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
fn ended(study: &Study<'_>) -> String {
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

/// The primary result of each arm: its suite over everything, else its only suite or row. Where
/// licences are counted, what each arm is worth by them: the answer is one.
pub(crate) fn headlines(study: &Study<'_>, decision: Option<&Decision>) -> Vec<Headline> {
    if let Some((decision, rule)) = decision.zip(study.licence) {
        let measure = Measure::Licence(rule);
        let worth = decision.worth.iter().filter(|worth| worth.measure == measure);
        let card = |worth: &Worth| {
            let basis = format!("{measure}, {}", number::count(worth.rows.into(), "row"));
            let ends = worth.low.zip(worth.high);
            card(
                study,
                &worth.arm,
                (Scale::Ratio, ""),
                Some(worth.ratio),
                ends,
                worth.verdict,
                basis,
            )
        };
        return worth.map(card).collect();
    }
    let reference = study.plan.reference_index();
    let arms = (0..study.plan.arms.len()).filter(|arm| *arm != reference);
    arms.filter_map(|arm| headline(study, &study.plan.arms[arm].label)).collect()
}

fn headline(study: &Study<'_>, arm: &str) -> Option<Headline> {
    if let Some(suite) = primary_suite(study, arm) {
        let rows = number::count(suite.rows.into(), "row");
        let blocks = number::count(suite.blocks.into(), "block");
        let name = words::clean(&suite.suite);
        let basis = match study.plan.rules.protocol {
            Protocol::Article2003 => format!("{name}, geometric mean of {rows}"),
            _ => format!("{name}, {rows}, {blocks}"),
        };
        let ends = suite.low.zip(suite.high);
        let scale = (Scale::Ratio, "");
        return Some(card(study, arm, scale, suite.ratio, ends, suite.verdict, basis));
    }
    let row = study.summary.rows.iter().find(|row| row.arm == arm)?;
    let blocks = number::count(row.blocks.into(), "block");
    let basis = format!("{}, {blocks}", words::clean(&row.row));
    let scale = (row.scale, row.unit.as_str());
    Some(card(study, arm, scale, row.ratio, row.low.zip(row.high), row.verdict, basis))
}

/// The card of an arm, with what stands in for a verdict where there is none.
fn card(
    study: &Study<'_>,
    arm: &str,
    (scale, unit): (Scale, &str),
    effect: Option<f64>,
    ends: Option<(f64, f64)>,
    verdict: Option<Verdict>,
    mut basis: String,
) -> Headline {
    let summary = study.summary;
    let none = if scale == Scale::Ratio { 1.0 } else { 0.0 };
    let is_open = verdict.is_none() && ends.is_some_and(|(low, high)| low < none && none < high);
    if summary.origin == Origin::Simulated {
        let error = belief::error(summary.prediction.as_deref());
        basis += &error.map_or_else(
            || "; unvalidated".to_owned(),
            |score| format!("; model error {:.1} points", score.mean_error_points),
        );
    }
    let name = |arm: usize| words::arm_name(study, arm);
    let reference = name(study.plan.reference_index());
    Headline {
        against: format!("{} against {reference}", name(words::arm_index(study, arm))),
        effect: effect
            .map_or_else(|| "no result".to_owned(), |it| number::effect_on(scale, unit, it)),
        interval: ends.map(|(low, high)| {
            format!("{} {}", interval_name(study), number::interval_on(scale, low, high))
        }),
        verdict: verdict.map(|verdict| (verdict, words::verdict(study, arm, verdict))),
        mark: match summary.origin.mark() {
            None if summary.interim => Some("INTERIM"),
            None if is_open => Some("NO DIRECTION VISIBLE"),
            mark => mark,
        },
        basis,
    }
}

/// What the intervals are called.
pub(crate) fn interval_name(study: &Study<'_>) -> String {
    let confidence =
        study.summary.rows.first().map_or(confidence::CONFIDENCE, |row| row.confidence);
    study.summary.origin.interval_name(confidence)
}

/// The suite that stands for an arm: the last, which is the one over all families.
fn primary_suite<'a>(study: &Study<'a>, arm: &str) -> Option<&'a SuiteEffect> {
    study.summary.suites.iter().rfind(|suite| suite.arm == arm && suite.ratio.is_some())
}

/// The effect of a row on its scale.
pub(crate) fn effect(row: &RowEffect) -> Option<String> {
    Some(number::effect_on(row.scale, &row.unit, row.ratio?))
}

/// Its interval.
pub(crate) fn interval_text(row: &RowEffect) -> Option<String> {
    Some(number::interval_on(row.scale, row.low?, row.high?))
}

/// What is said instead of an effect, or beside it.
fn outcome(study: &Study<'_>, digest: &Digest<'_>, row: &RowEffect) -> String {
    let failed = number::count(row.failed.into(), "run");
    let text = match (row.verdict, row.blocks_needed) {
        (Some(Verdict::Inconclusive), Some(blocks)) => {
            let blocks = number::count(blocks.into(), "block");
            format!("{} (about {blocks} would decide)", Verdict::Inconclusive)
        }
        (Some(verdict), _) => words::verdict(study, &row.arm, verdict),
        (None, _) if row.ratio.is_none() && row.failed > 0 => {
            return failure(study, digest, row).unwrap_or_else(|| format!("FAILED in {failed}"));
        }
        (None, _) => number::or_none(words::not_run(study, row)),
    };
    if row.failed > 0 { format!("{text}; {failed} failed") } else { text }
}

/// Where and why a row failed at first.
fn failure(study: &Study<'_>, digest: &Digest<'_>, row: &RowEffect) -> Option<String> {
    let arms = [words::arm_index(study, &row.arm), study.plan.reference_index()];
    let reading = &study.readings[digest.first_failure(&row.row, &arms)?];
    let cause = reading.cause.as_deref().unwrap_or("no cause was recorded");
    let cause = words::shorten(&words::clean(cause), 200);
    Some(format!("FAILED in {}: {cause}", words::clean(&reading.arm)))
}

/// The section: figure, suites, rows, and rows with disturbed blocks included.
pub(crate) fn blocks(study: &Study<'_>, digest: &Digest<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    blocks.extend(forest(study));
    if study.summary.suites.len() > 1 {
        blocks.push(Block::Table(suites(study)));
    }
    blocks.push(Block::Table(rows(study, digest)));
    blocks.extend(with_set_aside(study).map(Block::Table));
    blocks
}

fn forest(study: &Study<'_>) -> Option<Block> {
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
    for row in study.summary.rows.iter().filter(drawn) {
        let interval = row.low.zip(row.high);
        add(words::clean(&row.row), false, forest_line(study, &row.arm, row.ratio, interval));
    }
    let plot = Forest { groups, margin: study.summary.margin };
    let drawable = plot.lines().any(|line| line.ratio.is_some());
    drawable.then(|| {
        let reference = study.plan.reference_index();
        let compared = (0..study.plan.arms.len()).filter(|arm| *arm != reference);
        Block::Figures {
            arms: compared.filter(|_| study.plan.arms.len() > 2).collect(),
            figures: vec![Figure {
                title: format!("Effect against {}", words::arm_name(study, reference)),
                caption: forest_caption(study),
                plot: Plot::Forest(plot),
            }],
        }
    })
}

fn forest_line(
    study: &Study<'_>,
    arm: &str,
    ratio: Option<f64>,
    interval: Option<(f64, f64)>,
) -> ForestLine {
    let arm = words::arm_index(study, arm);
    let text = match (ratio, interval) {
        (Some(ratio), Some((low, high))) => {
            format!("{}  ({})", number::effect(ratio), number::interval(low, high))
        }
        (Some(ratio), None) => number::effect(ratio),
        (None, _) => "no result".to_owned(),
    };
    ForestLine { arm, name: words::arm_name(study, arm), ratio, interval, next: None, text }
}

fn forest_caption(study: &Study<'_>) -> String {
    let mut caption = format!(
        "Right of the line is better. The shaded band is the margin of ±{}, inside which a \
         difference does not matter",
        number::share(study.summary.margin)
    );
    if study.plan.rules.protocol == Protocol::Article2003 {
        caption.push_str(". The protocol of 2003 gives no intervals.");
    } else {
        caption.push_str("; bars are the intervals, on a logarithmic axis.");
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
    let columns = vec![
        Column::words("Suite"),
        Column::words("Arm"),
        Column::number("Effect"),
        Column::number(interval_name(study)),
        Column::number("Rows"),
        Column::number("Blocks"),
        Column::words(words::verdict_column(study)),
    ];
    let row = |suite: &SuiteEffect| {
        let verdict = suite.verdict.map(|verdict| words::verdict(study, &suite.arm, verdict));
        let interval = suite.low.zip(suite.high);
        vec![
            words::clean(&suite.suite),
            words::arm_name(study, words::arm_index(study, &suite.arm)),
            number::or_none(suite.ratio.map(number::effect)),
            number::or_none(interval.map(|(low, high)| number::interval(low, high))),
            suite.rows.to_string(),
            suite.blocks.to_string(),
            number::or_none(verdict),
        ]
    };
    Table {
        caption: "Suites: families weigh equally; the primary result".to_owned(),
        columns,
        rows: study.summary.suites.iter().map(row).collect(),
        ..Table::default()
    }
}

/// A column with what stands in it.
type Filled<'a> = (Column, Box<dyn Fn(&RowEffect) -> String + 'a>);

fn rows(study: &Study<'_>, digest: &Digest<'_>) -> Table {
    let columns = row_columns(study, digest);
    let line = |row: &RowEffect| columns.iter().map(|(_, cell)| cell(row)).collect();
    Table {
        caption: "Rows".to_owned(),
        rows: study.summary.rows.iter().map(line).collect(),
        columns: columns.iter().map(|(column, _)| column.clone()).collect(),
        note: Some(rows_note(study.plan.rules.protocol == Protocol::Article2003)),
        ..Table::default()
    }
}

/// The answer first, then the values it was made from, then details.
fn row_columns<'a>(study: &'a Study<'a>, digest: &'a Digest<'a>) -> Vec<Filled<'a>> {
    let arm = |row: &RowEffect| words::arm_name(study, words::arm_index(study, &row.arm));
    let many_arms = study.plan.arms.len() > 2;
    let with_intervals = study.plan.rules.protocol != Protocol::Article2003;
    let mut columns: Vec<Filled<'a>> =
        vec![(Column::words("Row"), Box::new(|row| words::clean(&row.row)))];
    if many_arms {
        columns.push((Column::words("Arm"), Box::new(arm)));
    }
    columns.push((Column::number("Effect"), Box::new(move |row| number::or_none(effect(row)))));
    if with_intervals {
        let name = interval_name(study);
        columns
            .push((Column::number(name), Box::new(move |row| number::or_none(interval_text(row)))));
    }
    // Protocols without verdicts still have rows that failed.
    if study.summary.rows.iter().any(|row| outcome(study, digest, row) != number::NONE) {
        let verdict = Column::words(words::verdict_column(study));
        columns.push((verdict, Box::new(|row| outcome(study, digest, row))));
    }
    if with_intervals {
        let p = |row: &RowEffect| number::or_none(row.p_adjusted.map(number::p_value));
        columns.push((Column::number("p (Holm)"), Box::new(p)));
    }
    let reference = words::arm_name(study, study.plan.reference_index());
    let compared = study.summary.rows.first().filter(|_| !many_arms).map(arm);
    let compared = compared.unwrap_or_else(|| "Arm's value".to_owned());
    columns.extend::<[Filled<'a>; 4]>([
        (
            Column::number(reference).opening(),
            Box::new(|row| number::value_or_none(row.value_reference)),
        ),
        (Column::number(compared), Box::new(|row| number::value_or_none(row.value_arm))),
        (Column::words("Unit"), Box::new(unit)),
        (Column::number("Threads").detail(), Box::new(threads)),
    ]);
    if with_intervals {
        let estimate = |row: &RowEffect| match row.scale {
            Scale::Ratio => row.hodges_lehmann.map(number::effect),
            Scale::Raw => row.hodges_lehmann.map(number::difference),
        };
        columns.extend::<[Filled<'a>; 2]>([
            (
                Column::number("Hodges–Lehmann").detail(),
                Box::new(move |row| number::or_none(estimate(row))),
            ),
            (Column::number("Blocks").detail(), Box::new(|row| row.blocks.to_string())),
        ]);
    }
    columns
}

fn rows_note(article: bool) -> String {
    let arrows = "↑ higher is better, ↓ lower is better; a positive effect is always better.";
    if article {
        return arrows.to_owned();
    }
    format!(
        "{arrows} A row differs if its p-value, adjusted over all rows of an arm (Holm), is below \
         {}; its interval is not adjusted. Blocks that would decide do so four times in five. The \
         suite is the primary result.",
        confidence::level(),
    )
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
fn with_set_aside(study: &Study<'_>) -> Option<Table> {
    let disturbed = study.summary.rows.iter().filter(|row| row.blocks_set_aside > 0);
    let lines: Vec<Vec<String>> = disturbed
        .filter(|row| row.ratio_all.is_some())
        .map(|row| {
            let all = RowEffect {
                ratio: row.ratio_all,
                low: row.low_all,
                high: row.high_all,
                ..row.clone()
            };
            vec![
                words::clean(&row.row),
                words::arm_name(study, words::arm_index(study, &row.arm)),
                row.blocks_set_aside.to_string(),
                number::or_none(effect(row)),
                number::or_none(effect(&all)),
                number::or_none(interval_text(&all)),
            ]
        })
        .collect();
    (!lines.is_empty()).then(|| Table {
        caption: "With and without the blocks that were set aside".to_owned(),
        columns: vec![
            Column::words("Row"),
            Column::words("Arm"),
            Column::number("Set aside"),
            Column::number("Effect without"),
            Column::number("Effect with"),
            Column::number("Interval with"),
        ],
        rows: lines,
        ..Table::default()
    })
}
