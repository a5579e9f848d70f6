//! The method `sampled`: who can run on which CPU, read from `/proc` at random moments.
//!
//! Time is cut into strata of equal length; each has one look at a moment drawn evenly from it, from
//! a seeded stream, so that no rhythm of the machine can hide behind the looks. A stratum is as long as
//! keeps the looks below a share of one CPU. What the looks say is in [`tally`].
//!
//! Where strata are long, short *glances* between the looks meet who is new and read what the newest
//! have run so far: a process of a second may be gone at the next look.

pub(crate) mod coverage;
mod tally;

use crate::Error;
use crate::method::{Method, balance_of_stat};
use crate::roster::{Roster, cpu_s};
use coretwin_base::account::{CpuUse, MethodName, Siblings, TaskUse, Unseen, Window};
use coretwin_base::machine::cpu_set::CpuId;
use coretwin_base::random::Stream;
use coretwin_host::observe::{self, CpuTimes};
use coretwin_host::root::Root;
use coretwin_stats::confidence;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tally::{Residue, Tally};

/// How often the ranges of shared time hold the truth, at least.
pub const COVERAGE: f64 = confidence::CONFIDENCE;
/// Within so many seconds every thread that sleeps is looked at once, if the cost allows it.
const TURN_S: f64 = 1.0;
/// Between two looks it is glanced at who is new, if the cost allows it.
const GLANCE_EVERY: Duration = Duration::from_millis(20);
/// Of the newest threads so many are read at a glance.
const GLANCED: usize = 64;
/// For so many looks a thread that ran is read at each, but not for longer than some seconds.
const AWAKE_LOOKS: u32 = 100;
const PAIRS: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Most CPU time of the looks, as a share of one CPU; the glances have half as much more, reading
    /// some of the threads at the end of a window half as much again.
    pub share_max: f64,
    pub rate_max: f64,
    /// Whether a window's end reads every thread, and glances are cast; else it reads as many as it may,
    /// those first that ran most of late.
    pub is_thorough: bool,
    pub seed: u64,
}

impl Effort {
    /// What reading run times may cost at the end of so much time, half as much again as the looks, in
    /// seconds of CPU time; `None` where all are read.
    pub(crate) fn round_s(&self, length: Duration) -> Option<f64> {
        (!self.is_thorough).then_some(1.5 * self.share_max * length.as_secs_f64())
    }
}

impl Default for Effort {
    fn default() -> Self {
        Self { share_max: 0.02, rate_max: 200.0, is_thorough: true, seed: 1 }
    }
}

#[derive(Debug)]
pub struct Sampled {
    root: Root,
    effort: Effort,
    roster: Roster,
    tally: Tally,
    moments: Stream,
    /// What a look costs, a running mean in seconds of CPU time.
    cost_s: f64,
    stratum_start: Instant,
    stratum: Duration,
    due: Instant,
    glance_due: Instant,
    window_start: Instant,
    stat: Option<CpuTimes>,
}

impl Sampled {
    pub fn new(root: &Root, siblings: Siblings, effort: Effort) -> Self {
        let now = Instant::now();
        Self {
            root: root.clone(),
            effort,
            roster: Roster::new(root),
            tally: Tally::new(siblings),
            moments: Stream::new(effort.seed, "looks", 0),
            cost_s: 0.0,
            stratum_start: now,
            stratum: Duration::ZERO,
            due: now,
            glance_due: now,
            window_start: now,
            stat: None,
        }
    }

    /// Cuts the next stratum and draws its moment.
    fn next_stratum(&mut self, start: Instant) {
        let least_s = 1.0 / self.effort.rate_max;
        let length_s = (self.cost_s / self.effort.share_max).clamp(least_s, 10.0);
        self.stratum_start = start;
        self.stratum = Duration::from_secs_f64(length_s);
        self.due = start + Duration::from_secs_f64(length_s * self.moments.unit());
    }

    /// Meets who is new, and reads what the newest have run: they may end before the next look.
    fn glance(&mut self) {
        let cpu_before_s = cpu_s();
        self.roster.meet_new();
        self.roster.read_newest(GLANCED);
        let wait_s = (cpu_s() - cpu_before_s) / (self.effort.share_max / 2.0);
        let wait = Duration::try_from_secs_f64(wait_s).unwrap_or(Duration::MAX);
        self.glance_due = Instant::now() + wait.clamp(GLANCE_EVERY, Duration::from_secs(1));
    }

    /// Reads some of the threads that sleep, within a quarter of the allowance.
    fn read_sleepers(&mut self) {
        let length_s = self.stratum.as_secs_f64();
        let wanted = (self.roster.len() as f64 * length_s / TURN_S).ceil() as usize;
        self.roster.glance_at_sleepers(wanted, self.effort.share_max * length_s / 4.0);
    }

    fn residues(&self, elapsed_s: f64, now: &CpuTimes) -> BTreeMap<CpuId, Residue> {
        let Some(before) = &self.stat else { return BTreeMap::new() };
        let residue = |cpu: CpuId| {
            let told = observed_busy_s(now, before, cpu, elapsed_s)? / elapsed_s.max(1e-9);
            let seen = self.tally.busy_share(cpu);
            let residue =
                Residue { unseen: (told - seen).max(0.0), mistaken: (seen - told).max(0.0) };
            Some((cpu, residue))
        };
        self.tally.siblings.cpus().iter().filter_map(residue).collect()
    }
}

impl Method for Sampled {
    fn name(&self) -> MethodName {
        MethodName::Sampled
    }

    fn start(&mut self) -> Result<(), Error> {
        self.roster.start(self.effort.is_thorough);
        self.stat = Some(observe::cpu_times(&self.root)?);
        let now = Instant::now();
        self.window_start = now;
        self.glance_due = now + GLANCE_EVERY;
        self.next_stratum(now);
        Ok(())
    }

    fn due(&self) -> Option<Instant> {
        match self.effort.is_thorough {
            true => Some(self.due.min(self.glance_due)),
            false => Some(self.due),
        }
    }

    fn look(&mut self) -> Result<(), Error> {
        let began = Instant::now();
        if self.effort.is_thorough && began < self.due && began >= self.glance_due {
            self.glance();
            return Ok(());
        }
        self.glance_due = self.glance_due.max(began + GLANCE_EVERY);
        let cpu_before_s = cpu_s();
        self.roster.meet_new();
        let awake = match self.effort.is_thorough {
            true => self.stratum.saturating_mul(AWAKE_LOOKS),
            false => Duration::MAX,
        };
        let runnable = self.roster.runnable(awake, self.effort.is_thorough);
        let now = Instant::now();
        // A look that came late stands for all the time that had none.
        let planned_end = self.stratum_start + self.stratum;
        let end = planned_end.max(now);
        self.tally.add((end - self.stratum_start).as_secs_f64(), &runnable);
        for (from, into) in self.roster.fold() {
            self.tally.fold(from, into);
        }
        self.read_sleepers();
        let cost_s = cpu_s() - cpu_before_s;
        self.cost_s = if self.cost_s > 0.0 { self.cost_s * 0.9 + cost_s * 0.1 } else { cost_s };
        self.next_stratum(end);
        Ok(())
    }

    fn window(&mut self) -> Result<Window, Error> {
        self.roster.read_round(self.effort.round_s(self.window_start.elapsed()));
        let stat = observe::cpu_times(&self.root)?;
        let now = Instant::now();
        let elapsed_s = (now - self.window_start).as_secs_f64();
        self.roster.read_cgroups();
        let residues = self.residues(elapsed_s, &stat);
        let before = self.stat.take();
        let cpu_use = |cpu| cpu_use(cpu, &stat, before.as_ref(), elapsed_s);
        let mut tasks = Vec::new();
        let mut tids = BTreeMap::new();
        for (index, known) in self.roster.ran() {
            tids.insert(index, known.tid);
            let task = known.task_use(self.roster.hertz);
            let runs = self.tally.runs(index, task.raw_s, task.last_cpu, &residues);
            tasks.push(TaskUse { runs, ..task });
        }
        let cores = self.tally.cores(elapsed_s, cpu_use, &residues);
        let cpus = self.tally.siblings.cpus();
        let busy_s: f64 = cores.iter().flat_map(|core| &core.by_cpu).map(|cpu| cpu.busy_s).sum();
        let tasks_s = tasks.iter().map(|task| task.raw_s).sum::<f64>();
        let told = stat.since(before.as_ref().unwrap_or(&stat), &cpus);
        let window = Window {
            method: MethodName::Sampled,
            elapsed_s,
            siblings: self.tally.siblings.clone(),
            cores,
            tasks,
            pairs: self.tally.pairs(|index| tids.get(&index).copied(), PAIRS),
            clash_s: Some(self.tally.clash_s),
            unseen: Unseen {
                busy_s: (busy_s - tasks_s).max(0.0),
                lost: self.roster.missed,
                notes: Vec::new(),
            },
            balance: balance_of_stat(told, cpus.len(), elapsed_s, tasks_s),
            looks: self.tally.looks,
        };
        self.stat = Some(stat);
        self.tally = Tally::new(window.siblings.clone());
        self.roster.end_round();
        self.roster.begin_window();
        self.window_start = now;
        Ok(window)
    }
}

/// Time in which a CPU did not idle: the elapsed time less its idle time, which the kernel measures
/// and does not sample (unless it was built without tickless idle). `None` for a CPU that was offline
/// at either moment.
pub(crate) fn observed_busy_s(
    now: &CpuTimes,
    before: &CpuTimes,
    cpu: CpuId,
    elapsed_s: f64,
) -> Option<f64> {
    (now.cpus.contains_key(&cpu) && before.cpus.contains_key(&cpu)).then(|| {
        let idle_s = now.since(before, &[cpu].into_iter().collect()).idle_s;
        (elapsed_s - idle_s).clamp(0.0, elapsed_s)
    })
}

/// What `/proc/stat` says of a CPU.
pub(crate) fn cpu_use(
    cpu: CpuId,
    now: &CpuTimes,
    before: Option<&CpuTimes>,
    elapsed_s: f64,
) -> CpuUse {
    let before = before.unwrap_or(now);
    let observed = now.since(before, &[cpu].into_iter().collect());
    CpuUse {
        cpu,
        busy_s: observed_busy_s(now, before, cpu, elapsed_s).unwrap_or(0.0),
        interrupts_s: observed.interrupts_s,
        steal_s: observed.steal_s,
    }
}
