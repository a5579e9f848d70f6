//! Hand-worked cases: the arithmetic, the pull rules, and what each switch of the patch does.

use super::arithmetic::{Life, slice};
use super::{Form, Linux25};
use crate::kernel::{Class, CpuId, Current, Layout, TaskId, TaskState, View};
use crate::policies::{Answer, Policy, Settings, Stop, Wake, WakeKind, What};

const MS: u64 = 1_000_000;
const WOKEN: Wake = Wake { kind: WakeKind::Woken, sync: false, here: CpuId(0) };

struct Case {
    view: View,
    policy: Linux25,
}

impl Case {
    fn new(layout: &str, settings: &str) -> Self {
        let settings = Settings::parse(settings).expect(settings);
        let form = match settings.entry.name {
            "linux-2.5.32" => Form::Plain,
            "linux-2.5.32-f3" => Form::F3,
            _ => Form::A9,
        };
        let view = View::new(Layout::parse(layout).expect(layout), MS);
        let policy = Linux25::new(form, &view.layout, &settings);
        Self { view, policy }
    }

    /// A task that waits on a CPU; what was asked of the machine.
    fn waits(&mut self, nice: i8, cpu: u32) -> (TaskId, String) {
        let task = self.view.with_task(nice, cpu);
        let mut answer = Answer::new(false);
        self.policy.fork(&self.view, task, &mut answer);
        self.policy.enqueue(&self.view, task, CpuId(cpu), &WOKEN, &mut answer);
        (task, said(&answer))
    }

    fn runs(&mut self, nice: i8, cpu: u32) -> TaskId {
        let (task, _) = self.waits(nice, cpu);
        self.policy.running(&self.view, CpuId(cpu), task, &mut Answer::new(false));
        self.view.run(task, cpu);
        task
    }

    fn pick(&mut self, cpu: u32) -> (Option<TaskId>, String) {
        let mut answer = Answer::new(false);
        let picked = self.policy.pick(&self.view, CpuId(cpu), &mut answer);
        (picked, said(&answer))
    }

    fn tick(&mut self, cpu: u32) -> String {
        self.view.now_ns += MS;
        let mut answer = Answer::new(false);
        self.policy.tick(&self.view, CpuId(cpu), &mut answer);
        said(&answer)
    }

    /// The stopper takes a CPU from its task, and then is asked.
    fn stopper(&mut self, cpu: u32) -> String {
        let mut answer = Answer::new(false);
        let task = self.view.current(CpuId(cpu)).expect("a task");
        self.policy.stopping(&self.view, CpuId(cpu), task, Stop::Stopper, &mut answer);
        self.view.task_mut(task).state = TaskState::Runnable;
        self.view.set_current(CpuId(cpu), Current::Stopper);
        self.policy.stopper(&self.view, CpuId(cpu), &mut answer);
        said(&answer)
    }
}

/// What was asked, without reasons.
fn said(answer: &Answer) -> String {
    let word = |what: What| match what {
        What::Resched(cpu) => format!("resched {cpu}"),
        What::Stopper(cpu) => format!("stopper {cpu}"),
        What::Pull { from, to } => format!("pull {from}>{to}"),
        other => format!("{other:?}"),
    };
    answer.list().iter().map(|action| word(action.what)).collect::<Vec<_>>().join(", ")
}

#[test]
fn slices_and_priorities_are_those_of_the_kernel() {
    assert_eq!([-20, 0, 19].map(slice), [300, 151, 10]);
    let mut view = View::new(Layout::parse("1x1").expect("one CPU"), MS);
    let task = view.with_task(0, 0);
    let mut life = Life::first(view.task(task), 0);
    // Slept: none, half of two seconds, all of them.
    let priorities = [0, 1000, 2000].map(|slept| {
        life.sleep_average = slept;
        life.effective_priority(view.task(task))
    });
    assert_eq!(priorities, [125, 120, 115]);
    let interactive = [119, 118, 117].map(|priority| {
        life.priority = priority;
        life.interactive(view.task(task))
    });
    assert_eq!(interactive, [false, true, true], "two better than its nice value");
    view.task_mut(task).class = Class::Fifo(99);
    assert_eq!(life.effective_priority(view.task(task)), 0);
}

#[test]
fn a_child_takes_half_and_gives_back_what_it_did_not_use() {
    let mut case = Case::new("1x1", "linux-2.5.32");
    let parent = case.runs(0, 0);
    case.policy.lives[parent.index()].slice = 101;
    case.policy.lives[parent.index()].sleep_average = 1000;
    let child = case.view.with_task(0, 0);
    case.view.task_mut(child).parent = Some(parent);
    case.policy.fork(&case.view, child, &mut Answer::new(false));
    let slices = |case: &Case| [parent, child].map(|task| case.policy.lives[task.index()].slice);
    assert_eq!(slices(&case), [50, 51]);
    assert_eq!(case.policy.lives[child.index()].sleep_average, 950);
    case.policy.exit(&case.view, child, &mut Answer::new(false));
    assert_eq!(slices(&case)[0], 101);
    // Three parts its own, one part the child's.
    assert_eq!(case.policy.lives[parent.index()].sleep_average, (3 * 1000 + 950) / 4);
}

#[test]
fn a_spent_slice_expires_and_the_arrays_swap() {
    let mut case = Case::new("1x1", "linux-2.5.32");
    let (first, _) = case.waits(0, 0);
    case.view.run(first, 0);
    let (second, asked) = case.waits(0, 0);
    assert_eq!(asked, "", "equal priority waits");
    for _ in 0..150 {
        assert_eq!(case.tick(0), "");
    }
    assert_eq!(case.tick(0), "resched 0", "151 ticks are a slice");
    assert_eq!(case.pick(0).0, Some(second));
    case.view.set_current(CpuId(0), Current::Idle);
    case.view.task_mut(first).state = TaskState::Runnable;
    case.policy.dequeue(second);
    case.view.task_mut(second).state = TaskState::Blocked;
    assert_eq!(case.pick(0).0, Some(first), "the expired array becomes the active one");
}

#[test]
fn the_plain_kernel_sees_no_imbalance_of_cores() {
    let mut case = Case::new("2x2", "linux-2.5.32");
    case.runs(0, 0);
    case.runs(0, 1);
    assert_eq!(case.tick(2), "");
    assert_eq!(case.pick(2), (None, String::new()));
    // Not even one that waits is taken while its cache is warm.
    case.waits(0, 0);
    case.view.now_ns = 0;
    assert_eq!(case.pick(2), (None, String::new()));
    case.view.now_ns = 4 * MS;
    assert_eq!(case.pick(2).1, "pull 0>2");
}

#[test]
fn a_busy_cpu_believes_only_in_what_lasted() {
    let mut case = Case::new("2x1", "linux-2.5.32");
    case.runs(0, 0);
    case.runs(0, 1);
    for _ in 0..4 {
        case.waits(0, 0);
    }
    case.view.now_ns = 249 * MS;
    assert_eq!(case.tick(1), "", "at the first look nothing has been seen before");
    case.view.now_ns = 499 * MS;
    // 5 against 1: half of the difference is 2, and two are taken.
    assert_eq!(case.tick(1), "pull 0>1, pull 0>1");
    assert_eq!((case.policy.queues[0].len(), case.policy.queues[1].len()), (3, 3));
}

#[test]
fn passive_balancing_takes_a_warm_task_for_an_idle_core() {
    for (settings, taken) in [
        ("linux-2.5.32-a9", "pull 0>2"),
        ("linux-2.5.32-f3", "pull 0>2"),
        ("linux-2.5.32-a9[passive=off]", ""),
    ] {
        let mut case = Case::new("2x2", settings);
        case.runs(0, 0);
        case.runs(0, 1);
        case.waits(0, 0);
        let (picked, asked) = case.pick(2);
        assert_eq!(asked.contains("pull"), !taken.is_empty(), "{settings}: {asked}");
        assert_eq!(picked.is_some(), !taken.is_empty(), "{settings}");
    }
}

#[test]
fn active_balancing_moves_a_running_task_as_mended_not_as_posted() {
    let mut mended = Case::new("2x2", "linux-2.5.32-a9");
    mended.runs(0, 0);
    mended.runs(0, 1);
    assert_eq!(mended.pick(2), (None, "stopper 0".to_owned()));
    assert_eq!(mended.stopper(0), "pull 0>2, resched 2");
    let mut posted = Case::new("2x2", "linux-2.5.32-f3");
    posted.runs(0, 0);
    posted.runs(0, 1);
    assert_eq!(posted.pick(2), (None, "stopper 0".to_owned()));
    assert_eq!(posted.pick(3), (None, String::new()), "marked already: no further call");
    assert_eq!(posted.stopper(0), "", "but the mark is on the idle core's queue");
    // While the stopper runs, three are counted of which one waits: the idle CPU's tick takes it.
    assert_eq!(posted.tick(2), "pull 0>2, resched 2");
    let mut off = Case::new("2x2", "linux-2.5.32-a9[active=off]");
    off.runs(0, 0);
    off.runs(0, 1);
    assert_eq!(off.pick(2), (None, String::new()));
}

#[test]
fn pickup_skips_what_runs_on_the_sibling() {
    let mut case = Case::new("1x2", "linux-2.5.32-a9");
    let best = case.runs(-5, 0);
    let (waiting, _) = case.waits(0, 0);
    assert_eq!(case.pick(1).0, Some(waiting));
    assert_eq!(case.pick(0).0, Some(best));
    let mut off = Case::new("1x2", "linux-2.5.32-a9[pickup=off,wakeup=off,passive=off]");
    off.runs(-5, 0);
    off.waits(0, 0);
    assert_eq!(off.pick(1).0, None);
}

#[test]
fn as_posted_a_task_may_lose_its_cpu_to_a_worse_one() {
    let mut outcome = Vec::new();
    for settings in ["linux-2.5.32-f3", "linux-2.5.32-a9"] {
        let mut case = Case::new("1x2", settings);
        case.runs(-5, 0);
        let here = case.runs(0, 1);
        let (worse, _) = case.waits(10, 1);
        // The first of the list runs on the sibling; then comes the one that ran here.
        outcome.push((case.pick(1).0, here, worse));
    }
    assert_eq!(outcome[0].0, Some(outcome[0].2));
    assert_eq!(outcome[1].0, Some(outcome[1].1));
}

#[test]
fn affinity_is_to_the_core_or_to_the_cpu() {
    for (settings, takes) in [("linux-2.5.32-a9", true), ("linux-2.5.32-a9[affinity=off]", false)] {
        let mut case = Case::new("1x2", settings);
        case.runs(-5, 0);
        case.runs(-5, 1);
        let (task, _) = case.waits(0, 0);
        case.policy.lives[task.index()].left_at = case.view.ticks();
        let blocked = case.view.current(CpuId(1)).expect("a task");
        case.policy.stopping(&case.view, CpuId(1), blocked, Stop::Blocked, &mut Answer::new(false));
        case.view.task_mut(blocked).state = TaskState::Blocked;
        case.view.set_current(CpuId(1), Current::Idle);
        assert_eq!(case.pick(1).0.is_some(), takes, "{settings}");
        case.view.now_ns += 3 * MS;
        assert_eq!(case.pick(1).0, Some(task), "{settings}: cold now");
    }
}

#[test]
fn wake_up_looks_at_siblings_in_order() {
    let mut case = Case::new("2x2", "linux-2.5.32-a9");
    assert_eq!(case.waits(0, 0).1, "resched 0", "its own CPU is idle");
    let mut case = Case::new("2x2", "linux-2.5.32-a9");
    case.runs(0, 0);
    assert_eq!(case.waits(-5, 0).1, "resched 1", "an idle sibling before preemption");
    let mut case = Case::new("2x2", "linux-2.5.32-a9");
    case.runs(0, 0);
    case.runs(0, 1);
    assert_eq!(case.waits(-5, 0).1, "resched 0", "a better priority preempts its own CPU");
    let mut case = Case::new("2x2", "linux-2.5.32-a9");
    case.runs(-5, 0);
    case.runs(5, 1);
    assert_eq!(case.waits(0, 0).1, "resched 1", "else the sibling that runs something worse");
    let mut case = Case::new("2x2", "linux-2.5.32-a9[wakeup=off]");
    case.runs(0, 0);
    assert_eq!(case.waits(0, 0).1, "", "off: the sibling is not thought of");
}

#[test]
fn equal_priority_preempts_as_mended_if_more_of_its_slice_is_left() {
    for (settings, asked) in [("linux-2.5.32-a9", "resched 0"), ("linux-2.5.32-f3", "")] {
        let mut case = Case::new("1x1", settings);
        let current = case.runs(0, 0);
        case.policy.lives[current.index()].slice = 10;
        assert_eq!(case.waits(0, 0).1, asked, "{settings}");
    }
}
