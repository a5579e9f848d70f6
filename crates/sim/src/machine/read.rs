//! From text to [`MachinePreset`]: each item is one inline table with its values, its source and the
//! confidence in it. What the format can say is what this file asks for.

use super::{MachinePreset, PARAMETERS, fingerprint};
use crate::built_in::BuiltIn;
use crate::core::Preset;
use crate::core::preset::table;
use crate::document::{Document, Table};
use crate::kernel::{Costs, DiskSpec, IDLE, PageCacheSpec};
use crate::{Error, Result};
use std::collections::BTreeMap;

/// The longest cost, in ns: a second.
const COST_NS_MAX: u64 = 1_000_000_000;

impl MachinePreset {
    /// Reads a preset; `file` is named in errors.
    pub fn read(file: &str, text: &str) -> Result<Self> {
        let document = Document::parse(file, text)?;
        let mut root = document.root();
        let name = root.words("name")?.to_owned();
        let title = root.words("title")?.to_owned();

        let mut processor = root.table("processor")?;
        let core = processor.item("core", core)?;
        let [packages, caches, cores] = processor.item("topology", |item| {
            let mut count = |key| item.whole(key, 1..=1024);
            Ok([count("packages")?, count("caches")?, count("cores")?])
        })?;
        let idle = processor.item("idle", |item| item.choice("does", &IDLE))?;
        let topology = processor.inner("topology");
        processor.finish()?;

        let preset = Self {
            memory: root.if_any("memory", |root, key| root.section(key, memory))?,
            disk: root.if_any("disk", |root, key| root.section(key, disk))?,
            costs: root.section("kernel", costs)?,
            work: root.section("work", work)?,
            provenance: document.provenance(),
            fingerprint: fingerprint([text, core.text]),
            core: core.read(Preset::read),
            name,
            title,
            packages,
            caches,
            cores,
            idle,
        };
        root.finish()?;
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

fn memory(table: &mut Table<'_>) -> Result<PageCacheSpec> {
    let pages = table.one("page_cache", "megabytes", 1..=65_536_u32)? * 256;
    let (dirty_background_percent, dirty_percent) = table.item("dirty", |item| {
        let background = item.whole("background_percent", 1..=100)?;
        let most = item.whole("percent", 1..=100)?;
        match background <= most {
            true => Ok((background, most)),
            false => Err(item.refuse("background_percent", "is above percent")),
        }
    })?;
    let (dirty_expire_ns, dirty_writeback_ns) = table.item("write_back", |item| {
        let mut time = |key| item.whole(key, 1..=600_000).map(|ms: u64| ms * 1_000_000);
        Ok((time("expire_ms")?, time("every_ms")?))
    })?;
    Ok(PageCacheSpec {
        pages,
        dirty_background_percent,
        dirty_percent,
        dirty_expire_ns,
        dirty_writeback_ns,
        read_ahead: table.one("read_ahead", "pages", 0..=4096)?,
    })
}

fn disk(table: &mut Table<'_>) -> Result<DiskSpec> {
    let blocks = table.one("size", "megabytes", 1..=1_u64 << 32)? * 256;
    let (seek_least_ns, seek_most_ns) = table.item("seek", |item| {
        let least = item.whole("least_us", 0..=100_000_u64)? * 1000;
        let most = item.whole("most_us", 0..=1_000_000_u64)? * 1000;
        match least <= most {
            true => Ok((least, most)),
            false => Err(item.refuse("least_us", "is above most_us")),
        }
    })?;
    let turn_ns = table.one("turn", "us", 0..=1_000_000_u64)? * 1000;
    let block_ns = table.one("block", "ns", 1..=COST_NS_MAX)?;
    let (queue, merge_blocks) = table.item("queue", |item| {
        Ok((item.whole("requests", 1..=100_000)?, item.whole("merge_blocks", 1..=100_000)?))
    })?;
    Ok(DiskSpec { blocks, seek_least_ns, seek_most_ns, turn_ns, block_ns, queue, merge_blocks })
}

fn costs(table: &mut Table<'_>) -> Result<Costs> {
    // Sockets, semaphores and pages are work of a workload's own profile, see `[work]`.
    let mut costs = Costs::none();
    let far = table.item("policy_step", |item| {
        let near = item.whole("ns", 0..=1_000_000)?;
        let far = item.whole_or("far_ns", near..=1_000_000, near)?;
        let from = item.whole_or("far_from", 1..=1_000_000, 1_000_000)?;
        let to = item.whole_or("far_to", from + 1..=2_000_000, from + 1)?;
        Ok((near, far, [from, to]))
    })?;
    (costs.policy_step_ns, costs.policy_far_step_ns, costs.policy_far_steps) = far;
    costs.refill_ns = table.item("refill", |item| {
        let mut time = |key| item.whole(key, 0..=COST_NS_MAX);
        Ok([
            time("same_core_ns")?,
            time("same_cache_ns")?,
            time("same_package_ns")?,
            time("other_package_ns")?,
        ])
    })?;
    let page_tables = table.item_if_any("page_tables", |item| {
        Ok((item.whole("ns", 0..=COST_NS_MAX)?, item.whole("kept", 0..=1000)?))
    })?;
    (costs.page_tables_ns, costs.page_tables_kept) = page_tables.unwrap_or((0, 0));
    let shared_page = table.item_if_any("shared_page", |item| item.whole("ns", 0..=COST_NS_MAX))?;
    costs.shared_page_ns = shared_page.unwrap_or(0);
    costs.displace_ns = table.one("displace", "ns", 1..=COST_NS_MAX)?;
    costs.stopper_ns = table.one("stopper", "ns", 1..=COST_NS_MAX)?;
    for (key, ns) in costs.times() {
        *ns = table.one(key, "ns", 0..=COST_NS_MAX)?;
    }
    Ok(costs)
}

fn work(table: &mut Table<'_>) -> Result<BTreeMap<String, u64>> {
    let mut work = BTreeMap::new();
    for parameter in PARAMETERS {
        let most = if parameter.unit == "percent" { 100 } else { COST_NS_MAX };
        let read = |item: &mut Table<'_>| item.whole(parameter.unit, 0..=most);
        if let Some(value) = table.item_if_any(parameter.name, read)? {
            work.insert(parameter.name.to_owned(), value);
        }
    }
    Ok(work)
}
