//! Tidy CSV: every effect of both fleets and its change, suites first, one line each; RFC 4180 quoting.
//! Numbers ending in `_1` are the first fleet's, in `_2` the second's; those without are second against
//! first. An empty field is a missing number; an empty `cpu_model` is all of them.

use crate::csv::{field, optional, word};
use coretwin_base::fleet::comparison::{FleetChange, FleetComparison};

const COLUMNS: &str = "fleet_1,fleet_2,cpu_model,workload,row,arm,reference_arm,unit,better,scale,rows,\
                       effect_1,low_1,high_1,machines_1,effect_2,low_2,high_2,machines_2,\
                       machines_paired,machines_independent_1,machines_independent_2,\
                       ratio,low,high,degrees,p,p_adjusted,change,origin_1,origin_2";

pub(super) fn csv(comparison: &FleetComparison) -> String {
    let mut out = format!("{COLUMNS}\n");
    for line in comparison.suites.iter().chain(&comparison.effects) {
        write(&mut out, comparison, line);
    }
    out
}

fn write(out: &mut String, comparison: &FleetComparison, line: &FleetChange) {
    let [first, second] = &comparison.fleets;
    let texts = [
        first.head.as_str(),
        &second.head,
        line.cpu_model.as_deref().unwrap_or(""),
        &line.workload,
        &line.row,
        &line.arm,
        &line.reference,
        &line.unit,
    ];
    for text in texts {
        field(out, text);
        out.push(',');
    }
    out.push_str(&format!("{},{},{}", line.better.name(), line.scale.name(), line.rows));
    for effect in &line.effects {
        optional(out, &[Some(effect.effect), effect.low, effect.high]);
        out.push_str(&format!(",{}", effect.machines));
    }
    let [a, b] = line.machines_independent;
    out.push_str(&format!(",{},{a},{b}", line.machines_paired));
    let change = &line.change;
    optional(
        out,
        &[change.ratio, change.low, change.high, change.degrees, change.p, change.p_adjusted],
    );
    let [first, second] = line.origins;
    out.push_str(&format!(",{},{first},{second}\n", word(change.change)));
}
