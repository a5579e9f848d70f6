//! Two studies of the same rows in the same arms, made at different times, on different kernels or
//! machines.
//!
//! Data flow: two [`StudyRecords`] → `side` (rows and arms of both; each study by itself: effects and values as means with spread) → `contrast` (second less first, by Welch) →
//! `StudyComparison`. `side` decides, too, what may carry a verdict, and `warnings` says why not.
//!
//! Invariants:
//! * each study is analysed as in its own report; only rows and arms of both are compared;
//! * studies are independent, so their variances add up; blocks of the two are never paired;
//! * what differs by more than the thing to be compared is said, and where it makes a verdict
//!   meaningless there is none.

pub(crate) mod contrast;
pub(crate) mod facts;
mod heads;
mod lines;
pub(crate) mod records;
pub(crate) mod sentences;
mod side;
pub(crate) mod warnings;

use crate::confidence;
use coretwin_base::schema::SCHEMA;
use coretwin_base::study::comparison::{ComparedStudy, StudyComparison};
use std::collections::BTreeSet;

pub use heads::folder_heads;
pub use records::{NothingInCommon, StudyRecords};

use side::{Both, Common, Gate, Side};

/// Compares the second study with the first. Without `margin`, the larger of their own holds. Errors:
/// [`NothingInCommon`] if no row or no arm is in both.
pub fn compare(
    studies: [&StudyRecords<'_>; 2],
    margin: Option<f64>,
) -> Result<StudyComparison, NothingInCommon> {
    compare_as(heads::heads(studies), studies, margin)
}

/// The same with names for the two in tables and sentences.
pub fn compare_as(
    heads: [String; 2],
    studies: [&StudyRecords<'_>; 2],
    margin: Option<f64>,
) -> Result<StudyComparison, NothingInCommon> {
    let common = Common::new(studies)?;
    let margins = studies.map(|study| study.plan.rules.margin);
    let margin = margin.unwrap_or(f64::max(margins[0], margins[1]));
    let sides = [0, 1].map(|index| Side::new(studies[index], &common, index));
    let gate = Gate::new(&sides, &common);
    let both = Both { sides, common, gate, margin };
    let (facts, facts_same) = facts::changes(studies, &both.common.arms);
    let mut comparison = StudyComparison {
        schema: SCHEMA,
        studies: [0, 1].map(|index| compared(&both, index, &heads[index])),
        reference_arm: both.common.arms[0].clone(),
        margin,
        confidence: confidence::CONFIDENCE,
        facts,
        facts_same,
        ..StudyComparison::default()
    };
    both.fill(&mut comparison);
    comparison.warnings = warnings::write(&comparison, &both, margins);
    comparison.sentences = sentences::write(&comparison);
    Ok(comparison)
}

fn compared(both: &Both<'_>, index: usize, head: &str) -> ComparedStudy {
    let Both { sides, common, .. } = both;
    let side = &sides[index];
    let StudyRecords { folder, plan, environment, stopped_because, .. } = *side.records;
    let boots: BTreeSet<&str> =
        environment.sessions.iter().map(|session| session.boot_id.as_str()).collect();
    ComparedStudy {
        head: head.to_owned(),
        folder: folder.to_owned(),
        machine: plan.machine.clone(),
        origin: plan.origin(),
        coretwin: plan.coretwin.clone(),
        started_utc: environment.sessions.first().map(|session| session.started_utc.clone()),
        boots: boots.len() as u32,
        comparison: plan.comparison,
        protocol: plan.rules.protocol,
        arms: plan.arms.clone(),
        reference_arm: plan.reference_arm.clone(),
        margin: plan.rules.margin,
        rule: plan.rules.until,
        meaning: plan.rules.until.into(),
        blocks: side.summary.blocks,
        stopped_because,
        warnings: side.summary.warnings.len() as u32,
        rows_only: common.rows_only[index].clone(),
        arms_only: common.arms_only[index].clone(),
    }
}
