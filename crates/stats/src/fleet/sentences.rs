//! The answer for a fleet in words, one sentence for each arm.

use crate::study::phrase::{counted, signed_percent};
use coretwin_base::fleet_summary::{FleetEffect, FleetSummary};
use coretwin_base::plan::Scale;
use coretwin_base::summary::Verdict;
use std::collections::BTreeSet;

/// One sentence per arm.
pub(super) fn write(summary: &FleetSummary) -> Vec<String> {
    let all = || summary.suites.iter().chain(&summary.effects);
    let arms: BTreeSet<_> = all().map(|effect| (&effect.arm, &effect.reference)).collect();
    let primary = |arm| {
        let of_arm = || all().filter(move |effect| (&effect.arm, &effect.reference) == arm);
        // Suites come first, and all models before each of them.
        of_arm().find(|effect| effect.cpu_model.is_none()).or_else(|| of_arm().next())
    };
    arms.into_iter().filter_map(primary).map(|effect| sentence(summary, effect)).collect()
}

fn sentence(summary: &FleetSummary, effect: &FleetEffect) -> String {
    let models = summary.models.len() as u64;
    let of_models = match effect.cpu_model {
        None => format!(" of {}", counted(models, "CPU model")),
        Some(_) => String::new(),
    };
    let what = match effect.rows {
        1 => effect.row.to_string(),
        rows => counted(rows.into(), "row"),
    };
    let amount = amount(effect, effect.effect);
    let interval = match (effect.low, effect.high) {
        (Some(low), Some(high)) => {
            format!(
                " (95 % interval {} to {})",
                self::amount(effect, low),
                self::amount(effect, high)
            )
        }
        _ => String::new(),
    };
    let next = match (effect.next_low, effect.next_high, effect.next) {
        (Some(low), Some(high), Some(next)) => format!(
            " The next machine of this kind lies between {} and {}: {}",
            self::amount(effect, low),
            self::amount(effect, high),
            match next {
                Verdict::Helps => "it gains too.",
                Verdict::Hurts => "it loses too.",
                Verdict::NoMaterialDifference => "no material difference there either.",
                Verdict::Inconclusive =>
                    "whether it gains or loses cannot be told from these machines; measure it.",
            }
        ),
        _ => " So few machines say nothing about the next one.".to_owned(),
    };
    let verdict = effect.verdict.map_or(String::new(), |verdict| format!(": {verdict}"));
    format!(
        "{} against {}: {amount}{interval} for {what} on {}{of_models}{verdict}.{next}",
        effect.arm,
        effect.reference,
        counted(effect.machines.into(), "machine"),
    )
}

fn amount(effect: &FleetEffect, value: f64) -> String {
    match effect.scale {
        Scale::Ratio => signed_percent(value),
        Scale::Raw => format!("{value:+.3} {}", effect.unit),
    }
}
