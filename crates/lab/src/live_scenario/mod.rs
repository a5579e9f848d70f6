//! Scenarios of the simulated kernel run for real: every task a thread of this process, under whatever
//! scheduler the machine has, so that what a policy does in the simulation can be held against what it
//! does on a live kernel.
//!
//! Computing is CPU time spent, sleeping is sleeping, sockets are sockets, a fork is a thread that
//! starts; `exec` costs nothing here. What is compared are numbers of things, never times: the
//! machine is not the simulated one.

mod task;

use crate::error::Error;
use coretwin_sim::kernel::Layout;
use coretwin_sim::kernel::program::Step;
use coretwin_sim::kernel::scenario::Scenario;
use coretwin_sim::kernel::view::Class;
use coretwin_sim::kernel::work::Work;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use task::{Birth, Objects, Run, Task, spawn};

const TASKS_MAX: u32 = 2000;

/// What a scenario's tasks did after the warm-up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LiveRun {
    /// Time after the warm-up.
    pub elapsed_s: f64,
    /// Whether every task but servers ended; otherwise the time was up.
    pub finished: bool,
    /// Operations done, by name.
    pub operations: BTreeMap<String, u64>,
    /// CPU time by program.
    pub cpu_s: BTreeMap<String, f64>,
    /// CPU time of the task that had least over that of the task that had most, of all that the run waits for.
    pub fairness: Option<f64>,
    /// Tasks that ended.
    pub ended: u64,
}

/// Runs a scenario. `warm` is called once, when results begin to count. Errors: [`Error::Usage`]
/// for a scenario with steps or events that only the simulation knows, [`Error::NotPossible`] if
/// the system refuses tasks or sockets.
pub fn run(
    scenario: &Scenario,
    layout: &Layout,
    seed: u64,
    warm: impl FnOnce(),
) -> Result<LiveRun, Error> {
    let work = scenario.work_on(layout);
    check(scenario, &work)?;
    try_classes(&work)?;
    let counts = |count: usize| (0..count).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
    let run = Arc::new(Run {
        objects: Objects::new(&work).map_err(|why| not_possible("its sockets and files", &why))?,
        seed,
        over: AtomicBool::new(false),
        warm: AtomicBool::new(scenario.warmup_ns == 0),
        operations: counts(scenario.operations.len()),
        cpu_ns: counts(work.programs.len()),
        born: AtomicU64::new(0),
        ended: AtomicU64::new(0),
        work,
    });
    let mut warm = Some(warm);
    let cold = scenario.warmup_ns > 0;
    let (clients, servers) = start_all(&run, || {
        if let Some(warm) = warm.take_if(|_| !cold) {
            warm();
        }
    })?;
    if let Some(warm) = warm {
        thread::sleep(Duration::from_nanos(scenario.warmup_ns));
        run.warm.store(true, Ordering::Relaxed);
        warm();
    }
    let from = Instant::now();
    let left = Duration::from_nanos(scenario.until_ns.saturating_sub(scenario.warmup_ns));
    let finished = clients.wait(left);
    let elapsed_s = from.elapsed().as_secs_f64();
    run.over.store(true, Ordering::Relaxed);
    let used = clients.join();
    servers.join();
    let names = run.work.programs.iter().map(|program| program.name.clone());
    let seconds = run.cpu_ns.iter().map(|ns| ns.load(Ordering::Relaxed) as f64 / 1e9);
    let done = run.operations.iter().map(|count| count.load(Ordering::Relaxed));
    let (least, most) = (used.iter().min(), used.iter().max());
    Ok(LiveRun {
        elapsed_s,
        finished,
        operations: scenario.operations.iter().cloned().zip(done).collect(),
        cpu_s: names.zip(seconds).collect(),
        fairness: least.zip(most).map(|(least, most)| *least as f64 / (*most).max(1) as f64),
        ended: run.ended.load(Ordering::Relaxed),
    })
}

struct Group {
    threads: Vec<thread::JoinHandle<u64>>,
    ends: mpsc::Receiver<()>,
}

impl Group {
    fn wait(&self, limit: Duration) -> bool {
        let from = Instant::now();
        (0..self.threads.len())
            .all(|_| self.ends.recv_timeout(limit.saturating_sub(from.elapsed())).is_ok())
    }

    /// The CPU time of each, in nanoseconds after the warm-up.
    fn join(self) -> Vec<u64> {
        self.threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    }
}

/// Makes all tasks that start by themselves: those whose end is waited for, and servers. `ready` is called
/// when all are there, before they begin.
fn start_all(run: &Arc<Run>, ready: impl FnOnce()) -> Result<(Group, Group), Error> {
    // All are made first, and begin together.
    let gate = Arc::new(std::sync::RwLock::new(()));
    let closed = gate.write().map_err(|_| not_possible("a gate", &"poisoned"))?;
    let mut groups = [false, true].map(|_| (Vec::new(), mpsc::channel::<()>()));
    let (standing, stand) = mpsc::channel();
    for start in &run.work.starts {
        for _ in 0..start.count {
            let (threads, (sender, _)) = &mut groups[usize::from(start.server)];
            let (mask, class) = (start.mask.clone(), start.class);
            let free = Mutex::new(false);
            let birth = Birth { on: start.on, mask, nice: start.nice, class, free };
            let (sender, gate, standing) = (sender.clone(), Arc::clone(&gate), standing.clone());
            let mut task = Task::new(Arc::clone(run), start.program, &start.own);
            let at = Duration::from_nanos(start.at_ns);
            let work = move || {
                let birth = Arc::new(birth);
                birth.stand();
                standing.send((Arc::clone(&birth), rustix::thread::gettid())).ok();
                drop(standing);
                drop(gate.read());
                birth.begin();
                thread::sleep(at);
                let used_ns = task.live();
                sender.send(()).ok();
                used_ns
            };
            threads.push(spawn(work).map_err(|why| not_possible("its tasks", &why))?);
        }
    }
    drop(standing);
    let births: Vec<_> = stand.iter().collect();
    ready();
    drop(closed);
    births.iter().for_each(|(birth, task)| birth.free(Some(*task)));
    let [clients, servers] = groups.map(|(threads, (sender, ends))| {
        drop(sender);
        Group { threads, ends }
    });
    Ok((clients, servers))
}

fn not_possible(what: &str, why: &dyn std::fmt::Display) -> Error {
    Error::NotPossible(format!("the system refuses {what}: {why}"))
}

/// Real-time tasks are for those who may make them.
fn try_classes(work: &Work) -> Result<(), Error> {
    let classes: Vec<Class> = work.starts.iter().map(|start| start.class).collect();
    let all = move || classes.into_iter().try_for_each(task::enter);
    let tried = spawn(all).and_then(|thread| thread.join().unwrap_or(Ok(())));
    tried.map_err(|why| not_possible("its real-time tasks (root may make them)", &why))
}

/// What only the simulation knows is refused beforehand.
fn check(scenario: &Scenario, work: &Work) -> Result<(), Error> {
    let refuse = |what: &str| {
        let name = &scenario.name;
        Err(Error::Usage(format!("{name} cannot be run for real: {what} is only simulated")))
    };
    if !work.script.is_empty() {
        return refuse("what happens to its machine");
    }
    if work.starts.iter().any(|start| start.group_weight.is_some()) {
        return refuse("a group's weight");
    }
    if work.starts.iter().map(|start| start.count).sum::<u32>() > TASKS_MAX {
        return refuse(&format!("so many tasks (more than {TASKS_MAX})"));
    }
    for step in work.programs.iter().flat_map(|program| &program.steps) {
        match step {
            Step::Down { .. } | Step::Up { .. } => return refuse("a semaphore"),
            Step::Lock(_) | Step::Unlock(_) => return refuse("a lock"),
            Step::Barrier { .. } => return refuse("a barrier"),
            Step::Write { .. } | Step::Synchronise(_) | Step::Forget(_) | Step::Disk { .. } => {
                return refuse("writing to a disk");
            }
            _ => {}
        }
    }
    Ok(())
}
