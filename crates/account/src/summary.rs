//! What was found, put together: a window, whose time it is, and what it is worth.

use crate::model::{self, Valuation, worth_of_unknown};
use crate::sampled;
use crate::target::Whole;
use coretwin_base::account::{
    AccountSummary, Group, MethodName, NO_SIBLINGS, Task, TaskUse, Window, Worth,
};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::origin::Origin;
use coretwin_base::schema::SCHEMA;
use coretwin_base::warning::Warning;
use std::collections::BTreeMap;

/// Threads, processes and cgroups in the lists; the rest is within the totals.
const ROWS_MAX: usize = 10_000;

pub struct Findings<'a> {
    pub origin: Origin,
    pub target: String,
    pub window: &'a Window,
    pub tasks: Vec<&'a TaskUse>,
    pub is_all: bool,
    pub whole: Option<Whole>,
    pub valuation: &'a Valuation,
    /// Why not by a better method; empty for the best.
    pub method_why: String,
    /// CPUs of the map that this program may not use.
    pub not_usable: CpuSet,
    pub interrupted: bool,
}

pub fn summarise(findings: Findings<'_>) -> AccountSummary {
    let Findings { window, valuation, .. } = findings;
    let mut tasks: Vec<Task> = findings.tasks.iter().map(|task| valued(task, valuation)).collect();
    tasks.sort_by(|a, b| b.worth.raw_s.total_cmp(&a.worth.raw_s).then(a.tid.cmp(&b.tid)));
    let mut worth = Worth::default();
    for task in &tasks {
        worth.include(&task.worth);
    }
    // Of a part of the machine nobody knows whether what was not seen is of it.
    let unseen_s = if findings.is_all { window.unseen.busy_s } else { 0.0 };
    let unattributed_s = findings.whole.map_or(0.0, |whole| whole.unattributed_s(&tasks));
    if unattributed_s > 0.0 {
        let shared_share = if worth.raw_s > 0.0 { worth.shared_s / worth.raw_s } else { 0.0 };
        let unknown = worth_of_unknown(unattributed_s, valuation.largest(), shared_share);
        worth.include(&unknown);
    }
    let most_s = model::capacity_most_s(window, valuation);
    let worth = model::capped(worth, most_s);
    let of_process = |task: &Task| Some((task.pid.to_string(), task.comm.clone()));
    let processes = grouped(&tasks, most_s, of_process);
    let cgroups = grouped(&tasks, most_s, |task| Some((task.cgroup.clone()?, String::new())));
    let largest = valuation.largest();
    tasks.truncate(ROWS_MAX);
    AccountSummary {
        schema: SCHEMA,
        origin: findings.origin,
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
        balance: findings.is_all.then_some(window.balance),
        command: None,
        interrupted: findings.interrupted,
        warnings: warnings(window, unattributed_s, unseen_s, worth.raw_s),
    }
}

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
    fn unattributed_s(&self, tasks: &[Task]) -> f64 {
        let seen_s: f64 = tasks.iter().map(|task| task.worth.raw_s).sum();
        let rest_s = self.used_s - seen_s;
        if rest_s > self.error_s { rest_s } else { 0.0 }
    }
}

fn grouped(
    tasks: &[Task],
    most_s: f64,
    key: impl Fn(&Task) -> Option<(String, String)>,
) -> Vec<Group> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for task in tasks {
        let Some((name, comm)) = key(task) else { continue };
        let group = groups.entry(name.clone()).or_insert_with(|| Group {
            name,
            comm,
            tasks: 0,
            ended: true,
            worth: Worth::default(),
        });
        group.tasks += 1;
        group.ended &= task.ended;
        group.worth.include(&task.worth);
    }
    let capped = |group: Group| Group { worth: model::capped(group.worth, most_s), ..group };
    let mut groups: Vec<Group> = groups.into_values().map(capped).collect();
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
            NO_SIBLINGS,
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

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::account::{Balance, CoreUse, Run, Siblings, SiblingsOrigin, Span, Unseen};
    use proptest::prelude::*;

    /// Tasks of which it is only known how long they ran, on cores of which it is known how long they
    /// had how many busy.
    fn window(method: MethodName, cores: &[[f64; 3]], tasks: &[f64]) -> Window {
        let set = |core: usize| CpuSet::parse(&format!("{}-{}", 2 * core, 2 * core + 1));
        let sets: Vec<CpuSet> = (0..cores.len()).filter_map(|core| set(core).ok()).collect();
        let of_core = |(cpus, times): (&CpuSet, &[f64; 3])| CoreUse {
            cpus: cpus.clone(),
            by_busy_s: times.map(Span::exact).to_vec(),
            by_cpu: Vec::new(),
        };
        let task = |(tid, raw_s): (u32, &f64)| TaskUse {
            pid: tid,
            tid,
            raw_s: *raw_s,
            cgroup: Some("/one".to_owned()),
            runs: vec![Run {
                by_busy_s: [*raw_s, 0.0]
                    .map(|value| Span { value, low: 0.0, high: *raw_s })
                    .to_vec(),
            }],
            ..TaskUse::default()
        };
        Window {
            method,
            elapsed_s: cores[0].iter().sum(),
            cores: sets.iter().zip(cores).map(of_core).collect(),
            siblings: Siblings { origin: SiblingsOrigin::Kernel, cores: sets },
            tasks: (1..).zip(tasks).map(task).collect(),
            pairs: Vec::new(),
            clash_s: None,
            unseen: Unseen::default(),
            balance: Balance::default(),
            looks: 1,
        }
    }

    fn of(window: &Window) -> AccountSummary {
        let valuation = Valuation::new(None, None, 2).expect("valuation");
        summarise(Findings {
            origin: Origin::Measured,
            target: "all".to_owned(),
            window,
            tasks: window.tasks.iter().collect(),
            is_all: true,
            whole: None,
            valuation: &valuation,
            method_why: String::new(),
            not_usable: CpuSet::new(),
            interrupted: false,
        })
    }

    proptest! {
        #[test]
        fn nobody_has_more_capacity_than_the_cores_had(
            shares in prop::collection::vec((0.0f64..1.0, 0.0f64..1.0), 1..5),
            cuts in prop::collection::vec(0.01f64..1.0, 1..30),
            method in prop_oneof![Just(MethodName::Sampled), Just(MethodName::Bounds)],
        ) {
            const ELAPSED_S: f64 = 10.0;
            let cores: Vec<[f64; 3]> = shares
                .iter()
                .map(|(busy, both)| [1.0 - busy, busy * (1.0 - both), busy * both].map(|s| s * ELAPSED_S))
                .collect();
            // As much run time as the CPUs were busy, shared out among tasks.
            let busy_s: f64 = cores.iter().map(|[_, one, two]| one + 2.0 * two).sum();
            let all: f64 = cuts.iter().sum();
            let tasks: Vec<f64> = cuts.iter().map(|cut| busy_s * cut / all).collect();
            let summary = of(&window(method, &cores, &tasks));
            // The truth at the two ends of the yields that are possible, 1.0 and 1.5.
            let used_s = |s: f64| -> f64 { cores.iter().map(|[_, one, two]| one / s + two).sum() };
            let most_s = ELAPSED_S * cores.len() as f64;
            for worth in [&summary.worth, &summary.cgroups[0].worth] {
                let capacity = worth.capacity_s;
                prop_assert!(capacity.high <= most_s.max(capacity.value) + 1e-9, "{capacity:?} {most_s}");
                prop_assert!(capacity.high >= used_s(1.0) - 1e-9, "{capacity:?} {}", used_s(1.0));
                prop_assert!(capacity.low <= used_s(1.5) + 1e-9, "{capacity:?} {}", used_s(1.5));
            }
        }
    }

    #[test]
    fn what_the_target_ran_and_no_task_shows_is_within_the_totals() {
        let window = window(MethodName::Sampled, &[[8.0, 1.0, 1.0]], &[1.0]);
        let valuation = Valuation::new(None, None, 2).expect("valuation");
        let summary = summarise(Findings {
            origin: Origin::Measured,
            target: "a command".to_owned(),
            window: &window,
            tasks: window.tasks.iter().collect(),
            is_all: false,
            whole: Some(Whole { used_s: 3.0, error_s: 0.03 }),
            valuation: &valuation,
            method_why: String::new(),
            not_usable: CpuSet::new(),
            interrupted: false,
        });
        assert!((summary.unattributed_s - 2.0).abs() < 1e-12 && summary.balance.is_none());
        assert!((summary.worth.raw_s - 3.0).abs() < 1e-12, "{:?}", summary.worth);
        assert!(summary.worth.shared_high_s >= 2.0 && summary.worth.shared_low_s <= 0.0);
    }
}
