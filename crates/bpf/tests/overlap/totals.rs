//! Nothing is lost and nothing counted twice, whatever tasks do.

use crate::load::{meanwhile, storm, wander};
use crate::machine::{self, clock_ns, cpus, is_emulated, run_of, total_ns};
use crate::truth::agree;
use coretwin_bpf::overlap::Window;
use rustix::time::ClockId;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second()
}

/// What /proc/stat says was stolen or interrupted, of all CPUs, in nanoseconds: some kernels charge
/// interrupts to nobody.
pub(crate) fn stolen_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/stat").expect("/proc/stat");
    let first = text.lines().next().expect("a line of all CPUs");
    let ticks = first.split_whitespace().skip(6).take(3);
    ticks.map(|ticks| ticks.parse::<u64>().expect("a number")).sum::<u64>() * tick_ns()
}

/// Every CPU's windows are tasks, idle and offline to the nanosecond; what was charged is some task's;
/// and what was not charged was stolen or interrupted, or the kernel did not show a switch.
pub(crate) fn whole(windows: &[Window], stolen_ns: u64) {
    let (mut tasks_ns, mut charged_ns, mut length_ns, mut hidden_ns) = (0, 0, 0, 0);
    for window in windows {
        let mut of_window_ns = 0;
        for cpu in &window.cpus {
            let parts_ns = cpu.tasks_ns + cpu.idle_ns + cpu.offline_ns;
            assert_eq!(parts_ns, cpu.until_ns - cpu.from_ns, "{cpu:?}");
            tasks_ns += cpu.tasks_ns;
            of_window_ns += cpu.run_ns;
            length_ns += parts_ns;
        }
        let listed_ns: u64 = window.tasks.iter().map(total_ns).sum();
        assert_eq!(listed_ns + window.missing.unlisted_ns, of_window_ns, "{:?}", window.missing);
        assert_eq!((window.missing.lost, window.missing.unlisted), (0, 0), "{:?}", window.missing);
        charged_ns += of_window_ns;
        hidden_ns += window.missing.strangers_ns;
    }
    let unknown_ns = tasks_ns.abs_diff(charged_ns);
    println!(
        "{} tasks, {} switches: {:.4} % of {:.3} s of CPUs not charged, {:.4} s not shown, {:.3} s \
         stolen or interrupted",
        windows.iter().map(|window| window.tasks.len()).sum::<usize>(),
        windows.iter().map(|window| window.switches).sum::<u64>(),
        unknown_ns as f64 / length_ns as f64 * 100.0,
        length_ns as f64 / 1e9,
        hidden_ns as f64 / 1e9,
        stolen_ns as f64 / 1e9,
    );
    let allowed_ns = length_ns / 1000 + stolen_ns + tick_ns() + hidden_ns;
    // An emulated CPU that stops in an interrupt makes it as long as the stop.
    let is_explained = unknown_ns <= allowed_ns || is_emulated();
    assert!(is_explained, "{unknown_ns} of {length_ns} ns are nobody's");
}

#[test]
fn storms_and_migrations_add_up() {
    let Some(mut machine) = machine::start() else { return };
    let stolen_before_ns = stolen_ns();
    let before_ns = clock_ns(ClockId::Monotonic);
    machine.overlap.window().expect("a window");
    let online: Vec<_> = cpus("online").iter().collect();
    let stop = AtomicBool::new(false);
    let work = || wander(&online, 300, Duration::from_millis(1));
    let (told, asked_ns, window) = std::thread::scope(|scope| {
        let storms = [(); 3].map(|()| scope.spawn(|| storm(&stop)));
        let (told, (asked_ns, window)) = meanwhile(&[&work], || {
            (clock_ns(ClockId::Monotonic), machine.overlap.window().expect("a window"))
        });
        stop.store(true, Ordering::Relaxed);
        let count: u32 = storms.into_iter().map(|storm| storm.join().expect("a storm")).sum();
        assert!(count > 0, "there was a storm");
        (told[0], asked_ns, window)
    });
    let windows = [window];
    whole(&windows, stolen_ns() - stolen_before_ns);
    let [window] = &windows;
    for cpu in &window.cpus {
        assert!(cpu.from_ns >= before_ns && cpu.until_ns >= asked_ns, "{cpu:?}");
        assert!(cpu.until_ns <= clock_ns(ClockId::Monotonic), "{cpu:?}");
    }
    agree(run_of(&windows, told.tid).iter().sum(), told, "the wanderer");
}

#[test]
fn every_descendant_counts_however_short_it_lives() {
    let Some(mut machine) = machine::start() else { return };
    machine.overlap.follow_children(std::process::id()).expect("followed");
    machine.overlap.window().expect("a window");
    // Children of a shell that ends before its own child does.
    let script = "(for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done) & (/bin/true & true) & wait";
    let mut command = Command::new("/bin/sh").args(["-c", script]).spawn().expect("a shell");
    let root = command.id();
    assert!(command.wait().expect("an end").success());
    // The grandchild that nobody waits for.
    std::thread::sleep(Duration::from_millis(100));
    let window = machine.overlap.window().expect("a window");
    let own = window.tasks.iter().filter(|task| task.followed == Some(root));
    let programs = own.clone().filter(|task| task.comm == "true").count();
    assert_eq!(programs, 11, "{:?}", own.map(|task| &task.comm).collect::<Vec<_>>());
    let others = |task: &&coretwin_bpf::overlap::TaskTime| task.tgid == std::process::id();
    assert!(window.tasks.iter().filter(others).all(|task| task.followed.is_none()));
}
