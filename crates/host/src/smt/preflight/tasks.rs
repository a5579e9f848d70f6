//! The tasks of the machine, as far as taking CPUs away concerns them (proc(5)).

use crate::root::Root;
use coretwin_base::cpu_set::CpuSet;

/// `PF_KTHREAD` of include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// `SCHED_DEADLINE` of include/uapi/linux/sched.h.
const DEADLINE: u32 = 6;

/// One thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Task {
    /// Its process.
    pub(super) process: u32,
    /// Its own id.
    pub(super) task: u32,
    /// Its name, at most 15 bytes; of a process's first thread that of the program.
    pub(super) name: String,
    /// Whether it belongs to the kernel, which looks after its own.
    pub(super) kernel: bool,
    /// Whether it is scheduled by deadline.
    pub(super) deadline: bool,
    /// The CPUs it may run on; none if that cannot be read.
    pub(super) allowed: Option<CpuSet>,
}

/// Every thread that can be read, in order of process and thread. One that ends meanwhile is left
/// out.
pub(super) fn read(root: &Root) -> Vec<Task> {
    let processes = root.numbered("proc", "").into_iter();
    let each = processes.flat_map(|process| {
        let tasks = root.numbered(&format!("proc/{process}/task"), "");
        tasks.into_iter().filter_map(move |task| one(root, process, task))
    });
    each.collect()
}

fn one(root: &Root, process: u32, task: u32) -> Option<Task> {
    let folder = format!("proc/{process}/task/{task}");
    let (name, flags, policy) = parse(&root.text(&format!("{folder}/stat")).ok()?)?;
    let status = root.text(&format!("{folder}/status")).unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    Some(Task {
        process,
        task,
        name,
        kernel: flags & KERNEL_THREAD != 0,
        deadline: policy == DEADLINE,
        allowed: list.and_then(|list| CpuSet::parse(list).ok()),
    })
}

/// Name, flags (field 9) and policy (field 41) of a line of `stat`; the name may hold blanks and
/// brackets.
fn parse(stat: &str) -> Option<(String, u64, u32)> {
    let (start, rest) = stat.rsplit_once(')')?;
    let (_, name) = start.split_once('(')?;
    // The first word after the name is field 3.
    let field = |number: usize| rest.split_whitespace().nth(number - 3);
    Some((name.to_owned(), field(9)?.parse().ok()?, field(41)?.parse().ok()?))
}

/// The share of one CPU that a deadline task has reserved, from the lines `dl.runtime` and
/// `dl.deadline` (nanoseconds) of its `sched` file; none if the kernel does not tell. The period,
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
    use proptest::prelude::*;

    /// A line of `stat` with a name, flags and a policy.
    fn stat(name: &str, flags: u64, policy: u32) -> String {
        let zeros = |count: usize| "0 ".repeat(count);
        format!("7 ({name}) S 1 7 7 0 -1 {flags} {}{policy} 0", zeros(31))
    }

    #[test]
    fn names_with_brackets_flags_and_policies_are_read() {
        let line = stat("a) b (c", KERNEL_THREAD, DEADLINE);
        assert_eq!(parse(&line), Some(("a) b (c".to_owned(), KERNEL_THREAD, DEADLINE)));
        assert_eq!(parse("7 (short) S 1"), None);
    }

    #[test]
    fn the_tasks_of_this_machine_are_read() {
        let tasks = read(&Root::system());
        let own = tasks.iter().find(|task| task.process == std::process::id()).expect("own");
        assert!(!own.kernel && !own.deadline && own.allowed.is_some(), "{own:?}");
    }

    proptest! {
        #[test]
        fn never_panics(stat in "([0-9]+ \\(|\\) |[0-9 ]|\\PC)*") {
            let _ = parse(&stat);
        }
    }
}
