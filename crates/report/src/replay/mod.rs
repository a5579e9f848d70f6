//! The report of `account --replay`: one sentence, hours of the day, groups and their requests.

mod figure;
mod machines;

pub use figure::replay_svg;
pub use machines::{machines_brief, machines_svg, machines_text};

use crate::brief::Brief;
use crate::number;
use crate::words::{clean, columns, paragraph, shorten};
use coretwin_base::account::Span;
use coretwin_base::account::replay::{Replay, ReplayHour, ReplaySmt, Stretch};
use coretwin_base::units::human_seconds;

const DAY_S: i64 = 86_400;
const PAGE: usize = 100;
const GROUPS: usize = 40;

pub fn replay_brief(replay: &Replay) -> Brief {
    let (word, answer) = answer(replay);
    let time = |hours: f64| time(hours, replay.hours);
    let certain = replay.fits_low_h.map_or("not known".to_owned(), time);
    let hours = format!(
        "{certain} for certain, {} possibly, of {}",
        time(replay.fits_high_h),
        time(replay.hours)
    );
    let Span { value, low, high } = replay.core_yield;
    let yields = format!("{value:.2} ({low:.2} to {high:.2})");
    let model = &replay.model;
    let model = format!("model {} to {}", time(model.fits_low_h), time(model.fits_high_h));
    let rule = format!("'a busy CPU is a busy core' {}", time(replay.rule_fits_h));
    Brief::new(&word, answer)
        .line("interval", [hours])
        .line("yield", [yields, wait(replay), throughput(replay)])
        .line("beside it", [model, rule])
        .warnings(&replay.warnings)
}

/// Hours where there are many, else as people say shorter times.
fn time(hours: f64, of: f64) -> String {
    if of < 2.0 { human_seconds(hours * 3600.0) } else { format!("{hours:.1} h") }
}

fn verdict(replay: &Replay) -> &'static str {
    match (replay.fits_low_h, &replay.worst) {
        _ if replay.fits_high_h + 1e-9 < replay.hours => "DOES NOT FIT",
        (Some(_), None) => "FITS",
        _ => "MAY NOT FIT",
    }
}

fn how(replay: &Replay) -> &'static str {
    match (replay.smt, replay.recorded_threads > 1) {
        (ReplaySmt::Off, _) => "without siblings",
        (ReplaySmt::On, true) => "as it was recorded",
        (ReplaySmt::On, false) => "with siblings",
        (ReplaySmt::CoreSched, _) => "with core scheduling",
    }
}

/// The verdict and the one sentence that begins with it.
fn answer(replay: &Replay) -> (String, String) {
    let mark = replay.origin.mark();
    let hours = replay.hours;
    let all = time(hours, hours);
    let (verdict, how) = (verdict(replay), how(replay));
    let word = mark.map_or_else(|| verdict.to_owned(), |mark| format!("{mark}: {verdict}"));
    let fits =
        replay.fits_low_h.filter(|_| verdict != "DOES NOT FIT").unwrap_or(replay.fits_high_h);
    let at_most =
        if verdict == "DOES NOT FIT" || replay.fits_low_h.is_none() { "at most " } else { "" };
    let first = match verdict {
        "FITS" => format!("{word}: all {all} fit {how}, even if all that waited had run."),
        _ => {
            let worst = replay.worst.as_ref().map(|worst| format!("; {}", stretch(worst)));
            let (fits, worst) = (time(fits, hours), worst.unwrap_or_default());
            format!("{word}: {at_most}{fits} of {all} fit {how}{worst}.")
        }
    };
    (word, first)
}

/// `14:00 to 15:00 UTC needs 1.10 to 1.40 of capacity`.
fn stretch(worst: &Stretch) -> String {
    let (from, until) = (clock(worst.from), clock(worst.until - 1) + 1);
    let needs = match worst.high {
        Some(high) => format!("{:.2} to {high:.2}", worst.low),
        None => format!("at least {:.2}", worst.low),
    };
    format!("{from:02}:00 to {until:02}:00 UTC needs {needs} of capacity")
}

fn clock(t: i64) -> i64 {
    t.rem_euclid(DAY_S) / 3600
}

fn date(t: i64) -> String {
    let at = jiff::Timestamp::from_second(t).map(|at| at.to_string());
    at.map_or_else(|_| "?".to_owned(), |text| text.chars().take(10).collect())
}

fn wait(replay: &Replay) -> String {
    let [low, high] = [replay.wait_low_s, replay.wait_high_s].map(human_seconds);
    format!("work waits {low} to {high} longer at worst")
}

fn throughput(replay: &Replay) -> String {
    let high = replay.throughput_high.map_or("not known".to_owned(), |high| format!("{high:.3}"));
    format!("work done {:.3} to {high} of what was", replay.throughput_low)
}

fn model(replay: &Replay) -> String {
    let model = &replay.model;
    format!(
        "model, the same work at the same times: {} to {} fit, work waits {} to {}",
        time(model.fits_low_h, replay.hours),
        time(model.fits_high_h, replay.hours),
        human_seconds(model.wait_low_s),
        human_seconds(model.wait_high_s)
    )
}

fn rule(replay: &Replay) -> String {
    let fits = time(replay.rule_fits_h, replay.hours);
    format!("the rule 'a busy CPU is a busy core': {fits} fit")
}

fn used(replay: &Replay) -> String {
    let used = |end: fn(&Span) -> f64| {
        let sum: f64 = replay.minutes.iter().map(|it| end(&it.capacity_used) * it.elapsed_s).sum();
        number::value(sum / (replay.hours * 3600.0).max(f64::MIN_POSITIVE))
    };
    format!(
        "capacity used when it was recorded: {} ({} to {}) of {} cores",
        used(|span| span.value),
        used(|span| span.low),
        used(|span| span.high),
        replay.cores
    )
}

fn yields(replay: &Replay) -> String {
    let Span { value, low, high } = replay.core_yield;
    format!("{value:.2} ({low:.2} to {high:.2}), {}", clean(&replay.yield_origin.words()))
}

pub fn replay_text(replay: &Replay) -> String {
    let mut out = String::new();
    paragraph(&mut out, &answer(replay).1);
    for line in [wait(replay), throughput(replay), model(replay), rule(replay), used(replay)] {
        let mut letters = line.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        let line: String = first.into_iter().chain(letters).collect();
        paragraph(&mut out, &(line + "."));
    }
    paragraph(&mut out, &format!("Yield: {}.", yields(replay)));
    paragraph(
        &mut out,
        "Demand in cores. At least: the work that was done. At most: all that ran and waited, a core \
         each. Capacity: what the cores do if siblings give the least, and the most.",
    );
    out.push_str("\nHOURS (UTC)\n");
    out += &columns(&hours(replay), PAGE);
    if !replay.groups.is_empty() {
        out.push_str("\nGROUPS\n");
        out += &columns(&groups(replay), PAGE);
        if replay.groups.len() > GROUPS {
            out += &format!("and {} more\n", replay.groups.len() - GROUPS);
        }
    }
    out.push_str("\nLICENCES\n");
    for line in licences(replay) {
        paragraph(&mut out, &line);
    }
    for warning in &replay.warnings {
        paragraph(
            &mut out,
            &format!("Warning: {}; {}.", clean(&warning.text), clean(&warning.remedy)),
        );
    }
    out
}

fn head(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn hours(replay: &Replay) -> Vec<Vec<String>> {
    let names =
        ["hour", "recorded", "least", "most", "capacity", "over: minutes", "in doubt: minutes"];
    let row = |hour: &ReplayHour| {
        let capacity = match hour.capacity == hour.capacity_high {
            true => format!("{:.1}", hour.capacity),
            false => format!("{:.1} to {:.1}", hour.capacity, hour.capacity_high),
        };
        vec![
            format!("{} {:02}", date(hour.t), clock(hour.t)),
            human_seconds(hour.recorded_s),
            format!("{:.2}", hour.demand_low),
            hour.demand_high.map_or(number::NONE.to_owned(), |high| format!("{high:.2}")),
            capacity,
            hour.over.to_string(),
            hour.doubtful.to_string(),
        ]
    };
    std::iter::once(head(&names)).chain(replay.by_hour.iter().map(row)).collect()
}

fn groups(replay: &Replay) -> Vec<Vec<String>> {
    let names = ["cgroup", "alone", "beside", "some waited", "request by"];
    let rows = replay.groups.iter().take(GROUPS).map(|group| {
        let Span { low, high, .. } = group.request;
        vec![
            shorten(&clean(&group.name), 44),
            human_seconds(group.alone_s),
            human_seconds(group.beside_s),
            group.waiting_s.map_or(number::NONE.to_owned(), human_seconds),
            format!("{low:.2} to {high:.2}"),
        ]
    });
    std::iter::once(head(&names)).chain(rows).collect()
}

/// Work for each licence or unit of price, over that when it was recorded.
fn licences(replay: &Replay) -> Vec<String> {
    let range = |low: f64, high: Option<f64>| {
        let high = high.map_or("not known".to_owned(), |high| format!("{high:.3}"));
        format!("{low:.3} to {high}")
    };
    vec![
        format!(
            "Counted by the core, the machine, or the vCPUs of an instance whatever runs on them: work \
             for each is {} of what it was.",
            range(replay.throughput_low, replay.throughput_high)
        ),
        format!(
            "Counted by the thread (vCPU) that is online, one a core without siblings: {}.",
            range(replay.per_thread_low, replay.per_thread_high)
        ),
    ]
}
