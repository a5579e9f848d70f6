//! Sockets, semaphores, locks, barriers, children, files.

use crate::support::{BUSY, MS, compute, machine, options, outcome, program, work};
use coretwin_sim::kernel::costs::Costs;
use coretwin_sim::kernel::program::{Access, Amount, Children, Which};
use coretwin_sim::kernel::work::SocketSpec;
use coretwin_sim::kernel::{Start, Step};

const FIRST: Which = Which::Number(0);
const SECOND: Which = Which::Number(1);

fn bytes(count: u64) -> Amount {
    Amount::Fixed(count)
}

#[test]
fn a_small_buffer_makes_sender_and_receiver_take_turns() {
    let send = Step::Send { socket: FIRST, bytes: bytes(1000) };
    let receive = Step::Receive { socket: FIRST, bytes: bytes(1000) };
    let again = |times| Step::Repeat { from: 0, times: Amount::Fixed(times) };
    let mut work = work(vec![
        program("send", vec![send, compute(MS), again(99)]),
        program("receive", vec![receive, compute(2 * MS), Step::Done(0), again(99)]),
    ]);
    work.sockets = vec![SocketSpec::of(300)];
    let outcome = outcome(&machine("2x1", 1000), &work, &options("one-per-core", 1000));
    assert!(outcome.finished);
    assert_eq!(outcome.operations[0].count, 100);
    // The receiver is the slower: 2 ms for each of its messages, and it waits for the first.
    assert_eq!(outcome.simulated_ns, 200 * MS);
}

#[test]
fn a_lock_lets_one_in_at_a_time() {
    let steps =
        vec![Step::Lock(FIRST), compute(3 * MS), Step::Unlock(FIRST), compute(MS), Step::Done(0)];
    let mut work = work(vec![program("worker", steps)]);
    work.locks = 1;
    work.starts[0].count = 4;
    let outcome = outcome(&machine("4x1", 1000), &work, &options("one-per-core", 1000));
    assert_eq!(outcome.simulated_ns, 13 * MS, "four times 3 ms in turn, then the last one's 1 ms");
    assert!(outcome.fairness().is_none(), "nobody stayed to the end");
}

#[test]
fn tasks_are_compared_though_making_them_took_time() {
    let steps = vec![compute(MS), Step::Forever { from: 0 }];
    let mut work = work(vec![program("busy", steps)]);
    work.starts[0].count = 3;
    let mut machine = machine("2x1", 1000);
    machine.costs = Costs::of_2002();
    let long = outcome(&machine, &work, &options("one-per-core", 1000));
    assert!(long.tasks.iter().any(|task| task.born_ns > 0), "{:?}", long.tasks);
    // Three tasks on two CPUs; two share one: (1 + ½ + ½)² / (3 · (1 + ¼ + ¼)).
    let found = long.fairness().expect("three tasks from the beginning");
    assert!((8.0 / 9.0 - 0.01..=1.0).contains(&found), "{found}");
    work.starts[0].at_ns = 20 * MS;
    let late = outcome(&machine, &work, &options("one-per-core", 1000));
    assert_eq!(late.fairness(), None, "tasks that came late were not there to be compared");
}

#[test]
fn semaphores_and_barriers_hold_tasks_back() {
    let down = |which, count| Step::Down { semaphore: which, count };
    let up = |which, count| Step::Up { semaphore: which, count };
    let mut work = work(vec![
        program("giver", vec![compute(MS), up(FIRST, 2), compute(MS), up(FIRST, 1)]),
        program("taker", vec![down(FIRST, 3), Step::Barrier { barrier: FIRST }]),
        program("other", vec![compute(5 * MS), Step::Barrier { barrier: FIRST }]),
    ]);
    work.semaphores = vec![0];
    work.barriers = vec![2];
    let outcome = outcome(&machine("3x1", 1000), &work, &options("one-per-core", 1000));
    let ended: Vec<Option<u64>> = outcome.tasks.iter().map(|task| task.ended_ns).collect();
    assert_eq!(ended, [Some(2 * MS), Some(5 * MS), Some(5 * MS)]);
}

/// A child that starts on the idle sibling copies the page that its parent copies too, and leaves its
/// page tables there, while its parent, which stays busy, has to make new ones every time.
#[test]
fn processes_cost_more_where_children_end_on_another_cpu() {
    let took_ns = |layout, then| {
        let again = Step::Repeat { from: 0, times: Amount::Fixed(9) };
        let fork = Step::Fork { program: 1, thread: false };
        let mut work = work(vec![
            program("parent", vec![fork, then, again]),
            program("child", vec![compute(100_000), Step::Exit]),
        ]);
        work.starts.truncate(1);
        let mut machine = machine(layout, 1000);
        machine.costs.page_tables_ns = 10_000;
        machine.costs.page_tables_kept = 12;
        machine.costs.shared_page_ns = 4000;
        outcome(&machine, &work, &options("linux-2.4.19", 1000)).simulated_ns
    };
    // One CPU: tables are made once, and the child finds the page copied.
    let one = took_ns("1x1", Step::Wait(Children::All));
    assert_eq!(one, 10_000 + 10 * (4000 + 100_000));
    // Two, and the parent computes until its child is gone, which takes 100 µs and a copy.
    assert_eq!(took_ns("1x2", compute(105_000)), 10 * (10_000 + 4000 + 105_000));
    // In the last microsecond the child is still there: without its copy it would not.
    let longer = took_ns("1x2", compute(99_000));
    assert_eq!(longer, 10 * (10_000 + 4000 + 99_000) + 1000);
}

#[test]
fn parents_wait_for_children_and_slots_are_used_again() {
    let fork = Step::Fork { program: 1, thread: false };
    let mut work = work(vec![
        program(
            "make",
            vec![
                fork.clone(),
                fork,
                Step::Wait(Children::One),
                Step::Done(0),
                Step::Wait(Children::All),
                Step::Repeat { from: 0, times: Amount::Fixed(999) },
            ],
        ),
        program("compile", vec![Step::ComputeFor { profile: BUSY, ns: Amount::Between(1, MS) }]),
    ]);
    work.starts.truncate(1);
    let mut options = options("one-per-core", 100_000);
    options.tasks_max = 3;
    let outcome = outcome(&machine("2x1", 1000), &work, &options);
    assert!(outcome.finished);
    assert_eq!((outcome.tasks_total, outcome.programs[1].ended), (2001, 2000));
    assert_eq!(outcome.operations[0].count, 1000);
}

#[test]
fn servers_do_not_keep_a_run_alive() {
    let mut work = work(vec![
        program(
            "server",
            vec![
                Step::Receive { socket: FIRST, bytes: bytes(100) },
                compute(MS),
                Step::Send { socket: SECOND, bytes: bytes(100) },
                Step::Forever { from: 0 },
            ],
        ),
        program(
            "client",
            vec![
                Step::Begin,
                Step::Send { socket: FIRST, bytes: bytes(100) },
                Step::Receive { socket: SECOND, bytes: bytes(100) },
                Step::Done(0),
                Step::Repeat { from: 0, times: Amount::Fixed(9) },
            ],
        ),
    ]);
    work.sockets = vec![SocketSpec::of(4096); 2];
    work.starts[0].server = true;
    let outcome = outcome(&machine("2x1", 1000), &work, &options("one-per-core", 1000));
    assert!(outcome.finished);
    assert_eq!(outcome.simulated_ns, 10 * MS);
    let latency = &outcome.operations[0].latency;
    assert_eq!((latency.count(), latency.most()), (10, MS));
}

#[test]
fn what_was_read_stays_in_memory_and_what_was_written_reaches_the_disk() {
    let read = Step::Read { file: FIRST, bytes: bytes(1 << 20), access: Access::Next };
    let write = Step::Write { file: SECOND, bytes: bytes(1 << 20), access: Access::Next };
    let mut work = work(vec![program(
        "files",
        vec![
            read.clone(),
            Step::Done(0),
            read,
            Step::Done(1),
            write,
            Step::Done(2),
            Step::Synchronise(SECOND),
            Step::Done(3),
            Step::Forget(SECOND),
            Step::Disk { bytes: bytes(8192) },
        ],
    )]);
    work.files = vec![1 << 20, 1 << 20];
    let outcome = outcome(&machine("1x1", 1000), &work, &options("one-per-core", 10_000));
    let took: Vec<u64> = outcome.operations.iter().map(|kind| kind.latency.most()).collect();
    // 256 blocks of 100 µs, one seek at most for each 32 of them.
    assert!(took[0] >= 256 * 100_000 && took[0] < 256 * 100_000 + 8 * 25 * MS, "{took:?}");
    assert_eq!((took[1], took[2]), (0, 0), "memory is free on this machine");
    assert!(took[3] >= 256 * 100_000, "{took:?}");
    let storage = outcome.storage;
    assert_eq!((storage.misses, storage.written_back, storage.evicted), (256, 256, 0));
    assert_eq!(storage.hits, 512);
    assert_eq!(storage.blocks, 256 + 256 + 2);
}

#[test]
fn a_writer_that_fills_memory_waits_for_the_disk() {
    let write = Step::Write { file: FIRST, bytes: bytes(64 << 20), access: Access::Next };
    let mut work = work(vec![program("writer", vec![write])]);
    work.files = vec![64 << 20];
    work.starts = vec![Start::of(0)];
    let mut machine = machine("1x1", 1000);
    machine.cache.pages = 1000;
    let outcome = outcome(&machine, &work, &options("one-per-core", 100_000));
    assert!(outcome.finished && outcome.storage.throttled > 0);
    // All but what memory may hold was written, at 40 MB/s and no faster.
    assert!(outcome.storage.written_back >= 16_384 - 1000);
    assert!(outcome.simulated_ns >= (16_384 - 1000) * 100_000, "{}", outcome.simulated_ns);
}
