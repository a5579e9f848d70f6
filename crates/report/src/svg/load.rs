//! Latency over the rate of requests, a line and a band for each arm, with the objective.

use super::axis::Axis;
use super::canvas::{Anchor, Canvas};
use super::forest::WIDTH;
use super::frame::Frame;
use super::mark;
use super::run_order::polyline;
use crate::number;
use crate::plot::{Load, LoadLine};

const HEIGHT: f64 = 400.0;
const FRAME: Frame = Frame { left: 76.0, right: 704.0, top: 40.0, bottom: 326.0, leading: 26.0 };

pub(crate) fn draw(plot: &Load) -> Canvas {
    let mut canvas = Canvas::new(WIDTH, HEIGHT);
    let points = || plot.lines.iter().flat_map(|line| &line.points);
    let most = points().map(|point| point.rate).fold(0.0, f64::max);
    let ends = points().flat_map(|point| {
        let (low, high) = point.interval.unwrap_or((point.latency_s, point.latency_s));
        [point.latency_s, low.max(point.latency_s / 10.0), high.min(point.latency_s * 10.0)]
    });
    let objective = plot.objective.as_ref().map(|(seconds, _)| *seconds);
    let usable = ends.chain(objective).filter(|end| end.is_finite() && *end > 0.0);
    let Some((low, high)) = number::ends(usable) else { return canvas };
    let room = (high / low).powf(0.06).max(1.1);
    let y = Axis::logarithmic(low / room, high * room, FRAME.bottom, FRAME.top);
    let x = Axis::linear(0.0, most * 1.04, FRAME.left, FRAME.right);
    values(&mut canvas, &y, &plot.unit);
    FRAME.base(&mut canvas, &plot.rate);
    for tick in x.ticks(6) {
        FRAME.below(&mut canvas, x.position(tick), &number::short(tick));
    }
    for line in &plot.lines {
        band(&mut canvas, line, &x, &y);
    }
    if let Some((seconds, label)) = &plot.objective {
        let at = y.position(*seconds);
        canvas.line((FRAME.left, at), (FRAME.right, at), "objective");
        canvas.text((FRAME.left + 6.0, at - 7.0), Anchor::Start, "strong", label);
    }
    for line in &plot.lines {
        curve(&mut canvas, line, &x, &y, objective);
    }
    canvas
}

/// Grid lines at 1, 2 and 5 times powers of ten; at the powers alone where they are many.
fn values(canvas: &mut Canvas, axis: &Axis, unit: &str) {
    let at = |steps: &[f64]| -> Vec<f64> {
        let all = (-9..5).flat_map(|decade| steps.iter().map(move |s| s * 10f64.powi(decade)));
        all.filter(|value| axis.holds(*value)).collect()
    };
    let mut ticks = at(&[1.0, 2.0, 5.0]);
    if ticks.len() > 7 {
        ticks = at(&[1.0]);
    }
    for tick in ticks {
        let y = axis.position(tick);
        canvas.line((FRAME.left, y), (FRAME.right, y), "grid-line");
        canvas.text((FRAME.left - 8.0, y + 4.5), Anchor::End, "tick", &number::latency(tick));
    }
    canvas.text((2.0, FRAME.top - 16.0), Anchor::Start, "tick", unit);
}

fn band(canvas: &mut Canvas, line: &LoadLine, x: &Axis, y: &Axis) {
    let known = || line.points.iter().filter_map(|point| Some((point.rate, point.interval?)));
    let held = |value: f64| y.position(value).clamp(FRAME.top, FRAME.bottom);
    let above = known().map(|(rate, (_, high))| (x.position(rate), held(high)));
    let mut places: Vec<(f64, f64)> = above.collect();
    let below: Vec<_> = known().map(|(rate, (low, _))| (x.position(rate), held(low))).collect();
    if below.len() > 1 {
        places.extend(below.into_iter().rev());
        let data = polyline(places.into_iter()) + "z";
        canvas.path(&data, &format!("area {}", mark::colour(line.arm)));
    }
}

fn curve(canvas: &mut Canvas, line: &LoadLine, x: &Axis, y: &Axis, objective: Option<f64>) {
    let colour = mark::colour(line.arm);
    let places =
        line.points.iter().map(|point| (x.position(point.rate), y.position(point.latency_s)));
    canvas.path(&polyline(places.clone()), &format!("step {colour}"));
    for (point, place) in line.points.iter().zip(places) {
        canvas.titled(&point.title, |canvas| {
            canvas.path(&mark::shape(line.arm, place, 5.0), &format!("mark {colour}"));
        });
    }
    // Down from where it meets the objective to the rate.
    if let Some((rate, seconds)) = line.capacity.zip(objective) {
        let at = (x.position(rate), y.position(seconds));
        canvas.line(at, (at.0, FRAME.bottom), &format!("drop {colour}"));
        canvas.path(&mark::shape(0, at, 8.0), &format!("ring {colour}"));
    }
}
