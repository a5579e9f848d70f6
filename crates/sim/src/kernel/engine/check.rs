//! Invariants, checked after every event of a checked run; and deadlocks: which task waits for what.

use super::speed::Mode;
use super::{Engine, Run};
use crate::kernel::{
    Barrier, Cause, CpuId, CpuView, Current, Failure, TaskId, TaskState, TaskView, Waiting,
};

impl Engine<'_> {
    /// No task on two CPUs, none lost, masks kept, time conserved; what is broken is the policy's fault.
    pub(super) fn check(&mut self) -> Run {
        self.check_cpus().and_then(|()| self.check_queues()).map_err(|what| {
            let name = self.options.policy.entry.name;
            self.fail(Cause::Policy, format!("{name}: {what}"))
        })?;
        self.check_times()
    }

    fn check_cpus(&self) -> Result<(), String> {
        for cpu in self.machine.layout.all() {
            let facts = self.view.cpu(cpu);
            let mode = self.cpus[cpu.0 as usize].mode;
            let same = match mode {
                Mode::Task(task) => {
                    if self.view.task(task).state != TaskState::Running(cpu) {
                        return Err(format!("CPU {cpu} runs a task that does not run there"));
                    }
                    if !self.view.allowed(task, cpu) {
                        return Err(format!("CPU {cpu} runs a task that may not run there"));
                    }
                    facts.current == Current::Task(task)
                }
                Mode::Stopper => facts.current == Current::Stopper,
                Mode::Idle | Mode::Offline => facts.current == Current::Idle,
            };
            if !same || facts.online == (mode == Mode::Offline) {
                return Err(format!("the view of CPU {cpu} is not true"));
            }
            let idle = facts.online && facts.current == Current::Idle && !facts.resched;
            if self.view.idle.contains(cpu) != idle {
                return Err(format!("the mask of idle CPUs is wrong about CPU {cpu}"));
            }
        }
        for cpus in self.machine.layout.cores() {
            let running = cpus.iter().filter(|cpu| self.view.current(**cpu).is_some()).count();
            if self.view.running_on_core(cpus[0]) != running {
                return Err(format!("the core of CPU {} does not run that many tasks", cpus[0]));
            }
        }
        let shared = |cpus: &Vec<CpuId>| self.view.running_on_core(cpus[0]) > 1;
        match self.machine.layout.cores().iter().any(shared) == self.view.is_any_core_shared() {
            true => Ok(()),
            false => Err("shared cores are miscounted".to_owned()),
        }
    }

    fn check_queues(&self) -> Result<(), String> {
        let mut queued = vec![0u8; self.tasks.len()];
        let mut wrong = None;
        self.policy.queued(&mut |task: TaskId| {
            let facts = self.view.task(task);
            match facts.state {
                TaskState::Runnable => {
                    queued[task.index()] = queued[task.index()].saturating_add(1);
                }
                TaskState::Running(_) => {}
                TaskState::Blocked | TaskState::Gone => {
                    wrong = Some(format!("task #{} is queued, but not runnable", facts.serial));
                }
            }
        });
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        let mut runnable = 0;
        for (facts, queued) in self.view.tasks.iter().zip(queued) {
            match facts.state {
                TaskState::Runnable if queued != 1 => {
                    return Err(format!("task #{} waits in {queued} queues", facts.serial));
                }
                TaskState::Runnable => runnable += 1,
                TaskState::Running(cpu) => {
                    runnable += 1;
                    let mode = self.cpus[cpu.0 as usize].mode;
                    let runs = |task: &TaskId| self.view.task(*task).serial == facts.serial;
                    if !matches!(mode, Mode::Task(task) if runs(&task)) {
                        return Err(format!("task #{} runs where it is not", facts.serial));
                    }
                }
                TaskState::Blocked | TaskState::Gone => {}
            }
        }
        let free = |facts: &&TaskView| facts.state == TaskState::Runnable && facts.mask == 0;
        let waiting = self.view.tasks.iter().filter(free).count();
        let idle = |cpu: &&CpuView| cpu.online && cpu.current == Current::Idle;
        let idle = self.view.cpus.iter().filter(idle).count();
        if (self.waste.idle_cpus, self.waste.waiting) != (idle as u32, waiting as u32) {
            return Err(format!(
                "{idle} idle CPUs and {waiting} free waiting tasks are miscounted"
            ));
        }
        match runnable == self.alive.runnable {
            true => Ok(()),
            false => Err(format!("{runnable} tasks are runnable, not {}", self.alive.runnable)),
        }
    }

    fn check_times(&mut self) -> Run {
        let passed_ns = self.view.now_ns - self.results.from_ns;
        for cpu in self.machine.layout.all() {
            self.settle(cpu);
            let sum_ns = self.cpus[cpu.0 as usize].times.total_ns();
            if sum_ns != passed_ns {
                let what = format!("CPU {cpu} accounts for {sum_ns} of {passed_ns} ns");
                return Err(self.fail(Cause::Policy, what));
            }
        }
        Ok(())
    }
}

const LINES: usize = 40;

impl Engine<'_> {
    pub(super) fn is_stuck(&self) -> bool {
        self.alive.awaited > 0
            && self.alive.timers == 0
            && self.next_start == self.starts.len()
            && !self.storage.is_busy()
    }

    #[cold]
    pub(super) fn deadlock(&self) -> Box<Failure> {
        let waits = |(index, _)| TaskId(index as u32);
        let tasks = self.view.tasks.iter().enumerate();
        let blocked: Vec<TaskId> =
            tasks.filter(|(_, facts)| facts.state == TaskState::Blocked).map(waits).collect();
        let what = format!("{} tasks wait, and nothing is under way", blocked.len());
        let mut failure = self.fail(Cause::Deadlock, what);
        failure.lines = blocked.iter().take(LINES).map(|task| self.waits_for(*task)).collect();
        if blocked.len() > LINES {
            failure.lines.push(format!("and {} more", blocked.len() - LINES));
        }
        failure
    }

    /// The failure, if a task that would wait for a lock would wait for itself.
    pub(super) fn circle(&self, task: TaskId, lock: usize) -> Option<Box<Failure>> {
        let mut lines =
            vec![format!("{} waits for lock {lock}{}", self.name_of(task), self.held_by(lock))];
        let mut next = self.locks[lock].owner;
        // No chain is longer than there are locks, for each has one owner.
        for _ in 0..=self.locks.len() {
            let owner = next?;
            if owner == task {
                let what = format!("{} waits for itself", self.name_of(task));
                let mut failure = self.fail(Cause::Deadlock, what);
                failure.lines = lines;
                return Some(failure);
            }
            let Waiting::Lock(wanted) = self.tasks[owner.index()].waiting else { return None };
            if lines.len() < LINES {
                lines.push(self.waits_for(owner));
            }
            next = self.locks[wanted as usize].owner;
        }
        None
    }

    fn held_by(&self, lock: usize) -> String {
        let owner = self.locks[lock].owner;
        owner.map_or_else(String::new, |owner| format!(", held by {}", self.name_of(owner)))
    }

    fn waits_for(&self, task: TaskId) -> String {
        let own = &self.tasks[task.index()];
        let what = match own.waiting {
            Waiting::No => "nothing".to_owned(),
            Waiting::Timer => "a time".to_owned(),
            Waiting::Bytes(socket) => {
                let held = self.sockets[socket as usize].held_bytes;
                format!("{} bytes of socket {socket}, which holds {held}", own.amount)
            }
            Waiting::Room(socket) => {
                let size = self.sockets[socket as usize].spec.buffer_bytes;
                format!("room for {} bytes in socket {socket} of {size}", own.amount)
            }
            Waiting::Semaphore(semaphore) => {
                let value = self.semaphores[semaphore as usize].value;
                format!("semaphore {semaphore}, which has {value}")
            }
            Waiting::Lock(lock) => format!("lock {lock}{}", self.held_by(lock as usize)),
            Waiting::Barrier(barrier) => {
                let Barrier { tasks, waiters } = &self.barriers[barrier as usize];
                format!("barrier {barrier}, where {} of {tasks} are", waiters.len())
            }
            Waiting::Children => format!("its {} children", own.family.alive),
            Waiting::Disk => "the disk".to_owned(),
            Waiting::Written => "pages on their way to the disk".to_owned(),
            Waiting::Throttled => "room for written pages".to_owned(),
        };
        let server = if own.server { " (a server)" } else { "" };
        format!("{}{server}, at its step {}, waits for {what}", self.name_of(task), own.step)
    }
}
