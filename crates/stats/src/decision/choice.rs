//! Which arm to set, and why, for people who know nothing of statistics.

use crate::study::phrase::{counted, percent, signed_percent};
use coretwin_base::origin::Origin;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::decision::{Choice, Licence, Measure, Worth};
use coretwin_base::study::plan::{Comparison, Plan, PlanArm};
use coretwin_base::study::summary::{Summary, Verdict};

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
    let voice = Voice { plan, summary, measure };
    let best = candidates
        .iter()
        .filter(|worth| voice.sign(worth) == Some(Verdict::Helps))
        .max_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let mut sentences = Vec::new();
    let arm = match best {
        Some(best) => {
            sentences.push(voice.helps(best));
            Some(best.arm.as_str())
        }
        None => {
            let (arm, sentence) = voice.without_gain(&candidates);
            sentences.push(sentence);
            arm
        }
    };
    let arm = arm.and_then(|label| plan.arm(label));
    sentences.extend(arm.into_iter().flat_map(|arm| voice.beside(arm, worth)));
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

struct Voice<'a> {
    plan: &'a Plan,
    summary: &'a Summary,
    measure: Measure,
}

impl<'a> Voice<'a> {
    fn is_predicted(&self) -> bool {
        self.summary.origin == Origin::Simulated
    }

    /// Which way an arm differs: by its verdict, or of a prediction by where all its seeds lie.
    fn sign(&self, worth: &Worth) -> Option<Verdict> {
        if !self.is_predicted() {
            return worth.verdict;
        }
        match (worth.low?, worth.high?) {
            (low, _) if low > 1.0 => Some(Verdict::Helps),
            (_, high) if high < 1.0 => Some(Verdict::Hurts),
            _ => None,
        }
    }

    /// The head of the sentence: a prediction is no reason to set anything.
    fn set(&self, arm: &str) -> String {
        let arm = named(self.plan, arm);
        match self.is_predicted() {
            true => format!("Predicted best, to be measured before it is set: {arm}"),
            false => format!("Set {arm}"),
        }
    }

    fn helps(&self, best: &Worth) -> String {
        let ends = match (best.low, best.high) {
            (Some(low), Some(high)) if self.is_predicted() => {
                format!(" (seed spread {} to {})", signed_percent(low), signed_percent(high))
            }
            (Some(low), _) if low > 1.0 => format!(", at least {} more", percent(low)),
            _ => String::new(),
        };
        format!(
            "{}: it gives {} more {} than {}{ends}.",
            self.set(&best.arm),
            percent(best.ratio),
            self.measure,
            named(self.plan, &self.plan.reference_arm),
        )
    }

    /// Where nothing is better than the reference.
    fn without_gain(&self, candidates: &[&'a Worth]) -> (Option<&'a str>, String) {
        let Self { plan, summary, measure } = *self;
        let reference = named(plan, &plan.reference_arm);
        let Some(first) = candidates.first() else {
            return (None, format!("Nothing was measured that tells {measure}."));
        };
        if summary.interim {
            let why = "the study was stopped before its rule was met";
            return (None, format!("Change nothing yet: {why}, so its figures are interim."));
        }
        let is = |verdict: Option<Verdict>| move |worth: &&&Worth| self.sign(worth) == verdict;
        if candidates.iter().any(|worth| is(None)(&worth)) {
            let arm = candidates.iter().find(is(None)).map_or(first.arm.as_str(), |one| &one.arm);
            let than = format!("{} gives more {measure} than {reference}", named(plan, arm));
            return (
                None,
                match self.is_predicted() {
                    true => format!("Nothing is predicted: seeds differ on whether {than}."),
                    false => format!("Change nothing yet: too few blocks tell whether {than}."),
                },
            );
        }
        if let Some(open) = candidates.iter().find(is(Some(Verdict::Inconclusive))) {
            return (None, self.open(open));
        }
        if let Some(same) = candidates.iter().find(is(Some(Verdict::NoMaterialDifference))) {
            let (chosen, sentence) = self.alike(same);
            return (Some(chosen), sentence);
        }
        let sentence = format!(
            "{}: {} gives {} less {measure}.",
            self.set(&plan.reference_arm),
            named(plan, &first.arm),
            percent(first.ratio),
        );
        (Some(&plan.reference_arm), sentence)
    }

    fn open(&self, open: &Worth) -> String {
        let Self { plan, summary, measure } = *self;
        let suite = summary.suites.iter().rfind(|suite| suite.arm == open.arm);
        let more = suite.and_then(|suite| suite.blocks_needed).map_or_else(
            || "measure more blocks".to_owned(),
            |blocks| {
                let blocks = counted(blocks.into(), "block");
                format!("about {blocks} would decide, four times in five")
            },
        );
        format!(
            "Change nothing yet: the measurements do not tell whether {} gives more {measure} than \
             {}; {more}.",
            named(plan, &open.arm),
            named(plan, &plan.reference_arm),
        )
    }

    fn alike(&self, same: &'a Worth) -> (&'a str, String) {
        let Self { plan, summary, measure } = *self;
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
            "Set {}: {} makes no difference to {measure} that matters (less than {}), so choose by \
             other grounds, such as security, licences or what you know best.",
            named(plan, chosen),
            named(plan, other),
            percent(1.0 + summary.margin),
        );
        (chosen, sentence)
    }

    /// What the choice costs by the other measures. Each is told by the number of its table: work for
    /// what is spent, never what is spent for the work.
    fn beside(&self, arm: &PlanArm, worth: &[Worth]) -> Vec<String> {
        let is_reference = arm.label == self.plan.reference_arm;
        let of_arm = worth.iter().filter(|worth| {
            worth.measure != self.measure && !is_reference && worth.arm == arm.label
        });
        let worse: Vec<String> = of_arm
            .filter(|worth| self.sign(worth) == Some(Verdict::Hurts))
            .map(|worth| format!("{} less {}", percent(worth.ratio), worth.measure))
            .collect();
        if worse.is_empty() { Vec::new() } else { vec![format!("It costs: {}.", worse.join("; "))] }
    }
}

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
