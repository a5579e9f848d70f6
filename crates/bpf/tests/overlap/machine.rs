//! The machine the tests run on, one test at a time.

use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_bpf::Error;
use coretwin_bpf::overlap::{Overlap, Room, SiblingMap, TaskTime, Window};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeSet;
use std::fs::read_to_string;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whether this is a guest whose CPUs take turns on one, as its suite says: each stops for
/// milliseconds, anywhere, so also between our look at the clock and the trace's.
pub(crate) fn is_emulated() -> bool {
    std::env::var_os("CORETWIN_EMULATED").is_some()
}

/// How far off, in nanoseconds, a time may be besides one per cent.
pub(crate) fn off_ns() -> f64 {
    if is_emulated() { 20e6 } else { 300e3 }
}

/// The program, started, while no other test runs.
pub(crate) struct Machine {
    pub(crate) map: SiblingMap,
    pub(crate) overlap: Overlap,
    _turn: MutexGuard<'static, ()>,
}

/// A list of CPUs of the kernel's.
pub(crate) fn cpus(what: &str) -> CpuSet {
    let path = format!("/sys/devices/system/cpu/{what}");
    CpuSet::parse(read_to_string(&path).expect(&path).trim()).expect("a list of CPUs")
}

/// The kernel's map of siblings; where there are none, the first two CPUs are declared to be.
pub(crate) fn map() -> SiblingMap {
    let (possible, online) = (cpus("possible"), cpus("online"));
    let list = |cpu: CpuId| cpus(&format!("cpu{}/topology/thread_siblings_list", cpu.0));
    let mut cores: BTreeSet<Vec<CpuId>> =
        online.iter().map(|cpu| list(cpu).iter().collect()).collect();
    if cores.iter().all(|core| core.len() == 1) {
        cores = BTreeSet::from([online.iter().take(2).collect()]);
    }
    let cores: Vec<CpuSet> = cores.iter().map(|core| core.iter().copied().collect()).collect();
    SiblingMap::new(&possible, &online, &cores).expect("the kernel's own map")
}

/// One test after the other: each would be the others' load.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the program; says why not where it cannot run.
pub(crate) fn start() -> Option<Machine> {
    start_with(Room::default())
}

/// The same with so much room.
pub(crate) fn start_with(room: Room) -> Option<Machine> {
    start_on(map(), room)
}

/// The same on some map.
pub(crate) fn start_on(map: SiblingMap, room: Room) -> Option<Machine> {
    let turn = turn();
    if map.cores().iter().all(|core| core.len() < 2) {
        println!("skipped: there is one CPU");
        return None;
    }
    match Overlap::start(&map, room) {
        Err(error @ (Error::NotPermitted { .. } | Error::NoTypes { .. })) => {
            println!("skipped: {error}");
            None
        }
        started => Some(Machine { map, overlap: started.expect("started"), _turn: turn }),
    }
}

impl Machine {
    /// Two CPUs of one core.
    pub(crate) fn pair(&self) -> [CpuId; 2] {
        let core = self.map.cores().iter().find(|core| core.len() >= 2).expect("a pair");
        let mut cpus = core.iter();
        [cpus.next().expect("first"), cpus.next().expect("second")]
    }
}

/// The windows, put together: what a task did in all of them.
pub(crate) fn run_of(windows: &[Window], tid: u32) -> Vec<u64> {
    let mut sum = Vec::new();
    let tasks = windows.iter().flat_map(|window| &window.tasks).filter(|task| task.tid == tid);
    for run in tasks.flat_map(|task| &task.runs) {
        sum.resize(sum.len().max(run.busy_ns.len()), 0);
        sum.iter_mut().zip(&run.busy_ns).for_each(|(sum, ns)| *sum += ns);
    }
    sum
}

/// All run time of a task in a window.
pub(crate) fn total_ns(task: &TaskTime) -> u64 {
    task.runs.iter().flat_map(|run| &run.busy_ns).sum()
}

/// A clock, in nanoseconds.
pub(crate) fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    u64::try_from(now.tv_sec).expect("after boot") * 1_000_000_000
        + u64::try_from(now.tv_nsec).expect("positive")
}
