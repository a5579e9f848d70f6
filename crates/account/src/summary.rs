//! What was found, put together: a window, whose time it is, and what it is worth.

use crate::model::{self, Valuation, add, worth_of_unknown};
use crate::sampled;
use crate::target::Whole;
use coretwin_base::account::{AccountSummary, Group, MethodName, Task, TaskUse, Window, Worth};
use coretwin_base::cpu_set::CpuSet;
use coretwin_base::schema::SCHEMA;
use coretwin_base::warning::Warning;
use std::collections::BTreeMap;

/// Threads, processes and cgroups in the lists; the rest is within the totals.
const ROWS_MAX: usize = 10_000;

/// Everything a summary is made from.
pub struct Findings<'a> {
    /// What was accounted for, in words.
    pub target: String,
    /// What went on.
    pub window: &'a Window,
    /// Those whose time it is.
    pub tasks: Vec<&'a TaskUse>,
    /// Their time as the kernel knows it as a whole.
    pub whole: Option<Whole>,
    /// Yields and slowdowns.
    pub valuation: &'a Valuation,
    /// Why not by a better method; empty for the best.
    pub method_why: String,
    /// CPUs of the map that this program may not use.
    pub not_usable: CpuSet,
    /// Whether it was ended from outside.
    pub interrupted: bool,
}

/// Puts the record together.
#[must_use]
pub fn summarise(findings: Findings<'_>) -> AccountSummary {
    let Findings { window, valuation, .. } = findings;
    let mut tasks: Vec<Task> = findings.tasks.iter().map(|task| valued(task, valuation)).collect();
    tasks.sort_by(|a, b| b.worth.raw_s.total_cmp(&a.worth.raw_s).then(a.tid.cmp(&b.tid)));
    let mut worth = Worth::default();
    for task in &tasks {
        add(&mut worth, &task.worth);
    }
    // Of a part of the machine nobody knows whether what was not seen is of it.
    let is_all = findings.whole.is_none() && findings.tasks.len() == window.tasks.len();
    let unseen_s = if is_all { window.unseen.busy_s } else { 0.0 };
    let unattributed_s = findings.whole.map_or(0.0, |whole| whole.unattributed_s(&tasks));
    if unattributed_s > 0.0 {
        let shared_share = if worth.raw_s > 0.0 { worth.shared_s / worth.raw_s } else { 0.0 };
        add(&mut worth, &worth_of_unknown(unattributed_s, valuation.largest(), shared_share));
    }
    let processes = grouped(&tasks, |task| Some((task.pid.to_string(), task.comm.clone())));
    let cgroups = grouped(&tasks, |task| Some((task.cgroup.clone()?, String::new())));
    let largest = valuation.largest();
    tasks.truncate(ROWS_MAX);
    AccountSummary {
        schema: SCHEMA,
        target: findings.target,
        elapsed_s: window.elapsed_s,
        worth,
        core_yield: largest.core_yield.clone(),
        slowdown: largest.slowdown.clone(),
        method: window.method,
        method_why: findings.method_why,
        coverage: if window.method == MethodName::Sampled { sampled::COVERAGE } else { 1.0 },
        siblings: window.siblings.clone(),
        not_usable: findings.not_usable,
        cores: window.cores.clone(),
        tasks,
        processes,
        cgroups,
        unattributed_s,
        unseen: window.unseen.clone(),
        command: None,
        interrupted: findings.interrupted,
        warnings: warnings(window, unattributed_s, unseen_s, worth.raw_s),
    }
}

/// A task and what its time is worth.
#[must_use]
pub fn valued(task: &TaskUse, valuation: &Valuation) -> Task {
    Task {
        pid: task.pid,
        tid: task.tid,
        comm: task.comm.clone(),
        cgroup: task.cgroup.clone(),
        last_cpu: task.last_cpu,
        ended: task.ended,
        worth: model::worth(task, valuation),
    }
}

impl Whole {
    /// What of it no task has.
    fn unattributed_s(&self, tasks: &[Task]) -> f64 {
        let of_it = |task: &&Task| self.of_process.is_none_or(|process| process == task.pid);
        let seen_s: f64 = tasks.iter().filter(of_it).map(|task| task.worth.raw_s).sum();
        let rest_s = self.used_s - seen_s;
        if rest_s > self.error_s { rest_s } else { 0.0 }
    }
}

fn grouped(tasks: &[Task], key: impl Fn(&Task) -> Option<(String, String)>) -> Vec<Group> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for task in tasks {
        let Some((name, comm)) = key(task) else { continue };
        let group = groups.entry(name.clone()).or_insert_with(|| Group {
            name,
            comm,
            tasks: 0,
            worth: Worth::default(),
        });
        group.tasks += 1;
        add(&mut group.worth, &task.worth);
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_by(|a, b| b.worth.raw_s.total_cmp(&a.worth.raw_s));
    groups.truncate(ROWS_MAX);
    groups
}

fn warnings(window: &Window, unattributed_s: f64, unseen_s: f64, raw_s: f64) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn =
        |kind: &str, text: String, remedy: &str| warnings.push(Warning::new(kind, text, remedy));
    if window.siblings.threads_per_core_max() < 2 {
        warn(
            "no-siblings",
            "no CPU has a sibling here as far as is known, so all time counts as alone".to_owned(),
            "coretwin probe finds siblings that a hypervisor hides; --siblings 0+1 names them",
        );
    }
    let cpu_s: f64 = window.elapsed_s * window.siblings.cpus().len() as f64;
    let steal_s: f64 =
        window.cores.iter().flat_map(|core| &core.by_cpu).map(|cpu| cpu.steal_s).sum();
    if steal_s > 0.01 * cpu_s {
        warn(
            "steal",
            format!("the hypervisor took {:.1} % of the CPUs' time", 100.0 * steal_s / cpu_s),
            "a CPU whose time is stolen counts as busy; what shares its core is not visible from here",
        );
    }
    if unattributed_s > 0.05 * raw_s {
        warn(
            "unattributed",
            format!(
                "{unattributed_s:.2} s ran in tasks that were not seen; nothing is known of their siblings"
            ),
            match window.method {
                MethodName::Ebpf => {
                    "what did not fit in, and what moved here from elsewhere, is not listed"
                }
                _ => {
                    "--method ebpf sees every task; looks can miss those of a second or two on a busy machine"
                }
            },
        );
    }
    if unseen_s > 0.02 * (raw_s + unseen_s) {
        warn(
            "unseen",
            format!(
                "{unseen_s:.2} s of CPU time, {:.0} % of all, are of tasks that are not listed and not in \
                 the totals: they ended before they were looked at, or are not visible from here",
                100.0 * unseen_s / (raw_s + unseen_s)
            ),
            match window.method {
                MethodName::Ebpf => "interrupts on idle CPUs are in it too",
                _ => {
                    "--method ebpf sees every task; busy times of cores and CPUs are whole in any case"
                }
            },
        );
    }
    if window.unseen.lost > 0 && window.method == MethodName::Ebpf {
        warn(
            "lost",
            format!(
                "{} tasks or events did not fit into the memory of the method",
                window.unseen.lost
            ),
            "account for fewer tasks at a time",
        );
    }
    warnings
}
