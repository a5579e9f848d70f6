//! What is counted while the engine runs, and the outcome made of it.

use super::{CpuRun, Engine};
use crate::kernel::{
    CoreTime, CpuOutcome, CpuTime, CpuUse, Distance, Histogram, OperationOutcome, Outcome,
    ProgramOutcome, Span, TASKS_KEPT, Task, TaskOutcome, TaskState, TaskView, Work,
};

#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) from_ns: u64,
    others: Option<u32>,
    /// What of the outcome is counted as it happens; its tasks are those that ended.
    pub(super) so_far: Outcome,
}

impl Results {
    pub(super) fn new(work: &Work, others: Option<u32>) -> Self {
        let program = |name: &str| ProgramOutcome { name: name.to_owned(), ..Default::default() };
        let programs = work.programs.iter().map(|own| program(&own.name)).collect();
        Self { from_ns: 0, others, so_far: Outcome { programs, ..Outcome::default() } }
    }

    pub(super) fn born(&mut self, program: u32) {
        self.so_far.programs[program as usize].tasks += 1;
    }

    #[inline]
    pub(super) fn entered(
        &mut self,
        program: u32,
        moved: Option<Distance>,
        latency_ns: Option<u64>,
        waited_ns: u64,
    ) {
        if self.others == Some(program) {
            return;
        }
        self.so_far.switches += 1;
        if let Some(distance) = moved {
            self.so_far.migrations[distance as usize] += 1;
        }
        if let Some(latency_ns) = latency_ns {
            self.so_far.wake_latency.add(latency_ns);
            self.so_far.programs[program as usize].wake_latency.add(latency_ns);
        }
        self.so_far.wait_longest_ns = self.so_far.wait_longest_ns.max(waited_ns);
    }

    #[inline]
    pub(super) fn pre_empted(&mut self, program: u32) {
        self.so_far.pre_emptions += u64::from(self.others != Some(program));
    }

    pub(super) fn operation(&mut self, kind: u32, took_ns: u64) {
        while self.so_far.operations.len() <= kind as usize {
            let kind = self.so_far.operations.len() as u32;
            let latency = Histogram::default();
            self.so_far.operations.push(OperationOutcome { kind, count: 0, latency });
        }
        let operation = &mut self.so_far.operations[kind as usize];
        operation.count += 1;
        operation.latency.add(took_ns);
    }

    pub(super) fn ended(&mut self, now_ns: u64, facts: &TaskView, task: &Task) {
        let program = &mut self.so_far.programs[facts.program as usize];
        program.ended += 1;
        program.time.add(&task.time);
        program.lifetime.add(now_ns - facts.born_ns);
        if facts.serial <= TASKS_KEPT as u64 {
            self.so_far.tasks.push(task_outcome(facts, task, Some(now_ns)));
        }
    }
}

fn task_outcome(facts: &TaskView, task: &Task, ended_ns: Option<u64>) -> TaskOutcome {
    TaskOutcome {
        serial: facts.serial,
        program: facts.program,
        nice: facts.nice,
        born_ns: facts.born_ns,
        ended_ns,
        time: task.time,
    }
}

impl Engine<'_> {
    pub(super) fn warmed_up(&mut self) {
        let now_ns = self.view.now_ns;
        for cpu in self.machine.layout.all() {
            self.settle(cpu);
            let run = &mut self.cpus[cpu.0 as usize];
            (run.times, run.switches) = (CpuUse::default(), 0);
        }
        self.cores.fill(CoreTime::default());
        self.waste.forget(now_ns);
        self.results = Results::new(self.work, self.options.others);
        for (task, facts) in self.tasks.iter_mut().zip(&self.view.tasks) {
            task.time = CpuTime::default();
            if facts.state != TaskState::Gone {
                self.results.born(facts.program);
            }
        }
        self.results.from_ns = now_ns;
        self.storage.forget_counts();
    }

    pub(super) fn outcome(mut self) -> Outcome {
        let now_ns = self.view.now_ns;
        for cpu in self.machine.layout.all() {
            self.settle(cpu);
            // What still runs is part of the timeline.
            if let Some(task) = self.view.current(cpu) {
                let TaskView { serial, program, started_ns, .. } = *self.view.task(task);
                let span = Span { cpu, task: serial, program, from_ns: started_ns, to_ns: now_ns };
                self.trace.span(span);
            }
        }
        let mut tasks = std::mem::take(&mut self.results.so_far.tasks);
        let alive = |(_, facts): &(&Task, &TaskView)| facts.state != TaskState::Gone;
        for (task, facts) in self.tasks.iter().zip(&self.view.tasks).filter(alive) {
            self.results.so_far.programs[facts.program as usize].time.add(&task.time);
            if facts.serial <= TASKS_KEPT as u64 {
                tasks.push(task_outcome(facts, task, None));
            }
        }
        tasks.sort_by_key(|task| task.serial);
        let mut cores = CoreTime::default();
        self.cores.iter().for_each(|core| cores.merge(core));
        let cpus = self.machine.layout.all().zip(&self.cpus);
        let cpu = |(cpu, run): (_, &CpuRun)| {
            let CpuRun { times, switches, .. } = *run;
            CpuOutcome { cpu, times, switches }
        };
        Outcome {
            policy: self.options.policy.text(),
            seed: self.options.seed,
            events: self.events_done,
            simulated_ns: now_ns,
            measured_ns: now_ns - self.results.from_ns,
            finished: self.alive.awaited == 0 && self.next_start == self.starts.len(),
            trace_hash: self.trace.hash,
            wasted: self.waste.so_far(now_ns),
            clash_ns: self.waste.clash_ns,
            cpus: cpus.map(cpu).collect(),
            core_throughput: cores.throughput(self.machine.layout.threads_per_core_max()),
            tasks,
            tasks_total: self.serial,
            storage: self.storage.outcome(),
            decisions: self.trace.decisions,
            spans: self.trace.spans,
            ..self.results.so_far
        }
    }
}
