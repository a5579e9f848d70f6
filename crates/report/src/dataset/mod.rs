//! The tables of a dataset: columns with their types, and the rows of each, by workload. FORMAT.md
//! documents every column.
//!
//! `readings` has every run and `metrics` the numbers beside its value; `effects` what an arm did for a
//! row on one machine, and `fleet_effects` what it did over machines. The machine and the workload are
//! no columns: files lie in folders that are named by them.

mod effects;
mod fleet_effects;
mod readings;

pub use effects::{EffectRow, effect_columns, machine_effects, study_effects};
pub use fleet_effects::{fleet_effect_columns, fleet_effects};
pub use readings::{MetricRow, ReadingRow, metric_columns, metrics, reading_columns, readings};
pub(crate) use readings::{checks_failed, phase, status};

use coretwin_base::fleet::Fleet;
use coretwin_base::origin::Origin;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::summary::Verdict;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Rows of a table by the workload they are of.
pub type ByWorkload<'a, Row> = BTreeMap<&'a str, Vec<Row>>;

/// What every row of a machine has in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine<'a> {
    /// Model of the processor, or the simulated machine.
    pub cpu_model: &'a str,
    /// Where its figures come from.
    pub origin: Origin,
}

impl<'a> Machine<'a> {
    /// The machine of a study.
    #[must_use]
    pub fn of_plan(plan: &'a Plan) -> Self {
        let model = plan.topology.cpuinfo.model_name.as_deref().unwrap_or("unknown");
        match plan.simulation {
            Some(_) => Self { cpu_model: &plan.machine, origin: plan.origin() },
            None => Self { cpu_model: model.trim(), origin: plan.origin() },
        }
    }
}

/// What each machine of a fleet is called in a dataset, in the order of the members: its name, or
/// name and id where several have that name.
#[must_use]
pub fn machine_names(fleet: &Fleet) -> Vec<String> {
    let mut named: BTreeMap<&str, u32> = BTreeMap::new();
    fleet.members.iter().for_each(|member| *named.entry(&member.name).or_default() += 1);
    let name = |member: &coretwin_base::fleet::Member| match named[member.name.as_str()] {
        1 => member.name.clone(),
        _ => format!("{}-{}", member.name, &*member.machine),
    };
    fleet.members.iter().map(name).collect()
}

/// A text that is there.
#[expect(clippy::unnecessary_wraps, reason = "what a column takes")]
fn text(text: &str) -> Option<Cow<'_, str>> {
    Some(Cow::Borrowed(text))
}

/// A text, null where it is empty.
fn some_text(text: &str) -> Option<Cow<'_, str>> {
    (!text.is_empty()).then_some(Cow::Borrowed(text))
}

fn verdict(verdict: Option<Verdict>) -> Option<Cow<'static, str>> {
    text(match verdict? {
        Verdict::Helps => "helps",
        Verdict::Hurts => "hurts",
        Verdict::NoMaterialDifference => "no-material-difference",
        Verdict::Inconclusive => "inconclusive",
    })
}
