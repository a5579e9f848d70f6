//! Outcome of a run.

use super::{CpuId, CpuTime, CpuUse, Distance, Histogram, Span};
use crate::policies::Decision;

/// A whole run. What is counted is counted from the end of the warm-up on; hash, log, timeline and
/// events are of all of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    pub policy: String,
    pub seed: u64,
    pub events: u64,
    pub simulated_ns: u64,
    /// Of the simulated time, after the warm-up.
    pub measured_ns: u64,
    /// Whether every task but servers ended; otherwise the time was up.
    pub finished: bool,
    /// Equal hashes: the same thing happened.
    pub trace_hash: u64,
    pub switches: u64,
    pub wake_ups: u64,
    /// Switches from a task that could have gone on.
    pub pre_emptions: u64,
    /// Receives that began; and segments and acknowledgements of connections that have them.
    pub receives: u64,
    pub segments: u64,
    /// Times a task continued on another CPU, by distance; the first is always 0.
    pub migrations: [u64; Distance::ALL.len()],
    /// Waiting tasks that policies moved between queues.
    pub pulls: u64,
    /// Time in which a core ran two tasks while another was idle.
    pub clash_ns: u64,
    pub wasted: Wasted,
    pub policy_ns: u64,
    /// From wake-up to CPU.
    pub wake_latency: Histogram,
    pub wait_longest_ns: u64,
    pub cpus: Vec<CpuOutcome>,
    /// Throughput of a core with 1, 2, … CPUs busy over one busy; `None` where that did not occur.
    pub core_throughput: Vec<Option<f64>>,
    pub programs: Vec<ProgramOutcome>,
    /// Each kind of operation, in order of number.
    pub operations: Vec<OperationOutcome>,
    /// Tasks in order of birth, the first [`TASKS_KEPT`].
    pub tasks: Vec<TaskOutcome>,
    pub tasks_total: u64,
    pub storage: StorageOutcome,
    pub decisions: Vec<Decision>,
    pub spans: Vec<Span>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wasted {
    /// A CPU was idle while a task waited that may run on any.
    pub idle_cpu_ns: u64,
    pub idle_cpu_longest_ns: u64,
    /// A whole core was idle while a task waited that may run on any.
    pub idle_core_ns: u64,
    pub idle_core_longest_ns: u64,
}

pub const TASKS_KEPT: usize = 20_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuOutcome {
    pub cpu: CpuId,
    pub times: CpuUse,
    pub switches: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProgramOutcome {
    pub name: String,
    pub tasks: u64,
    pub ended: u64,
    pub time: CpuTime,
    pub wake_latency: Histogram,
    pub lifetime: Histogram,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationOutcome {
    pub kind: u32,
    pub count: u64,
    pub latency: Histogram,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskOutcome {
    pub serial: u64,
    pub program: u32,
    /// Its nice value at the end.
    pub nice: i8,
    pub born_ns: u64,
    pub ended_ns: Option<u64>,
    pub time: CpuTime,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StorageOutcome {
    pub hits: u64,
    pub misses: u64,
    pub evicted: u64,
    pub written_back: u64,
    pub throttled: u64,
    /// Requests that the disk served, neighbours merged.
    pub requests: u64,
    pub blocks: u64,
    pub disk_busy_ns: u64,
}

impl Outcome {
    /// Jain's index of fairness over the CPU time of tasks of equal program and nice value that were
    /// there for 99 % of the measurement, to its end: 1 is perfectly even, 1/n is all to one of n. None
    /// with fewer than two such tasks. Groups are weighed by their tasks.
    pub fn fairness(&self) -> Option<f64> {
        // Without a warm-up there are no tasks at the very beginning: making one takes time.
        let by_ns = self.simulated_ns - self.measured_ns + self.measured_ns / 100;
        let stayed = |task: &&TaskOutcome| task.born_ns <= by_ns && task.ended_ns.is_none();
        let mut tasks: Vec<&TaskOutcome> = self.tasks.iter().filter(stayed).collect();
        tasks.sort_by_key(|task| (task.program, task.nice));
        let same = |a: &&TaskOutcome, b: &&TaskOutcome| (a.program, a.nice) == (b.program, b.nice);
        let (mut weighted, mut count) = (0.0, 0);
        for group in tasks.chunk_by(same).filter(|group| group.len() > 1) {
            let times = group.iter().map(|task| task.time.raw_ns() as f64);
            let sum: f64 = times.clone().sum();
            let squares: f64 = times.map(|time| time * time).sum();
            if squares > 0.0 {
                weighted += sum * sum / squares;
                count += group.len();
            }
        }
        (count > 0).then(|| weighted / count as f64)
    }

    /// Part of the time of all online CPUs in which they worked.
    pub fn utilisation(&self) -> f64 {
        let busy: u64 = self.cpus.iter().map(|cpu| cpu.times.user_ns + cpu.times.system_ns).sum();
        let idle: u64 = self.cpus.iter().map(|cpu| cpu.times.idle_ns).sum();
        busy as f64 / (busy + idle).max(1) as f64
    }

    /// Operations of all kinds a second of measured time.
    pub fn operations_per_s(&self) -> f64 {
        let count: u64 = self.operations.iter().map(|operation| operation.count).sum();
        count as f64 * 1e9 / self.measured_ns.max(1) as f64
    }
}
