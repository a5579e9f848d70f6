//! Policies that break their contract are found, whatever way they break it.

use crate::support::{MS, compute, machine, program, work};
use coretwin_base::machine::cpu_set::CpuId;
use coretwin_sim::kernel::{Cause, Options, Start, Step, TaskId, View, run};
use coretwin_sim::policies::{
    Answer, Change, Parameter, Policy, PolicyEntry, Promise, Reason, Settings, Stop, Ticks, Wake,
};

/// What is wrong with it.
const FAULTS: &[Parameter] = &[Parameter::number("fault", 0, (0, 9), "which")];

/// One queue for all, first in, first out; with a fault.
struct Faulty {
    fault: i64,
    queue: Vec<TaskId>,
}

static ENTRY: PolicyEntry = PolicyEntry {
    name: "faulty",
    title: "one queue, with a fault",
    source: "made up",
    parameters: FAULTS,
    promise: Promise { of_cores: false, idle_longest_ms: 0, wait_ms_for_each_task: 0 },
    build: |_, settings| Box::new(Faulty { fault: settings.number("fault"), queue: Vec::new() }),
};

impl Policy for Faulty {
    fn ticks(&self) -> Ticks {
        Ticks { period_ns: MS, while_idle: true }
    }

    fn fork(&mut self, _: &View, _: TaskId, _: &mut Answer) {}

    fn select_cpu(&mut self, view: &View, task: TaskId, _: &Wake, _: &mut Answer) -> CpuId {
        match self.fault {
            1 => CpuId(1),
            _ => view.fallback(task),
        }
    }

    fn enqueue(&mut self, view: &View, task: TaskId, _: CpuId, _: &Wake, answer: &mut Answer) {
        if self.fault != 2 {
            self.queue.push(task);
        }
        if self.fault == 3 {
            self.queue.push(task);
        }
        let idle = view.layout.all().find(|cpu| view.is_idle(*cpu) && view.allowed(task, *cpu));
        if let Some(cpu) = idle {
            answer.resched(cpu, Some(task), Reason::new("idle"));
        }
    }

    fn pick(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) -> Option<TaskId> {
        let other = view.current(CpuId(1 - cpu.0));
        let blind = matches!(self.fault, 4);
        let found = self.queue.iter().position(|task| blind || view.allowed(*task, cpu));
        match self.fault {
            5 if other.is_some() => other,
            6 if view.tasks.len() > 1 => Some(TaskId(7)),
            8 => {
                // Never content.
                answer.resched(CpuId(1 - cpu.0), None, Reason::new("again"));
                found.map(|index| self.queue.remove(index))
            }
            _ => found.map(|index| self.queue.remove(index)),
        }
    }

    fn stopping(&mut self, _: &View, _: CpuId, task: TaskId, stop: Stop, _: &mut Answer) {
        if stop.can_go_on() || (self.fault == 7 && stop == Stop::Blocked) {
            self.queue.push(task);
        }
    }

    fn tick(&mut self, _: &View, cpu: CpuId, answer: &mut Answer) {
        answer.resched(cpu, None, Reason::new("every tick"));
    }

    fn changed(&mut self, _: &View, _: TaskId, _: Change, _: &mut Answer) {}
    fn exit(&mut self, _: &View, _: TaskId, _: &mut Answer) {}
    fn online(&mut self, _: &View, _: CpuId, _: &mut Answer) {}
    fn offline(&mut self, _: &View, _: CpuId, _: &mut Answer) {}

    fn queued(&self, each: &mut dyn FnMut(TaskId)) {
        self.queue.iter().for_each(|task| each(*task));
    }
}

#[test]
fn each_fault_is_found_and_named() {
    let sleep = Step::Sleep { ns: coretwin_sim::kernel::program::Amount::Fixed(MS) };
    let steps = vec![compute(3 * MS), sleep, compute(3 * MS)];
    let mut work = work(vec![program("bound", steps.clone()), program("free", steps)]);
    work.starts = vec![
        Start { mask: Some([CpuId(0)].into_iter().collect()), count: 2, ..Start::of(0) },
        Start::of(1),
    ];
    let result = |fault: i64| {
        let mut policy = Settings::of(&ENTRY);
        policy.set("fault", &fault.to_string()).expect("a fault");
        let mut options = Options::new(policy);
        options.until_ns = 100 * MS;
        options.checked = true;
        run(&machine("2x1", 1000), &work, &options).map(|outcome| outcome.finished)
    };
    assert_eq!(result(0), Ok(true), "without a fault all is well");
    for (fault, part) in [
        (1, "put bound#1 on CPU 1, where it may not run"),
        (2, "waits in 0 queues"),
        (3, "waits in 2 queues"),
        (4, "for CPU 1, but it may not run there"),
        (5, "it runs on another CPU"),
        (6, "there is no such task"),
        (7, "not runnable"),
    ] {
        let failure = result(fault).expect_err("a fault");
        assert_eq!(failure.cause, Cause::Policy, "{fault}: {failure}");
        assert!(failure.to_string().contains(part), "{fault}: {failure}");
    }
    let endless = result(8).expect_err("time stands still");
    assert_eq!(endless.cause, Cause::NoProgress, "{endless}");
}
