//! What the program said in several windows, added up to one.

use crate::sampled::coverage::seen_s;
use coretwin_base::account::{
    Balance, CoreUse, CpuUse, MethodName, PairUse, Run, Siblings, Span, StatTimes, TaskUse, Unseen,
    Window,
};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_bpf::overlap::{self, CpuTime, Missing, TaskTime};
use std::collections::BTreeMap;

/// Tasks that ended are kept one by one up to here, then ever more coarsely until half as many are left.
const ENDED_MAX: usize = 10_000;
/// The name of ended tasks of more names than can be kept.
const OTHERS: &str = "(others)";
/// Pairs that are kept; the rarer half is dropped when there are more.
const PAIRS_MAX: usize = 4096;
const PAIRS: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Gathered {
    tasks: BTreeMap<Identity, TaskTime>,
    ended: usize,
    cpus: BTreeMap<CpuId, CpuTime>,
    /// By the first CPU of the core.
    cores: BTreeMap<CpuId, Vec<u64>>,
    pairs_ns: BTreeMap<(u32, u32), u64>,
    clash_ns: Option<u64>,
    glimpses: u64,
    missing: Missing,
    switches: u64,
}

/// Who is who: a thread by number and start, or the ended ones of a process by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    Thread { tid: u32, started_ns: u64 },
    Ended { below: u32, comm: String },
}

impl Gathered {
    pub(super) fn add(&mut self, window: overlap::Window) {
        for task in window.tasks {
            let identity = Identity::Thread { tid: task.tid, started_ns: task.started_ns };
            self.add_task(identity, task);
        }
        self.ended = self.tasks.values().filter(|task| task.ended).count();
        if self.ended > ENDED_MAX {
            self.fold();
        }
        for time in window.cpus {
            let sum = self.cpus.entry(time.cpu).or_insert_with(|| CpuTime {
                until_ns: time.from_ns,
                tasks_ns: 0,
                idle_ns: 0,
                offline_ns: 0,
                run_ns: 0,
                ..time.clone()
            });
            // Windows that it was offline throughout are not told.
            sum.offline_ns += time.from_ns.saturating_sub(sum.until_ns);
            sum.until_ns = time.until_ns;
            sum.tasks_ns += time.tasks_ns;
            sum.idle_ns += time.idle_ns;
            sum.offline_ns += time.offline_ns;
            sum.run_ns += time.run_ns;
        }
        for core in window.cores {
            let Some(first) = core.cpus.first() else { continue };
            add_each(self.cores.entry(first).or_default(), &core.busy_ns);
        }
        for pair in window.pairs {
            *self.pairs_ns.entry((pair.a, pair.b)).or_default() += pair.together_ns;
        }
        if self.pairs_ns.len() > PAIRS_MAX {
            let mut times: Vec<u64> = self.pairs_ns.values().copied().collect();
            times.sort_unstable();
            let least_ns = times[times.len() / 2];
            self.pairs_ns.retain(|_, ns| *ns > least_ns);
        }
        if let Some(ns) = window.clash_ns {
            *self.clash_ns.get_or_insert(0) += ns;
        }
        self.glimpses += window.glimpses;
        self.switches += window.switches;
        let (sum, new) = (&mut self.missing, window.missing);
        sum.unlisted_ns += new.unlisted_ns;
        sum.unlisted += new.unlisted;
        sum.lost += new.lost;
        sum.lost_ns += new.lost_ns;
        sum.strangers += new.strangers;
        sum.strangers_ns += new.strangers_ns;
        sum.contended += new.contended;
    }

    fn add_task(&mut self, identity: Identity, task: TaskTime) {
        let Some(sum) = self.tasks.get_mut(&identity) else {
            self.tasks.insert(identity, task);
            return;
        };
        for run in &task.runs {
            match sum.runs.iter_mut().find(|known| known.siblings == run.siblings) {
                Some(known) => add_each(&mut known.busy_ns, &run.busy_ns),
                None => sum.runs.push(run.clone()),
            }
        }
        let runs = std::mem::take(&mut sum.runs);
        *sum = TaskTime { runs, ended: sum.ended || task.ended, ..task };
    }

    /// Puts ended tasks together: those of one parent and name, then those of one name (as of process
    /// 0), then all. What descends from a command that is followed stays its own.
    fn fold(&mut self) {
        let coarser: [fn(&mut u32, &mut String); 3] =
            [|_, _| (), |below, _| *below = 0, |_, comm| OTHERS.clone_into(comm)];
        for coarsen in coarser {
            let all = std::mem::take(&mut self.tasks);
            for (identity, mut task) in all {
                if !task.ended {
                    self.tasks.insert(identity, task);
                    continue;
                }
                let mut below = match identity {
                    Identity::Ended { below, .. } => below,
                    Identity::Thread { .. } => task.followed.unwrap_or(task.parent),
                };
                coarsen(&mut below, &mut task.comm);
                let below = task.followed.unwrap_or(below);
                let identity = Identity::Ended { below, comm: task.comm.clone() };
                self.add_task(identity, TaskTime { tgid: below, tid: 0, started_ns: 0, ..task });
            }
            self.ended = self.tasks.values().filter(|task| task.ended).count();
            if self.ended <= ENDED_MAX / 2 {
                return;
            }
        }
    }

    pub(super) fn window(
        self,
        siblings: &Siblings,
        stat: StatTimes,
        cpu_use: impl Fn(CpuId) -> CpuUse,
        mut cgroup: impl FnMut(&TaskTime) -> Option<String>,
    ) -> Window {
        let balance = self.balance(stat);
        let elapsed_s = balance.cpus_s / self.cpus.len().max(1) as f64;
        let core = |cpus: &CpuSet| {
            let clocks = cpus.first().and_then(|first| self.cores.get(&first));
            let by_cpu = cpus.iter().map(|cpu| {
                let busy_ns = self.cpus.get(&cpu).map_or(0, |time| time.tasks_ns);
                CpuUse { busy_s: busy_ns as f64 / 1e9, ..cpu_use(cpu) }
            });
            CoreUse {
                cpus: cpus.clone(),
                by_busy_s: match clocks {
                    Some(clocks) => spans(clocks),
                    None => vec![Span::default(); cpus.len() + 1],
                },
                by_cpu: by_cpu.collect(),
            }
        };
        Window {
            method: MethodName::Ebpf,
            elapsed_s,
            siblings: siblings.clone(),
            cores: siblings.cores.iter().map(core).collect(),
            unseen: self.unseen(siblings),
            looks: self.switches,
            pairs: self.pairs(elapsed_s),
            balance,
            clash_s: self.clash_ns.map(|ns| ns as f64 / 1e9),
            tasks: self.tasks.into_values().map(|task| task_use(task, &mut cgroup)).collect(),
        }
    }

    /// Tasks are those of the table, so that the sum says whether it has all.
    fn balance(&self, stat: StatTimes) -> Balance {
        let sum_s = |part: fn(&CpuTime) -> u64| {
            self.cpus.values().map(|cpu| part(cpu) as f64 / 1e9).sum::<f64>()
        };
        let runs = self.tasks.values().flat_map(|task| &task.runs);
        let tasks_ns: u64 = runs.flat_map(|run| &run.busy_ns).sum();
        let missing_ns = self.missing.unlisted_ns + self.missing.lost_ns;
        Balance {
            cpus: u32::try_from(self.cpus.len()).unwrap_or(u32::MAX),
            cpus_s: sum_s(|cpu| cpu.until_ns - cpu.from_ns),
            tasks_s: tasks_ns as f64 / 1e9,
            idle_s: sum_s(|cpu| cpu.idle_ns),
            offline_s: sum_s(|cpu| cpu.offline_ns),
            uncharged_s: sum_s(|cpu| cpu.tasks_ns) - sum_s(|cpu| cpu.run_ns)
                + missing_ns as f64 / 1e9,
            stat,
        }
    }

    fn pairs(&self, elapsed_s: f64) -> Vec<PairUse> {
        let pair = |(&(a, b), &ns): (&(u32, u32), &u64)| PairUse {
            a,
            b,
            together_s: seen_s(ns as f64 / 1e9, elapsed_s, self.glimpses as f64),
        };
        let mut pairs: Vec<PairUse> = self.pairs_ns.iter().map(pair).collect();
        pairs.sort_by(|one, other| other.together_s.value.total_cmp(&one.together_s.value));
        pairs.truncate(PAIRS);
        pairs
    }

    fn unseen(&self, siblings: &Siblings) -> Unseen {
        let Missing { unlisted_ns, unlisted, lost, lost_ns, strangers, strangers_ns, contended } =
            self.missing;
        let mut notes = Vec::new();
        if strangers > 0 {
            notes.push(format!(
                "the kernel did not show {strangers} of {} switches: whose CPU time it was is not known \
                 for {:.3} s",
                self.switches + strangers,
                strangers_ns as f64 / 1e9,
            ));
        }
        if unlisted > 0 {
            let seconds = unlisted_ns as f64 / 1e9;
            notes.push(format!("{unlisted} tasks had no place in the table: {seconds:.3} s"));
        }
        if lost > 0 {
            let seconds = lost_ns as f64 / 1e9;
            notes.push(format!("{lost} tasks ended and were not read in time: {seconds:.3} s"));
        }
        if contended > 0 {
            notes.push(format!(
                "{contended} times the siblings of a core changed too often to be counted at once"
            ));
        }
        let known = siblings.cpus();
        let new: CpuSet = self.cpus.keys().copied().filter(|&cpu| !known.contains(cpu)).collect();
        if !new.is_empty() {
            notes.push(format!(
                "CPUs that came online meanwhile are taken for cores of their own: {new}"
            ));
        }
        let busy_ns = unlisted_ns + lost_ns + strangers_ns;
        Unseen { busy_s: busy_ns as f64 / 1e9, lost: lost + unlisted, notes }
    }
}

fn add_each(sums: &mut Vec<u64>, new: &[u64]) {
    sums.resize(sums.len().max(new.len()), 0);
    sums.iter_mut().zip(new).for_each(|(sum, new)| *sum += new);
}

fn spans(times_ns: &[u64]) -> Vec<Span> {
    times_ns.iter().map(|&ns| Span::exact(ns as f64 / 1e9)).collect()
}

fn task_use(task: TaskTime, cgroup: &mut dyn FnMut(&TaskTime) -> Option<String>) -> TaskUse {
    let cgroup = cgroup(&task);
    let runs: Vec<Run> =
        task.runs.iter().map(|run| Run { by_busy_s: spans(&run.busy_ns) }).collect();
    TaskUse {
        pid: task.tgid,
        tid: task.tid,
        parent: Some(task.parent),
        started_s: task.started_ns as f64 / 1e9,
        comm: task.comm,
        cgroup,
        last_cpu: Some(task.cpu),
        ended: task.ended,
        raw_s: runs.iter().map(Run::raw_s).sum(),
        runs,
    }
}

#[cfg(test)]
mod tests;
