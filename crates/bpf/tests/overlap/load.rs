//! Work of known kinds.

use crate::machine::clock_ns;
use coretwin_base::machine::cpu_set::CpuId;
use rustix::thread::{CpuSet, gettid, sched_setaffinity};
use rustix::time::ClockId;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

/// What a thread says of itself at its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told {
    pub(crate) tid: u32,
    /// CLOCK_THREAD_CPUTIME_ID.
    pub(crate) cpu_ns: u64,
    /// The first field of its schedstat; 0 where the kernel has none.
    pub(crate) schedstat_ns: u64,
}

/// What this thread says of itself now.
pub(crate) fn told() -> Told {
    // The clock first: asking for it has the scheduler charge what is still open.
    let cpu_ns = clock_ns(ClockId::ThreadCPUTime);
    Told { tid: tid(), cpu_ns, schedstat_ns: charged_ns("/proc/thread-self/schedstat") }
}

/// The first field of a task's schedstat; 0 where the kernel has none.
fn charged_ns(path: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default()
}

fn tid() -> u32 {
    u32::try_from(gettid().as_raw_nonzero().get()).expect("positive")
}

/// Moves this thread.
pub(crate) fn pin(cpu: CpuId) {
    let mut set = CpuSet::new();
    set.set(usize::try_from(cpu.0).expect("small"));
    sched_setaffinity(None, &set).expect("pinned");
}

/// Burns CPU time of this thread.
pub(crate) fn burn(time: Duration) {
    let end_ns = clock_ns(ClockId::ThreadCPUTime) + u64::try_from(time.as_nanos()).expect("short");
    while clock_ns(ClockId::ThreadCPUTime) < end_ns {
        std::hint::spin_loop();
    }
}

/// Burns and sleeps by turns.
pub(crate) fn phases(cpu: CpuId, count: u32, busy: Duration, idle: Duration) {
    pin(cpu);
    for _ in 0..count {
        burn(busy);
        std::thread::sleep(idle);
    }
}

/// Burns while it goes from CPU to CPU.
pub(crate) fn wander(cpus: &[CpuId], moves: usize, each: Duration) {
    for &cpu in cpus.iter().cycle().take(moves) {
        pin(cpu);
        burn(each);
    }
}

/// Runs each work in a thread of its own and, when all are done and their threads sleep, what is to be
/// done then. Their ends come after that: what a thread does when it ends, it no longer can tell.
pub(crate) fn meanwhile<T>(
    works: &[&(dyn Fn() + Sync)],
    then: impl FnOnce() -> T,
) -> (Vec<Told>, T) {
    std::thread::scope(|scope| {
        let (tell, hear) = channel();
        let releases: Vec<_> = works
            .iter()
            .map(|work| {
                let (tell, (release, released)) = (tell.clone(), channel::<()>());
                scope.spawn(move || {
                    work();
                    tell.send(told()).expect("somebody listens");
                    released.recv().ok();
                });
                release
            })
            .collect();
        let mut told: Vec<Told> = works.iter().map(|_| hear.recv().expect("a thread")).collect();
        std::thread::sleep(Duration::from_millis(50));
        // They sleep: what the scheduler has charged them is all there is.
        for told in &mut told {
            told.schedstat_ns = charged_ns(&format!("/proc/self/task/{}/schedstat", told.tid));
        }
        let outcome = then();
        drop(releases);
        (told, outcome)
    })
}

/// Processes that do next to nothing, each of which starts a program, and threads, until told to stop;
/// how many.
pub(crate) fn storm(stop: &AtomicBool) -> u32 {
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        let ended = Command::new("/bin/true").status().expect("there is /bin/true");
        assert!(ended.success());
        let threads: Vec<_> =
            (0..4).map(|_| std::thread::spawn(|| burn(Duration::from_micros(200)))).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
        count += 1;
    }
    count
}
