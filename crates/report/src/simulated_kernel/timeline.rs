//! Which task ran where and when, as a figure of its own (an SVG file): a panel a run, a lane a CPU,
//! the lanes of a core close together.

use crate::number;
use crate::svg::canvas::{Anchor, Canvas};
use crate::svg::{self, axis::Axis};
use crate::words::clean;
use coretwin_base::simulation::kernel_run::{SchedRun, SchedSpan};

const WIDTH: f64 = 1100.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 1084.0;
const TOP: f64 = 46.0;
const LANE: f64 = 16.0;
const CORE_GAP: f64 = 8.0;
const PANEL_HEAD: f64 = 34.0;

const LANES_MAX: usize = 128;
const SPANS_MAX: usize = 5000;

/// Colours of tasks, one after the other; told apart by people who see no red or green.
const COLOURS: [&str; 8] =
    ["#3c82c4", "#f0955a", "#4d9a78", "#c2a433", "#8a3aa0", "#8d9aa8", "#c4520a", "#0b3d6e"];

/// The figure as a whole SVG file. All panels have the same time axis.
pub fn sched_timeline(runs: &[SchedRun]) -> String {
    let panels: Vec<Panel<'_>> = runs.iter().map(Panel::of).collect();
    let end_ns = panels.iter().map(|panel| panel.end_ns).min().unwrap_or(0).max(1);
    let height = TOP + panels.iter().map(Panel::height).sum::<f64>() + 50.0;
    let mut canvas = Canvas::new(WIDTH, height);
    let first = runs.first();
    let title = first.map_or_else(String::new, |run| {
        format!("{} on {}, seed {}", clean(&run.workload), clean(&run.topology), run.seed)
    });
    canvas.text((16.0, 26.0), Anchor::Start, "title", &title);
    let axis = Axis::linear(0.0, end_ns as f64 / 1e6, LEFT, RIGHT);
    let mut top = TOP;
    for panel in &panels {
        panel.draw(&mut canvas, &axis, top, end_ns);
        top += panel.height();
    }
    for tick in axis.ticks(10) {
        let x = axis.position(tick);
        canvas.text((x, top + 16.0), Anchor::Middle, "tick", &number::short(tick));
    }
    let caption = format!(
        "ms; a colour a task; simulated; the first {} ms",
        number::value((end_ns as f64 / 1e3).round() / 1e3)
    );
    canvas.text((LEFT, top + 36.0), Anchor::Start, "tick", &caption);
    let names: Vec<String> = runs.iter().map(|run| clean(&run.policy)).collect();
    let about = format!("Which task ran on which CPU when, under {}", names.join(", "));
    let colour = |(index, colour)| format!(".t{index}{{fill:{colour}}}");
    let colours: String = COLOURS.iter().enumerate().map(colour).collect();
    let lanes = ".tick{font-size:11px}.lane{fill:#ece9e1}";
    svg::file(canvas, "timeline", &title, &about, [lanes, ".lane{fill:#23282d}", &colours])
}

struct Panel<'a> {
    run: &'a SchedRun,
    spans: &'a [SchedSpan],
    /// Until here all spans are there.
    end_ns: u64,
}

impl<'a> Panel<'a> {
    fn of(run: &'a SchedRun) -> Self {
        // Spans are kept when they end: up to the end of the last one kept, those that ended are there.
        let spans = &run.spans[..run.spans.len().min(SPANS_MAX)];
        let all = spans.len() == run.spans.len();
        let simulated_ns = (run.simulated_s * 1e9) as u64;
        let last_ns = spans.iter().map(|span| span.to_ns).max().unwrap_or(simulated_ns);
        Self { run, spans, end_ns: if all { simulated_ns.min(last_ns.max(1)) } else { last_ns } }
    }

    fn lanes(&self) -> usize {
        self.run.cpus.len().min(LANES_MAX)
    }

    fn height(&self) -> f64 {
        PANEL_HEAD + self.lane_top(self.lanes().saturating_sub(1)) + LANE + 12.0
    }

    /// Where a lane begins, below the panel's head: every new core after a gap.
    fn lane_top(&self, lane: usize) -> f64 {
        let cores = self.run.cpus[..=lane.min(self.run.cpus.len().saturating_sub(1))]
            .windows(2)
            .filter(|pair| pair[0].core != pair[1].core)
            .count();
        lane as f64 * LANE + cores as f64 * CORE_GAP
    }

    fn draw(&self, canvas: &mut Canvas, axis: &Axis, top: f64, end_ns: u64) {
        let run = self.run;
        let note = match run.cpus.len() > LANES_MAX {
            true => format!(" (the first {LANES_MAX} CPUs)"),
            false => String::new(),
        };
        let title = format!("{}{note}", clean(&run.policy));
        canvas.text((16.0, top + 20.0), Anchor::Start, "name", &title);
        let lanes_top = top + PANEL_HEAD;
        for lane in 0..self.lanes() {
            let y = lanes_top + self.lane_top(lane);
            let cpu = &run.cpus[lane];
            let label = format!("cpu{} core{}", cpu.cpu, cpu.core);
            canvas.text((LEFT - 6.0, y + 12.0), Anchor::End, "tick", &label);
            canvas.rectangle((LEFT, y + 1.0), (RIGHT, y + LANE - 1.0), "lane");
        }
        for span in self.spans.iter().filter(|span| span.from_ns < end_ns) {
            let Some(lane) = run.cpus.iter().position(|cpu| cpu.cpu == span.cpu) else { continue };
            if lane >= LANES_MAX {
                continue;
            }
            let y = lanes_top + self.lane_top(lane);
            let ms = |ns: u64| ns.min(end_ns) as f64 / 1e6;
            let [from, to] = [span.from_ns, span.to_ns].map(|ns| axis.position(ms(ns)));
            let program = run.programs.get(span.program as usize);
            let program = program.map_or_else(|| "?".to_owned(), |program| clean(&program.name));
            let title = format!(
                "{program}#{}: {:.3} to {:.3} ms",
                span.task,
                span.from_ns as f64 / 1e6,
                span.to_ns as f64 / 1e6
            );
            let class = format!("t{}", span.task % COLOURS.len() as u64);
            canvas.titled(&title, |canvas| {
                // A stay of any length can be seen.
                canvas.rectangle((from, y + 1.0), (to.max(from + 0.3), y + LANE - 1.0), &class);
            });
        }
    }
}
