//! Grouped bars from 0 with error bars: the article's figures.

use super::axis::Axis;
use super::canvas::{Canvas, place};
use super::forest::WIDTH;
use super::frame::Frame;
use super::mark;
use crate::plot::{Bar, Bars};

const HEIGHT: f64 = 350.0;
const FRAME: Frame = Frame { left: 70.0, right: 710.0, top: 36.0, bottom: 286.0, leading: 25.0 };

pub(crate) fn draw(plot: &Bars) -> Canvas {
    let mut canvas = Canvas::new(WIDTH, HEIGHT);
    let tops = plot.bars().flat_map(|bar| [bar.value, bar.interval.map(|(_, high)| high)]);
    let top = tops.flatten().filter(|top| top.is_finite()).fold(0.0, f64::max);
    let y = Axis::linear(0.0, if top > 0.0 { top } else { 1.0 }, FRAME.bottom, FRAME.top + 6.0);
    FRAME.values(&mut canvas, &y, &plot.unit);
    FRAME.base(&mut canvas, &plot.group);
    let pitch = (FRAME.right - FRAME.left) / plot.groups.len().max(1) as f64;
    for (index, group) in plot.groups.iter().enumerate() {
        let left = FRAME.left + index as f64 * pitch;
        FRAME.below(&mut canvas, left + pitch / 2.0, &group.label);
        // Three quarters of a group are bars, but a bar is never wider than a finger.
        let width = (pitch * 0.75 / group.bars.len().max(1) as f64).min(64.0);
        let first = left + (pitch - width * group.bars.len() as f64) / 2.0;
        for (number, bar) in group.bars.iter().enumerate() {
            let from = first + number as f64 * width;
            canvas.titled(&bar.title, |canvas| draw_bar(canvas, bar, &y, from, width));
        }
    }
    canvas
}

fn draw_bar(canvas: &mut Canvas, bar: &Bar, y: &Axis, from: f64, width: f64) {
    let colour = mark::colour(bar.arm);
    let middle = from + width / 2.0;
    let gap = (width * 0.06).min(2.0);
    let Some(value) = bar.value.filter(|value| value.is_finite() && *value >= 0.0) else {
        canvas.path(&mark::cross((middle, FRAME.bottom - 8.0), 5.0), &format!("failed {colour}"));
        return;
    };
    let top = y.position(value);
    canvas.rectangle(
        (from + gap, FRAME.bottom),
        (from + width - gap, top),
        &format!("bar {colour}"),
    );
    // Its mark too, so that colour alone tells nothing apart.
    if width >= 12.0 {
        let mark = mark::shape(bar.arm, (middle, FRAME.bottom - 10.0), 4.5);
        canvas.path(&mark, &format!("hollow {colour}"));
    }
    if let Some((low, high)) = bar.interval {
        let cap = (width / 6.0).min(7.0);
        let [low, high] = [low, high].map(|end| place(y.position(end.clamp(0.0, 1e300))));
        let [left, right, middle] = [middle - cap, middle + cap, middle].map(place);
        let data = format!("M{left} {low}H{right}M{left} {high}H{right}M{middle} {low}V{high}");
        canvas.path(&data, "error");
    }
}
