//! Who slept at every look and ran in between is found, as far as may be spent; who came and went
//! between two looks too, at a glance.

use coretwin_account::bounds::Bounds;
use coretwin_account::method::Method;
use coretwin_account::sampled::{Effort, Sampled};
use coretwin_base::account::{Siblings, Window};
use coretwin_base::machine::cpu_set::CpuId;
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
fn asleep(folder: &std::path::Path, share_max: f64, by_bounds: bool) -> (Crowd, Box<dyn Method>) {
    let root: Root = machine("server-halves").expect("a machine").write(folder).expect("written");
    let topology = topology::read(&root).expect("topology");
    let crowd = Crowd::new(&root, &topology.online, TASKS).expect("a crowd");
    let effort = Effort { share_max, is_thorough: false, ..Effort::default() };
    let siblings = Siblings::of_kernel(&topology);
    let mut method: Box<dyn Method> = match by_bounds {
        true => Box::new(Bounds::new(&root, siblings, effort)),
        false => Box::new(Sampled::new(&root, siblings, effort)),
    };
    method.start().expect("started");
    // A look of `bounds` is a piece, for which it may spend nearly nothing: it is so short.
    if !by_bounds {
        method.look().expect("looked");
    }
    (crowd, method)
}

/// Lets them run for as long as it really takes, and asks; what they ran is all that is counted.
fn run(crowd: &mut Crowd, method: &mut dyn Method) -> Window {
    let began = Instant::now();
    std::thread::sleep(Duration::from_millis(60));
    let running = [(RUN[0], CpuId(0)), (RUN[1], CpuId(1))];
    let length = began.elapsed();
    crowd.run(length, &running).expect("ran");
    crowd.run(Duration::ZERO, &[]).expect("asleep again");
    let window = method.window().expect("a window");
    for task in &window.tasks {
        assert!((task.raw_s - length.as_secs_f64()).abs() < 1e-6, "{length:?}: {task:?}");
    }
    window
}

fn found(window: &Window) -> usize {
    let is_there = |task: &&u32| window.tasks.iter().any(|seen| seen.tid == Crowd::thread(**task));
    RUN.iter().filter(is_there).count()
}

#[test]
fn who_slept_at_every_look_is_found_if_that_may_be_spent() {
    for by_bounds in [false, true] {
        let folder = tempfile::tempdir().expect("folder");
        let (mut crowd, mut method) = asleep(folder.path(), 1.0, by_bounds);
        let window = run(&mut crowd, method.as_mut());
        assert_eq!(found(&window), RUN.len(), "{:?}", window.tasks);
        // Nothing is known of their siblings: they were in no look.
        for task in window.tasks.iter().filter(|_| !by_bounds) {
            let alone = task.runs[0].alone_s();
            assert!(alone.low <= 0.0 && alone.high >= task.raw_s, "{task:?}");
        }
    }
}

#[test]
fn however_little_may_be_spent_all_have_their_turn() {
    for by_bounds in [false, true] {
        let folder = tempfile::tempdir().expect("folder");
        let (mut crowd, mut method) = asleep(folder.path(), 1e-9, by_bounds);
        let first = run(&mut crowd, method.as_mut());
        assert_eq!(found(&first), 0, "more was read than may be spent: {:?}", first.tasks);
        let unseen_s = first.unseen.busy_s;
        assert!(
            unseen_s > 0.05,
            "{unseen_s} s of two tasks with 0.06 s each are said to be unseen"
        );
        let later = (0..40).map(|_| found(&run(&mut crowd, method.as_mut()))).max();
        assert_eq!(later, Some(RUN.len()));
    }
}

#[test]
fn who_comes_and_goes_between_two_looks_is_met_at_a_glance() {
    let folder = tempfile::tempdir().expect("folder");
    let root: Root = machine("server-halves").expect("a machine").write(folder.path()).expect("it");
    let online = topology::read(&root).expect("topology").online;
    Crowd::new(&root, &online, TASKS).expect("a crowd");
    let siblings = Siblings::of_kernel(&topology::read(&root).expect("topology"));
    // So little may be spent that looks are seconds apart.
    let effort = Effort { share_max: 1e-9, ..Effort::default() };
    let mut sampled = Sampled::new(&root, siblings, effort);
    sampled.start().expect("started");
    wait_and_look(&mut sampled);
    // A new process runs for a while: its first thread.
    let mut crowd = Crowd::new(&root, &online, TASKS + 4).expect("a larger crowd");
    crowd.run(Duration::from_millis(50), &[(TASKS, CpuId(0))]).expect("ran");
    let thread = Crowd::thread(TASKS);
    let process = folder.path().join(format!("proc/{thread}"));
    std::fs::write(process.join("status"), format!("Tgid:\t{thread}\n")).expect("its process");
    wait_and_look(&mut sampled);
    std::fs::remove_dir_all(process).expect("gone");
    let window = sampled.window().expect("a window");
    let met = window.tasks.iter().find(|task| task.tid == thread).expect("it was met");
    assert!(met.ended && (met.raw_s - 0.05).abs() < 1e-9, "{met:?}");
}

/// Looks, or glances, when it is time to.
fn wait_and_look(sampled: &mut Sampled) {
    let due = sampled.due().expect("it looks");
    std::thread::sleep(due.saturating_duration_since(Instant::now()));
    sampled.look().expect("looked");
}
