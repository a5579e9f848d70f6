//! Invariants, checked after every event of a checked run.

use super::speed::Mode;
use super::{Engine, Run};
use crate::kernel::{Cause, CpuId, CpuView, Current, TaskId, TaskState, TaskView};

impl Engine<'_> {
    /// No task on two CPUs, none lost, masks kept, time conserved.
    ///
    /// # Errors
    /// What is broken, as the policy's fault.
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
        if self.waste.counts() != (idle as u32, waiting as u32) {
            return Err(format!(
                "{idle} idle CPUs and {waiting} free waiting tasks are miscounted"
            ));
        }
        match runnable == self.alive.runnable {
            true => Ok(()),
            false => Err(format!("{runnable} tasks are runnable, not {}", self.alive.runnable)),
        }
    }

    /// What a CPU did adds up to the time that passed.
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
