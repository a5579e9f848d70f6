//! From text to [`Preset`]: each item is one inline table with its values, its source and the
//! confidence in it. What the format can say is what this file asks for.

use super::{
    Cache, Execution, FrontEnd, Memory, Policy, Predictor, Prefetcher, Preset, Resource, Scheduler,
    Sharing, Stage, ThreadSelect, Tlb, Translation, UopCache, WritePolicy, limits,
};
use crate::Result;
use crate::core::Class;
use crate::document::{Document, Table};

const SELECTIONS: [(&str, ThreadSelect); 3] = [
    ("alternate", ThreadSelect::Alternate),
    ("fewest_in_flight", ThreadSelect::FewestInFlight),
    ("first_thread", ThreadSelect::FirstThread),
];
const SHARINGS: [(&str, Sharing); 3] = [
    ("shared", Sharing::Shared),
    ("static_ways", Sharing::StaticWays),
    ("replicated", Sharing::Replicated),
];

/// Most entries of a resource for which the core keeps a count alone.
const ENTRIES_MAX: usize = 1024;

impl Preset {
    /// Reads a preset; `file` is named in errors.
    ///
    /// # Errors
    /// [`crate::Error`] naming file, line, key, the allowed range and the nearest known key, for
    /// anything missing, unknown, contradictory or absurd.
    pub fn read(file: &str, text: &str) -> Result<Self> {
        let document = Document::parse(file, text)?;
        let mut root = document.root();
        let preset = preset(&mut root)?;
        super::check::consistent(&preset, &root)?;
        root.finish()?;
        Ok(Self { provenance: document.provenance(), ..preset })
    }
}

fn preset(root: &mut Table<'_>) -> Result<Preset> {
    let (name, title) = (root.words("name")?.to_owned(), root.words("title")?.to_owned());
    let mut core = root.table("core")?;
    let clock_mhz = core.one("clock", "mhz", 1..=20_000)?;
    let ways = core.item("threads", |item| match item.whole("ways", 1..=4)? {
        3 => Err(item.refuse("ways", "is 3; it must be 1, 2 or 4")),
        ways => Ok(ways),
    })?;
    let pumped =
        |item: &mut Table<'_>| Ok((item.flag("double_pumped")?, ports(item, "fast_ports")?));
    let (double_pumped, fast_ports) =
        core.item_if_any("simple_units", pumped)?.unwrap_or((false, 0));
    let switch_cycles = core.one("mode_switch", "cycles", 0..=10_000)?;
    core.finish()?;
    let (front_end, fuses) = root.section("front_end", |table| front_end(table, ways))?;
    let mut back = root.table("back_end")?;
    let rename = back.item("rename", stage)?;
    let retire = back.item("retire", stage)?;
    let reorder_buffer = back.item("reorder_buffer", resource(ways, limits::REORDER_BUFFER))?;
    let integer_registers = back.item_if_any("integer_registers", resource(ways, ENTRIES_MAX))?;
    let float_registers = back.item_if_any("float_registers", resource(ways, ENTRIES_MAX))?;
    let binding = back.item_if_any("port_binding", |item| item.flag("at_rename"))?;
    let replay = back.item_if_any("replay", |item| item.whole("cycles", 1..=100))?;
    let recovery = back.item_if_any("recovery", |item| item.whole("cycles", 1..=100))?;
    back.finish()?;
    Ok(Preset {
        schedulers: schedulers(root.table("schedulers")?, ways)?,
        execution: root.section("execution", |table| execution(table, double_pumped))?,
        memory: memory(root.table("memory")?, root.table("translation")?, ways)?,
        provenance: Vec::new(),
        name,
        title,
        clock_mhz,
        ways,
        double_pumped,
        switch_cycles,
        front_end,
        rename,
        retire,
        reorder_buffer,
        integer_registers,
        float_registers,
        binds_ports_at_rename: binding.unwrap_or(false),
        replay_cycles: replay.unwrap_or(0),
        recovery_cycles: recovery.unwrap_or(0),
        fast_ports,
        fuses_compare_and_branch: fuses,
    })
}

/// The front end, and whether it fuses compares with branches.
fn front_end(table: &mut Table<'_>, ways: u8) -> Result<(FrontEnd, bool)> {
    let (fetch, taken_branches_per_cycle, block_bytes) = table.item("fetch", |item| {
        let taken = item.whole("taken_branches_per_cycle", 0..=4)?;
        let block_bytes = item.whole("block_bytes", 0..=256)?;
        Ok((stage(item)?, taken, block_bytes))
    })?;
    let (kernel_entry_cycles, kernel_exit_cycles, kernel_takes_turns) =
        table.item("kernel", |item| {
            let entry = item.whole("entry_cycles", 0..=10_000)?;
            Ok((entry, item.whole("exit_cycles", 0..=10_000)?, item.flag("takes_turns")?))
        })?;
    let fuses = table.item_if_any("fusion", |item| item.flag("compare_and_branch"))?;
    let front_end = FrontEnd {
        fetch,
        taken_branches_per_cycle,
        block_bytes,
        uop_queue: table.item("uop_queue", resource(ways, limits::UOP_QUEUE))?,
        uop_cache: table.item_if_any("uop_cache", uop_cache)?,
        code_cache: table.item_if_any("code_cache", cache)?,
        predictor: table.item("predictor", predictor)?,
        mispredict_cycles: table.one("mispredict", "cycles", 3..=100)?,
        pause_cycles: table.one("pause", "cycles", 0..=1000)?,
        kernel_entry_cycles,
        kernel_exit_cycles,
        kernel_takes_turns,
    };
    Ok((front_end, fuses.unwrap_or(false)))
}

fn schedulers(mut table: Table<'_>, ways: u8) -> Result<Vec<Scheduler>> {
    let known = Class::ALL.map(|class| (class.name(), class));
    let (names, most) = (table.keys(), limits::SCHEDULERS);
    if names.len() > most {
        let problem = format!("are {}; at most {most} are possible", names.len());
        return Err(table.refuse("", problem));
    }
    let scheduler = |name: &str| {
        table.item(name, |item| {
            let (name, resource) = (name.to_owned(), resource(ways, ENTRIES_MAX)(item)?);
            Ok(Scheduler { name, resource, classes: item.choices("classes", &known)? })
        })
    };
    names.into_iter().map(scheduler).collect()
}

fn execution(table: &mut Table<'_>, double_pumped: bool) -> Result<[Execution; Class::COUNT]> {
    let none = Execution { ports: 0, latency_half_cycles: 0, interval_cycles: 0 };
    let mut execution = [none; Class::COUNT];
    for class in Class::ALL.into_iter().filter(|class| *class != Class::Nop) {
        execution[class as usize] = table.item(class.name(), |item| {
            let latency = item.number("latency", 0.5..=1000.0)?;
            let halves = latency * 2.0;
            if halves.fract() != 0.0 || (!double_pumped && halves % 2.0 != 0.0) {
                let unit = if double_pumped { "half" } else { "whole" };
                let problem = format!("is {latency}; it must be {unit} cycles");
                return Err(item.refuse("latency", problem));
            }
            Ok(Execution {
                ports: ports(item, "ports")?,
                latency_half_cycles: halves as u16,
                interval_cycles: item.whole_or("interval", 0..=1000, 0)?,
            })
        })?;
    }
    Ok(execution)
}

fn memory(mut table: Table<'_>, mut walks: Table<'_>, ways: u8) -> Result<Memory> {
    // The core's tags hold 31 bits of a line's number: of shorter lines there are too many.
    let line_bytes = table.item("line", |item| power(item, "bytes", 64, 512))? as u16;
    let (first, write_policy) = table.item("first", |item| {
        let known = [("back", WritePolicy::Back), ("through", WritePolicy::Through)];
        let write_policy = item.choice("write", &known)?;
        Ok((cache(item)?, write_policy))
    })?;
    let mut outer = Vec::new();
    for level in ["second", "third", "fourth"] {
        outer.extend(table.item_if_any(level, cache)?);
    }
    let (memory_cycles, memory_interval_cycles, lines_per_fill) = table.item("main", |item| {
        let cycles = item.whole("load_cycles", 1..=10_000)?;
        let interval = item.whole("interval_cycles", 1..=1000)?;
        Ok((cycles, interval, item.whole_or("lines_per_fill", 1..=4, 1)?))
    })?;
    let (forward_cycles, forward_blocked_cycles) = table.item("forwarding", |item| {
        Ok((item.whole("cycles", 1..=100)?, item.whole("blocked_cycles", 0..=1000)?))
    })?;
    let combining = table.item_if_any("write_combining", |item| item.whole("buffers", 1..=64))?;
    let aliasing = table.item_if_any("aliasing", |item| {
        Ok((item.whole("bits", 12..=24)?, item.flag("contexts")?))
    })?;
    let (alias_bits, alias_contexts) = aliasing.unwrap_or_default();
    let memory = Memory {
        line_bytes,
        first,
        write_policy,
        write_combining: combining.unwrap_or(0),
        outer,
        memory_cycles,
        memory_interval_cycles,
        lines_per_fill,
        commits_per_cycle: table.one("commit", "stores_per_cycle", 1..=4)?,
        machine_clear_cycles: table.one("machine_clear", "cycles", 0..=1000)?,
        miss_buffers: table.item("miss_buffers", resource(ways, limits::MISS_BUFFERS))?,
        load_buffer: table.item("load_buffer", resource(ways, ENTRIES_MAX))?,
        store_buffer: table.item("store_buffer", resource(ways, limits::STORE_BUFFER))?,
        forward_cycles,
        forward_blocked_cycles,
        alias_bits,
        alias_contexts,
        prefetcher: table.item("prefetcher", prefetcher)?,
        translation: translation(&mut walks)?,
    };
    walks.finish()?;
    table.finish()?;
    Ok(memory)
}

fn translation(table: &mut Table<'_>) -> Result<Translation> {
    let (walk_cycles, walkers, entries_in_caches) = table.item("walk", |item| {
        let cycles = item.whole("cycles", 0..=10_000)?;
        let walkers = item.whole("walkers", 1..=limits::WALKERS as u8)?;
        Ok((cycles, walkers, item.flag("entries_in_caches")?))
    })?;
    Ok(Translation {
        code: table.item("code", buffer)?,
        data: table.item("data", buffer)?,
        second: table.item_if_any("second", |item| {
            let cycles = item.whole("cycles", 0..=1000)?;
            Ok((buffer(item)?, cycles))
        })?,
        walk_cycles,
        walkers,
        entries_in_caches,
    })
}

fn stage(item: &mut Table<'_>) -> Result<Stage> {
    Ok(Stage {
        width: item.whole("width", 1..=16)?,
        select: item.choice("select", &SELECTIONS)?,
        threads_per_cycle: item.whole("threads_per_cycle", 1..=4)?,
    })
}

/// Reads a resource of at most so many entries: what the core's own arrays hold.
fn resource(ways: u8, most: usize) -> impl FnOnce(&mut Table<'_>) -> Result<Resource> {
    move |item| {
        let entries = item.whole("entries", u16::from(ways)..=most as u16)?;
        let known = ["static", "competitive", "watermark", "capped"];
        let policy = match item.word("policy", &known)? {
            "static" => Policy::Static,
            "competitive" => Policy::Competitive,
            "watermark" => {
                // Something must be left over for the thread that finds its siblings idle.
                let most = (entries - 1).checked_div(u16::from(ways - 1)).unwrap_or(entries);
                Policy::Watermark { reserve: item.whole("reserve", 0..=most)? }
            }
            _ => Policy::Capped { cap: item.whole("cap", 1..=entries)? },
        };
        Ok(Resource { entries, policy, always_split: item.flag("always_split")? })
    }
}

fn cache(item: &mut Table<'_>) -> Result<Cache> {
    Ok(Cache {
        bytes: item.whole("bytes", 1024..=1 << 32)?,
        ways: item.whole("ways", 1..=32)?,
        load_cycles: item.whole("load_cycles", 1..=5000)?,
        sharing: item.choice("sharing", &SHARINGS)?,
        interval_cycles: item.whole_or("interval_cycles", 0..=1000, 0)?,
    })
}

fn uop_cache(item: &mut Table<'_>) -> Result<UopCache> {
    Ok(UopCache {
        lines: item.whole("lines", 1..=1 << 20)?,
        ways: item.whole("ways", 1..=32)?,
        code_bytes: power(item, "code_bytes", 8, 256)? as u16,
        sharing: item.choice("sharing", &SHARINGS)?,
        decode_width: item.whole("decode_width", 1..=16)?,
        switch_cycles: item.whole("switch_cycles", 0..=100)?,
        trace_line: item.if_any("line_uops", |item, key| {
            Ok((item.whole(key, 1..=16)?, item.whole("line_branches", 1..=16)?))
        })?,
    })
}

fn predictor(item: &mut Table<'_>) -> Result<Predictor> {
    let sharing = [("shared", Sharing::Shared), ("replicated", Sharing::Replicated)];
    Ok(Predictor {
        entries: power(item, "entries", 16, 1 << 20)?,
        history_bits: item.whole("history_bits", 0..=16)?,
        sharing: item.choice("sharing", &sharing)?,
    })
}

fn buffer(item: &mut Table<'_>) -> Result<Tlb> {
    Ok(Tlb {
        entries: item.whole("entries", 1..=16_384)?,
        ways: item.whole("ways", 1..=1024)?,
        sharing: item.choice("sharing", &SHARINGS)?,
    })
}

fn prefetcher(item: &mut Table<'_>) -> Result<Prefetcher> {
    let kind = item.word("kind", &["none", "next_line", "stream"])?;
    if kind == "none" {
        return Ok(Prefetcher::None);
    }
    let degree = item.whole("degree", 1..=limits::DEGREE as u8)?;
    if kind == "next_line" {
        return Ok(Prefetcher::NextLine { degree });
    }
    Ok(Prefetcher::Stream { trackers: item.whole("trackers", 1..=limits::TRACKERS as u8)?, degree })
}

fn power(item: &mut Table<'_>, key: &str, least: u32, most: u32) -> Result<u32> {
    let number = item.whole(key, least..=most)?;
    if number.is_power_of_two() {
        return Ok(number);
    }
    Err(item.refuse(key, format!("is {number}; it must be a power of two")))
}

/// Port numbers as a bit mask; a key that is not there is no port.
fn ports(item: &mut Table<'_>, key: &str) -> Result<u16> {
    if !item.has(key) {
        return Ok(0);
    }
    let mut mask = 0;
    for port in item.numbers(key, 0.0..=15.0)? {
        let bit = 1u16 << port as u16;
        if port.fract() != 0.0 || mask & bit != 0 {
            return Err(item.refuse(key, "must hold each port number from 0 to 15 at most once"));
        }
        mask |= bit;
    }
    Ok(mask)
}
