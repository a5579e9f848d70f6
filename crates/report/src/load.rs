//! The section on a load curve: capacity at the objective, the curves, and how much of each arm is used.

use crate::Study;
use crate::document::{Block, Column, ColumnOf, Figure, Table};
use crate::effects::interval_name;
use crate::number::{self, or_none};
use crate::plot::{Load, LoadLine, LoadMark, Plot};
use crate::words;
use coretwin_base::account::Span;
use coretwin_base::study::latency::{BEYOND_MIN, QUANTILES};
use coretwin_base::study::load::{CurvePoint, Estimated, LoadCurve};
use coretwin_base::study::summary::{Capacity, Verdict};
use coretwin_stats::study::Headline as Answer;

pub(crate) fn blocks(study: &Study<'_>) -> Vec<Block> {
    let Some(curve) = &study.summary.curve else { return Vec::new() };
    let mut blocks = Vec::new();
    if !study.summary.load.is_empty() {
        blocks.push(Block::Table(capacities(study)));
    }
    blocks.extend(figure(study, curve));
    blocks.extend(half(study, curve).map(Block::Text));
    blocks.push(Block::Table(points(study, curve)));
    blocks
}

/// What both arms of an answer carry at the objective, and how much of half a machine is left.
pub(crate) fn rates(study: &Study<'_>, of: &Answer) -> Option<String> {
    let found = |label: &str| {
        let found = study.summary.load.iter().find(|found| found.arm == label)?;
        Some(bounded((found.rate, found.rate_low, found.rate_high), rate))
    };
    Some(format!(
        "{} requests a second against {} in {}",
        found(&of.arm)?,
        found(&of.reference)?,
        arm(study, &of.reference)
    ))
}

/// The percentile that is drawn: the objective's.
fn percentile(study: &Study<'_>) -> &'static str {
    study.plan.slo().map_or("p99", |slo| slo.percentile())
}

fn arm(study: &Study<'_>, label: &str) -> String {
    words::arm_name(study, words::arm_index(study, label))
}

fn rate(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}") } else { number::whole(value.round() as u64) }
}

/// A value or a bound: `8,120`, `at least 9,000`.
fn bounded(
    (value, low, high): (Option<f64>, Option<f64>, Option<f64>),
    text: fn(f64) -> String,
) -> String {
    match (value, low, high) {
        (Some(value), ..) => text(value),
        (None, Some(low), _) => format!("at least {}", text(low)),
        (None, None, Some(high)) => format!("at most {}", text(high)),
        (None, None, None) => number::NONE.to_owned(),
    }
}

fn ends(low: Option<f64>, high: Option<f64>, text: fn(f64) -> String) -> String {
    or_none(low.zip(high).map(|(low, high)| format!("{} to {}", text(low), text(high))))
}

fn capacities(study: &Study<'_>) -> Table {
    let times = |value: f64| format!("{value:.3}");
    let verdict =
        |it: &Capacity| it.verdict.map(|verdict: Verdict| words::verdict(study, &it.arm, verdict));
    let columns: [ColumnOf<'_, Capacity>; 8] = [
        (Column::words("Arm"), &|it| arm(study, &it.arm)),
        (Column::number("Requests per second"), &|it| {
            bounded((it.rate, it.rate_low, it.rate_high), rate)
        }),
        (Column::number(interval_name(study)), &|it| ends(it.rate_low, it.rate_high, rate)),
        (Column::number("Times the reference"), &|it| bounded((it.ratio, it.low, it.high), times)),
        (Column::number("Its interval"), &|it| ends(it.low, it.high, times)),
        (Column::words(words::verdict_column(study)), &|it| or_none(verdict(it))),
        (Column::number("Blocks").detail(), &|it| it.blocks.to_string()),
        (Column::number("with a bound only").detail(), &|it| it.bounds.to_string()),
    ];
    let slo = study.plan.slo().map_or_else(String::new, |slo| slo.words());
    let note = "The highest rate that keeps the objective, found in each block between the rates that \
                were run, where the inverse of the latency is a monotone cubic. Where every rate keeps \
                it, or none does, a bound is all that is known.";
    let caption = format!("Capacity at {slo}");
    Table::of(caption, &study.summary.load, columns).note(note)
}

fn figure(study: &Study<'_>, curve: &LoadCurve) -> Option<Block> {
    let name = percentile(study);
    let line = |index: usize| {
        let label = &study.plan.arms[index].label;
        let mark = |point: &CurvePoint| {
            let Estimated { value, low, high } = *point.latency.get(name)?;
            Some(LoadMark {
                rate: point.rate,
                latency_s: value,
                interval: low.zip(high),
                title: format!(
                    "{}: {} requests per second, {name} {}",
                    arm(study, label),
                    rate(point.rate),
                    number::latency(value)
                ),
            })
        };
        let points = curve.points.iter().filter(|point| point.arm == *label);
        let capacity = study.summary.load.iter().find(|found| found.arm == *label);
        LoadLine {
            arm: index,
            points: points.filter_map(mark).collect(),
            capacity: capacity.and_then(|found| found.rate),
        }
    };
    let lines: Vec<LoadLine> = (0..study.plan.arms.len()).map(line).collect();
    if lines.iter().all(|line| line.points.is_empty()) {
        return None;
    }
    let bands = match lines.iter().flat_map(|line| &line.points).any(|it| it.interval.is_some()) {
        true => format!("; bands are the {}", interval_name(study)),
        false => String::new(),
    };
    let slo = study.plan.slo();
    let met = match slo {
        Some(_) => {
            " A ring is where an arm meets the objective, and below it the rate it carries there."
        }
        None => "",
    };
    let caption = format!(
        "Latency from when each request was due, {name}, geometric mean over blocks, on a logarithmic \
         axis{bands}. Rates are the same in every arm.{met}"
    );
    let plot = Plot::Load(Load {
        unit: name.to_owned(),
        rate: "requests per second".to_owned(),
        lines,
        objective: slo.map(|slo| (slo.seconds, slo.words())),
    });
    Some(Figure::block("Latency against rate".to_owned(), caption, plot))
}

/// What half a machine is, in each arm: busy as the kernel shows it, beside what that is of its capacity.
fn half(study: &Study<'_>, curve: &LoadCurve) -> Option<String> {
    let far = |point: &&CurvePoint| point.utilisation.map_or(f64::MAX, |it| (it.value - 0.5).abs());
    let of_arms = study.plan.arms.iter().filter_map(|one| {
        let points = curve.points.iter().filter(|point| point.arm == one.label);
        let point = points.min_by(|a, b| far(a).total_cmp(&far(b)))?;
        let of_cores = point
            .cores_used
            .map(|used| format!("{} of its cores' capacity as account says", span(used, percent)));
        let of_most = point
            .capacity_used
            .map(|used| format!("{} of what it carries at most", percent(used.value)));
        let known: Vec<String> = of_cores.into_iter().chain(of_most).collect();
        Some(format!(
            "With {} the kernel shows {} busy at {} requests a second, which is {}.",
            arm(study, &one.label),
            percent(point.utilisation?.value),
            rate(point.rate),
            Some(known.join(", and ")).filter(|known| !known.is_empty())?
        ))
    });
    Some(of_arms.collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty())
}

/// A number with its range, where it has one: `62 % (50 to 80 %)`.
fn span(it: Span, text: fn(f64) -> String) -> String {
    let Span { value, low, high } = it;
    let [low_text, high_text] = [text(low), text(high)];
    match low_text == high_text {
        true => text(value),
        false => format!("{} ({low_text} to {high_text})", text(value)),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn points(study: &Study<'_>, curve: &LoadCurve) -> Table {
    let latency = |name: &'static str| {
        move |it: &CurvePoint| {
            or_none(it.latency.get(name).map(|known| number::latency(known.value)))
        }
    };
    let by_name = QUANTILES.map(|(name, _)| latency(name));
    let of = |name: &str| QUANTILES.iter().position(|(known, _)| *known == name).unwrap_or(0);
    let main = percentile(study);
    let has = |name: &str| curve.points.iter().any(|point| point.latency.contains_key(name));
    let share = |it: Option<Estimated>| or_none(it.map(|it| percent(it.value)));
    let interval = |it: &CurvePoint| {
        let known = it.latency.get(main);
        known.map_or_else(|| number::NONE.to_owned(), |it| ends(it.low, it.high, number::latency))
    };
    let faster = |it: &CurvePoint| or_none(it.faster.map(|it| number::effect(it.value)));
    let faster_ends = |it: &CurvePoint| {
        let ends = it.faster.and_then(|it| it.low.zip(it.high));
        or_none(ends.map(|(low, high)| number::interval(low, high)))
    };
    let is_accounted = curve.points.iter().any(|point| point.capacity_s.is_some());
    let columns: [ColumnOf<'_, CurvePoint>; 16] = [
        (Column::words("Arm"), &|it| arm(study, &it.arm)),
        (Column::number("Share"), &|it| or_none(it.share.map(percent))),
        (Column::number("Offered, /s"), &|it| rate(it.rate)),
        (Column::number("Answered, /s"), &|it| or_none(it.throughput.map(|it| rate(it.value)))),
        (Column::number("p50").only_if(has("p50")), &by_name[of("p50")]),
        (Column::number("p95").only_if(has("p95")), &by_name[of("p95")]),
        (Column::number("p99").only_if(has("p99")), &by_name[of("p99")]),
        (Column::number("p99.9").only_if(has("p99.9")), &by_name[of("p99.9")]),
        (Column::number(format!("{main}, interval")).detail(), &interval),
        (Column::number("Faster than the reference"), &faster),
        (Column::number("Its interval").detail(), &faster_ends),
        (Column::number("Busy, by the kernel").opening(), &|it| share(it.utilisation)),
        (Column::number("Capacity used, by account").only_if(is_accounted), &|it| {
            or_none(it.cores_used.map(|used| span(used, percent)))
        }),
        (Column::number("Of its most requests"), &|it| share(it.capacity_used)),
        (Column::number("CPU time per request"), &|it| {
            or_none(it.cpu_s.map(|it| number::latency(it.value)))
        }),
        (Column::number("Capacity per request").only_if(is_accounted), &|it| {
            or_none(it.capacity_s.map(|used| span(used, number::latency)))
        }),
    ];
    let accounted = match is_accounted {
        true => {
            " Capacity used, by account: of the arm's cores with all their siblings, where CPU time beside \
             a busy sibling takes less of a core than time alone; its range is that of the yield and of the \
             looks."
        }
        false => "",
    };
    let note = format!(
        "A percentile stands where at least {BEYOND_MIN} requests of a run lie beyond it, in half of the \
         blocks.{accounted} Of its most requests: what is answered, as a share of the most that the arm \
         answers."
    );
    Table::of("The curve", &curve.points, columns).note(note)
}
