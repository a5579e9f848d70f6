//! 256 CPUs and 5,000 tasks: what is shown of them, and that nothing grows.

mod support;

use coretwin_base::account::MethodName;
use coretwin_top::snapshot::Snapshot;
use coretwin_top::source::LOOKS_SHARE_MAX;
use coretwin_top::{live, live::Until, terminal::Signals};
use std::time::Duration;
use support::{Big, CPUS, RUNNING, screen_of};

/// Windows of the test; of a tenth of the usual length and less.
const WINDOWS: u64 = 60;

/// What memory may come and go with the windows, in KiB.
const MEMORY_KIB: u64 = 8 << 10;

/// Memory of this process.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn median(values: &[usize]) -> usize {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

#[test]
fn a_big_machine_is_readable_and_nothing_grows() {
    let folder = support::folder().expect("folder");
    let big = Big::start(folder.path(), Duration::from_millis(20)).expect("machine");
    // Ten times the share of a release build, so that a slow build looks in some of the windows too.
    let share_max = 10.0 * LOOKS_SHARE_MAX;
    let mut source = big.source(MethodName::Sampled, share_max, true).expect("source");
    let (mut sizes, mut tasks, mut resident) = (Vec::new(), Vec::new(), Vec::new());
    let mut last = None;
    let until = Until { windows: Some(WINDOWS), time: None };
    let signals = Signals::default();
    live::each(&mut source, Duration::from_millis(100), until, &signals, &mut |snapshot| {
        sizes.push(serde_json::to_string(snapshot).expect("json").len());
        tasks.push(snapshot.tasks.len());
        resident.push(resident_kib());
        // Windows are so short that some have no look, and then no task.
        if last.as_ref().is_none_or(|last: &Snapshot| snapshot.tasks.len() >= last.tasks.len()) {
            last = Some(snapshot.clone());
        }
        Ok(())
    })
    .expect("windows");
    let last = last.expect("a window");
    assert_eq!((last.machine.cpus, last.machine.cores), (CPUS, CPUS / 2));
    // Far fewer tasks than there are: those that ran. (More ran in a window that was stopped.)
    let usual = median(&tasks);
    assert!(usual < 3 * RUNNING as usize, "{tasks:?}");
    assert!(
        !last.tasks.is_empty() && last.machine.core_busy_share.value > 0.2,
        "{:?}",
        last.machine
    );
    // A task takes some 700 bytes, a core 600; however long it runs, there are not more of them.
    let usual = median(&sizes);
    assert!(usual < 3 * RUNNING as usize * 1000 + CPUS as usize * 1000, "{sizes:?} bytes");
    let (early, late) = (resident[resident.len() / 3], resident[resident.len() - 1]);
    assert!(late < early + MEMORY_KIB, "from {early} to {late} KiB");
    for (width, height) in [(80, 24), (132, 50)] {
        let text = screen_of(&last, width, height);
        assert!(text.contains("256 CPUs, 128 cores"), "{text}");
        assert!(text.contains("CORES by ") || text.contains("CORES  #"), "{text}");
        assert!(text.contains("worker-"), "there is room for tasks: {text}");
        assert!(text.is_ascii());
    }
}
