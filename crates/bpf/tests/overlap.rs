//! The program of `overlap` in the kernel of this machine.

#![cfg(feature = "bpf")]
#![expect(clippy::print_stdout, reason = "what is skipped is said")]

use coretwin_base::cpu_set::CpuSet;
use coretwin_bpf::Error;
use coretwin_bpf::overlap::{Overlap, SiblingMap};
use std::fs::read_to_string;
use std::time::Duration;

fn cpus(what: &str) -> CpuSet {
    let text = read_to_string(format!("/sys/devices/system/cpu/{what}")).expect("a list of CPUs");
    CpuSet::parse(text.trim()).expect("a list of CPUs")
}

#[test]
fn tasks_and_idle_are_the_whole_time() {
    let map = SiblingMap::new(&cpus("possible"), &cpus("online"), &[]).expect("map");
    let mut overlap = match Overlap::start(&map, 32768) {
        Err(error @ (Error::NotPermitted | Error::NoTypes { .. })) => {
            return println!("skipped: {error}");
        }
        started => started.expect("started"),
    };
    std::thread::sleep(Duration::from_millis(300));
    let window = overlap.window().expect("window");
    for cpu in &window.cpus {
        let parts_ns = cpu.tasks_ns + cpu.idle_ns + cpu.offline_ns;
        assert_eq!(parts_ns, cpu.until_ns - cpu.from_ns, "{cpu:?}");
    }
    let charged_ns: u64 = window.cpus.iter().map(|cpu| cpu.run_ns).sum();
    let tasks_ns: u64 =
        window.tasks.iter().flat_map(|task| &task.runs).flat_map(|run| &run.busy_ns).sum();
    assert_eq!(tasks_ns, charged_ns, "every nanosecond that was charged is some task's");
    assert_eq!(window.missing.unlisted, 0, "{:?}", window.missing);
}
