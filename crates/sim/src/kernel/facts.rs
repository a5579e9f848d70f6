//! How the engine keeps the [`View`] true: every change of a CPU's or task's state goes through here,
//! so that the masks of idle CPUs always agree. Tests of policies make their own views with it.

use super::{Class, CpuId, CpuMask, CpuView, Current, Layout, TaskId, TaskState, TaskView, View};

impl View {
    /// A machine with all CPUs online and idle, and no tasks.
    pub(crate) fn new(layout: Layout, tick_ns: u64) -> Self {
        let cpu = CpuView { online: true, current: Current::Idle, resched: false, scheduled_ns: 0 };
        let all = CpuMask::all(layout.cpus());
        Self {
            now_ns: 0,
            tick_ns,
            cpus: vec![cpu; layout.cpus()],
            tasks: Vec::new(),
            online: all.clone(),
            idle: all.clone(),
            idle_cores: all.clone(),
            masks: vec![all],
            running: vec![0; layout.cores().len()],
            shared_cores: 0,
            layout,
        }
    }

    /// The facts of a task that is just made.
    pub(crate) fn new_task(&self, serial: u64, last_cpu: CpuId) -> TaskView {
        TaskView {
            serial,
            state: TaskState::Blocked,
            class: Class::Normal,
            nice: 0,
            mask: 0,
            last_cpu,
            address_space: 0,
            program: 0,
            parent: None,
            yielded: false,
            ran_before_ns: 0,
            born_ns: self.now_ns,
            woken_ns: self.now_ns,
            started_ns: self.now_ns,
            stopped_ns: self.now_ns,
        }
    }

    pub(crate) fn task_mut(&mut self, task: TaskId) -> &mut TaskView {
        &mut self.tasks[task.index()]
    }

    #[inline]
    pub(crate) fn set_current(&mut self, cpu: CpuId, current: Current) {
        let before = std::mem::replace(&mut self.cpus[cpu.0 as usize].current, current);
        let is_task = |current| matches!(current, Current::Task(_));
        if is_task(before) != is_task(current) {
            let running = &mut self.running[self.layout.core(cpu).0 as usize];
            let was_shared = *running > 1;
            *running = if is_task(current) { *running + 1 } else { *running - 1 };
            self.shared_cores = self.shared_cores + u32::from(*running > 1) - u32::from(was_shared);
        }
        self.update_idle_masks(cpu);
    }

    /// Sets whether a CPU has been told to reschedule.
    #[inline]
    pub(crate) fn set_resched(&mut self, cpu: CpuId, resched: bool) {
        let facts = &mut self.cpus[cpu.0 as usize];
        if facts.resched != resched {
            facts.resched = resched;
            self.update_idle_masks(cpu);
        }
    }

    /// Takes a CPU on or off line.
    pub(crate) fn set_online(&mut self, cpu: CpuId, online: bool) {
        self.cpus[cpu.0 as usize].online = online;
        self.online.set(cpu, online);
        let idle = self.counts_as_idle(cpu);
        self.idle.set(cpu, idle);
        self.update_idle_core(cpu);
    }

    #[inline]
    fn counts_as_idle(&self, cpu: CpuId) -> bool {
        let facts = &self.cpus[cpu.0 as usize];
        facts.online && facts.current == Current::Idle && !facts.resched
    }

    #[inline]
    fn update_idle_masks(&mut self, cpu: CpuId) {
        let idle = self.counts_as_idle(cpu);
        if self.idle.contains(cpu) != idle {
            self.idle.set(cpu, idle);
            self.update_idle_core(cpu);
        }
    }

    #[inline]
    fn update_idle_core(&mut self, cpu: CpuId) {
        let siblings = self.layout.siblings(cpu);
        let whole =
            siblings.iter().all(|cpu| self.idle.contains(*cpu) || !self.online.contains(*cpu));
        for sibling in siblings {
            self.idle_cores.set(*sibling, whole && self.online.contains(*sibling));
        }
    }

    /// The number of a mask, new or known.
    pub(crate) fn intern_mask(&mut self, mask: CpuMask) -> u32 {
        let known = self.masks.iter().position(|known| *known == mask);
        known.unwrap_or_else(|| {
            self.masks.push(mask);
            self.masks.len() - 1
        }) as u32
    }
}

#[cfg(test)]
impl View {
    /// Adds a waiting task, for tests of policies.
    pub(crate) fn with_task(&mut self, nice: i8, last_cpu: u32) -> TaskId {
        let serial = self.tasks.len() as u64 + 1;
        let mut task = self.new_task(serial, CpuId(last_cpu));
        task.nice = nice;
        task.state = TaskState::Runnable;
        self.tasks.push(task);
        TaskId(self.tasks.len() as u32 - 1)
    }

    /// Has a task run on a CPU, for tests of policies.
    pub(crate) fn run(&mut self, task: TaskId, cpu: u32) {
        let now_ns = self.now_ns;
        let facts = self.task_mut(task);
        facts.state = TaskState::Running(CpuId(cpu));
        facts.last_cpu = CpuId(cpu);
        facts.started_ns = now_ns;
        self.set_current(CpuId(cpu), Current::Task(task));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_cores_follow_their_cpus() {
        let mut view = View::new(Layout::parse("2x2").expect("a machine"), 1_000_000);
        let idle = |view: &View| -> (Vec<u32>, Vec<u32>) {
            let list = |mask: &CpuMask| mask.iter().map(|cpu| cpu.0).collect();
            (list(&view.idle), list(&view.idle_cores))
        };
        let task = view.with_task(0, 0);
        view.run(task, 1);
        assert_eq!(idle(&view), (vec![0, 2, 3], vec![2, 3]));
        let other = view.with_task(0, 0);
        view.run(other, 0);
        assert_eq!((view.running_on_core(CpuId(1)), view.is_any_core_shared()), (2, true));
        view.set_current(CpuId(0), Current::Idle);
        assert_eq!((view.running_on_core(CpuId(0)), view.is_any_core_shared()), (1, false));
        view.set_resched(CpuId(2), true);
        assert_eq!(idle(&view), (vec![0, 3], vec![]));
        view.set_online(CpuId(1), false);
        assert_eq!(idle(&view), (vec![0, 3], vec![0]), "its only online CPU is idle");
        view.set_online(CpuId(1), true);
        assert_eq!(idle(&view), (vec![0, 3], vec![]));
        view.set_current(CpuId(1), Current::Idle);
        view.set_resched(CpuId(2), false);
        assert_eq!(idle(&view), (vec![0, 1, 2, 3], vec![0, 1, 2, 3]));
    }
}
