//! The kernel's own trace of switches, as an independent witness.

use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const MOUNTED: &str = "/sys/kernel/tracing";
/// For each CPU; some 100,000 switches.
const BUFFER_KIB: &str = "16384";

/// A trace that is being written.
pub(crate) struct Trace(PathBuf);

/// Who had a CPU when the kernel did not show a task's coming, only its going: before it came the CPU had
/// what the switch before says, for how long is not known.
pub(crate) const HIDDEN: u32 = u32::MAX;

/// From when a CPU had which task; 0 is the idle task.
pub(crate) type Switches = BTreeMap<CpuId, Vec<(u64, u32)>>;

impl Trace {
    /// Begins; `None` where there is no trace.
    pub(crate) fn start() -> Option<Self> {
        if !Path::new(MOUNTED).join("instances").exists() {
            println!("skipped: no trace is mounted on {MOUNTED}");
            return None;
        }
        let folder =
            Path::new(MOUNTED).join("instances").join(format!("coretwin-{}", std::process::id()));
        fs::create_dir(&folder).expect("a trace of our own");
        let trace = Self(folder);
        trace.set("trace_clock", "mono");
        trace.set("buffer_size_kb", BUFFER_KIB);
        trace.set("events/sched/sched_switch/enable", "1");
        Some(trace)
    }

    fn set(&self, file: &str, value: &str) {
        fs::write(self.0.join(file), value).expect(file);
    }

    /// Ends, and says who was where; `None` if it was too much for the buffer.
    pub(crate) fn finish(self, cpus: &CpuSet) -> Option<Switches> {
        self.set("events/sched/sched_switch/enable", "0");
        for cpu in cpus.iter() {
            let path = self.0.join(format!("per_cpu/cpu{}/stats", cpu.0));
            let stats = fs::read_to_string(path).expect("statistics");
            if !stats.lines().any(|line| line == "overrun: 0") {
                println!("skipped: the trace lost switches of CPU {}", cpu.0);
                return None;
            }
        }
        let text = fs::read(self.0.join("trace")).expect("the trace");
        let mut switches = Switches::new();
        for line in String::from_utf8_lossy(&text).lines() {
            let Some((cpu, at_ns, from, to)) = switch(line) else { continue };
            let of_cpu = switches.entry(cpu).or_default();
            follow(of_cpu, at_ns, from, to);
        }
        Some(switches)
    }
}

fn follow(of_cpu: &mut Vec<(u64, u32)>, at_ns: u64, from: u32, to: u32) {
    match of_cpu.last_mut() {
        None => of_cpu.push((0, from)),
        Some((_, before)) if *before != from => *before = HIDDEN,
        Some(_) => {}
    }
    of_cpu.push((at_ns, to));
}

impl Drop for Trace {
    fn drop(&mut self) {
        fs::remove_dir(&self.0).ok();
    }
}

/// `  name-12 [001] d..2. 36458.053912: sched_switch: prev_comm=… prev_pid=12 … next_pid=13 …`
fn switch(line: &str) -> Option<(CpuId, u64, u32, u32)> {
    let (head, event) = line.split_once(": sched_switch: ")?;
    let (head, seconds) = head.rsplit_once(' ')?;
    let cpu = head.rsplit_once('[')?.1.split_once(']')?.0.parse().ok()?;
    let (whole, micros) = seconds.split_once('.')?;
    let at_us = whole.parse::<u64>().ok()? * 1_000_000 + micros.parse::<u64>().ok()?;
    let number = |name: &str| {
        // A task may call itself anything; its number comes after its name.
        let rest = event.rsplit_once(name)?.1;
        rest.split(' ').next()?.parse::<u32>().ok()
    };
    Some((CpuId(cpu), at_us * 1000, number(" prev_pid=")?, number(" next_pid=")?))
}

/// The time of each task with k of its core busy, at k - 1, in the CPUs' windows.
pub(crate) type Shares = BTreeMap<u32, Vec<u64>>;

/// Who ran beside how many, by the trace: of one core, each CPU from and until its own moments. The idle
/// task's is in place 0: the time of idle CPUs by the number of the others that are busy, at that.
pub(crate) fn shares(
    switches: &Switches,
    core: &CpuSet,
    windows: &BTreeMap<CpuId, (u64, u64)>,
) -> Shares {
    let mut events: Vec<(u64, CpuId, u32)> = Vec::new();
    for cpu in core.iter() {
        let of_cpu = switches.get(&cpu).into_iter().flatten();
        events.extend(of_cpu.map(|&(at_ns, task)| (at_ns, cpu, task)));
    }
    events.sort_by_key(|&(at_ns, ..)| at_ns);
    let mut running: BTreeMap<CpuId, u32> = core.iter().map(|cpu| (cpu, 0)).collect();
    let mut shares = Shares::new();
    let ends = events.iter().skip(1).map(|event| event.0).chain([u64::MAX]);
    for (&(from_ns, cpu, task), until_ns) in events.iter().zip(ends) {
        running.insert(cpu, task);
        let busy = running.values().filter(|&&task| task != 0).count();
        for (cpu, &task) in &running {
            let (begin_ns, end_ns) = windows[cpu];
            let part_ns = until_ns.min(end_ns).saturating_sub(from_ns.max(begin_ns));
            let place = if task == 0 { busy } else { busy - 1 };
            let sum = shares.entry(task).or_insert_with(|| vec![0; core.len()]);
            sum[place] += part_ns;
        }
    }
    shares
}

#[test]
fn a_line_of_the_trace_is_read_whatever_tasks_are_called() {
    let line = "  a ] b-12  [001] d..2. 36458.053912: sched_switch: prev_comm=x prev_pid=3 y \
                prev_pid=12 prev_prio=120 prev_state=R ==> next_comm=z next_pid=13 next_prio=120";
    assert_eq!(switch(line), Some((CpuId(1), 36_458_053_912_000, 12, 13)));
    assert_eq!(switch("# tracer: nop"), None);
}

#[test]
fn a_task_whose_coming_was_not_shown_leaves_a_stretch_of_which_nothing_is_known() {
    let mut of_cpu = Vec::new();
    for (at_ns, from, to) in [(10, 7, 0), (30, 8, 0), (40, 0, 9)] {
        follow(&mut of_cpu, at_ns, from, to);
    }
    assert_eq!(of_cpu, [(0, 7), (10, HIDDEN), (30, 0), (40, 9)]);
}

#[test]
fn shares_of_a_trace_are_those_worked_out_by_hand() {
    let core: CpuSet = [CpuId(0), CpuId(1)].into_iter().collect();
    let switches = Switches::from([
        (CpuId(0), vec![(0, 7), (60, 0), (90, 7)]),
        (CpuId(1), vec![(0, 0), (20, 8), (50, 9), (80, 0)]),
    ]);
    let windows = BTreeMap::from([(CpuId(0), (10, 100)), (CpuId(1), (10, 110))]);
    let shares = shares(&switches, &core, &windows);
    assert_eq!(shares[&7], [10 + 10, 40], "alone 10-20 and 90-100, with another 20-60");
    assert_eq!((&shares[&8][..], &shares[&9][..]), (&[0, 30][..], &[20, 10][..]));
    assert_eq!(shares[&0], [10 + 10, 10 + 20 + 20], "both idle 80-90; others busy");
}
