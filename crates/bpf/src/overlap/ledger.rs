//! What was read before, so that a window is the difference. Knows nothing of the kernel.

use super::glimpses::Glimpses;
use super::shapes::{CLOCKS, Closed, Cpu, Task};
use super::{CoreTime, CpuTime, Missing, PLACES, Run, SiblingMap, TaskTime, Window};
use coretwin_base::machine::cpu_set::CpuId;
use std::collections::HashMap;

/// A task for as long as it lives: its address is used again only after it has gone.
type Identity = (u64, u64);

/// The readings at the end of the last window.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    cpus: HashMap<CpuId, Closed>,
    cores: HashMap<usize, [u64; CLOCKS]>,
    tasks: HashMap<Identity, [u64; PLACES]>,
    /// Ended after the last window was closed: they belong to the next, too.
    ended: Vec<Task>,
    missing: Missing,
    switches: u64,
}

/// One reading of everything, when all CPUs had closed the window before `open`.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) open: u64,
    /// Every possible CPU, with what it had when it closed the window.
    pub(super) cpus: Vec<(CpuId, Cpu)>,
    pub(super) tasks: Vec<Task>,
    /// Tasks that have ended since the last reading; read after `tasks`, so that none is in neither.
    pub(super) ended: Vec<Task>,
    pub(super) glimpses: Glimpses,
}

impl Ledger {
    /// What is new since the last reading.
    pub(super) fn close(&mut self, map: &SiblingMap, reading: Reading) -> Window {
        let mut window = Window { missing: self.missing(&reading.cpus), ..Window::default() };
        let switches = reading.cpus.iter().map(|(_, cpu)| cpu.switches).sum();
        window.switches = switches - std::mem::replace(&mut self.switches, switches);
        for (id, cpu) in &reading.cpus {
            let Closed { at, tasks_ns, idle_ns, offline_ns, run_ns, .. } = cpu.closed;
            let last = self.cpus.insert(*id, cpu.closed).unwrap_or_default();
            let time = CpuTime {
                cpu: *id,
                from_ns: last.at,
                until_ns: at,
                tasks_ns: tasks_ns - last.tasks_ns,
                idle_ns: idle_ns - last.idle_ns,
                offline_ns: offline_ns - last.offline_ns,
                run_ns: run_ns - last.run_ns,
            };
            if time.tasks_ns + time.idle_ns > 0 {
                window.cpus.push(time);
            }
        }
        self.cores(map, &reading.cpus, &mut window);
        glimpsed(&reading, &mut window);
        self.tasks(map, reading, &mut window);
        window
    }

    fn missing(&mut self, cpus: &[(CpuId, Cpu)]) -> Missing {
        let sum = |value: fn(&Cpu) -> u64| cpus.iter().map(|(_, cpu)| value(cpu)).sum::<u64>();
        let now = Missing {
            unlisted_ns: sum(|cpu| cpu.closed.unlisted_ns),
            unlisted: sum(|cpu| cpu.unlisted),
            lost: sum(|cpu| cpu.lost),
            lost_ns: sum(|cpu| cpu.lost_ns),
            strangers: sum(|cpu| cpu.strangers),
            strangers_ns: sum(|cpu| cpu.strangers_ns),
            contended: sum(|cpu| cpu.contended),
        };
        let last = std::mem::replace(&mut self.missing, now);
        Missing {
            unlisted_ns: now.unlisted_ns - last.unlisted_ns,
            unlisted: now.unlisted - last.unlisted,
            lost: now.lost - last.lost,
            lost_ns: now.lost_ns - last.lost_ns,
            strangers: now.strangers - last.strangers,
            strangers_ns: now.strangers_ns - last.strangers_ns,
            contended: now.contended - last.contended,
        }
    }

    /// A core's clocks are those that its last CPU saw; a core of one CPU has that CPU's own.
    fn cores(&mut self, map: &SiblingMap, cpus: &[(CpuId, Cpu)], window: &mut Window) {
        for (index, siblings) in map.cores().iter().enumerate() {
            let own = cpus.iter().filter(|(id, cpu)| siblings.contains(*id) && !cpu.offline);
            let Some((_, latest)) = own.max_by_key(|(_, cpu)| cpu.closed.at) else { continue };
            let mut clocks = latest.closed.core_ns;
            if siblings.len() == 1 {
                clocks = [0; CLOCKS];
                clocks[0] = latest.closed.idle_ns;
                clocks[1] = latest.closed.tasks_ns;
            }
            let last = self.cores.insert(index, clocks).unwrap_or_default();
            let new = clocks.iter().zip(last).map(|(now, last)| now.saturating_sub(last));
            window.cores.push(CoreTime {
                cpus: siblings.clone(),
                busy_ns: new.take(siblings.len() + 1).collect(),
            });
        }
    }

    fn tasks(&mut self, map: &SiblingMap, reading: Reading, window: &mut Window) {
        let Reading { open, tasks, ended, .. } = reading;
        let mut now = HashMap::with_capacity(tasks.len());
        // Who has ended may have been read alive just before: the second time nothing is new.
        let mut add = |task: &Task, is_ended: bool| {
            let identity = (task.address, task.started);
            let total = task.at_end(open);
            let last = now.insert(identity, total);
            let last = last.or_else(|| self.tasks.get(&identity).copied()).unwrap_or_default();
            let run_ns: [u64; PLACES] = std::array::from_fn(|k| total[k].saturating_sub(last[k]));
            if run_ns != [0; PLACES] {
                window.tasks.push(time_of(map, task, run_ns, is_ended));
            }
        };
        tasks.iter().for_each(|task| add(task, false));
        let earlier = std::mem::take(&mut self.ended);
        let gone: Vec<Task> = earlier.into_iter().chain(ended).collect();
        gone.iter().for_each(|task| add(task, true));
        // What an ended task did after the window closed belongs to the next.
        self.ended = gone.into_iter().filter(|task| task.window >= open).collect();
        let live = tasks.iter().chain(&self.ended);
        self.tasks = live
            .filter_map(|task| {
                let identity = (task.address, task.started);
                now.get(&identity).map(|&total| (identity, total))
            })
            .collect();
    }
}

/// What was glimpsed, by the tasks' numbers.
fn glimpsed(reading: &Reading, window: &mut Window) {
    let lengths = window.cpus.iter().map(|cpu| cpu.until_ns - cpu.from_ns);
    let length_ns = lengths.sum::<u64>() / window.cpus.len().max(1) as u64;
    // An address may be used again: whoever lives is the last to have it.
    let tasks = reading.ended.iter().chain(&reading.tasks);
    let tids: HashMap<u64, u32> = tasks.map(|task| (task.address, task.tid)).collect();
    window.pairs = reading.glimpses.pairs(length_ns, |address| tids.get(&address).copied());
    window.clash_ns = reading.glimpses.clash_ns(length_ns);
    window.glimpses = reading.glimpses.count();
}

fn time_of(map: &SiblingMap, task: &Task, run_ns: [u64; PLACES], ended: bool) -> TaskTime {
    let of_kind = |(siblings, place): (usize, usize)| Run {
        siblings,
        busy_ns: run_ns[place..place + siblings].to_vec(),
    };
    let ran = |run: &Run| run.busy_ns.iter().any(|&ns| ns > 0);
    TaskTime {
        tid: task.tid,
        tgid: task.tgid,
        parent: task.parent,
        started_ns: task.started,
        comm: task.comm.clone(),
        cgroup: task.cgroup,
        cpu: CpuId(task.cpu),
        followed: Some(task.followed).filter(|&root| root > 0),
        ended,
        runs: map.kinds().map(of_kind).filter(ran).collect(),
    }
}
