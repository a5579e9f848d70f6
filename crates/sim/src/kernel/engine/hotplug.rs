//! The script: CPUs that go and come, masks and nice values that change while everything runs.

use super::speed::Mode;
use super::{Engine, INTERRUPT, Run, SCRIPT, SEGMENT, TICK, slot};
use crate::kernel::{CpuId, Current, Happened, MachineEvent, TaskId, TaskState};
use crate::policies::{Change, Stop};

impl Engine<'_> {
    pub(super) fn script_line(&mut self) -> Run {
        let work = self.work;
        while let Some(index) = self.script.get(self.next_script).copied() {
            let line = &work.script[index as usize];
            if line.at_ns > self.view.now_ns {
                self.events.set(self.machine_slot(SCRIPT), line.at_ns);
                return Ok(());
            }
            self.next_script += 1;
            match &line.event {
                MachineEvent::Offline(cpu) => self.goes_offline(*cpu)?,
                MachineEvent::Online(cpu) => self.comes_online(*cpu)?,
                MachineEvent::SmtOff => {
                    let machine = self.machine;
                    for cpu in machine.layout.cores().iter().flat_map(|core| core.iter().skip(1)) {
                        self.goes_offline(*cpu)?;
                    }
                }
                MachineEvent::SmtOn => {
                    for cpu in self.machine.layout.all() {
                        self.comes_online(cpu)?;
                    }
                }
                MachineEvent::SetMask { program, mask } => {
                    let mask = self.mask_number(mask.as_ref());
                    for task in self.tasks_of(*program) {
                        self.set_mask(task, mask);
                        self.mask_changed(task)?;
                    }
                }
                MachineEvent::SetNice { program, nice } => {
                    for task in self.tasks_of(*program) {
                        let here = self.first_online();
                        self.set_nice(here, task, *nice);
                    }
                }
            }
        }
        Ok(())
    }

    fn tasks_of(&self, program: u32) -> Vec<TaskId> {
        let tasks = self.view.tasks.iter().enumerate();
        let alive =
            tasks.filter(|(_, facts)| facts.program == program && facts.state != TaskState::Gone);
        alive.map(|(index, _)| TaskId(index as u32)).collect()
    }

    /// After a task's mask was set from outside.
    fn mask_changed(&mut self, task: TaskId) -> Run {
        let here = self.first_online();
        self.policy.changed(&self.view, task, Change::Mask, &mut self.answer);
        self.carry_out(here);
        let TaskState::Running(cpu) = self.view.task(task).state else { return Ok(()) };
        if !self.view.allowed(task, cpu) {
            self.move_away(cpu, task, None)?;
            self.reschedule(cpu)?;
        }
        Ok(())
    }

    fn goes_offline(&mut self, cpu: CpuId) -> Run {
        if !self.view.online.contains(cpu) || self.view.online.len() == 1 {
            return Ok(());
        }
        self.settle_core(cpu);
        self.trace.happened(self.view.now_ns, Happened::Offline, cpu, 0);
        self.view.set_online(cpu, false);
        // As Linux's select_fallback_rq: a task whose CPUs are all gone may run anywhere.
        let masks = &self.view.masks;
        let gone: Vec<bool> =
            masks.iter().map(|mask| mask.first_common(&self.view.online).is_none()).collect();
        if gone.contains(&true) {
            for index in 0..self.view.tasks.len() {
                if gone[self.view.tasks[index].mask as usize] {
                    self.set_mask(TaskId(index as u32), 0);
                }
            }
        }
        let here = self.first_online();
        if let Mode::Task(task) = self.cpus[cpu.0 as usize].mode {
            self.policy.stopping(&self.view, cpu, task, Stop::Offline, &mut self.answer);
            self.carry_out(here);
            self.leaves(cpu, task, TaskState::Runnable);
        }
        for kind in [SEGMENT, TICK, INTERRUPT] {
            self.events.cancel(slot(cpu, kind));
        }
        let run = &mut self.cpus[cpu.0 as usize];
        run.mode = Mode::Offline;
        (run.stopper_wanted, run.told_idle, run.overhead) = (false, false, 0);
        run.spin_ns = 0;
        self.view.set_current(cpu, Current::Idle);
        self.view.set_resched(cpu, false);
        self.speed_up_to_date(cpu);
        self.policy.offline(&self.view, cpu, &mut self.answer);
        self.carry_out_paid(here);
        Ok(())
    }

    fn comes_online(&mut self, cpu: CpuId) -> Run {
        if self.view.online.contains(cpu) {
            return Ok(());
        }
        self.settle_core(cpu);
        self.trace.happened(self.view.now_ns, Happened::Online, cpu, 0);
        self.cpus[cpu.0 as usize].mode = Mode::Idle;
        self.view.set_online(cpu, true);
        self.speed_up_to_date(cpu);
        if self.ticks.while_idle {
            self.start_ticking(cpu);
        }
        self.policy.online(&self.view, cpu, &mut self.answer);
        self.carry_out(cpu);
        self.reschedule(cpu)
    }
}
