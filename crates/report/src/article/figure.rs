//! Figures 1 to 3: throughput by size, a bar for each arm.

use super::columns::{find, value};
use crate::document::{Block, Figure};
use crate::plot::{Bar, BarGroup, Bars, Plot};
use crate::{Study, number, words};
use coretwin_article::tables::{Filled, Line};
use coretwin_base::study::plan::Protocol;
use coretwin_base::study::reading::Better;

/// The figure of a table that has one.
pub(super) fn figure(study: &Study<'_>, table: &Filled<'_>) -> Option<Block> {
    let reference = study.plan.reference_index();
    let arms: Vec<usize> = (0..study.plan.arms.len()).collect();
    let unit = words::clean(&table.lines.first()?.row.unit);
    let bar = |arm: usize, line: &Line<'_>| {
        let value = value(study, arm, &line.row.id);
        let name = words::arm_name(study, arm);
        // The comparison is paired, so the interval that matters is that of the ratio.
        let interval = find(study, arm, &line.row.id)
            .filter(|effect| arm != reference && effect.better == Better::Higher)
            .and_then(|effect| Some((effect.value_reference?, effect.low?, effect.high?)))
            .map(|(base, low, high)| (base * low, base * high));
        let title = format!("{name}: {} {unit}", number::value_or_none(value));
        Bar { arm, value, interval, title }
    };
    let groups = table.lines.iter().map(|line| BarGroup {
        label: line.label.clone(),
        bars: arms.iter().map(|arm| bar(*arm, line)).collect(),
    });
    let mut caption = format!("Mean throughput for each number of {}.", table.counted);
    if study.plan.rules.protocol != Protocol::Article2003 {
        let against = words::arm_name(study, reference);
        caption.push_str(&format!(
            " Error bars are the interval of the paired ratio to {against}, drawn on its mean."
        ));
    }
    let plot = Plot::Bars(Bars {
        unit: unit.clone(),
        group: table.counted.to_owned(),
        groups: groups.collect(),
    });
    let title = format!("Figure {}. {}", table.figure?, table.title);
    Some(Block::Figures { arms, figures: vec![Figure { title, caption, plot }] })
}
