//! The schedulers of 2002 on the whole machine: what Molnar's patch is for, and that without its
//! switches nothing of it is left.

use crate::support::{MS, compute, machine, options, outcome, program, work};
use coretwin_base::machine::cpu_set::CpuId;
use coretwin_sim::kernel::costs::Costs;
use coretwin_sim::kernel::program::{Amount, Children, Which};
use coretwin_sim::kernel::work::SocketSpec;
use coretwin_sim::kernel::{Outcome, Start, Step, Work};
use coretwin_sim::policies::POLICIES;

/// Two tasks that only compute, begun on the two CPUs of one core of two. A short one on the other
/// core ends after 5 ms: a CPU asks for work when it chooses and finds none, not while it idles.
fn two_on_a_core(policy: &str) -> Outcome {
    let long = program("hog", vec![compute(1000 * MS)]);
    let mut work = work(vec![long, program("short", vec![compute(5 * MS)])]);
    let on = |program, cpu| Start { on: Some(CpuId(cpu)), ..Start::of(program) };
    work.starts = vec![on(0, 0), on(0, 1), on(1, 2)];
    outcome(&machine("2x2", 1600), &work, &options(policy, 4000))
}

#[test]
fn two_hogs_stay_on_one_core_without_active_balancing() {
    let plain = two_on_a_core("linux-2.5.32");
    assert_eq!(plain.simulated_ns, 1600 * MS);
    assert!(plain.clash_ns > 1590 * MS, "no queue has two: {}", plain.clash_ns);
    let old = two_on_a_core("linux-2.4.19");
    assert!(old.clash_ns > 1590 * MS, "the CPU they began on was idle: {}", old.clash_ns);
}

#[test]
fn cpus_wait_for_the_lock_of_the_list_unless_that_is_switched_off() {
    let steps = vec![
        compute(MS / 10),
        Step::Sleep { ns: Amount::Mean(MS) },
        Step::Repeat { from: 0, times: Amount::Fixed(50) },
    ];
    let mut work = work(vec![program("task", steps)]);
    work.starts = vec![Start { count: 40, ..Start::of(0) }];
    let policy_ns = |layout: &str, list_lock: &str| {
        let mut machine = machine(layout, 1000);
        machine.costs.policy_step_ns = 2000;
        let policy = format!("linux-2.4.19[list_lock={list_lock}]");
        outcome(&machine, &work, &options(&policy, 4000)).policy_ns
    };
    assert_eq!(policy_ns("1x1", "on"), policy_ns("1x1", "off"));
    let (waiting, free) = (policy_ns("2x1", "on"), policy_ns("2x1", "off"));
    assert!(waiting > free + free / 20, "{waiting} {free}");
}

#[test]
fn active_balancing_gives_each_hog_a_core() {
    let mended = two_on_a_core("linux-2.5.32-a9");
    assert!(mended.clash_ns < 100 * MS && mended.simulated_ns < 1050 * MS, "{}", mended.clash_ns);
    let off = two_on_a_core("linux-2.5.32-a9[active=off]");
    assert_eq!(off.simulated_ns, 1600 * MS);
}

/// Messages, children, sleep and computing, more than CPUs can take.
fn mixed() -> Work {
    let own = |place| Which::Own(place);
    let client = program(
        "client",
        vec![
            Step::Begin,
            compute(MS / 4),
            Step::Send { socket: own(0), bytes: Amount::Fixed(200) },
            Step::Receive { socket: own(1), bytes: Amount::Fixed(100) },
            Step::Done(0),
            Step::Repeat { from: 0, times: Amount::Fixed(300) },
        ],
    );
    let server = program(
        "server",
        vec![
            Step::Receive { socket: own(0), bytes: Amount::Fixed(200) },
            compute(MS / 10),
            Step::Send { socket: own(1), bytes: Amount::Fixed(100) },
            Step::Forever { from: 0 },
        ],
    );
    let parent = program(
        "parent",
        vec![
            Step::Fork { program: 3, thread: false },
            Step::Sleep { ns: Amount::Mean(MS) },
            Step::Repeat { from: 0, times: Amount::Fixed(60) },
            Step::Wait(Children::All),
        ],
    );
    let child = program("child", vec![compute(3 * MS), Step::Exit]);
    let mut starts = Vec::new();
    for pair in 0..4 {
        let own = vec![2 * pair, 2 * pair + 1];
        starts.push(Start { own: own.clone(), ..Start::of(0) });
        starts.push(Start { own, server: true, ..Start::of(1) });
    }
    starts.push(Start { nice: 5, ..Start::of(2) });
    let sockets = vec![SocketSpec { sync: true, ..SocketSpec::of(4096) }; 8];
    Work { programs: vec![client, server, parent, child], starts, sockets, ..Work::default() }
}

#[test]
fn with_all_switches_off_the_patch_is_not_there() {
    let off = "linux-2.5.32-a9[active=off,affinity=off,passive=off,pickup=off,wakeup=off]";
    for layout in ["1x2", "2x2", "4x1"] {
        for seed in 1..4 {
            let mut machine = machine(layout, 1500);
            machine.costs = Costs::of_2002();
            let run = |policy: &str| {
                let mut options = options(policy, 2000);
                options.seed = seed;
                outcome(&machine, &mixed(), &options)
            };
            let (plain, off, on) = (run("linux-2.5.32"), run(off), run("linux-2.5.32-a9"));
            assert_eq!(plain.trace_hash, off.trace_hash, "{layout}, seed {seed}");
            assert_eq!(plain.operations, off.operations);
            assert!(layout == "4x1" || plain.trace_hash != on.trace_hash);
        }
    }
}

#[test]
fn each_kernel_finishes_mixed_work_everywhere() {
    let policies: Vec<&str> = POLICIES.iter().map(|entry| entry.name).collect();
    for policy in policies {
        for layout in ["1x1", "1x2", "2x2", "2x4x2"] {
            let mut machine = machine(layout, 1500);
            machine.costs = Costs::of_2002();
            let outcome = outcome(&machine, &mixed(), &options(policy, 20_000));
            assert!(outcome.finished, "{policy} on {layout}");
            assert_eq!(outcome.operations[0].count, 4 * 301, "{policy} on {layout}");
        }
    }
}
