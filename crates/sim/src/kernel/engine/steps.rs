//! How a task proceeds in its program: a step first costs work, then has its effect.

use super::{Engine, Run};
use crate::kernel::{
    Access, Cause, CpuId, Loop, ProfileId, Step, TaskId, UOP_PER_NS, Waiting, Which,
};

/// Steps of one task at one moment after which it counts as an endless loop.
const INSTANT_STEPS: u32 = 100_000;

pub(super) enum Next {
    Goes,
    Jumps(u32),
    /// The effect must wait; it is tried again when the task is woken.
    Waits(Waiting),
    /// On to the next step, after others have had the CPU.
    Yields,
    /// On to the next step, on a CPU chosen by the policy before, or now.
    Moves(Option<CpuId>),
    Ends,
}

impl Engine<'_> {
    /// A task on a CPU, settled and without work left, goes on until it has work or waits.
    pub(super) fn advance(&mut self, cpu: CpuId, task: TaskId) -> Run {
        let work = self.work;
        loop {
            if self.cpus[cpu.0 as usize].pays() {
                // Before the program goes on.
                self.schedule_segment(cpu);
                return Ok(());
            }
            if self.view.cpu(cpu).resched {
                return self.reschedule(cpu);
            }
            let own = &mut self.tasks[task.index()];
            let segments_ns = std::mem::take(&mut own.segments_ns);
            if segments_ns > 0 {
                let home = own.home;
                let alone = self.machine.speeds.profile(home).alone;
                self.begin_work(cpu, task, home, segments_ns.saturating_mul(alone));
                return Ok(());
            }
            let own = &mut self.tasks[task.index()];
            let Some(step) = work.programs[own.program as usize].steps.get(own.step as usize)
            else {
                self.ends(cpu, task)?;
                return self.reschedule(cpu);
            };
            own.instant = match own.instant {
                (at_ns, count) if at_ns == self.view.now_ns => (at_ns, count + 1),
                _ => (self.view.now_ns, 1),
            };
            if own.instant.1 > INSTANT_STEPS {
                let at = own.step;
                let what = format!("{} at its step {at}: time never passes", self.name_of(task));
                return Err(self.fail(Cause::EndlessLoop, what));
            }
            if !own.effect_due {
                own.effect_due = true;
                let (profile, amount) = self.cost(cpu, task, step);
                if amount > 0 {
                    self.begin_work(cpu, task, profile, amount);
                    return Ok(());
                }
            }
            let next = self.effect(cpu, task, step)?;
            let own = &mut self.tasks[task.index()];
            if !matches!(next, Next::Waits(_)) {
                own.effect_due = false;
                own.step += 1;
            }
            match next {
                Next::Goes => {}
                Next::Jumps(to) => own.step = to,
                Next::Waits(waiting) => {
                    self.block(cpu, task, waiting);
                    return self.reschedule(cpu);
                }
                Next::Yields => {
                    self.view.task_mut(task).yielded = true;
                    return self.reschedule(cpu);
                }
                Next::Moves(to) => {
                    self.move_away(cpu, task, to)?;
                    return self.reschedule(cpu);
                }
                Next::Ends => {
                    self.ends(cpu, task)?;
                    return self.reschedule(cpu);
                }
            }
        }
    }

    fn begin_work(&mut self, cpu: CpuId, task: TaskId, profile: ProfileId, amount: u64) {
        let own = &mut self.tasks[task.index()];
        if own.profile == profile {
            own.work = amount;
            return self.schedule_segment(cpu);
        }
        // The siblings feel another kind of work from now on.
        self.settle_core(cpu);
        let own = &mut self.tasks[task.index()];
        own.profile = profile;
        own.work = amount;
        if profile != ProfileId::KERNEL {
            own.home = profile;
        }
        self.speed_up_to_date(cpu);
    }

    fn kernel_work(&self, ns: u64) -> (ProfileId, u64) {
        let alone = self.machine.speeds.profile(ProfileId::KERNEL).alone;
        (ProfileId::KERNEL, ns.saturating_mul(alone))
    }

    /// The work that a step takes; its amount is drawn now.
    fn cost(&mut self, cpu: CpuId, task: TaskId, step: &Step) -> (ProfileId, u64) {
        let costs = &self.machine.costs;
        let own = &mut self.tasks[task.index()];
        let call_ns = costs.system_call_ns;
        let ns = match step {
            Step::Compute { profile, uops } => {
                return (*profile, own.numbers.draw(*uops).saturating_mul(UOP_PER_NS));
            }
            Step::ComputeFor { profile, ns } => {
                let alone = self.machine.speeds.profile(*profile).alone;
                return (*profile, own.numbers.draw(*ns).saturating_mul(alone));
            }
            Step::SystemCall { ns } => call_ns + own.numbers.draw(*ns),
            Step::Sleep { ns } => {
                own.amount = own.numbers.draw(*ns);
                call_ns
            }
            Step::Send { bytes, .. } | Step::Receive { bytes, .. } => {
                self.results.so_far.receives += u64::from(matches!(step, Step::Receive { .. }));
                own.amount = own.numbers.draw(*bytes);
                call_ns + costs.socket_ns + costs.copy_kib_ns.saturating_mul(own.amount) / 1024
            }
            Step::Read { bytes, access, .. } | Step::Write { bytes, access, .. } => {
                own.amount = own.numbers.draw(*bytes);
                let pages = own.amount.div_ceil(4096) + u64::from(*access == Access::Random);
                let copy_ns = costs.copy_kib_ns.saturating_mul(own.amount) / 1024;
                call_ns + copy_ns + costs.page_ns.saturating_mul(pages)
            }
            Step::Disk { bytes } => {
                own.amount = own.numbers.draw(*bytes);
                call_ns
            }
            Step::Down { .. } | Step::Up { .. } => call_ns + costs.semaphore_ns,
            Step::Fork { thread, .. } => self.fork_ns(cpu, *thread),
            Step::Make { start } => {
                let thread = self.work.starts[*start as usize].same_memory;
                self.fork_ns(cpu, thread)
            }
            Step::Exec => costs.exec_ns + self.page_tables_ns(cpu),
            Step::Exit => costs.exit_ns,
            Step::Period { .. }
            | Step::Barrier { .. }
            | Step::Wait(_)
            | Step::Synchronise(_)
            | Step::Forget(_)
            | Step::Yield
            | Step::SetMask(_)
            | Step::SetNice(_) => call_ns,
            // A lock costs a system call only if it is contended, and that is paid there.
            Step::Lock(_) | Step::Unlock(_) => 0,
            Step::Begin | Step::Done(_) | Step::Repeat { .. } | Step::Forever { .. } => 0,
        };
        self.kernel_work(ns)
    }

    fn effect(&mut self, cpu: CpuId, task: TaskId, step: &Step) -> Run<Next> {
        match step {
            Step::Compute { .. } | Step::ComputeFor { .. } | Step::SystemCall { .. } => {
                Ok(Next::Goes)
            }
            Step::Sleep { .. } => {
                let until_ns = self.view.now_ns.saturating_add(self.tasks[task.index()].amount);
                Ok(self.wait_until(task, until_ns))
            }
            Step::Period { ns } => Ok(self.period(task, *ns)),
            Step::Send { socket, .. } => self.transfer(cpu, task, *socket, true),
            Step::Receive { socket, .. } => self.transfer(cpu, task, *socket, false),
            Step::Down { semaphore, count } => self.down(task, *semaphore, *count),
            Step::Up { semaphore, count } => self.up(cpu, task, *semaphore, *count),
            Step::Lock(which) => self.lock(cpu, task, *which),
            Step::Unlock(which) => self.unlock(cpu, task, *which),
            Step::Barrier { barrier } => self.barrier(cpu, task, *barrier),
            Step::Fork { program, thread } => self.fork(cpu, task, *program, *thread),
            Step::Make { start } => self.make(cpu, task, *start),
            Step::Exec => Ok(self.exec(cpu, task)),
            Step::Wait(children) => Ok(self.wait_for_children(task, *children)),
            Step::Exit => Ok(Next::Ends),
            Step::Read { file, access, .. } => self.read(task, *file, *access),
            Step::Write { file, access, .. } => self.write(task, *file, *access),
            Step::Synchronise(file) => self.synchronise(task, *file),
            Step::Forget(file) => self.forget(task, *file),
            Step::Disk { .. } => Ok(self.disk_read(task)),
            Step::Yield => Ok(Next::Yields),
            Step::SetMask(mask) => Ok(self.set_own_mask(cpu, task, mask.as_ref())),
            Step::SetNice(nice) => {
                self.set_nice(cpu, task, *nice);
                Ok(Next::Goes)
            }
            Step::Begin => {
                self.tasks[task.index()].begun_ns = self.view.now_ns;
                Ok(Next::Goes)
            }
            Step::Done(kind) => {
                self.operation_done(task, *kind);
                Ok(Next::Goes)
            }
            Step::Repeat { from, times } => {
                let own = &mut self.tasks[task.index()];
                let at = own.step;
                let again = match own.loops.last_mut() {
                    Some(top) if top.step == at => {
                        top.left -= 1;
                        top.left > 0
                    }
                    _ => {
                        let left = own.numbers.draw(*times);
                        own.loops.push(Loop { step: at, left });
                        left > 0
                    }
                };
                if again {
                    return Ok(Next::Jumps(*from));
                }
                own.loops.pop();
                Ok(Next::Goes)
            }
            Step::Forever { from } => Ok(Next::Jumps(*from)),
        }
    }

    fn wait_until(&mut self, task: TaskId, until_ns: u64) -> Next {
        if std::mem::take(&mut self.tasks[task.index()].answered) || until_ns <= self.view.now_ns {
            return Next::Goes;
        }
        self.events.set(self.task_slot(task), until_ns);
        Next::Waits(Waiting::Timer)
    }

    fn period(&mut self, task: TaskId, period_ns: u64) -> Next {
        let own = &mut self.tasks[task.index()];
        if !own.answered {
            own.deadline_ns = own.deadline_ns.saturating_add(period_ns);
            own.begun_ns = own.deadline_ns;
        }
        let until_ns = own.deadline_ns;
        self.wait_until(task, until_ns)
    }

    /// A task's time has come. Its interrupt is taken where it last ran.
    pub(super) fn task_timer(&mut self, task: TaskId) -> Run {
        self.alive.timers -= 1;
        self.tasks[task.index()].answered = true;
        let last = self.view.task(task).last_cpu;
        let here = if self.view.online.contains(last) { last } else { self.first_online() };
        self.wake(task, here, false)
    }

    pub(super) fn object(
        &self,
        task: TaskId,
        which: Which,
        count: usize,
        kind: &str,
    ) -> Run<usize> {
        let number = match which {
            Which::Number(number) => Some(number),
            Which::Own(place) => {
                let start = &self.work.starts[self.tasks[task.index()].start as usize];
                start.own.get(place as usize).copied()
            }
        };
        match number {
            Some(number) if (number as usize) < count => Ok(number as usize),
            _ => {
                let what = format!("{} uses a {kind} that is not there", self.name_of(task));
                Err(self.fail(Cause::Misuse, what))
            }
        }
    }

    /// Sends to a socket, or receives from it, what there is room or bytes for; the rest waits.
    pub(super) fn transfer(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        which: Which,
        sends: bool,
    ) -> Run<Next> {
        let index = self.object(task, which, self.sockets.len(), "socket")?;
        let socket = &mut self.sockets[index];
        let own = &mut self.tasks[task.index()];
        let now_ns = self.view.now_ns;
        let moved =
            if sends { socket.put(own.amount, now_ns) } else { socket.take(own.amount, now_ns) };
        // Room that is left is another writer's, bytes that are left another reader's.
        let also = match sends {
            true if moved.bytes == 0 => None,
            true => socket.next_writer(),
            false => socket.next_reader(),
        };
        // Kernels with dynamic ticks say so of every pipe and socket (since 2.6.30).
        let sync = sends && (socket.spec.sync || !self.ticks.while_idle);
        self.results.so_far.segments += moved.half_ways;
        own.segments_ns += moved.half_ways * socket.spec.segment_ns / 2;
        own.amount -= moved.bytes;
        let next = match (own.amount, sends) {
            (0, _) => Next::Goes,
            (_, true) => {
                socket.writers.push_back(task);
                Next::Waits(Waiting::Room(index as u32))
            }
            (_, false) => {
                socket.readers.push_back(task);
                Next::Waits(Waiting::Bytes(index as u32))
            }
        };
        for woken in [moved.wakes, also].into_iter().flatten() {
            self.wake(woken, cpu, sync)?;
        }
        Ok(next)
    }

    pub(super) fn down(&mut self, task: TaskId, which: Which, count: u32) -> Run<Next> {
        let index = self.object(task, which, self.semaphores.len(), "semaphore")?;
        let answered = std::mem::take(&mut self.tasks[task.index()].answered);
        let has = answered || self.semaphores[index].down(task, count);
        Ok(if has { Next::Goes } else { Next::Waits(Waiting::Semaphore(index as u32)) })
    }

    pub(super) fn up(&mut self, cpu: CpuId, task: TaskId, which: Which, count: u32) -> Run<Next> {
        let index = self.object(task, which, self.semaphores.len(), "semaphore")?;
        self.semaphores[index].up(count);
        while let Some(woken) = self.semaphores[index].next() {
            self.answer(woken, cpu)?;
        }
        Ok(Next::Goes)
    }

    pub(super) fn lock(&mut self, cpu: CpuId, task: TaskId, which: Which) -> Run<Next> {
        let index = self.object(task, which, self.locks.len(), "lock")?;
        let paid = std::mem::take(&mut self.tasks[task.index()].answered);
        if self.locks[index].take(task) {
            self.tasks[task.index()].locks_held += 1;
            return Ok(Next::Goes);
        }
        if let Some(circle) = self.circle(task, index) {
            return Err(circle);
        }
        if !paid && self.machine.costs.system_call_ns > 0 {
            // Contended: into the kernel, and try again there.
            self.charge(cpu, self.machine.costs.system_call_ns);
            let own = &mut self.tasks[task.index()];
            own.answered = true;
            return Ok(Next::Jumps(own.step));
        }
        self.locks[index].waiters.push_back(task);
        Ok(Next::Waits(Waiting::Lock(index as u32)))
    }

    pub(super) fn unlock(&mut self, cpu: CpuId, task: TaskId, which: Which) -> Run<Next> {
        let index = self.object(task, which, self.locks.len(), "lock")?;
        match self.locks[index].give_back(task) {
            Err(()) => {
                let name = self.name_of(task);
                let what = format!("{name} gives back lock {index}, which it does not hold");
                Err(self.fail(Cause::Misuse, what))
            }
            Ok(waiter) => {
                self.tasks[task.index()].locks_held -= 1;
                if let Some(waiter) = waiter {
                    self.charge(cpu, self.machine.costs.system_call_ns);
                    self.wake(waiter, cpu, false)?;
                }
                Ok(Next::Goes)
            }
        }
    }

    pub(super) fn barrier(&mut self, cpu: CpuId, task: TaskId, which: Which) -> Run<Next> {
        let index = self.object(task, which, self.barriers.len(), "barrier")?;
        if std::mem::take(&mut self.tasks[task.index()].answered) {
            return Ok(Next::Goes);
        }
        match self.barriers[index].come(task) {
            None => Ok(Next::Waits(Waiting::Barrier(index as u32))),
            Some(others) => {
                for other in others {
                    self.answer(other, cpu)?;
                }
                Ok(Next::Goes)
            }
        }
    }

    /// Wakes a task for which was done what it waits for.
    pub(super) fn answer(&mut self, task: TaskId, here: CpuId) -> Run {
        self.tasks[task.index()].answered = true;
        self.wake(task, here, false)
    }
}
