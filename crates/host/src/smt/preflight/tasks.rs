//! The tasks of the machine, as far as taking CPUs away concerns them (proc(5)).

use crate::root::Root;
use crate::stat_line::StatLine;
use coretwin_base::machine::cpu_set::CpuSet;

/// `SCHED_DEADLINE` of include/uapi/linux/sched.h.
const DEADLINE: u32 = 6;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) process: u32,
    pub(super) task: u32,
    /// Its name, at most 15 bytes; of a process's first thread that of the program.
    pub(super) name: String,
    /// Whether it belongs to the kernel, which looks after its own.
    pub(super) kernel: bool,
    pub(super) deadline: bool,
    /// The CPUs it may run on; `None` if that cannot be read.
    pub(super) allowed: Option<CpuSet>,
}

/// Every thread that can be read, in order of process and thread. One that ends meanwhile is left
/// out.
pub(super) fn read(root: &Root) -> Vec<Task> {
    root.threads().filter_map(|(process, task)| one(root, process, task)).collect()
}

fn one(root: &Root, process: u32, task: u32) -> Option<Task> {
    let folder = format!("proc/{process}/task/{task}");
    let text = root.text(&format!("{folder}/stat")).ok()?;
    let stat = StatLine::parse(&text)?;
    let status = root.text(&format!("{folder}/status")).unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    Some(Task {
        process,
        task,
        name: stat.name.to_owned(),
        kernel: stat.is_of_kernel()?,
        deadline: stat.field::<u32>(41)? == DEADLINE,
        allowed: list.and_then(|list| CpuSet::parse(list).ok()),
    })
}

/// The share of one CPU that a deadline task has reserved, from the lines `dl.runtime` and
/// `dl.deadline` (nanoseconds) of its `sched` file; `None` if the kernel does not tell. The period,
/// which is not shown, is never shorter than the deadline, so this is never too little.
pub(super) fn reserved_share(root: &Root, task: &Task) -> Option<f64> {
    let path = format!("proc/{}/task/{}/sched", task.process, task.task);
    let text = root.text(&path).ok()?;
    let value = |name: &str| -> Option<f64> {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.rsplit_once(':')?.1.trim().parse().ok()
    };
    let share = value("dl.runtime")? / value("dl.deadline")?;
    (share.is_finite() && share >= 0.0).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tasks_of_this_machine_are_read() {
        let tasks = read(&Root::system());
        let own = tasks.iter().find(|task| task.process == std::process::id()).expect("own");
        assert!(!own.kernel && !own.deadline && own.allowed.is_some(), "{own:?}");
    }
}
