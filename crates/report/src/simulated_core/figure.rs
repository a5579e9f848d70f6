//! Where the cycles of every thread went, as a figure of its own (an SVG file).
//!
//! Two bars for each thread, alone and beside its siblings, as long as its cycles per uop; what the
//! sibling took lies at the end of the lower one, so that the eye sees it first.

use super::run::{COMPONENTS, Component, per_uop};
use crate::number;
use crate::svg::canvas::{Anchor, Canvas};
use crate::svg::{self, axis::Axis};
use crate::words::clean;
use coretwin_base::simulation::core_run::{CoreRun, CoreSide};

const WIDTH: f64 = 760.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 740.0;
const TOP: f64 = 64.0;
const BAR: f64 = 22.0;
const GROUP: f64 = 66.0;
const LEGEND_LINE: f64 = 20.0;

pub fn core_figure(run: &CoreRun) -> String {
    let shown: Vec<&Component> = COMPONENTS
        .iter()
        .filter(|component| sides(run).any(|side| per_uop(side, component.name) >= 0.0005))
        .collect();
    let bottom = TOP + GROUP * run.threads.len() as f64;
    let legend = bottom + 64.0;
    let height = legend + LEGEND_LINE * shown.len().div_ceil(2) as f64 + 8.0;
    let mut canvas = Canvas::new(WIDTH, height);
    let title = format!("Cycles per uop on {}", clean(&run.preset));
    canvas.text((16.0, 26.0), Anchor::Start, "title", &title);
    let longest = sides(run)
        .map(|side| side.cycles as f64 / side.uops.max(1) as f64)
        .filter(|cycles| cycles.is_finite())
        .fold(0.0, f64::max);
    let axis = Axis::linear(0.0, if longest > 0.0 { longest } else { 1.0 }, LEFT, RIGHT);
    for tick in axis.ticks(6) {
        let x = axis.position(tick);
        canvas.line((x, TOP - 10.0), (x, bottom), "grid");
        canvas.text((x, bottom + 18.0), Anchor::Middle, "tick", &number::short(tick));
    }
    for (index, thread) in run.threads.iter().enumerate() {
        let top = TOP + GROUP * index as f64;
        canvas.text((16.0, top + 15.0), Anchor::Start, "name", &clean(&thread.profile));
        bar(&mut canvas, &shown, &thread.alone, "alone", &axis, top);
        if run.threads.len() > 1 {
            bar(&mut canvas, &shown, &thread.beside, "beside", &axis, top + BAR + 4.0);
            let slowdown = format!("slowdown {:.2}", thread.slowdown);
            canvas.text((16.0, top + 34.0), Anchor::Start, "tick", &slowdown);
        }
    }
    canvas.text((LEFT, bottom + 40.0), Anchor::Start, "tick", &caption(run));
    for (index, component) in shown.iter().enumerate() {
        let x = 16.0 + (index % 2) as f64 * 370.0;
        let y = legend + LEGEND_LINE * (index / 2) as f64;
        canvas.rectangle((x, y - 10.0), (x + 12.0, y + 2.0), &class(component));
        let words = format!("{}: {}", component.name.replace('_', " "), component.about);
        canvas.text((x + 18.0, y), Anchor::Start, "tick", &words);
    }
    let description = run
        .threads
        .iter()
        .map(|thread| format!("{}: slowdown {:.2}", clean(&thread.profile), thread.slowdown))
        .collect::<Vec<_>>()
        .join("; ");
    let colour =
        |component: &Component| format!(".c-{}{{fill:{}}}", component.name, component.colour);
    let colours: String = COMPONENTS.iter().map(colour).collect();
    let style = [".grid{stroke:#e2dfd7;fill:none}", ".grid{stroke:#2e333a}", &colours];
    svg::file(canvas, "stack", &title, &description, style)
}

fn caption(run: &CoreRun) -> String {
    if run.threads.len() < 2 {
        return format!("cycles per uop; simulated, seed {}", run.seed);
    }
    format!(
        "cycles per uop; throughput {:.2} of one thread's; simulated, seed {}",
        run.throughput, run.seed
    )
}

fn sides(run: &CoreRun) -> impl Iterator<Item = &CoreSide> {
    let shared = run.threads.len() > 1;
    run.threads.iter().flat_map(move |thread| {
        std::iter::once(&thread.alone).chain(shared.then_some(&thread.beside))
    })
}

fn bar(
    canvas: &mut Canvas,
    shown: &[&Component],
    side: &CoreSide,
    state: &str,
    axis: &Axis,
    top: f64,
) {
    canvas.text((LEFT - 6.0, top + 15.0), Anchor::End, "tick", state);
    let mut from = 0.0;
    for component in shown {
        let to = from + per_uop(side, component.name);
        let title = format!(
            "{} {state}: {:.4} cycles per uop, {}",
            component.name.replace('_', " "),
            to - from,
            component.about
        );
        canvas.titled(&title, |canvas| {
            let ends = [axis.position(from), axis.position(to)];
            canvas.rectangle((ends[0], top), (ends[1], top + BAR), &class(component));
        });
        from = to;
    }
}

fn class(component: &Component) -> String {
    format!("c-{}", component.name)
}
