//! Loops that fill one thing CPUs may share, side by side on chosen CPUs, and what each achieved.
//!
//! A process of its own, started with [`command`]: it reads [`Orders`], then a [`Round`] a line,
//! and answers each with a [`Reply`]. It ends when its standard input closes or its parent dies,
//! and its threads with it, so no loop outlives a killed parent.
//!
//! Each CPU has two threads bound to it: one that burns when a round asks for it, and one of the idle class
//! that looks, while the CPU should rest, whether it does: a thread of that class gets the CPU at once unless
//! another task runs there.

mod loops;

use crate::{Context, Error, answer, role, sys};
use coretwin_base::account::probe::Contention;
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use loops::Loops;
pub(crate) use loops::Walk;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hint::spin_loop;
use std::io::BufRead;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Orders {
    pub cpus: CpuSet,
    /// Whether others are kept off the CPUs while a round lasts, by real-time priority.
    pub exclusive: bool,
    pub l1_kib: u64,
    pub l2_kib: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    pub kind: Contention,
    /// CPUs that do it; the others rest.
    pub active: CpuSet,
    /// For [`Contention::PingPong`]: the pairs of CPUs; each CPU once at most.
    pub pairs: Vec<(CpuId, CpuId)>,
    pub window_us: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Busy {
    pub cpu: CpuId,
    /// Steps (or round trips) per second.
    pub per_s: f64,
    /// How often another task took the CPU, or the thread gave it away.
    pub switches: u64,
    /// How much later than planned it began, in seconds.
    pub late_s: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resting {
    pub cpu: CpuId,
    /// How long a thread of the idle class had to wait for it, at most, in seconds.
    pub late_s: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Ready,
    Done { busy: Vec<Busy>, resting: Vec<Resting> },
    Failed(String),
}

/// The command that starts the process, from the program of the worker. The process dies with the
/// thread that starts it.
pub fn command(worker: &Path, orders: &Orders) -> Result<Command, Error> {
    let entry = role::Entry { parent: std::process::id(), cpus: None, core_sched: false };
    let mut command = Command::new(worker);
    command.arg(role::CONTENTION).arg(role::written(&entry)?).arg(role::written(orders)?);
    Ok(command)
}

/// Burnt before time counts, so that clocks and caches are where they stay.
const WARM: Duration = Duration::from_millis(1);
/// From the order to the begin.
const LEAD: Duration = Duration::from_micros(500);
/// Where others are to be kept off: they may have the CPU until the order is read.
const LEAD_EXCLUSIVE: Duration = Duration::from_millis(20);
/// And for each CPU on top.
const LEAD_PER_CPU: Duration = Duration::from_micros(20);
/// Looks at a CPU that should rest, spread over the window.
const LOOKS: u32 = 4;
/// How long after the window a look may come; then the CPU was not at rest.
const LOOK_LATE: Duration = Duration::from_millis(5);
/// How long after the window a burning thread may answer: others may have the CPU first.
const BUSY_LATE: Duration = Duration::from_secs(5);
/// Room for the stack of a thread, in bytes.
const STACK: usize = 256 << 10;
/// Most time a real-time thread may go on without a rest: the kernel ends the process after it
/// (`RLIMIT_RTTIME`, getrlimit(2)), so that no fault of ours can take a CPU for good; in µs.
const REAL_TIME_MAX_US: u64 = 1_000_000;

#[derive(Debug, Clone, Copy)]
struct Window {
    from: Instant,
    to: Instant,
}

enum Task {
    Burn(Contention),
    Rest,
    Play { line: Arc<Line>, serves: bool },
    Look,
}

/// A cache line that two CPUs pass to each other, and no other data near it.
#[repr(align(128))]
#[derive(Default)]
struct Line(AtomicU32);

struct Order {
    round: u64,
    window: Window,
    task: Task,
}

enum Said {
    Busy(Busy),
    Resting(Resting),
}

struct Crew {
    cpus: CpuSet,
    exclusive: bool,
    burners: BTreeMap<CpuId, Sender<Order>>,
    watchers: BTreeMap<CpuId, Sender<Order>>,
    said: Receiver<(u64, Said)>,
    round: u64,
}

impl Crew {
    fn new(orders: &Orders) -> Result<Self, Error> {
        if orders.exclusive {
            sys::limit_real_time(REAL_TIME_MAX_US).context("cannot limit real-time work")?;
        }
        let (say, said) = channel();
        let (mut burners, mut watchers) = (BTreeMap::new(), BTreeMap::new());
        for cpu in orders.cpus.iter() {
            let (say_too, own) = (say.clone(), orders.clone());
            let burn = move |received| burner(cpu, &own, received, &say_too);
            burners.insert(cpu, start(cpu, orders.exclusive, false, burn)?);
            if !orders.exclusive {
                let say = say.clone();
                let watch = move |received| watcher(cpu, received, &say);
                watchers.insert(cpu, start(cpu, false, true, watch)?);
            }
        }
        Ok(Self {
            cpus: orders.cpus.clone(),
            exclusive: orders.exclusive,
            burners,
            watchers,
            said,
            round: 0,
        })
    }

    fn run(&mut self, round: &Round) -> Reply {
        let players: CpuSet = round.pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
        let active = round.active.union(&players);
        if !active.is_subset(&self.cpus) || players.len() != round.pairs.len() * 2 {
            return Reply::Failed(format!("a round names CPUs {active}, there are {}", self.cpus));
        }
        self.round += 1;
        let lead = if self.exclusive { LEAD_EXCLUSIVE } else { LEAD };
        let from = Instant::now() + lead + LEAD_PER_CPU * self.cpus.len() as u32 + WARM;
        let window = Window { from, to: from + Duration::from_micros(round.window_us) };
        for (a, b) in &round.pairs {
            let line = Arc::new(Line::default());
            self.order(
                &self.burners,
                *a,
                window,
                Task::Play { line: Arc::clone(&line), serves: true },
            );
            self.order(&self.burners, *b, window, Task::Play { line, serves: false });
        }
        for cpu in round.active.iter().filter(|cpu| !players.contains(*cpu)) {
            self.order(&self.burners, cpu, window, Task::Burn(round.kind));
        }
        let resting = self.cpus.difference(&active);
        for cpu in resting.iter() {
            if self.exclusive {
                self.order(&self.burners, cpu, window, Task::Rest);
            } else {
                self.order(&self.watchers, cpu, window, Task::Look);
            }
        }
        self.collect(&active, &resting, window)
    }

    fn order(
        &self,
        threads: &BTreeMap<CpuId, Sender<Order>>,
        cpu: CpuId,
        window: Window,
        task: Task,
    ) {
        if let Some(thread) = threads.get(&cpu) {
            // An error means that the thread has ended, which shows as no answer.
            let _ = thread.send(Order { round: self.round, window, task });
        }
    }

    /// Waits for everybody; a look that does not come in time is late by then at least.
    fn collect(&self, active: &CpuSet, resting: &CpuSet, window: Window) -> Reply {
        let (mut busy, mut looked) = (BTreeMap::new(), BTreeMap::new());
        let looks_end = window.to + LOOK_LATE;
        let missing = |busy: &BTreeMap<CpuId, Busy>| {
            active.iter().filter(|cpu| !busy.contains_key(cpu)).collect::<CpuSet>()
        };
        while busy.len() < active.len()
            || (looked.len() < resting.len() && Instant::now() < looks_end)
        {
            let until = if busy.len() < active.len() { window.to + BUSY_LATE } else { looks_end };
            let left = until.saturating_duration_since(Instant::now());
            match self.said.recv_timeout(left) {
                Ok((round, _)) if round != self.round => {}
                Ok((_, Said::Busy(one))) => drop(busy.insert(one.cpu, one)),
                Ok((_, Said::Resting(one))) => drop(looked.insert(one.cpu, one)),
                Err(RecvTimeoutError::Timeout) if busy.len() == active.len() => break,
                Err(_) => {
                    return Reply::Failed(format!(
                        "the loops on CPUs {} do not come to an end; others keep these CPUs busy \
                         at real-time priority, or they went offline",
                        missing(&busy)
                    ));
                }
            }
        }
        let late_s = LOOK_LATE.as_secs_f64();
        let unseen = resting.iter().filter(|cpu| !looked.contains_key(cpu));
        let unseen: Vec<Resting> = unseen.map(|cpu| Resting { cpu, late_s }).collect();
        Reply::Done {
            busy: busy.into_values().collect(),
            resting: looked.into_values().chain(unseen).collect(),
        }
    }
}

/// Starts a thread on a CPU, and waits until it is there: of the idle class, or one that tries
/// whether it may become real-time.
fn start(
    cpu: CpuId,
    exclusive: bool,
    idle: bool,
    work: impl FnOnce(Receiver<Order>) + Send + 'static,
) -> Result<Sender<Order>, Error> {
    let (orders, received) = channel();
    let (ready, is_ready) = channel();
    let enter = move || {
        sys::bind(&[cpu].into_iter().collect())
            .with_context(|| format!("cannot run on CPU {cpu}"))?;
        if idle {
            sys::enter_class(libc::SCHED_IDLE, 0).context("cannot enter the idle class")?;
        }
        if exclusive {
            sys::enter_class(libc::SCHED_FIFO, 1)
                .and_then(|()| sys::enter_class(libc::SCHED_OTHER, 0))
                .context("cannot keep others off the CPUs (it needs root)")?;
        }
        Ok(())
    };
    std::thread::Builder::new()
        .name(format!("cpu {cpu}"))
        .stack_size(STACK)
        .spawn(move || {
            let entered = enter();
            let failed = entered.is_err();
            let _ = ready.send(entered);
            if !failed {
                work(received);
            }
        })
        .with_context(|| format!("cannot start a thread for CPU {cpu}"))?;
    is_ready.recv().unwrap_or_else(|_| Err(Error::failed("a thread died at its start")))?;
    Ok(orders)
}

fn watcher(cpu: CpuId, orders: Receiver<Order>, say: &Sender<(u64, Said)>) {
    for order in orders {
        let Window { from, to } = order.window;
        let mut late = Duration::ZERO;
        for look in 0..LOOKS {
            let at = from + (to - from) * look / (LOOKS - 1);
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
            late = late.max(at.elapsed());
        }
        let seen = Resting { cpu, late_s: late.as_secs_f64() };
        if say.send((order.round, Said::Resting(seen))).is_err() {
            return;
        }
    }
}

fn burner(cpu: CpuId, own: &Orders, orders: Receiver<Order>, say: &Sender<(u64, Said)>) {
    let mut loops = Loops::new(own.l1_kib, own.l2_kib);
    for Order { round, window, task } in orders {
        if let Task::Burn(kind) = &task {
            loops.prepare(*kind);
        }
        // Real-time only where no lock is held or waited for: the channels' other ends would never
        // run again on a CPU on which one of them waits for us.
        let is_real_time = own.exclusive && sys::enter_class(libc::SCHED_FIFO, 1).is_ok();
        wait_for(window.from.checked_sub(WARM).unwrap_or(window.from));
        let mut late = Duration::ZERO;
        let done = match task {
            Task::Burn(kind) => Some(count(window, || {
                loops.step(kind);
                1
            })),
            Task::Play { line, serves } => Some(count(window, || play(&line, serves, window.to))),
            Task::Rest | Task::Look => {
                late = window.from.elapsed();
                while Instant::now() < window.to {
                    loops::rest();
                }
                None
            }
        };
        if is_real_time {
            let _ = sys::enter_class(libc::SCHED_OTHER, 0);
        }
        let said = match done {
            Some(done) => Said::Busy(Busy { cpu, ..done }),
            None => Said::Resting(Resting { cpu, late_s: late.as_secs_f64() }),
        };
        if say.send((round, said)).is_err() {
            return;
        }
    }
}

fn wait_for(at: Instant) {
    std::thread::sleep(at.saturating_duration_since(Instant::now()));
}

fn count(window: Window, mut step: impl FnMut() -> u64) -> Busy {
    while Instant::now() < window.from {
        step();
    }
    let switches = sys::thread_switches();
    let start = Instant::now();
    let (mut last, mut steps) = (start, 0);
    while last < window.to {
        steps += step();
        last = Instant::now();
    }
    Busy {
        cpu: CpuId(0),
        per_s: steps as f64 / (last - start).as_secs_f64().max(1e-9),
        switches: sys::thread_switches().saturating_sub(switches),
        late_s: (start - window.from).as_secs_f64(),
    }
}

/// Some round trips of the line, or 0 if the partner does not take part (any more).
fn play(line: &Line, serves: bool, until: Instant) -> u64 {
    const TRIPS: u64 = 20;
    let (mine, theirs) = if serves { (1, 0) } else { (0, 1) };
    for trip in 0..TRIPS {
        let mut spins = 0_u32;
        while line.0.load(Ordering::Acquire) != theirs {
            spin_loop();
            spins += 1;
            if spins.is_multiple_of(1000) && Instant::now() >= until {
                return trip;
            }
        }
        line.0.store(mine, Ordering::Release);
    }
    TRIPS
}

pub(crate) fn main(entered: Result<(), Error>, args: &[String]) -> ExitCode {
    let crew = entered
        .and_then(|()| role::orders(args, "the process of the loops"))
        .and_then(|orders| Crew::new(&orders));
    let mut crew = match crew {
        Ok(crew) => crew,
        Err(error) => {
            answer::tell(&Reply::Failed(error.to_string()));
            return ExitCode::FAILURE;
        }
    };
    if !answer::tell(&Reply::Ready) {
        return ExitCode::FAILURE;
    }
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return ExitCode::FAILURE };
        let reply = match serde_json::from_str::<Round>(&line) {
            Ok(round) => crew.run(&round),
            Err(bad) => Reply::Failed(format!("the round does not read: {bad}")),
        };
        if !answer::tell(&reply) {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders() -> Orders {
        let cpus = sys::bound().expect("CPUs").iter().take(2).collect();
        Orders { cpus, exclusive: false, l1_kib: 32, l2_kib: 256 }
    }

    /// On a machine that others use a whole window may pass without a CPU for us.
    fn until_something_moves(crew: &mut Crew, round: &Round) -> (Vec<Busy>, Vec<Resting>) {
        for _ in 0..200 {
            let Reply::Done { busy, resting } = crew.run(round) else { panic!("no answer") };
            if busy.iter().any(|one| one.per_s > 0.0) {
                return (busy, resting);
            }
        }
        panic!("nothing moved in 200 windows");
    }

    #[test]
    fn every_cpu_answers_for_what_it_was_asked() {
        let orders = orders();
        let mut crew = Crew::new(&orders).expect("crew");
        let first: CpuSet = orders.cpus.first().into_iter().collect();
        for kind in [Contention::Ports, Contention::Turns, Contention::L1, Contention::L2] {
            let round = Round { kind, active: first.clone(), pairs: Vec::new(), window_us: 2000 };
            let (busy, resting) = until_something_moves(&mut crew, &round);
            assert!(busy.len() == 1 && busy[0].per_s > 0.0, "{busy:?}");
            let rested: CpuSet = resting.iter().map(|one| one.cpu).collect();
            assert_eq!(rested, orders.cpus.difference(&first));
        }
    }

    #[test]
    fn a_line_travels_between_two_cpus_and_a_lonely_player_ends() {
        let orders = orders();
        let cpus: Vec<CpuId> = orders.cpus.iter().collect();
        let [a, b] = cpus[..] else { return };
        let mut crew = Crew::new(&orders).expect("crew");
        let kind = Contention::PingPong;
        let round = Round { kind, active: CpuSet::new(), pairs: vec![(a, b)], window_us: 5000 };
        let (busy, _) = until_something_moves(&mut crew, &round);
        assert!(busy.iter().map(|one| one.per_s).sum::<f64>() > 0.0, "{busy:?}");
        assert_eq!(play(&Line(AtomicU32::new(1)), true, Instant::now()), 0);
    }

    #[test]
    fn a_cpu_nobody_knows_is_refused() {
        let mut crew = Crew::new(&orders()).expect("crew");
        let active = [CpuId(60_000)].into_iter().collect();
        let round = Round { kind: Contention::Ports, active, pairs: Vec::new(), window_us: 1000 };
        assert!(matches!(crew.run(&round), Reply::Failed(why) if why.contains("60000")));
        let orders = Orders { cpus: [CpuId(60_000)].into_iter().collect(), ..orders() };
        let error = Crew::new(&orders).err().expect("no such CPU").to_string();
        assert!(error.contains("cannot run on CPU 60000"), "{error}");
    }
}
