//! One task: a thread that goes through the steps of its program.

use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::random::Stream;
use coretwin_sim::kernel::program::{Access, Amount, Children, Step, Which};
use coretwin_sim::kernel::view::Class;
use coretwin_sim::kernel::work::Work;
use coretwin_workloads::real_time::RealTime;
use rustix::thread::{CpuSet as Mask, Pid, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::hint::black_box;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Between two looks at the clock: some microseconds.
const SPINS: u32 = 2000;
/// Pieces in which a long sleep looks whether the time is up.
const LOOK: Duration = Duration::from_millis(100);
/// Micro-operations of a nanosecond, where a scenario counts in them.
const UOPS_PER_NS: u64 = 2;
const PAGE_BYTES: u64 = 4096;

pub(super) struct Birth {
    pub(super) on: Option<CpuId>,
    pub(super) mask: Option<CpuSet>,
    pub(super) nice: i8,
    pub(super) class: Class,
    pub(super) free: Mutex<bool>,
}

impl Birth {
    pub(super) fn stand(&self) {
        if let Some(cpu) = self.on {
            set_mask(None, [cpu].into_iter());
        }
        set_nice(self.nice);
    }

    /// From now on the task may run wherever its mask says. Whoever opens the gate calls this, too: a task that waits for
    /// the CPU it was made on may go to another one, and must not be held there until it has run.
    pub(super) fn free(&self, task: Option<Pid>) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut *free, true) {
            allow(task, self.mask.as_ref());
        }
    }

    pub(super) fn begin(&self) {
        self.free(None);
        // That it may was tried beforehand.
        enter(self.class).ok();
    }
}

pub(super) struct Run {
    pub(super) work: Work,
    pub(super) objects: Objects,
    pub(super) seed: u64,
    pub(super) over: AtomicBool,
    pub(super) warm: AtomicBool,
    pub(super) operations: Vec<AtomicU64>,
    pub(super) cpu_ns: Vec<AtomicU64>,
    /// Tasks so far, for their random streams.
    pub(super) born: AtomicU64,
    pub(super) ended: AtomicU64,
}

pub(super) fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<thread::JoinHandle<T>> {
    thread::Builder::new().stack_size(128 << 10).spawn(work)
}

pub(super) struct Task {
    run: Arc<Run>,
    program: u32,
    own: Vec<u32>,
    random: Stream,
    children: Vec<thread::JoinHandle<u64>>,
    ended: (Sender<()>, Receiver<()>),
    /// Children whose end was not waited for yet.
    alive: usize,
    period: Instant,
    /// Where the last read of a file ended.
    offset: u64,
    /// CPU time before results counted.
    cold_ns: Option<u64>,
}

impl Task {
    pub(super) fn new(run: Arc<Run>, program: u32, own: &[u32]) -> Self {
        let index = run.born.fetch_add(1, Ordering::Relaxed);
        let random = Stream::new(run.seed, "live task", index);
        Self {
            run,
            program,
            own: own.to_vec(),
            random,
            children: Vec::new(),
            ended: channel(),
            alive: 0,
            period: Instant::now(),
            offset: 0,
            cold_ns: None,
        }
    }

    /// Goes through the program until its end or until the time is up; its CPU time after the warm-up.
    pub(super) fn live(&mut self) -> u64 {
        let program = self.program as usize;
        let steps = self.run.work.programs.get(program).map_or(Vec::new(), |it| it.steps.clone());
        let mut repeats: Vec<Option<u64>> = vec![None; steps.len()];
        let mut at = 0;
        while let Some(step) = steps.get(at)
            && !self.is_over()
        {
            self.note_warmth();
            at = match step {
                Step::Exit => break,
                Step::Forever { from } => *from as usize,
                Step::Repeat { from, times } => {
                    let left = repeats[at].take().unwrap_or_else(|| self.draw(*times));
                    repeats[at] = left.checked_sub(1);
                    if left > 0 { *from as usize } else { at + 1 }
                }
                step => {
                    self.step(step);
                    at + 1
                }
            };
        }
        self.note_warmth();
        let used_ns = cpu_ns().saturating_sub(self.cold_ns.unwrap_or_else(cpu_ns));
        if let Some(total) = self.run.cpu_ns.get(program) {
            total.fetch_add(used_ns, Ordering::Relaxed);
        }
        self.run.ended.fetch_add(1, Ordering::Relaxed);
        for child in self.children.drain(..) {
            child.join().ok();
        }
        used_ns
    }

    fn is_over(&self) -> bool {
        self.run.over.load(Ordering::Relaxed)
    }

    fn note_warmth(&mut self) {
        if self.cold_ns.is_none() && self.run.warm.load(Ordering::Relaxed) {
            self.cold_ns = Some(cpu_ns());
        }
    }

    fn draw(&mut self, amount: Amount) -> u64 {
        match amount {
            Amount::Fixed(value) => value,
            Amount::Between(low, high) => low + self.random.below(high.saturating_sub(low) + 1),
            Amount::Mean(mean) => {
                let drawn = -(1.0 - self.random.unit()).ln() * mean as f64;
                (drawn as u64).min(amount.most())
            }
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::ComputeFor { ns, .. } | Step::SystemCall { ns } => {
                let ns = self.draw(*ns);
                self.compute(ns);
            }
            Step::Compute { uops, .. } => {
                let uops = self.draw(*uops);
                self.compute(uops / UOPS_PER_NS);
            }
            Step::Sleep { ns } => {
                let ns = self.draw(*ns);
                self.sleep(Duration::from_nanos(ns));
            }
            Step::Period { ns } => {
                self.period += Duration::from_nanos(*ns);
                self.sleep(self.period.saturating_duration_since(Instant::now()));
            }
            Step::Send { socket, bytes } => {
                let bytes = self.draw(*bytes);
                self.run.objects.send(&self.run.over, number(*socket, &self.own), bytes);
            }
            Step::Receive { socket, bytes } => {
                let bytes = self.draw(*bytes);
                self.run.objects.receive(&self.run.over, number(*socket, &self.own), bytes);
            }
            Step::Read { file, bytes, access } => {
                let bytes = self.draw(*bytes);
                if *access == Access::Random {
                    self.offset = self.random.next_u64() / PAGE_BYTES * PAGE_BYTES;
                }
                self.run.objects.read(number(*file, &self.own), bytes, self.offset);
                self.offset = self.offset.wrapping_add(bytes);
            }
            Step::Fork { program, .. } => self.fork(*program),
            Step::Wait(children) => self.wait(*children),
            Step::Yield => thread::yield_now(),
            Step::SetMask(mask) => allow(None, mask.as_ref()),
            Step::SetNice(nice) => set_nice(*nice),
            Step::Done(kind) if self.run.warm.load(Ordering::Relaxed) => {
                if let Some(count) = self.run.operations.get(*kind as usize) {
                    count.fetch_add(1, Ordering::Relaxed);
                }
            }
            // Marks of measurement, costs without a counterpart, and what was refused beforehand.
            _ => {}
        }
    }

    fn compute(&self, ns: u64) {
        let end = cpu_ns() + ns;
        while cpu_ns() < end && !self.is_over() {
            for number in 0..SPINS {
                black_box(number);
            }
        }
    }

    fn sleep(&self, time: Duration) {
        let until = Instant::now() + time;
        while !self.is_over() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(LOOK));
        }
    }

    fn fork(&mut self, program: u32) {
        let mut child = Self::new(Arc::clone(&self.run), program, &self.own);
        let sender = self.ended.0.clone();
        let live = move || {
            let used_ns = child.live();
            sender.send(()).ok();
            used_ns
        };
        if let Ok(thread) = spawn(live) {
            self.children.push(thread);
            self.alive += 1;
        }
    }

    fn wait(&mut self, children: Children) {
        let until = match children {
            Children::One => self.alive.saturating_sub(1),
            Children::All => 0,
        };
        while self.alive > until && !self.is_over() {
            match self.ended.1.recv_timeout(LOOK) {
                Ok(()) => self.alive -= 1,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Lets a task, or this one, run on the CPUs of a mask; without one on all.
fn allow(task: Option<Pid>, mask: Option<&CpuSet>) {
    match mask {
        Some(mask) => set_mask(task, mask.iter()),
        None => set_mask(task, (0..Mask::MAX_CPU as u32).map(CpuId)),
    }
}

/// Where it may run; what the kernel does not allow stays as it was.
fn set_mask(task: Option<Pid>, cpus: impl Iterator<Item = CpuId>) {
    let mut mask = Mask::new();
    for cpu in cpus.filter(|cpu| (cpu.0 as usize) < Mask::MAX_CPU) {
        mask.set(cpu.0 as usize);
    }
    sched_setaffinity(task, &mask).ok();
}

pub(super) fn enter(class: Class) -> io::Result<()> {
    match class {
        Class::Normal | Class::Idle => Ok(()),
        Class::Fifo(priority) => RealTime::Fifo.enter(priority),
        Class::RoundRobin(priority) => RealTime::RoundRobin.enter(priority),
    }
}

/// Its own nice value; lower ones are root's.
fn set_nice(nice: i8) {
    if nice != 0 {
        rustix::process::setpriority_process(None, i32::from(nice)).ok();
    }
}

const PIECE_BYTES: usize = 64 << 10;

pub(super) struct Objects {
    /// The sending and the receiving end. Messages keep whole, so that many may receive.
    sockets: Vec<(UnixDatagram, UnixDatagram)>,
    files: Vec<(File, u64)>,
}

impl Objects {
    pub(super) fn new(work: &Work) -> io::Result<Self> {
        let socket = |_| {
            let (send, receive) = UnixDatagram::pair()?;
            send.set_write_timeout(Some(LOOK))?;
            receive.set_read_timeout(Some(LOOK))?;
            Ok((send, receive))
        };
        let file = |bytes: &u64| {
            let path = std::env::temp_dir().join(format!("coretwin-{}", std::process::id()));
            let file = File::create_new(&path)?;
            file.set_len(*bytes)?;
            let file = File::open(&path)?;
            // Nobody else needs its name.
            std::fs::remove_file(&path)?;
            Ok((file, *bytes))
        };
        Ok(Self {
            sockets: (0..work.sockets.len()).map(socket).collect::<io::Result<_>>()?,
            files: work.files.iter().map(file).collect::<io::Result<_>>()?,
        })
    }

    /// Waits while the socket is full.
    fn send(&self, over: &AtomicBool, which: u32, bytes: u64) {
        let Some((socket, _)) = self.sockets.get(which as usize) else { return };
        let piece = vec![0; PIECE_BYTES.min(bytes as usize)];
        moved(over, bytes, |left| socket.send(&piece[..piece.len().min(left)]));
    }

    /// Waits until so many bytes have come.
    fn receive(&self, over: &AtomicBool, which: u32, bytes: u64) {
        let Some((_, socket)) = self.sockets.get(which as usize) else { return };
        let mut piece = vec![0; PIECE_BYTES];
        moved(over, bytes, |_| socket.recv(&mut piece));
    }

    /// Reads from a file at an offset, around its end.
    fn read(&self, which: u32, bytes: u64, offset: u64) {
        let Some((file, length)) = self.files.get(which as usize) else { return };
        let mut piece = vec![0; PIECE_BYTES.min(bytes as usize)];
        let mut left = bytes as usize;
        let mut at = offset % length.max(&1);
        while left > 0 {
            let count = piece.len().min(left);
            match file.read_at(&mut piece[..count], at) {
                Ok(0) if at > 0 => at = 0,
                Ok(read) if read > 0 => {
                    left -= read;
                    at += read as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    }
}

fn number(which: Which, own: &[u32]) -> u32 {
    match which {
        Which::Number(number) => number,
        Which::Own(place) => own.get(usize::from(place)).copied().unwrap_or(u32::MAX),
    }
}

fn moved(over: &AtomicBool, bytes: u64, mut part: impl FnMut(usize) -> io::Result<usize>) {
    use ErrorKind::{Interrupted, TimedOut, WouldBlock};
    let mut left = bytes as usize;
    while left > 0 && !over.load(Ordering::Relaxed) {
        match part(left) {
            Ok(count) => left -= count.min(left),
            Err(error) if matches!(error.kind(), WouldBlock | TimedOut | Interrupted) => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::{gettid, sched_getaffinity};

    #[test]
    fn a_task_is_freed_once_by_whoever_comes_first() {
        let of_this_thread = || {
            let birth = Birth {
                on: Some(CpuId(0)),
                mask: None,
                nice: 0,
                class: Class::Normal,
                free: Mutex::new(false),
            };
            let cpus = || sched_getaffinity(None).expect("a mask").count();
            birth.stand();
            let standing = cpus();
            birth.free(Some(gettid()));
            let freed = cpus();
            birth.stand();
            birth.begin();
            (standing, freed, cpus())
        };
        let (standing, freed, later) =
            spawn(of_this_thread).expect("a thread").join().expect("ran");
        // Where CPU 0 is not allowed, or is the only one, nothing shows.
        if standing == 1 && freed > 1 {
            assert_eq!(later, 1, "a step of its own would be undone");
        }
    }
}
