//! The methods look at the same programs at the same time: what `ebpf` counts switch by switch lies in
//! the ranges of the others. Holds however busy the machine is, because nothing is assumed of it. On
//! siblings that the kernel knows, where there are some, as in the guests of `cargo xtask vm account`.

use coretwin_account::bounds::Bounds;
use coretwin_account::ebpf::Ebpf;
use coretwin_account::method::{Method, watch};
use coretwin_account::sampled::{Effort, Sampled};
use coretwin_base::account::{Siblings, Window};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::machine::topology::Topology;
use coretwin_host::root::Root;
use coretwin_host::topology;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How long is watched, by real CPUs and by emulated ones.
const LENGTH: [Duration; 2] = [Duration::from_secs(4), Duration::from_secs(12)];

/// Whether the CPUs are emulated, a hundred times slower and stopped anywhere.
fn is_emulated() -> bool {
    std::env::var_os("CORETWIN_EMULATED").is_some()
}

/// A shell on one CPU that works and sleeps in turns until it is dropped.
struct Phases(Child);

impl Phases {
    fn on(cpu: CpuId, sleep: &str) -> Self {
        let rounds = if is_emulated() { 500 } else { 20_000 };
        let work = format!("i=0; while [ $i -lt {rounds} ]; do i=$((i+1)); done");
        let script = format!("while :; do {work}; {sleep}; done");
        let mut shell = Command::new("taskset");
        shell.args(["-c", &cpu.to_string(), "sh", "-c", &script]);
        Self(shell.spawn().expect("taskset starts"))
    }
}

impl Drop for Phases {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Raw time of a thread, and the range of its shared time as shares of it.
fn shared(window: &Window, tid: u32) -> Option<(f64, [f64; 3])> {
    let task = window.tasks.iter().find(|task| task.tid == tid)?;
    let (mut raw_s, mut alone) = (0.0, [0.0; 3]);
    for run in &task.runs {
        raw_s += run.raw_s();
        let span = run.alone_s();
        for (sum, end) in alone.iter_mut().zip([span.high, span.value, span.low]) {
            *sum += end;
        }
    }
    Some((raw_s, alone.map(|alone_s| 1.0 - alone_s / raw_s)))
}

/// Two CPUs of one core and who else has siblings: by the kernel, else as if the first two shared one.
fn on_siblings(topology: &Topology) -> Option<(Siblings, [CpuId; 2])> {
    let two = |cpus: &CpuSet| {
        let cpus: Vec<CpuId> = cpus.intersection(&topology.allowed).iter().take(2).collect();
        <[CpuId; 2]>::try_from(cpus).ok()
    };
    let kernel = Siblings::of_kernel(topology);
    if let Some(pair) = kernel.cores.iter().find_map(two) {
        return Some((kernel, pair));
    }
    let [a, b] = two(&topology.allowed)?;
    let map = Siblings::parse(&format!("{a}+{b}"), &topology.online).expect("siblings");
    Some((map, [a, b]))
}

#[test]
#[expect(clippy::print_stderr, reason = "why a test checks nothing, or what it found")]
fn what_ebpf_counts_lies_in_the_ranges_of_the_others() {
    let root = Root::system();
    let topology = topology::read(&root).expect("topology");
    let Some((siblings, [a, b])) = on_siblings(&topology) else {
        eprintln!("skipped: two CPUs are needed");
        return;
    };
    let mut exact = Ebpf::new(&root, siblings.clone());
    if let Err(error) = exact.start() {
        eprintln!("skipped: {error}");
        return;
    }
    let programs = [Phases::on(a, ":"), Phases::on(b, "sleep 0.3"), Phases::on(b, "sleep 0.05")];
    // Where a look takes long it has to be allowed more, or there are too few to say anything.
    let share_max = if is_emulated() { 0.4 } else { Effort::default().share_max };
    let effort = Effort { share_max, ..Effort::default() };
    let mut others: [Box<dyn Method>; 2] = [
        Box::new(Sampled::new(&root, siblings.clone(), effort)),
        Box::new(Bounds::new(&root, siblings, effort)),
    ];
    // Begun together, again: what was before counts nowhere.
    let begun = Instant::now();
    exact.window().expect("a window");
    for method in &mut others {
        method.start().expect("starts");
    }
    let mut apart = begun.elapsed();
    let end = Instant::now() + LENGTH[usize::from(is_emulated())];
    let tick = Duration::from_millis(2);
    while Instant::now() < end {
        let until = Instant::now() + tick;
        for method in &mut others {
            if method.due().is_some_and(|due| due <= Instant::now()) {
                method.look().expect("looks");
            }
        }
        watch(&mut exact, &mut || Instant::now() < until).expect("goes on");
    }
    let ended = Instant::now();
    let truth = exact.window().expect("a window");
    let found = others.map(|mut method| (method.name(), method.window().expect("a window")));
    apart += ended.elapsed();
    for program in &programs {
        let tid = program.0.id();
        let Some((raw_s, [_, share, _])) = shared(&truth, tid).filter(|(raw_s, _)| *raw_s > 0.05)
        else {
            continue;
        };
        for (name, window) in &found {
            let Some((_, [low, _, high])) = shared(window, tid) else {
                panic!("{} did not see {tid}, which ran {raw_s} s", name.name());
            };
            eprintln!("{}: {share:.3} in {low:.3} to {high:.3} of {raw_s:.2} s", name.name());
            // The methods begin and end so far apart, on a busy host some tenths of a second, and the
            // kernel's own times are in ticks of some milliseconds: what those may be off is a guess.
            let ticks_s = if is_emulated() { 0.2 } else { 0.05 };
            let slack = (apart.as_secs_f64() + ticks_s) / raw_s;
            assert!(
                low - slack <= share && share <= high + slack,
                "{}: {share} {low} {high}",
                name.name()
            );
        }
    }
}
