//! What tables and figures of two fleets have in common.

use crate::{number, words};
use coretwin_base::fleet::comparison::{FleetChange, FleetComparison};

pub(super) fn heads(comparison: &FleetComparison) -> [String; 2] {
    comparison.fleets.each_ref().map(|fleet| words::clean(&fleet.head))
}

pub(super) fn machines(line: &FleetChange) -> String {
    let paired = number::count(line.machines_paired.into(), "machine");
    let [a, b] = line.machines_independent;
    match (line.machines_paired, a + b) {
        (0, _) => format!("{a} and {}", number::count(b.into(), "machine")),
        (_, 0) => format!("{paired} in both"),
        _ => format!("{paired} in both, {a} and {b} others"),
    }
}

pub(super) fn row(line: &FleetChange) -> String {
    match line.rows {
        1 => words::clean(&line.row),
        rows => number::count(rows.into(), "row"),
    }
}
