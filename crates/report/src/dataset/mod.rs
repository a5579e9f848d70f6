//! The tables of a dataset: columns with their types, and the rows of each, by workload, as
//! docs/reference/figures.md lists them.
//!
//! `readings` has every run and `metrics` the numbers beside its value; `effects` what an arm did for a
//! row on one machine, and `fleet_effects` what it did over machines. The machine and the workload are
//! no columns: files lie in folders that are named by them.

mod cells;
mod effects;
mod readings;
mod recording;

pub use cells::{ByWorkload, Machine};
pub use effects::{
    EffectRow, effect_columns, fleet_effect_columns, fleet_effects, machine_effects, study_effects,
};
pub use readings::{MetricRow, ReadingRow, metric_columns, metrics, reading_columns, readings};
pub(crate) use readings::{csv_columns, csv_rows};
pub use recording::{
    OverlapRow, core_columns, cores, group_columns, groups, minute_columns, minutes,
};

use coretwin_base::fleet::Fleet;
use std::collections::BTreeMap;

/// What each machine of a fleet is called in a dataset, in the order of the members: its name, or
/// name and id where several have that name.
pub fn machine_names(fleet: &Fleet) -> Vec<String> {
    let mut named: BTreeMap<&str, u32> = BTreeMap::new();
    fleet.members.iter().for_each(|member| *named.entry(&member.name).or_default() += 1);
    let name = |member: &coretwin_base::fleet::Member| match named[member.name.as_str()] {
        1 => member.name.clone(),
        _ => format!("{}-{}", member.name, &*member.machine),
    };
    fleet.members.iter().map(name).collect()
}
