//! What the tables of a dataset have in common.

use crate::csv;
use coretwin_base::origin::Origin;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::summary::Verdict;
use std::borrow::Cow;
use std::collections::BTreeMap;

pub type ByWorkload<'a, Row> = BTreeMap<&'a str, Vec<Row>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine<'a> {
    /// Model of the processor, or the simulated machine.
    pub cpu_model: &'a str,
    /// Where its figures come from.
    pub origin: Origin,
}

impl<'a> Machine<'a> {
    pub fn of_plan(plan: &'a Plan) -> Self {
        let model = plan.topology.cpuinfo.model_name.as_deref().unwrap_or("unknown");
        match plan.simulation {
            Some(_) => Self { cpu_model: &plan.machine, origin: plan.origin() },
            None => Self { cpu_model: model.trim(), origin: plan.origin() },
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "what a column takes")]
pub(super) fn text(text: &str) -> Option<Cow<'_, str>> {
    Some(Cow::Borrowed(text))
}

/// A text, null where it is empty.
pub(super) fn some_text(text: &str) -> Option<Cow<'_, str>> {
    (!text.is_empty()).then_some(Cow::Borrowed(text))
}

pub(super) fn verdict(verdict: Option<Verdict>) -> Option<Cow<'static, str>> {
    verdict.is_some().then(|| csv::word(verdict).into())
}
