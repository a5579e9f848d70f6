//! The table `fleet_effects`: what an arm did for a row over machines, with what to expect of the next.

use super::cells::{ByWorkload, some_text, text, verdict};
use coretwin_base::column::Column;
use coretwin_base::fleet::summary::{FleetEffect, FleetSummary};
use std::collections::BTreeMap;

/// All of them, suites under the workload `all`.
#[must_use]
pub fn fleet_effects(summary: &FleetSummary) -> ByWorkload<'_, &FleetEffect> {
    let mut rows: ByWorkload<'_, &FleetEffect> = BTreeMap::new();
    for effect in summary.suites.iter().chain(&summary.effects) {
        rows.entry(&effect.workload).or_default().push(effect);
    }
    rows
}

/// Columns of the table `fleet_effects`. A `cpu_model` that is null is all of them.
#[must_use]
pub fn fleet_effect_columns<'a>() -> Vec<Column<&'a FleetEffect>> {
    vec![
        Column::text("origin", |row| text(row.origin.name())),
        Column::text("cpu_model", |row| row.cpu_model.as_deref().and_then(text)),
        Column::text("row", |row| text(&row.row)),
        Column::text("arm", |row| text(&row.arm)),
        Column::text("reference_arm", |row| text(&row.reference)),
        Column::text("unit", |row| some_text(&row.unit)),
        Column::text("better", |row| text(row.better.name())),
        Column::text("scale", |row| text(row.scale.name())),
        Column::count("rows", |row| Some(row.rows.into())),
        Column::count("machines", |row| Some(row.machines.into())),
        Column::count("blocks", |row| Some(row.blocks)),
        Column::number("effect", |row| Some(row.effect)),
        Column::number("low", |row| row.low),
        Column::number("high", |row| row.high),
        Column::number("next_low", |row| row.next_low),
        Column::number("next_high", |row| row.next_high),
        Column::number("between", |row| row.between),
        Column::number("share_between", |row| row.share_between),
        Column::number("p", |row| row.p),
        Column::number("p_adjusted", |row| row.p_adjusted),
        Column::text("verdict", |row| verdict(row.verdict)),
        Column::text("next", |row| verdict(row.next)),
        Column::count("outliers", |row| Some(row.outliers.into())),
    ]
}
