//! What a CPU does to choose a task, and how tasks become runnable.

use super::speed::{Mode, Paid, in_parts};
use super::{Engine, INTERRUPT, Run, TICK, slot};
use crate::kernel::{
    Cause, CpuId, Current, Distance, Happened, Idle, ONE, ProfileId, Span, TaskId, TaskState,
    Waiting,
};
use crate::policies::{Stop, Wake, WakeKind, What};

impl Engine<'_> {
    /// Does what the policy answered to a question that was asked on a CPU.
    #[inline]
    pub(super) fn carry_out(&mut self, asked_on: CpuId) {
        if self.answer.is_empty() {
            return;
        }
        self.trace.write_down(&self.view, asked_on, &mut self.answer);
        for index in 0..self.answer.list().len() {
            match self.answer.list()[index].what {
                What::Resched(cpu) => self.ask_to_reschedule(cpu, asked_on),
                What::Stopper(cpu) => {
                    if self.view.cpu(cpu).online && self.cpus[cpu.0 as usize].mode != Mode::Stopper
                    {
                        self.cpus[cpu.0 as usize].stopper_wanted = true;
                        self.ask_to_reschedule(cpu, asked_on);
                    }
                }
                What::Pull { .. } => self.results.so_far.pulls += 1,
                What::Place(_) | What::Pick(_) | What::Note(_) => {}
            }
        }
        self.answer.clear();
    }

    /// The same, and the policy's steps are paid for by the CPU that asked.
    #[inline]
    pub(super) fn carry_out_paid(&mut self, asked_on: CpuId) {
        self.carry_out(asked_on);
        let paid = self.policy_cost(asked_on);
        self.charge_paid(asked_on, paid);
    }

    /// What the policy's work since it was last asked for costs a CPU: the work, and before it the
    /// wait for the lock of the queue, which is a spin lock: nothing else happens on the CPU meanwhile.
    /// The lock is held for as long as the work takes beside what the siblings do now.
    #[inline]
    fn policy_cost(&mut self, cpu: CpuId) -> Paid {
        let walk_ns = self.machine.costs.policy_work_ns(self.answer.take_steps());
        if walk_ns == 0 {
            return Paid::default();
        }
        let now_ns = self.view.now_ns;
        let lock = self.policy.queue_lock(&self.view, cpu);
        let (holder, until_ns) = self.queue_locks[lock.0 as usize];
        let spin_ns = if holder == cpu { 0 } else { until_ns.saturating_sub(now_ns) };
        let held_ns = (walk_ns << 16) / u64::from(self.walk_fraction(cpu));
        self.queue_locks[lock.0 as usize] = (cpu, now_ns + spin_ns + held_ns);
        self.results.so_far.policy_ns += spin_ns + held_ns;
        Paid { spin_ns, walk_ns }
    }

    /// Speed over alone at which a CPU goes through the policy's lists.
    fn walk_fraction(&self, cpu: CpuId) -> u32 {
        let home = match self.cpus[cpu.0 as usize].mode {
            Mode::Task(task) => self.tasks[task.index()].home,
            _ => ProfileId::KERNEL,
        };
        let walking = self.machine.speeds.walking(home);
        self.fraction_of(walking, cpu, self.machine.layout.siblings(cpu))
    }

    fn ask_to_reschedule(&mut self, cpu: CpuId, asked_on: CpuId) {
        let told = self.view.cpu(cpu).resched;
        if !self.view.cpu(cpu).online {
            return;
        }
        self.view.set_resched(cpu, true);
        let interrupt = slot(cpu, INTERRUPT);
        if cpu == asked_on {
            // Its own code does not wait for an interrupt that is on its way.
            if !told || self.events.is_set(interrupt) {
                self.events.cancel(interrupt);
                self.pending.push_back(cpu);
            }
        } else if !told {
            let costs = &self.machine.costs;
            let latency_ns = match (self.cpus[cpu.0 as usize].mode, self.machine.idle) {
                (Mode::Idle, Idle::Halt) => costs.wake_halted_ns,
                (Mode::Idle, Idle::Poll) => costs.wake_polling_ns,
                _ => costs.interrupt_processor_ns,
            };
            match latency_ns {
                0 => self.pending.push_back(cpu),
                _ => self.events.set(interrupt, self.view.now_ns + latency_ns),
            }
        }
    }

    pub(super) fn interrupted(&mut self, cpu: CpuId) -> Run {
        match self.view.cpu(cpu).resched {
            true => self.reschedule(cpu),
            false => Ok(()),
        }
    }

    pub(super) fn reschedule(&mut self, cpu: CpuId) -> Run {
        let previous = match self.cpus[cpu.0 as usize].mode {
            // The stopper's end is followed by a choice anyway.
            Mode::Offline | Mode::Stopper => return Ok(()),
            Mode::Task(task) => Some(task),
            Mode::Idle => None,
        };
        self.events.cancel(slot(cpu, INTERRUPT));
        self.view.set_resched(cpu, true);
        let stopper = std::mem::take(&mut self.cpus[cpu.0 as usize].stopper_wanted);
        if let Some(task) = previous {
            self.settle_core(cpu);
            let stop = match (stopper, self.view.task(task).yielded) {
                (true, _) => Stop::Stopper,
                (false, true) => Stop::Yielded,
                (false, false) => Stop::Rescheduled,
            };
            self.policy.stopping(&self.view, cpu, task, stop, &mut self.answer);
            self.carry_out(cpu);
        }
        if stopper {
            return self.begin_stopper(cpu, previous);
        }
        let next = self.policy.pick(&self.view, cpu, &mut self.answer);
        let paid = self.policy_cost(cpu);
        self.carry_out(cpu);
        self.view.cpus[cpu.0 as usize].scheduled_ns = self.view.now_ns;
        if let Some(task) = previous {
            self.view.task_mut(task).yielded = false;
        }
        match next {
            Some(next) if previous == Some(next) => {
                self.view.set_resched(cpu, false);
                self.charge_paid(cpu, paid);
                self.schedule_segment(cpu);
                self.policy.running(&self.view, cpu, next, &mut self.answer);
                self.carry_out_paid(cpu);
                Ok(())
            }
            Some(next) => {
                if let Some(previous) = previous {
                    self.leaves(cpu, previous, TaskState::Runnable);
                }
                self.check_pick(cpu, next)?;
                self.enters(cpu, next, paid);
                Ok(())
            }
            None => {
                if let Some(previous) = previous {
                    self.leaves(cpu, previous, TaskState::Runnable);
                }
                self.goes_idle(cpu);
                Ok(())
            }
        }
    }

    fn check_pick(&self, cpu: CpuId, task: TaskId) -> Run {
        let problem = match self.view.tasks.get(task.index()).map(|facts| facts.state) {
            None => "there is no such task",
            Some(TaskState::Gone | TaskState::Blocked) => "it is not runnable",
            Some(TaskState::Running(_)) => "it runs on another CPU",
            Some(TaskState::Runnable) if !self.view.allowed(task, cpu) => "it may not run there",
            Some(TaskState::Runnable) => return Ok(()),
        };
        let name = self.options.policy.entry.name;
        let what = format!("{name} picked task {} for CPU {cpu}, but {problem}", task.0);
        Err(self.fail(Cause::Policy, what))
    }

    /// A task leaves its CPU, which was settled. The CPU runs nothing until it has picked a task.
    pub(super) fn leaves(&mut self, cpu: CpuId, task: TaskId, state: TaskState) {
        let now_ns = self.view.now_ns;
        let core_mark_ns = self.core_ran_ns(cpu);
        let run = &mut self.cpus[cpu.0 as usize];
        run.mode = Mode::Idle;
        let own = &mut self.tasks[task.index()];
        let owed = std::mem::take(&mut run.walk) + std::mem::take(&mut run.overhead);
        own.owed_ns = owed.div_ceil(u64::from(ONE));
        run.spin_ns = 0;
        own.core_mark_ns = core_mark_ns;
        let facts = self.view.task_mut(task);
        let span = Span {
            cpu,
            task: facts.serial,
            program: facts.program,
            from_ns: facts.started_ns,
            to_ns: now_ns,
        };
        facts.ran_before_ns += now_ns - facts.started_ns;
        facts.stopped_ns = now_ns;
        facts.state = state;
        if state == TaskState::Runnable {
            self.results.pre_empted(span.program);
        }
        if state == TaskState::Runnable && facts.mask == 0 {
            self.waste.wait(now_ns, 1);
        }
        self.view.set_resched(cpu, true);
        self.view.set_current(cpu, Current::Idle);
        self.trace.happened(now_ns, Happened::Leaves, cpu, span.task);
        self.trace.span(span);
    }

    fn enters(&mut self, cpu: CpuId, task: TaskId, paid: Paid) {
        self.settle_core(cpu);
        let now_ns = self.view.now_ns;
        let owed_ns = std::mem::take(&mut self.tasks[task.index()].owed_ns);
        // A refill that was not finished when the task lost its CPU is not paid twice.
        let cost_ns = owed_ns.max(self.switch_cost_ns(cpu, task)) + self.shared_page_cost_ns(task);
        if std::mem::take(&mut self.cpus[cpu.0 as usize].told_idle) {
            self.policy.update_idle(&self.view, cpu, false, &mut self.answer);
            self.carry_out(cpu);
        }
        let facts = self.view.task_mut(task);
        let from = facts.last_cpu;
        let waited_ns = now_ns - facts.woken_ns.max(facts.stopped_ns);
        let (serial, program) = (facts.serial, facts.program);
        let woken_ns = now_ns - facts.woken_ns;
        if facts.mask == 0 {
            self.waste.wait(now_ns, -1);
        }
        facts.state = TaskState::Running(cpu);
        facts.last_cpu = cpu;
        facts.started_ns = now_ns;
        let space = facts.address_space;
        let distance = self.view.layout.distance(from, cpu);
        let own = &mut self.tasks[task.index()];
        let moved = own.has_run && from != cpu;
        let latency = own.just_woken.then_some(woken_ns);
        own.has_run = true;
        own.just_woken = false;
        let run = &mut self.cpus[cpu.0 as usize];
        run.mode = Mode::Task(task);
        run.spin_ns = paid.spin_ns;
        run.walk = in_parts(paid.walk_ns);
        run.overhead = in_parts(cost_ns);
        run.space = space;
        run.switches += 1;
        self.results.entered(program, moved.then_some(distance), latency, waited_ns);
        self.view.set_resched(cpu, false);
        self.view.set_current(cpu, Current::Task(task));
        self.trace.happened(now_ns, Happened::Runs, cpu, serial);
        self.speed_up_to_date(cpu);
        self.start_ticking(cpu);
        self.policy.running(&self.view, cpu, task, &mut self.answer);
        self.carry_out_paid(cpu);
    }

    /// What switching to a task costs: the switch, and refilling caches that others used or where the
    /// task has not run.
    fn switch_cost_ns(&mut self, cpu: CpuId, task: TaskId) -> u64 {
        let costs = &self.machine.costs;
        let facts = self.view.task(task);
        let own = &mut self.tasks[task.index()];
        let distance = self.view.layout.distance(facts.last_cpu, cpu);
        let mut cost_ns = costs.switch_ns;
        if self.cpus[cpu.0 as usize].space != facts.address_space {
            cost_ns += costs.switch_space_ns;
        }
        let all = u64::from(self.machine.speeds.profile(own.home).refill);
        let full_ns = |distance| (costs.refill_after(distance) * all) >> 16;
        let elsewhere = own.has_run && distance > Distance::SameCore;
        if std::mem::take(&mut own.cold) || elsewhere {
            cost_ns += full_ns(distance);
        } else if own.has_run {
            let mark_ns = own.core_mark_ns;
            let others_ns = self.core_ran_ns(cpu).saturating_sub(mark_ns).min(costs.displace_ns);
            cost_ns += (u128::from(full_ns(distance)) * u128::from(others_ns)
                / u128::from(costs.displace_ns)) as u64;
        }
        cost_ns
    }

    /// What a child pays while its parent still copies the page that both write first.
    fn shared_page_cost_ns(&mut self, task: TaskId) -> u64 {
        let until_ns = std::mem::take(&mut self.tasks[task.index()].page_shared_until_ns);
        if until_ns > self.view.now_ns { self.machine.costs.shared_page_ns } else { 0 }
    }

    fn goes_idle(&mut self, cpu: CpuId) {
        self.settle_core(cpu);
        self.view.set_resched(cpu, false);
        self.speed_up_to_date(cpu);
        if !self.ticks.while_idle {
            self.events.cancel(slot(cpu, TICK));
        }
        if !self.cpus[cpu.0 as usize].told_idle {
            self.cpus[cpu.0 as usize].told_idle = true;
            self.trace.happened(self.view.now_ns, Happened::GoesIdle, cpu, 0);
            self.policy.update_idle(&self.view, cpu, true, &mut self.answer);
            self.carry_out(cpu);
            let _ = self.policy_cost(cpu);
        }
    }

    fn begin_stopper(&mut self, cpu: CpuId, previous: Option<TaskId>) -> Run {
        match previous {
            Some(task) => self.leaves(cpu, task, TaskState::Runnable),
            None => self.settle_core(cpu),
        }
        let run = &mut self.cpus[cpu.0 as usize];
        run.mode = Mode::Stopper;
        run.overhead = in_parts(self.machine.costs.stopper_ns + self.machine.costs.switch_ns);
        if std::mem::take(&mut run.told_idle) {
            self.policy.update_idle(&self.view, cpu, false, &mut self.answer);
            self.carry_out(cpu);
        }
        self.view.set_resched(cpu, false);
        self.view.set_current(cpu, Current::Stopper);
        self.speed_up_to_date(cpu);
        Ok(())
    }

    /// A CPU's work is done: its task goes on in its program, or the stopper has come to its point.
    pub(super) fn segment_ends(&mut self, cpu: CpuId) -> Run {
        match self.cpus[cpu.0 as usize].mode {
            Mode::Idle | Mode::Offline => Ok(()),
            Mode::Task(task) => {
                let paid = self.cpus[cpu.0 as usize].pays();
                self.settle(cpu);
                // An earlier event at this very moment may have settled it and ended what it paid.
                let left = self.cpus[cpu.0 as usize].pays() || self.tasks[task.index()].work > 0;
                if paid || left {
                    // It now does another kind of work, at another speed.
                    self.settle_core(cpu);
                    self.speed_up_to_date(cpu);
                }
                if left {
                    return Ok(());
                }
                self.advance(cpu, task)
            }
            Mode::Stopper => {
                self.settle_core(cpu);
                self.policy.stopper(&self.view, cpu, &mut self.answer);
                self.cpus[cpu.0 as usize].mode = Mode::Idle;
                self.view.set_resched(cpu, true);
                self.view.set_current(cpu, Current::Idle);
                self.carry_out(cpu);
                let _ = self.policy_cost(cpu);
                self.reschedule(cpu)
            }
        }
    }

    pub(super) fn tick(&mut self, cpu: CpuId) -> Run {
        self.events.set(slot(cpu, TICK), self.view.now_ns + self.ticks.period_ns);
        self.charge(cpu, self.machine.costs.tick_ns);
        if self.cpus[cpu.0 as usize].mode != Mode::Stopper {
            self.policy.tick(&self.view, cpu, &mut self.answer);
            self.carry_out_paid(cpu);
        }
        Ok(())
    }

    /// Ticks come at multiples of their period, on all CPUs alike.
    pub(super) fn start_ticking(&mut self, cpu: CpuId) {
        if !self.events.is_set(slot(cpu, TICK)) {
            let period_ns = self.ticks.period_ns;
            let next_ns = (self.view.now_ns / period_ns + 1) * period_ns;
            self.events.set(slot(cpu, TICK), next_ns);
        }
    }

    /// A task becomes runnable. `to` is a CPU that the policy has chosen already.
    pub(super) fn make_runnable(&mut self, task: TaskId, wake: Wake, to: Option<CpuId>) -> Run {
        let now_ns = self.view.now_ns;
        self.alive.runnable += 1;
        let facts = self.view.task_mut(task);
        if facts.state != TaskState::Runnable && facts.mask == 0 {
            self.waste.wait(now_ns, 1);
        }
        facts.state = TaskState::Runnable;
        facts.woken_ns = now_ns;
        let serial = facts.serial;
        let own = &mut self.tasks[task.index()];
        own.waiting = Waiting::No;
        own.just_woken = wake.kind != WakeKind::Moved;
        self.trace.happened(now_ns, Happened::Wakes, wake.here, serial);
        let cpu = match to {
            Some(cpu) => cpu,
            None => {
                let cpu = self.policy.select_cpu(&self.view, task, &wake, &mut self.answer);
                self.carry_out(wake.here);
                cpu
            }
        };
        if !self.view.allowed(task, cpu) {
            let name = self.options.policy.entry.name;
            let what =
                format!("{name} put {} on CPU {cpu}, where it may not run", self.name_of(task));
            return Err(self.fail(Cause::Policy, what));
        }
        self.policy.enqueue(&self.view, task, cpu, &wake, &mut self.answer);
        self.carry_out_paid(wake.here);
        Ok(())
    }

    /// Wakes a task that waits, from the code of a task on a CPU, or of an interrupt there.
    pub(super) fn wake(&mut self, task: TaskId, here: CpuId, sync: bool) -> Run {
        self.charge(here, self.machine.costs.wake_ns);
        self.results.so_far.wake_ups += 1;
        let wake = Wake { kind: WakeKind::Woken, sync, here };
        self.make_runnable(task, wake, None)
    }

    /// The running task of a CPU blocks. The CPU must reschedule next.
    pub(super) fn block(&mut self, cpu: CpuId, task: TaskId, waiting: Waiting) {
        self.settle_core(cpu);
        self.alive.runnable -= 1;
        self.alive.timers += usize::from(waiting == Waiting::Timer);
        self.tasks[task.index()].waiting = waiting;
        let serial = self.view.task(task).serial;
        self.trace.happened(self.view.now_ns, Happened::Blocks, cpu, serial);
        self.leaves(cpu, task, TaskState::Blocked);
        self.policy.stopping(&self.view, cpu, task, Stop::Blocked, &mut self.answer);
        self.carry_out(cpu);
    }

    /// The running task of a CPU becomes a waiting one elsewhere. The CPU must reschedule next.
    pub(super) fn move_away(&mut self, cpu: CpuId, task: TaskId, to: Option<CpuId>) -> Run {
        self.settle_core(cpu);
        self.policy.stopping(&self.view, cpu, task, Stop::Moved, &mut self.answer);
        self.carry_out(cpu);
        self.leaves(cpu, task, TaskState::Runnable);
        self.alive.runnable -= 1;
        let wake = Wake { kind: WakeKind::Moved, sync: false, here: cpu };
        self.make_runnable(task, wake, to)
    }
}
