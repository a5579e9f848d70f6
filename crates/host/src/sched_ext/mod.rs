//! sched_ext, the kernel's class of schedulers that are loaded as BPF programs
//! (Documentation/scheduler/sched-ext.rst): what is loaded, whether ours could be, and what is known
//! of the process that holds it. Loading itself is the business of another crate; here the kernel and
//! the machine are read, under a root folder.
//!
//! A loaded scheduler lives as long as the process that loaded it: however that ends, the kernel's own
//! scheduler is in charge again. So the [`keeper`] is a process of its own, which a study holds by a
//! life line, and the [`record`] it leaves in `/run` tells everybody else about it.

pub mod btf;
pub mod config;
pub mod cookies;
pub mod doctor;
pub mod keeper;
pub mod record;

use crate::root::Root;
use coretwin_base::machine::scheduler;
use serde::Serialize;

const FOLDER: &str = "sys/kernel/sched_ext";

/// sched_ext as it is now. Facts that this kernel does not tell are absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct State {
    /// `disabled`, `enabling`, `enabled` or `disabling`.
    pub state: String,
    /// The name the loaded scheduler gave itself.
    pub ops: Option<String>,
    /// Whether it has every normal task, not only those that asked for it.
    pub switches_all: Option<bool>,
    /// Tasks it refused since it was loaded.
    pub rejected: Option<u64>,
    /// CPUs that came or went since the boot.
    pub hotplug_seq: Option<u64>,
    /// Schedulers loaded since the boot.
    pub enable_seq: Option<u64>,
}

impl State {
    pub fn read(root: &Root) -> Option<Self> {
        let number = |name: &str| root.number::<u64>(&format!("{FOLDER}/{name}"));
        Some(Self {
            state: root.fact(scheduler::STATE)?,
            ops: root.fact(scheduler::OPS),
            switches_all: number("switch_all").map(|all| all != 0),
            rejected: number("nr_rejected"),
            hotplug_seq: number("hotplug_seq"),
            enable_seq: number("enable_seq"),
        })
    }

    /// The scheduler in charge, as an arm names it.
    pub fn scheduler(&self) -> String {
        scheduler::in_charge(Some(&self.state), self.ops.as_deref())
    }

    /// The scheduler in charge of a machine, also of one whose kernel knows no other than its own.
    pub fn in_charge(root: &Root) -> String {
        let state = Self::read(root);
        state.map_or_else(|| scheduler::in_charge(None, None), |state| state.scheduler())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::simulation::core_queue::OPS_NAME;

    #[test]
    fn a_kernel_without_it_has_its_own_scheduler() {
        let (_folder, root) = crate::fake::written("vm-adjacent");
        assert_eq!((State::read(&root), State::in_charge(&root)), (None, "kernel".to_owned()));
        crate::fake::sched_ext::install(&root, "enabled", Some(OPS_NAME)).expect("written");
        for (file, text) in [("hotplug_seq", "2\n"), ("enable_seq", "garbage\n")] {
            crate::fake::put(&root, &[(&format!("{FOLDER}/{file}"), text)]);
        }
        let state = State::read(&root).expect("sched_ext");
        assert_eq!(state.scheduler(), "core-queue");
        assert_eq!((state.switches_all, state.hotplug_seq), (Some(true), Some(2)));
        assert_eq!(state.enable_seq, None);
    }
}
