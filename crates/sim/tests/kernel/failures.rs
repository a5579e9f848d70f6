//! Work that cannot be, and runs that do not get on.

use crate::support::{MS, compute, machine, options, program, work};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_sim::kernel::program::{Amount, Which};
use coretwin_sim::kernel::work::SocketSpec;
use coretwin_sim::kernel::{Cause, Failure, Start, Step, Work, run};

const FIRST: Which = Which::Number(0);
const SECOND: Which = Which::Number(1);

fn failure(work: &Work) -> Box<Failure> {
    run(&machine("2x2", 1500), work, &options("one-per-core", 1000))
        .map(|_| ())
        .expect_err("it cannot end")
}

#[test]
fn a_deadlock_of_locks_says_who_waits_for_whom() {
    let takes = |first, second| {
        vec![Step::Lock(first), compute(MS), Step::Lock(second), Step::Unlock(second)]
    };
    let mut work = work(vec![
        program("left", takes(FIRST, SECOND)),
        program("right", takes(SECOND, FIRST)),
        // Something still runs: the circle is found all the same.
        program("busy", vec![compute(500 * MS)]),
    ]);
    work.locks = 2;
    let failure = failure(&work);
    assert_eq!((failure.cause, failure.at_ns), (Cause::Deadlock, MS));
    assert_eq!(failure.lines.len(), 2);
    assert!(failure.lines[0].contains("right#2 waits for lock 0, held by left#1"), "{failure}");
    assert!(failure.lines[1].contains("left#1, at its step 2, waits for lock 1, held by right#2"));
}

#[test]
fn tasks_that_wait_for_nobody_are_named() {
    let mut work = work(vec![
        program("reader", vec![Step::Receive { socket: FIRST, bytes: Amount::Fixed(10) }]),
        program("taker", vec![compute(MS), Step::Down { semaphore: FIRST, count: 2 }]),
        program("meets", vec![Step::Barrier { barrier: FIRST }]),
    ]);
    work.sockets = vec![SocketSpec::of(100)];
    work.semaphores = vec![1];
    work.barriers = vec![2];
    let failure = failure(&work);
    assert_eq!((failure.cause, failure.at_ns), (Cause::Deadlock, MS));
    let text = failure.to_string();
    for part in [
        "reader#1, at its step 0, waits for 10 bytes of socket 0, which holds 0",
        "taker#2, at its step 1, waits for semaphore 0, which has 1",
        "meets#3, at its step 0, waits for barrier 0, where 1 of 2 are",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn loops_of_no_length_are_refused_or_found() {
    let looped = |steps: Vec<Step>| failure(&work(vec![program("spin", steps)]));
    let forever = Step::Forever { from: 0 };
    let refused = looped(vec![Step::Done(0), forever.clone()]);
    assert_eq!(refused.cause, Cause::BadInput);
    assert!(refused.to_string().contains("spin, step 1: a loop of zero length"), "{refused}");
    // Sometimes 0 and sometimes not is fine; here it only looks as if time could pass.
    let mut free = work(vec![program(
        "free",
        vec![
            Step::Up { semaphore: FIRST, count: 1 },
            Step::Down { semaphore: FIRST, count: 1 },
            forever,
        ],
    )]);
    free.semaphores = vec![0];
    let found = failure(&free);
    assert_eq!(found.cause, Cause::EndlessLoop, "{found}");
    assert!(found.what.contains("free#1"), "{found}");
}

#[test]
fn tasks_without_end_are_bounded() {
    let mut work = work(vec![program(
        "bomb",
        vec![Step::Fork { program: 0, thread: false }, compute(MS), Step::Forever { from: 0 }],
    )]);
    work.starts = vec![Start::of(0)];
    let mut options = options("one-per-core", 1000);
    options.tasks_max = 1000;
    options.checked = false;
    let failure = run(&machine("2x2", 1500), &work, &options).map(|_| ()).expect_err("a bomb");
    assert_eq!(failure.cause, Cause::TooManyTasks);
    options.tasks_max = 1 << 20;
    options.events_max = 1_000;
    let failure = run(&machine("2x2", 1500), &work, &options).map(|_| ()).expect_err("a bomb");
    assert_eq!(failure.cause, Cause::NoProgress);
}

#[test]
fn misuse_and_bad_input_are_refused_with_their_place() {
    let says = |steps: Vec<Step>, part: &str| {
        let mut work = work(vec![program("bad", steps)]);
        work.locks = 1;
        let text = failure(&work).to_string();
        assert!(text.contains(part), "{text}");
    };
    says(vec![Step::Unlock(FIRST)], "bad#1 gives back lock 0, which it does not hold");
    says(vec![Step::Lock(FIRST)], "bad#1 ends with lock 0");
    says(vec![Step::Lock(FIRST), Step::Lock(FIRST)], "bad#1 waits for itself");
    says(vec![Step::Lock(SECOND)], "a lock that is not there");
    says(vec![Step::Lock(Which::Own(3))], "a lock that is not there");
    says(vec![Step::Fork { program: 7, thread: true }], "bad, step 0: there is no program 7");
    says(vec![Step::SetNice(20)], "a nice value is -20 to 19");
    says(vec![Step::SetMask(Some(CpuSet::new()))], "an empty CPU mask");
    says(vec![Step::SetMask(Some([CpuId(9)].into_iter().collect()))], "there is no CPU 9");
    says(vec![Step::Repeat { from: 3, times: Amount::Fixed(1) }], "not before it");
    says(vec![Step::Sleep { ns: Amount::Between(5, 2) }], "a range from 5 down to 2");
    says(vec![Step::Sleep { ns: Amount::Mean(u64::MAX) }], "at most 2^42");
    let none = Work::default();
    assert!(failure(&none).to_string().contains("no task starts"));
    let mut unknown = work(vec![]);
    unknown.starts.push(Start::of(1));
    assert!(failure(&unknown).to_string().contains("program 1, which is not there"));
}
