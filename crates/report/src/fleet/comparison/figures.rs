//! The figure: both fleets' effects side by side.

use crate::comparison::cells::{amount, interval};
use crate::document::{Block, Figure};
use crate::fleet::cells::{heads, row};
use crate::plot::{Forest, ForestGroup, ForestLine, Plot};
use crate::words::clean;
use coretwin_base::distinct::distinct;
use coretwin_base::fleet::comparison::{FleetChange, FleetComparison};
use coretwin_base::study::plan::Scale;

/// Most lines of a figure.
const LINES_MAX: usize = 40;

pub(super) fn forests(comparison: &FleetComparison) -> Vec<Block> {
    let all = || comparison.suites.iter().chain(&comparison.effects);
    let arms = distinct(all().map(|line| (&*line.arm, &*line.reference)));
    let lines = |arm: (&str, &str)| {
        let of_arm = |line: &&FleetChange| {
            (&*line.arm, &*line.reference) == arm && line.scale == Scale::Ratio
        };
        all().filter(of_arm).collect::<Vec<_>>()
    };
    let figure = |arm| forest(comparison, arm, &lines(arm));
    let figures: Vec<Figure> = arms.into_iter().filter_map(figure).collect();
    if figures.is_empty() {
        return Vec::new();
    }
    vec![Block::Figures(figures)]
}

fn forest(
    comparison: &FleetComparison,
    (arm, reference): (&str, &str),
    lines: &[&FleetChange],
) -> Option<Figure> {
    let heads = heads(comparison);
    let many_models = lines.iter().any(|line| line.cpu_model != lines[0].cpu_model);
    let group = |line: &&FleetChange| {
        let side = |side: usize| {
            let effect = &line.effects[side];
            let ends = effect.low.zip(effect.high);
            ForestLine {
                arm: side,
                name: heads[side].clone(),
                ratio: Some(effect.effect),
                interval: ends,
                next: None,
                text: format!(
                    "{}  ({})",
                    amount(Some(effect.effect), line.scale, ""),
                    interval(ends, line.scale)
                ),
            }
        };
        let model = line.cpu_model.as_deref().map_or_else(|| "all models".to_owned(), clean);
        ForestGroup {
            label: if many_models { format!("{} · {model}", row(line)) } else { row(line) },
            primary: line.rows > 1,
            lines: vec![side(0), side(1)],
        }
    };
    let groups: Vec<ForestGroup> = lines.iter().take(LINES_MAX).map(group).collect();
    let more = match lines.len().saturating_sub(LINES_MAX) {
        0 => String::new(),
        _ => format!(" The first {LINES_MAX} of {} lines are shown.", lines.len()),
    };
    (!groups.is_empty()).then(|| Figure {
        title: format!("Effect of {} against {} in each fleet", clean(arm), clean(reference)),
        caption: format!(
            "Right of the line is better than {}. Bars that overlap may hide a change that machines of \
             both show: read its own interval in the table.{more}",
            clean(reference)
        ),
        plot: Plot::Forest(Forest { groups, margin: comparison.margin }),
    })
}
