//! What was found, and how it is named.

use super::tasks::Task;
use serde::Serialize;

/// What would notice the switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub kind: Kind,
    pub found: String,
    pub risk: String,
    pub remedy: String,
    /// Whether the switch must not be used as long as it is there.
    pub blocks: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Container,
    Kubelet,
    VirtualMachine,
    CpusetV1,
    CpusetPartition,
    Deadline,
    Isolated,
    Pinned,
    Polling,
    Interrupts,
    Irqbalance,
    SchedExt,
    Fixed,
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
