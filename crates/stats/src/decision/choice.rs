//! Which arm to set, and why, for people who know nothing of statistics.

use crate::study::phrase::{counted, percent};
use coretwin_base::arm::ArmState;
use coretwin_base::decision::{Choice, Licence, Measure, Worth};
use coretwin_base::plan::{Comparison, Plan, PlanArm};
use coretwin_base::summary::{Summary, Verdict};

/// The arm that is best by throughput, or by licence where the user gave a rule; where no arm is
/// better than the reference, the reference, or none if that was not decided either.
pub(super) fn choose(
    plan: &Plan,
    summary: &Summary,
    worth: &[Worth],
    licence: Option<Licence>,
) -> Choice {
    let measure = licence.map_or(Measure::Throughput, Measure::Licence);
    let candidates: Vec<&Worth> = worth.iter().filter(|worth| worth.measure == measure).collect();
    let best = candidates
        .iter()
        .filter(|worth| worth.verdict == Some(Verdict::Helps))
        .max_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let mut sentences = Vec::new();
    let arm = match best {
        Some(best) => {
            sentences.push(helps(plan, best));
            Some(best.arm.as_str())
        }
        None => {
            let (arm, sentence) = without_gain(plan, summary, &candidates, measure);
            sentences.push(sentence);
            arm
        }
    };
    let arm = arm.and_then(|label| plan.arm(label));
    sentences.extend(arm.into_iter().flat_map(|arm| beside(plan, arm, worth, measure)));
    if plan.comparison == Comparison::None {
        sentences.push(
            "This study compares CPU sets or schedulers; it cannot say whether to switch SMT."
                .to_owned(),
        );
    }
    Choice {
        arm: arm.map(|arm| arm.label.clone()),
        measure,
        threads: arm.map(|arm| threads(summary, arm)),
        sentences,
    }
}

fn threads(summary: &Summary, arm: &PlanArm) -> u32 {
    summary.threads_chosen.get(&arm.label).copied().unwrap_or(arm.threads)
}

fn helps(plan: &Plan, best: &Worth) -> String {
    let at_least = match best.low {
        Some(low) if low > 1.0 => format!(", at least {} more", percent(low)),
        _ => String::new(),
    };
    format!(
        "Set {}: it gives {} more {} than {}{at_least}.",
        named(plan, &best.arm),
        percent(best.ratio),
        short(best.measure),
        named(plan, &plan.reference_arm),
    )
}

/// Where nothing is better than the reference.
fn without_gain<'a>(
    plan: &'a Plan,
    summary: &Summary,
    candidates: &[&'a Worth],
    measure: Measure,
) -> (Option<&'a str>, String) {
    let is = |verdict: Verdict| move |worth: &&&Worth| worth.verdict == Some(verdict);
    let reference = named(plan, &plan.reference_arm);
    if let Some(open) = candidates.iter().find(is(Verdict::Inconclusive)) {
        let more = summary
            .suites
            .iter()
            .rfind(|suite| suite.arm == open.arm)
            .and_then(|suite| suite.blocks_needed);
        let more = more.map_or_else(
            || "measure more blocks".to_owned(),
            |blocks| {
                let blocks = counted(blocks.into(), "block");
                format!("about {blocks} would decide, four times in five")
            },
        );
        let sentence = format!(
            "Change nothing yet: the measurements do not tell whether {} gives more {} than \
             {reference}; {more}.",
            named(plan, &open.arm),
            short(measure),
        );
        return (None, sentence);
    }
    if let Some(same) = candidates.iter().find(is(Verdict::NoMaterialDifference)) {
        // Without a difference the safer of the two costs nothing.
        let is_safe = |label: &str| {
            plan.arm(label).is_some_and(|arm| {
                matches!(arm.state, ArmState::Off | ArmState::OnePerCore | ArmState::CoreSched)
            })
        };
        let chosen =
            if is_safe(&same.arm) { same.arm.as_str() } else { plan.reference_arm.as_str() };
        let other = if chosen == same.arm { &plan.reference_arm } else { &same.arm };
        let sentence = format!(
            "Set {}: {} makes no difference to {} that matters (less than {}), so choose by other \
             grounds, such as security, licences or what you know best.",
            named(plan, chosen),
            named(plan, other),
            short(measure),
            percent(1.0 + summary.margin),
        );
        return (Some(chosen), sentence);
    }
    let Some(worst) = candidates.first() else {
        return (None, format!("Nothing was measured that tells {}.", short(measure)));
    };
    let sentence = format!(
        "Set {reference}: {} gives {} less {}.",
        named(plan, &worst.arm),
        percent(worst.ratio),
        short(measure),
    );
    (Some(&plan.reference_arm), sentence)
}

/// What the choice costs by the other measures, and gains.
fn beside(plan: &Plan, arm: &PlanArm, worth: &[Worth], measure: Measure) -> Vec<String> {
    let is_reference = arm.label == plan.reference_arm;
    let of_arm = worth
        .iter()
        .filter(|worth| worth.measure != measure && !is_reference && worth.arm == arm.label);
    let worse: Vec<String> = of_arm
        .filter(|worth| worth.verdict == Some(Verdict::Hurts))
        .map(|worth| match worth.measure {
            Measure::Throughput | Measure::Licence(_) => {
                format!("{} less {}", percent(worth.ratio), worth.measure)
            }
            // More of what is spent: the inverse of what is got for it.
            _ => format!("{} more {}", percent(1.0 / worth.ratio), worth.measure),
        })
        .collect();
    if worse.is_empty() { Vec::new() } else { vec![format!("It costs: {}.", worse.join("; "))] }
}

fn short(measure: Measure) -> String {
    match measure {
        Measure::Licence(rule) => format!("work per licence ({rule})"),
        _ => "work per second".to_owned(),
    }
}

/// An arm with what it is.
fn named(plan: &Plan, label: &str) -> String {
    let Some(arm) = plan.arm(label) else { return label.to_owned() };
    let about = match arm.state {
        ArmState::On => "SMT on, all CPUs",
        ArmState::Off => "SMT off",
        ArmState::OnePerCore => "one thread per core",
        ArmState::Packed => "both threads of half the cores",
        ArmState::OnCores => "SMT on, as many threads as cores",
        ArmState::CoreSched => "SMT on with core scheduling",
        ArmState::Boot(_) | ArmState::Cpus(_) => return label.to_owned(),
    };
    format!("{label} ({about})")
}
