//! What siblings do and what more threads do: a 2×2 of CPUs and threads. Who compares all CPUs with one
//! on each core, and a thread on every CPU in both, changes two things at once.

use super::rows::Differences;
use super::suites;
use coretwin_base::study::plan::{Plan, PlanArm};
use coretwin_base::study::summary::{Part, SplitEffect, SuiteEffect, Summary, Verdict};
use std::collections::BTreeMap;

/// Every part, over all rows; none where nothing is split.
pub(super) fn parts(plan: &Plan, compared: &BTreeMap<usize, Vec<Differences>>) -> Vec<SplitEffect> {
    let Some(split) = &plan.split else { return Vec::new() };
    let place = |label: &str| plan.arms.iter().position(|arm| arm.label == label);
    let of = |label: &str| compared.get(&place(label)?);
    let both = place(&split.both);
    let cells = (of(&split.threads), of(&split.siblings), of(&split.both));
    let (Some(arm), (Some(threads), Some(siblings), Some(more))) = (both, cells) else {
        return Vec::new();
    };
    let suite = |rows: &[Differences]| suites::effects(plan, rows, arm).pop();
    let with = |other: &[Differences], times: f64| {
        let rows: Vec<Differences> =
            more.iter().zip(other).map(|(row, other)| row.with(other, times)).collect();
        suite(&rows)
    };
    let reference = &plan.reference_arm;
    let all = [
        (Part::Together, &split.both, reference, with(threads, 1.0)),
        (Part::Threads, &split.threads, reference, suite(threads)),
        (Part::SiblingsMore, &split.both, &split.threads, suite(more)),
        (Part::Siblings, &split.siblings, reference, suite(siblings)),
        (Part::Interaction, &split.both, &split.siblings, with(siblings, -1.0)),
    ];
    let told = |(part, arm, against, effect): (Part, &String, &String, Option<SuiteEffect>)| {
        let effect = SuiteEffect { arm: arm.clone(), ..effect? };
        Some(SplitEffect { part, against: against.clone(), effect })
    };
    let mut parts: Vec<SplitEffect> = all.into_iter().filter_map(told).collect();
    parts.extend(beside_the_better(&parts));
    parts
}

/// The lesser of what is gained over either arm without siblings. It helps only if both say so, and hurts
/// if either does: which of the two arms is the better is seen in the same data.
fn beside_the_better(parts: &[SplitEffect]) -> Option<SplitEffect> {
    let [together, more] = [Part::Together, Part::SiblingsMore].map(|part| of(parts, part));
    let gravity = |verdict: Option<Verdict>| match verdict {
        Some(Verdict::Hurts) => 0,
        Some(Verdict::Inconclusive) => 1,
        Some(Verdict::NoMaterialDifference) => 2,
        Some(Verdict::Helps) | None => 3,
    };
    let lesser = [together?, more?].into_iter().min_by(|a, b| {
        let [a, b] = [a, b].map(|one| (gravity(one.effect.verdict), one.effect.ratio));
        a.0.cmp(&b.0).then(a.1.unwrap_or(1.0).total_cmp(&b.1.unwrap_or(1.0)))
    })?;
    Some(SplitEffect { part: Part::BesideBetter, ..lesser.clone() })
}

pub(super) fn of(parts: &[SplitEffect], part: Part) -> Option<&SplitEffect> {
    parts.iter().find(|one| one.part == part && one.effect.ratio.is_some())
}

/// The effect that answers the whole question, and the arm it is compared with.
pub(super) fn beside_better(summary: &Summary) -> Option<&SuiteEffect> {
    of(&summary.split, Part::BesideBetter).map(|part| &part.effect)
}

pub(super) fn base<'a>(plan: &'a Plan, summary: &Summary, arm: &'a PlanArm) -> &'a PlanArm {
    let part = of(&summary.split, Part::BesideBetter).filter(|part| part.effect.arm == arm.label);
    part.and_then(|part| plan.arm(&part.against)).unwrap_or_else(|| plan.base_of(arm))
}
