//! From text to [`Preset`]: each item is one inline table with its values, its source and the
//! confidence in it. What the format can say is what this file asks for.

use super::{
    Cache, Confidence, FrontEnd, Memory, Policy, Predictor, Prefetcher, Preset, Provenance,
    Resource, Scheduler, Sharing, Stage, ThreadSelect, Tlb, Translation, UopCache, WritePolicy,
    limits,
};
use crate::Result;
use crate::core::uop::Class;
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
const CONFIDENCES: [(&str, Confidence); 3] =
    [("low", Confidence::Low), ("medium", Confidence::Medium), ("high", Confidence::High)];

/// Most entries of a resource for which the core keeps a count alone.
const ENTRIES_MAX: u64 = 1024;

/// Sharing policies, before their numbers are read.
#[derive(Clone, Copy)]
enum PolicyWord {
    Static,
    Competitive,
    Watermark,
    Capped,
}

const POLICIES: [(&str, PolicyWord); 4] = [
    ("static", PolicyWord::Static),
    ("competitive", PolicyWord::Competitive),
    ("watermark", PolicyWord::Watermark),
    ("capped", PolicyWord::Capped),
];

impl Preset {
    /// Reads a preset; `file` is named in errors.
    ///
    /// # Errors
    /// [`crate::Error`] naming file, line, key, the allowed range and the nearest known key, for
    /// anything missing, unknown, contradictory or absurd.
    pub fn read(file: &str, text: &str) -> Result<Self> {
        let document = Document::parse(file, text)?;
        let mut root = document.root();
        let mut reader = Reader { provenance: Vec::new(), ways: 1, fuses: false };
        let preset = reader.preset(&mut root)?;
        super::check::consistent(&preset, &root)?;
        root.finish()?;
        Ok(preset)
    }
}

/// Collects where the values come from while they are read.
struct Reader {
    provenance: Vec<Provenance>,
    ways: u8,
    fuses: bool,
}

impl Reader {
    fn preset(&mut self, root: &mut Table<'_>) -> Result<Preset> {
        let name = root.words("name")?.to_owned();
        let title = root.words("title")?.to_owned();
        let mut core = root.table("core")?;
        let clock_mhz = self.item(&mut core, "clock", |item| item.whole("mhz", 1..=20_000))? as u32;
        self.ways = self.item(&mut core, "threads", |item| {
            let ways = item.whole("ways", 1..=4)?;
            if ways == 3 {
                Err(item.refuse("ways", "is 3; it must be 1, 2 or 4"))
            } else {
                Ok(ways)
            }
        })? as u8;
        let pumped =
            |item: &mut Table<'_>| Ok((item.flag("double_pumped")?, ports(item, "fast_ports")?));
        let (double_pumped, fast_ports) =
            self.optional(&mut core, "simple_units", pumped)?.unwrap_or((false, 0));
        let switch_cycles =
            self.item(&mut core, "mode_switch", |item| item.whole("cycles", 0..=10_000))? as u16;
        core.finish()?;
        let front_end = self.front_end(root.table("front_end")?)?;

        let mut back = root.table("back_end")?;
        let rename = self.item(&mut back, "rename", stage)?;
        let retire = self.item(&mut back, "retire", stage)?;
        let reorder_buffer =
            self.resource(&mut back, "reorder_buffer", limits::REORDER_BUFFER as u64)?;
        let integer_registers = self.resource_if_any(&mut back, "integer_registers")?;
        let float_registers = self.resource_if_any(&mut back, "float_registers")?;
        back.finish()?;

        Ok(Preset {
            schedulers: self.schedulers(root.table("schedulers")?)?,
            execution: self.execution(root.table("execution")?, double_pumped)?,
            memory: self.memory(root.table("memory")?, root.table("translation")?)?,
            provenance: std::mem::take(&mut self.provenance),
            name,
            title,
            clock_mhz,
            ways: self.ways,
            double_pumped,
            switch_cycles,
            front_end,
            rename,
            retire,
            reorder_buffer,
            integer_registers,
            float_registers,
            fast_ports,
            fuses_compare_and_branch: self.fuses,
        })
    }

    fn item<T>(
        &mut self,
        table: &mut Table<'_>,
        key: &str,
        read: impl FnOnce(&mut Table<'_>) -> Result<T>,
    ) -> Result<T> {
        read_item(table, key, &mut self.provenance, read)
    }

    fn optional<T>(
        &mut self,
        table: &mut Table<'_>,
        key: &str,
        read: impl FnOnce(&mut Table<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        if table.has(key) { self.item(table, key, read).map(Some) } else { Ok(None) }
    }

    /// A resource of at most so many entries: what the core's own arrays hold.
    fn resource(&mut self, table: &mut Table<'_>, key: &str, most: u64) -> Result<Resource> {
        let ways = self.ways;
        self.item(table, key, |item| resource(item, ways, most))
    }

    fn resource_if_any(&mut self, table: &mut Table<'_>, key: &str) -> Result<Option<Resource>> {
        if table.has(key) { self.resource(table, key, ENTRIES_MAX).map(Some) } else { Ok(None) }
    }

    fn front_end(&mut self, mut table: Table<'_>) -> Result<FrontEnd> {
        let (fetch, taken_branches_per_cycle, block_bytes) =
            self.item(&mut table, "fetch", |item| {
                let taken = item.whole("taken_branches_per_cycle", 0..=4)? as u8;
                let block_bytes = item.whole("block_bytes", 0..=256)? as u16;
                Ok((stage(item)?, taken, block_bytes))
            })?;
        let (kernel_entry_cycles, kernel_exit_cycles) =
            self.item(&mut table, "kernel", |item| {
                let entry = item.whole("entry_cycles", 0..=10_000)? as u16;
                Ok((entry, item.whole("exit_cycles", 0..=10_000)? as u16))
            })?;
        let fusion = |item: &mut Table<'_>| item.flag("compare_and_branch");
        self.fuses = self.optional(&mut table, "fusion", fusion)?.unwrap_or(false);
        let front_end = FrontEnd {
            fetch,
            taken_branches_per_cycle,
            block_bytes,
            uop_queue: self.resource(&mut table, "uop_queue", limits::UOP_QUEUE as u64)?,
            uop_cache: self.optional(&mut table, "uop_cache", uop_cache)?,
            code_cache: self.optional(&mut table, "code_cache", cache)?,
            predictor: self.item(&mut table, "predictor", predictor)?,
            mispredict_cycles: self
                .item(&mut table, "mispredict", |item| item.whole("cycles", 3..=100))?
                as u16,
            pause_cycles: self.item(&mut table, "pause", |item| item.whole("cycles", 0..=1000))?
                as u16,
            kernel_entry_cycles,
            kernel_exit_cycles,
        };
        table.finish()?;
        Ok(front_end)
    }

    fn schedulers(&mut self, mut table: Table<'_>) -> Result<Vec<Scheduler>> {
        let ways = self.ways;
        let known = class_names();
        let mut schedulers = Vec::new();
        let most = limits::SCHEDULERS;
        if table.keys().len() > most {
            let problem = format!("are {}; at most {most} are possible", table.keys().len());
            return Err(table.refuse("", problem));
        }
        for name in table.keys() {
            let (resource, classes) = self.item(&mut table, name, |item| {
                Ok((resource(item, ways, ENTRIES_MAX)?, item.choices("classes", &known)?))
            })?;
            schedulers.push(Scheduler { name: name.to_owned(), resource, classes });
        }
        Ok(schedulers)
    }

    fn execution(
        &mut self,
        mut table: Table<'_>,
        double_pumped: bool,
    ) -> Result<[super::Execution; Class::COUNT]> {
        let none = super::Execution { ports: 0, latency_half_cycles: 0, interval_cycles: 0 };
        let mut execution = [none; Class::COUNT];
        for class in Class::ALL.into_iter().filter(|class| *class != Class::Nop) {
            execution[class as usize] = self.item(&mut table, class.name(), |item| {
                let latency = item.number("latency", 0.5..=1000.0)?;
                let halves = latency * 2.0;
                if halves.fract() != 0.0 || (!double_pumped && halves % 2.0 != 0.0) {
                    let unit = if double_pumped { "half" } else { "whole" };
                    return Err(
                        item.refuse("latency", format!("is {latency}; it must be {unit} cycles"))
                    );
                }
                Ok(super::Execution {
                    ports: ports(item, "ports")?,
                    latency_half_cycles: halves as u16,
                    interval_cycles: item.whole_or("interval", 0..=1000, 0)? as u16,
                })
            })?;
        }
        table.finish()?;
        Ok(execution)
    }

    fn memory(&mut self, mut table: Table<'_>, translation: Table<'_>) -> Result<Memory> {
        // The core's tags hold 31 bits of a line's number: of shorter lines there are too many.
        let line_bytes =
            self.item(&mut table, "line", |item| power(item, "bytes", 64, 512))? as u16;
        let (first, write_policy) = self.item(&mut table, "first", |item| {
            let known = [("back", WritePolicy::Back), ("through", WritePolicy::Through)];
            let write_policy = item.choice("write", &known)?;
            Ok((cache(item)?, write_policy))
        })?;
        let mut outer = Vec::new();
        for level in ["second", "third", "fourth"] {
            if let Some(found) = self.optional(&mut table, level, cache)? {
                outer.push(found);
            }
        }
        let main = self.item(&mut table, "main", |item| {
            let cycles = item.whole("load_cycles", 1..=10_000)? as u16;
            let interval = item.whole("interval_cycles", 1..=1000)? as u16;
            Ok((cycles, interval, item.whole_or("lines_per_fill", 1..=4, 1)? as u8))
        })?;
        let forwarding = self.item(&mut table, "forwarding", |item| {
            let cycles = item.whole("cycles", 1..=100)? as u16;
            Ok((cycles, item.whole("blocked_cycles", 0..=1000)? as u16))
        })?;
        let alias_bits =
            self.optional(&mut table, "aliasing", |item| item.whole("bits", 12..=24))?;
        let commits =
            self.item(&mut table, "commit", |item| item.whole("stores_per_cycle", 1..=4))?;
        let clear =
            self.item(&mut table, "machine_clear", |item| item.whole("cycles", 0..=1000))?;
        let memory = Memory {
            line_bytes,
            first,
            write_policy,
            outer,
            memory_cycles: main.0,
            memory_interval_cycles: main.1,
            lines_per_fill: main.2,
            miss_buffers: self.resource(&mut table, "miss_buffers", limits::MISS_BUFFERS as u64)?,
            load_buffer: self.resource(&mut table, "load_buffer", ENTRIES_MAX)?,
            store_buffer: self.resource(&mut table, "store_buffer", limits::STORE_BUFFER as u64)?,
            commits_per_cycle: commits as u8,
            forward_cycles: forwarding.0,
            forward_blocked_cycles: forwarding.1,
            alias_bits: alias_bits.unwrap_or(0) as u8,
            prefetcher: self.item(&mut table, "prefetcher", prefetcher)?,
            machine_clear_cycles: clear as u16,
            translation: self.translation(translation)?,
        };
        table.finish()?;
        Ok(memory)
    }

    fn translation(&mut self, mut table: Table<'_>) -> Result<Translation> {
        let (walk_cycles, walkers) = self.item(&mut table, "walk", |item| {
            let cycles = item.whole("cycles", 0..=10_000)? as u16;
            Ok((cycles, item.whole("walkers", 1..=limits::WALKERS as u64)? as u8))
        })?;
        let translation = Translation {
            code: self.item(&mut table, "code", buffer)?,
            data: self.item(&mut table, "data", buffer)?,
            second: self.optional(&mut table, "second", |item| {
                let cycles = item.whole("cycles", 0..=1000)? as u16;
                Ok((buffer(item)?, cycles))
            })?,
            walk_cycles,
            walkers,
        };
        table.finish()?;
        Ok(translation)
    }
}

/// Reads one item: its values by `read`, then its source and the confidence in it.
pub(crate) fn read_item<'doc, T>(
    table: &mut Table<'doc>,
    key: &str,
    provenance: &mut Vec<Provenance>,
    read: impl FnOnce(&mut Table<'doc>) -> Result<T>,
) -> Result<T> {
    let mut item = table.table(key)?;
    let value = read(&mut item)?;
    provenance.push(read_provenance(&mut item)?);
    item.finish()?;
    Ok(value)
}

/// Reads where an item's values come from.
pub(crate) fn read_provenance(item: &mut Table<'_>) -> Result<Provenance> {
    let source = item.words("source")?.to_owned();
    let confidence = item.choice("confidence", &CONFIDENCES)?;
    Ok(Provenance { key: item.path().to_owned(), source, confidence })
}

fn class_names() -> [(&'static str, Class); Class::COUNT] {
    Class::ALL.map(|class| (class.name(), class))
}

fn stage(item: &mut Table<'_>) -> Result<Stage> {
    Ok(Stage {
        width: item.whole("width", 1..=16)? as u8,
        select: item.choice("select", &SELECTIONS)?,
        threads_per_cycle: item.whole("threads_per_cycle", 1..=4)? as u8,
    })
}

fn resource(item: &mut Table<'_>, ways: u8, most: u64) -> Result<Resource> {
    let entries = item.whole("entries", u64::from(ways)..=most)?;
    let siblings = u64::from(ways - 1);
    let policy = match item.choice("policy", &POLICIES)? {
        PolicyWord::Static => Policy::Static,
        PolicyWord::Competitive => Policy::Competitive,
        PolicyWord::Watermark => {
            // Something must be left over for the thread that finds its siblings idle.
            let most = (entries - 1).checked_div(siblings).unwrap_or(entries);
            Policy::Watermark { reserve: item.whole("reserve", 0..=most)? as u16 }
        }
        PolicyWord::Capped => Policy::Capped { cap: item.whole("cap", 1..=entries)? as u16 },
    };
    Ok(Resource { entries: entries as u16, policy, always_split: item.flag("always_split")? })
}

fn cache(item: &mut Table<'_>) -> Result<Cache> {
    Ok(Cache {
        bytes: item.whole("bytes", 1024..=1 << 32)?,
        ways: item.whole("ways", 1..=32)? as u8,
        load_cycles: item.whole("load_cycles", 1..=5000)? as u16,
        sharing: item.choice("sharing", &SHARINGS)?,
        interval_cycles: item.whole_or("interval_cycles", 0..=1000, 0)? as u16,
    })
}

fn uop_cache(item: &mut Table<'_>) -> Result<UopCache> {
    Ok(UopCache {
        lines: item.whole("lines", 1..=1 << 20)? as u32,
        ways: item.whole("ways", 1..=32)? as u8,
        code_bytes: power(item, "code_bytes", 8, 256)? as u16,
        sharing: item.choice("sharing", &SHARINGS)?,
        decode_width: item.whole("decode_width", 1..=16)? as u8,
        switch_cycles: item.whole("switch_cycles", 0..=100)? as u16,
    })
}

fn predictor(item: &mut Table<'_>) -> Result<Predictor> {
    let sharing = [("shared", Sharing::Shared), ("replicated", Sharing::Replicated)];
    Ok(Predictor {
        entries: power(item, "entries", 16, 1 << 20)? as u32,
        history_bits: item.whole("history_bits", 0..=16)? as u8,
        sharing: item.choice("sharing", &sharing)?,
    })
}

fn buffer(item: &mut Table<'_>) -> Result<Tlb> {
    Ok(Tlb {
        entries: item.whole("entries", 1..=16_384)? as u16,
        ways: item.whole("ways", 1..=1024)? as u16,
        sharing: item.choice("sharing", &SHARINGS)?,
    })
}

fn prefetcher(item: &mut Table<'_>) -> Result<Prefetcher> {
    let (none, next_line, stream) = (0, 1, 2);
    let known = [("none", none), ("next_line", next_line), ("stream", stream)];
    let chosen = item.choice("kind", &known)?;
    if chosen == none {
        return Ok(Prefetcher::None);
    }
    let degree = item.whole("degree", 1..=limits::DEGREE as u64)? as u8;
    if chosen == next_line {
        return Ok(Prefetcher::NextLine { degree });
    }
    let trackers = item.whole("trackers", 1..=limits::TRACKERS as u64)? as u8;
    Ok(Prefetcher::Stream { trackers, degree })
}

fn power(item: &mut Table<'_>, key: &str, least: u64, most: u64) -> Result<u64> {
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
