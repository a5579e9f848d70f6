//! Decision help: what to set, what it gains and costs by every measure, and how to get that arm in
//! the systems people run.

mod settings;

use crate::Study;
use crate::document::{Block, Column, ColumnOf, Table};
use crate::effects::interval_name;
use crate::number::{self, or_none};
use crate::words::{self, arm_index, arm_name, clean};
use coretwin_base::origin::Origin;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::decision::{Decision, Measure, Price, Worth};
use coretwin_base::study::summary::Verdict;
use coretwin_stats::decision::decide;
use std::collections::BTreeSet;

/// What the study says about what to set. Of a simulated machine only for one family's work, or where
/// licences are asked for: the article's whole study asks what followed from what, and its kernels
/// are history.
pub(crate) fn of(study: &Study<'_>) -> Option<Decision> {
    let families: BTreeSet<&str> = study.plan.rows.iter().map(|row| row.family.as_str()).collect();
    let is_simulated = study.summary.origin == Origin::Simulated;
    if is_simulated && families.len() > 1 && study.licence.is_none() {
        return None;
    }
    decide(study.plan, study.readings, study.summary, study.licence)
}

/// Whether there is something to set: a verdict to act on, measured in a study that met its rule.
pub(crate) fn applies(study: &Study<'_>, decision: &Decision) -> bool {
    let Decision { choice, worth, .. } = decision;
    let decides = |worth: &&Worth| matches!(worth.verdict, Some(Verdict::Helps | Verdict::Hurts));
    let mut worth = worth.iter().filter(|worth| worth.measure == choice.measure);
    let is_measured = study.summary.origin == Origin::Measured && !study.summary.interim;
    is_measured && choice.arm.is_some() && worth.any(|worth| decides(&worth))
}

pub(crate) fn blocks(study: &Study<'_>, decision: &Decision) -> Vec<Block> {
    let sentences = decision.choice.sentences.iter().map(|text| Block::Text(clean(text)));
    let mut blocks: Vec<Block> = sentences.collect();
    let chosen = decision.choice.arm.as_deref().and_then(|label| study.plan.arm(label));
    let chosen = chosen.filter(|_| applies(study, decision));
    if let (Some(arm), Some(threads)) = (chosen, decision.choice.threads) {
        blocks.push(Block::Text(format!(
            "Threads to use on a machine like this: {} ({}).",
            number::whole(threads.into()),
            if study.summary.threads_chosen.contains_key(&arm.label) {
                "the best of those that were tried"
            } else {
                "one for each CPU of that arm"
            }
        )));
    }
    blocks.extend(chosen.and_then(|arm| settings::table(study, arm)).map(Block::Table));
    blocks.push(Block::Table(worth(study, decision)));
    if !decision.prices.is_empty() {
        blocks.push(Block::Table(prices(study, decision)));
    }
    blocks
}

fn worth(study: &Study<'_>, decision: &Decision) -> Table {
    let has = |measure: Measure| decision.worth.iter().any(|worth| worth.measure == measure);
    let mut note = "A positive number is better: more work for what is spent. CPU seconds are those \
                    the kernel counts, which are worth less beside a busy sibling; core seconds are \
                    what a machine has."
        .to_owned();
    if has(Measure::Tail) {
        note.push_str(
            " Latencies are of a closed loop: a client that waits for its answer sends no other.",
        );
    } else {
        note.push_str(" These runs tell no latencies.");
    }
    if !has(Measure::Energy) {
        note.push_str(" Energy could not be read (RAPL under /sys/class/powercap, as root).");
    }
    let against = arm_name(study, study.plan.reference_index());
    let columns: [ColumnOf<'_, Worth>; 5] = [
        (Column::words("Measure"), &|it| clean(&it.measure.to_string())),
        (Column::words("Arm"), &|it| arm_name(study, arm_index(study, &it.arm))),
        (Column::number("Better by"), &|it| number::effect(it.ratio)),
        (Column::number(interval_name(study)), &|it| interval(it.low, it.high)),
        (Column::words(words::verdict_column(study)), &|it| {
            or_none(it.verdict.map(|verdict| words::verdict(study, &it.arm, verdict)))
        }),
    ];
    let caption = format!("What each arm is worth against {against}");
    Table::of(caption, &decision.worth, columns).note(note)
}

fn interval(low: Option<f64>, high: Option<f64>) -> String {
    or_none(low.zip(high).map(|(low, high)| number::interval(low, high)))
}

fn prices(study: &Study<'_>, decision: &Decision) -> Table {
    let columns: [ColumnOf<'_, Price>; 4] = [
        (Column::words("Price of"), &|price| clean(&price.what)),
        (Column::words("Arms"), &|it| clean(&format!("{} against {}", it.arm, it.against))),
        (Column::number("Work per second"), &|price| number::effect(price.ratio)),
        (Column::number(interval_name(study)), &|price| interval(price.low, price.high)),
    ];
    let note =
        format!("A negative number is the price; a positive one is a gain.{}", unknown(study));
    Table::of("What it costs, in work per second", &decision.prices, columns).note(note)
}

/// What the price of core scheduling would take, where a study on a host has no arm of it.
fn unknown(study: &Study<'_>) -> &'static str {
    let has = study.plan.arms.iter().any(|arm| arm.state == ArmState::CoreSched);
    if has || study.plan.simulation.is_some() {
        return "";
    }
    " That of core scheduling takes an arm of its own: --arm core-sched."
}
