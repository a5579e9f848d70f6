//! The methods look at the same programs at the same time: what `ebpf` counts switch by switch lies in
//! the ranges of the others. Holds however busy the machine is, because nothing is assumed of it.

use coretwin_account::bounds::Bounds;
use coretwin_account::ebpf::Ebpf;
use coretwin_account::method::Method;
use coretwin_account::sampled::{Effort, Sampled};
use coretwin_account::watch::watch;
use coretwin_base::account::{Siblings, Window};
use coretwin_base::cpu_set::CpuId;
use coretwin_host::root::Root;
use coretwin_host::topology;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How long is watched.
const LENGTH: Duration = Duration::from_secs(4);

/// A shell on one CPU that works and sleeps in turns until it is dropped.
struct Phases(Child);

impl Phases {
    fn on(cpu: CpuId, sleep: &str) -> Self {
        let work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
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

#[test]
#[expect(clippy::print_stderr, reason = "why a test checks nothing, or what it found")]
fn what_ebpf_counts_lies_in_the_ranges_of_the_others() {
    let root = Root::system();
    let topology = topology::read(&root).expect("topology");
    let cpus: Vec<CpuId> = topology.allowed.iter().take(2).collect();
    let [a, b] = cpus[..] else {
        eprintln!("skipped: two CPUs are needed");
        return;
    };
    let siblings = Siblings::parse(&format!("{a}+{b}"), &topology.online).expect("siblings");
    let mut exact = Ebpf::new(&root, siblings.clone());
    if let Err(error) = exact.start() {
        eprintln!("skipped: {error}");
        return;
    }
    let programs = [Phases::on(a, ":"), Phases::on(b, "sleep 0.3"), Phases::on(b, "sleep 0.05")];
    let mut others: [Box<dyn Method>; 2] = [
        Box::new(Sampled::new(&root, siblings.clone(), Effort::default())),
        Box::new(Bounds::new(&root, siblings, 0.02)),
    ];
    // Begun together, again: what was before counts nowhere.
    exact.window().expect("a window");
    for method in &mut others {
        method.start().expect("starts");
    }
    let end = Instant::now() + LENGTH;
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
    let truth = exact.window().expect("a window");
    let found = others.map(|mut method| (method.name(), method.window().expect("a window")));
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
            // The methods begin and end some hundredths of a second apart.
            let slack = 0.05 / raw_s;
            assert!(
                low - slack <= share && share <= high + slack,
                "{}: {share} {low} {high}",
                name.name()
            );
        }
    }
}
