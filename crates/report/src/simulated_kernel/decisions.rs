//! Decisions of the simulated kernel: the log, a line each, and where two policies first decide otherwise
//! on the same work.

use crate::number;
use crate::words::clean;
use coretwin_base::simulation::kernel_run::{SchedDecision, SchedRun};
use std::fmt::Write;

/// Lines shown before the difference, and after it of each policy.
const BEFORE: usize = 6;
const AFTER: usize = 10;

/// What is compared: where tasks are put, pulled and picked. Reasons, notes, timers and the moments of
/// decisions are each policy's own.
const COMPARED: [&str; 4] = ["place", "pick", "pull", "stopper"];

/// The first decisions of two runs that differ, with what led there and what follows.
pub fn sched_diff_text(first: &SchedRun, second: &SchedRun) -> String {
    let (a, b) = (compared(first), compared(second));
    let same = a.iter().zip(&b).take_while(|((_, a), (_, b))| is_same(a, b)).count();
    let mut out = format!(
        "{} and {} on {} ({}), seed {}\n",
        clean(&first.policy),
        clean(&second.policy),
        clean(&first.workload),
        clean(&first.topology),
        first.seed
    );
    if same == a.len() && same == b.len() {
        let _ = writeln!(out, "decide the same: {}", number::count(same as u64, "decision"));
        return out;
    }
    let _ = writeln!(out, "decide the same {}; then they differ", times(same));
    let before = |run: &SchedRun, at: Option<&(usize, &SchedDecision)>| {
        at.map_or(run.decisions.len(), |(index, _)| *index)
    };
    let [from_a, from_b] = [before(first, a.get(same)), before(second, b.get(same))];
    if from_a > 0 {
        let _ = writeln!(out, "\nbefore, under {}", clean(&first.policy));
        for decision in &first.decisions[from_a.saturating_sub(BEFORE)..from_a] {
            let _ = writeln!(out, "  {}", line(decision));
        }
    }
    for (run, from, list) in [(first, from_a, &a), (second, from_b, &b)] {
        let _ = writeln!(out, "\nthen, under {}", clean(&run.policy));
        if from == run.decisions.len() {
            out.push_str("  no decision that is compared\n");
        }
        for (offset, decision) in run.decisions[from..].iter().take(AFTER).enumerate() {
            // The first is the difference itself.
            let mark = if offset == 0 { '>' } else { ' ' };
            let _ = writeln!(out, "{mark} {}", line(decision));
        }
        let _ = writeln!(out, "  of {} compared", number::count(list.len() as u64, "decision"));
    }
    out
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{} times", number::whole(count as u64)),
    }
}

fn compared(run: &SchedRun) -> Vec<(usize, &SchedDecision)> {
    let all = run.decisions.iter().enumerate();
    all.filter(|(_, decision)| COMPARED.contains(&decision.verb.as_str())).collect()
}

fn is_same(a: &SchedDecision, b: &SchedDecision) -> bool {
    (&a.verb, a.cpu, a.from_cpu, &a.task) == (&b.verb, b.cpu, b.from_cpu, &b.task)
}

/// The decisions that a run kept, a line each: time in ms, the CPU that asked, what was decided, of
/// which task, for which CPU, and why.
pub fn sched_log_text(run: &SchedRun) -> String {
    let mut out = format!("{}, seed {}: decisions\n", clean(&run.policy), run.seed);
    for decision in &run.decisions {
        out.push_str(&line(decision));
        out.push('\n');
    }
    out
}

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
