//! The answers: waking, choosing, ticking.

use super::arithmetic::{self, BUSY_REBALANCE_TICKS, HZ, Life};
use super::{Form, Linux25};
use crate::kernel::{Class, CpuId, Current, TaskId, TaskState, View};
use crate::lists::End;
use crate::policies::{Answer, Change, Policy, Reason, Stop, Ticks, Wake, WakeKind, keep};
use coretwin_base::simulation::linux_2_5_32::{self as decide, Preempts};

impl Linux25 {
    /// Finds a CPU of its queue for a waiting task.
    fn look_for_cpu(&mut self, view: &View, task: TaskId, answer: &mut Answer) {
        let Life { home, priority, slice, .. } = self.lives[task.index()];
        let can_run = |cpu: &CpuId| view.allowed(task, *cpu);
        if can_run(&home) && view.runs_nothing(home) {
            return answer.resched(home, Some(task), "its CPU is idle");
        }
        let members =
            if self.rules.wakeup { self.members[self.queue_of(home)].as_slice() } else { &[] };
        let mut siblings = members.iter().copied().filter(|cpu| *cpu != home && can_run(cpu));
        if let Some(sibling) = siblings.clone().find(|cpu| view.runs_nothing(*cpu)) {
            self.rehome(task, sibling);
            let reason =
                Reason::new("its CPU is busy and the sibling idle").with("own_cpu", home.0);
            return answer.resched(sibling, Some(task), reason);
        }
        let current = self.current_priority(view, home);
        let left = view.current(home).map_or(slice, |task| self.lives[task.index()].slice);
        let is_mended = self.rules.form == Form::A9 && self.rules.wakeup;
        let (own, other) = ((i64::from(priority), slice), (i64::from(current), left));
        match decide::preempts(own, other, is_mended) {
            Preempts::Better if can_run(&home) => {
                let reason = Reason::new("better priority than what runs");
                let reason = reason.with("own", priority).with("current", current);
                return answer.resched(home, Some(task), reason);
            }
            Preempts::MoreLeft if can_run(&home) => {
                let reason = Reason::new("equal priority, and more of its slice left");
                let reason = reason.with("own_ms", slice).with("current_ms", left);
                return answer.resched(home, Some(task), reason);
            }
            _ => {}
        }
        let worse = |cpu: &CpuId| priority < self.current_priority(view, *cpu);
        match siblings.find(worse) {
            Some(sibling) => {
                self.rehome(task, sibling);
                let reason = Reason::new("better priority than what the sibling runs");
                answer.resched(sibling, Some(task), reason.with("own", priority));
            }
            None => answer.note(home, Some(task), "waits its turn"),
        }
    }

    fn nothing_for(&self, cpu: CpuId) -> bool {
        if self.rules.pickup || !self.rules.shared() {
            self.queues[self.queue_of(cpu)].len() == 0
        } else {
            self.homed[cpu.0 as usize] == 0
        }
    }

    /// The best task of a CPU's queue that it may run.
    fn choose(&self, view: &View, cpu: CpuId, answer: &mut Answer) -> Option<TaskId> {
        let queue = &self.queues[self.queue_of(cpu)];
        let mut first = true;
        let mut looked = 0;
        let arrays = [queue.active(), queue.expired()];
        let tasks =
            arrays.into_iter().flat_map(|array| queue.tasks(&self.links, array, End::Front));
        let fits = |task: &TaskId| {
            looked += 1;
            let is_first = std::mem::take(&mut first);
            let life = &self.lives[task.index()];
            let own = life.home == cpu;
            let since = view.ticks().saturating_sub(life.left_at);
            let warm = !decide::is_cold(since, self.rules.cache_decay_ticks);
            let free = match view.task(*task).state {
                // As posted, a task that ran here counts as running unless it comes first.
                TaskState::Running(on) if on == cpu => is_first || self.rules.form != Form::F3,
                TaskState::Running(_) => false,
                _ => true,
            };
            free && view.allowed(*task, cpu)
                && (own || self.rules.pickup)
                && (own || self.rules.affinity || !warm)
        };
        let found = { tasks }.find(fits);
        answer.steps(looked);
        found
    }

    /// A slice has ended: a new one, and the end of the active or the expired list.
    fn expire(&mut self, view: &View, cpu: CpuId, task: TaskId, answer: &mut Answer) {
        let facts = view.task(task);
        let life = &mut self.lives[task.index()];
        let old = life.priority;
        life.slice = arithmetic::slice(facts.nice);
        life.first_slice = false;
        // Its new priority decides whether it is interactive.
        let priority = life.effective_priority(facts);
        let interactive = Life { priority, ..*life }.interactive(facts);
        let queue_index = self.queue_of(cpu);
        let real_time = !matches!(facts.class, Class::Normal | Class::Idle);
        let queue = &mut self.queues[queue_index];
        let starving = queue.expired_since.is_some_and(|since| {
            decide::is_starved(view.ticks().saturating_sub(since), queue.len() as u64)
        });
        let stays = real_time || (interactive && !starving);
        let array = if stays { queue.active() } else { queue.expired() };
        if !stays {
            queue.expired_since.get_or_insert(view.ticks());
        }
        if self.take_out(task) {
            self.lives[task.index()].priority = priority;
            self.insert_into(task, array);
        }
        let what = if stays { "its slice ended: goes on" } else { "its slice ended: expires" };
        let reason = Reason::new(what).with("was", old).with("priority", priority);
        answer.resched(cpu, Some(task), reason);
    }

    /// Has a waiting task be where it may run: its own CPU, another of its queue, or another queue.
    fn settle(&mut self, view: &View, task: TaskId, answer: &mut Answer) {
        let home = self.lives[task.index()].home;
        if !view.allowed(task, home) {
            let mut members = self.online_members(view, self.queue_of(home));
            let near = members.find(|cpu| view.allowed(task, *cpu));
            drop(members);
            match near {
                Some(cpu) => self.rehome(task, cpu),
                None => {
                    let cpu = view.fallback(task);
                    self.dequeue(task);
                    self.insert(task, cpu);
                    answer.pull(task, home, cpu, "it may run nowhere in its queue");
                }
            }
        }
        self.look_for_cpu(view, task, answer);
    }

    fn idle_tick(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let queue = self.queue_of(cpu);
        let running =
            self.members[queue].iter().filter(|cpu| view.current(**cpu).is_some()).count();
        if self.queues[queue].len() > running
            && let Some(task) = self.choose(view, cpu, answer)
        {
            return answer.resched(cpu, Some(task), "idle, and a task of its queue waits");
        }
        self.balance(view, cpu, true, false, answer);
    }
}

impl Policy for Linux25 {
    fn ticks(&self) -> Ticks {
        Ticks { period_ns: 1_000_000_000 / HZ, while_idle: true }
    }

    fn fork(&mut self, view: &View, task: TaskId, answer: &mut Answer) {
        self.links.grow(view.tasks.len());
        let facts = view.task(task);
        let life = match facts.parent {
            Some(parent) => Life::child(&mut self.lives[parent.index()], facts, view.ticks()),
            None => Life::first(facts, view.ticks()),
        };
        keep(&mut self.lives, view, task, life);
        // A parent of one tick gives it to its child; its own slice is over.
        if let Some(parent) = facts.parent.filter(|parent| self.lives[parent.index()].slice == 0) {
            match (view.task(parent).state, view.task(parent).class) {
                (TaskState::Running(cpu), Class::Normal | Class::Idle | Class::RoundRobin(_)) => {
                    self.expire(view, cpu, parent, answer);
                }
                _ => self.lives[parent.index()].slice = 1,
            }
        }
    }

    fn select_cpu(&mut self, view: &View, task: TaskId, wake: &Wake, answer: &mut Answer) -> CpuId {
        if wake.kind == WakeKind::Woken && wake.sync && view.allowed(task, wake.here) {
            answer.place(task, wake.here, "its waker is about to wait: beside it");
            return wake.here;
        }
        let home = self.lives[task.index()].home;
        let cpu = if view.allowed(task, home) { home } else { view.fallback(task) };
        answer.place(task, cpu, "its own CPU");
        cpu
    }

    fn enqueue(&mut self, view: &View, task: TaskId, cpu: CpuId, wake: &Wake, answer: &mut Answer) {
        if wake.kind == WakeKind::Woken {
            self.lives[task.index()].wake(view.task(task), view.ticks());
        }
        self.insert(task, cpu);
        self.look_for_cpu(view, task, answer);
    }

    fn pick(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) -> Option<TaskId> {
        let queue = self.queue_of(cpu);
        if self.nothing_for(cpu) {
            self.balance(view, cpu, true, true, answer);
        }
        if self.nothing_for(cpu) {
            if self.queues[queue].len() == 0 {
                self.queues[queue].expired_since = None;
            }
            answer.pick(cpu, None, "no task waits here, and none was to be had");
            self.ask_for_running(view, cpu, answer);
            return None;
        }
        let swapped = self.queues[queue].swap_if_spent();
        let picked = self.choose(view, cpu, answer);
        let reason = match picked {
            Some(_) if swapped => Reason::new("best priority, arrays swapped"),
            Some(_) => Reason::new("best priority"),
            None => Reason::new("the tasks of its queue run on its siblings, or may not run here"),
        };
        let priority = picked.map(|task| self.lives[task.index()].priority);
        let reason = priority.map_or(reason, |priority| reason.with("priority", priority));
        answer.pick(cpu, picked, reason);
        picked
    }

    fn running(&mut self, _: &View, cpu: CpuId, task: TaskId, _: &mut Answer) {
        self.rehome(task, cpu);
    }

    fn stopping(&mut self, view: &View, _: CpuId, task: TaskId, stop: Stop, _: &mut Answer) {
        self.lives[task.index()].left_at = view.ticks();
        match stop {
            Stop::Blocked | Stop::Exited | Stop::Moved => self.dequeue(task),
            Stop::Yielded => {
                let queue = self.queue_of(self.lives[task.index()].home);
                let queue = &mut self.queues[queue];
                let array = match view.task(task).class {
                    Class::Normal | Class::Idle => {
                        queue.expired_since.get_or_insert(view.ticks());
                        queue.expired()
                    }
                    // Real-time tasks never wait behind others: to the end of its list.
                    Class::RoundRobin(_) | Class::Fifo(_) => queue.active(),
                };
                self.requeue(task, array);
            }
            Stop::Rescheduled | Stop::Stopper | Stop::Offline => {}
        }
    }

    fn tick(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let task = match view.cpu(cpu).current {
            Current::Stopper => return,
            Current::Idle => return self.idle_tick(view, cpu, answer),
            Current::Task(task) => task,
        };
        let queue = self.queue_of(cpu);
        let active = self.queues[queue].active();
        let facts = view.task(task);
        let life = &mut self.lives[task.index()];
        if life.array != Some(active) {
            // A sibling has swapped the arrays, or it has expired already.
            answer.resched(cpu, Some(task), "it is not among the active tasks");
        } else if !matches!(facts.class, Class::Fifo(_)) {
            life.sleep_average = life.sleep_average.saturating_sub(1);
            life.slice = life.slice.saturating_sub(1);
            if life.slice == 0 {
                self.expire(view, cpu, task, answer);
            }
        }
        if view.ticks().is_multiple_of(BUSY_REBALANCE_TICKS) {
            self.balance(view, cpu, false, false, answer);
        }
    }

    fn stopper(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        self.asked.remove(cpu);
        self.give_away(view, cpu, answer);
    }

    fn changed(&mut self, view: &View, task: TaskId, change: Change, answer: &mut Answer) {
        let facts = view.task(task);
        if change != Change::Mask {
            let array = self.lives[task.index()].array;
            let queued = self.take_out(task);
            let life = &mut self.lives[task.index()];
            life.priority = life.effective_priority(facts);
            if let (true, Some(array)) = (queued, array) {
                self.insert_into(task, array);
            }
            if let TaskState::Running(cpu) = facts.state {
                answer.resched(cpu, Some(task), "its priority changed");
            }
        }
        if facts.state == TaskState::Runnable && self.lives[task.index()].array.is_some() {
            self.settle(view, task, answer);
        }
    }

    fn exit(&mut self, view: &View, task: TaskId, _: &mut Answer) {
        self.dequeue(task);
        let life = self.lives[task.index()];
        if let Some(parent) = view.task(task).parent {
            self.lives[parent.index()].take_back(&life);
        }
    }

    fn offline(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let index = self.queue_of(cpu);
        if self.asked.contains(cpu) {
            // Its stopper will not come, so the queue may be marked again.
            self.asked.remove(cpu);
            self.queues[index].wanted &= self.rules.form == Form::F3;
        }
        let queue = &self.queues[index];
        let tasks = (0..2).flat_map(|array| queue.tasks(&self.links, array, End::Front));
        let waits = |task: &TaskId| view.task(*task).state == TaskState::Runnable;
        let waiting: Vec<TaskId> = tasks.filter(waits).collect();
        for task in waiting {
            self.settle(view, task, answer);
        }
    }

    fn queue_lock(&self, view: &View, cpu: CpuId) -> CpuId {
        let first = || view.layout.siblings(cpu).first().copied();
        first().filter(|_| self.rules.shared()).unwrap_or(cpu)
    }

    fn queued(&self, each: &mut dyn FnMut(TaskId)) {
        for queue in &self.queues {
            (0..2)
                .flat_map(|array| queue.tasks(&self.links, array, End::Front))
                .for_each(&mut *each);
        }
    }
}
