//! The program in the kernel.

use super::glimpses::Glimpses;
use super::ledger::{Ledger, Reading};
use super::shapes::{self, Cpu, Given, Task};
use super::{Room, SiblingMap, Window};
use crate::Error;
use crate::object::{embedded, load, open, refused};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::random::Stream;
use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle, MapImpl, Object, ProgramInput, ProgramMut, RingBuffer,
    RingBufferBuilder,
};
use rustix::thread::sched_getcpu;
use rustix::time::{ClockId, clock_gettime};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The name of the object.
const OBJECT: &str = "overlap";
/// The program that closes a window; all others are attached.
const CLOSE: &str = "overlap_close";
/// BPF_F_TEST_RUN_ON_CPU.
const ON_CPU: u32 = 1;
/// Entries that are read from the table by one system call.
const BATCH: u32 = 4096;
/// How often, and how often again, a CPU is asked that is just going or coming.
const CHANGING: Duration = Duration::from_millis(5);
const CHANGING_MAX: usize = 1000;
/// The ring of ended tasks holds as many as can end in this time many times over; who runs is looked at
/// as often.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The program in the kernel; it goes when this value or its process does.
#[derive(Debug)]
pub struct Overlap {
    object: Object,
    links: Vec<Link>,
    map: SiblingMap,
    ledger: Ledger,
    /// The window that is open.
    open: u64,
    attendant: Attendant,
}

impl Overlap {
    /// Loads and starts the program; the first window begins.
    ///
    /// # Errors
    /// [`Error`] says what the kernel lacks or forbids.
    pub fn start(map: &SiblingMap, room: Room) -> Result<Self, Error> {
        let mut opened = open(OBJECT, embedded!("overlap"))?;
        let cpus = map.cores().iter().flat_map(|core| core.iter().next_back()).max();
        let cpus = cpus.ok_or_else(|| Error::Siblings("there is no CPU".to_owned()))?.0 + 1;
        let cores = u32::try_from(map.cores().len()).unwrap_or(u32::MAX);
        for mut table in opened.maps_mut() {
            let entries = match table.name().to_str() {
                Some("cpus") => cpus,
                Some("cores") => cores,
                Some("keys") => lines(room),
                Some("tasks") => lines(room) * shapes::WAYS,
                Some("ended") => room.ended_bytes,
                _ => continue,
            };
            table.set_max_entries(entries).map_err(|error| refused(OBJECT, &error))?;
        }
        let object = load(OBJECT, opened)?;
        let attendant = Attendant::start(&object, map)?;
        let mut overlap = Self {
            object,
            links: Vec::new(),
            map: map.clone(),
            ledger: Ledger::default(),
            open: 1,
            attendant,
        };
        overlap.prepare(lines(room) - 1)?;
        for program in overlap.object.progs_mut() {
            if program.name() != CLOSE {
                let link = program.attach().map_err(|error| refused(OBJECT, &error))?;
                overlap.links.push(link);
            }
        }
        // What was before every CPU had begun is nobody's.
        overlap.window()?;
        Ok(overlap)
    }

    /// Tells the program who is a sibling of whom, and how large its table is.
    fn prepare(&self, lines_mask: u32) -> Result<(), Error> {
        let (cpus, cores) = (table(&self.object, "cpus")?, table(&self.object, "cores")?);
        let now = monotonic_ns();
        let failed = |error| failed("telling the program the siblings", &error);
        for (index, siblings) in (0_u32..).zip(self.map.cores()) {
            let core = shapes::fresh_core(now);
            cores.update(&index.to_ne_bytes(), &core, MapFlags::ANY).map_err(failed)?;
            let kind = self.map.kinds().find(|(count, _)| *count == siblings.len());
            let (count, kind) = kind.unwrap_or_default();
            for (place, cpu) in (0_u32..).zip(siblings.iter()) {
                let given = Given {
                    core: index,
                    place,
                    siblings: u32::try_from(count).unwrap_or_default(),
                    kind: u32::try_from(kind).unwrap_or_default(),
                    lines_mask,
                    online: self.map.online.contains(cpu),
                };
                let fresh = Cpu::fresh(given, now);
                cpus.update(&cpu.0.to_ne_bytes(), &fresh, MapFlags::ANY).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Marks the processes that a process starts from now on, and all that descend from them.
    ///
    /// # Errors
    /// [`Error::Failed`] if more than 64 processes are followed.
    pub fn follow_children(&self, tgid: u32) -> Result<(), Error> {
        table(&self.object, "followed")?
            .update(&tgid.to_ne_bytes(), &1_u32.to_ne_bytes(), MapFlags::ANY)
            .map_err(|error| failed(&format!("following process {tgid}"), &error))
    }

    /// Ends the window on every CPU, begins the next, and says what went on.
    ///
    /// # Errors
    /// [`Error::Failed`] if a CPU or a map cannot be asked.
    pub fn window(&mut self) -> Result<Window, Error> {
        self.open += 1;
        table(&self.object, "windows")?
            .update(&0_u32.to_ne_bytes(), &self.open.to_ne_bytes(), MapFlags::ANY)
            .map_err(|error| failed("opening a window", &error))?;
        let close = self.object.progs_mut().find(|program| program.name() == CLOSE);
        let close = close.ok_or_else(|| missing(CLOSE))?;
        let mut cpus = Vec::new();
        let table = table(&self.object, "cpus")?;
        for cpu in self.map.cores().iter().flat_map(CpuSet::iter) {
            cpus.push((cpu, close_one(&close, &table, cpu)?));
        }
        let tasks = self.tasks()?;
        let Seen { ended, glimpses } = self.attendant.take()?;
        let reading = Reading { open: self.open, cpus, tasks, ended, glimpses };
        Ok(self.ledger.close(&self.map, reading))
    }

    /// Every task in the table.
    fn tasks(&self) -> Result<Vec<Task>, Error> {
        let failed = |error| failed("reading the table of tasks", &error);
        let (keys, tasks) = (table(&self.object, "keys")?, table(&self.object, "tasks")?);
        let mut found = Vec::new();
        for (place, address) in filled(&keys)? {
            let bytes = tasks.lookup(&place.to_ne_bytes(), MapFlags::ANY).map_err(failed)?;
            let task = bytes.and_then(|bytes| Task::read(&bytes));
            found.extend(task.filter(|task| task.address == address).map(|task| (place, task)));
        }
        // Whose key has gone has ended while we read, and is in the ring; of what stands in its place
        // we may have read the half.
        let still: BTreeSet<(u32, u64)> = filled(&keys)?.into_iter().collect();
        found.retain(|(place, task)| still.contains(&(*place, task.address)));
        Ok(found.into_iter().map(|(_, task)| task).collect())
    }
}

/// Lines of keys for so many tasks.
fn lines(room: Room) -> u32 {
    room.tasks.div_ceil(shapes::WAYS).next_power_of_two()
}

/// The places of the table that are filled, with the addresses of their tasks.
fn filled(keys: &MapImpl<'_>) -> Result<Vec<(u32, u64)>, Error> {
    let failed = |error| failed("reading the table of tasks", &error);
    let lines = keys.lookup_batch(BATCH, MapFlags::ANY, MapFlags::ANY).map_err(failed)?;
    let mut all = Vec::new();
    for (key, bytes) in lines {
        if let Ok(line) = key.try_into() {
            all.extend(shapes::filled(u32::from_ne_bytes(line), &bytes));
        }
    }
    Ok(all)
}

/// Has a CPU close its window, and reads what it then had.
fn close_one(close: &ProgramMut<'_>, table: &MapImpl<'_>, cpu: CpuId) -> Result<Cpu, Error> {
    // A CPU that is going or coming is neither to be asked nor known to be offline.
    for _ in 0..CHANGING_MAX {
        let input = ProgramInput { cpu: cpu.0, flags: ON_CPU, ..ProgramInput::default() };
        let asked = close.test_run(input);
        let now = monotonic_ns();
        let bytes = table.lookup(&cpu.0.to_ne_bytes(), MapFlags::ANY);
        let bytes = bytes.map_err(|error| failed(&format!("reading CPU {}", cpu.0), &error))?;
        let bytes = bytes.unwrap_or_default();
        let read = Cpu::read(&bytes);
        if asked.is_ok() {
            return Ok(read);
        }
        if read.offline {
            return Ok(Cpu::offline(&bytes, now));
        }
        std::thread::sleep(CHANGING);
    }
    Err(Error::Failed {
        what: format!("closing the window on CPU {}", cpu.0),
        reason: "the kernel does not run a program there".to_owned(),
    })
}

/// What runs beside: reads the ring of ended tasks before it is full, and glimpses who runs.
#[derive(Debug)]
struct Attendant {
    ring: Arc<Mutex<RingBuffer<'static>>>,
    seen: Arc<Mutex<Seen>>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What it has seen since it was last asked.
#[derive(Debug, Default)]
struct Seen {
    ended: Vec<Task>,
    glimpses: Glimpses,
}

impl Attendant {
    fn start(object: &Object, map: &SiblingMap) -> Result<Self, Error> {
        let starting = |error| failed("reading the ring of ended tasks", &error);
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (into, glimpsed) = (Arc::clone(&seen), Arc::clone(&seen));
        let ended = MapHandle::try_from(&table(object, "ended")?).map_err(starting)?;
        let cpus = MapHandle::try_from(&table(object, "cpus")?).map_err(starting)?;
        let mut builder = RingBufferBuilder::new();
        let take = move |bytes: &[u8]| {
            lock(&into).ended.extend(Task::read(bytes));
            0
        };
        builder.add(&ended, take).map_err(starting)?;
        let ring = Arc::new(Mutex::new(builder.build().map_err(starting)?));
        let (stop, stopped) = channel();
        let (shared, map) = (Arc::clone(&ring), map.clone());
        let attend = move || {
            // One look at a moment drawn from each stretch, so that no rhythm hides behind them.
            let mut moments = Stream::new(0, "glimpses", 0);
            let mut left = Duration::ZERO;
            loop {
                let moment = LOOK_EVERY.mul_f64(moments.unit());
                if stopped.recv_timeout(left + moment) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                left = LOOK_EVERY - moment;
                lock(&shared).consume_raw();
                if let Some(tasks) = running(&cpus) {
                    lock(&glimpsed).glimpses.add(&map, &tasks);
                }
            }
        };
        let thread = std::thread::Builder::new().name("overlap".to_owned()).spawn(attend);
        let thread = thread.map_err(|error| Error::Failed {
            what: "starting a thread".to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Self { ring, seen, stop: Some(stop), thread: Some(thread) })
    }

    /// Every task that has ended, and what was glimpsed, since this was last asked.
    fn take(&self) -> Result<Seen, Error> {
        let read = lock(&self.ring).consume();
        read.map_err(|error| failed("reading the ring of ended tasks", &error))?;
        Ok(std::mem::take(&mut *lock(&self.seen)))
    }
}

impl Drop for Attendant {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The task of every CPU that is online; where we are ourselves, the one before. `None` if the map
/// cannot be read.
fn running(cpus: &MapHandle) -> Option<BTreeMap<CpuId, Option<u64>>> {
    let own = u32::try_from(sched_getcpu()).ok();
    let entries = cpus.lookup_batch(BATCH, MapFlags::ANY, MapFlags::ANY).ok()?;
    let running = entries.filter_map(|(key, value)| {
        let cpu = u32::from_ne_bytes(key.try_into().ok()?);
        let [task, before] = Cpu::running(&value)?;
        Some((CpuId(cpu), if Some(cpu) == own { before } else { task }))
    });
    Some(running.collect())
}

/// One of the object's maps.
fn table<'object>(object: &'object Object, name: &str) -> Result<MapImpl<'object>, Error> {
    object.maps().find(|map| map.name() == name).ok_or_else(|| missing(name))
}

fn missing(name: &str) -> Error {
    Error::Failed { what: format!("looking for {name}"), reason: "it is not there".to_owned() }
}

fn failed(what: &str, error: &libbpf_rs::Error) -> Error {
    Error::Failed { what: what.to_owned(), reason: error.to_string() }
}

/// CLOCK_MONOTONIC, which the programs read too.
fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or_default()
}
