//! Memory stays flat, however long it is watched and whoever comes and goes: windows at the highest
//! rate the machine gives instead of one a second, so that some hundred stand for minutes. In real time
//! `cargo xtask soak` does the same with the programs.

use coretwin_account::bounds::Bounds;
use coretwin_account::method::Method;
use coretwin_account::sampled::{Effort, Sampled};
use coretwin_base::account::Siblings;
use coretwin_host::root::Root;
use coretwin_host::topology;
use std::process::Command;

const WINDOWS: u32 = 240;
/// How much it may grow after a third of them, in KiB.
const GROWTH_KIB_MAX: u64 = 1024;

fn resident_kib(root: &Root) -> u64 {
    let status = root.text("proc/self/status").expect("status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
    line.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number")
}

/// Looks and windows as fast as can be, while processes come and go.
fn soak(method: &mut dyn Method, root: &Root) -> (u64, u64) {
    method.start().expect("starts");
    let mut settled_kib = 0;
    for window in 0..WINDOWS {
        for _ in 0..3 {
            Command::new("true").status().expect("true");
            method.look().expect("looks");
        }
        let seen = method.window().expect("a window");
        assert!(seen.elapsed_s > 0.0 && !seen.cores.is_empty());
        assert!(seen.tasks.iter().all(|task| task.raw_s > 0.0), "only tasks that ran");
        if window == WINDOWS / 3 {
            settled_kib = resident_kib(root);
        }
    }
    (settled_kib, resident_kib(root))
}

#[test]
fn memory_is_flat() {
    let root = Root::system();
    let siblings = Siblings::of_kernel(&topology::read(&root).expect("topology"));
    let effort = Effort { is_thorough: false, ..Effort::default() };
    let mut methods: [Box<dyn Method>; 2] = [
        Box::new(Sampled::new(&root, siblings.clone(), effort)),
        Box::new(Bounds::new(&root, siblings, effort)),
    ];
    for method in &mut methods {
        let (settled_kib, end_kib) = soak(method.as_mut(), &root);
        assert!(
            end_kib <= settled_kib + GROWTH_KIB_MAX,
            "{}: {settled_kib} KiB after a third of the windows, {end_kib} KiB at the end",
            method.name().name()
        );
    }
}
