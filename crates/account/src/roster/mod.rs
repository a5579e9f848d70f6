//! The threads that are known, and what they ran: shared by the methods that read `/proc`.
//!
//! A machine has thousands of threads of which a few run. Those that ran of late are *awake* and read
//! at every look; the others by turns. New ones are noticed by the number of the newest thread.
//!
//! Whoever may not spend what reading all of them costs reads in *rounds*: who ran most of late first.
//! What a thread ran counts from a round in which it was read to the next; of one that was passed over
//! in between nobody knows when it ran, so that counts nowhere and is among what was not seen.

mod ended;

use coretwin_base::account::TaskUse;
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::units::Nanos;
use coretwin_host::root::Root;
use coretwin_host::tasks::{RunTimeFile, Tasks, Thread};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// For so long a thread that ran counts as awake.
const AWAKE: Duration = Duration::from_secs(5);
/// New threads that are looked up one by one; more need a listing.
const NEW_MAX: u32 = 256;
/// After so many reads it is asked what they cost.
const READS: usize = 32;
/// Files of run times that are kept open at most; the kernel has some kilobytes for each.
const FILES_MAX: u64 = 6000;
/// Files that all the rest of a program may have open.
const OTHER_FILES: u64 = 256;
/// Lists of CPUs that are kept.
const CPU_LISTS_MAX: usize = 1024;

/// Number of a known thread; stays the same until the thread is forgotten.
pub(crate) type Index = usize;

#[derive(Debug, Default)]
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
    /// When it was seen to run, or to have run.
    ran_at: Option<Instant>,
    /// What it ran in each window of late, a running mean.
    expected: Nanos,
    /// Whether it was read in the last round, or is new: what it has run since is known to be since.
    is_based: bool,
    is_read: bool,
    cgroup_asked: bool,
    file: Option<RunTimeFile>,
}

impl Known {
    /// What it ran since the last window.
    pub(crate) fn raw(&self) -> Nanos {
        self.run.saturating_sub(self.counted)
    }

    fn is_awake(&self, now: Instant, awake: Duration) -> bool {
        !self.ended && self.ran_at.is_some_and(|at| now.saturating_duration_since(at) <= awake)
    }

    fn has_run(&mut self, run: Nanos, now: Instant) {
        let more = run.saturating_sub(self.run);
        if more > Nanos(0) {
            self.ran_at = Some(now);
            self.run = run;
            if !self.is_based {
                self.counted += more;
            }
        }
        self.is_based = true;
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

#[derive(Debug)]
pub(crate) struct Roster {
    tasks: Tasks,
    has_run_times: bool,
    /// Ticks of USER_HZ per second.
    pub(crate) hertz: u64,
    /// Own process, which is not work of the machine that is looked at.
    own: Option<u32>,
    known: BTreeMap<Index, Known>,
    by_thread: BTreeMap<u32, Index>,
    next_index: Index,
    newest: Option<u32>,
    /// When the last thread of the first listing was started, in ticks since boot.
    begun_ticks: u64,
    /// For so long those that ran are awake.
    awake: Duration,
    /// Where the turn of those that sleep goes on.
    turn: Index,
    /// Files that are kept open, and how many may be.
    files: u64,
    files_max: u64,
    /// Sets of CPUs by their text: few of them, however many threads.
    cpu_lists: BTreeMap<String, Rc<CpuSet>>,
    /// Threads that were started and gone before they could be read.
    pub(crate) missed: u64,
}

impl Roster {
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
            awake: AWAKE,
            turn: 0,
            files: 0,
            files_max: 0,
            cpu_lists: BTreeMap::new(),
            missed: 0,
        }
    }

    /// Gets to know everybody for a first window; who may not read all keeps files open.
    pub(crate) fn start(&mut self, is_thorough: bool) {
        if !is_thorough {
            self.keep_files();
        }
        self.list(true);
        self.begin_window();
    }

    /// From now on files of run times are kept open, as many as this process may have: to read one again
    /// costs a fraction of opening it.
    fn keep_files(&mut self) {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let wanted = FILES_MAX + OTHER_FILES;
        let more = maximum.map_or(wanted, |maximum| maximum.min(wanted));
        let mut may = current.unwrap_or(wanted);
        if may < more
            && setrlimit(Resource::Nofile, Rlimit { current: Some(more), maximum }).is_ok()
        {
            may = more;
        }
        self.files_max = may.saturating_sub(OTHER_FILES).min(FILES_MAX);
    }

    /// Gets to know every visible thread. What they ran up to now counts nowhere, unless they are
    /// new since the last listing.
    fn list(&mut self, is_first: bool) {
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
        for thread in (before..=now).skip(1) {
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
        if let Some(former) = self.by_thread.insert(tid, index) {
            self.end(former);
        }
        let ran_at = (!is_first || thread.runnable).then(Instant::now);
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
                last_cpu: Some(thread.cpu),
                run,
                counted: if is_old { run } else { Nanos(0) },
                ran_at,
                is_based: true,
                ..Known::default()
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

    /// Those that are awake and can run now, with their CPUs. From now on they are awake for so long, or
    /// some seconds if that is less. Run times of those that run are read too, if asked.
    pub(crate) fn runnable(&mut self, awake: Duration, run_times: bool) -> Vec<(CpuId, Index)> {
        self.awake = awake.min(AWAKE);
        let now = Instant::now();
        let mut runnable = Vec::new();
        for index in self.awake(now) {
            let Some(thread) = self.refresh(index, now, run_times) else { continue };
            if thread.runnable
                && self.known.get(&index).is_some_and(|known| Some(known.pid) != self.own)
            {
                runnable.push((thread.cpu, index));
            }
        }
        runnable
    }

    fn awake(&self, now: Instant) -> Vec<Index> {
        let awake = self.known.iter().filter(|(_, known)| known.is_awake(now, self.awake));
        awake.map(|(index, _)| *index).collect()
    }

    /// Reads a thread again; `None` if it ended.
    fn refresh(&mut self, index: Index, now: Instant, run_times: bool) -> Option<Thread> {
        let (pid, tid, started) = {
            let known = self.known.get(&index)?;
            (known.pid, known.tid, known.started_ticks)
        };
        let thread = self.tasks.thread(pid, tid).filter(|thread| thread.started_ticks == started);
        let Some(thread) = thread else {
            self.end(index);
            return None;
        };
        let wanted = thread.ended || !self.has_run_times || (run_times && thread.runnable);
        let run = if wanted { self.run_time(pid, tid, &thread) } else { None };
        let known = self.known.get_mut(&index)?;
        if known.comm != thread.comm {
            known.comm.clone_from(&thread.comm);
        }
        known.parent = thread.parent;
        known.last_cpu = Some(thread.cpu);
        if let Some(run) = run {
            known.has_run(run, now);
        }
        if thread.runnable {
            known.ran_at = Some(now);
        }
        // While it is there: later it may have ended, or its cgroup gone.
        if known.ran_at == Some(now) && !known.cgroup_asked {
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
            self.files -= u64::from(known.file.take().is_some());
            if self.by_thread.get(&known.tid) == Some(&index) {
                self.by_thread.remove(&known.tid);
            }
        }
    }

    /// Reads some of those that sleep, by turns, if so much CPU time is not spent before; wakes who ran.
    pub(crate) fn glance_at_sleepers(&mut self, most: usize, allowance_s: f64) {
        let (start_s, now) = (cpu_s(), Instant::now());
        for done in 0..most {
            if done % READS == READS - 1 && cpu_s() - start_s > allowance_s {
                break;
            }
            let Some(index) = self.next_sleeper(now) else { break };
            self.read_run(index, now);
        }
    }

    /// The next of those that sleep; none once all had their turn.
    fn next_sleeper(&mut self, now: Instant) -> Option<Index> {
        let sleeps =
            |known: &Known| !known.ended && !known.is_read && !known.is_awake(now, self.awake);
        let next = self.known.range(self.turn..).find(|(_, known)| sleeps(known));
        let next = next.map(|(index, _)| *index);
        self.turn = next.map_or(0, |index| index + 1);
        next
    }

    fn read_run(&mut self, index: Index, now: Instant) {
        let Some((pid, tid)) = self.known.get(&index).map(|known| (known.pid, known.tid)) else {
            return;
        };
        if !self.has_run_times {
            self.refresh(index, now, true);
            return;
        }
        let Some(known) = self.known.get_mut(&index) else { return };
        if known.file.is_none() && self.files < self.files_max {
            known.file = self.tasks.run_time_file(pid, tid);
            self.files += u64::from(known.file.is_some());
        }
        let run = match &known.file {
            Some(file) => file.run_time(),
            None => self.tasks.run_time(pid, tid),
        };
        match run {
            Some(run) if run >= known.run => known.has_run(run, now),
            // None, or a number that runs backwards: it is another thread's.
            _ => self.end(index),
        }
    }

    /// Reads the run times of so many of those that were met last and are still there.
    pub(crate) fn read_newest(&mut self, most: usize) {
        let now = Instant::now();
        let newest: Vec<Index> = self
            .known
            .iter()
            .rev()
            // Not through all that ended, of which there may be thousands.
            .take(4 * most)
            .filter(|(_, known)| !known.ended)
            .take(most)
            .map(|(index, _)| *index)
            .collect();
        for index in newest {
            self.read_run(index, now);
        }
    }

    /// A round that reads the run times of as many as may be for so much CPU time, or of all.
    pub(crate) fn read_round(&mut self, allowance_s: Option<f64>) {
        if let Some(allowance_s) = allowance_s {
            return self.read_some(allowance_s);
        }
        let there = self.known.iter().filter(|(_, known)| !known.ended);
        let all: Vec<Index> = there.map(|(index, _)| *index).collect();
        let now = Instant::now();
        for index in all {
            self.read_in_round(index, now);
        }
    }

    /// Of those that are awake first who is expected to have run most, then the others by turns.
    fn read_some(&mut self, allowance_s: f64) {
        let (start_s, now) = (cpu_s(), Instant::now());
        let expected = |index: &Index| self.known.get(index).map(|known| known.expected);
        let mut awake = self.awake(now);
        awake.sort_by_cached_key(|index| Reverse(expected(index)));
        let mut awake = awake.into_iter();
        for done in 0..self.known.len() {
            if done % READS == READS - 1 && cpu_s() - start_s > allowance_s {
                break;
            }
            // At the end of the list the turn begins anew.
            let sleeper =
                |roster: &mut Self| roster.next_sleeper(now).or_else(|| roster.next_sleeper(now));
            let Some(index) = awake.next().or_else(|| sleeper(self)) else { break };
            self.read_in_round(index, now);
        }
    }

    fn read_in_round(&mut self, index: Index, now: Instant) {
        self.read_run(index, now);
        if let Some(known) = self.known.get_mut(&index) {
            known.is_read = true;
        }
    }

    /// Ends a round: whom it has passed over counts from when it is read again.
    pub(crate) fn end_round(&mut self) {
        for known in self.known.values_mut() {
            known.is_based = std::mem::take(&mut known.is_read);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

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
            // So slow that who comes back after some seconds is still expected.
            known.expected = Nanos(known.expected.0 / 8 * 7 + known.raw().0 / 8);
            known.counted = known.run;
        }
        self.missed = 0;
    }

    /// CPUs that a thread may use. The same for the same list of CPUs.
    pub(crate) fn allowed(&mut self, index: Index) -> Option<Rc<CpuSet>> {
        let known = self.known.get(&index)?;
        let list = self.tasks.allowed_list(known.pid, known.tid)?;
        if let Some(cpus) = self.cpu_lists.get(list) {
            return Some(Rc::clone(cpus));
        }
        if self.cpu_lists.len() >= CPU_LISTS_MAX {
            self.cpu_lists.clear();
        }
        let cpus = Rc::new(CpuSet::parse(list).ok()?);
        self.cpu_lists.insert(list.to_owned(), Rc::clone(&cpus));
        Some(cpus)
    }
}

pub(crate) fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
