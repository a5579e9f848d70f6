//! Whose cgroup is which, asked for while it is there: the program tells a number, and a group that has
//! gone has no path any more.

use coretwin_bpf::overlap::TaskTime;
use coretwin_host::cgroup::CgroupPaths;
use coretwin_host::root::Root;
use coretwin_host::tasks::Tasks;
use std::collections::BTreeMap;

/// Processes that are remembered.
const KNOWN_MAX: usize = 65_536;

#[derive(Debug)]
pub(super) struct Groups {
    paths: CgroupPaths,
    tasks: Tasks,
    /// By process, where groups have no numbers to be found by: those of version 1.
    of_process: BTreeMap<u32, Option<String>>,
}

impl Groups {
    pub(super) fn new(root: &Root) -> Self {
        let mut paths = CgroupPaths::new(root);
        // No group has this number: all there are are looked up.
        paths.path(0);
        Self { paths, tasks: Tasks::new(root), of_process: BTreeMap::new() }
    }

    pub(super) fn learn(&mut self, task: &TaskTime) {
        if self.paths.path(task.cgroup).is_some() || self.of_process.contains_key(&task.tgid) {
            return;
        }
        if self.of_process.len() >= KNOWN_MAX {
            self.of_process.clear();
        }
        // Who has ended already was in the group of whoever started it, as a rule.
        let group = self.tasks.cgroup(task.tgid);
        let group = group.or_else(|| self.of_process.get(&task.parent).cloned().flatten());
        self.of_process.insert(task.tgid, group);
    }

    /// The path of a task's group, as in `/proc/PID/cgroup`.
    pub(super) fn path(&mut self, task: &TaskTime) -> Option<String> {
        let known = self.paths.path(task.cgroup);
        known.or_else(|| self.of_process.get(&task.tgid).cloned().flatten())
    }

    /// Processes may be in other groups by now.
    pub(super) fn forget(&mut self) {
        self.of_process.clear();
    }
}
