//! Distributions: above, the empirical distribution function of each arm; below, its values as
//! ticks with the median and the middle half.

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, place};
use super::frame::{Frame, range};
use super::mark;
use crate::number;
use crate::plot::{Distribution, Sorted};

const WIDTH: f64 = 480.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 470.0;
const TOP: f64 = 12.0;
/// Height of the distribution functions, and of one arm's strip.
const CURVES: f64 = 120.0;
const STRIP: f64 = 24.0;

pub(crate) fn draw(plot: &Distribution) -> Canvas {
    let strips = plot.series.len() as f64 * STRIP;
    let bottom = TOP + CURVES + 8.0 + strips;
    let mut canvas = Canvas::new(WIDTH, bottom + 50.0);
    let values = plot.series.iter().flat_map(|series| &series.values).copied();
    let (low, high) = range(values).unwrap_or((0.0, 1.0));
    let x = Axis::linear(low, high, LEFT + 4.0, RIGHT - 4.0);
    let frame = Frame { left: LEFT, right: RIGHT, top: TOP, bottom, leading: 20.0 };
    for tick in x.ticks(5) {
        let at = x.position(tick);
        canvas.line((at, TOP), (at, bottom), "grid-line");
        frame.below(&mut canvas, at, &number::short(tick));
    }
    let y = Axis::linear(0.0, 1.0, TOP + CURVES, TOP);
    for (share, label) in [(0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %")] {
        let at = y.position(share);
        canvas.line((LEFT, at), (RIGHT, at), "grid-line");
        canvas.text((LEFT - 7.0, at + 4.5), Anchor::End, "tick", label);
    }
    frame.base(&mut canvas, &plot.unit);
    for (index, series) in plot.series.iter().enumerate() {
        let colour = mark::colour(series.arm);
        canvas.path(&steps(series, &x, &y), &format!("step {colour}"));
        let middle = TOP + CURVES + 8.0 + (index as f64 + 0.5) * STRIP;
        strip(&mut canvas, series, &x, middle);
    }
    canvas
}

/// The empirical distribution function: a step of 1/n at every value.
fn steps(series: &Sorted, x: &Axis, y: &Axis) -> String {
    let count = series.values.len() as f64;
    let mut path = String::new();
    for (index, value) in series.values.iter().enumerate() {
        let at = place(x.position(*value));
        if index == 0 {
            path.push_str(&format!("M{} {}H{at}", place(LEFT), place(y.position(0.0))));
        } else {
            path.push_str(&format!("H{at}"));
        }
        path.push_str(&format!("V{}", place(y.position((index as f64 + 1.0) / count))));
    }
    path.push_str(&format!("H{}", place(RIGHT)));
    path
}

fn strip(canvas: &mut Canvas, series: &Sorted, x: &Axis, middle: f64) {
    let colour = mark::colour(series.arm);
    let at = |share: f64| x.position(rank(&series.values, share));
    let about = format!(
        "{}: median {}, middle half {} to {}",
        series.name,
        number::value(rank(&series.values, 0.5)),
        number::value(rank(&series.values, 0.25)),
        number::value(rank(&series.values, 0.75)),
    );
    canvas.titled(&about, |canvas| {
        canvas
            .path(&mark::shape(series.arm, (LEFT - 16.0, middle), 4.5), &format!("mark {colour}"));
        canvas.rectangle(
            (at(0.25), middle - 7.0),
            (at(0.75), middle + 7.0),
            &format!("half-box {colour}"),
        );
        let tick =
            |value: &f64| format!("M{} {}v8", place(x.position(*value)), place(middle - 4.0));
        let ticks: String = series.values.iter().map(tick).collect();
        canvas.path(&ticks, &format!("needle {colour}"));
        canvas.line((at(0.5), middle - 9.0), (at(0.5), middle + 9.0), &format!("median {colour}"));
    });
}

/// The value at a share of the sorted values, the nearest one (type 3 of Hyndman and Fan without
/// its rounding to even).
fn rank(values: &[f64], share: f64) -> f64 {
    let index = (share * (values.len() as f64 - 1.0)).round().max(0.0) as usize;
    values.get(index).copied().unwrap_or(0.0)
}
