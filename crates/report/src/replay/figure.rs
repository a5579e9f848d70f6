//! Demand against capacity, a day below the other.

use crate::replay::{DAY_S, date};
use crate::svg;
use crate::svg::axis::Axis;
use crate::svg::canvas::{Anchor, Canvas, place};
use coretwin_base::account::replay::{Replay, ReplayMinute};
use std::collections::BTreeMap;
use std::fmt::Write;

const WIDTH: f64 = 920.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 66.0;
const DAY: f64 = 150.0;
const GAP: f64 = 44.0;
/// Days that are drawn, the last ones.
const DAYS: usize = 31;
/// Hours between two ticks.
const TICK: i64 = 3;
/// A block that begins so long after the end of the one before is not joined to it.
const APART_S: f64 = 2.0;

pub fn replay_svg(replay: &Replay) -> String {
    let mut days: BTreeMap<i64, Vec<&ReplayMinute>> = BTreeMap::new();
    for minute in &replay.minutes {
        days.entry(minute.t.div_euclid(DAY_S)).or_default().push(minute);
    }
    let days: Vec<_> = days.into_iter().rev().take(DAYS).collect();
    let most = replay.minutes.iter().fold(1.0, |most, it| {
        f64::max(most, it.demand_high.unwrap_or(it.demand_low).max(it.capacity_high))
    });
    let mut canvas = Canvas::new(WIDTH, TOP + days.len() as f64 * (DAY + GAP));
    let mark = replay.origin.mark().map_or_else(String::new, |mark| format!("{mark}: "));
    let title = format!("{mark}demand and capacity in cores, SMT {}", replay.smt.name());
    canvas.text((16.0, 26.0), Anchor::Start, "title", &title);
    // Said without light and dark, which change places on dark paper.
    let about = "wide band: what the demand can be · narrow: if the same work arrives · line: \
                 capacity · UTC";
    canvas.text((16.0, 48.0), Anchor::Start, "tick", about);
    for (at, (day, minutes)) in days.iter().rev().enumerate() {
        let top = TOP + at as f64 * (DAY + GAP);
        draw(&mut canvas, *day * DAY_S, minutes, Axis::linear(0.0, most, top + DAY, top));
    }
    let fits = replay.fits_low_h.map_or("not known".to_owned(), |hours| format!("{hours:.1}"));
    let description = format!(
        "fits for certain {fits} of {:.1} hours, possibly {:.1}",
        replay.hours, replay.fits_high_h
    );
    let rules = [
        ".band{fill:#a3c8ea}.model{fill:#3c82c4}.capacity{stroke:#d96c23;stroke-width:2;fill:none}.grid{stroke:#e2dfd7;fill:none}",
        ".band{fill:#274a68}.model{fill:#6ba5dc}.capacity{stroke:#f0955a;stroke-width:2;fill:none}.grid{stroke:#2e333a;fill:none}",
        "@media(max-width:600px){.tick,.name{font-size:20px}.title{font-size:24px}}",
    ];
    svg::file(canvas, "replay", &title, &description, rules)
}

fn draw(canvas: &mut Canvas, from: i64, minutes: &[&ReplayMinute], y: Axis) {
    let x = Axis::linear(0.0, DAY_S as f64, LEFT, WIDTH - 16.0);
    let bottom = y.position(0.0);
    for tick in y.ticks(4) {
        canvas.line((LEFT, y.position(tick)), (WIDTH - 16.0, y.position(tick)), "grid");
        let label = crate::number::short(tick);
        canvas.text((LEFT - 7.0, y.position(tick) + 4.0), Anchor::End, "tick", &label);
    }
    for hour in (0..=24).step_by(TICK as usize) {
        let at = x.position((hour * 3600) as f64);
        canvas.text((at, bottom + 18.0), Anchor::Middle, "tick", &format!("{hour:02}"));
    }
    canvas.text((16.0, bottom + 34.0), Anchor::Start, "name", &date(from));
    let ends = |minute: &ReplayMinute| {
        let begin = (minute.t - from) as f64;
        [begin, (begin + minute.elapsed_s).min(DAY_S as f64)].map(|at| x.position(at))
    };
    let mut draw = |class: &str, of: &dyn Fn(&ReplayMinute) -> (f64, f64)| {
        let mut path = String::new();
        for minute in minutes {
            let (low, high) = of(minute);
            let [left, right] = ends(minute).map(place);
            let [low, high] = [low, high].map(|value| place(y.position(value)));
            let _ = write!(path, "M{left} {high}H{right}V{low}H{left}Z");
        }
        canvas.path(&path, class);
    };
    draw("band", &|it| (it.demand_low, it.demand_high.unwrap_or(it.demand_low)));
    draw("model", &|it| (it.model_low, it.model_high));
    let mut path = String::new();
    let mut joined = (f64::NEG_INFINITY, f64::NAN);
    for minute in minutes {
        let [left, right] = ends(minute);
        let high = place(y.position(minute.capacity));
        let begin = (minute.t - from) as f64;
        let is_joined = begin - joined.0 < APART_S && joined.1 == minute.capacity;
        if !is_joined {
            let _ = write!(path, "M{} {high}", place(left));
        }
        let _ = write!(path, "H{}", place(right));
        joined = (begin + minute.elapsed_s, minute.capacity);
    }
    canvas.path(&path, "capacity");
}
