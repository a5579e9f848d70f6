//! A measure of a sweep as a heat map (an SVG file): a row a policy, a column a machine, the colour
//! how far a policy is from the reference.

use super::sweep::{differences, mean, values};
use crate::number;
use crate::svg;
use crate::svg::canvas::{Anchor, Canvas};
use crate::words::clean;
use coretwin_base::simulation::sweep::{SweepCell, SweepMeasure, SweepPlan};

const LEFT: f64 = 260.0;
const TOP: f64 = 84.0;
const CELL: (f64, f64) = (104.0, 34.0);

/// Steps of colour to each side.
const STEPS: usize = 4;
const BETTER: [&str; STEPS] = ["#d5e5f4", "#a3c8ea", "#6ba5dc", "#3c82c4"];
const WORSE: [&str; STEPS] = ["#fbe0cd", "#f7bb8f", "#f0955a", "#d96c23"];

pub fn sched_heat_map(
    plan: &SweepPlan,
    cells: &[SweepCell],
    scenario: &str,
    measure: &SweepMeasure,
) -> String {
    let (columns, rows) = (plan.topologies.len() as f64, plan.policies.len() as f64);
    let right = LEFT + columns * CELL.0;
    let bottom = TOP + rows * CELL.1;
    let mut canvas = Canvas::new((right + 16.0).max(560.0), bottom + 64.0);
    let title = format!("{}: {}", clean(scenario), clean(&measure.about));
    canvas.text((16.0, 26.0), Anchor::Start, "title", &title);
    let about = format!(
        "{}; difference to {}, mean over {}",
        clean(&measure.key),
        clean(&plan.reference),
        number::count(plan.seeds.into(), "seed")
    );
    canvas.text((16.0, 48.0), Anchor::Start, "tick", &about);
    for (column, topology) in plan.topologies.iter().enumerate() {
        let x = LEFT + (column as f64 + 0.5) * CELL.0;
        canvas.text((x, TOP - 10.0), Anchor::Middle, "name", &clean(topology));
    }
    let found = |policy: &str, topology: &str| {
        let reference = values(cells, [&plan.reference, topology, scenario], &measure.key);
        let own = values(cells, [policy, topology, scenario], &measure.key);
        mean(&differences(&own, &reference)).map(|difference| {
            let own: Vec<f64> = own.into_iter().map(|(_, value)| value).collect();
            (mean(&own).unwrap_or(0.0), difference)
        })
    };
    let most = plan
        .policies
        .iter()
        .flat_map(|policy| plan.topologies.iter().map(move |topology| (policy, topology)))
        .filter_map(|(policy, topology)| Some(found(policy, topology)?.1.abs()))
        .fold(0.0, f64::max);
    for (row, policy) in plan.policies.iter().enumerate() {
        let y = TOP + row as f64 * CELL.1;
        canvas.text((LEFT - 10.0, y + 22.0), Anchor::End, "tick", &clean(policy));
        for (column, topology) in plan.topologies.iter().enumerate() {
            let x = LEFT + column as f64 * CELL.0;
            let Some((value, difference)) = found(policy, topology) else { continue };
            let class = class(difference, most, measure.better);
            let is_reference = policy == &plan.reference;
            let text = match is_reference {
                true => number::value((value * 1e3).round() / 1e3),
                false => number::difference((difference * 1e3).round() / 1e3),
            };
            canvas.rectangle((x + 1.0, y + 1.0), (x + CELL.0 - 1.0, y + CELL.1 - 1.0), &class);
            canvas.text((x + CELL.0 / 2.0, y + 22.0), Anchor::Middle, "cell", &text);
        }
    }
    let key = match measure.better {
        0 => "orange: less, blue: more",
        _ => "blue: better, orange: worse",
    };
    canvas.text((16.0, bottom + 30.0), Anchor::Start, "tick", &format!("{key}; simulated"));
    let steps = BETTER.iter().zip(WORSE).enumerate().map(|(index, (better, worse))| {
        format!(".h-better{index}{{fill:{better}}}.h-worse{index}{{fill:{worse}}}")
    });
    let cells = ".cell{fill:#1c2127;font-size:12px}.h-none{fill:#ece9e1}";
    let style = [cells, ".cell{fill:#1c2127}", &steps.collect::<String>()];
    svg::file(canvas, "heat", &title, &about, style)
}

/// The colour: by how far it is, of the largest difference in the figure.
fn class(difference: f64, most: f64, better: i8) -> String {
    let share = if most > 0.0 { difference.abs() / most } else { 0.0 };
    if share < 0.02 {
        return "h-none".to_owned();
    }
    let step = ((share * STEPS as f64) as usize).min(STEPS - 1);
    let is_better = (difference > 0.0) == (better >= 0);
    format!("h-{}{step}", if is_better { "better" } else { "worse" })
}
