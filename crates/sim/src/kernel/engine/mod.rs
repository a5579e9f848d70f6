//! The engine: takes events in order, asks the policy, and is the only one to change the world.
//!
//! `schedule` is how a CPU picks a task, `speed` how fast work goes and how its time is accounted,
//! `steps` how a task proceeds in its program; `files` and `lives` are further effects of steps;
//! `hotplug` is the script of the machine; `check` finds broken invariants and deadlocks.

mod check;
mod files;
mod hotplug;
mod lives;
mod results;
mod schedule;
mod speed;
mod steps;

use super::{
    Barrier, Cause, CoreTime, CpuId, Events, Failure, Lock, Machine, Options, Outcome, Semaphore,
    Socket, Task, TaskId, Trace, View, Work,
};
use crate::lists::Links;
use crate::numbers::Key;
use crate::policies::{Answer, Policy, Ticks};
use results::Results;
use speed::{CpuRun, Waste};
use std::collections::VecDeque;

type Run<T = ()> = Result<T, Box<Failure>>;

/// Events of one CPU: this many slots each, from the first on.
const CPU_SLOTS: usize = 3;
const SEGMENT: usize = 0;
const TICK: usize = 1;
/// It learns that it is to reschedule.
const INTERRUPT: usize = 2;

/// Events of the machine, after those of the CPUs.
const MACHINE_SLOTS: usize = 5;
const DISK: usize = 0;
const WRITE_BACK: usize = 1;
const SCRIPT: usize = 2;
const START: usize = 3;
const WARMUP: usize = 4;

/// Events at one moment after which a run counts as stuck; ten more for each task and CPU.
const INSTANT_EVENTS: u64 = 10_000;

pub(super) struct Engine<'run> {
    machine: &'run Machine,
    work: &'run Work,
    options: &'run Options,
    policy: Box<dyn Policy>,
    ticks: Ticks,
    view: View,
    events: Events,
    /// The answer that is being made or carried out; kept to be used again.
    answer: Answer,
    pending: VecDeque<CpuId>,
    cpus: Vec<CpuRun>,
    cores: Vec<CoreTime>,
    waste: Waste,
    /// By queue lock: the CPU that held it last, and until when, see [`Policy::queue_lock`].
    queue_locks: Vec<(CpuId, u64)>,
    tasks: Vec<Task>,
    free: Vec<TaskId>,
    children: Links,
    key: Key,
    serial: u64,
    spaces: u32,
    sockets: Vec<Socket>,
    semaphores: Vec<Semaphore>,
    locks: Vec<Lock>,
    barriers: Vec<Barrier>,
    storage: files::Storage,
    /// Entries of the list of starts, in order of time; the next one.
    starts: Vec<u32>,
    next_start: usize,
    /// Tasks of that entry that started, and the memory they share.
    started: u32,
    started_space: Option<u32>,
    /// Lines of the script, in order of time; the next one.
    script: Vec<u32>,
    next_script: usize,
    alive: Alive,
    trace: Trace,
    results: Results,
    events_done: u64,
    instant_events: u64,
}

#[derive(Debug, Default)]
struct Alive {
    tasks: usize,
    awaited: usize,
    runnable: usize,
    timers: usize,
}

/// Does the work on the machine. An error if the work is impossible, or the run makes no progress.
pub fn run(machine: &Machine, work: &Work, options: &Options) -> Run<Outcome> {
    super::validate::check(machine, work, options)?;
    let mut engine = Engine::new(machine, work, options);
    engine.boot()?;
    engine.until_end()?;
    Ok(engine.outcome())
}

impl<'run> Engine<'run> {
    fn new(machine: &'run Machine, work: &'run Work, options: &'run Options) -> Self {
        let policy = (options.policy.entry.build)(&machine.layout, &options.policy);
        let ticks = policy.ticks();
        let cpus = machine.layout.cpus();
        let in_order = |times: Vec<u64>| {
            let mut order: Vec<u32> = (0..times.len() as u32).collect();
            order.sort_by_key(|index| times[*index as usize]);
            order
        };
        let mut view = View::new(machine.layout.clone(), ticks.period_ns);
        view.switch_ns = machine.costs.switch_ns;
        view.oracle = policy.knows_speeds().then(|| machine.speeds.clone());
        Self {
            view,
            events: Events::new(cpus * CPU_SLOTS + MACHINE_SLOTS),
            answer: Answer::new(options.decisions_max > 0),
            pending: VecDeque::new(),
            cpus: vec![CpuRun::new(); cpus],
            cores: vec![CoreTime::default(); machine.layout.cores().len()],
            waste: Waste::new(&machine.layout),
            queue_locks: vec![(CpuId(0), 0); cpus],
            tasks: Vec::new(),
            free: Vec::new(),
            children: Links::default(),
            key: Key::new(options.seed),
            serial: 0,
            spaces: 0,
            sockets: work.sockets.iter().map(|spec| Socket::new(*spec)).collect(),
            semaphores: work.semaphores.iter().map(|value| Semaphore::new(*value)).collect(),
            locks: (0..work.locks).map(|_| Lock::default()).collect(),
            barriers: work.barriers.iter().map(|tasks| Barrier::new(*tasks)).collect(),
            storage: files::Storage::new(machine, work, options.seed),
            starts: {
                let mut starts = in_order(work.starts.iter().map(|start| start.at_ns).collect());
                starts.retain(|start| work.starts[*start as usize].count > 0);
                starts
            },
            next_start: 0,
            started: 0,
            started_space: None,
            script: in_order(work.script.iter().map(|line| line.at_ns).collect()),
            next_script: 0,
            alive: Alive::default(),
            trace: Trace::new(options.decisions_max, options.spans_max),
            results: Results::new(work, options.others),
            events_done: 0,
            instant_events: 0,
            machine,
            work,
            options,
            policy,
            ticks,
        }
    }

    /// Time 0: every CPU is online and finds nothing to do; then come tasks and script.
    fn boot(&mut self) -> Run {
        for cpu in self.machine.layout.all() {
            if self.ticks.while_idle {
                self.events.set(slot(cpu, TICK), self.ticks.period_ns);
            }
            self.reschedule(cpu)?;
        }
        if self.options.warmup_ns > 0 {
            self.events.set(self.machine_slot(WARMUP), self.options.warmup_ns);
        }
        if let Some(first) = self.script.first() {
            let at_ns = self.work.script[*first as usize].at_ns;
            self.events.set(self.machine_slot(SCRIPT), at_ns);
        }
        if let Some(first) = self.starts.first() {
            let at_ns = self.work.starts[*first as usize].at_ns;
            self.events.set(self.machine_slot(START), at_ns);
        }
        Ok(())
    }

    fn until_end(&mut self) -> Run {
        while self.alive.awaited > 0 || self.next_start < self.starts.len() {
            let Some((at_ns, slot)) = self.events.pop() else {
                return Err(self.deadlock());
            };
            if at_ns > self.options.until_ns {
                self.view.now_ns = self.options.until_ns;
                return Ok(());
            }
            self.count_event(at_ns)?;
            self.view.now_ns = at_ns;
            self.happen(slot)?;
            while let Some(cpu) = self.pending.pop_front() {
                // It may have rescheduled in the meantime.
                if self.view.cpu(cpu).resched {
                    self.reschedule(cpu)?;
                    self.count_event(at_ns)?;
                }
            }
            if self.options.checked {
                self.check()?;
            }
            if self.alive.runnable == 0 && self.is_stuck() {
                return Err(self.deadlock());
            }
        }
        Ok(())
    }

    #[inline]
    fn count_event(&mut self, at_ns: u64) -> Run {
        self.events_done += 1;
        self.instant_events = if at_ns > self.view.now_ns { 0 } else { self.instant_events + 1 };
        if self.instant_events > INSTANT_EVENTS + 10 * (self.tasks.len() + self.cpus.len()) as u64 {
            let what = format!("{} events, and no time passes", self.instant_events);
            return Err(self.fail(Cause::NoProgress, what));
        }
        if self.events_done > self.options.events_max {
            let what = format!("more than the {} events allowed", self.options.events_max);
            return Err(self.fail(Cause::NoProgress, what));
        }
        Ok(())
    }

    #[inline]
    fn happen(&mut self, happening: usize) -> Run {
        let cpus = self.cpus.len();
        if happening < cpus * CPU_SLOTS {
            let cpu = CpuId((happening / CPU_SLOTS) as u32);
            return match happening % CPU_SLOTS {
                SEGMENT => self.segment_ends(cpu),
                TICK => self.tick(cpu),
                _ => self.interrupted(cpu),
            };
        }
        let happening = happening - cpus * CPU_SLOTS;
        match happening {
            DISK => self.disk_done(),
            WRITE_BACK => self.write_back_due(),
            SCRIPT => self.script_line(),
            START => self.start_task(),
            WARMUP => {
                self.warmed_up();
                Ok(())
            }
            task => self.task_timer(TaskId((task - MACHINE_SLOTS) as u32)),
        }
    }

    fn machine_slot(&self, kind: usize) -> usize {
        self.cpus.len() * CPU_SLOTS + kind
    }

    fn task_slot(&self, task: TaskId) -> usize {
        self.cpus.len() * CPU_SLOTS + MACHINE_SLOTS + task.index()
    }

    #[cold]
    fn fail(&self, cause: Cause, what: impl Into<String>) -> Box<Failure> {
        Failure::new(cause, self.view.now_ns, what)
    }

    fn name_of(&self, task: TaskId) -> String {
        let facts = self.view.task(task);
        let program = self.work.programs.get(facts.program as usize);
        format!("{}#{}", program.map_or("?", |program| &program.name), facts.serial)
    }
}

#[inline]
fn slot(cpu: CpuId, kind: usize) -> usize {
    cpu.0 as usize * CPU_SLOTS + kind
}
