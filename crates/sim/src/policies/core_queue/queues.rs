//! Where tasks wait: a queue for each core, and one for each CPU, for tasks that may not run on every CPU of
//! the core or, without `pickup`, for all.
//!
//! Each queue has a clock of its own: tasks bound to a busy CPU share it by weight, however far those that
//! may use its sibling are by then.

use crate::kernel::{CpuId, CpuMask, Layout, TaskId, View};
use crate::policies::weight::{WEIGHT, weight_of};
use coretwin_base::simulation::core_queue::decide;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Where a task stands in its queue: rank of its class, virtual time, order of arrival.
pub(super) type Place = (u8, i64, u64, TaskId);

#[derive(Debug)]
pub(super) struct Queues {
    /// Those of the cores, then those of the CPUs.
    queues: Vec<Queue>,
    cores: usize,
    /// By CPU: offset of its own queue's virtual time from that of its core's queue.
    shifts: Vec<i64>,
    slice_ns: i64,
    arrivals: u64,
    core_of: Vec<u32>,
    /// By core: tasks that wait on it, and when the last of them came; and which cores have any.
    waiting: Vec<u32>,
    came_ns: Vec<u64>,
    /// By core: of what came of late, the part that woke among many.
    woken: Vec<u64>,
    /// The set's members are numbers of cores.
    crowded: CpuMask,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: BTreeSet<Place>,
    /// The highest virtual time at which a task of this queue began to run.
    now: i64,
    /// Where the task stood that woke last.
    woken: i64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Own {
    /// CPU time by weight, on the clock of its queue.
    pub(super) virtual_ns: i64,
    /// CPU time already counted in it.
    pub(super) counted_ns: u64,
    /// While it sleeps: how far it was behind the clock of its queue.
    pub(super) lag: Option<i64>,
    /// While it waits: how much later it stands than by its CPU time.
    pub(super) later: i64,
    /// How often in a row it waited as soon as it had said so.
    pub(super) word: u32,
    /// How often since then one that it woke took its place.
    pub(super) handed: u32,
    /// How often in a row a better partner went before it.
    pub(super) passed: u32,
    /// The CPU it belongs to, and by that the core.
    pub(super) home: CpuId,
    pub(super) queue: usize,
    /// Its place there, if it waits.
    pub(super) place: Option<Place>,
}

/// A task that could run: how far it is on the clock of its queue, and its weight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) virtual_ns: i64,
    pub(super) weight: u64,
}

pub(super) fn by_weight(ns: u64, weight: u64) -> i64 {
    (ns * WEIGHT / weight) as i64
}

impl Queues {
    pub(super) fn new(layout: &Layout, slice_ns: u64) -> Self {
        let (cores, cpus) = (layout.cores().len(), layout.cpus());
        let queues = (0..cores + cpus).map(|_| Queue::default()).collect();
        let of_cpus = layout.all().map(|cpu| layout.core(cpu).0);
        Self {
            queues,
            cores,
            shifts: vec![0; cpus],
            slice_ns: slice_ns as i64,
            arrivals: 0,
            core_of: (0..cores as u32).chain(of_cpus).collect(),
            waiting: vec![0; cores],
            came_ns: vec![0; cores],
            woken: vec![0; cores],
            crowded: CpuMask::empty(cores),
        }
    }

    pub(super) fn of_cpu(&self, cpu: CpuId) -> usize {
        self.cores + cpu.0 as usize
    }

    /// Whether a queue is that of a CPU.
    pub(super) fn is_of_cpu(&self, queue: usize) -> bool {
        queue >= self.cores
    }

    fn lag(&self, own: &Own, weight: u64) -> i64 {
        let most = by_weight(self.slice_ns as u64, weight);
        decide::lag(self.queues[own.queue].now, own.virtual_ns, most)
    }

    /// A task sleeps. Its lag stands still meanwhile: who sleeps gains nothing, and who woke first is first.
    pub(super) fn sleep(&self, own: &mut Own, weight: u64) {
        own.lag = Some(self.lag(own, weight));
    }

    /// Moves a task to a queue. Virtual times of queues differ: the task keeps its lag.
    pub(super) fn move_home(&self, own: &mut Own, home: CpuId, queue: usize, weight: u64) {
        if own.lag.is_some() || own.queue != queue {
            let lag = own.lag.take().unwrap_or_else(|| self.lag(own, weight));
            own.virtual_ns = self.queues[queue].now - lag;
        }
        (own.home, own.queue) = (home, queue);
    }

    /// Puts a task into its queue. Of those that wake, one of another weight than the usual has its share to catch up.
    pub(super) fn insert(
        &mut self,
        own: &mut Own,
        (task, rank): (TaskId, u8),
        view: &View,
        (wakes, weight): (bool, u64),
    ) {
        let (queue, core) = (&mut self.queues[own.queue], self.core_of[own.queue] as usize);
        self.arrivals += 1;
        let waiting = self.waiting[core];
        let woken = if wakes && waiting >= decide::CROWD { decide::CAME } else { 0 };
        self.woken[core] = decide::average(self.woken[core], woken);
        let mut stands = own.virtual_ns;
        own.later = 0;
        if wakes && weight == WEIGHT {
            own.later = decide::later(self.slice_ns, view.switch_ns, self.woken[core]);
            stands = decide::woken(queue.now, stands, queue.woken, self.slice_ns, waiting);
            stands += own.later;
            queue.woken = stands;
        }
        let place = (rank, stands, self.arrivals, task);
        own.place = Some(place);
        queue.waiting.insert(place);
        self.waiting[core] += 1;
        self.came_ns[core] = view.now_ns;
        self.crowded.insert(CpuId(core as u32));
    }

    /// Takes a task out of its queue, if it waits in one.
    pub(super) fn remove(&mut self, own: &mut Own) {
        if let Some(place) = own.place.take() {
            self.queues[own.queue].waiting.remove(&place);
            let core = self.core_of[own.queue];
            let waiting = &mut self.waiting[core as usize];
            *waiting -= 1;
            self.crowded.set(CpuId(core), *waiting > 0);
        }
    }

    /// A task of a queue begins to run.
    pub(super) fn begin(&mut self, own: &Own) {
        let queue = &mut self.queues[own.queue];
        queue.now = queue.now.max(own.virtual_ns);
    }

    /// Virtual time at which a new task of a queue begins: as far ahead of it as its parent is of its own.
    pub(super) fn of_child(&self, queue: usize, parent: Option<&Own>) -> i64 {
        let ahead = parent.map_or(0, |it| it.virtual_ns - self.queues[it.queue].now);
        self.queues[queue].now + ahead.max(0)
    }

    /// When a task last came to the queues of a core.
    pub(super) fn came_ns(&self, core: usize) -> u64 {
        self.came_ns[core]
    }

    /// Tasks that wait on a core.
    pub(super) fn waiting(&self, core: usize) -> usize {
        self.waiting[core] as usize
    }

    /// The cores on which tasks wait, in order.
    pub(super) fn crowded(&self) -> impl Iterator<Item = usize> {
        self.crowded.iter().map(|core| core.0 as usize)
    }

    /// The tasks of a queue that a CPU may run, in order.
    pub(super) fn heads(
        &self,
        view: &View,
        queue: usize,
        cpu: CpuId,
    ) -> impl Iterator<Item = Place> {
        let waiting = self.queues[queue].waiting.iter();
        waiting.filter(move |place| view.allowed(place.3, cpu)).copied()
    }

    /// Whether the head of a queue has waited so long that it goes next.
    pub(super) fn is_overdue(view: &View, head: Place) -> bool {
        let facts = view.task(head.3);
        let waited_ns = view.now_ns - facts.woken_ns.max(facts.stopped_ns);
        decide::is_overdue(waited_ns, by_weight(decide::GUARD_NS, weight_of(facts)) as u64)
    }

    /// Of the first in the queue of a CPU and the first in that of its core, the one that comes first.
    pub(super) fn sooner(
        &mut self,
        view: &View,
        cpu: CpuId,
        own: Option<Place>,
        shared: Option<Place>,
        virtual_ns: impl Fn(TaskId) -> i64,
    ) -> Option<Place> {
        let (Some(first), Some(second)) = (own, shared) else { return own.or(shared) };
        // Not where they stand: that says only who of a queue woke first.
        let candidate = |place: Place| Candidate {
            virtual_ns: virtual_ns(place.3),
            weight: weight_of(view.task(place.3)),
        };
        let overdue = |place| Self::is_overdue(view, place);
        let is_own = match first.0.cmp(&second.0).then(overdue(second).cmp(&overdue(first))) {
            Ordering::Equal => self.ahead(cpu, candidate(first), candidate(second)) < 0,
            order => order.is_lt(),
        };
        if is_own { own } else { shared }
    }

    /// How far a task in the queue of a CPU is ahead of one in that of its core.
    pub(super) fn ahead(&mut self, cpu: CpuId, own: Candidate, shared: Candidate) -> i64 {
        let slice = |weight| by_weight(self.slice_ns as u64, weight);
        let shift = &mut self.shifts[cpu.0 as usize];
        let ahead = own.virtual_ns + *shift - shared.virtual_ns;
        let within = decide::ahead(ahead, self.slice_ns, slice(own.weight), slice(shared.weight));
        *shift += within - ahead;
        within
    }

    /// Every task that waits.
    pub(super) fn tasks(&self) -> impl Iterator<Item = TaskId> + '_ {
        (0..self.queues.len()).flat_map(|queue| self.tasks_in(queue))
    }

    /// Every task that waits in a queue.
    pub(super) fn tasks_in(&self, queue: usize) -> impl Iterator<Item = TaskId> + '_ {
        self.queues[queue].waiting.iter().map(|place| place.3)
    }
}
