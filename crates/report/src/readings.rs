//! Figures of raw readings: run order, distribution, curves over thread and copy counts.
//!
//! Figures are bounded: however many readings there are, at most [`DOTS_MAX`] of them are drawn,
//! evenly spaced, and the caption says so.

use crate::Study;
use crate::digest::{Digest, Fate, Point, RowReadings};
use crate::document::{Block, Column, Figure, Table};
use crate::number;
use crate::plot::{Curve, CurveLine, Distribution, Dot, Plot, RunOrder, Sorted};
use crate::words;
use coretwin_base::study::plan::{CopyRule, PlanRow, ThreadRule};
use coretwin_base::study::reading::Status;

/// Most readings drawn in run order, over all rows of a study.
const DOTS_MAX: usize = 16_000;
const TROUBLED_MAX: usize = 30;
const SORTED_MAX: usize = 150;
/// Most titles (shown under a resting pointer) per row: readings that did not take part.
const TITLES_MAX: usize = 40;

pub(crate) fn troubled(study: &Study<'_>, digest: &Digest<'_>) -> Vec<Block> {
    let line = |index: &u32| {
        let reading = &study.readings[*index as usize];
        let status = if reading.status == Status::Failed { "failed" } else { "set aside" };
        let cause = reading.cause.as_deref().unwrap_or("no cause was recorded");
        vec![
            number::whole(reading.seq),
            digest.label(&reading.row),
            words::arm_name(study, words::arm_index(study, &reading.arm)),
            format!("{}, attempt {}", reading.block, reading.attempt),
            status.to_owned(),
            words::shorten(&words::clean(cause), 200),
        ]
    };
    let left_out = digest.troubled.len().saturating_sub(TROUBLED_MAX) as u64;
    let more = match left_out {
        0 => String::new(),
        left_out => format!("{} more are in journal.jsonl.", number::whole(left_out)),
    };
    let columns = Column::list(["#Reading", "Row", "Arm", "Block", "Status", "Cause"]);
    let rows = digest.troubled.iter().take(TROUBLED_MAX).map(line).collect();
    let table = Table::new("Runs that failed or were set aside", columns, rows).note(more);
    if digest.troubled.is_empty() { Vec::new() } else { vec![Block::Table(table)] }
}

pub(crate) fn run_order(study: &Study<'_>, digest: &Digest<'_>) -> Vec<Block> {
    let series = digest.rows.len().max(1) * study.plan.arms.len().max(1);
    let per_arm_max = (DOTS_MAX / series).max(20);
    let figures: Vec<Figure> = digest
        .rows
        .iter()
        .filter(|row| row.study.iter().any(|points| !points.is_empty()))
        .map(|row| run_order_of(study, digest, row, per_arm_max))
        .collect();
    if figures.is_empty() {
        return vec![Block::Text("No reading of the comparison was taken.".to_owned())];
    }
    let about = "Each mark is one run, from the first on the left to the last on the right, so that \
                 drift shows. Runs that are not analysed were set aside, or belong to a block that was \
                 run again.";
    vec![Block::Text(about.to_owned()), Block::Figures(figures)]
}

fn run_order_of(
    study: &Study<'_>,
    digest: &Digest<'_>,
    row: &RowReadings<'_>,
    per_arm_max: usize,
) -> Figure {
    let ordinary = |point: &&Point| point.fate == Fate::Analysed;
    let most = |wanted: bool| {
        let count = |points: &Vec<Point>| points.iter().filter(|p| ordinary(p) == wanted).count();
        row.study.iter().map(count).max().unwrap_or(0)
    };
    // Readings that did not take part are few, as a rule, and must not vanish by thinning.
    let step = most(true).div_ceil(per_arm_max).max(1);
    let step_other = most(false).div_ceil((per_arm_max / 4).max(10)).max(1);
    let mut titles_left = TITLES_MAX;
    let mut dots = Vec::new();
    for (arm, points) in row.study.iter().enumerate() {
        let analysed = points.iter().filter(ordinary).step_by(step);
        let other = points.iter().filter(|point| !ordinary(point)).step_by(step_other);
        for point in analysed.chain(other) {
            let title = (point.fate != Fate::Analysed && titles_left > 0).then(|| {
                titles_left -= 1;
                title(study, point)
            });
            dots.push(Dot {
                arm,
                order: point.order,
                value: point.value,
                analysed: point.fate == Fate::Analysed,
                title,
            });
        }
    }
    let readings = row.study.iter().map(Vec::len).sum::<usize>();
    Figure {
        title: digest.label(&row.row.id),
        caption: run_order_caption(row, readings, step, step_other),
        plot: Plot::RunOrder(RunOrder {
            unit: words::clean(&row.row.unit),
            readings: u32::try_from(readings).unwrap_or(u32::MAX),
            dots,
        }),
    }
}

fn title(study: &Study<'_>, point: &Point) -> String {
    let reading = &study.readings[point.reading as usize];
    let what = match point.fate {
        Fate::Failed => "failed",
        _ => "not analysed",
    };
    let cause = reading.cause.as_deref().unwrap_or("its block was run again or not completed");
    let arm = words::clean(&reading.arm);
    format!("{arm}, block {}, {what}: {}", reading.block, words::clean(cause))
}

fn run_order_caption(row: &RowReadings<'_>, readings: usize, step: usize, other: usize) -> String {
    let count =
        |fate: Fate| row.study.iter().flatten().filter(|point| point.fate == fate).count() as u64;
    let mut parts = vec![number::count(readings as u64, "reading")];
    for (fate, words) in [(Fate::NotAnalysed, "not analysed"), (Fate::Failed, "failed")] {
        if count(fate) > 0 {
            parts.push(format!("{} {words}", number::whole(count(fate))));
        }
    }
    let mut caption = format!("{}.", parts.join(", "));
    if step > 1 {
        caption.push_str(&format!(
            " Drawn is every {} of the {} analysed readings of the row.",
            number::ordinal(step as u64),
            number::whole(count(Fate::Analysed))
        ));
    }
    if other > 1 {
        caption
            .push_str(&format!(" Of the others every {} is drawn.", number::ordinal(other as u64)));
    }
    caption
}

pub(crate) fn distribution(study: &Study<'_>, digest: &Digest<'_>) -> Vec<Block> {
    let figures: Vec<Figure> =
        digest.rows.iter().filter_map(|row| distribution_of(study, digest, row)).collect();
    if figures.is_empty() {
        return Vec::new();
    }
    let about = "Above, the share of runs at or below a value; below, the runs themselves, with \
                 the middle half of them as a bar. Curves that do not touch are arms that never \
                 gave the same value.";
    vec![Block::Text(about.to_owned()), Block::Figures(figures)]
}

fn distribution_of(
    study: &Study<'_>,
    digest: &Digest<'_>,
    row: &RowReadings<'_>,
) -> Option<Figure> {
    let mut analysed = 0;
    let mut thinned = false;
    let mut series = Vec::new();
    for (arm, points) in row.study.iter().enumerate() {
        let taken = points.iter().filter(|point| point.fate == Fate::Analysed);
        let mut values: Vec<f64> = taken.filter_map(|point| point.value).collect();
        values.sort_unstable_by(f64::total_cmp);
        analysed += values.len();
        thinned |= values.len() > SORTED_MAX;
        if !values.is_empty() {
            let values = evenly(&values, SORTED_MAX);
            series.push(Sorted { arm, name: words::arm_name(study, arm), values });
        }
    }
    let mut caption = format!("{} analysed.", number::count(analysed as u64, "reading"));
    if thinned {
        caption.push_str(&format!(" Drawn are {SORTED_MAX} of each arm, evenly spaced by rank."));
    }
    (!series.is_empty()).then(|| Figure {
        title: digest.label(&row.row.id),
        caption,
        plot: Plot::Distribution(Distribution { unit: words::clean(&row.row.unit), series }),
    })
}

/// At most so many of the sorted values, evenly spaced by rank, the first and the last included.
fn evenly(values: &[f64], count_max: usize) -> Vec<f64> {
    if values.len() <= count_max {
        return values.to_vec();
    }
    let last = values.len() - 1;
    (0..count_max).map(|index| values[index * last / (count_max - 1)]).collect()
}

/// Curves over thread counts (screened, or of rows that differ in nothing else) and copy counts.
pub(crate) fn curves(study: &Study<'_>, digest: &Digest<'_>) -> Vec<Block> {
    let mut figures: Vec<Figure> =
        digest.rows.iter().filter_map(|row| screened(study, digest, row)).collect();
    figures.extend(alike(study));
    if figures.is_empty() {
        return Vec::new();
    }
    vec![Block::Figures(figures)]
}

fn screened(study: &Study<'_>, digest: &Digest<'_>, row: &RowReadings<'_>) -> Option<Figure> {
    let mut lines = Vec::new();
    for (arm, dots) in row.screen.iter().enumerate().filter(|(_, dots)| !dots.is_empty()) {
        let mut counts: Vec<u32> = dots.iter().map(|(threads, _)| *threads).collect();
        counts.sort_unstable();
        counts.dedup();
        let mean = |threads: u32| {
            let at: Vec<f64> =
                dots.iter().filter(|(n, _)| *n == threads).map(|(_, value)| *value).collect();
            (threads, at.iter().sum::<f64>() / at.len() as f64)
        };
        let step = dots.len().div_ceil(200);
        lines.push(CurveLine {
            arm,
            means: counts.into_iter().map(mean).collect(),
            dots: dots.iter().step_by(step).copied().collect(),
            chosen: study.summary.threads_chosen.get(&study.plan.arms[arm].label).copied(),
        });
    }
    let tried = lines.iter().any(|line| line.means.len() > 1);
    tried.then(|| Figure {
        title: format!("{}: screening", digest.label(&row.row.id)),
        caption: "Screening of thread counts before the study, means and single runs; these \
                  readings take no part in the comparison."
            .to_owned(),
        plot: Plot::Curve(Curve {
            unit: words::clean(&row.row.unit),
            count: "threads".to_owned(),
            lines,
        }),
    })
}

/// A group of rows that are alike but for their number of threads, or of copies.
fn alike(study: &Study<'_>) -> Vec<Figure> {
    let mut figures = Vec::new();
    for count in ["threads", "copies"] {
        let mut groups: Vec<(&PlanRow, Vec<(u32, &str)>)> = Vec::new();
        for row in &study.plan.rows {
            let Some(number) = number_of(count, row) else { continue };
            match groups.iter_mut().find(|(first, _)| is_alike(count, first, row)) {
                Some((_, group)) => group.push((number, &row.id)),
                None => groups.push((row, vec![(number, &row.id)])),
            }
        }
        groups.retain(|(_, group)| group.len() > 1);
        figures.extend(groups.iter().filter_map(|(row, group)| curve(study, row, count, group)));
    }
    figures
}

/// How many threads, or copies, a row has in every arm.
fn number_of(count: &str, row: &PlanRow) -> Option<u32> {
    match (count, row.threads, row.copies) {
        ("threads", ThreadRule::Fixed(number), _) | ("copies", _, CopyRule::Fixed(number)) => {
            Some(number)
        }
        _ => None,
    }
}

fn is_alike(count: &str, a: &PlanRow, b: &PlanRow) -> bool {
    let rest = if count == "threads" { a.copies == b.copies } else { a.threads == b.threads };
    rest && (&a.workload, &a.params, a.placement, &a.unit, a.scale)
        == (&b.workload, &b.params, b.placement, &b.unit, b.scale)
}

fn curve(study: &Study<'_>, row: &PlanRow, count: &str, counts: &[(u32, &str)]) -> Option<Figure> {
    let reference = study.plan.reference_index();
    let line = |arm: usize| {
        let label = study.plan.arms[arm].label.as_str();
        let value = |id: &str| {
            let mut effects = study.summary.rows.iter().filter(|effect| effect.row == id);
            if arm == reference {
                effects.find_map(|effect| effect.value_reference)
            } else {
                effects.find(|effect| effect.arm == label)?.value_arm
            }
        };
        let mut means: Vec<(u32, f64)> =
            counts.iter().filter_map(|(n, id)| Some((*n, value(id)?))).collect();
        means.sort_by_key(|(n, _)| *n);
        CurveLine { arm, means, dots: Vec::new(), chosen: None }
    };
    let lines: Vec<CurveLine> =
        (0..study.plan.arms.len()).map(line).filter(|line| line.means.len() > 1).collect();
    (!lines.is_empty()).then(|| Figure {
        title: format!("{} over {count}", words::clean(&row.workload)),
        caption: format!("Means of the rows that differ only in their number of {count}."),
        plot: Plot::Curve(Curve { unit: words::clean(&row.unit), count: count.to_owned(), lines }),
    })
}
