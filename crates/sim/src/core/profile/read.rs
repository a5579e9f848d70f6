//! From text to [`Profile`], with the rules of presets: each item has its source and confidence.

use super::statistical::{PHASES_MAX, REGIONS_MAX};
use super::{
    Body, Branches, Code, Lock, Mix, Pattern, Phase, Profile, Region, Sieve, Solo, Sources, Work,
};
use crate::Result;
use crate::core::{Class, Placement};
use crate::document::{Document, Table};

/// Largest footprint: what the address space of a profile leaves to one phase.
pub(super) const BYTES_MAX: u64 = 1 << 27;

const CODE_BYTES_MAX: u64 = 1 << 20;

impl Profile {
    /// Reads a profile; `file` is named in errors.
    ///
    /// # Errors
    /// [`crate::Error`] naming file, line, key, the allowed range and the nearest known key, for
    /// anything missing, unknown, contradictory or absurd.
    pub fn read(file: &str, text: &str) -> Result<Self> {
        let document = Document::parse(file, text)?;
        let mut root = document.root();
        let name = root.words("name")?.to_owned();
        let title = root.words("title")?.to_owned();
        let work = match root.word("kind", &["sieve", "body", "statistical"])? {
            "sieve" => Work::Sieve(root.item("sieve", |item| {
                Ok(Sieve { table_bytes: item.whole("table_bytes", 16..=16_000_000)? })
            })?),
            "body" => Work::Body(root.item("body", body)?),
            _ => Work::Statistical(phases(&mut root)?),
        };
        let solo = root.each("solo", |entry| {
            let solo = solo(entry)?;
            entry.provenance()?;
            Ok(solo)
        })?;
        let shares_data = root.flag("shares_data")?;
        let pages = root.item_if_any("pages", pages)?;
        let (page_bytes, placement) = pages.unwrap_or((4096, Placement::Random));
        root.finish()?;
        let provenance = document.provenance();
        Ok(Self { name, title, shares_data, page_bytes, placement, work, solo, provenance })
    }
}

fn solo(entry: &mut Table<'_>) -> Result<Solo> {
    Ok(Solo {
        preset: entry.words("preset")?.to_owned(),
        instructions_per_cycle: entry.number("instructions_per_cycle", 0.0001..=16.0)?,
        uops_per_instruction: entry.number("uops_per_instruction", 0.1..=10.0)?,
        first_level_misses: entry
            .if_any("first_level_misses", |entry, key| entry.number(key, 0.0..=2000.0))?,
        command: entry.words("command")?.to_owned(),
        date: entry.words("date")?.to_owned(),
    })
}

fn pages(item: &mut Table<'_>) -> Result<(u64, Placement)> {
    let known = [("random", Placement::Random), ("contiguous", Placement::Contiguous)];
    let bytes: u64 = item.whole("bytes", 4096..=1 << 30)?;
    if !bytes.is_power_of_two() {
        return Err(item.refuse("bytes", format!("is {bytes}; it must be a power of two")));
    }
    Ok((bytes, item.choice("placement", &known)?))
}

fn body(item: &mut Table<'_>) -> Result<Body> {
    let offset = item.whole_or("thread_offset", 0..=1 << 40, 0)?;
    let text = item.words("text")?;
    Body::parse(text, offset)
        .map_err(|(line, problem)| item.refuse("text", format!("line {line} of it: {problem}")))
}

fn phase_body(item: &mut Table<'_>, kernel: bool) -> Result<Body> {
    let body = body(item)?;
    if kernel || body.thread_offset > 0 || body.unfit_for_a_phase() {
        let problem =
            "of a phase is user code without locks, effects but 'taken', and 'thread_offset'";
        return Err(item.refuse("text", problem));
    }
    Ok(body)
}

fn phases(root: &mut Table<'_>) -> Result<Vec<Phase>> {
    let tables = root.tables("phase")?;
    if tables.is_empty() || tables.len() > PHASES_MAX {
        return Err(root.refuse("phase", format!("must be 1 to {PHASES_MAX} tables, [[phase]]")));
    }
    root.each("phase", phase)
}

fn phase(table: &mut Table<'_>) -> Result<Phase> {
    let name = table.words("name")?.to_owned();
    let (uops, kernel) = table
        .item("length", |item| Ok((item.whole("uops", 16..=1 << 40)?, item.flag("kernel")?)))?;
    let body = table.item_if_any("body", |item| phase_body(item, kernel))?;
    let (mix, sources, branches, code, regions) = match &body {
        Some(body) => {
            let (mix, branches, code) = body.statistics();
            (
                mix,
                Sources { none: 1.0, two: 0.0, up_to: vec![1], share: vec![1.0] },
                branches,
                code,
                Vec::new(),
            )
        }
        None => {
            let mix = table.item("mix", mix)?;
            let sources = table.item("sources", sources)?;
            let branches = table.item("branches", branches)?;
            let code = table.item("code", code)?;
            let regions = regions(table, &mix)?;
            (mix, sources, branches, code, regions)
        }
    };
    let pause = table.item_if_any("pause", |item| item.whole("every_uops", 1..=1 << 40))?;
    let halt = table.item_if_any("halt", |item| item.whole("cycles", 1..=1 << 40))?;
    let lock = table.item_if_any("lock", lock)?;
    let (pause_every_uops, halt_cycles) = (pause.unwrap_or(0), halt.unwrap_or(0));
    Ok(Phase {
        name,
        uops,
        kernel,
        body,
        mix,
        sources,
        branches,
        code,
        regions,
        pause_every_uops,
        halt_cycles,
        lock,
    })
}

fn mix(item: &mut Table<'_>) -> Result<Mix> {
    let mut share = [0.0; Class::COUNT];
    for class in Class::ALL {
        share[class as usize] = item.number_or(class.name(), 0.0..=1.0, 0.0)?;
    }
    // A class with a typing error explains a wrong sum better than the sum does.
    let mix = Mix { share, compared: item.number("compared", 0.0..=1.0)? };
    item.no_strangers(&["source", "confidence"])?;
    sums_to_one(item, "", "the classes", &share)?;
    if mix.of(Class::Branch) * mix.compared > mix.of(Class::IntAlu) {
        let problem = "says that more branches follow a compare than there are int_alu";
        return Err(item.refuse("compared", problem));
    }
    Ok(mix)
}

/// Refuses shares that do not sum to 1.
fn sums_to_one(item: &Table<'_>, key: &str, what: &str, shares: &[f64]) -> Result<()> {
    let sum: f64 = shares.iter().sum();
    if (sum - 1.0).abs() <= 0.001 {
        return Ok(());
    }
    Err(item.refuse(key, format!("{what} sum to {sum:.4}; they must sum to 1")))
}

fn sources(item: &mut Table<'_>) -> Result<Sources> {
    let up_to = item.numbers("up_to", 1.0..=16_384.0)?;
    let share = item.numbers("share", 0.0..=1.0)?;
    let none = item.number("none", 0.0..=1.0)?;
    let two = item.number("two", 0.0..=1.0)?;
    if none + two > 1.0 {
        return Err(item.refuse("two", "and 'none' sum to more than 1"));
    }
    let ascending = up_to.windows(2).all(|pair| pair[0] < pair[1]);
    if !ascending || up_to.is_empty() || up_to.iter().any(|end| end.fract() != 0.0) {
        return Err(item.refuse("up_to", "must be whole numbers that ascend"));
    }
    same_length(item, "share", share.len(), "up_to", up_to.len())?;
    sums_to_one(item, "share", "the shares", &share)?;
    Ok(Sources { none, two, up_to: up_to.into_iter().map(|end| end as u16).collect(), share })
}

fn same_length(item: &Table<'_>, key: &str, has: usize, other: &str, wanted: usize) -> Result<()> {
    if has == wanted {
        return Ok(());
    }
    Err(item.refuse(key, format!("has {has} numbers, '{other}' has {wanted}: one each")))
}

fn branches(item: &mut Table<'_>) -> Result<Branches> {
    let bias = item.numbers("bias", 0.5..=1.0)?;
    let share = item.numbers("share", 0.0..=1.0)?;
    same_length(item, "share", share.len(), "bias", bias.len())?;
    sums_to_one(item, "share", "the shares", &share)?;
    Ok(Branches {
        taken: item.number("taken", 0.0..=1.0)?,
        on_loads: item.number("on_loads", 0.0..=1.0)?,
        bias,
        share,
    })
}

fn code(item: &mut Table<'_>) -> Result<Code> {
    let bytes = item.whole("bytes", 64..=CODE_BYTES_MAX)?;
    Ok(Code {
        bytes,
        hot_bytes: item.whole_or("hot_bytes", 64..=bytes, bytes)?,
        hot_share: item.number_or("hot_share", 0.0..=1.0, 1.0)?,
    })
}

fn regions(table: &mut Table<'_>, mix: &Mix) -> Result<Vec<Region>> {
    let regions = table.each("regions", |entry| {
        let region = region(entry)?;
        entry.provenance()?;
        Ok(region)
    })?;
    if regions.len() > REGIONS_MAX {
        let problem = format!("are {}; at most {REGIONS_MAX} are possible", regions.len());
        return Err(table.refuse("regions", problem));
    }
    if (mix.memory() > 0.0) == regions.is_empty() {
        let problem =
            if regions.is_empty() { "loads and stores need one" } else { "nothing accesses them" };
        return Err(table.refuse("regions", problem));
    }
    if !regions.is_empty() {
        let shares: Vec<f64> = regions.iter().map(|region| region.share).collect();
        sums_to_one(table, "regions", "their shares", &shares)?;
        let bytes: u64 = regions.iter().map(|region| region.bytes).sum();
        if bytes > BYTES_MAX {
            let problem = format!("have {bytes} bytes; a phase's address space has {BYTES_MAX}");
            return Err(table.refuse("regions", problem));
        }
        chained_loads_exist(table, mix, &regions)?;
    }
    Ok(regions)
}

fn chained_loads_exist(table: &Table<'_>, mix: &Mix, regions: &[Region]) -> Result<()> {
    let chained = regions.iter().filter(|region| region.chase || region.follows);
    let chained: f64 = chained.map(|region| region.share).sum();
    if chained * mix.memory() > mix.of(Class::Load) + 0.001 {
        let problem = "give chains a larger share than there are loads";
        return Err(table.refuse("regions", problem));
    }
    if regions.iter().any(|region| region.follows) && !regions.iter().any(|region| region.chase) {
        return Err(table.refuse("regions", "follow a chain that no region makes ('chase')"));
    }
    Ok(())
}

fn region(entry: &mut Table<'_>) -> Result<Region> {
    let bytes = entry.whole("bytes", 64..=BYTES_MAX)?;
    let pattern = match entry.word("pattern", &["random", "stride"])? {
        "random" => Pattern::Random,
        _ => Pattern::Stride(entry.whole("stride", 1..=bytes)?),
    };
    let (chase, follows) = (entry.flag("chase")?, entry.flag("follows")?);
    if chase && follows {
        return Err(entry.refuse("follows", "and 'chase' exclude each other"));
    }
    let steps = entry.whole_or("chase_steps", 0..=64, 0)?;
    if steps > 0 && !chase {
        return Err(entry.refuse("chase_steps", "needs chase = true"));
    }
    Ok(Region {
        share: entry.number("share", 0.0..=1.0)?,
        bytes,
        pattern,
        chase,
        chase_steps: steps,
        follows,
        shared: entry.flag("shared")?,
    })
}

fn lock(item: &mut Table<'_>) -> Result<Lock> {
    Ok(Lock {
        number: item.whole("number", 0..=15)?,
        every_uops: item.whole("every_uops", 1..=1 << 40)?,
        hold_uops: item.whole("hold_uops", 1..=1 << 40)?,
        pausing: item.flag("pausing")?,
    })
}
