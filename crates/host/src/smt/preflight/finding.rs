//! What was found, and how it is named.

use super::tasks::Task;
use serde::Serialize;

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What kind of thing, a stable word for programs.
    pub kind: Kind,
    /// What was found: names, process ids, files.
    pub found: String,
    /// What could happen to it.
    pub risk: String,
    /// What to do about it.
    pub remedy: String,
    /// Whether the switch must not be used as long as it is there.
    pub blocks: bool,
}

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// This program runs in a container.
    Container,
    /// A Kubernetes node agent.
    Kubelet,
    /// A virtual machine monitor.
    VirtualMachine,
    /// A CPU set of control groups version 1.
    CpusetV1,
    /// A partition of CPUs, control groups version 2.
    CpusetPartition,
    /// Tasks scheduled by deadline.
    Deadline,
    /// CPUs that are isolated or tick-less.
    Isolated,
    /// Tasks that may run on the CPUs that go only.
    Pinned,
    /// Programs that poll on CPUs of their own.
    Polling,
    /// Interrupts that may be handled on the CPUs that go only.
    Interrupts,
    /// A daemon that moves interrupts.
    Irqbalance,
    /// A scheduler loaded by sched_ext.
    SchedExt,
    /// A CPU that the kernel cannot take offline.
    Fixed,
    /// CPUs that were taken offline by hand.
    OfflineByHand,
}

impl Finding {
    pub(super) fn new(kind: Kind, found: String, risk: &str, remedy: &str) -> Self {
        Self { kind, found, risk: risk.to_owned(), remedy: remedy.to_owned(), blocks: false }
    }
}

/// `qemu-system-x86 (process 41), 2 more`.
pub(super) fn named(tasks: &[&Task]) -> String {
    let mut processes: Vec<(u32, &str)> = Vec::new();
    for task in tasks {
        if !processes.iter().any(|(process, _)| *process == task.process) {
            processes.push((task.process, &task.name));
        }
    }
    let names: Vec<String> =
        processes.iter().map(|(process, name)| format!("{name} (process {process})")).collect();
    shortened(&names)
}

/// The first few of a list, and how many more there are.
pub(super) fn shortened(items: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut text = items.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if items.len() > SHOWN {
        text += &format!(" and {} more", items.len() - SHOWN);
    }
    text
}
