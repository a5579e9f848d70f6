//! From text to [`Scenario`]. What the format can say is what this file and `steps` ask for.

use super::Scenario;
use super::expect;
use super::steps::{self, Names, Vocabulary};
use crate::Result;
use crate::document::{Document, Table};
use crate::kernel::costs::Costs;
use crate::kernel::layout::Layout;
use crate::kernel::machine::Idle;
use crate::kernel::program::Program;
use crate::kernel::view::Class;
use crate::kernel::work::{MachineEvent, Scripted, SocketSpec, Start, Work};
use coretwin_base::machine::cpu_set::CpuId;

/// The most of any time of the run, in ms: an hour.
const MILLISECONDS_MAX: f64 = 3.6e6;

const TASKS_MAX: u64 = 100_000;

#[derive(Clone, Copy)]
enum CostsWord {
    None,
    Of2002,
    OfToday,
}

const COSTS: [(&str, CostsWord); 3] =
    [("none", CostsWord::None), ("2002", CostsWord::Of2002), ("today", CostsWord::OfToday)];

#[derive(Clone, Copy)]
enum ClassWord {
    Normal,
    Fifo,
    RoundRobin,
}

const CLASSES: [(&str, ClassWord); 3] = [
    ("normal", ClassWord::Normal),
    ("fifo", ClassWord::Fifo),
    ("round_robin", ClassWord::RoundRobin),
];

impl Scenario {
    /// Reads a scenario; `file` is named in errors.
    ///
    /// # Errors
    /// [`crate::Error`] naming file, line, key, the allowed range and the nearest known key, for
    /// anything missing, unknown, contradictory or absurd.
    pub fn read(file: &str, text: &str) -> Result<Self> {
        let document = Document::parse(file, text)?;
        let mut root = document.root();
        let (name, title) = (root.words("name")?.to_owned(), root.words("title")?.to_owned());
        let about = root.words("about")?.split_whitespace().collect::<Vec<_>>().join(" ");
        let topology = root.words("topology")?.to_owned();
        Layout::parse(&topology).map_err(|problem| root.refuse("topology", problem))?;
        let profile = root.has("profile").then(|| root.words("profile")).transpose()?;
        if let Some(profile) = profile {
            steps::known_profile(&root, "profile", profile)?;
        }
        let slowdown = (root.number("slowdown", 1.0..=8.0)? * 1000.0) as u32;
        let idle = match root.has("idle") {
            true => root.choice("idle", &[("halt", Idle::Halt), ("poll", Idle::Poll)])?,
            false => Idle::Halt,
        };
        let costs = costs(&mut root)?;
        let until_ns = milliseconds(root.number("until_ms", 0.001..=MILLISECONDS_MAX)?);
        let warmup_ns = milliseconds(root.number_or("warmup_ms", 0.0..=MILLISECONDS_MAX, 0.0)?);
        if warmup_ns >= until_ns {
            return Err(root.refuse("warmup_ms", "leaves nothing of until_ms to be measured"));
        }
        let mut words = vocabulary(profile.map(str::to_owned));
        let mut work = Work::default();
        objects(&mut root, &mut words, &mut work)?;
        programs(&mut root, &mut words, &mut work)?;
        let mut per_cpu = Vec::new();
        for mut table in root.tables("task")? {
            if table.has("count_per_cpu") {
                per_cpu.push((work.starts.len(), table.number("count_per_cpu", 0.001..=100.0)?));
            }
            work.starts.push(start(&mut table, &words)?);
            table.finish()?;
        }
        if !work.starts.iter().any(|start| !start.server) {
            return Err(root.refuse("", "has no [[task]] that the run could wait for"));
        }
        for mut table in root.tables("event")? {
            work.script.push(event(&mut table, &words)?);
            table.finish()?;
        }
        let expectations = expect::read(&mut root, &words.programs)?;
        root.finish()?;
        let operations = words.operations.into_names();
        Ok(Self {
            name,
            title,
            about,
            topology,
            profiles: words.profiles.into_names(),
            slowdown,
            idle,
            costs,
            until_ns,
            warmup_ns,
            operations,
            work,
            per_cpu,
            expectations,
        })
    }
}

fn vocabulary(profile: Option<String>) -> Vocabulary {
    Vocabulary {
        programs: Names::new("program"),
        sockets: Names::new("socket"),
        semaphores: Names::new("semaphore"),
        locks: Names::new("lock"),
        barriers: Names::new("barrier"),
        files: Names::new("file"),
        operations: Names::new("operation"),
        profiles: Names::new("profile"),
        profile,
    }
}

fn milliseconds(milliseconds: f64) -> u64 {
    libm::round(milliseconds * 1e6) as u64
}

fn costs(root: &mut Table<'_>) -> Result<Costs> {
    let word = match root.has("costs") {
        true => root.choice("costs", &COSTS)?,
        false => CostsWord::Of2002,
    };
    Ok(match word {
        CostsWord::None => Costs::none(),
        CostsWord::Of2002 => Costs::of_2002(),
        CostsWord::OfToday => Costs::of_today(),
    })
}

fn objects(root: &mut Table<'_>, words: &mut Vocabulary, work: &mut Work) -> Result<()> {
    for mut table in root.tables("socket")? {
        let name = table.words("name")?;
        words.sockets.declare(&table, "name", name)?;
        let buffer_bytes = table.whole_or("buffer_bytes", 1..=1 << 40, 65_536)?;
        work.sockets.push(SocketSpec { sync: table.flag("sync")?, ..SocketSpec::of(buffer_bytes) });
        table.finish()?;
    }
    for mut table in root.tables("semaphore")? {
        let name = table.words("name")?;
        words.semaphores.declare(&table, "name", name)?;
        work.semaphores.push(table.whole_or("holds", 0..=1_000_000, 0)? as u32);
        table.finish()?;
    }
    if root.has("locks") {
        for name in root.texts("locks")? {
            words.locks.declare(root, "locks", name)?;
        }
        work.locks = words.locks.count() as u32;
    }
    for mut table in root.tables("barrier")? {
        let name = table.words("name")?;
        words.barriers.declare(&table, "name", name)?;
        work.barriers.push(table.whole("tasks", 1..=1_000_000)? as u32);
        table.finish()?;
    }
    for mut table in root.tables("file")? {
        let name = table.words("name")?;
        words.files.declare(&table, "name", name)?;
        work.files.push(table.whole("bytes", 1..=1 << 40)?);
        table.finish()?;
    }
    Ok(())
}

/// Names first: a program may fork one that stands below it.
fn programs(root: &mut Table<'_>, words: &mut Vocabulary, work: &mut Work) -> Result<()> {
    for mut table in root.tables("program")? {
        let name = table.words("name")?;
        words.programs.declare(&table, "name", name)?;
    }
    for mut table in root.tables("program")? {
        let name = table.words("name")?.to_owned();
        let steps = steps::program(&mut table, words)?;
        work.programs.push(Program { name, steps });
        table.finish()?;
    }
    Ok(())
}

fn start(table: &mut Table<'_>, words: &Vocabulary) -> Result<Start> {
    let mut start = Start::of(words.programs.number(table, "program")?);
    if table.has("count_per_cpu") && table.has("count") {
        return Err(table.refuse("count", "stands beside count_per_cpu; one of them says it"));
    }
    start.count = table.whole_or("count", 1..=TASKS_MAX, 1)? as u32;
    start.at_ns = milliseconds(table.number_or("at_ms", 0.0..=MILLISECONDS_MAX, 0.0)?);
    if table.has("nice") {
        start.nice = table.signed("nice", -20..=19)? as i8;
    }
    if table.has("class") {
        start.class = match table.choice("class", &CLASSES)? {
            ClassWord::Normal => Class::Normal,
            ClassWord::Fifo => Class::Fifo(table.whole("priority", 1..=99)? as u8),
            ClassWord::RoundRobin => Class::RoundRobin(table.whole("priority", 1..=99)? as u8),
        };
    }
    if table.has("cpus") {
        start.mask = steps::cpus(table, "cpus")?;
    }
    if table.has("made_on") {
        start.on = Some(cpu(table, "made_on")?);
    }
    start.server = table.flag("server")?;
    start.threads = table.flag("threads")?;
    Ok(start)
}

fn cpu(table: &mut Table<'_>, key: &str) -> Result<CpuId> {
    Ok(CpuId(table.whole(key, 0..=u64::from(u32::MAX))? as u32))
}

fn event(table: &mut Table<'_>, words: &Vocabulary) -> Result<Scripted> {
    let at_ns = milliseconds(table.number("at_ms", 0.0..=MILLISECONDS_MAX)?);
    let event = if table.has("offline") {
        MachineEvent::Offline(cpu(table, "offline")?)
    } else if table.has("online") {
        MachineEvent::Online(cpu(table, "online")?)
    } else if table.has("smt") {
        match table.choice("smt", &[("off", false), ("on", true)])? {
            true => MachineEvent::SmtOn,
            false => MachineEvent::SmtOff,
        }
    } else if table.has("program") {
        let program = words.programs.number(table, "program")?;
        if table.has("nice") {
            MachineEvent::SetNice { program, nice: table.signed("nice", -20..=19)? as i8 }
        } else {
            MachineEvent::SetMask { program, mask: steps::cpus(table, "cpus")? }
        }
    } else {
        let known = "offline, online, smt, or program with cpus or nice";
        return Err(table.refuse("", format!("says nothing that happens; known are {known}")));
    };
    Ok(Scripted { at_ns, event })
}
