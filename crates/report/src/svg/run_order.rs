//! Readings in the order they were taken: one mark each, so that drift shows.

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, place};
use super::frame::{Frame, range};
use super::mark;
use crate::number;
use crate::plot::{Dot, RunOrder};

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 262.0;
const FRAME: Frame = Frame { left: 58.0, right: 470.0, top: 30.0, bottom: 212.0, leading: 20.0 };
/// Up to so many marks of an arm are joined by a line.
const JOINED_MAX: usize = 60;

pub(crate) fn draw(plot: &RunOrder) -> Canvas {
    let mut canvas = Canvas::new(WIDTH, HEIGHT);
    let x =
        Axis::linear(0.0, f64::from(plot.readings.max(2) - 1), FRAME.left + 6.0, FRAME.right - 6.0);
    let values = range(plot.dots.iter().filter_map(|dot| dot.value));
    let (low, high) = values.unwrap_or((0.0, 1.0));
    // Failed runs have no value; their crosses stand on the bottom line.
    let y = Axis::linear(low, high, FRAME.bottom - 8.0, FRAME.top + 4.0);
    if values.is_some() {
        FRAME.values(&mut canvas, &y, &plot.unit);
    }
    FRAME.base(&mut canvas, "run");
    for tick in [0, plot.readings.saturating_sub(1)] {
        FRAME.below(&mut canvas, x.position(tick.into()), &number::whole(u64::from(tick) + 1));
    }
    if values.is_none() {
        let middle =
            (f64::midpoint(FRAME.left, FRAME.right), f64::midpoint(FRAME.top, FRAME.bottom));
        canvas.text(middle, Anchor::Middle, "label", "no run gave a value");
    }
    let at = |dot: &Dot| {
        let place = dot.value.map_or(FRAME.bottom, |value| y.position(value));
        (x.position(dot.order.into()), place)
    };
    let arms = plot.dots.iter().map(|dot| dot.arm).max().map_or(0, |arm| arm + 1);
    let radius = radius(plot.dots.len());
    for arm in 0..arms {
        let analysed: Vec<&Dot> =
            plot.dots.iter().filter(|dot| dot.arm == arm && dot.analysed).collect();
        let colour = mark::colour(arm);
        if analysed.len() <= JOINED_MAX {
            canvas.path(&polyline(analysed.iter().map(|dot| at(dot))), &format!("thread {colour}"));
        }
        let marks: String = analysed.iter().map(|dot| mark::shape(arm, at(dot), radius)).collect();
        canvas.path(&marks, &format!("mark {colour}"));
    }
    for dot in plot.dots.iter().filter(|dot| !dot.analysed) {
        let (data, class) = match dot.value {
            Some(_) => (mark::shape(dot.arm, at(dot), radius.max(2.6)), "hollow"),
            None => (mark::cross(at(dot), 5.0), "failed"),
        };
        let class = format!("{class} {}", mark::colour(dot.arm));
        match &dot.title {
            Some(title) => canvas.titled(title, |canvas| canvas.path(&data, &class)),
            None => canvas.path(&data, &class),
        }
    }
    canvas
}

/// Marks grow smaller as they grow many.
fn radius(dots: usize) -> f64 {
    match dots {
        0..=120 => 3.6,
        121..=400 => 2.6,
        401..=1500 => 1.8,
        _ => 1.2,
    }
}

/// Places joined by straight lines.
pub(crate) fn polyline(places: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (index, (x, y)) in places.enumerate() {
        path.push(if index == 0 { 'M' } else { 'L' });
        path.push_str(&format!("{} {}", place(x), place(y)));
    }
    path
}
