//! Tasks in the queues of `fair`: how they come, count, wait, sleep and leave, and whose turn it is.

use super::Fair;
use super::queue::Place;
use crate::kernel::{Class, CpuId, TaskId, View};
use crate::policies::weight::{NORMAL, rank};
use crate::policies::{Answer, Ticks};
use std::collections::BTreeSet;

impl Fair {
    /// Brings a task's virtual time up to date. Returns whether its slice is over.
    pub(super) fn count(&mut self, view: &View, task: TaskId) -> bool {
        let ran_ns = view.ran_ns(task);
        let own = &mut self.tasks[task.index()];
        let ran = own.entity.scaled(ran_ns.saturating_sub(own.entity.counted_ns));
        own.entity.counted_ns = ran_ns;
        if own.counts {
            self.queues[own.cpu.0 as usize].advance(&own.entity, ran);
        }
        own.entity.virtual_ns = own.entity.virtual_ns.saturating_add(ran);
        let over = own.entity.virtual_ns >= own.entity.deadline_ns;
        if over {
            own.entity.deadline_ns = own.entity.virtual_ns + own.entity.scaled(self.slice_ns);
        }
        over
    }

    /// A task comes to a queue, with the lag it has.
    pub(super) fn join(&mut self, view: &View, task: TaskId, cpu: CpuId) {
        self.bring_load(view, task, cpu);
        let own = &mut self.tasks[task.index()];
        own.cpu = cpu;
        own.counts = own.class != Class::Idle;
        if !own.counts {
            return;
        }
        let queue = &mut self.queues[cpu.0 as usize];
        queue.place(&mut own.entity);
        own.entity.deadline_ns = own.entity.virtual_ns + own.entity.scaled(self.slice_ns);
        queue.count(&own.entity, true);
    }

    /// A task leaves its queue, and keeps its lag; at most two slices or a tick of it, either way.
    pub(super) fn leave(&mut self, view: &View, task: TaskId) {
        let most = (2 * self.slice_ns).max(Ticks::OF_TODAY.period_ns);
        if self.tasks[task.index()].counts {
            self.update_load(view, self.tasks[task.index()].cpu);
            self.tasks[task.index()].load.update(&self.decay, view.now_ns, true);
        }
        let own = &mut self.tasks[task.index()];
        if std::mem::take(&mut own.counts) {
            let queue = &mut self.queues[own.cpu.0 as usize];
            let most = own.entity.scaled(most);
            own.entity.lag_ns = (queue.average() - own.entity.virtual_ns).clamp(-most, most);
            queue.count(&own.entity, false);
        }
    }

    pub(super) fn wait(&mut self, view: &View, task: TaskId) {
        self.arrivals += 1;
        let own = &mut self.tasks[task.index()];
        let place = (rank(view.task(task).class), own.entity.deadline_ns, self.arrivals, task);
        own.place = Some(place);
        self.queues[own.cpu.0 as usize].waiting.insert(place);
        self.crowded.insert(own.cpu);
    }

    pub(super) fn unwait(&mut self, task: TaskId) {
        let own = &mut self.tasks[task.index()];
        if let Some(place) = own.place.take() {
            let queue = &mut self.queues[own.cpu.0 as usize];
            if std::mem::take(&mut own.delayed) {
                queue.delayed.remove(&place);
                return;
            }
            queue.waiting.remove(&place);
            self.crowded.set(own.cpu, !queue.waiting.is_empty());
        }
    }

    /// A task sleeps that has had more than its share: it goes on to count, and so pays back what it had
    /// too much, until its turn comes or it wakes (`set_delayed`).
    pub(super) fn delay(&mut self, task: TaskId) {
        self.arrivals += 1;
        let own = &mut self.tasks[task.index()];
        let place = (NORMAL, own.entity.deadline_ns, self.arrivals, task);
        (own.place, own.delayed) = (Some(place), true);
        self.queues[own.cpu.0 as usize].delayed.insert(place);
    }

    /// Whose leaving was delayed wakes. If by now it has had less than its share, it gains nothing by it
    /// (DELAY_ZERO, `requeue_delayed_entity`).
    pub(super) fn wake_delayed(&mut self, view: &View, task: TaskId) {
        self.unwait(task);
        let own = &self.tasks[task.index()];
        if own.entity.virtual_ns < self.queue(own.cpu).average() {
            let cpu = own.cpu;
            self.leave(view, task);
            self.tasks[task.index()].entity.lag_ns = 0;
            self.join(view, task, cpu);
        }
    }

    /// A waiting task comes to another queue, as far from its deadline as it was (PLACE_REL_DEADLINE).
    pub(super) fn move_to(&mut self, view: &View, task: TaskId, cpu: CpuId) {
        let entity = &self.tasks[task.index()].entity;
        let left_ns = entity.deadline_ns - entity.virtual_ns;
        self.unwait(task);
        self.leave(view, task);
        self.join(view, task, cpu);
        let entity = &mut self.tasks[task.index()].entity;
        entity.deadline_ns = entity.virtual_ns + left_ns;
        self.wait(view, task);
    }

    /// The task whose turn it is of those that wait on a CPU.
    pub(super) fn earliest(&self, cpu: CpuId, answer: &mut Answer) -> Option<TaskId> {
        let queue = self.queue(cpu);
        let average = queue.average();
        // The kernel goes down a tree that knows the least virtual time below each branch.
        answer.steps(queue.waiting.len().checked_ilog2().map_or(0, |log| u64::from(log) + 1));
        let eligible = |place: &&Place| {
            let ahead = || self.tasks[place.3.index()].entity.virtual_ns > average;
            place.0 < NORMAL || place.0 == NORMAL && !ahead()
        };
        let of = |places: &BTreeSet<Place>| places.iter().find(eligible).copied();
        let turn = [of(&queue.waiting), of(&queue.delayed)].into_iter().flatten().min();
        let first = turn.or_else(|| queue.waiting.iter().chain(&queue.delayed).next().copied());
        first.map(|(.., task)| task)
    }

    /// The same, of those that are awake: those whose leaving was delayed leave when their turn comes.
    pub(super) fn earliest_awake(
        &mut self,
        view: &View,
        cpu: CpuId,
        answer: &mut Answer,
    ) -> Option<TaskId> {
        loop {
            let task = self.earliest(cpu, answer)?;
            if !self.tasks[task.index()].delayed {
                return Some(task);
            }
            self.unwait(task);
            self.leave(view, task);
            let lag_ns = &mut self.tasks[task.index()].entity.lag_ns;
            *lag_ns = (*lag_ns).min(0);
        }
    }

    /// Whether the queue of a CPU would pick a task that has just come to it, and not the one that runs
    /// (`check_preempt_wakeup_fair`).
    pub(super) fn comes_first(
        &self,
        cpu: CpuId,
        current: TaskId,
        task: TaskId,
        answer: &mut Answer,
    ) -> bool {
        let runs = &self.tasks[current.index()].entity;
        let eligible = runs.virtual_ns <= self.queue(cpu).average();
        if eligible && runs.virtual_ns < runs.protected_ns {
            return false;
        }
        let sooner = self.tasks[task.index()].entity.deadline_ns <= runs.deadline_ns;
        (sooner || !eligible) && self.earliest(cpu, answer) == Some(task)
    }
}
