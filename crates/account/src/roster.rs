//! The threads that are known, and what they ran: shared by the methods that read `/proc`.
//!
//! A machine has thousands of threads of which a few run. Those that ran of late are *awake* and read
//! at every look; the others by turns. New ones are noticed by the number of the newest thread.

use coretwin_base::account::TaskUse;
use coretwin_base::cpu_set::CpuId;
use coretwin_base::units::Nanos;
use coretwin_host::root::Root;
use coretwin_host::tasks::{Tasks, Thread};
use std::collections::BTreeMap;

/// Looks for which a thread that was seen running counts as awake.
const AWAKE_LOOKS: u64 = 100;
/// New threads that are looked up one by one; more need a listing.
const NEW_MAX: u32 = 256;
/// Threads that ended are kept one by one up to here, then by name below their parent.
const ENDED_MAX: usize = 10_000;

/// Number of a known thread; stays the same until the thread is forgotten.
pub(crate) type Index = usize;

/// A known thread.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) parent: u32,
    pub(crate) comm: String,
    pub(crate) started_ticks: u64,
    pub(crate) cgroup: Option<String>,
    pub(crate) last_cpu: Option<CpuId>,
    pub(crate) ended: bool,
    /// Run time when it was read last.
    run: Nanos,
    /// Run time up to which it is in earlier windows.
    counted: Nanos,
    awake_until: u64,
    cgroup_asked: bool,
}

impl Known {
    /// What it ran since the last window.
    pub(crate) fn raw(&self) -> Nanos {
        self.run.saturating_sub(self.counted)
    }

    /// Record of it, still without the run time by busy siblings.
    pub(crate) fn task_use(&self, hertz: u64) -> TaskUse {
        TaskUse {
            pid: self.pid,
            tid: self.tid,
            parent: Some(self.parent),
            started_s: self.started_ticks as f64 / hertz.max(1) as f64,
            comm: self.comm.clone(),
            cgroup: self.cgroup.clone(),
            last_cpu: self.last_cpu,
            ended: self.ended,
            raw_s: self.raw().seconds(),
            runs: Vec::new(),
        }
    }
}

/// Every thread that is known.
#[derive(Debug)]
pub(crate) struct Roster {
    tasks: Tasks,
    has_run_times: bool,
    hertz: u64,
    /// Own process, which is not work of the machine that is looked at.
    own: Option<u32>,
    known: BTreeMap<Index, Known>,
    by_thread: BTreeMap<u32, Index>,
    next_index: Index,
    newest: Option<u32>,
    /// When the last thread of the first listing was started, in ticks since boot.
    begun_ticks: u64,
    look: u64,
    /// Where the turn of those that sleep goes on.
    turn: Index,
    /// Threads that were started and gone before they could be read.
    pub(crate) missed: u64,
}

impl Roster {
    /// Knows nobody yet.
    pub(crate) fn new(root: &Root) -> Self {
        let tasks = Tasks::new(root);
        Self {
            has_run_times: tasks.has_run_times(),
            tasks,
            hertz: rustix::param::clock_ticks_per_second(),
            own: root.is_system().then(std::process::id),
            known: BTreeMap::new(),
            by_thread: BTreeMap::new(),
            next_index: 0,
            newest: None,
            begun_ticks: 0,
            look: 0,
            turn: 0,
            missed: 0,
        }
    }

    /// Ticks of USER_HZ per second.
    pub(crate) fn hertz(&self) -> u64 {
        self.hertz
    }

    /// Gets to know every visible thread. What they ran up to now counts nowhere, unless they are
    /// new since the last listing.
    pub(crate) fn list(&mut self, is_first: bool) {
        self.newest = self.tasks.newest();
        for process in self.tasks.processes() {
            let leader_known = self.by_thread.contains_key(&process);
            // One thread is the rule; only then is the listing of threads spared.
            if leader_known && self.tasks.process(process).is_none_or(|leader| leader.threads <= 1)
            {
                continue;
            }
            for thread in self.tasks.threads(process) {
                if !self.by_thread.contains_key(&thread) {
                    self.meet(process, thread, is_first);
                }
            }
        }
    }

    /// Gets to know the threads that were started since the last time.
    pub(crate) fn meet_new(&mut self) {
        let newest = self.tasks.newest();
        let (Some(now), Some(before)) = (newest, self.newest) else {
            return self.list(false);
        };
        if now < before || now - before > NEW_MAX {
            self.missed += u64::from(now.saturating_sub(before).saturating_sub(NEW_MAX));
            return self.list(false);
        }
        self.newest = newest;
        for thread in before + 1..=now {
            match self.tasks.process_of(thread) {
                Some(process) => {
                    self.meet(process, thread, false);
                }
                None => self.missed += 1,
            }
        }
    }

    fn meet(&mut self, pid: u32, tid: u32, is_first: bool) -> Option<Index> {
        let thread = self.tasks.thread(pid, tid)?;
        let run = self.run_time(pid, tid, &thread)?;
        let index = self.next_index;
        self.next_index += 1;
        if let Some(former) =
            self.by_thread.insert(tid, index).and_then(|former| self.known.get_mut(&former))
        {
            former.ended = true;
        }
        let awake_until = if is_first && !thread.runnable { 0 } else { self.look + AWAKE_LOOKS };
        if is_first {
            self.begun_ticks = self.begun_ticks.max(thread.started_ticks);
        }
        // A thread older than the first listing may be met late (it could not be read for a moment):
        // what it ran before is not of this window.
        let is_old = is_first || thread.started_ticks < self.begun_ticks;
        self.known.insert(
            index,
            Known {
                pid,
                tid,
                parent: thread.parent,
                comm: thread.comm,
                started_ticks: thread.started_ticks,
                cgroup: None,
                last_cpu: Some(thread.cpu),
                ended: false,
                run,
                counted: if is_old { run } else { Nanos(0) },
                awake_until,
                cgroup_asked: false,
            },
        );
        Some(index)
    }

    fn run_time(&mut self, pid: u32, tid: u32, thread: &Thread) -> Option<Nanos> {
        if self.has_run_times {
            self.tasks.run_time(pid, tid)
        } else {
            Some(Nanos(thread.ticks.saturating_mul(1_000_000_000 / self.hertz.max(1))))
        }
    }

    /// Those that are awake and can run now, with their CPUs. Begins a look.
    pub(crate) fn runnable(&mut self) -> Vec<(CpuId, Index)> {
        self.look += 1;
        let awake: Vec<Index> = self
            .known
            .iter()
            .filter(|(_, known)| !known.ended && known.awake_until >= self.look)
            .map(|(index, _)| *index)
            .collect();
        let mut runnable = Vec::new();
        for index in awake {
            let Some(thread) = self.refresh(index) else { continue };
            if thread.runnable
                && self.known.get(&index).is_some_and(|known| Some(known.pid) != self.own)
            {
                runnable.push((thread.cpu, index));
            }
        }
        runnable
    }

    /// Reads a thread again; none if it ended.
    fn refresh(&mut self, index: Index) -> Option<Thread> {
        let (pid, tid, started) = {
            let known = self.known.get(&index)?;
            (known.pid, known.tid, known.started_ticks)
        };
        let thread = self.tasks.thread(pid, tid).filter(|thread| thread.started_ticks == started);
        let Some(thread) = thread else {
            self.end(index);
            return None;
        };
        let run = match thread.runnable || thread.ended || !self.has_run_times {
            true => self.run_time(pid, tid, &thread),
            false => None,
        };
        let until = self.look + AWAKE_LOOKS;
        let known = self.known.get_mut(&index)?;
        if known.comm != thread.comm {
            known.comm.clone_from(&thread.comm);
        }
        known.parent = thread.parent;
        known.last_cpu = Some(thread.cpu);
        if thread.runnable || run.is_some_and(|run| run > known.run) {
            known.awake_until = until;
        }
        known.run = run.unwrap_or(known.run).max(known.run);
        // While it is there: later it may have ended, or its cgroup gone.
        if known.awake_until == until && !known.cgroup_asked {
            known.cgroup_asked = true;
            known.cgroup = self.tasks.cgroup(pid);
        }
        if thread.ended {
            self.end(index);
            return None;
        }
        Some(thread)
    }

    fn end(&mut self, index: Index) {
        if let Some(known) = self.known.get_mut(&index) {
            known.ended = true;
            if self.by_thread.get(&known.tid) == Some(&index) {
                self.by_thread.remove(&known.tid);
            }
        }
    }

    /// Reads the run time of one of those that sleep; wakes it if it ran, and says how long. None once
    /// all had their turn.
    pub(crate) fn next_sleeper(&mut self) -> Option<Nanos> {
        let look = self.look;
        let next = self
            .known
            .range(self.turn..)
            .find(|(_, known)| !known.ended && known.awake_until < look)
            .map(|(index, known)| (*index, known.pid, known.tid));
        let Some((index, pid, tid)) = next else {
            self.turn = 0;
            return None;
        };
        self.turn = index + 1;
        self.read_run(index, pid, tid);
        Some(self.known.get(&index).map(Known::raw).unwrap_or_default())
    }

    fn read_run(&mut self, index: Index, pid: u32, tid: u32) {
        if !self.has_run_times {
            self.refresh(index);
            return;
        }
        let until = self.look + AWAKE_LOOKS;
        match (self.tasks.run_time(pid, tid), self.known.get_mut(&index)) {
            (Some(run), Some(known)) if run > known.run => {
                known.run = run;
                known.awake_until = until;
            }
            // A number that runs backwards is another thread's.
            (Some(run), Some(known)) if run < known.run => self.end(index),
            (None, _) => self.end(index),
            _ => {}
        }
    }

    /// Reads the run times of those that are awake, or of all.
    pub(crate) fn read_runs(&mut self, of_all: bool) {
        let read: Vec<(Index, u32, u32)> = self
            .known
            .iter()
            .filter(|(_, known)| !known.ended && (of_all || known.awake_until >= self.look))
            .map(|(index, known)| (*index, known.pid, known.tid))
            .collect();
        for (index, pid, tid) in read {
            self.read_run(index, pid, tid);
        }
    }

    /// How many sleep.
    pub(crate) fn sleepers(&self) -> usize {
        self.known.values().filter(|known| !known.ended && known.awake_until < self.look).count()
    }

    /// Those that ran since the last window.
    pub(crate) fn ran(&self) -> impl Iterator<Item = (Index, &Known)> {
        self.known
            .iter()
            .filter(|(_, known)| known.raw() > Nanos(0))
            .map(|(index, known)| (*index, known))
    }

    /// Reads the cgroups of those that ran and whose cgroup is not known.
    pub(crate) fn read_cgroups(&mut self) {
        let mut of_process: BTreeMap<u32, Option<String>> = BTreeMap::new();
        let unknown: Vec<(Index, u32)> = self
            .ran()
            .filter(|(_, known)| known.cgroup.is_none())
            .map(|(index, known)| (index, known.pid))
            .collect();
        for (index, pid) in unknown {
            let cgroup = of_process.entry(pid).or_insert_with(|| self.tasks.cgroup(pid)).clone();
            if let Some(known) = self.known.get_mut(&index) {
                known.cgroup = cgroup;
            }
        }
    }

    /// Begins a new window: what was run is counted, those that ended are forgotten.
    pub(crate) fn begin_window(&mut self) {
        self.known.retain(|_, known| !known.ended);
        for known in self.known.values_mut() {
            known.counted = known.run;
        }
        self.missed = 0;
    }

    /// Puts together those that ended, if they are too many: by name, as one thread of the process
    /// that started them. Returns who went into whom.
    pub(crate) fn fold(&mut self) -> Vec<(Index, Index)> {
        let ended: Vec<Index> =
            self.known.iter().filter(|(_, known)| known.ended).map(|(index, _)| *index).collect();
        if ended.len() <= ENDED_MAX {
            return Vec::new();
        }
        let mut into: BTreeMap<(u32, String), Index> = BTreeMap::new();
        let mut folded = Vec::new();
        for index in ended {
            let Some(known) = self.known.remove(&index) else { continue };
            // What is folded already has no thread of its own and stays what it is.
            let below = if known.tid == 0 { known.pid } else { known.parent };
            let heir = *into.entry((below, known.comm.clone())).or_insert(index);
            if heir == index {
                let raw = known.raw();
                let folded = Known { pid: below, tid: 0, run: raw, counted: Nanos(0), ..known };
                self.known.insert(index, folded);
                continue;
            }
            let raw = known.raw();
            if let Some(heir) = self.known.get_mut(&heir) {
                heir.run += raw;
            }
            folded.push((index, heir));
        }
        folded
    }

    /// CPUs that a thread may use.
    pub(crate) fn allowed(&mut self, index: Index) -> Option<coretwin_base::cpu_set::CpuSet> {
        let known = self.known.get(&index)?;
        self.tasks.allowed(known.pid, known.tid)
    }
}
