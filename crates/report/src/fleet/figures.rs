//! The figures: heat maps, forest plots of rows by model, machines one by one.

use super::cells::{amount, ends, next_word};
use crate::document::{Block, Figure};
use crate::number;
use crate::plot::{Forest, ForestGroup, ForestLine, Heat, HeatCell, HeatRow, Plot};
use crate::words::clean;
use coretwin_base::distinct::distinct;
use coretwin_base::fleet::summary::{FleetEffect, FleetSummary};
use coretwin_base::study::plan::Scale;
use coretwin_base::study::summary::Verdict;

const MODELS_MAX: usize = 8;
const ROWS_MAX: usize = 40;

/// Names of the models that figures show, those of most machines; they stand where a study's report
/// has arms.
pub(super) fn models(summary: &FleetSummary) -> Vec<String> {
    let mut models: Vec<_> = summary.models.iter().collect();
    models.sort_by(|a, b| b.machines.cmp(&a.machines).then(a.cpu_model.cmp(&b.cpu_model)));
    models.iter().take(MODELS_MAX).map(|model| clean(&model.cpu_model)).collect()
}

fn arms(summary: &FleetSummary) -> Vec<(&str, &str)> {
    distinct(summary.effects.iter().map(|effect| (&*effect.arm, &*effect.reference)))
}

/// Lines of one arm that can be drawn as ratios, row by row; suites first.
fn rows<'a>(summary: &'a FleetSummary, arm: (&str, &str)) -> Vec<Vec<&'a FleetEffect>> {
    let mut rows: Vec<Vec<&FleetEffect>> = Vec::new();
    let all = summary.suites.iter().chain(&summary.effects);
    let same = |a: &FleetEffect, b: &FleetEffect| {
        (a.rows > 1, &a.row, &a.unit) == (b.rows > 1, &b.row, &b.unit)
    };
    for effect in all
        .filter(|effect| (&*effect.arm, &*effect.reference) == arm && effect.scale == Scale::Ratio)
    {
        match rows.iter_mut().find(|row| same(row[0], effect)) {
            Some(row) => row.push(effect),
            None => rows.push(vec![effect]),
        }
    }
    rows
}

fn row_name(effect: &FleetEffect) -> String {
    match effect.rows {
        1 => clean(&effect.row),
        rows => format!("all ({})", number::count(rows.into(), "row")),
    }
}

fn left_out(summary: &FleetSummary, rows: usize) -> String {
    let mut text = String::new();
    if rows > ROWS_MAX {
        text.push_str(&format!(
            " The first {ROWS_MAX} of {rows} rows are shown; the table and the CSV have more."
        ));
    }
    if summary.models.len() > MODELS_MAX {
        let all = summary.models.len();
        text.push_str(&format!(" The {MODELS_MAX} models of most machines of {all} are shown."));
    }
    text
}

pub(super) fn maps(summary: &FleetSummary) -> Vec<Block> {
    let models = models(summary);
    if models.len() < 2 {
        return Vec::new();
    }
    let map = |arm: (&str, &str)| {
        let rows = rows(summary, arm);
        let lines: Vec<HeatRow> = rows
            .iter()
            .take(ROWS_MAX)
            .map(|row| HeatRow {
                label: row_name(row[0]),
                cells: models.iter().map(|model| Some(cell(of_model(row, model)?))).collect(),
            })
            .collect();
        let more = left_out(summary, rows.len());
        let caption = format!("Mean effect over the machines of a model.{more}");
        let plot = Plot::Heat(Heat { columns: models.clone(), rows: lines });
        Figure::block(clean(&format!("{} against {}", arm.0, arm.1)), caption, plot)
    };
    arms(summary).into_iter().map(map).collect()
}

fn of_model<'a>(row: &[&'a FleetEffect], model: &str) -> Option<&'a FleetEffect> {
    row.iter()
        .find(|effect| effect.cpu_model.as_deref().is_some_and(|own| clean(own) == model))
        .copied()
}

fn cell(effect: &FleetEffect) -> HeatCell {
    HeatCell {
        ratio: effect.effect,
        decided: matches!(effect.verdict, Some(Verdict::Helps | Verdict::Hurts)),
        text: number::effect(effect.effect),
        title: format!(
            "{}, {}: {}",
            row_name(effect),
            effect.cpu_model.as_deref().map(clean).unwrap_or_default(),
            words(effect)
        ),
    }
}

fn words(effect: &FleetEffect) -> String {
    let mut text = amount(effect, effect.effect);
    if let Some(interval) = ends(effect, effect.low, effect.high) {
        text.push_str(&format!("  ({interval})"));
    }
    if let Some(next) = ends(effect, effect.next_low, effect.next_high) {
        text.push_str(&format!(", next {next}: {}", next_word(effect)));
    }
    text
}

pub(super) fn forests(summary: &FleetSummary) -> Vec<Block> {
    let models = models(summary);
    let forest = |arm: (&str, &str)| {
        let rows = rows(summary, arm);
        let groups: Vec<ForestGroup> = rows
            .iter()
            .take(ROWS_MAX)
            .map(|row| ForestGroup {
                label: row_name(row[0]),
                primary: row[0].rows > 1,
                lines: models
                    .iter()
                    .enumerate()
                    .filter_map(|(index, model)| {
                        let effect = of_model(row, model)?;
                        Some(line(index, model.clone(), effect))
                    })
                    .collect(),
            })
            .collect();
        let caption = format!(
            "Right of the line is better. Bars are the intervals of the mean over machines; \
             dotted lines reach to where the next machine of the model is expected. The shaded \
             band is the margin of ±{}.{}",
            number::share(summary.margin),
            left_out(summary, rows.len())
        );
        let plot = Plot::Forest(Forest { groups, margin: summary.margin });
        Figure::block(clean(&format!("{} against {}", arm.0, arm.1)), caption, plot)
    };
    arms(summary).into_iter().map(forest).collect()
}

fn line(index: usize, name: String, effect: &FleetEffect) -> ForestLine {
    let interval = effect.low.zip(effect.high);
    let next = effect.next_low.zip(effect.next_high);
    let line = ForestLine::new(index, name, Some(effect.effect), interval);
    ForestLine { next, text: words(effect), ..line }
}

/// Each machine's own effect with the mean below, for the primary row of each arm, where there are
/// few machines.
pub(super) fn machines(summary: &FleetSummary) -> Vec<Block> {
    let models = models(summary);
    let mut blocks = Vec::new();
    for arm in arms(summary) {
        let rows = rows(summary, arm);
        let Some(row) = rows.first() else { continue };
        for (index, model) in models.iter().enumerate() {
            let Some(effect) = of_model(row, model).filter(|effect| effect.points.len() > 1) else {
                continue;
            };
            let group = |label: String, primary: bool, line: ForestLine| ForestGroup {
                label,
                primary,
                lines: vec![line],
            };
            let mut groups: Vec<ForestGroup> = effect
                .points
                .iter()
                .map(|point| {
                    let range = ends(effect, point.low, point.high)
                        .map_or_else(String::new, |ends| format!("  ({ends})"));
                    let text = format!("{}{range}", amount(effect, point.effect));
                    let (name, interval) = (clean(&point.name), point.low.zip(point.high));
                    let line = ForestLine::new(index, name.clone(), Some(point.effect), interval);
                    group(name, false, ForestLine { text, ..line })
                })
                .collect();
            let mean = line(index, model.clone(), effect);
            groups.push(group("mean over machines".to_owned(), true, mean));
            let title = format!("{}, {} against {}: {model}", row_name(effect), arm.0, arm.1);
            let caption = "Each machine's own effect, by its study; below, the mean and where the next \
                           machine is expected.";
            let plot = Plot::Forest(Forest { groups, margin: summary.margin });
            blocks.push(Figure::block(clean(&title), caption, plot));
        }
    }
    blocks
}
