//! From text to [`MachinePreset`]: each item is one inline table with its values, its source and the
//! confidence in it. What the format can say is what this file asks for.

use super::{MachinePreset, PARAMETERS, fingerprint};
use crate::built_in::BuiltIn;
use crate::core::preset::{Preset, Provenance, read_item, table};
use crate::document::{Document, Table};
use crate::kernel::costs::Costs;
use crate::kernel::machine::{DiskSpec, Idle, PageCacheSpec};
use crate::{Error, Result};
use std::collections::BTreeMap;

/// The longest cost, in ns: a second.
const COST_NS_MAX: u64 = 1_000_000_000;

const IDLE: [(&str, Idle); 2] = [("halt", Idle::Halt), ("poll", Idle::Poll)];

/// Collects where values come from while they are read.
#[derive(Default)]
struct Reader {
    provenance: Vec<Provenance>,
}

impl MachinePreset {
    /// Reads a preset; `file` is named in errors.
    ///
    /// # Errors
    /// [`Error`] naming file, line, key, the allowed range and the nearest known key, for anything
    /// missing, unknown, contradictory or absurd.
    pub fn read(file: &str, text: &str) -> Result<Self> {
        let document = Document::parse(file, text)?;
        let mut root = document.root();
        let mut reader = Reader::default();
        let name = root.words("name")?.to_owned();
        let title = root.words("title")?.to_owned();

        let mut processor = root.table("processor")?;
        let core = reader.item(&mut processor, "core", core)?;
        let core_text = core.text;
        let core = core.read(Preset::read);
        let [packages, caches, cores] = reader.item(&mut processor, "topology", |item| {
            let mut count = |key| item.whole(key, 1..=1024).map(|count| count as u32);
            Ok([count("packages")?, count("caches")?, count("cores")?])
        })?;
        let idle = reader.item(&mut processor, "idle", |item| item.choice("does", &IDLE))?;
        let topology = processor.inner("topology");
        processor.finish()?;

        let memory = match root.has("memory") {
            true => Some(reader.memory(root.table("memory")?)?),
            false => None,
        };
        let disk = match root.has("disk") {
            true => Some(reader.disk(root.table("disk")?)?),
            false => None,
        };
        let costs = reader.costs(root.table("kernel")?)?;
        let work = reader.work(root.table("work")?)?;
        root.finish()?;
        let preset = Self {
            fingerprint: fingerprint([text, core_text]),
            provenance: reader.provenance,
            name,
            title,
            core,
            packages,
            caches,
            cores,
            idle,
            memory,
            disk,
            costs,
            work,
        };
        match (preset.layout(true), topology) {
            (Ok(_), _) => Ok(preset),
            (Err(Error::Value { problem, .. }), Some(at)) => Err(at.refuse("", problem)),
            (Err(error), _) => Err(error),
        }
    }
}

fn core(item: &mut Table<'_>) -> Result<&'static BuiltIn> {
    let name = item.words("preset")?;
    BuiltIn::find(table::ALL, "preset", name).map_err(|problem| item.refuse("preset", problem))
}

impl Reader {
    fn item<'doc, T>(
        &mut self,
        table: &mut Table<'doc>,
        key: &str,
        read: impl FnOnce(&mut Table<'doc>) -> Result<T>,
    ) -> Result<T> {
        read_item(table, key, &mut self.provenance, read)
    }

    fn time(&mut self, table: &mut Table<'_>, key: &str) -> Result<u64> {
        self.item(table, key, |item| item.whole("ns", 0..=COST_NS_MAX))
    }

    fn memory(&mut self, mut table: Table<'_>) -> Result<PageCacheSpec> {
        let pages = self.item(&mut table, "page_cache", |item| {
            Ok((item.whole("megabytes", 1..=65_536)? * 256) as u32)
        })?;
        let (dirty_background_percent, dirty_percent) = self.item(&mut table, "dirty", |item| {
            let background = item.whole("background_percent", 1..=100)? as u32;
            let most = item.whole("percent", 1..=100)? as u32;
            match background <= most {
                true => Ok((background, most)),
                false => Err(item.refuse("background_percent", "is above percent")),
            }
        })?;
        let (dirty_expire_ns, dirty_writeback_ns) =
            self.item(&mut table, "write_back", |item| {
                let mut time = |key| item.whole(key, 1..=600_000).map(|ms| ms * 1_000_000);
                Ok((time("expire_ms")?, time("every_ms")?))
            })?;
        let read_ahead =
            self.item(&mut table, "read_ahead", |item| Ok(item.whole("pages", 0..=4096)? as u32))?;
        table.finish()?;
        Ok(PageCacheSpec {
            pages,
            dirty_background_percent,
            dirty_percent,
            dirty_expire_ns,
            dirty_writeback_ns,
            read_ahead,
        })
    }

    fn disk(&mut self, mut table: Table<'_>) -> Result<DiskSpec> {
        let blocks =
            self.item(&mut table, "size", |item| Ok(item.whole("megabytes", 1..=1 << 32)? * 256))?;
        let (seek_least_ns, seek_most_ns) = self.item(&mut table, "seek", |item| {
            let least = item.whole("least_us", 0..=100_000)? * 1000;
            let most = item.whole("most_us", 0..=1_000_000)? * 1000;
            match least <= most {
                true => Ok((least, most)),
                false => Err(item.refuse("least_us", "is above most_us")),
            }
        })?;
        let turn_ns =
            self.item(&mut table, "turn", |item| Ok(item.whole("us", 0..=1_000_000)? * 1000))?;
        let block_ns = self.item(&mut table, "block", |item| item.whole("ns", 1..=COST_NS_MAX))?;
        let (queue, merge_blocks) = self.item(&mut table, "queue", |item| {
            let requests = item.whole("requests", 1..=100_000)? as u32;
            Ok((requests, item.whole("merge_blocks", 1..=100_000)? as u32))
        })?;
        table.finish()?;
        Ok(DiskSpec { blocks, seek_least_ns, seek_most_ns, turn_ns, block_ns, queue, merge_blocks })
    }

    fn costs(&mut self, mut table: Table<'_>) -> Result<Costs> {
        let table = &mut table;
        let (policy_step_ns, policy_far_step_ns, policy_far_steps) =
            self.item(table, "policy_step", |item| {
                let near = item.whole("ns", 0..=1_000_000)?;
                let far = item.whole_or("far_ns", near..=1_000_000, near)?;
                let from = item.whole_or("far_from", 1..=1_000_000, 1_000_000)?;
                let to = item.whole_or("far_to", from + 1..=2_000_000, from + 1)?;
                Ok((near, far, [from, to]))
            })?;
        let refill_ns = self.item(table, "refill", |item| {
            let mut time = |key| item.whole(key, 0..=COST_NS_MAX);
            Ok([
                time("same_core_ns")?,
                time("same_cache_ns")?,
                time("same_package_ns")?,
                time("other_package_ns")?,
            ])
        })?;
        let (page_tables_ns, page_tables_kept) = match table.has("page_tables") {
            true => self.item(table, "page_tables", |item| {
                Ok((item.whole("ns", 0..=COST_NS_MAX)?, item.whole("kept", 0..=1000)? as u32))
            })?,
            false => (0, 0),
        };
        let shared_page_ns = match table.has("shared_page") {
            true => self.time(table, "shared_page")?,
            false => 0,
        };
        let displace_ns = self.item(table, "displace", |item| item.whole("ns", 1..=COST_NS_MAX))?;
        let stopper_ns = self.item(table, "stopper", |item| item.whole("ns", 1..=COST_NS_MAX))?;
        let costs = Costs {
            switch_ns: self.time(table, "switch")?,
            switch_space_ns: self.time(table, "switch_space")?,
            policy_step_ns,
            policy_far_step_ns,
            policy_far_steps,
            wake_halted_ns: self.time(table, "wake_halted")?,
            wake_polling_ns: self.time(table, "wake_polling")?,
            interrupt_processor_ns: self.time(table, "interrupt_processor")?,
            tick_ns: self.time(table, "tick")?,
            interrupt_ns: self.time(table, "interrupt")?,
            write_back_ns: self.time(table, "write_back")?,
            system_call_ns: self.time(table, "system_call")?,
            wake_ns: self.time(table, "wake")?,
            fork_ns: [self.time(table, "fork")?, self.time(table, "thread")?],
            page_tables_ns,
            page_tables_kept,
            shared_page_ns,
            exec_ns: self.time(table, "exec")?,
            exit_ns: self.time(table, "exit")?,
            stopper_ns,
            refill_ns,
            displace_ns,
            // Sockets, semaphores and pages are work of a workload's own profile, see `[work]`.
            ..Costs::none()
        };
        table.no_strangers(&[])?;
        Ok(costs)
    }

    fn work(&mut self, mut table: Table<'_>) -> Result<BTreeMap<String, u64>> {
        let mut work = BTreeMap::new();
        for parameter in PARAMETERS {
            if table.has(parameter.name) {
                let value = self.item(&mut table, parameter.name, |item| {
                    item.whole(parameter.unit, 0..=COST_NS_MAX)
                })?;
                work.insert(parameter.name.to_owned(), value);
            }
        }
        table.finish()?;
        Ok(work)
    }
}
