//! Core-scheduling cookies in use (Documentation/admin-guide/hw-vuln/core-scheduling.rst): siblings
//! then only run tasks of one cookie at a time, and a scheduler of sched_ext on top of that is known
//! to have stopped machines.

use crate::process::pid;
use crate::root::Root;
use rustix::io::Errno;
use rustix::thread::{CoreSchedulingScope, core_scheduling_cookie};
use std::collections::BTreeMap;

/// More tasks than that are not asked one by one: the answer must not take long.
const TASKS_MAX: usize = 200_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cookies {
    /// This kernel gives none, or the machine has no siblings for which it would.
    Impossible,
    /// Nobody has one, as far as this user may ask.
    None { asked: usize, refused: usize },
    InUse {
        tasks: usize,
        /// Their processes with their names, those with most tasks first.
        processes: Vec<(u32, String)>,
    },
}

/// Asks every task. `cookie` is the question for one, which [`ask`] puts to the kernel.
pub fn find(root: &Root, cookie: &dyn Fn(u32) -> Result<u64, Errno>) -> Cookies {
    let (mut asked, mut refused) = (0, 0);
    let mut holders: BTreeMap<u32, usize> = BTreeMap::new();
    for (process, task) in root.threads().take(TASKS_MAX) {
        match cookie(task) {
            Ok(0) => asked += 1,
            Ok(_) => *holders.entry(process).or_default() += 1,
            Err(Errno::SRCH) => {}
            Err(Errno::PERM | Errno::ACCESS) => refused += 1,
            // EINVAL: no CONFIG_SCHED_CORE; ENODEV: no siblings.
            Err(_) => return Cookies::Impossible,
        }
    }
    if holders.is_empty() {
        return Cookies::None { asked, refused };
    }
    let mut processes: Vec<(u32, usize)> = holders.into_iter().collect();
    processes.sort_by_key(|(process, tasks)| (usize::MAX - tasks, *process));
    let named = |(process, _)| {
        let name = root.fact(&format!("proc/{process}/comm")).unwrap_or_default();
        (process, name)
    };
    Cookies::InUse {
        tasks: processes.iter().map(|(_, tasks)| tasks).sum(),
        processes: processes.into_iter().map(named).collect(),
    }
}

/// The cookie of a task of the running kernel; 0 for none (prctl(2), `PR_SCHED_CORE_GET`).
pub fn ask(task: u32) -> Result<u64, Errno> {
    let task = pid(task).ok_or(Errno::SRCH)?;
    core_scheduling_cookie(task, CoreSchedulingScope::Thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> (tempfile::TempDir, Root) {
        let (folder, root) = crate::fake::written("vm-adjacent");
        for (process, tasks) in [(7, [7, 8]), (9, [9, 10])] {
            for task in tasks {
                let path = format!("proc/{process}/task/{task}");
                std::fs::create_dir_all(folder.path().join(path)).expect("folders");
            }
            let comm = folder.path().join(format!("proc/{process}/comm"));
            std::fs::write(comm, format!("p{process}\n")).expect("written");
        }
        (folder, root)
    }

    #[test]
    fn holders_are_named_those_with_most_tasks_first() {
        let (_folder, root) = machine();
        let found = find(&root, &|task| Ok(u64::from(task >= 8) * 77));
        let processes = vec![(9, "p9".to_owned()), (7, "p7".to_owned())];
        assert_eq!(found, Cookies::InUse { tasks: 3, processes });
    }

    #[test]
    fn whoever_has_none_may_not_be_asked_or_is_gone_does_no_harm() {
        let (_folder, root) = machine();
        let found = find(&root, &|task| match task {
            7 => Err(Errno::PERM),
            8 => Err(Errno::SRCH),
            _ => Ok(0),
        });
        assert_eq!(found, Cookies::None { asked: 2, refused: 1 });
        assert_eq!(find(&root, &|_| Err(Errno::INVAL)), Cookies::Impossible);
    }

    #[test]
    fn the_running_kernel_answers_for_this_task_or_says_that_it_cannot() {
        match ask(std::process::id()) {
            Ok(_) | Err(Errno::INVAL | Errno::NODEV) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
