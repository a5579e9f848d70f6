//! Values over thread or copy counts, one line for each arm.

use super::axis::Axis;
use super::canvas::Canvas;
use super::frame::{Frame, range};
use super::mark;
use super::run_order::polyline;
use crate::number;
use crate::plot::{Curve, CurveLine};

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 290.0;
const FRAME: Frame = Frame { left: 58.0, right: 470.0, top: 30.0, bottom: 240.0, leading: 20.0 };
/// Most counts that get a label.
const LABELS_MAX: usize = 8;

pub(crate) fn draw(plot: &Curve) -> Canvas {
    let mut canvas = Canvas::new(WIDTH, HEIGHT);
    let mut counts: Vec<u32> = plot
        .lines
        .iter()
        .flat_map(|line| line.means.iter().chain(&line.dots))
        .map(|(count, _)| *count)
        .collect();
    counts.sort_unstable();
    counts.dedup();
    let (Some(first), Some(last)) = (counts.first(), counts.last()) else {
        return canvas;
    };
    let (from, to) = (FRAME.left + 16.0, FRAME.right - 16.0);
    // Powers of two are evenly spaced where the counts span more than a few of them.
    let x = if *first > 0 && last / first > 8 {
        Axis::logarithmic(f64::from(*first), f64::from(*last), from, to)
    } else {
        Axis::linear(f64::from(*first), f64::from(*last), from, to)
    };
    let values = plot.lines.iter().flat_map(|line| line.means.iter().chain(&line.dots));
    let (low, high) = range(values.map(|(_, value)| *value)).unwrap_or((0.0, 1.0));
    let y = Axis::linear(low, high, FRAME.bottom - 6.0, FRAME.top + 4.0);
    FRAME.values(&mut canvas, &y, &plot.unit);
    FRAME.base(&mut canvas, &plot.count);
    for count in counts.iter().step_by(counts.len().div_ceil(LABELS_MAX)) {
        FRAME.below(&mut canvas, x.position(f64::from(*count)), &number::whole((*count).into()));
    }
    for line in &plot.lines {
        draw_line(&mut canvas, line, &x, &y);
    }
    canvas
}

fn draw_line(canvas: &mut Canvas, line: &CurveLine, x: &Axis, y: &Axis) {
    let colour = mark::colour(line.arm);
    let at = |(count, value): &(u32, f64)| (x.position(f64::from(*count)), y.position(*value));
    let dots: String = line.dots.iter().map(|dot| mark::shape(line.arm, at(dot), 2.2)).collect();
    canvas.path(&dots, &format!("faint {colour}"));
    canvas.path(&polyline(line.means.iter().map(at)), &format!("step {colour}"));
    for mean in &line.means {
        let title = format!("{}: {}", mean.0, number::value(mean.1));
        canvas.titled(&title, |canvas| {
            canvas.path(&mark::shape(line.arm, at(mean), 4.6), &format!("mark {colour}"));
        });
        if line.chosen == Some(mean.0) {
            // A ring, whatever the shape of the arm.
            canvas.path(&mark::shape(0, at(mean), 10.0), &format!("ring {colour}"));
        }
    }
}
