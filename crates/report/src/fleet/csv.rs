//! Tidy CSV: every effect of a fleet, suites first, one line each; RFC 4180 quoting. An empty field is
//! a number that there is none of; an empty `cpu_model` is all of them.

use crate::csv::{field, number, word};
use coretwin_base::fleet::summary::{FleetEffect, FleetSummary};

const COLUMNS: &str = "cpu_model,workload,row,arm,reference_arm,unit,better,scale,rows,machines,blocks,\
                       effect,low,high,next_low,next_high,between,share_between,p,p_adjusted,verdict,\
                       next,outliers,origin";

pub(super) fn csv(summary: &FleetSummary) -> String {
    let mut out = format!("{COLUMNS}\n");
    for effect in summary.suites.iter().chain(&summary.effects) {
        line(&mut out, effect);
    }
    out
}

fn line(out: &mut String, effect: &FleetEffect) {
    let texts = [
        effect.cpu_model.as_deref().unwrap_or(""),
        &effect.workload,
        &effect.row,
        &effect.arm,
        &effect.reference,
        &effect.unit,
    ];
    for text in texts {
        field(out, text);
        out.push(',');
    }
    let FleetEffect { better, scale, rows, machines, blocks, .. } = effect;
    let (better, scale) = (better.name(), scale.name());
    out.push_str(&format!("{better},{scale},{rows},{machines},{blocks},"));
    let numbers = [
        Some(effect.effect),
        effect.low,
        effect.high,
        effect.next_low,
        effect.next_high,
        effect.between,
        effect.share_between,
        effect.p,
        effect.p_adjusted,
    ];
    for value in numbers {
        if let Some(value) = value {
            number(out, value);
        }
        out.push(',');
    }
    let FleetEffect { outliers, origin, .. } = effect;
    let [verdict, next] = [effect.verdict, effect.next].map(word);
    out.push_str(&format!("{verdict},{next},{outliers},{origin}\n"));
}
