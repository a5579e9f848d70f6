//! The method `bounds`: what must be true, given how long everybody ran and every CPU was busy.
//!
//! Time is cut into pieces. In each, the run time of every thread is known (`schedstat`), and so is
//! how long each CPU idled (`/proc/stat`); [`arithmetic`] says what follows. Pieces are short, because
//! two things overlap of necessity only while both are busy for most of a piece, and not too short,
//! because the idle time comes in hundredths of a second.

mod arithmetic;

use crate::Error;
use crate::method::{Method, balance_of_stat};
use crate::roster::{Index, Roster, cpu_s};
use crate::sampled::{Effort, cpu_use, observed_busy_s};
use arithmetic::{Busy, Places};
use coretwin_base::account::{CoreUse, MethodName, Run, Siblings, Span, TaskUse, Unseen, Window};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::units::Nanos;
use coretwin_host::observe::{self, CpuTimes};
use coretwin_host::root::Root;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Length of a piece, if its cost allows it.
const PIECE_S: f64 = 0.5;
/// Ticks of USER_HZ by which times may be off at both ends of a piece together: idle time is cut down
/// to whole ticks, and run time is brought up to date by the tick.
const ERROR_TICKS: f64 = 3.0;

/// A thread over the pieces so far.
#[derive(Debug, Default)]
struct Past {
    runs: BTreeMap<usize, Vec<Span>>,
    counted: Nanos,
    allowed: Option<Rc<CpuSet>>,
}

impl Past {
    fn add(&mut self, spans: Vec<Span>) {
        let n = spans.len();
        add_each(self.runs.entry(n).or_insert_with(|| vec![Span::default(); n]), spans);
    }
}

fn add_each(sums: &mut [Span], spans: Vec<Span>) {
    for (sum, span) in sums.iter_mut().zip(spans) {
        *sum = sum.plus(span);
    }
}

#[derive(Debug)]
pub struct Bounds {
    root: Root,
    siblings: Siblings,
    effort: Effort,
    anywhere: Rc<CpuSet>,
    roster: Roster,
    past: BTreeMap<Index, Past>,
    cores: Vec<Vec<Span>>,
    unseen_s: f64,
    pieces: u64,
    piece_start: Instant,
    due: Instant,
    stat: Option<CpuTimes>,
    window_start: Instant,
    window_stat: Option<CpuTimes>,
}

impl Bounds {
    /// Ready to start on this sibling map. The looks of `effort` are pieces; each reads every thread if it
    /// is to be thorough, else as many as it may.
    pub fn new(root: &Root, siblings: Siblings, effort: Effort) -> Self {
        let now = Instant::now();
        Self {
            root: root.clone(),
            cores: no_time(&siblings),
            anywhere: Rc::new(siblings.cpus()),
            siblings,
            effort,
            roster: Roster::new(root),
            past: BTreeMap::new(),
            unseen_s: 0.0,
            pieces: 0,
            piece_start: now,
            due: now,
            stat: None,
            window_start: now,
            window_stat: None,
        }
    }

    /// Ends a piece: everything that ran in it gets its range.
    fn end_piece(&mut self) -> Result<(), Error> {
        self.roster.meet_new();
        self.roster.read_round(self.effort.round_s(self.piece_start.elapsed()));
        self.roster.read_cgroups();
        let stat = observe::cpu_times(&self.root)?;
        let now = Instant::now();
        let length_s = (now - self.piece_start).as_secs_f64();
        if let Some(before) = self.stat.replace(stat.clone()) {
            let busy_s = |cpu| Some((cpu, observed_busy_s(&stat, &before, cpu, length_s)?));
            let by_cpu_s = self.anywhere.iter().filter_map(busy_s).collect();
            let error_s = ERROR_TICKS / self.roster.hertz.max(1) as f64;
            self.add_piece(&Busy { length_s, by_cpu_s, error_s });
        }
        self.roster.end_round();
        self.piece_start = now;
        self.pieces += 1;
        Ok(())
    }

    fn add_piece(&mut self, busy: &Busy) {
        for (core, sum) in self.siblings.cores.iter().zip(&mut self.cores) {
            add_each(sum, arithmetic::core_use_s(core, busy));
        }
        let ran: Vec<(Index, Nanos)> =
            self.roster.ran().map(|(index, known)| (index, known.raw())).collect();
        let mut seen_s = 0.0;
        let mut places = PlacesOf::default();
        for (index, raw) in ran {
            let past = self.past.entry(index).or_default();
            let new_s = raw.saturating_sub(past.counted).seconds();
            if new_s <= 0.0 {
                continue;
            }
            past.counted = raw;
            seen_s += new_s;
            // It may have been moved within the piece: then it ran on the CPUs of before or of now.
            let now = self.roster.allowed(index);
            let allowed = match (past.allowed.take(), &now) {
                (Some(before), Some(now)) if Rc::ptr_eq(&before, now) => before,
                (Some(before), Some(now)) => Rc::new(before.union(now)),
                // Before it is seen first it may have run anywhere: who is bound to a CPU is bound
                // by itself, or before its program begins. Or it has ended.
                (before, _) => before.unwrap_or_else(|| Rc::clone(&self.anywhere)),
            };
            past.allowed = now;
            let places = places.get(&allowed, &self.siblings, busy);
            for run in arithmetic::runs(new_s, places, busy) {
                past.add(run.by_busy_s);
            }
        }
        self.unseen_s += (busy.by_cpu_s.values().sum::<f64>() - seen_s).max(0.0);
        for (from, into) in self.roster.fold() {
            self.fold(from, into);
        }
    }

    fn fold(&mut self, from: Index, into: Index) {
        let Some(past) = self.past.remove(&from) else { return };
        let heir = self.past.entry(into).or_default();
        heir.counted += past.counted;
        past.runs.into_values().for_each(|spans| heir.add(spans));
    }

    fn next_piece(&mut self, cost_s: f64) {
        let length_s = (cost_s / self.effort.share_max).clamp(PIECE_S, 60.0);
        self.due = self.piece_start + Duration::from_secs_f64(length_s);
    }
}

impl Method for Bounds {
    fn name(&self) -> MethodName {
        MethodName::Bounds
    }

    fn start(&mut self) -> Result<(), Error> {
        self.roster.start(self.effort.is_thorough);
        let stat = observe::cpu_times(&self.root)?;
        self.piece_start = Instant::now();
        self.window_start = self.piece_start;
        self.window_stat = Some(stat.clone());
        self.stat = Some(stat);
        self.next_piece(0.0);
        Ok(())
    }

    fn due(&self) -> Option<Instant> {
        Some(self.due)
    }

    fn look(&mut self) -> Result<(), Error> {
        let before_s = cpu_s();
        self.end_piece()?;
        self.next_piece(cpu_s() - before_s);
        Ok(())
    }

    fn window(&mut self) -> Result<Window, Error> {
        self.end_piece()?;
        self.next_piece(0.0);
        let now = self.piece_start;
        let elapsed_s = (now - self.window_start).as_secs_f64();
        let stat = self.stat.clone().unwrap_or(CpuTimes { cpus: BTreeMap::new(), hertz: 100 });
        let before = self.window_stat.replace(stat.clone());
        let hertz = self.roster.hertz;
        let task = |(index, known): (Index, &crate::roster::Known)| {
            let past = self.past.get(&index)?;
            let runs = past.runs.values().map(|spans| Run { by_busy_s: spans.clone() }).collect();
            Some(TaskUse { runs, ..known.task_use(hertz) })
        };
        let cores = self.siblings.cores.iter().zip(&self.cores).map(|(cpus, by_busy_s)| CoreUse {
            cpus: cpus.clone(),
            by_busy_s: by_busy_s.clone(),
            by_cpu: cpus
                .iter()
                .map(|cpu| cpu_use(cpu, &stat, before.as_ref(), elapsed_s))
                .collect(),
        });
        let tasks: Vec<TaskUse> = self.roster.ran().filter_map(task).collect();
        let tasks_s = tasks.iter().map(|task| task.raw_s).sum();
        let cpus = self.siblings.cpus();
        let told = stat.since(before.as_ref().unwrap_or(&stat), &cpus);
        let window = Window {
            method: MethodName::Bounds,
            elapsed_s,
            siblings: self.siblings.clone(),
            cores: cores.collect(),
            tasks,
            pairs: Vec::new(),
            clash_s: None,
            unseen: Unseen { busy_s: self.unseen_s, lost: self.roster.missed, notes: Vec::new() },
            balance: balance_of_stat(told, cpus.len(), elapsed_s, tasks_s),
            looks: self.pieces,
        };
        self.cores = no_time(&self.siblings);
        let is_here: BTreeSet<Index> =
            self.roster.ran().filter(|(_, known)| !known.ended).map(|(index, _)| index).collect();
        self.past.retain(|index, past| {
            past.counted = Nanos(0);
            past.runs.clear();
            is_here.contains(index)
        });
        self.roster.begin_window();
        self.unseen_s = 0.0;
        self.pieces = 0;
        self.window_start = now;
        Ok(window)
    }
}

/// Where threads of a piece may run; most may run where others may.
#[derive(Default)]
struct PlacesOf<'a>(Vec<(Rc<CpuSet>, Places<'a>)>);

impl<'a> PlacesOf<'a> {
    fn get(&mut self, allowed: &Rc<CpuSet>, siblings: &'a Siblings, busy: &Busy) -> &Places<'a> {
        let known = self.0.iter().position(|(cpus, _)| Rc::ptr_eq(cpus, allowed));
        let at = known.unwrap_or_else(|| {
            self.0.push((Rc::clone(allowed), Places::new(allowed, siblings, busy)));
            self.0.len() - 1
        });
        &self.0[at].1
    }
}

/// A core of which only is known how long each of its CPUs was busy in so much time.
#[must_use]
pub fn by_busy_times(core: &CoreUse, elapsed_s: f64) -> CoreUse {
    let busy = Busy {
        length_s: elapsed_s,
        by_cpu_s: core.by_cpu.iter().map(|one| (one.cpu, one.busy_s)).collect(),
        error_s: ERROR_TICKS / rustix::param::clock_ticks_per_second() as f64,
    };
    CoreUse { by_busy_s: arithmetic::core_use_s(&core.cpus, &busy), ..core.clone() }
}

fn no_time(siblings: &Siblings) -> Vec<Vec<Span>> {
    siblings.cores.iter().map(|core| vec![Span::default(); core.len() + 1]).collect()
}
