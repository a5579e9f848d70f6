//! SMT switched off and on in mid-run, and the same run in builds of either kind, for every policy.

use crate::support::{BUSY, MS, compute, machine, options, outcome, program, work};
use coretwin_base::machine::cpu_set::CpuId;
use coretwin_sim::kernel::costs::Costs;
use coretwin_sim::kernel::program::{Amount, Children};
use coretwin_sim::kernel::work::{MachineEvent, Scripted};
use coretwin_sim::kernel::{Machine, Outcome, Start, Step, Work, run};
use coretwin_sim::policies::POLICIES;

/// SMT goes off at 100 ms, and comes back at 200 ms.
fn off_and_on() -> Vec<Scripted> {
    let at = |ms, event| Scripted { at_ns: ms * MS, event };
    vec![at(100, MachineEvent::SmtOff), at(200, MachineEvent::SmtOn)]
}

fn busy_ns(outcome: &Outcome, sibling: bool, from_ms: u64, to_ms: u64) -> u64 {
    let spans = outcome.spans.iter().filter(|span| (span.cpu.0 % 2 == 1) == sibling);
    let within = |at_ns: u64| at_ns.clamp(from_ms * MS, to_ms * MS);
    spans.map(|span| within(span.to_ns) - within(span.from_ns)).sum()
}

/// As many hogs as CPUs: while SMT is off siblings run nothing and the first CPUs of the cores everything;
/// once it is back siblings are used again, by all policies that use them at all.
#[test]
fn siblings_are_left_and_taken_up_again() {
    for entry in POLICIES {
        let mut work = work(vec![program("hog", vec![compute(400 * MS)])]);
        work.starts = vec![Start { count: 8, ..Start::of(0) }];
        work.script = off_and_on();
        let mut options = options(entry.name, 30_000);
        options.spans_max = usize::MAX;
        let outcome = outcome(&machine("4x2", 1500), &work, &options);
        assert!(outcome.finished, "{}", entry.name);
        assert_eq!(busy_ns(&outcome, true, 100, 200), 0, "{}", entry.name);
        let first_ns = busy_ns(&outcome, false, 100, 200);
        // What 2.5 gives its queues to even them out with: a quarter of a second.
        assert!(first_ns > 250 * MS, "{}: {first_ns} of 400 ms while off", entry.name);
        let after_ns = busy_ns(&outcome, true, 450, 500);
        match entry.promise.of_cores {
            true => assert_eq!(after_ns, 0, "{}: one task a core", entry.name),
            false => assert!(after_ns > 100 * MS, "{}: {after_ns} of 200 ms", entry.name),
        }
    }
}

/// A core that runs two while another idles is relieved, even if the stopper that was asked for went with
/// its CPU, which comes back 2 µs later: at the latest when the other core is next done with something.
#[test]
fn active_balancing_survives_the_loss_of_a_stopper() {
    for policy in ["linux-2.5.32-a9", "core-queue", "fair"] {
        for off_us in 5_500..5_508 {
            let hog = program("hog", vec![compute(60 * MS)]);
            let mut work = work(vec![hog, program("short", vec![compute(5_500_000)])]);
            let on = |program, cpu| Start { on: Some(CpuId(cpu)), ..Start::of(program) };
            let again = Start { at_ns: 10 * MS, ..on(1, 2) };
            work.starts = vec![on(0, 0), on(0, 1), on(1, 2), again];
            let at = |at_us: u64, event| Scripted { at_ns: at_us * 1000, event };
            work.script = vec![
                at(off_us, MachineEvent::Offline(CpuId(0))),
                at(off_us + 2, MachineEvent::Online(CpuId(0))),
            ];
            let outcome = outcome(&machine("2x2", 1600), &work, &options(policy, 4000));
            assert!(outcome.finished);
            assert!(outcome.clash_ns < 30 * MS, "{policy}, {off_us}: {} ns", outcome.clash_ns);
        }
    }
}

/// Work of all kinds on a machine with costs and without fractions, so that the trace is the same on
/// every host and in every build.
fn everything() -> (Machine, Work) {
    let mut machine = machine("2x4x2", 1500);
    machine.costs = Costs::of_2002();
    let compute = |mean| Step::ComputeFor { profile: BUSY, ns: Amount::Between(mean / 2, mean) };
    let sleeper = vec![
        compute(MS),
        Step::Sleep { ns: Amount::Mean(2 * MS) },
        Step::Yield,
        Step::Repeat { from: 0, times: Amount::Fixed(60) },
    ];
    let parent = vec![
        Step::Fork { program: 2, thread: false },
        compute(MS),
        Step::Repeat { from: 0, times: Amount::Fixed(20) },
        Step::Wait(Children::All),
    ];
    let mut work = work(vec![
        program("sleeper", sleeper),
        program("parent", parent),
        program("child", vec![compute(5 * MS), Step::Exec, compute(MS)]),
    ]);
    work.starts = vec![
        Start { count: 30, ..Start::of(0) },
        Start { count: 3, nice: 5, at_ns: MS, ..Start::of(1) },
        Start { count: 2, nice: -5, at_ns: 50 * MS, ..Start::of(1) },
    ];
    work.script = off_and_on();
    (machine, work)
}

/// The same hashes whether or not the build checks arithmetic; `cargo test --release` compares them.
#[test]
fn traces_are_the_same_in_every_build() {
    let (machine, work) = everything();
    let mut lines = String::new();
    for entry in POLICIES {
        let mut options = options(entry.name, 20_000);
        options.seed = 7;
        options.checked = cfg!(debug_assertions);
        let outcome = run(&machine, &work, &options).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(outcome.finished, "{}", entry.name);
        lines +=
            &format!("{:<16} {:016x} {:>8}\n", entry.name, outcome.trace_hash, outcome.switches);
    }
    expect_test::expect![[r#"
        core-queue       91a9160eef9bb520     2518
        fair             1edc12d200c89758     3030
        linux-2.4.19     44008cb429523a51     3657
        linux-2.5.32     0ab788c031fc83ea     2834
        linux-2.5.32-a9  e76e6cee4c57a3c9     3328
        linux-2.5.32-f3  bb19254563e021b8     3461
        one-per-core     1be98dba35d874d7     2877
    "#]]
    .assert_eq(&lines);
}
