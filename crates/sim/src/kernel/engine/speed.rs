//! How fast work goes, and to which task and CPU its time is accounted.
//!
//! A CPU's task works in *segments*: it spins for the scheduler's lock, then goes through the scheduler's
//! lists, then pays costs (a switch, a tick, cold caches), then works. All but the first go at a speed that
//! depends on what the siblings do. Costs are code and data of its family's kind; a walk through lists
//! waits for memory, and a CPU that spins pauses, so that siblings hardly feel either. Whenever anything
//! about a core changes, its CPUs are settled at the old speeds first, and get their new ones after.

use super::{Engine, SEGMENT, slot};
use crate::kernel::{
    CoreId, CpuId, CpuUse, Idle, Layout, ONE, Occupant, ProfileId, TaskId, Wasted,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Mode {
    #[default]
    Idle,
    Task(TaskId),
    Stopper,
    Offline,
}

/// What a CPU pays for a policy's work: the wait for its lock, then the walk through its lists in time
/// alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Paid {
    pub(super) spin_ns: u64,
    pub(super) walk_ns: u64,
}

/// A cost in the fixed point of speeds: times ONE.
#[inline]
pub(super) fn in_parts(ns: u64) -> u64 {
    ns.saturating_mul(u64::from(ONE))
}

#[derive(Debug, Clone, Default)]
pub(super) struct CpuRun {
    pub(super) mode: Mode,
    settled_ns: u64,
    /// Time that it spins for a lock before anything else goes on.
    pub(super) spin_ns: u64,
    /// What it has to go through of the scheduler's lists, in ns alone, times ONE: exact at any speed.
    pub(super) walk: u64,
    /// Costs after that, before its task's work goes on, likewise.
    pub(super) overhead: u64,
    /// Speed of its task's work: uops per ns times UOP_PER_NS.
    rate: u64,
    /// The same over alone, times ONE.
    pub(super) fraction: u32,
    busy: u8,
    pub(super) space: u32,
    pub(super) stopper_wanted: bool,
    /// Whether the policy knows that it is idle.
    pub(super) told_idle: bool,
    pub(super) page_tables: u32,
    pub(super) switches: u64,
    pub(super) times: CpuUse,
    pub(super) ran_ns: u64,
}

impl CpuRun {
    pub(super) fn new() -> Self {
        Self { rate: 1, fraction: ONE, ..Self::default() }
    }

    /// Time that costs take beside what its siblings do.
    #[inline]
    fn time_ns(&self, parts: u64) -> u64 {
        parts.div_ceil(u64::from(self.fraction))
    }

    /// Pays of some costs what this time is enough for. Returns the time it took.
    #[inline]
    fn pay(parts: &mut u64, fraction: u32, time_ns: u64) -> u64 {
        let took_ns = time_ns.min(parts.div_ceil(u64::from(fraction)));
        *parts = parts.saturating_sub(took_ns.saturating_mul(u64::from(fraction)));
        took_ns
    }

    #[inline]
    pub(super) fn pays(&self) -> bool {
        self.spin_ns > 0 || self.walk > 0 || self.overhead > 0
    }
}

/// How long two tasks shared a core, or waited, while other CPUs were idle: see [`Wasted`].
#[derive(Debug, Default)]
pub(super) struct Waste {
    cores: Vec<(u8, u8)>,
    doubled_cores: u32,
    idle_cores: u32,
    pub(super) idle_cpus: u32,
    /// Tasks that wait for a CPU and may run on any.
    pub(super) waiting: u32,
    since_ns: u64,
    pub(super) clash_ns: u64,
    beside_cpu: Stretch,
    beside_core: Stretch,
}

#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    total_ns: u64,
    longest_ns: u64,
    current_ns: u64,
}

impl Stretch {
    #[inline]
    fn pass(&mut self, passed_ns: u64, holds: bool) {
        if holds {
            self.total_ns += passed_ns;
            self.current_ns += passed_ns;
            self.longest_ns = self.longest_ns.max(self.current_ns);
        } else {
            self.current_ns = 0;
        }
    }
}

impl Waste {
    pub(super) fn new(layout: &Layout) -> Self {
        let cores: Vec<(u8, u8)> =
            layout.cores().iter().map(|cpus| (0, cpus.len() as u8)).collect();
        let (idle_cores, idle_cpus) = (cores.len() as u32, layout.cpus() as u32);
        Self { cores, idle_cores, idle_cpus, ..Self::default() }
    }

    #[inline]
    fn settle(&mut self, now_ns: u64) {
        let passed_ns = now_ns - self.since_ns;
        if passed_ns == 0 {
            return;
        }
        self.since_ns = now_ns;
        if self.doubled_cores > 0 && self.idle_cores > 0 {
            self.clash_ns += passed_ns;
        }
        self.beside_cpu.pass(passed_ns, self.waiting > 0 && self.idle_cpus > 0);
        self.beside_core.pass(passed_ns, self.waiting > 0 && self.idle_cores > 0);
    }

    #[inline]
    fn set_core(&mut self, now_ns: u64, core: CoreId, busy: u8, online: u8) {
        let before = self.cores[core.0 as usize];
        if before == (busy, online) {
            return;
        }
        self.settle(now_ns);
        self.cores[core.0 as usize] = (busy, online);
        let is_doubled = |(busy, _): (u8, u8)| u32::from(busy > 1);
        let is_idle = |(busy, online): (u8, u8)| u32::from(busy == 0 && online > 0);
        let after = (busy, online);
        self.doubled_cores = self.doubled_cores + is_doubled(after) - is_doubled(before);
        self.idle_cores = self.idle_cores + is_idle(after) - is_idle(before);
        self.idle_cpus = self.idle_cpus + u32::from(online - busy) - u32::from(before.1 - before.0);
    }

    /// Tasks that may run anywhere begin (or stop) to wait for a CPU.
    #[inline]
    pub(super) fn wait(&mut self, now_ns: u64, more: i32) {
        self.settle(now_ns);
        self.waiting = self.waiting.saturating_add_signed(more);
    }

    /// What was wasted since the last [`Waste::forget`]; it brings `clash_ns` up to date too.
    pub(super) fn so_far(&mut self, now_ns: u64) -> Wasted {
        self.settle(now_ns);
        Wasted {
            idle_cpu_ns: self.beside_cpu.total_ns,
            idle_cpu_longest_ns: self.beside_cpu.longest_ns,
            idle_core_ns: self.beside_core.total_ns,
            idle_core_longest_ns: self.beside_core.longest_ns,
        }
    }

    pub(super) fn forget(&mut self, now_ns: u64) {
        self.settle(now_ns);
        self.clash_ns = 0;
        (self.beside_cpu, self.beside_core) = (Stretch::default(), Stretch::default());
    }
}

impl Engine<'_> {
    #[inline]
    pub(super) fn settle(&mut self, cpu: CpuId) {
        let run = &mut self.cpus[cpu.0 as usize];
        let passed_ns = self.view.now_ns - run.settled_ns;
        if passed_ns == 0 {
            return;
        }
        run.settled_ns = self.view.now_ns;
        match run.mode {
            Mode::Idle => run.times.idle_ns += passed_ns,
            Mode::Offline => run.times.offline_ns += passed_ns,
            Mode::Stopper => {
                run.overhead = run.overhead.saturating_sub(in_parts(passed_ns));
                run.times.system_ns += passed_ns;
            }
            Mode::Task(id) => {
                let task = &mut self.tasks[id.index()];
                let spun_ns = passed_ns.min(run.spin_ns);
                run.spin_ns -= spun_ns;
                let left_ns = passed_ns - spun_ns;
                let walked_ns = CpuRun::pay(&mut run.walk, run.fraction, left_ns);
                let cost_ns =
                    walked_ns + CpuRun::pay(&mut run.overhead, run.fraction, left_ns - walked_ns);
                let worked_ns = left_ns - cost_ns;
                let uops = worked_ns.saturating_mul(run.rate);
                task.work = task.work.saturating_sub(uops);
                let seen = self.view.task_mut(id);
                seen.uops = seen.uops.saturating_add(uops);
                if worked_ns > 0 {
                    seen.profile = task.profile;
                }
                let is_kernel = task.profile == ProfileId::KERNEL;
                let system_ns = if is_kernel { passed_ns } else { spun_ns + cost_ns };
                run.times.system_ns += system_ns;
                run.times.user_ns += passed_ns - system_ns;
                run.ran_ns += passed_ns;
                let alone = left_ns.saturating_mul(u64::from(run.fraction));
                task.time.system_ns += system_ns;
                task.time.by_busy_ns[run.busy as usize - 1] += passed_ns;
                task.time.work_alone = task.time.work_alone.saturating_add(alone);
                let core = self.view.layout.core(cpu);
                self.cores[core.0 as usize].add(run.busy as usize, passed_ns, alone);
            }
        }
    }

    /// Accounts for the time of all CPUs of a core. Before anything about one of them changes.
    #[inline]
    pub(super) fn settle_core(&mut self, cpu: CpuId) {
        for index in 0..self.machine.layout.siblings(cpu).len() {
            self.settle(self.machine.layout.siblings(cpu)[index]);
        }
    }

    #[inline]
    pub(super) fn core_ran_ns(&self, cpu: CpuId) -> u64 {
        let siblings = self.machine.layout.siblings(cpu).iter();
        siblings.map(|cpu| self.cpus[cpu.0 as usize].ran_ns).sum()
    }

    /// The kind of work that a CPU's task does: costs are of its home's kind.
    #[inline]
    fn kind_of_work(&self, cpu: CpuId, task: TaskId) -> ProfileId {
        let task = &self.tasks[task.index()];
        let run = &self.cpus[cpu.0 as usize];
        match (run.walk > 0, run.overhead > 0) {
            (true, _) => self.machine.speeds.walking(task.home),
            (false, true) => task.home,
            (false, false) => task.profile,
        }
    }

    #[inline]
    fn occupant(&self, cpu: CpuId) -> Occupant {
        match self.cpus[cpu.0 as usize].mode {
            Mode::Task(_) if self.cpus[cpu.0 as usize].spin_ns > 0 => Occupant::Polls,
            Mode::Task(task) => Occupant::Works(self.kind_of_work(cpu, task)),
            Mode::Stopper => Occupant::Works(ProfileId::KERNEL),
            Mode::Offline => Occupant::Offline,
            Mode::Idle => match self.machine.idle {
                Idle::Halt => Occupant::Halts,
                Idle::Poll => Occupant::Polls,
            },
        }
    }

    /// Sets the speeds of a core's CPUs after `cpu` changed, and restarts its segment. All of them were
    /// settled before.
    #[inline]
    pub(super) fn speed_up_to_date(&mut self, cpu: CpuId) {
        let machine = self.machine;
        let siblings = machine.layout.siblings(cpu);
        let (mut busy, mut online) = (0, 0);
        for sibling in siblings {
            let mode = self.cpus[sibling.0 as usize].mode;
            busy += u8::from(matches!(mode, Mode::Task(_) | Mode::Stopper));
            online += u8::from(mode != Mode::Offline);
        }
        self.waste.set_core(self.view.now_ns, machine.layout.core(cpu), busy, online);
        for sibling in siblings {
            let changed = self.speed_of(*sibling, siblings, busy);
            if changed || *sibling == cpu {
                self.schedule_segment(*sibling);
            }
        }
    }

    /// Speed of a kind of work on a CPU over alone, beside what its siblings do now.
    #[inline]
    pub(super) fn fraction_of(&self, profile: ProfileId, cpu: CpuId, siblings: &[CpuId]) -> u32 {
        let mut fraction = ONE;
        for sibling in siblings.iter().filter(|sibling| **sibling != cpu) {
            // Beside several siblings, what each takes multiplies: an assumption, for tables of
            // pairs say nothing of three.
            let beside = self.machine.speeds.beside(profile, self.occupant(*sibling));
            fraction = ((u64::from(fraction) * u64::from(beside)) >> 16) as u32;
        }
        fraction
    }

    #[inline]
    fn speed_of(&mut self, cpu: CpuId, siblings: &[CpuId], busy: u8) -> bool {
        let Mode::Task(task) = self.cpus[cpu.0 as usize].mode else { return false };
        let profile = self.kind_of_work(cpu, task);
        let fraction = self.fraction_of(profile, cpu, siblings);
        let alone = self.machine.speeds.profile(profile).alone;
        let rate = ((alone * u64::from(fraction)) >> 16).max(1);
        let run = &mut self.cpus[cpu.0 as usize];
        let changed = (run.rate, run.fraction) != (rate, fraction);
        (run.rate, run.fraction, run.busy) = (rate, fraction, busy);
        changed
    }

    #[inline]
    pub(super) fn schedule_segment(&mut self, cpu: CpuId) {
        let run = &self.cpus[cpu.0 as usize];
        let left_ns = match run.mode {
            Mode::Idle | Mode::Offline => return self.events.cancel(slot(cpu, SEGMENT)),
            Mode::Stopper => run.overhead.div_ceil(u64::from(ONE)),
            Mode::Task(_) if run.spin_ns > 0 => run.spin_ns,
            Mode::Task(_) if run.walk > 0 => run.time_ns(run.walk),
            Mode::Task(_) if run.overhead > 0 => run.time_ns(run.overhead),
            Mode::Task(task) => self.tasks[task.index()].work.div_ceil(run.rate),
        };
        self.events.set(slot(cpu, SEGMENT), self.view.now_ns.saturating_add(left_ns));
    }

    /// Has a CPU's task pay a cost before its work goes on. An idle CPU pays nothing: the time would
    /// be its own.
    #[inline]
    pub(super) fn charge(&mut self, cpu: CpuId, cost_ns: u64) {
        let runs = matches!(self.cpus[cpu.0 as usize].mode, Mode::Task(_));
        if runs && cost_ns > 0 {
            self.settle_core(cpu);
            let run = &mut self.cpus[cpu.0 as usize];
            run.overhead = run.overhead.saturating_add(in_parts(cost_ns));
            self.speed_up_to_date(cpu);
        }
    }

    /// Has a CPU's task pay for the policy's work.
    #[inline]
    pub(super) fn charge_paid(&mut self, cpu: CpuId, paid: Paid) {
        let runs = matches!(self.cpus[cpu.0 as usize].mode, Mode::Task(_));
        if runs && paid != Paid::default() {
            self.settle_core(cpu);
            let run = &mut self.cpus[cpu.0 as usize];
            run.spin_ns += paid.spin_ns;
            run.walk = run.walk.saturating_add(in_parts(paid.walk_ns));
            self.speed_up_to_date(cpu);
        }
    }
}
