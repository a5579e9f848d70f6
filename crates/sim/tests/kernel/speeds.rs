//! How fast tasks run, and whose time it is.

use crate::support::{MS, compute, machine, options, outcome, program, work};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_sim::kernel::co_run::{CoRun, ONE, WorkProfile};
use coretwin_sim::kernel::machine::Idle;
use coretwin_sim::kernel::work::{MachineEvent, Scripted};
use coretwin_sim::kernel::{Distance, Layout, Machine, Start, Step, Work};

/// Two tasks, each bound to a sibling of one core.
fn siblings(slowdown: u32, times_ms: [u64; 2]) -> (Machine, Work) {
    let machine = machine("1x2", slowdown);
    let programs = times_ms.map(|ms| program("busy", vec![compute(ms * MS)])).to_vec();
    let mut work = work(programs);
    for (cpu, start) in work.starts.iter_mut().enumerate() {
        start.mask = Some([CpuId(cpu as u32)].into_iter().collect());
    }
    (machine, work)
}

#[test]
fn siblings_slow_each_other_only_while_both_are_busy() {
    // 10 ms of work each at 1.6: the shorter is done at 16 ms; the longer has done 10 of 20 ms by
    // then and needs 10 more alone.
    let (machine, work) = siblings(1600, [10, 20]);
    let outcome = outcome(&machine, &work, &options("one-per-core", 1000));
    let ended: Vec<u64> = outcome.tasks.iter().filter_map(|task| task.ended_ns).collect();
    let near = |time_ns: u64, exact_ms: u64| time_ns.abs_diff(exact_ms * MS) < 2_000;
    assert!(near(ended[0], 16) && near(ended[1], 26), "{ended:?}");
    let time = outcome.tasks[1].time;
    assert!(near(time.alone_ns(), 10) && near(time.shared_ns(), 16), "{time:?}");
    assert!(near(time.work_alone_ns(), 20), "{time:?}");
    // The yield of the core while both were busy: 2 / 1.6.
    let throughput = outcome.core_throughput[1].expect("both were busy");
    assert!((throughput - 1.25).abs() < 1e-3, "{throughput}");
    assert!((time.capacity_ns(&[1.0, throughput]) / MS as f64 - (8.0 + 8.0)).abs() < 0.01);
    // Corrected by the slowdown it is what the work takes alone.
    let corrected_ns = time.alone_ns() as f64 + time.shared_ns() as f64 / 1.6;
    assert!((corrected_ns / MS as f64 - 20.0).abs() < 0.01);
}

#[test]
fn an_idle_sibling_that_polls_is_in_the_way_and_one_that_is_offline_is_not() {
    let layout = Layout::parse("1x2").expect("a machine");
    let mut machine = Machine::new(layout, CoRun::uniform(&["busy"], 1600, 1250).expect("a table"));
    machine.idle = Idle::Poll;
    let mut work = work(vec![program("busy", vec![compute(20 * MS)])]);
    let ended = |machine: &Machine, work: &Work| {
        outcome(machine, work, &options("one-per-core", 1000)).simulated_ns
    };
    let near = |time_ns: u64, exact_ms: u64| time_ns.abs_diff(exact_ms * MS) < 2_000;
    assert!(near(ended(&machine, &work), 25));
    let event = MachineEvent::Offline(CpuId(1));
    work.script.push(Scripted { at_ns: 10 * MS, event });
    // 10 ms at 1/1.25 is 8 ms of work; the other 12 go at full speed.
    assert!(near(ended(&machine, &work), 22));
    machine.idle = Idle::Halt;
    assert!(near(ended(&machine, &work), 20));
}

#[test]
fn a_walk_through_the_list_goes_at_the_speed_of_its_own_kind() {
    // `walk` and what is beside it lose nothing; two others halve each other.
    let speed = |own: usize, other: usize| if own == 2 || other == 2 { ONE } else { ONE / 2 };
    let profile = |name: &str| WorkProfile { name: name.to_owned(), alone: 1 << 20, refill: ONE };
    let profiles = ["kernel", "busy", "walk"].map(profile).to_vec();
    let speeds = CoRun::new(profiles, speed, |_| ONE, |_| ONE).expect("a table");
    let (mut machine, work) = siblings(1000, [20, 100]);
    machine.costs.policy_step_ns = 10 * MS;
    let mut ended = |speeds: CoRun| {
        machine.speeds = speeds;
        let outcome = outcome(&machine, &work, &options("linux-2.4.19", 10_000));
        outcome.tasks[0].ended_ns.expect("it ends") / MS
    };
    let walking = speeds.clone().with_walks("walk").expect("its profile");
    let (beside_walk, beside_work) = (ended(walking), ended(speeds));
    // Its own two steps and 20 ms of work at half speed are the most that the first can need beside walks.
    assert!(beside_walk <= 60 && beside_work > 100, "{beside_walk} {beside_work}");
}

#[test]
fn the_timeline_reaches_to_the_end_of_a_run_that_is_cut_off() {
    let work = work(vec![program("busy", vec![compute(50 * MS)])]);
    let mut options = options("one-per-core", 20);
    options.spans_max = 10;
    let outcome = outcome(&machine("1x2", 1500), &work, &options);
    assert!(!outcome.finished);
    let spans: Vec<_> = outcome.spans.iter().map(|span| (span.from_ns, span.to_ns)).collect();
    assert_eq!(spans, [(0, 20 * MS)]);
    assert_eq!(outcome.tasks[0].time.raw_ns(), 20 * MS);
}

#[test]
fn clash_time_is_two_on_a_core_beside_an_idle_core() {
    let machine = machine("2x2", 2000);
    let mut work = work(vec![program("busy", vec![compute(10 * MS)])]);
    work.starts = [0, 1]
        .map(|cpu| Start { mask: Some([CpuId(cpu)].into_iter().collect()), ..Start::of(0) })
        .to_vec();
    let both = outcome(&machine, &work, &options("one-per-core", 1000));
    assert!(both.clash_ns.abs_diff(20 * MS) < 2_000, "{}", both.clash_ns);
    // Free to go where they like, they take a core each.
    work.starts.iter_mut().for_each(|start| start.mask = None);
    let spread = outcome(&machine, &work, &options("one-per-core", 1000));
    assert_eq!((spread.clash_ns, spread.simulated_ns), (0, 10 * MS));
    assert_eq!(spread.core_throughput[1], None);
}

#[test]
fn costs_are_paid_where_they_arise() {
    let mut machine = machine("2x1", 1000);
    machine.costs.switch_ns = 1_000;
    machine.costs.refill_ns = [7_000, 50_000, 0, 0];
    machine.costs.displace_ns = MS;
    let text = "0-1".to_owned();
    let all = CpuSet::parse(&text).expect("a list");
    let program = program(
        "moves",
        vec![
            compute(5 * MS),
            Step::SetMask(Some([CpuId(1)].into_iter().collect())),
            compute(5 * MS),
            Step::SetMask(Some(all)),
        ],
    );
    let outcome = outcome(&machine, &work(vec![program]), &options("one-per-core", 1000));
    // Two switches, and all of its cache to fill after the move.
    assert_eq!(outcome.simulated_ns, 10 * MS + 2 * 1_000 + 50_000);
    assert_eq!(outcome.tasks[0].time.system_ns, 52_000);
    assert_eq!(outcome.migrations[Distance::SameCache as usize], 1);
}
