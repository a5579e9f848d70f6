//! CPUs that go and come back. Only where they are the test's to take: in a guest.

use crate::load::storm;
use crate::machine;
use crate::totals::{stolen_ns, whole};
use std::sync::atomic::{AtomicBool, Ordering};

/// Set where CPUs may be switched off.
const ALLOWED: &str = "CORETWIN_HOTPLUG";

#[test]
fn a_cpu_that_goes_and_comes_back_loses_nothing() {
    if std::env::var_os(ALLOWED).is_none() {
        println!("skipped: {ALLOWED} is not set, so this machine's CPUs are left alone");
        return;
    }
    let Some(mut machine) = machine::start() else { return };
    let [_, second] = machine.pair();
    let switch = format!("/sys/devices/system/cpu/cpu{}/online", second.0);
    let stolen_before_ns = stolen_ns();
    machine.overlap.window().expect("a window");
    let stop = AtomicBool::new(false);
    let mut windows = Vec::new();
    std::thread::scope(|scope| {
        let storms = [(); 2].map(|()| scope.spawn(|| storm(&stop)));
        for state in ["0", "1", "0", "1"] {
            std::fs::write(&switch, state).expect("switched");
            windows.push(machine.overlap.window().expect("a window"));
        }
        stop.store(true, Ordering::Relaxed);
        let count: u32 = storms.into_iter().map(|storm| storm.join().expect("a storm")).sum();
        assert!(count > 0, "there was a storm");
    });
    windows.push(machine.overlap.window().expect("a window"));
    whole(&windows, stolen_ns() - stolen_before_ns);
    let gone = |cpu: &coretwin_bpf::overlap::CpuTime| cpu.cpu == second && cpu.offline_ns > 0;
    let count = windows.iter().flat_map(|window| &window.cpus).filter(|cpu| gone(cpu)).count();
    assert!(count > 0, "it was away");
}
