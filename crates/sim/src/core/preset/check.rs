//! Whether the values of a preset agree with each other.

use super::{Cache, Preset, Sharing, ThreadSelect, Tlb, UopCache, limits};
use crate::core::Class;
use crate::document::Table;

/// Table and key within it of a contradiction, and what is wrong.
type Checked<'a> = Result<(), (&'static str, &'a str, String)>;

/// Refuses a preset whose items, each possible alone, contradict each other.
pub(super) fn consistent(preset: &Preset, root: &Table<'_>) -> crate::Result<()> {
    stages(preset)
        .and_then(|()| caches(preset))
        .and_then(|()| latencies(preset))
        .and_then(|()| translations(preset))
        .and_then(|()| schedulers(preset))
        .and_then(|()| ports(preset))
        .map_err(|(table, key, problem)| match root.inner(table) {
            Some(within) => within.refuse(key, problem),
            None => root.refuse(table, problem),
        })
}

fn stages(preset: &Preset) -> Checked<'_> {
    let ways = preset.ways;
    for (table, key, stage) in [
        ("front_end", "fetch", preset.front_end.fetch),
        ("back_end", "rename", preset.rename),
        ("back_end", "retire", preset.retire),
    ] {
        let threads = stage.threads_per_cycle;
        if threads > ways {
            let problem = format!("serves {threads} threads a cycle, but the core has {ways}");
            return Err((table, key, problem));
        }
        if stage.select == ThreadSelect::FirstThread && ways > 1 && threads == 1 {
            let problem = "lets the first thread starve its siblings: 'first_thread' needs \
                           threads_per_cycle above 1";
            return Err((table, key, problem.to_owned()));
        }
    }
    Ok(())
}

/// Keys of the caches beyond the first.
const OUTER: [&str; 3] = ["second", "third", "fourth"];

fn levels(preset: &Preset) -> impl Iterator<Item = (&'static str, &'static str, &Cache)> {
    let outer = OUTER.into_iter().zip(&preset.memory.outer);
    let code = preset.front_end.code_cache.as_ref();
    std::iter::once(("memory", "first", &preset.memory.first))
        .chain(outer.map(|(key, level)| ("memory", key, level)))
        .chain(code.map(|cache| ("front_end", "code_cache", cache)))
}

/// Refuses an array of a size in entries of a size, called `what` in the message: its sets are found by
/// bits of an address, and each thread needs a way of its own where ways are divided.
fn sets<T: Into<u64>>(
    [all, entry]: [T; 2],
    ways: impl Into<u64>,
    what: &str,
    sharing: Sharing,
    preset: &Preset,
) -> Result<(), String> {
    let (all, ways, threads) = (all.into(), ways.into(), preset.ways);
    let way = ways * entry.into();
    if all % way != 0 || !(all / way).is_power_of_two() {
        return Err(format!("has {what}: the number of sets must be a power of two"));
    }
    match sharing == Sharing::StaticWays && ways < u64::from(threads) {
        true => Err(format!("has {ways} ways, which cannot be divided among {threads} threads")),
        false => Ok(()),
    }
}

fn caches(preset: &Preset) -> Checked<'_> {
    let line = u64::from(preset.memory.line_bytes);
    for (table, key, Cache { bytes, ways, sharing, .. }) in levels(preset) {
        let what = format!("{bytes} bytes in {ways} ways of {line}-byte lines");
        sets([*bytes, line], *ways, &what, *sharing, preset)
            .map_err(|problem| (table, key, problem))?;
    }
    host_memory(preset)?;
    let Some(UopCache { lines, ways, sharing, .. }) = preset.front_end.uop_cache else {
        return Ok(());
    };
    let what = format!("{lines} lines in {ways} ways");
    sets([lines, 1], ways, &what, sharing, preset)
        .map_err(|problem| ("front_end", "uop_cache", problem))
}

/// Caches whose tags would take more of this host's memory than a simulation should.
fn host_memory(preset: &Preset) -> Checked<'_> {
    const MEBIBYTES_MAX: u64 = 256;
    const TAG_BYTES: u64 = 4;
    let mut all = 0;
    for (table, key, cache) in levels(preset) {
        let copies = if cache.sharing == Sharing::Replicated { preset.ways.into() } else { 1 };
        all += cache.bytes / u64::from(preset.memory.line_bytes) * TAG_BYTES * copies;
        if all > MEBIBYTES_MAX << 20 {
            let problem = format!(
                "needs, with the levels within it, {} MiB of this host for tags; at most \
                 {MEBIBYTES_MAX} MiB are allowed: make the caches smaller, or share them",
                all >> 20
            );
            return Err((table, key, problem));
        }
    }
    Ok(())
}

fn latencies(preset: &Preset) -> Checked<'_> {
    let memory = &preset.memory;
    let slower = |key, cycles: u16, what: &str, within: u16| match cycles > within {
        true => Ok(()),
        false => Err((
            "memory",
            key,
            format!("answers in {cycles} cycles, {what} in {within}: it must be slower"),
        )),
    };
    let mut within = &memory.first;
    for (key, level) in OUTER.into_iter().zip(&memory.outer) {
        slower(key, level.load_cycles, "the level within it", within.load_cycles)?;
        if level.bytes < within.bytes {
            return Err(("memory", key, "is smaller than the level within it".to_owned()));
        }
        within = level;
    }
    slower("main", memory.memory_cycles, "the last cache", within.load_cycles)?;
    if memory.alias_bits > 0 && 1u32 << memory.alias_bits <= u32::from(memory.line_bytes) {
        return Err(("memory", "aliasing", "must reach beyond the line".to_owned()));
    }
    if preset.front_end.uop_cache.is_none() && preset.front_end.code_cache.is_none() {
        let problem = "has neither a code cache nor a uop cache: give one of them";
        return Err(("front_end", "", problem.to_owned()));
    }
    Ok(())
}

fn translations(preset: &Preset) -> Checked<'_> {
    let translation = preset.memory.translation;
    let second = translation.second.map(|(buffer, _)| ("second", buffer));
    let first = [("code", translation.code), ("data", translation.data)];
    for (key, Tlb { entries, ways, sharing }) in first.into_iter().chain(second) {
        let what = format!("{entries} entries in {ways} ways");
        sets([entries, 1], ways, &what, sharing, preset)
            .map_err(|problem| ("translation", key, problem))?;
    }
    Ok(())
}

fn schedulers(preset: &Preset) -> Checked<'_> {
    for class in Class::ALL {
        let mut homes = preset.schedulers.iter().filter(|s| s.classes.contains(&class));
        let name = class.name();
        let (at, problem) = match (class, homes.next(), homes.next()) {
            (Class::Nop, Some(home), _) => {
                (home.name.as_str(), "holds 'nop', which needs no scheduler".to_owned())
            }
            (Class::Nop, None, _) | (_, Some(_), None) => continue,
            (_, None, _) => ("", format!("no scheduler holds '{name}': every class needs one")),
            (_, _, Some(second)) => {
                (second.name.as_str(), format!("'{name}' is in another scheduler too"))
            }
        };
        return Err(("schedulers", at, problem));
    }
    Ok(())
}

fn ports(preset: &Preset) -> Checked<'_> {
    if preset.double_pumped != (preset.fast_ports != 0) {
        let problem = "double_pumped and fast_ports go together".to_owned();
        return Err(("core", "simple_units", problem));
    }
    if preset.binds_ports_at_rename {
        let ports = preset.execution.iter().fold(0, |all, unit| all | unit.ports).count_ones();
        let units = preset.execution.iter().filter(|unit| unit.interval_cycles > 0).count();
        if ports as usize + units > limits::BOUND_GROUPS {
            let problem = format!(
                "has {ports} ports and {units} units that are not pipelined; where ports are bound \
                 at rename, at most {} of both are possible",
                limits::BOUND_GROUPS
            );
            return Err(("execution", "", problem));
        }
    }
    let bare = |class: &Class| *class != Class::Nop && preset.execution[*class as usize].ports == 0;
    match Class::ALL.into_iter().find(bare) {
        Some(class) => {
            Err(("execution", class.name(), "has no port: give at least one".to_owned()))
        }
        None => Ok(()),
    }
}
