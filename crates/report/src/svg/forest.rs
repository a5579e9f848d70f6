//! Effects with their intervals: a mark and a bar on a logarithmic axis of ratios, the margin
//! shaded. Labels stand above their bars, so that they stay legible on a narrow screen.

use super::axis::{Axis, ratio_axis, ratio_ticks};
use super::canvas::{Anchor, Canvas, place};
use super::mark;
use crate::plot::{Forest, ForestGroup, ForestLine};
use crate::words::shorten;

pub(crate) const WIDTH: f64 = 720.0;
const SIDE: f64 = 10.0;
/// Height of a label, of one arm's bar, and of the gap below.
const LABEL: f64 = 27.0;
const BAR: f64 = 18.0;
const GAP: f64 = 9.0;
const FOOT: f64 = 52.0;
/// Half of the height of the caps at the ends of a bar.
const CAP: f64 = 4.0;

pub(crate) fn draw(forest: &Forest) -> Canvas {
    let height = |group: &ForestGroup| LABEL + BAR * group.lines.len() as f64 + GAP;
    let bottom = forest.groups.iter().map(height).sum::<f64>() + 4.0;
    let mut canvas = Canvas::new(WIDTH, bottom + FOOT);
    let axis = ratio_axis(forest, SIDE, WIDTH - SIDE);
    let ticks = ratio_ticks(&axis, 5);
    let mut top = 0.0;
    for group in &forest.groups {
        let (from, to) = (top + LABEL, top + height(group) - GAP);
        track(&mut canvas, forest.margin, &axis, &ticks, (from, to));
        let class = if group.primary { "label strong" } else { "label" };
        // Several arms leave no room for the numbers of each; they are in the title and the table.
        let alone = if let [line] = group.lines.as_slice() { Some(line) } else { None };
        let room = if alone.is_some() { 34 } else { 60 };
        canvas.text((0.0, top + 20.0), Anchor::Start, class, &shorten(&group.label, room));
        if let Some(line) = alone {
            canvas.text((WIDTH, top + 20.0), Anchor::End, class, &line.text);
        }
        for (index, line) in group.lines.iter().enumerate() {
            let y = from + (index as f64 + 0.5) * BAR;
            canvas.titled(&format!("{}, {}: {}", group.label, line.name, line.text), |canvas| {
                draw_line(canvas, line, group.primary, &axis, y);
            });
        }
        top += height(group);
    }
    for (ratio, label) in &ticks {
        let x = axis.position(*ratio);
        let anchor = match x {
            x if x < 60.0 => Anchor::Start,
            x if x > WIDTH - 60.0 => Anchor::End,
            _ => Anchor::Middle,
        };
        canvas.text((x, bottom + 20.0), anchor, "tick", label);
    }
    canvas.text((0.0, bottom + 45.0), Anchor::Start, "tick", "← worse");
    canvas.text((WIDTH, bottom + 45.0), Anchor::End, "tick", "better →");
    canvas
}

/// The ground a bar lies on: the margin, the ticks and the line of no effect. Only here, so that
/// they do not run through the labels.
fn track(
    canvas: &mut Canvas,
    margin: f64,
    axis: &Axis,
    ticks: &[(f64, String)],
    (top, bottom): (f64, f64),
) {
    let place = |ratio: f64| axis.position(ratio).clamp(0.0, WIDTH);
    canvas.rectangle((0.0, top), (WIDTH, bottom), "track");
    canvas.rectangle((place(1.0 - margin), top), (place(1.0 + margin), bottom), "band");
    for (ratio, _) in ticks {
        let class = if *ratio == 1.0 { "zero" } else { "grid-line" };
        canvas.line((place(*ratio), top), (place(*ratio), bottom), class);
    }
}

fn draw_line(canvas: &mut Canvas, line: &ForestLine, primary: bool, axis: &Axis, y: f64) {
    let Some(ratio) = line.ratio else { return };
    let colour = mark::colour(line.arm);
    if let Some((low, high)) = line.next {
        let [from, to] = [low, high].map(|end| axis.position(end).clamp(SIDE, WIDTH - SIDE));
        canvas.line((from, y), (to, y), &format!("next {colour}"));
    }
    if let Some((low, high)) = line.interval {
        let ends = [(low, -1.0), (high, 1.0)];
        let [from, to] = [low, high].map(|end| axis.position(end).clamp(SIDE, WIDTH - SIDE));
        canvas.line((from, y), (to, y), &format!("whisker {colour}"));
        for (end, side) in ends {
            let x = axis.position(end).clamp(SIDE, WIDTH - SIDE);
            let [back, x, upper, y, lower] = [x - side * 7.0, x, y - CAP, y, y + CAP].map(place);
            let tip = if axis.holds(end) {
                format!("M{x} {upper}V{lower}")
            } else {
                // An arrow: the interval goes on beyond the axis.
                format!("M{back} {upper}L{x} {y}L{back} {lower}")
            };
            canvas.path(&tip, &format!("whisker {colour}"));
        }
    }
    let at = (axis.position(ratio).clamp(SIDE, WIDTH - SIDE), y);
    // The primary result is larger, in the shape of its arm.
    let shape = mark::shape(line.arm, at, if primary { 7.0 } else { 5.0 });
    canvas.path(&shape, &format!("mark {colour}"));
}
