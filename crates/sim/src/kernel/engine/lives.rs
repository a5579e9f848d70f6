//! How tasks begin, become others, and end.

use super::steps::Next;
use super::{Engine, Run, START};
use crate::kernel::{
    Cause, Children, CpuId, CpuMask, CpuSet, Happened, ProfileId, Program, Step, Task, TaskId,
    TaskState, TaskView, Waiting,
};
use crate::lists::End;
use crate::policies::{Change, Stop, Wake, WakeKind};

impl Engine<'_> {
    /// The next task of the list of starts. Tasks that start together are made one after another, so
    /// far apart that a CPU kicked for one task has taken it before the next is placed.
    pub(super) fn start_task(&mut self) -> Run {
        let Some(index) = self.starts.get(self.next_start).copied() else { return Ok(()) };
        let start = &self.work.starts[index as usize];
        if self.started < start.count {
            self.started += 1;
            let asked = start.on.unwrap_or(CpuId(0));
            let here = if self.view.online.contains(asked) { asked } else { self.first_online() };
            let mask = self.mask_number(start.mask.as_ref());
            let facts = TaskView {
                program: start.program,
                class: start.class,
                nice: start.nice,
                group_weight: start.group_weight.unwrap_or(100),
                mask,
                ..self.view.new_task(0, here)
            };
            let address_space = self.started_space.filter(|_| start.threads || self.started == 1);
            let child = self.is_born(facts, (index, start.server), address_space)?;
            self.started_space = Some(self.view.task(child).address_space);
        }
        let costs = &self.machine.costs;
        let mut next_ns = self.view.now_ns + costs.wake_halted_ns.max(costs.interrupt_processor_ns);
        if self.started >= start.count {
            self.next_start += 1;
            self.started = 0;
            let Some(next) = self.starts.get(self.next_start) else { return Ok(()) };
            let next = &self.work.starts[*next as usize];
            self.started_space = self.started_space.filter(|_| next.same_memory);
            next_ns = next_ns.max(next.at_ns);
        }
        self.events.set(self.machine_slot(START), next_ns);
        Ok(())
    }

    pub(super) fn first_online(&self) -> CpuId {
        self.view.online.first().unwrap_or(CpuId(0))
    }

    /// The number of a mask; all CPUs if none of its CPUs is online, as kernels do.
    pub(super) fn mask_number(&mut self, mask: Option<&CpuSet>) -> u32 {
        let Some(set) = mask else { return 0 };
        let mask = CpuMask::of(set, self.cpus.len());
        match mask.first_common(&self.view.online) {
            Some(_) => self.view.intern_mask(mask),
            None => 0,
        }
    }

    /// Makes a task of an entry of the list of starts, a server or not. `facts` are all true but for its
    /// number and its memory, which is its own if there is none to share.
    fn is_born(
        &mut self,
        mut facts: TaskView,
        (start, server): (u32, bool),
        address_space: Option<u32>,
    ) -> Run<TaskId> {
        let (here, parent) = (facts.last_cpu, facts.parent);
        let program = &self.work.programs[facts.program as usize];
        if self.alive.tasks >= self.options.tasks_max {
            let (name, most) = (&program.name, self.options.tasks_max);
            let what = format!("one more {name} than the {most} allowed");
            return Err(self.fail(Cause::TooManyTasks, what));
        }
        self.serial += 1;
        facts.serial = self.serial;
        let numbers = self.key.numbers(self.serial);
        let mut own = Task::new(facts.program, start, first_profile(program), numbers);
        (own.server, own.begun_ns, own.deadline_ns) = (server, self.view.now_ns, self.view.now_ns);
        own.owns_memory = address_space.is_none();
        if own.owns_memory && parent.is_some() {
            own.page_shared_until_ns = self.view.now_ns + self.machine.costs.shared_page_ns;
        }
        facts.address_space = address_space.unwrap_or_else(|| {
            self.spaces += 1;
            self.spaces
        });
        let task = match self.free.pop() {
            Some(task) => {
                *self.view.task_mut(task) = facts;
                self.tasks[task.index()] = own;
                task
            }
            None => {
                self.view.tasks.push(facts);
                self.tasks.push(own);
                TaskId(self.tasks.len() as u32 - 1)
            }
        };
        self.events.grow(self.task_slot(task) + 1);
        self.alive.tasks += 1;
        self.alive.awaited += usize::from(!server);
        if let Some(parent) = parent {
            self.join_family(parent, task);
        }
        self.results.born(facts.program);
        self.trace.happened(self.view.now_ns, Happened::Born, here, facts.serial);
        self.policy.fork(&self.view, task, &mut self.answer);
        self.carry_out(here);
        let wake = Wake { kind: WakeKind::New, sync: false, here };
        self.make_runnable(task, wake, None)?;
        Ok(task)
    }

    fn join_family(&mut self, parent: TaskId, child: TaskId) {
        let family = &mut self.tasks[parent.index()].family;
        family.alive += 1;
        self.children.grow(self.view.tasks.len());
        self.children.push(&mut family.children, End::Front, child.0);
    }

    fn leave_family(&mut self, task: TaskId) {
        if let Some(parent) = self.view.task(task).parent {
            let family = &mut self.tasks[parent.index()].family;
            self.children.remove(&mut family.children, task.0);
        }
        let children = self.tasks[task.index()].family.children;
        for orphan in self.children.slots(children, End::Front) {
            self.view.task_mut(TaskId(orphan)).parent = None;
        }
    }

    pub(super) fn fork(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        program: u32,
        thread: bool,
    ) -> Run<Next> {
        let maker = *self.view.task(task);
        let facts = TaskView {
            program,
            parent: Some(task),
            class: maker.class,
            nice: maker.nice,
            group_weight: maker.group_weight,
            mask: maker.mask,
            ..self.view.new_task(0, cpu)
        };
        let Task { start, server, .. } = self.tasks[task.index()];
        self.has_child(cpu, facts, (start, server), thread.then_some(maker.address_space))
    }

    pub(super) fn make(&mut self, cpu: CpuId, task: TaskId, index: u32) -> Run<Next> {
        let start = &self.work.starts[index as usize];
        let facts = TaskView {
            program: start.program,
            parent: Some(task),
            class: start.class,
            nice: start.nice,
            group_weight: start.group_weight.unwrap_or(100),
            mask: self.mask_number(start.mask.as_ref()),
            ..self.view.new_task(0, cpu)
        };
        let memory = start.same_memory.then_some(self.view.task(task).address_space);
        self.has_child(cpu, facts, (index, start.server), memory)
    }

    fn has_child(
        &mut self,
        cpu: CpuId,
        facts: TaskView,
        of: (u32, bool),
        memory: Option<u32>,
    ) -> Run<Next> {
        self.is_born(facts, of, memory)?;
        if memory.is_none() {
            self.charge(cpu, self.machine.costs.shared_page_ns);
        }
        Ok(Next::Goes)
    }

    /// What making a thread or a process costs.
    pub(super) fn fork_ns(&mut self, cpu: CpuId, thread: bool) -> u64 {
        let [process, of_thread] = self.machine.costs.fork_ns;
        if thread { of_thread } else { process + self.page_tables_ns(cpu) }
    }

    /// What page tables for new memory cost on a CPU, which keeps some of memory that is gone.
    pub(super) fn page_tables_ns(&mut self, cpu: CpuId) -> u64 {
        let kept = &mut self.cpus[cpu.0 as usize].page_tables;
        match kept.checked_sub(1) {
            Some(left) => {
                *kept = left;
                0
            }
            None => self.machine.costs.page_tables_ns,
        }
    }

    /// Memory is gone: the CPU keeps its page tables, as long as they are few.
    fn keep_page_tables(&mut self, cpu: CpuId) {
        let kept = &mut self.cpus[cpu.0 as usize].page_tables;
        *kept = (*kept + 1).min(self.machine.costs.page_tables_kept);
    }

    pub(super) fn exec(&mut self, cpu: CpuId, task: TaskId) -> Next {
        if self.tasks[task.index()].owns_memory {
            self.keep_page_tables(cpu);
        }
        self.tasks[task.index()].owns_memory = true;
        self.spaces += 1;
        self.view.task_mut(task).address_space = self.spaces;
        self.cpus[cpu.0 as usize].space = self.spaces;
        let to = self.policy.exec(&self.view, task, &mut self.answer);
        self.carry_out_paid(cpu);
        let own = &mut self.tasks[task.index()];
        match to.filter(|to| *to != cpu) {
            Some(to) => {
                own.cold = true;
                Next::Moves(Some(to))
            }
            None => {
                let all = u64::from(self.machine.speeds.profile(own.home).refill);
                self.charge(cpu, (self.machine.costs.refill_ns[0] * all) >> 16);
                Next::Goes
            }
        }
    }

    pub(super) fn wait_for_children(&mut self, task: TaskId, children: Children) -> Next {
        let family = &mut self.tasks[task.index()].family;
        match children {
            Children::One if family.ended > 0 => family.ended -= 1,
            Children::One if family.alive == 0 => {}
            Children::All if family.alive == 0 => family.ended = 0,
            _ => return Next::Waits(Waiting::Children),
        }
        Next::Goes
    }

    /// The running task of a CPU ends. The CPU must reschedule next.
    pub(super) fn ends(&mut self, cpu: CpuId, task: TaskId) -> Run {
        if self.tasks[task.index()].locks_held > 0 {
            let held = self.locks.iter().position(|lock| lock.owner == Some(task));
            let what = format!("{} ends with lock {}", self.name_of(task), held.unwrap_or(0));
            return Err(self.fail(Cause::Misuse, what));
        }
        if let Some(parent) = self.view.task(task).parent {
            let own = &mut self.tasks[parent.index()];
            own.family.alive -= 1;
            own.family.ended += 1;
            if own.waiting == Waiting::Children {
                self.wake(parent, cpu, false)?;
            }
        }
        if self.tasks[task.index()].owns_memory {
            self.keep_page_tables(cpu);
        }
        self.settle_core(cpu);
        let serial = self.view.task(task).serial;
        self.trace.happened(self.view.now_ns, Happened::Ends, cpu, serial);
        self.leaves(cpu, task, TaskState::Gone);
        self.policy.stopping(&self.view, cpu, task, Stop::Exited, &mut self.answer);
        self.carry_out(cpu);
        self.policy.exit(&self.view, task, &mut self.answer);
        self.carry_out(cpu);
        self.leave_family(task);
        self.alive.tasks -= 1;
        self.alive.runnable -= 1;
        self.alive.awaited -= usize::from(!self.tasks[task.index()].server);
        self.results.ended(self.view.now_ns, self.view.task(task), &self.tasks[task.index()]);
        self.free.push(task);
        Ok(())
    }

    pub(super) fn set_own_mask(&mut self, cpu: CpuId, task: TaskId, mask: Option<&CpuSet>) -> Next {
        let mask = self.mask_number(mask);
        self.set_mask(task, mask);
        self.policy.changed(&self.view, task, Change::Mask, &mut self.answer);
        self.carry_out_paid(cpu);
        match self.view.allowed(task, cpu) {
            true => Next::Goes,
            false => Next::Moves(None),
        }
    }

    pub(super) fn set_mask(&mut self, task: TaskId, mask: u32) {
        let facts = self.view.task_mut(task);
        if facts.state == TaskState::Runnable && (facts.mask == 0) != (mask == 0) {
            let more = if mask == 0 { 1 } else { -1 };
            self.waste.wait(self.view.now_ns, more);
        }
        self.view.task_mut(task).mask = mask;
    }

    pub(super) fn set_nice(&mut self, here: CpuId, task: TaskId, nice: i8) {
        self.view.task_mut(task).nice = nice;
        self.policy.changed(&self.view, task, Change::Nice, &mut self.answer);
        self.carry_out_paid(here);
    }

    pub(super) fn operation_done(&mut self, task: TaskId, kind: u32) {
        let now_ns = self.view.now_ns;
        let own = &mut self.tasks[task.index()];
        let took_ns = now_ns - own.begun_ns;
        own.begun_ns = now_ns;
        self.results.operation(kind, took_ns);
    }
}

/// The kind of work whose data a program's task has at first.
fn first_profile(program: &Program) -> ProfileId {
    let of = |step: &Step| match step {
        Step::Compute { profile, .. } | Step::ComputeFor { profile, .. } => Some(*profile),
        _ => None,
    };
    program.steps.iter().find_map(of).unwrap_or(ProfileId::KERNEL)
}
