//! The answers: waking, choosing, ticking.

use super::balance::Seen;
use super::life::{self, BUSY_REBALANCE_TICKS, HZ, IDLE_PRIORITY, Life};
use super::queue::Queue;
use super::{Form, Rules};
use crate::kernel::layout::Layout;
use crate::kernel::mask::CpuMask;
use crate::kernel::view::{Class, Current, TaskId, TaskState, View};
use crate::policies::lists::Links;
use crate::policies::settings::Settings;
use crate::policies::{Actions, Change, Policy, Reason, Stop, Ticks, Wake, WakeKind};
use coretwin_base::cpu_set::CpuId;

/// The policy, in any of its forms.
#[derive(Debug)]
pub(in crate::policies) struct Linux25 {
    pub(super) rules: Rules,
    pub(super) links: Links,
    /// By slot of the task.
    pub(super) lives: Vec<Life>,
    pub(super) queues: Vec<Queue>,
    /// The CPUs of each queue.
    pub(super) members: Vec<Vec<CpuId>>,
    /// The queue of each CPU.
    queue_of: Vec<usize>,
    /// Tasks that belong to each CPU and are in a queue.
    pub(super) homed: Vec<usize>,
    /// Tasks of each unit of balancing, in one place because they are looked at so often.
    pub(super) lengths: Vec<u32>,
    /// Units of balancing with more than one task.
    pub(super) crowded: usize,
    /// CPUs whose stopper was asked to come and has not yet been.
    pub(super) asked: CpuMask,
    /// By unit of balancing.
    pub(super) seen: Vec<Seen>,
}

impl Linux25 {
    pub(in crate::policies) fn new(form: Form, layout: &Layout, settings: &Settings) -> Self {
        let rules = Rules::new(form, settings);
        let members: Vec<Vec<CpuId>> = if rules.shared() {
            layout.cores().to_vec()
        } else {
            layout.all().map(|cpu| vec![cpu]).collect()
        };
        let mut queue_of = vec![0; layout.cpus()];
        for (queue, cpus) in members.iter().enumerate() {
            cpus.iter().for_each(|cpu| queue_of[cpu.0 as usize] = queue);
        }
        Self {
            rules,
            links: Links::default(),
            lives: Vec::new(),
            queues: vec![Queue::new(); members.len()],
            members,
            queue_of,
            homed: vec![0; layout.cpus()],
            lengths: vec![0; layout.cpus()],
            crowded: 0,
            asked: CpuMask::empty(layout.cpus()),
            seen: vec![Seen::default(); layout.cpus()],
        }
    }

    pub(super) fn queue_of(&self, cpu: CpuId) -> usize {
        self.queue_of[cpu.0 as usize]
    }

    pub(super) fn online_members<'a>(
        &'a self,
        view: &'a View,
        queue: usize,
    ) -> impl Iterator<Item = CpuId> + 'a {
        self.members[queue].iter().copied().filter(|cpu| view.cpu(*cpu).online)
    }

    /// Priority of what a CPU runs; nothing is better than a stopper, or than being offline.
    pub(super) fn current_priority(&self, view: &View, cpu: CpuId) -> u8 {
        match view.cpu(cpu).current {
            _ if !view.cpu(cpu).online => 0,
            Current::Idle => IDLE_PRIORITY,
            Current::Stopper => 0,
            Current::Task(task) => self.lives[task.index()].priority,
        }
    }

    /// A unit of balancing has one task more, or one less.
    fn count(&mut self, unit: usize, more: bool) {
        let length = &mut self.lengths[unit];
        if more {
            self.crowded += usize::from(*length == 1);
            *length += 1;
        } else {
            self.crowded -= usize::from(*length == 2);
            *length -= 1;
        }
    }

    fn count_home(&mut self, cpu: CpuId, more: bool) {
        let homed = &mut self.homed[cpu.0 as usize];
        *homed = if more { *homed + 1 } else { *homed - 1 };
        if !self.by_queue() {
            self.count(cpu.0 as usize, more);
        }
    }

    /// Puts a task into a queue, where it belongs to a CPU.
    pub(super) fn insert(&mut self, task: TaskId, cpu: CpuId) {
        self.lives[task.index()].home = cpu;
        let array = self.queues[self.queue_of(cpu)].active();
        self.insert_into(task, array);
        self.count_home(cpu, true);
    }

    fn insert_into(&mut self, task: TaskId, array: usize) {
        let life = &mut self.lives[task.index()];
        life.array = Some(array);
        let (queue, priority) = (self.queue_of[life.home.0 as usize], life.priority);
        self.queues[queue].insert(&mut self.links, array, priority, task);
        if self.by_queue() {
            self.count(queue, true);
        }
    }

    /// Takes a task out of its queue, if it is in one.
    pub(super) fn dequeue(&mut self, task: TaskId) {
        let home = self.lives[task.index()].home;
        if self.take_out(task) {
            self.count_home(home, false);
        }
    }

    fn take_out(&mut self, task: TaskId) -> bool {
        let life = &mut self.lives[task.index()];
        let Some(array) = life.array.take() else { return false };
        let (queue, priority) = (self.queue_of[life.home.0 as usize], life.priority);
        self.queues[queue].remove(&mut self.links, array, priority, task);
        if self.by_queue() {
            self.count(queue, false);
        }
        true
    }

    /// Puts a task at the end of another list of its queue.
    fn requeue(&mut self, task: TaskId, array: usize) {
        if self.take_out(task) {
            self.insert_into(task, array);
        }
    }

    /// Has a task belong to another CPU of its queue.
    pub(super) fn rehome(&mut self, task: TaskId, cpu: CpuId) {
        let home = std::mem::replace(&mut self.lives[task.index()].home, cpu);
        if home != cpu && self.lives[task.index()].array.is_some() {
            self.count_home(home, false);
            self.count_home(cpu, true);
        }
    }

    /// Finds a CPU of its queue for a waiting task.
    fn look_for_cpu(&mut self, view: &View, task: TaskId, actions: &mut Actions) {
        let Life { home, priority, slice, .. } = self.lives[task.index()];
        let can_run = |cpu: &CpuId| view.allowed(task, *cpu);
        if can_run(&home) && view.runs_nothing(home) {
            return actions.resched(home, Some(task), Reason::new("its CPU is idle"));
        }
        let members =
            if self.rules.wakeup { self.members[self.queue_of(home)].as_slice() } else { &[] };
        let mut siblings = members.iter().copied().filter(|cpu| *cpu != home && can_run(cpu));
        if let Some(sibling) = siblings.clone().find(|cpu| view.runs_nothing(*cpu)) {
            self.rehome(task, sibling);
            let reason =
                Reason::new("its CPU is busy and the sibling idle").with("own_cpu", home.0);
            return actions.resched(sibling, Some(task), reason);
        }
        let current = self.current_priority(view, home);
        let better = Reason::new("better priority than what runs");
        let better = better.with("own", priority).with("current", current);
        if can_run(&home) && priority < current {
            return actions.resched(home, Some(task), better);
        }
        if self.rules.form == Form::A9 && self.rules.wakeup && priority == current {
            let left = view.current(home).map_or(slice, |task| self.lives[task.index()].slice);
            if can_run(&home) && slice > left {
                let reason = Reason::new("equal priority, and more of its slice left");
                let reason = reason.with("own_ms", slice).with("current_ms", left);
                return actions.resched(home, Some(task), reason);
            }
        }
        let worse = |cpu: &CpuId| priority < self.current_priority(view, *cpu);
        match siblings.find(worse) {
            Some(sibling) => {
                self.rehome(task, sibling);
                let reason = Reason::new("better priority than what the sibling runs");
                actions.resched(sibling, Some(task), reason.with("own", priority));
            }
            None => actions.note(home, Some(task), Reason::new("waits its turn")),
        }
    }

    /// Whether a CPU has no task it might run.
    fn nothing_for(&self, cpu: CpuId) -> bool {
        if self.rules.pickup || !self.rules.shared() {
            self.queues[self.queue_of(cpu)].len() == 0
        } else {
            self.homed[cpu.0 as usize] == 0
        }
    }

    /// The best task of a CPU's queue that it may run.
    fn choose(
        &self,
        view: &View,
        cpu: CpuId,
        previous: Option<TaskId>,
        actions: &mut Actions,
    ) -> Option<TaskId> {
        let queue = &self.queues[self.queue_of(cpu)];
        let mut first = true;
        let mut looked = 0;
        let arrays = [queue.active(), queue.expired()];
        let tasks = arrays.into_iter().flat_map(|array| queue.tasks(&self.links, array, false));
        let fits = |task: &TaskId| {
            looked += 1;
            let is_first = std::mem::take(&mut first);
            let life = &self.lives[task.index()];
            let own = life.home == cpu;
            let warm = view.ticks().saturating_sub(life.left_at) <= self.rules.cache_decay_ticks;
            let free = match view.task(*task).state {
                // As posted, a task that ran here counts as running unless it comes first.
                TaskState::Running(on) if on == cpu => {
                    previous == Some(*task) && (is_first || self.rules.form != Form::F3)
                }
                TaskState::Running(_) => false,
                _ => true,
            };
            free && view.allowed(*task, cpu)
                && (own || self.rules.pickup)
                && (own || self.rules.affinity || !warm)
        };
        let found = { tasks }.find(fits);
        actions.steps(looked);
        found
    }

    /// A slice has ended: a new one, and the end of the active or the expired list.
    fn expire(&mut self, view: &View, cpu: CpuId, task: TaskId, actions: &mut Actions) {
        let facts = view.task(task);
        let life = &mut self.lives[task.index()];
        let old = *life;
        life.slice = life::slice(facts.nice);
        life.first_slice = false;
        // Its new priority decides whether it is interactive.
        let priority = life.effective_priority(facts);
        let interactive = Life { priority, ..*life }.interactive(facts);
        let queue_index = self.queue_of(cpu);
        let real_time = !matches!(facts.class, Class::Normal);
        let queue = &mut self.queues[queue_index];
        let starving = queue.expired_since.is_some_and(|since| {
            view.ticks().saturating_sub(since) >= life::starvation_ticks(queue.len())
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
        let reason = Reason::new(if stays {
            "its slice ended: goes on"
        } else {
            "its slice ended: expires"
        });
        actions.resched(
            cpu,
            Some(task),
            reason.with("was", old.priority).with("priority", priority),
        );
    }

    fn idle_tick(&mut self, view: &View, cpu: CpuId, actions: &mut Actions) {
        let queue = self.queue_of(cpu);
        let running =
            self.members[queue].iter().filter(|cpu| view.current(**cpu).is_some()).count();
        if self.queues[queue].len() > running
            && let Some(task) = self.choose(view, cpu, None, actions)
        {
            let reason = Reason::new("idle, and a task of its queue waits");
            return actions.resched(cpu, Some(task), reason);
        }
        self.balance(view, cpu, true, false, actions);
    }
}

impl Policy for Linux25 {
    fn ticks(&self) -> Ticks {
        Ticks { period_ns: 1_000_000_000 / HZ, while_idle: true }
    }

    fn fork(&mut self, view: &View, task: TaskId, actions: &mut Actions) {
        self.links.grow(view.tasks.len());
        let facts = view.task(task);
        let life = match facts.parent {
            Some(parent) => Life::child(&mut self.lives[parent.index()], facts, view.ticks()),
            None => Life { left_at: view.ticks(), ..Life::first(facts) },
        };
        if task.index() < self.lives.len() {
            self.lives[task.index()] = life;
        } else {
            self.lives.resize(view.tasks.len(), life);
        }
        // A parent of one tick gives it to its child; its own slice is over.
        if let Some(parent) = facts.parent.filter(|parent| self.lives[parent.index()].slice == 0) {
            match (view.task(parent).state, view.task(parent).class) {
                (TaskState::Running(cpu), Class::Normal | Class::RoundRobin(_)) => {
                    self.expire(view, cpu, parent, actions);
                }
                _ => self.lives[parent.index()].slice = 1,
            }
        }
    }

    fn select_cpu(
        &mut self,
        view: &View,
        task: TaskId,
        wake: &Wake,
        actions: &mut Actions,
    ) -> CpuId {
        if wake.kind == WakeKind::Woken && wake.sync && view.allowed(task, wake.here) {
            actions.place(task, wake.here, Reason::new("its waker is about to wait: beside it"));
            return wake.here;
        }
        let home = self.lives[task.index()].home;
        let cpu = if view.allowed(task, home) { home } else { view.fallback(task) };
        actions.place(task, cpu, Reason::new("its own CPU"));
        cpu
    }

    fn enqueue(
        &mut self,
        view: &View,
        task: TaskId,
        cpu: CpuId,
        wake: &Wake,
        actions: &mut Actions,
    ) {
        if wake.kind == WakeKind::Woken {
            self.lives[task.index()].wake(view.task(task), view.ticks());
        }
        self.insert(task, cpu);
        self.look_for_cpu(view, task, actions);
    }

    fn pick(
        &mut self,
        view: &View,
        cpu: CpuId,
        previous: Option<TaskId>,
        actions: &mut Actions,
    ) -> Option<TaskId> {
        let queue = self.queue_of(cpu);
        if self.nothing_for(cpu) {
            self.balance(view, cpu, true, true, actions);
        }
        if self.nothing_for(cpu) {
            if self.queues[queue].len() == 0 {
                self.queues[queue].expired_since = None;
            }
            actions.pick(cpu, None, Reason::new("no task waits here, and none was to be had"));
            self.ask_for_running(view, cpu, actions);
            return None;
        }
        let swapped = self.queues[queue].swap_if_spent();
        let picked = self.choose(view, cpu, previous, actions);
        let reason = match picked {
            Some(_) if swapped => Reason::new("best priority, arrays swapped"),
            Some(_) => Reason::new("best priority"),
            None => Reason::new("the tasks of its queue run on its siblings, or may not run here"),
        };
        let priority = picked.map(|task| self.lives[task.index()].priority);
        let reason = priority.map_or(reason, |priority| reason.with("priority", priority));
        actions.pick(cpu, picked, reason);
        picked
    }

    fn running(&mut self, _: &View, cpu: CpuId, task: TaskId, _: &mut Actions) {
        self.rehome(task, cpu);
    }

    fn stopping(&mut self, view: &View, _: CpuId, task: TaskId, stop: Stop, _: &mut Actions) {
        self.lives[task.index()].left_at = view.ticks();
        match stop {
            Stop::Blocked | Stop::Exited | Stop::Moved => self.dequeue(task),
            Stop::Yielded => {
                let queue = self.queue_of(self.lives[task.index()].home);
                let queue = &mut self.queues[queue];
                let array = match view.task(task).class {
                    Class::Normal => {
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

    fn tick(&mut self, view: &View, cpu: CpuId, actions: &mut Actions) {
        let task = match view.cpu(cpu).current {
            Current::Stopper => return,
            Current::Idle => return self.idle_tick(view, cpu, actions),
            Current::Task(task) => task,
        };
        let queue = self.queue_of(cpu);
        let active = self.queues[queue].active();
        let facts = view.task(task);
        let life = &mut self.lives[task.index()];
        if life.array != Some(active) {
            // A sibling has swapped the arrays, or it has expired already.
            actions.resched(cpu, Some(task), Reason::new("it is not among the active tasks"));
        } else if !matches!(facts.class, Class::Fifo(_)) {
            life.sleep_average = life.sleep_average.saturating_sub(1);
            life.slice = life.slice.saturating_sub(1);
            if life.slice == 0 {
                self.expire(view, cpu, task, actions);
            }
        }
        if view.ticks().is_multiple_of(BUSY_REBALANCE_TICKS) {
            self.balance(view, cpu, false, false, actions);
        }
    }

    fn stopper(&mut self, view: &View, cpu: CpuId, actions: &mut Actions) {
        self.asked.remove(cpu);
        self.give_away(view, cpu, actions);
    }

    fn changed(&mut self, view: &View, task: TaskId, change: Change, actions: &mut Actions) {
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
                actions.resched(cpu, Some(task), Reason::new("its priority changed"));
            }
        }
        if facts.state == TaskState::Runnable && self.lives[task.index()].array.is_some() {
            self.settle(view, task, actions);
        }
    }

    fn exit(&mut self, view: &View, task: TaskId, _: &mut Actions) {
        self.dequeue(task);
        let life = self.lives[task.index()];
        if let Some(parent) = view.task(task).parent {
            self.lives[parent.index()].take_back(&life);
        }
    }

    fn online(&mut self, _: &View, _: CpuId, _: &mut Actions) {}

    fn offline(&mut self, view: &View, cpu: CpuId, actions: &mut Actions) {
        let index = self.queue_of(cpu);
        if self.asked.contains(cpu) {
            // Its stopper will not come, so the queue may be marked again.
            self.asked.remove(cpu);
            self.queues[index].wanted &= self.rules.form == Form::F3;
        }
        let queue = &self.queues[index];
        let tasks = (0..2).flat_map(|array| queue.tasks(&self.links, array, false));
        let waits = |task: &TaskId| view.task(*task).state == TaskState::Runnable;
        let waiting: Vec<TaskId> = tasks.filter(waits).collect();
        for task in waiting {
            self.settle(view, task, actions);
        }
    }

    fn queue_lock(&self, view: &View, cpu: CpuId) -> CpuId {
        let first = || view.layout.siblings(cpu).first().copied();
        first().filter(|_| self.rules.shared()).unwrap_or(cpu)
    }

    fn queued(&self, each: &mut dyn FnMut(TaskId)) {
        for queue in &self.queues {
            (0..2).flat_map(|array| queue.tasks(&self.links, array, false)).for_each(&mut *each);
        }
    }
}

impl Linux25 {
    /// Has a waiting task be where it may run: its own CPU, another of its queue, or another queue.
    fn settle(&mut self, view: &View, task: TaskId, actions: &mut Actions) {
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
                    let reason = Reason::new("it may run nowhere in its queue");
                    actions.pull(task, home, cpu, reason);
                }
            }
        }
        self.look_for_cpu(view, task, actions);
    }
}
