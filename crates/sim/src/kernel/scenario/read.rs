//! From text to [`Scenario`]. What the format can say is what this file and `steps` ask for.

use super::steps::{self, Names, Vocabulary};
use super::{Scenario, expect};
use crate::Result;
use crate::document::{Document, Table};
use crate::kernel::{
    Class, Costs, CpuId, IDLE, Idle, Layout, MachineEvent, Program, Scripted, SocketSpec, Start,
    Work,
};

/// The most of any time of the run, in ms: an hour.
const MILLISECONDS_MAX: f64 = 3.6e6;

const TASKS_MAX: u32 = 100_000;

impl Scenario {
    /// Reads a scenario; `file` is named in errors.
    pub fn read(file: &str, text: &str) -> Result<Self> {
        let document = Document::parse(file, text)?;
        let mut root = document.root();
        let (name, title) = (root.words("name")?.to_owned(), root.words("title")?.to_owned());
        let about = root.words("about")?.split_whitespace().collect::<Vec<_>>().join(" ");
        let topology = root.words("topology")?.to_owned();
        Layout::parse(&topology).map_err(|problem| root.refuse("topology", problem))?;
        let profile = root.if_any("profile", Table::words)?;
        if let Some(profile) = profile {
            steps::known_profile(&root, "profile", profile)?;
        }
        let slowdown = (root.number("slowdown", 1.0..=8.0)? * 1000.0) as u32;
        let idle = root.choice_or("idle", &IDLE, Idle::Halt)?;
        let costs =
            [("none", Costs::none()), ("2002", Costs::of_2002()), ("today", Costs::of_today())];
        let costs = root.choice_or("costs", &costs, Costs::of_2002())?;
        let until_ns = milliseconds(root.number("until_ms", 0.001..=MILLISECONDS_MAX)?);
        let warmup_ns = milliseconds(root.number_or("warmup_ms", 0.0..=MILLISECONDS_MAX, 0.0)?);
        if warmup_ns >= until_ns {
            return Err(root.refuse("warmup_ms", "leaves nothing of until_ms to be measured"));
        }
        let mut words = Vocabulary::new(profile.map(str::to_owned));
        let mut work = Work::default();
        objects(&mut root, &mut words, &mut work)?;
        programs(&mut root, &mut words, &mut work)?;
        let mut per_cpu = Vec::new();
        for (entry, (start, each)) in
            root.each("task", |table| start(table, &words))?.into_iter().enumerate()
        {
            work.starts.push(start);
            per_cpu.extend(each.map(|tasks| (entry, tasks)));
        }
        if !work.starts.iter().any(|start| !start.server) {
            return Err(root.refuse("", "has no [[task]] that the run could wait for"));
        }
        work.script = root.each("event", |table| event(table, &words))?;
        let expectations = root.each("expect", |table| expect::read(table, &words.programs))?;
        root.finish()?;
        Ok(Self {
            name,
            title,
            about,
            topology,
            profiles: words.profiles.names,
            slowdown,
            idle,
            costs,
            until_ns,
            warmup_ns,
            operations: words.operations.names,
            work,
            per_cpu,
            expectations,
        })
    }
}

fn milliseconds(milliseconds: f64) -> u64 {
    libm::round(milliseconds * 1e6) as u64
}

fn named<T>(
    root: &mut Table<'_>,
    key: &str,
    names: &mut Names,
    read: impl Fn(&mut Table<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    root.each(key, |table| {
        let name = table.words("name")?;
        names.declare(table, "name", name)?;
        read(table)
    })
}

fn objects(root: &mut Table<'_>, words: &mut Vocabulary, work: &mut Work) -> Result<()> {
    work.sockets = named(root, "socket", &mut words.sockets, |table| {
        let buffer_bytes = table.whole_or("buffer_bytes", 1..=1 << 40, 65_536)?;
        Ok(SocketSpec { sync: table.flag("sync")?, ..SocketSpec::of(buffer_bytes) })
    })?;
    work.semaphores = named(root, "semaphore", &mut words.semaphores, |table| {
        table.whole_or("holds", 0..=1_000_000, 0)
    })?;
    if root.has("locks") {
        for name in root.texts("locks")? {
            words.locks.declare(root, "locks", name)?;
        }
        work.locks = words.locks.names.len() as u32;
    }
    work.barriers =
        named(root, "barrier", &mut words.barriers, |table| table.whole("tasks", 1..=1_000_000))?;
    work.files = named(root, "file", &mut words.files, |table| table.whole("bytes", 1..=1 << 40))?;
    Ok(())
}

/// Names first: a program may fork one that stands below it.
fn programs(root: &mut Table<'_>, words: &mut Vocabulary, work: &mut Work) -> Result<()> {
    for mut table in root.tables("program")? {
        let name = table.words("name")?;
        words.programs.declare(&table, "name", name)?;
    }
    work.programs = root.each("program", |table| {
        let name = table.words("name")?.to_owned();
        Ok(Program { name, steps: steps::program(table, words)? })
    })?;
    Ok(())
}

/// Tasks that start, and how many of them to each CPU where their number grows with the machine.
fn start(table: &mut Table<'_>, words: &Vocabulary) -> Result<(Start, Option<f64>)> {
    let per_cpu = table.if_any("count_per_cpu", |table, key| table.number(key, 0.001..=100.0))?;
    let mut start = Start::of(words.programs.number(table, "program")?);
    if per_cpu.is_some() && table.has("count") {
        return Err(table.refuse("count", "stands beside count_per_cpu; one of them says it"));
    }
    start.count = table.whole_or("count", 1..=TASKS_MAX, 1)?;
    start.at_ns = milliseconds(table.number_or("at_ms", 0.0..=MILLISECONDS_MAX, 0.0)?);
    start.nice = table.whole_or("nice", -20..=19, 0)?;
    start.group_weight = table.if_any("group_weight", |table, key| table.whole(key, 1..=10_000))?;
    if table.has("class") {
        start.class = match table.word("class", &["normal", "fifo", "round_robin"])? {
            "normal" => Class::Normal,
            "fifo" => Class::Fifo(table.whole("priority", 1..=99)?),
            _ => Class::RoundRobin(table.whole("priority", 1..=99)?),
        };
    }
    start.mask = table.if_any("cpus", steps::cpus)?.flatten();
    start.on = table.if_any("made_on", cpu)?;
    start.server = table.flag("server")?;
    start.threads = table.flag("threads")?;
    Ok((start, per_cpu))
}

fn cpu(table: &mut Table<'_>, key: &str) -> Result<CpuId> {
    Ok(CpuId(table.whole(key, 0..=u32::MAX)?))
}

fn event(table: &mut Table<'_>, words: &Vocabulary) -> Result<Scripted> {
    let at_ns = milliseconds(table.number("at_ms", 0.0..=MILLISECONDS_MAX)?);
    let event = if table.has("offline") {
        MachineEvent::Offline(cpu(table, "offline")?)
    } else if table.has("online") {
        MachineEvent::Online(cpu(table, "online")?)
    } else if table.has("smt") {
        table.choice("smt", &[("off", MachineEvent::SmtOff), ("on", MachineEvent::SmtOn)])?
    } else if table.has("program") {
        let program = words.programs.number(table, "program")?;
        if table.has("nice") {
            MachineEvent::SetNice { program, nice: table.whole("nice", -20..=19)? }
        } else {
            MachineEvent::SetMask { program, mask: steps::cpus(table, "cpus")? }
        }
    } else {
        let known = "offline, online, smt, or program with cpus or nice";
        return Err(table.refuse("", format!("says nothing that happens; known are {known}")));
    };
    Ok(Scripted { at_ns, event })
}
