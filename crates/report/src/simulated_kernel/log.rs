//! The log of decisions, a line each.

use crate::words::clean;
use coretwin_base::simulation::kernel_run::{SchedDecision, SchedRun};

/// The decisions that a run kept, a line each: time in ms, the CPU that asked, what was decided, of
/// which task, for which CPU, and why.
#[must_use]
pub fn sched_log_text(run: &SchedRun) -> String {
    let mut out = format!("{}, seed {}: decisions\n", clean(&run.policy), run.seed);
    for decision in &run.decisions {
        out.push_str(&line(decision));
        out.push('\n');
    }
    out
}

/// One decision.
pub(super) fn line(decision: &SchedDecision) -> String {
    let (ms, ns) = (decision.at_ns / 1_000_000, decision.at_ns % 1_000_000);
    let place = match decision.from_cpu {
        Some(from) => format!("cpu{from}>cpu{}", decision.cpu),
        None => format!("cpu{}", decision.cpu),
    };
    let task = decision.task.as_deref().map_or_else(|| "-".to_owned(), clean);
    let asked = format!("cpu{}", decision.asked_on);
    let (verb, reason) = (clean(&decision.verb), clean(&decision.reason));
    format!("{ms:>6}.{ns:06} {asked:<6} {verb:<7} {task:<14} {place:<11} {reason}")
}
