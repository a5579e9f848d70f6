//! Effects with their intervals: a mark and a bar on a logarithmic axis of ratios, the margin
//! shaded. Labels stand above their bars, so that they stay legible on a narrow screen.

use super::axis::{Axis, ratio_axis, ratio_ticks};
use super::canvas::{Anchor, Canvas, place};
use super::mark;
use crate::plot::{Forest, ForestLine};
use crate::words::shorten;

pub(crate) const WIDTH: f64 = 720.0;
const SIDE: f64 = 10.0;
const LINE: f64 = 46.0;
const FOOT: f64 = 54.0;
/// Half of the height of the caps at the ends of a bar.
const CAP: f64 = 4.0;

pub(crate) fn draw(forest: &Forest) -> Canvas {
    let bottom = forest.lines.len() as f64 * LINE + 8.0;
    let mut canvas = Canvas::new(WIDTH, bottom + FOOT);
    let axis = ratio_axis(forest, SIDE, WIDTH - SIDE);
    let band = [1.0 - forest.margin, 1.0 + forest.margin].map(|ratio| axis.position(ratio));
    canvas.rectangle((band[0], 0.0), (band[1], bottom), "band");
    for (ratio, label) in ratio_ticks(&axis, 5) {
        let x = axis.position(ratio);
        canvas.line((x, 0.0), (x, bottom), if ratio == 1.0 { "zero" } else { "grid-line" });
        let anchor = match x {
            x if x < 60.0 => Anchor::Start,
            x if x > WIDTH - 60.0 => Anchor::End,
            _ => Anchor::Middle,
        };
        canvas.text((x, bottom + 22.0), anchor, "tick", &label);
    }
    canvas.text((SIDE, bottom + 47.0), Anchor::Start, "tick", "← worse");
    canvas.text((WIDTH - SIDE, bottom + 47.0), Anchor::End, "tick", "better →");
    for (index, line) in forest.lines.iter().enumerate() {
        let top = index as f64 * LINE;
        if index > 0 && forest.lines[index - 1].primary && !line.primary {
            canvas.line((0.0, top + 3.0), (WIDTH, top + 3.0), "rule");
        }
        canvas.titled(&format!("{}: {}", line.label, line.text), |canvas| {
            draw_line(canvas, line, &axis, top);
        });
    }
    canvas
}

fn draw_line(canvas: &mut Canvas, line: &ForestLine, axis: &Axis, top: f64) {
    let class = if line.primary { "label strong" } else { "label" };
    canvas.text((SIDE, top + 22.0), Anchor::Start, class, &shorten(&line.label, 34));
    canvas.text((WIDTH - SIDE, top + 22.0), Anchor::End, class, &line.text);
    let Some(ratio) = line.ratio else { return };
    let y = top + 36.0;
    let colour = mark::colour(line.arm);
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
    let shape = if line.primary { mark::diamond(at, 7.5) } else { mark::shape(line.arm, at, 5.0) };
    canvas.path(&shape, &format!("mark {colour}"));
}
