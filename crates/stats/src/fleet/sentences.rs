//! The answer for a fleet in words, one sentence for each arm.

use crate::study::phrase::{counted, signed_percent};
use coretwin_base::fleet::summary::{FleetEffect, FleetSummary};
use coretwin_base::study::plan::Scale;
use coretwin_base::study::summary::Verdict;
use std::collections::BTreeSet;

pub(super) fn write(summary: &FleetSummary) -> Vec<String> {
    let all = || summary.suites.iter().chain(&summary.effects);
    let arm =
        |effect: &'_ FleetEffect| (effect.origin, effect.arm.clone(), effect.reference.clone());
    let arms: BTreeSet<_> = all().map(arm).collect();
    let primary = |wanted| {
        let of_arm = || all().filter(|effect| arm(effect) == wanted);
        // Suites come first, and all models before each of them.
        of_arm().find(|effect| effect.cpu_model.is_none()).or_else(|| of_arm().next())
    };
    if arms.is_empty() && summary.machines > 0 {
        let machines = counted(summary.machines.into(), "machine");
        return vec![format!("Nothing could be compared on {machines}: no row has a whole block.")];
    }
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
    let amount = amount(effect.scale, &effect.unit, effect.effect);
    let interval = match (effect.low, effect.high) {
        (Some(low), Some(high)) => {
            format!(
                " ({} {} to {})",
                effect.origin.interval_name(summary.confidence),
                self::amount(effect.scale, &effect.unit, low),
                self::amount(effect.scale, &effect.unit, high)
            )
        }
        _ => String::new(),
    };
    let next = match (effect.next_low, effect.next_high) {
        (Some(low), Some(high)) => format!(
            " The next machine of this kind lies between {} and {}{}",
            self::amount(effect.scale, &effect.unit, low),
            self::amount(effect.scale, &effect.unit, high),
            match effect.next {
                Some(Verdict::Helps) => ": it gains too.",
                Some(Verdict::Hurts) => ": it loses too.",
                Some(Verdict::NoMaterialDifference) => ": no material difference there either.",
                Some(Verdict::Inconclusive) =>
                    ": whether it gains or loses cannot be told from these machines; measure it.",
                None => ".",
            }
        ),
        _ => " So few machines say nothing about the next one.".to_owned(),
    };
    let verdict = effect.verdict.map_or(String::new(), |verdict| format!(": {verdict}"));
    let mark = effect.origin.mark().map(|mark| format!("{mark}: ")).unwrap_or_default();
    format!(
        "{mark}{} against {}: {amount}{interval} for {what} on {}{of_models}{verdict}.{next}{}",
        effect.arm,
        effect.reference,
        counted(effect.machines.into(), "machine"),
        by_model(summary, effect),
    )
}

const MODELS_NAMED: usize = 6;

/// Of an effect over all models: each by itself, for decisions model by model.
fn by_model(summary: &FleetSummary, over_all: &FleetEffect) -> String {
    if over_all.cpu_model.is_some() {
        return String::new();
    }
    let key = |effect: &FleetEffect| (effect.origin, effect.row.clone(), effect.arm.clone());
    let is_same = |effect: &&FleetEffect| key(effect) == key(over_all);
    let effects = summary.suites.iter().chain(&summary.effects).filter(is_same);
    let named: Vec<String> = effects
        .filter_map(|effect| {
            let verdict = effect.verdict.map_or(String::new(), |verdict| format!(" {verdict}"));
            let amount = amount(effect.scale, &effect.unit, effect.effect);
            Some(format!("{} {amount}{verdict}", effect.cpu_model.as_ref()?))
        })
        .collect();
    if named.is_empty() {
        return String::new();
    }
    let more = named.len().saturating_sub(MODELS_NAMED);
    let more = if more > 0 { format!("; {more} more in the table") } else { String::new() };
    format!(" By model: {}{more}.", named[..named.len().min(MODELS_NAMED)].join("; "))
}

pub(super) fn amount(scale: Scale, unit: &str, value: f64) -> String {
    match scale {
        Scale::Ratio => signed_percent(value),
        Scale::Raw => format!("{value:+.3} {unit}"),
    }
}
