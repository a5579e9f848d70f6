//! Who slept at every look and ran in between is found, where busy time asks for it.

use coretwin_account::method::Method;
use coretwin_account::sampled::{Effort, Sampled};
use coretwin_base::account::{Siblings, Window};
use coretwin_base::cpu_set::CpuId;
use coretwin_host::fake::crowd::Crowd;
use coretwin_host::fake::machine;
use coretwin_host::root::Root;
use coretwin_host::topology;
use std::time::{Duration, Instant};

/// Threads of the made-up machine.
const TASKS: u32 = 200;
/// Those that run, unseen.
const RUN: [u32; 2] = [90, 150];

/// A machine, a crowd on it, and a method that has looked when everybody slept.
fn asleep(folder: &std::path::Path, share_max: f64) -> (Crowd, Sampled) {
    let root: Root = machine("server-halves").expect("a machine").write(folder).expect("written");
    let topology = topology::read(&root).expect("topology");
    let crowd = Crowd::new(&root, &topology.online, TASKS).expect("a crowd");
    let effort = Effort { share_max, is_thorough: false, ..Effort::default() };
    let mut sampled = Sampled::new(&root, Siblings::of_kernel(&topology), effort);
    sampled.start().expect("started");
    sampled.look().expect("looked");
    (crowd, sampled)
}

/// Lets them run for as long as it really takes, and asks.
fn run(crowd: &mut Crowd, sampled: &mut Sampled) -> Window {
    let began = Instant::now();
    std::thread::sleep(Duration::from_millis(60));
    let running = [(RUN[0], CpuId(0)), (RUN[1], CpuId(1))];
    crowd.run(began.elapsed(), &running).expect("ran");
    crowd.run(Duration::ZERO, &[]).expect("asleep again");
    sampled.window().expect("a window")
}

fn found(window: &Window) -> usize {
    let is_there = |task: &&u32| window.tasks.iter().any(|seen| seen.tid == Crowd::thread(**task));
    RUN.iter().filter(is_there).count()
}

#[test]
fn unexplained_busy_time_has_those_asked_that_sleep() {
    let folder = tempfile::tempdir().expect("folder");
    let (mut crowd, mut sampled) = asleep(folder.path(), 1.0);
    let window = run(&mut crowd, &mut sampled);
    assert_eq!(found(&window), RUN.len(), "{:?}", window.tasks);
    // Nothing is known of their siblings: they were in no look.
    for task in &window.tasks {
        let alone = task.runs[0].alone_s();
        assert!(alone.low <= 0.0 && alone.high >= task.raw_s, "{task:?}");
    }
}

#[test]
fn however_little_may_be_spent_all_have_their_turn() {
    let folder = tempfile::tempdir().expect("folder");
    let (mut crowd, mut sampled) = asleep(folder.path(), 1e-9);
    let first = run(&mut crowd, &mut sampled);
    assert_eq!(found(&first), 0, "more was read than may be spent: {:?}", first.tasks);
    let later = (0..40).map(|_| found(&run(&mut crowd, &mut sampled))).max();
    assert_eq!(later, Some(RUN.len()));
}
