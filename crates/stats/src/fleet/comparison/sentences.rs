//! The answer for two fleets in words, one sentence for each arm.

use crate::comparison::sentences::changed;
use crate::fleet::sentences::amount;
use crate::study::phrase::counted;
use coretwin_base::fleet::comparison::{FleetChange, FleetComparison};
use std::collections::BTreeSet;

/// One sentence per arm, by the mean over everything, else its first row.
pub(super) fn write(comparison: &FleetComparison) -> Vec<String> {
    let all = || comparison.suites.iter().chain(&comparison.effects);
    let arms: BTreeSet<_> = all().map(|line| (&line.arm, &line.reference)).collect();
    let primary = |arm| {
        let of_arm = || all().filter(move |line| (&line.arm, &line.reference) == arm);
        // Suites come first, and all models before each of them.
        of_arm().find(|line| line.cpu_model.is_none()).or_else(|| of_arm().next())
    };
    arms.into_iter().filter_map(primary).map(|line| sentence(comparison, line)).collect()
}

fn sentence(comparison: &FleetComparison, line: &FleetChange) -> String {
    let [first, second] = comparison.fleets.each_ref().map(|fleet| fleet.head.as_str());
    let arm = &line.arm;
    let what = match (line.rows, &line.cpu_model) {
        (1, _) => line.row.to_string(),
        (rows, _) => counted(rows.into(), "row"),
    };
    let model = match &line.cpu_model {
        Some(model) if comparison.fleets.iter().any(|fleet| fleet.models.len() > 1) => {
            format!(" on {model}")
        }
        _ => String::new(),
    };
    let [from, to] = line.effects.map(|effect| amount(line.scale, &line.unit, effect.effect));
    let size = line
        .change
        .ratio
        .map_or_else(|| "–".to_owned(), |ratio| amount(line.scale, &line.unit, ratio));
    let interval = match line.change.low.zip(line.change.high) {
        Some((low, high)) => {
            let name = comparison.interval_name();
            format!(
                "{name} {} to {}",
                amount(line.scale, &line.unit, low),
                amount(line.scale, &line.unit, high)
            )
        }
        None => "no interval".to_owned(),
    };
    let sizes = format!(
        "over {} it is {to} in {second} and {from} in {first}, {size} between them ({interval}; {})",
        line.reference,
        machines(line)
    );
    let subject = format!("{what}{model}");
    changed(line.change.change, arm, &subject, [first, second], &sizes, comparison.margin)
}

fn machines(line: &FleetChange) -> String {
    let paired = counted(line.machines_paired.into(), "machine");
    let [a, b] = line.machines_independent;
    match (line.machines_paired, a + b) {
        (0, _) => format!("{a} and {}", counted(b.into(), "machine")),
        (_, 0) => format!("{paired} against themselves"),
        _ => format!("{paired} against themselves, {a} and {b} others"),
    }
}
