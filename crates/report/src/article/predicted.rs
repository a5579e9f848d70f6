//! The article's tables of a simulated study: under each policy the boot without SMT and that with it
//! in the article's layout, the article's figures and the error of each prediction beside them; then
//! scores, aims, and what comes from the processor and what from the scheduler.

use super::SOURCE;
use super::columns::{self, Footnotes};
use crate::Study;
use crate::document::{Block, Column, ColumnOf, Table};
use crate::{number, words};
use coretwin_article::prediction::{Pair, pairs};
use coretwin_article::printed::Kernel;
use coretwin_article::tables::{Filled, filled};
use coretwin_base::distinct::distinct;
use coretwin_base::simulation::Simulation;
use coretwin_base::simulation::prediction::{Gain, PredictedRow, Prediction, Score, Standing};
use coretwin_base::study::plan::Protocol;

/// The section of a simulated study. Where no policy has both boots it says how much was simulated.
pub(super) fn blocks(study: &Study<'_>) -> Option<Vec<Block>> {
    let simulation = study.plan.simulation.as_deref()?;
    let prediction = study.summary.prediction.as_deref()?;
    let mut blocks = Vec::new();
    if simulation.is_articles && !prediction.gains.is_empty() {
        blocks.push(Block::Text(opening(simulation)));
        let mut notes = Footnotes::default();
        for pair in pairs(study.plan, study.readings, study.summary.stopped_because) {
            blocks.extend(of_pair(study, &pair, prediction, &mut notes));
        }
        blocks.push(Block::Table(scores(prediction)));
        blocks.extend(aims(prediction).map(Block::Table));
    }
    if !prediction.gains.is_empty() {
        blocks.push(Block::Table(gains(prediction)));
    }
    blocks.push(Block::Text(samples(prediction, study.summary.blocks)));
    Some(blocks)
}

fn opening(simulation: &Simulation) -> String {
    let fit = match &simulation.fit {
        None => "Nothing was fitted.".to_owned(),
        Some(fit) => format!(
            "{} were fitted, to {} ({}); every figure with SMT and all of Table 7 are predictions.",
            number::count(fit.parameters.into(), "parameter"),
            words::clean(&fit.fitted_to),
            words::clean(&fit.origin)
        ),
    };
    format!(
        "In the layout of the 2003 article ({SOURCE}), simulated: {}. Columns named after the article hold what it printed. An error is the predicted speed-up \
         less the article's, in percentage points, both from the values and not from the rounded \
         column. {fit}",
        words::clean(&simulation.title)
    )
}

/// The tables of one policy. The plan's protocol is the article's here, for its layout alone.
fn of_pair(
    study: &Study<'_>,
    pair: &Pair,
    prediction: &Prediction,
    notes: &mut Footnotes,
) -> Vec<Block> {
    let mut plan = pair.plan.clone();
    plan.rules.protocol = Protocol::Article2003;
    let pair_study = Study {
        plan: &plan,
        readings: &pair.readings,
        environment: study.environment,
        summary: &pair.summary,
        licence: None,
    };
    let kernel = pair.kernel();
    let mut blocks = Vec::new();
    for table in filled(pair_study.plan) {
        let table = table.of_kernel(kernel, pair.scheduler());
        if table.number == 4 {
            blocks.push(Block::Table(columns::chat_sizes(&pair_study, &table)));
        }
        let errors = errors(&table, pair.scheduler(), prediction);
        let mut shown = columns::table(&pair_study, &table, notes);
        let told = errors.notes.iter().filter_map(|text| notes.once(text)).collect::<Vec<_>>();
        shown.note = shown.note.map(|note| [vec![note], told].concat().join(" "));
        blocks.push(Block::Table(with_errors(shown, errors, &table, pair, prediction)));
        if kernel == Some(Kernel::Stable2419) {
            blocks.extend(columns::figure(&pair_study, &table));
        }
    }
    blocks
}

/// What stands in the column of errors, line by line, and what is to be said below.
struct Errors {
    cells: Vec<String>,
    notes: Vec<String>,
}

fn errors(table: &Filled<'_>, scheduler: &str, prediction: &Prediction) -> Errors {
    let mut errors = Errors { cells: Vec::new(), notes: Vec::new() };
    for line in &table.lines {
        let is_of = |row: &&PredictedRow| row.row == line.row.id && row.scheduler == scheduler;
        let found = prediction.rows.iter().find(is_of);
        let cell = match found.map(|row| (&row.standing, row)) {
            None => number::NONE.to_owned(),
            Some((Standing::Scored | Standing::Beside, row)) => points(row.error_points),
            Some((Standing::Fitted(what), _)) => {
                errors.note(format!("Fitted: {}; no part of any score.", words::clean(what)));
                "fitted".to_owned()
            }
            Some((Standing::LeftOut(why), _)) => {
                errors.note(format!("Left out of scores: {}.", words::clean(why)));
                "left out".to_owned()
            }
        };
        errors.cells.push(cell);
    }
    errors
}

impl Errors {
    fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }
}

fn with_errors(
    mut shown: Table,
    errors: Errors,
    table: &Filled<'_>,
    pair: &Pair,
    prediction: &Prediction,
) -> Table {
    if errors.cells.iter().all(|cell| cell == number::NONE) {
        return shown;
    }
    let family = table.lines.first().map(|line| line.row.family.as_str());
    let is_of =
        |gain: &&Gain| Some(gain.family.as_str()) == family && gain.scheduler == pair.scheduler();
    let mean =
        prediction.gains.iter().find(is_of).and_then(|gain| Some((gain.speed_up, gain.article?)));
    let mean = mean.filter(|_| errors.cells.iter().all(|cell| cell != number::NONE));
    let mean = mean
        .map_or_else(|| number::NONE.to_owned(), |(own, article)| points(100.0 * (own - article)));
    shown.columns.push(Column::number("Error, points"));
    for (row, cell) in shown.rows.iter_mut().zip(errors.cells.into_iter().chain([mean])) {
        row.push(cell);
    }
    shown
}

/// `+3.2`, `−1.0`.
fn points(points: f64) -> String {
    let text = format!("{points:+.1}").replace('-', "−");
    if text == "−0.0" { "+0.0".to_owned() } else { text }
}

fn scores(prediction: &Prediction) -> Table {
    let constant = prediction.scores.first().map_or(0.0, |score| 100.0 * score.constant);
    let correlation = |value: f64| format!("{value:+.2}").replace('-', "−");
    let columns: [ColumnOf<'_, Score>; 5] = [
        (Column::words("Over"), &|it| words::clean(&it.over)),
        (Column::number("Rows"), &|it| it.rows.to_string()),
        (Column::number("Mean error, points"), &|it| format!("{:.1}", it.mean_error_points)),
        (Column::number(format!("Error of a constant {constant:+.0} %")), &|it| {
            format!("{:.1}", it.constant_error_points)
        }),
        (Column::number("Rank correlation"), &|it| {
            number::or_none(it.rank_correlation.map(correlation))
        }),
    ];
    let note = "Mean absolute error. Fitted rows, sieve and the sync rows are in no score. The constant is \
                what needs no model: the whole per cent nearest to all of the article's speed-ups in \
                Tables 4 to 7. 40 rooms on 2.5.32 count as 213,509: the 231,509 printed is a misprint.";
    let caption = "Scores: predicted speed-ups against the article's";
    Table::of(caption, &prediction.scores, columns).note(note)
}

fn aims(prediction: &Prediction) -> Option<Table> {
    let row = |aim: &coretwin_base::simulation::prediction::Aim| {
        let met = if aim.met { "yes" } else { "NO" };
        vec![words::clean(&aim.aim), words::clean(&aim.found), met.to_owned()]
    };
    let rows: Vec<_> = prediction.aims.iter().map(row).collect();
    let columns = Column::list(["Aim", "Found", "Reached"]);
    (!rows.is_empty()).then(|| Table::new("What the models were to reach", columns, rows))
}

/// A family a line, a policy a column; the processor's own offer first.
fn gains(prediction: &Prediction) -> Table {
    let schedulers = distinct(prediction.gains.iter().map(|gain| gain.scheduler.as_str()));
    let families = distinct(prediction.gains.iter().map(|gain| gain.family.as_str()));
    let find = |family: &str, scheduler: &str| {
        let is_of = |gain: &&Gain| gain.family == family && gain.scheduler == scheduler;
        prediction.gains.iter().find(is_of)
    };
    let effect = |share: f64| number::effect(1.0 + share);
    let offered = |family: &str| {
        let offers = prediction.gains.iter().filter(|gain| gain.family == family);
        let (least, most) = number::ends(offers.filter_map(|gain| gain.processor))?;
        let [least, most] = [least, most].map(effect);
        Some(if least == most { least } else { format!("{least} to {most}") })
    };
    let row = |family: &&str| {
        let mut cells = vec![words::clean(family)];
        cells.push(number::or_none(offered(family)));
        for scheduler in &schedulers {
            let gain = find(family, scheduler).map(|gain| effect(gain.speed_up));
            cells.push(number::or_none(gain));
        }
        cells
    };
    let mut columns = vec![Column::words("Family"), Column::number("Processor")];
    columns.extend(schedulers.iter().map(|name| Column::number(words::clean(name))));
    let note = "Processor: throughput of the core while two siblings were busy over that with one busy, in \
                these runs; it is what a scheduler that always had two tasks to run would gain. The \
                kernel's own costs (switches, scans of lists) count in it as not slowed, so it is an \
                upper bound. What differs between the columns after it comes from the scheduler, and \
                from waiting that a second CPU makes or saves.";
    let rows = families.iter().map(row).collect();
    Table::new("What SMT brings, by policy", columns, rows).note(note)
}

fn samples(prediction: &Prediction, blocks: u32) -> String {
    let told = prediction.samples.iter().map(|sample| {
        let load = match sample.fraction < 1.0 {
            true => format!("at least {} of the load", number::share(sample.fraction)),
            false => "the whole load".to_owned(),
        };
        let runs = match sample.runs {
            [least, most] if least == most => number::count(least.into(), "run"),
            [least, most] => format!("{least} to {most} runs"),
        };
        let told = format!("{}: {load}, {runs} a reading", words::clean(&sample.family));
        if blocks < 2 {
            return told;
        }
        format!("{told}, seed spread {:.2} % at most", 100.0 * sample.spread)
    });
    let told: Vec<String> = told.collect();
    format!(
        "What is simulated, and what the seed moves. {}. The seed spread is the standard error of a \
         printed value, the largest of the family's rows and arms: another seed gives a value within \
         twice that.",
        told.join("; ")
    )
}
