//! Whether the values of a preset agree with each other.

use super::{Cache, Preset, Sharing, ThreadSelect, Tlb};
use crate::core::Class;
use crate::document::Table;
use crate::{Error, Result};

/// Refuses a preset whose items, each possible alone, contradict each other.
pub(super) fn consistent(preset: &Preset, root: &Table<'_>) -> Result<()> {
    let findings = [
        stages(preset),
        caches(preset),
        latencies(preset),
        translations(preset),
        schedulers(preset),
        ports(preset),
    ];
    match findings.into_iter().flatten().next() {
        None => Ok(()),
        Some((table, key, problem)) => Err(refuse(root, table, &key, problem)),
    }
}

/// Table, key within it, and what is wrong.
type Finding = Option<(&'static str, String, String)>;

fn refuse(root: &Table<'_>, table: &str, key: &str, problem: String) -> Error {
    root.inner(table).map_or_else(
        || root.refuse(table, problem.clone()),
        |within| within.refuse(key, problem.clone()),
    )
}

fn stages(preset: &Preset) -> Finding {
    let named = [
        ("front_end", "fetch", preset.front_end.fetch),
        ("back_end", "rename", preset.rename),
        ("back_end", "retire", preset.retire),
    ];
    for (table, key, stage) in named {
        if stage.threads_per_cycle > preset.ways {
            let problem = format!(
                "serves {} threads a cycle, but the core has {}",
                stage.threads_per_cycle, preset.ways
            );
            return Some((table, key.to_owned(), problem));
        }
        if stage.select == ThreadSelect::FirstThread
            && preset.ways > 1
            && stage.threads_per_cycle == 1
        {
            let problem = "lets the first thread starve its siblings: 'first_thread' needs \
                           threads_per_cycle above 1";
            return Some((table, key.to_owned(), problem.to_owned()));
        }
    }
    None
}

fn levels(preset: &Preset) -> Vec<(&'static str, &'static str, &Cache)> {
    let mut all = vec![("memory", "first", &preset.memory.first)];
    all.extend(
        ["second", "third", "fourth"]
            .into_iter()
            .zip(&preset.memory.outer)
            .map(|(key, level)| ("memory", key, level)),
    );
    all.extend(
        preset.front_end.code_cache.as_ref().map(|cache| ("front_end", "code_cache", cache)),
    );
    all
}

fn caches(preset: &Preset) -> Finding {
    let line = u64::from(preset.memory.line_bytes);
    for (table, key, cache) in levels(preset) {
        let way = u64::from(cache.ways) * line;
        if cache.bytes % way != 0 || !(cache.bytes / way).is_power_of_two() {
            let problem = format!(
                "has {} bytes in {} ways of {line}-byte lines: the number of sets must be a power \
                 of two",
                cache.bytes, cache.ways
            );
            return Some((table, key.to_owned(), problem));
        }
        if cache.sharing == Sharing::StaticWays && cache.ways < preset.ways {
            return Some((table, key.to_owned(), too_few_ways(cache.ways.into(), preset.ways)));
        }
    }
    if let Some(finding) = host_memory(preset) {
        return Some(finding);
    }
    let uop_cache = preset.front_end.uop_cache?;
    let ways = u32::from(uop_cache.ways);
    if uop_cache.lines % ways != 0 || !(uop_cache.lines / ways).is_power_of_two() {
        let problem = format!(
            "has {} lines in {ways} ways: the number of sets must be a power of two",
            uop_cache.lines
        );
        return Some(("front_end", "uop_cache".to_owned(), problem));
    }
    if uop_cache.sharing == Sharing::StaticWays && uop_cache.ways < preset.ways {
        return Some(("front_end", "uop_cache".to_owned(), too_few_ways(ways, preset.ways)));
    }
    None
}

/// Caches whose tags would take more of this host's memory than a simulation should.
fn host_memory(preset: &Preset) -> Finding {
    const MEBIBYTES_MAX: u64 = 256;
    const TAG_BYTES: u64 = 4;
    let mut all = 0;
    for (table, key, cache) in levels(preset) {
        let copies = match cache.sharing {
            Sharing::Replicated => u64::from(preset.ways),
            _ => 1,
        };
        all += cache.bytes / u64::from(preset.memory.line_bytes) * TAG_BYTES * copies;
        if all > MEBIBYTES_MAX << 20 {
            let problem = format!(
                "needs, with the levels within it, {} MiB of this host for tags; at most \
                 {MEBIBYTES_MAX} MiB are allowed: make the caches smaller, or share them",
                all >> 20
            );
            return Some((table, key.to_owned(), problem));
        }
    }
    None
}

fn too_few_ways(ways: u32, threads: u8) -> String {
    format!("has {ways} ways, which cannot be divided among {threads} threads")
}

fn latencies(preset: &Preset) -> Finding {
    let memory = &preset.memory;
    let mut within = (memory.first.load_cycles, memory.first.bytes);
    for (key, level) in ["second", "third", "fourth"].into_iter().zip(&memory.outer) {
        if level.load_cycles <= within.0 {
            let problem = format!(
                "answers in {} cycles, the level within it in {}: it must be slower",
                level.load_cycles, within.0
            );
            return Some(("memory", key.to_owned(), problem));
        }
        if level.bytes < within.1 {
            let problem = "is smaller than the level within it".to_owned();
            return Some(("memory", key.to_owned(), problem));
        }
        within = (level.load_cycles, level.bytes);
    }
    if memory.memory_cycles <= within.0 {
        let problem = format!(
            "answers in {} cycles, the last cache in {}: it must be slower",
            memory.memory_cycles, within.0
        );
        return Some(("memory", "main".to_owned(), problem));
    }
    if memory.alias_bits > 0 && 1u32 << memory.alias_bits <= u32::from(memory.line_bytes) {
        let problem = "must reach beyond the line".to_owned();
        return Some(("memory", "aliasing".to_owned(), problem));
    }
    if preset.front_end.uop_cache.is_none() && preset.front_end.code_cache.is_none() {
        let problem = "has neither a code cache nor a uop cache: give one of them".to_owned();
        return Some(("front_end", String::new(), problem));
    }
    None
}

fn translations(preset: &Preset) -> Finding {
    let translation = preset.memory.translation;
    let mut all = vec![("code", translation.code), ("data", translation.data)];
    all.extend(translation.second.map(|(buffer, _)| ("second", buffer)));
    all.into_iter().find_map(|(key, buffer): (_, Tlb)| {
        let Tlb { entries, ways, sharing } = buffer;
        let problem = if entries % ways != 0 || !(entries / ways).is_power_of_two() {
            format!(
                "has {entries} entries in {ways} ways: the number of sets must be a power of two"
            )
        } else if sharing == Sharing::StaticWays && ways < u16::from(preset.ways) {
            too_few_ways(ways.into(), preset.ways)
        } else {
            return None;
        };
        Some(("translation", key.to_owned(), problem))
    })
}

fn schedulers(preset: &Preset) -> Finding {
    for class in Class::ALL {
        let mut homes = preset.schedulers.iter().filter(|s| s.classes.contains(&class));
        let (first, second) = (homes.next(), homes.next());
        if class == Class::Nop {
            if let Some(home) = first {
                let problem = "holds 'nop', which needs no scheduler".to_owned();
                return Some(("schedulers", home.name.clone(), problem));
            }
            continue;
        }
        if first.is_none() {
            let problem = format!("no scheduler holds '{}': every class needs one", class.name());
            return Some(("schedulers", String::new(), problem));
        }
        if let Some(second) = second {
            let problem = format!("'{}' is in another scheduler too", class.name());
            return Some(("schedulers", second.name.clone(), problem));
        }
    }
    None
}

fn ports(preset: &Preset) -> Finding {
    if preset.double_pumped != (preset.fast_ports != 0) {
        let problem = "double_pumped and fast_ports go together".to_owned();
        return Some(("core", "simple_units".to_owned(), problem));
    }
    let bare = |class: &Class| *class != Class::Nop && preset.execution[*class as usize].ports == 0;
    let class = Class::ALL.into_iter().find(bare)?;
    Some(("execution", class.name().to_owned(), "has no port: give at least one".to_owned()))
}
