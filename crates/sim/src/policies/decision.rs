//! The log of decisions: which CPU decided what, for which task, and why; one line each.

use super::{Reason, What};
use crate::kernel::CpuId;

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// When.
    pub at_ns: u64,
    /// The CPU whose code asked the policy.
    pub asked_on: CpuId,
    /// What was decided.
    pub what: What,
    /// The task it is about: its serial number and its program.
    pub task: Option<(u64, u32)>,
    /// Why.
    pub reason: Reason,
}

impl Decision {
    /// The verb of the line, and the CPU it is about.
    pub fn verb(&self) -> (&'static str, CpuId) {
        match self.what {
            What::Resched(cpu) => ("resched", cpu),
            What::Stopper(cpu) => ("stopper", cpu),
            What::Pull { to, .. } => ("pull", to),
            What::Place(cpu) => ("place", cpu),
            What::Pick(cpu) => ("pick", cpu),
            What::Note(cpu) => ("note", cpu),
        }
    }

    /// The line: time in ms, the CPU that asked, verb, task, CPU, reason. `programs` names the
    /// programs by number.
    pub fn line(&self, programs: &[String]) -> String {
        let (verb, cpu) = self.verb();
        let task = self.task.map_or("-".to_owned(), |(serial, program)| {
            let name = programs.get(program as usize).map_or("?", String::as_str);
            format!("{name}#{serial}")
        });
        let place = match self.what {
            What::Pull { from, to } => format!("cpu{from}>cpu{to}"),
            _ => format!("cpu{cpu}"),
        };
        let (ms, ns) = (self.at_ns / 1_000_000, self.at_ns % 1_000_000);
        let asked = format!("cpu{}", self.asked_on);
        format!("{ms:>6}.{ns:06} {asked:<6} {verb:<7} {task:<14} {place:<11} {}", self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_who_what_where_and_why() {
        let reason = Reason::new("better priority").with("own", 115).with("current", 120);
        let decision = Decision {
            at_ns: 12_000_500,
            asked_on: CpuId(1),
            what: What::Resched(CpuId(3)),
            task: Some((7, 0)),
            reason,
        };
        let expected = "    12.000500 cpu1   resched make#7         cpu3        \
                        better priority: own 115, current 120";
        assert_eq!(decision.line(&["make".to_owned()]), expected);
        let crowded = (0..9).fold(Reason::new("many"), |reason, n| reason.with("n", n));
        assert_eq!(crowded.to_string(), "many: n 0, n 1, n 2, n 3");
    }
}
