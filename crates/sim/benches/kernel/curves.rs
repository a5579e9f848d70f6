//! The growth curves of the benchmark as a figure: time of an event by number of tasks.

use std::fmt::Write;

/// Time of an event at one size.
#[derive(Debug)]
pub(crate) struct Point {
    /// The policy.
    pub(crate) policy: &'static str,
    /// CPUs and load: what has a panel of its own.
    pub(crate) panel: String,
    /// Tasks.
    pub(crate) tasks: u32,
    /// CPU time of an event.
    pub(crate) event_ns: f64,
}

/// Size of a panel, and the room around its axes.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 260.0;
const MARGIN: f64 = 48.0;

/// Decades of the axes: tasks, and ns an event. What lies outside is drawn at the edge.
const TASKS: (f64, f64) = (2.0, 5.0);
const NS: (f64, f64) = (1.0, 6.0);

/// Colours that also differ in brightness, one for each policy.
const COLOURS: [&str; 7] =
    ["#000000", "#e69f00", "#56b4e9", "#009e73", "#d55e00", "#0072b2", "#cc79a7"];

/// Two columns of panels, both axes logarithmic; a straight line that rises one decade a decade is
/// linear in tasks.
pub(crate) fn svg(points: &[Point]) -> String {
    let mut panels: Vec<&str> = Vec::new();
    let mut policies: Vec<&str> = Vec::new();
    for point in points {
        if !panels.contains(&point.panel.as_str()) {
            panels.push(&point.panel);
        }
        if !policies.contains(&point.policy) {
            policies.push(point.policy);
        }
    }
    let (width, rows) = (2.0 * WIDTH, panels.len().div_ceil(2) as f64);
    let height = rows * HEIGHT + 20.0 * policies.len() as f64 + 10.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (index, name) in panels.iter().enumerate() {
        let corner = ((index % 2) as f64 * WIDTH, (index / 2) as f64 * HEIGHT);
        axes(&mut text, corner, name);
        for (policy, colour) in policies.iter().zip(COLOURS.iter().cycle()) {
            let of_curve = |point: &&Point| point.panel == *name && point.policy == *policy;
            curve(&mut text, corner, colour, points.iter().filter(of_curve));
        }
    }
    for (index, (policy, colour)) in policies.iter().zip(COLOURS.iter().cycle()).enumerate() {
        let y = rows * HEIGHT + 20.0 * (index as f64 + 0.5);
        let _ = writeln!(
            text,
            "<circle cx=\"{MARGIN}\" cy=\"{y}\" r=\"4\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"{}\">{policy}</text>",
            MARGIN + 10.0,
            y + 4.0
        );
    }
    text + "</svg>\n"
}

/// Where a value lies between two decades, as a part of the axis.
fn part(value: f64, (from, to): (f64, f64)) -> f64 {
    ((value.max(1.0).log10() - from) / (to - from)).clamp(0.0, 1.0)
}

fn place((left, top): (f64, f64), tasks: f64, event_ns: f64) -> (f64, f64) {
    let x = left + MARGIN + part(tasks, TASKS) * (WIDTH - 1.5 * MARGIN);
    let y = top + HEIGHT - MARGIN - part(event_ns, NS) * (HEIGHT - 2.0 * MARGIN);
    (x, y)
}

fn axes(text: &mut String, corner: (f64, f64), name: &str) {
    let end = (10f64.powf(TASKS.1), 10f64.powf(NS.1));
    for decade in NS.0 as i32..=NS.1 as i32 {
        let (x, y) = place(corner, 1.0, 10f64.powi(decade));
        let (right, _) = place(corner, end.0, 1.0);
        let _ = writeln!(
            text,
            "<path d=\"M{x:.1} {y:.1}H{right:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">10^{decade} ns</text>",
            x - 4.0,
            y + 4.0
        );
    }
    for decade in TASKS.0 as i32..=TASKS.1 as i32 {
        let (x, y) = place(corner, 10f64.powi(decade), 1.0);
        let (_, top) = place(corner, 1.0, end.1);
        let _ = writeln!(
            text,
            "<path d=\"M{x:.1} {y:.1}V{top:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">10^{decade}</text>",
            y + 14.0
        );
    }
    let (x, y) = (corner.0 + WIDTH / 2.0, corner.1 + 24.0);
    let _ = writeln!(
        text,
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{name}: time of an event, by tasks</text>"
    );
}

fn curve<'a>(
    text: &mut String,
    corner: (f64, f64),
    colour: &str,
    points: impl Iterator<Item = &'a Point>,
) {
    let places: Vec<String> = points
        .map(|point| place(corner, f64::from(point.tasks), point.event_ns))
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    let _ = writeln!(
        text,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        places.join(" ")
    );
}
