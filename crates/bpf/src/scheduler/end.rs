//! Why the kernel ended the scheduler, in words.

use serde::Serialize;

/// Kinds of `enum scx_exit_kind` (kernel/sched/ext.c), with what they mean for whoever runs the scheduler.
const KINDS: &[(u64, &str)] = &[
    (64, "it was stopped by whoever started it, or that process ended"),
    (65, "it gave up by itself"),
    (66, "the kernel took it out because CPUs came or went"),
    (67, "somebody asked for the kernel's scheduler with SysRq-S"),
    (68, "the scheduler above it ended"),
    (69, "the scheduler above it took it out"),
    (1024, "the kernel found a mistake in what it did"),
    (1025, "it found a mistake in its own state"),
    (1026, "the kernel's watchdog found a task that waited too long for a CPU"),
    (1027, "a task was put back again and again without being run"),
    (1028, "the kernel had to run a task in its place"),
];
/// Stopped by user space.
const STOPPED: u64 = 64;
/// In the code: the scheduler should be started anew (`SCX_ECODE_ACT_RESTART`).
const RESTART: i64 = 1 << 48;

/// How the kernel came to be in charge again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct End {
    /// The kernel's number for it.
    pub kind: u64,
    /// What the scheduler or the kernel added as a number.
    pub code: i64,
    /// The kernel's words for the kind.
    pub reason: String,
    /// The kernel's words for this case; empty if there are none.
    pub message: String,
}

impl End {
    /// Whether it ended because somebody wished it.
    pub fn is_wished(&self) -> bool {
        self.kind == STOPPED
    }

    /// Whether it would run again if started anew, on CPUs that have changed.
    pub fn wants_restart(&self) -> bool {
        self.code & RESTART != 0
    }

    /// The whole story in one sentence, with the kernel's own words.
    pub fn explain(&self) -> String {
        let known = KINDS.iter().find(|(kind, _)| *kind == self.kind).map(|(_, words)| *words);
        let words = known.unwrap_or("the kernel ended it for a reason newer than this program");
        let said: Vec<&str> =
            [&*self.reason, &*self.message].into_iter().filter(|text| !text.is_empty()).collect();
        let advice = match (self.kind, self.wants_restart()) {
            (_, true) => "; it can be started again",
            (1026, _) => {
                "; a real-time task that never sleeps on the CPU of a pinned task does that, too"
            }
            _ => "",
        };
        match said.is_empty() {
            true => format!("{words}{advice}"),
            false => format!("{words} (the kernel: {}){advice}", said.join(": ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(kind: u64, code: i64, reason: &str, message: &str) -> End {
        End { kind, code, reason: reason.into(), message: message.into() }
    }

    #[test]
    fn every_end_is_explained_with_the_kernels_words() {
        let stall = end(1026, 0, "runnable task stall", "sh[7] failed to run for 3.1s");
        assert!(!stall.is_wished() && !stall.wants_restart());
        let text = stall.explain();
        assert!(text.contains("watchdog") && text.contains("sh[7] failed to run"), "{text}");
        let asked = end(64, 0, "unregistered from user space", "");
        assert!(asked.is_wished());
        let hotplug = end(66, RESTART | 1 << 32, "unregistered from the main kernel", "");
        assert!(hotplug.wants_restart() && hotplug.explain().contains("started again"));
        assert!(end(4711, 0, "new", "").explain().contains("newer"));
        assert_eq!(end(67, 0, "", "").explain(), KINDS[3].1);
    }
}
