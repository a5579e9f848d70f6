//! Brings the scheduler into the kernel, and reads what it counts.

use super::places::{CPUS_MAX, Places, THREADS_MAX};
use super::statistics::{CoreNow, Statistics};
use super::{Counter, Decision, End, Options, Partners, Trial, Wish};
use crate::Error;
use crate::object;
use crate::programs::Program;
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::simulation::core_queue;
use coretwin_base::simulation::core_queue::partners::{KINDS_MAX, NAME_BYTES, kept};
use coretwin_host::root::Root;
use coretwin_host::sched_ext::btf;
use coretwin_host::sched_ext::doctor::LATER;
use coretwin_host::topology;
use libbpf_rs::btf::types::{Enum, Enum64};
use libbpf_rs::{Btf, Link, MapCore, MapFlags, Object, OpenObject, RingBufferBuilder};
use std::ffi::OsStr;
use std::fmt;
use std::time::{Duration, Instant};

/// Where the kernel tells about sched_ext.
const STATE: &str = "/sys/kernel/sched_ext";
/// Of `struct sched_ext_ops` in `c/sched_ext.h`: where `hotplug_seq`, `timeout_ms` and `flags` are.
const HOTPLUG_BYTES: std::ops::Range<usize> = 0..8;
const TIMEOUT_BYTES: std::ops::Range<usize> = 8..12;
const FLAGS_BYTES: std::ops::Range<usize> = 16..24;
/// The ring of decisions, and the room for all that are told.
const DECISIONS: &str = "decisions";
const DECISIONS_BYTES: u32 = 2 << 20;
/// `struct core` in `c/core_queue.bpf.c`: its size, and where running, queued and online are.
const CORE_BYTES: usize = 64;
const CORE_NUMBERS: usize = 16;
/// The kernel takes no more.
const WATCHDOG_MAX: Duration = Duration::from_secs(30);
/// By then the kernel has taken every task back.
const END_PATIENCE: Duration = Duration::from_secs(20);
const END_POLL: Duration = Duration::from_millis(5);

/// The scheduler, loaded. Dropped, it is out of the kernel.
pub struct Scheduler {
    // Before the object, so that it goes first.
    link: Option<Link>,
    object: Object,
    program: &'static Program,
    cores: usize,
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler").field("cores", &self.cores).finish_non_exhaustive()
    }
}

impl Scheduler {
    /// Loads the scheduler: from now on the kernel schedules by it.
    ///
    /// # Errors
    /// A kernel without sched_ext, another scheduler loaded, no permission, a machine that is too
    /// large or changed meanwhile, or whatever the kernel did not like; nothing is loaded then.
    pub fn load(wish: &Wish) -> Result<Self, Error> {
        let root = Root::system();
        check(&root)?;
        // Before the topology is read: if CPUs come or go from here on, the kernel refuses.
        let hotplug = root.number(&format!("{STATE}/hotplug_seq")).unwrap_or(0);
        let places = read_places(&root)?;
        let program = Program::of(&wish.options);
        let mut open = object::open(program.object, program.bytes)?;
        prepare(&mut open, wish, &places, hotplug)?;
        set_flags(&mut open, program.object, flags_of_later(program.object)?);
        let mut object = object::load(program.object, open)?;
        let link = attach(&mut object, program.object)?;
        let scheduler = Self { link: Some(link), object, program, cores: places.cores.len() };
        // Attaching may succeed and yet end at once, with the reason in what was left.
        if let Some(end) = scheduler.poll_end()? {
            let story = end.explain();
            return Err(match end.wants_restart() {
                true => Error::Changed(story),
                false => Error::Ended(story),
            });
        }
        match places.difference(&read_places(&root)?) {
            None => Ok(scheduler),
            Some(change) => Err(Error::Changed(format!("{change}; it can be started again"))),
        }
    }

    /// What it has done so far.
    ///
    /// # Errors
    /// If the kernel does not give its maps.
    pub fn statistics(&self) -> Result<Statistics, Error> {
        let map = self.map("counters")?;
        let key = 0_u32.to_ne_bytes();
        let rows = map.lookup_percpu(&key, MapFlags::ANY).map_err(|error| failed(&error))?;
        let cpus: Vec<Vec<u64>> =
            rows.iter().flatten().map(|row| numbers(row, self.program.counters)).collect();
        let bytes = self.bytes(".bss.cores")?;
        let cores = bytes.chunks_exact(CORE_BYTES).take(self.cores).map(core_now).collect();
        Ok(Statistics::of_cpus(self.program.counters, &cpus, cores))
    }

    /// The decisions that were told, if the trial is to tell them, since they were asked for last.
    ///
    /// # Errors
    /// If the kernel does not give them.
    pub fn decisions(&self) -> Result<Vec<Decision>, Error> {
        let (map, mut told) = (self.map(DECISIONS)?, Vec::new());
        let mut ring = RingBufferBuilder::new();
        let added = ring.add(&map, |bytes| {
            told.extend(Decision::read(bytes));
            0
        });
        added.map_err(|error| failed(&error))?;
        let ring = ring.build().map_err(|error| failed(&error))?;
        ring.consume().map_err(|error| failed(&error))?;
        drop(ring);
        Ok(told)
    }

    /// Why the kernel is in charge again; `None` while the scheduler is.
    ///
    /// # Errors
    /// If the kernel does not give its maps.
    pub fn poll_end(&self) -> Result<Option<End>, Error> {
        Ok(end_of(&self.bytes(".bss.end")?))
    }

    /// What ran and what waited when the kernel ended it, in the kernel's words; empty if it says nothing.
    ///
    /// # Errors
    /// If the kernel does not give its maps.
    pub fn dump(&self) -> Result<String, Error> {
        Ok(text_of(&self.bytes(".bss.dump")?))
    }

    /// Takes it out of the kernel; what it did, and how it ended.
    ///
    /// # Errors
    /// If the kernel does not give its maps, or does not tell of the end in time.
    pub fn stop(mut self) -> Result<(Statistics, End), Error> {
        self.link = None;
        let since = Instant::now();
        while since.elapsed() < END_PATIENCE {
            if let Some(end) = self.poll_end()? {
                return Ok((self.statistics()?, end));
            }
            std::thread::sleep(END_POLL);
        }
        Err(Error::Failed {
            what: "taking the scheduler out".to_owned(),
            reason: "the kernel has not said that it ended".to_owned(),
        })
    }

    fn map(&self, name: &str) -> Result<libbpf_rs::Map<'_>, Error> {
        self.object.maps().find(|map| map.name() == name).ok_or_else(|| missing(name))
    }

    /// The content of a section of variables.
    fn bytes(&self, section: &str) -> Result<Vec<u8>, Error> {
        let key = 0_u32.to_ne_bytes();
        let bytes = self.map(section)?.lookup(&key, MapFlags::ANY);
        bytes.map_err(|error| failed(&error))?.ok_or_else(|| missing(section))
    }
}

/// Puts the scheduler in charge.
fn attach(object: &mut Object, name: &'static str) -> Result<Link, Error> {
    let mut maps = object.maps_mut();
    // The map of the operations has the object's name.
    let mut map = maps.find(|map| map.name() == name).ok_or_else(|| missing(name))?;
    map.attach_struct_ops().map_err(|error| object::refused(name, &error))
}

fn failed(error: &libbpf_rs::Error) -> Error {
    Error::Failed { what: "reading what the scheduler tells".to_owned(), reason: error.to_string() }
}

fn missing(map: &str) -> Error {
    Error::Failed { what: "looking into the scheduler".to_owned(), reason: format!("no {map}") }
}

/// Whether there is any use in trying.
fn check(root: &Root) -> Result<(), Error> {
    if root.fact(&format!("{STATE}/state")).is_none() {
        return Err(Error::NoSchedExt);
    }
    if !rustix::process::geteuid().is_root() {
        return Err(Error::NotPermitted { or: "" });
    }
    match root.fact(&[STATE, "root", "ops"].join("/")) {
        Some(name) => Err(Error::Occupied { name }),
        None => Ok(()),
    }
}

fn read_places(root: &Root) -> Result<Places, Error> {
    let possible = root.cpus("/sys/devices/system/cpu/possible")?;
    Places::of(&topology::read(root)?, &possible.unwrap_or_else(CpuSet::new))
}

/// Writes what the program reads but never changes.
fn prepare(open: &mut OpenObject, wish: &Wish, places: &Places, hotplug: u64) -> Result<(), Error> {
    let Wish { options, partners, trial } = wish;
    let watchdog = trial.watchdog.unwrap_or(WATCHDOG_MAX).min(WATCHDOG_MAX);
    let timeout_ms = u32::try_from(watchdog.as_millis()).unwrap_or(0);
    let operations = Program::of(options).object;
    for mut map in open.maps_mut() {
        let bytes = match map.name().to_str() {
            Some(".rodata.options") if options.policy().name == core_queue::NAME => {
                options_image(options, partners, trial, places)
            }
            Some(".rodata.partners") => partners_image(partners),
            Some(".rodata.options") => values_image(options, trial, places),
            Some(".rodata.places") => places_image(places),
            Some(".rodata.members") => members_image(places),
            Some(DECISIONS) if trial.tells => {
                map.set_max_entries(DECISIONS_BYTES).map_err(|error| failed(&error))?;
                continue;
            }
            Some(name) if name == operations => {
                if let Some(value) = map.initial_value_mut() {
                    value[HOTPLUG_BYTES].copy_from_slice(&hotplug.to_ne_bytes());
                    value[TIMEOUT_BYTES].copy_from_slice(&timeout_ms.to_ne_bytes());
                }
                continue;
            }
            _ => continue,
        };
        let room = map.initial_value().map_or(0, <[u8]>::len);
        if room != bytes.len() {
            let name = map.name().to_string_lossy();
            return Err(missing(&format!("{name} of {} bytes", bytes.len())));
        }
        if let Some(value) = map.initial_value_mut() {
            value.copy_from_slice(&bytes);
        }
    }
    Ok(())
}

/// Those flags of [`LATER`] that this kernel has; it refuses others.
fn flags_of_later(object: &'static str) -> Result<u64, Error> {
    let types = Btf::from_vmlinux().map_err(|error| object::refused(object, &error))?;
    let of_later =
        |name: Option<&OsStr>| LATER.iter().any(|(flag, _)| name == Some(OsStr::new(flag)));
    let (mut flags, name) = (0, btf::OPS_FLAGS);
    // Numbers have 64 bits where one of them needs these.
    if let Some(narrow) = types.type_by_name::<Enum<'_>>(name) {
        narrow.iter().filter(|it| of_later(it.name)).for_each(|it| flags |= it.value as u64);
    }
    if let Some(wide) = types.type_by_name::<Enum64<'_>>(name) {
        wide.iter().filter(|it| of_later(it.name)).for_each(|it| flags |= it.value as u64);
    }
    Ok(flags)
}

/// Adds flags to the operations.
fn set_flags(open: &mut OpenObject, operations: &str, flags: u64) {
    for mut map in open.maps_mut().filter(|map| map.name() == operations) {
        if let Some(bytes) = map.initial_value_mut().and_then(|value| value.get_mut(FLAGS_BYTES)) {
            for (byte, flag) in bytes.iter_mut().zip(flags.to_ne_bytes()) {
                *byte |= flag;
            }
        }
    }
}

fn numbers(row: &[u8], counters: &[Counter]) -> Vec<u64> {
    let (numbers, _) = row.as_chunks();
    numbers.iter().take(counters.len()).map(|bytes| u64::from_ne_bytes(*bytes)).collect()
}

fn core_now(bytes: &[u8]) -> CoreNow {
    let number = |index: usize| {
        let at = CORE_NUMBERS + 4 * index;
        bytes[at..].first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes))
    };
    CoreNow { running: number(0), queued: number(1), online: number(2) }
}

/// No CPU, in a core's list.
const NONE: u32 = u32::MAX;
const REASON_BYTES: usize = 128;
const MESSAGE_BYTES: usize = 1024;

// Options and places as the bytes that the program reads; the order is that of `c/live.h` and of the structs named.

/// The most parameters of a policy, as in `c/article.h`.
const VALUES_MAX: usize = 24;

/// `struct options` of `c/article.h`: every parameter in the order of its table.
fn values_image(options: &Options, trial: &Trial, places: &Places) -> Vec<u8> {
    let mut values = [0; VALUES_MAX];
    for (value, (_, number)) in values.iter_mut().zip(options.iter()) {
        *value = number;
    }
    let counts = [places.places.len() as u32, places.cores.len() as u32, trial.watch.unwrap_or(0)];
    let mut bytes: Vec<u8> = values.iter().flat_map(|value: &i64| value.to_ne_bytes()).collect();
    bytes.extend(counts.iter().flat_map(|count| count.to_ne_bytes()));
    bytes.extend([u8::from(trial.stuck), u8::from(!trial.silent), 0, 0]);
    bytes
}

/// `struct options` of `c/core_queue.h`.
fn options_image(
    options: &Options,
    partners: &Partners,
    trial: &Trial,
    places: &Places,
) -> Vec<u8> {
    let number = |name: &str| options.number(name).unwrap_or_default().unsigned_abs();
    let mut bytes = Vec::new();
    for ns in [
        number("active_interval_ms") * 1_000_000,
        number("balance_ms") * 1_000_000,
        number("preempt_us") * 1000,
        number("slice_us") * 1000,
    ] {
        bytes.extend(ns.to_ne_bytes());
    }
    bytes.extend((places.places.len() as u32).to_ne_bytes());
    bytes.extend((places.cores.len() as u32).to_ne_bytes());
    bytes.extend(places.caches().to_ne_bytes());
    bytes.extend(trial.watch.unwrap_or(0).to_ne_bytes());
    let switches =
        ["active", "affinity", "follow", "idle_core_first", "passive", "pickup", "wakeup"];
    bytes.extend(switches.map(|name| u8::from(options.is_on(name))));
    bytes.extend([trial.stuck, !trial.silent, trial.tells].map(u8::from));
    bytes.push(partners.names().len().min(KINDS_MAX) as u8);
    bytes.extend([0; 5]);
    bytes
}

/// `struct partners` of `c/core_queue.h`.
fn partners_image(partners: &Partners) -> Vec<u8> {
    let names = (0..KINDS_MAX).flat_map(|kind| {
        let mut name = [0; NAME_BYTES + 1];
        let known = partners.names().get(kind).map_or(&[][..], |name| kept(name));
        name.iter_mut().zip(known).for_each(|(byte, known)| *byte = *known);
        name
    });
    let pairs = (0..KINDS_MAX).flat_map(|one| (0..KINDS_MAX).map(move |other| (one, other)));
    let together = pairs.flat_map(|(one, other)| partners.together(one, other).to_ne_bytes());
    names.chain(together).collect()
}

/// `struct place` of every CPU.
fn places_image(places: &Places) -> Vec<u8> {
    let of_cpu = |cpu: usize| {
        let place = places.places.get(cpu);
        place.map_or([0, 0, 0, 1], |place| {
            [place.core, place.package, place.cache, u32::from(place.unknown)]
        })
    };
    (0..CPUS_MAX).flat_map(of_cpu).flat_map(u32::to_ne_bytes).collect()
}

/// The CPUs of every core.
fn members_image(places: &Places) -> Vec<u8> {
    let of_core = |core: usize| {
        let cpus = places.cores.get(core).map_or(&[][..], Vec::as_slice);
        let mut row = [NONE; THREADS_MAX];
        for (slot, cpu) in row.iter_mut().zip(cpus) {
            *slot = *cpu;
        }
        row
    };
    (0..CPUS_MAX).flat_map(of_core).flat_map(u32::to_ne_bytes).collect()
}

/// Reads `struct end`; `None` while the scheduler runs.
fn end_of(bytes: &[u8]) -> Option<End> {
    let (kind, rest) = bytes.split_first_chunk()?;
    let (code, rest) = rest.split_first_chunk()?;
    let (reason, rest) = rest.split_first_chunk::<REASON_BYTES>()?;
    let message = rest.first_chunk::<MESSAGE_BYTES>()?;
    let kind = u64::from_ne_bytes(*kind);
    let code = i64::from_ne_bytes(*code);
    (kind != 0).then(|| End { kind, code, reason: text_of(reason), message: text_of(message) })
}

fn text_of(bytes: &[u8]) -> String {
    let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::PROGRAMS;

    fn value_of(open: &OpenObject, name: &str) -> Option<Vec<u8>> {
        let map = open.maps().find(|map| map.name() == name);
        map.and_then(|map| map.initial_value().map(<[u8]>::to_vec))
    }

    #[test]
    fn programs_call_themselves_what_others_look_for() {
        for program in PROGRAMS {
            let open = object::open(program.object, program.bytes).expect("object");
            let value = value_of(&open, program.object).expect("operations");
            let name = program.policy().ops_name;
            assert!(value.windows(name.len()).any(|bytes| bytes == name.as_bytes()), "{name}");
            // By which a refusal is known to be that of a scheduler.
            assert_eq!(name, format!("coretwin_{}", program.object));
        }
    }

    #[test]
    fn images_have_the_size_of_what_the_programs_declare() {
        let places = Places { places: Vec::new(), cores: Vec::new() };
        for program in PROGRAMS {
            let mut open = object::open(program.object, program.bytes).expect("object");
            let options = Options::of(program.policy());
            assert!(options.iter().count() <= VALUES_MAX);
            let wish = Wish { options, ..Wish::default() };
            prepare(&mut open, &wish, &places, 7).expect("prepared");
            let before = value_of(&open, program.object).expect("operations");
            set_flags(&mut open, program.object, 1 << 4);
            let value = value_of(&open, program.object).expect("operations");
            assert_eq!(value[HOTPLUG_BYTES], 7_u64.to_ne_bytes());
            assert_eq!(value[TIMEOUT_BYTES], 30_000_u32.to_ne_bytes());
            let flags =
                |value: &[u8]| value[FLAGS_BYTES].first_chunk().map(|it| u64::from_ne_bytes(*it));
            assert_eq!(flags(&value), flags(&before).map(|flags| flags | 1 << 4));
            let cores = value_of(&open, ".bss.cores").expect("cores");
            assert_eq!(cores.len(), CPUS_MAX * CORE_BYTES);
            let counters = open.maps().find(|map| map.name() == "counters").expect("counters");
            assert_eq!(counters.value_size() as usize, program.counters.len() * 8);
        }
    }

    #[test]
    fn a_studys_program_counts_nothing() {
        let places = Places { places: Vec::new(), cores: Vec::new() };
        let trial = |silent| Trial { silent, ..Trial::default() };
        // Behind four times, four numbers, seven switches and `stuck`.
        let (options, none) = (Options::default(), Partners::default());
        let own = |silent| options_image(&options, &none, &trial(silent), &places)[56];
        assert_eq!((own(false), own(true)), (1, 0));
        // Behind the parameters, three numbers and `stuck`.
        let options = Options::of(PROGRAMS[1].policy());
        let others = |silent| values_image(&options, &trial(silent), &places)[8 * VALUES_MAX + 13];
        assert_eq!((others(false), others(true)), (1, 0));
    }
}
