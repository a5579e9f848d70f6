//! Where a task that becomes runnable goes, and from where one is taken: affinity, wakeup, and most of passive.

use super::CoreQueue;
use crate::kernel::{CpuId, CpuMask, TaskId, View};
use crate::policies::{Answer, Reason, Wake, WakeKind};
use coretwin_base::simulation::core_queue::decide::{self, Crowd};

impl CoreQueue {
    /// Where a task that becomes runnable goes.
    pub(super) fn place(
        &mut self,
        view: &View,
        task: TaskId,
        wake: &Wake,
        answer: &mut Answer,
    ) -> (CpuId, Reason) {
        let last = self.tasks[task.index()].home;
        let idle = |cpu: &CpuId| view.is_idle_for(task, *cpu);
        if !self.rules.affinity {
            if let Some(cpu) = view.idle.iter().find(idle) {
                return (cpu, Reason::new("the first idle CPU, wherever it ran"));
            }
            return (self.shortest(view, task), Reason::new("the core with least to do"));
        }
        let is_new = wake.kind == WakeKind::New && self.rules.passive;
        if self.rules.idle_core_first || is_new {
            if idle(&last) && view.is_core_idle(last) {
                return (last, Reason::new("its last CPU, of an idle core"));
            }
            if let Some(cpu) = near_then_far(view, task, last, &view.idle_cores) {
                return (cpu, Reason::new("an idle core").with("last_cpu", last.0));
            }
        }
        if idle(&last) {
            return (last, Reason::new("its last CPU is idle"));
        }
        if self.rules.wakeup
            && let Some(cpu) = view.online_siblings(last).find(idle)
        {
            return (cpu, Reason::new("an idle sibling of its last CPU").with("last_cpu", last.0));
        }
        if self.rules.passive {
            let found = near_then_far(view, task, last, &view.idle_cores)
                .or_else(|| near_then_far(view, task, last, &view.idle));
            if let Some(cpu) = found {
                return (cpu, Reason::new("an idle CPU of another core").with("last_cpu", last.0));
            }
            if is_new {
                return (self.shortest(view, task), Reason::new("the core with least to do"));
            }
            if let Some(cpu) = self.less_crowded(view, task, wake, answer) {
                return (cpu, Reason::new("a less crowded core").with("last_cpu", last.0));
            }
        }
        if view.allowed(task, last) {
            return (last, Reason::new("its last CPU, busy"));
        }
        let mut near = view.online_siblings(last);
        match near.find(|cpu| view.allowed(task, *cpu)) {
            Some(cpu) => (cpu, Reason::new("its last core, on the sibling it may run on")),
            None => (self.shortest(view, task), Reason::new("it may not run on its last core")),
        }
    }

    /// Whether a task goes next where its waker runs, which says that it is about to wait, and lately did so at
    /// once: to start an idle CPU takes longer. If it does not this time, the next tick tells others. Not
    /// beside a busy sibling while a whole core is idle.
    pub(super) fn follows(&mut self, view: &View, task: TaskId, wake: &Wake) -> bool {
        let here = wake.here;
        let Some(waker) = view.current(here).filter(|_| wake.sync) else { return false };
        let core = view.layout.core(here).0 as usize;
        let waiting = self.queues.waiting(core) as u32;
        let own = &self.tasks[waker.index()];
        let keeps = own.word >= decide::WORD_KEPT;
        let hands_over = decide::hands_over(waiting, own.handed);
        let said = &mut self.said[here.0 as usize];
        said.at_ns.get_or_insert(view.now_ns);
        let is_free = said.follower.is_none_or(|it| it == task)
            && decide::may_follow(
                waiting,
                view.now_ns.saturating_sub(said.since_ns),
                self.rules.slice_ns,
            );
        let is_alone = view.running_on_core(here) < 2 || view.idle_cores.is_empty();
        let follows = self.rules.follow && keeps && view.allowed(task, here) && is_free && is_alone;
        if follows {
            (said.follower, said.hands_over) = (Some(task), hands_over);
        }
        follows
    }

    /// A waiting task of the core to which none has come for longest, of those of which one may run here, for a CPU
    /// without work; near ones first.
    pub(super) fn take_any(&self, view: &View, cpu: CpuId, answer: &mut Answer) -> Option<TaskId> {
        let mut longest: Option<(u64, TaskId)> = None;
        for core in self.queues.crowded() {
            answer.steps(1);
            let first = view.layout.cores()[core][0];
            let is_near = view.layout.same_cache(cpu).contains(first);
            let rank = decide::rank(is_near, view.now_ns - self.queues.came_ns(core));
            if longest.is_none_or(|(most, _)| rank > most)
                && let Some(task) = self.first_of(view, core, cpu)
            {
                longest = Some((rank, task));
            }
        }
        longest.map(|(_, task)| task)
    }

    /// The CPU allowed to a task whose core has least to do.
    pub(super) fn shortest(&self, view: &View, task: TaskId) -> CpuId {
        let allowed = view.online.iter().filter(|cpu| view.allowed(task, *cpu));
        let cpu = allowed.min_by_key(|cpu| (self.load(view, *cpu), !view.is_idle(*cpu), *cpu));
        cpu.unwrap_or_else(|| view.fallback(task))
    }

    /// Tasks that run or wait on a CPU's core.
    pub(super) fn load(&self, view: &View, cpu: CpuId) -> usize {
        let core = view.layout.core(cpu).0 as usize;
        view.running_on_core(cpu) + self.queues.waiting(core)
    }

    /// A CPU of the waker's core, or of the next that it probes, if there is enough less to do than at home.
    fn less_crowded(
        &mut self,
        view: &View,
        task: TaskId,
        wake: &Wake,
        answer: &mut Answer,
    ) -> Option<CpuId> {
        let last = self.tasks[task.index()].home;
        let probe = &mut self.probes[wake.here.0 as usize];
        *probe = (*probe + 1) % view.layout.cores().len();
        let probed = view.layout.cores()[*probe].iter().copied();
        let probed = probed.clone().find(|cpu| view.allowed(task, *cpu));
        let waker = Some(wake.here).filter(|cpu| view.allowed(task, *cpu));
        answer.steps(1);
        let crowd = |cpu: CpuId| Crowd {
            load: self.load(view, cpu) as u32,
            cpus: view.layout.siblings(cpu).iter().filter(|cpu| view.online.contains(**cpu)).count()
                as u32,
            is_far: !view.layout.same_cache(last).contains(cpu),
        };
        let others = [waker, probed].map(|cpu| cpu.unwrap_or(last));
        decide::least_crowded(crowd(last), others.map(crowd)).map(|index| others[index])
    }
}

/// The first CPU of a set at or after a task's last one where it may run: of the same last-level cache if
/// there is one.
fn near_then_far(view: &View, task: TaskId, last: CpuId, idle: &CpuMask) -> Option<CpuId> {
    let mask = view.mask(task);
    CpuMask::next_in_all([idle, mask, view.layout.same_cache(last)], last)
        .or_else(|| CpuMask::next_in_all([idle, mask], last))
}
