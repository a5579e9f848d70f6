//! Moving tasks between queues: an idle CPU's look at each tick and before it idles, a busy one's every
//! quarter of a second, and active balancing.

use super::{Form, Linux25};
use crate::kernel::{CpuId, Current, TaskId, TaskState, View};
use crate::lists::End;
use crate::policies::{Answer, Reason};
use coretwin_base::simulation::linux_2_5_32 as decide;

#[derive(Debug, Clone, Copy)]
struct Source {
    queue: usize,
    /// Only tasks that belong to this CPU.
    home: Option<CpuId>,
    most: usize,
    warm_too: bool,
}

impl Linux25 {
    fn units(&self) -> usize {
        if self.by_queue() { self.queues.len() } else { self.homed.len() }
    }

    fn unit(&self, cpu: CpuId) -> usize {
        if self.by_queue() { self.queue_of(cpu) } else { cpu.0 as usize }
    }

    /// Whether no unit can have two tasks, a stopper counted.
    fn calm(&self) -> bool {
        self.crowded == 0 && self.asked.is_empty()
    }

    /// Tasks of a unit, running ones and a stopper included.
    fn length(&self, view: &View, unit: usize) -> usize {
        let stoppers = if self.by_queue() { self.stoppers(view, unit) } else { 0 };
        self.lengths[unit] as usize + stoppers
    }

    /// Stoppers that run in a queue. A stopper is a task like any other in its eyes.
    fn stoppers(&self, view: &View, queue: usize) -> usize {
        if !self.rules.active {
            return 0;
        }
        let runs = |cpu: &&CpuId| view.cpu(**cpu).current == Current::Stopper;
        self.members[queue].iter().filter(runs).count()
    }

    /// Moves waiting tasks to a CPU if another unit has enough more; returns how many. `chooses`: the
    /// CPU is about to pick a task and needs no kick.
    pub(super) fn balance(
        &mut self,
        view: &View,
        cpu: CpuId,
        idle: bool,
        chooses: bool,
        answer: &mut Answer,
    ) -> usize {
        let own = self.unit(cpu);
        let Some((busiest, most)) = self.busiest(view, own, idle, answer) else { return 0 };
        if most == 0 {
            return 0;
        }
        let by_queue = self.by_queue();
        let source = Source {
            queue: if by_queue { busiest } else { self.queue_of(CpuId(busiest as u32)) },
            home: (!by_queue).then_some(CpuId(busiest as u32)),
            most,
            warm_too: idle && self.rules.passive,
        };
        self.pull(view, source, cpu, chooses, answer)
    }

    /// The unit with most tasks, and how many to take from it; `None` if none has two.
    fn busiest(
        &mut self,
        view: &View,
        own: usize,
        idle: bool,
        answer: &mut Answer,
    ) -> Option<(usize, usize)> {
        let units = self.units();
        answer.steps(units as u64);
        let own_length = self.length(view, own);
        if self.calm() {
            // Nothing has two tasks: nothing is found, whatever was seen before.
            self.seen[own].calm = Some(own_length as u32);
            return None;
        }
        if idle && self.asked.is_empty() {
            return self.longest(own);
        }
        let mut seen = std::mem::take(&mut self.seen[own]);
        seen.lengths.resize(units, 0);
        let calm = seen.calm.take();
        let own_before = calm.unwrap_or(seen.lengths[own]) as usize;
        let (mut busiest, mut most) = (None, 1);
        for (unit, before) in seen.lengths.iter_mut().enumerate() {
            let length = self.length(view, unit);
            let lasted = if calm.is_some() { 1 } else { *before as usize };
            *before = length as u32;
            let load = decide::lasting(idle, length as u64, lasted as u64) as usize;
            if unit != own && load > most {
                (busiest, most) = (Some(unit), load);
            }
        }
        self.seen[own] = seen;
        let own_load = decide::own_lasting(idle, own_length as u64, own_before as u64);
        busiest.map(|unit| {
            let (own_now, length) = (own_length as u64, self.length(view, unit) as u64);
            (unit, decide::pulled(idle, own_load, most as u64, own_now, length) as usize)
        })
    }

    /// The longest other unit, for an idle CPU while no stopper runs. It looks at each tick, hence the fast path.
    fn longest(&mut self, own: usize) -> Option<(usize, usize)> {
        let lengths = &self.lengths[..self.units()];
        let seen = &mut self.seen[own];
        seen.calm = None;
        seen.lengths.clear();
        seen.lengths.extend_from_slice(lengths);
        let most_of = |lengths: &[u32]| lengths.iter().copied().max().unwrap_or(0);
        let (before, after) = (&lengths[..own], &lengths[own + 1..]);
        let most = most_of(before).max(most_of(after));
        if most <= 1 {
            return None;
        }
        let found = before.iter().position(|length| *length == most);
        let later = || after.iter().position(|length| *length == most).map(|unit| own + 1 + unit);
        let (own, most) = (u64::from(lengths[own]), u64::from(most));
        found.or_else(later).map(|unit| (unit, decide::pulled(true, own, most, own, most) as usize))
    }

    /// Takes tasks out of a queue, expired ones first, best priority first, the last arrived first.
    fn pull(
        &mut self,
        view: &View,
        source: Source,
        cpu: CpuId,
        chooses: bool,
        answer: &mut Answer,
    ) -> usize {
        let now = view.ticks();
        let queue = &self.queues[source.queue];
        let arrays = [queue.expired(), queue.active()];
        let tasks = arrays.into_iter().flat_map(|array| queue.tasks(&self.links, array, End::Back));
        let movable = |task: &TaskId| {
            let life = &self.lives[task.index()];
            let since = now.saturating_sub(life.left_at);
            let cold = decide::is_cold(since, self.rules.cache_decay_ticks);
            !matches!(view.task(*task).state, TaskState::Running(_))
                && view.allowed(*task, cpu)
                && source.home.is_none_or(|home| life.home == home)
                && (source.warm_too || cold)
        };
        let taken: Vec<TaskId> = tasks.filter(movable).take(source.most).collect();
        for task in &taken {
            let from = self.lives[task.index()].home;
            if self.queue_of(cpu) == source.queue {
                self.rehome(*task, cpu);
            } else {
                self.dequeue(*task);
                self.insert(*task, cpu);
            }
            let lengths =
                Reason::new("a longer queue").with("own", self.queues[self.queue_of(cpu)].len());
            answer.pull(*task, from, cpu, lengths.with("other", self.queues[source.queue].len()));
            let priority = self.lives[task.index()].priority;
            if !chooses && priority < self.current_priority(view, cpu) {
                answer.resched(cpu, Some(*task), "a pulled task is better than what runs");
            }
        }
        taken.len()
    }

    /// A CPU whose core has nothing at all to do asks busy cores for one of their running tasks.
    pub(super) fn ask_for_running(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let own = self.queue_of(cpu);
        if !self.rules.active || self.queues[own].len() > 0 {
            return;
        }
        answer.steps(self.queues.len() as u64);
        let mended = self.rules.form == Form::A9;
        // Without going through them all: no queue has two tasks; or the mark is there already.
        let in_vain = if mended { self.by_queue() && self.calm() } else { self.queues[own].wanted };
        if in_vain {
            return;
        }
        for queue in 0..self.queues.len() {
            if queue == own || !self.all_busy(view, queue) {
                continue;
            }
            let mut online = self.online_members(view, queue);
            let Some(first) = online.next() else { continue };
            let alone = online.next().is_none();
            drop(online);
            // As posted, the mark goes to the asking queue, where the woken stopper does not look.
            let marked = if mended { queue } else { own };
            if (mended && alone) || self.queues[marked].wanted {
                continue;
            }
            self.queues[marked].wanted = true;
            self.asked.insert(first);
            let reason = Reason::new("its core runs several tasks, and this one is idle");
            answer.stopper(first, reason.with("idle_cpu", cpu.0));
        }
    }

    /// The stopper of a busy CPU gives the task it runs in place of to an idle core.
    pub(super) fn give_away(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let own = self.queue_of(cpu);
        if !std::mem::take(&mut self.queues[own].wanted) {
            return answer.note(
                cpu,
                None,
                "the mark is on another queue: the stopper does nothing",
            );
        }
        if !self.all_busy(view, own) {
            return answer.note(cpu, None, "a sibling is idle now: no need to move");
        }
        let empty = |queue: &usize| {
            self.queues[*queue].len() == 0 && self.online_members(view, *queue).next().is_some()
        };
        answer.steps(self.queues.len() as u64);
        let Some(idle) = (0..self.queues.len()).find(empty) else {
            return answer.note(cpu, None, "no core is idle any more");
        };
        // As posted, the stopper that does this counts as a task of its queue.
        let stoppers = |queue| {
            if self.rules.form == Form::A9 { 0 } else { self.stoppers(view, queue) }
        };
        let mut busiest = (None, 1);
        for queue in (0..self.queues.len()).filter(|queue| *queue != idle) {
            let length = self.queues[queue].len() + stoppers(queue);
            if length > busiest.1 {
                busiest = (Some(queue), length);
            }
        }
        let target = self.online_members(view, idle).next();
        if let (Some(queue), Some(target)) = (busiest.0, target) {
            let source = Source { queue, home: None, most: 1, warm_too: true };
            self.pull(view, source, target, false, answer);
        }
    }

    fn all_busy(&self, view: &View, queue: usize) -> bool {
        let mut online = self.online_members(view, queue).peekable();
        online.peek().is_some() && online.all(|cpu| !view.runs_nothing(cpu))
    }
}
