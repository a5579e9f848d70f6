//! What a run leaves behind to be read: a hash of everything that happened, the log of decisions, the
//! timeline.

use super::{CpuId, TaskId, View};
use crate::policies::{Action, Answer, Decision};
pub use coretwin_base::simulation::kernel_run::SchedSpan as Span;

#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) hash: u64,
    pub(crate) decisions: Vec<Decision>,
    decisions_max: usize,
    pub(crate) spans: Vec<Span>,
    spans_max: usize,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Happened {
    Runs = 1,
    Leaves,
    Wakes,
    Blocks,
    Ends,
    Born,
    GoesIdle,
    Offline,
    Online,
}

impl Trace {
    pub(crate) fn new(decisions_max: usize, spans_max: usize) -> Self {
        let (decisions, spans) = (Vec::new(), Vec::new());
        Self { hash: 0xcbf2_9ce4_8422_2325, decisions, decisions_max, spans, spans_max }
    }

    #[inline]
    pub(crate) fn happened(&mut self, at_ns: u64, what: Happened, cpu: CpuId, serial: u64) {
        let fact = at_ns ^ (what as u64) << 56 ^ u64::from(cpu.0) << 40 ^ serial.rotate_left(20);
        self.hash = (self.hash ^ fact).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.hash ^= self.hash >> 29;
    }

    /// Logs an answer. Once the log is full, policies stop noting.
    #[inline]
    pub(crate) fn write_down(&mut self, view: &View, asked_on: CpuId, answer: &mut Answer) {
        if self.decisions.len() < self.decisions_max {
            self.write_all_down(view, asked_on, answer);
        }
    }

    #[cold]
    fn write_all_down(&mut self, view: &View, asked_on: CpuId, answer: &mut Answer) {
        let serial = |task: TaskId| (view.task(task).serial, view.task(task).program);
        let entry = |action: &Action| Decision {
            at_ns: view.now_ns,
            asked_on,
            what: action.what,
            task: action.task.map(serial),
            reason: action.reason,
        };
        self.decisions.extend(answer.list().iter().map(entry));
        self.decisions.truncate(self.decisions_max);
        if self.decisions.len() == self.decisions_max {
            answer.stop_notes();
        }
    }

    #[inline]
    pub(crate) fn span(&mut self, span: Span) {
        if self.spans.len() < self.spans_max && span.from_ns < span.to_ns {
            self.spans.push(span);
        }
    }
}
