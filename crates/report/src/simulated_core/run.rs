//! One run of the simulated core as text: speeds, where the cycles went, who held what.

use crate::number;
use crate::words::{clean, fill};
use coretwin_base::simulation::core_run::{CoreAccuracy, CoreRun, CoreSide, CoreThread};
use std::fmt::Write;

/// A component below this many cycles per uop in every column has no line of its own.
const SHOWN_MIN: f64 = 0.0005;

/// Characters of a column of numbers.
const COLUMN: usize = 9;

/// A run for a terminal, ending in a line break; ranges of slowdowns and of the throughput are as wide as the
/// model is known to be wrong.
pub fn core_run_text(run: &CoreRun, known: &CoreAccuracy, page: usize) -> String {
    let mut out = String::new();
    sentence(&mut out, &format!("{}: {}", clean(&run.preset), clean(&run.about)), page);
    let how = format!(
        "{}, seed {}, {} uops each after {} of warm-up{}; speeds in uops per cycle at {} GHz",
        number::count(run.threads.len() as u64, "thread"),
        run.seed,
        number::whole(run.measure_uops),
        number::whole(run.warmup_uops),
        run.speed_error.map_or_else(
            || ", a length that was given: speeds may not be steady yet".to_owned(),
            |error| format!(", speeds known to {:.1} %", 100.0 * error)
        ),
        run.clock_ghz,
    );
    sentence(&mut out, &how, page);
    out.push('\n');
    speeds(&mut out, run, known, page);
    stacks(&mut out, run, page);
    occupancy(&mut out, run, page);
    events(&mut out, run, page);
    out
}

fn sentence(out: &mut String, text: &str, page: usize) {
    fill(out, text.split(' '), page, "", "");
}

fn speeds(out: &mut String, run: &CoreRun, known: &CoreAccuracy, page: usize) {
    let shared = run.threads.len() > 1;
    let width = run.threads.iter().map(|thread| thread.profile.chars().count()).max().unwrap_or(0);
    let width = width.max("profile".len());
    let _ = write!(out, "   {:width$}     alone", "profile");
    if shared {
        let _ = write!(out, "    beside  slowdown  by the formula");
        if run.spread.is_some() {
            let _ = write!(out, "  over seeds");
        }
    }
    out.push('\n');
    for (index, thread) in run.threads.iter().enumerate() {
        let _ = write!(out, "{index}  {:width$}  {:8.3}", clean(&thread.profile), thread.alone.ipc);
        if shared {
            let _ = write!(out, "  {:8.3}  {:8.3}", thread.beside.ipc, thread.slowdown);
            let formula = thread
                .slowdown_by_formula
                .map_or_else(|| number::NONE.to_owned(), |slowdown| format!("{slowdown:.3}"));
            let _ = write!(out, "  {formula:>14}");
            if let Some([low, high]) = run.spread.as_ref().and_then(|s| s.slowdown.get(index)) {
                let _ = write!(out, "  {low:.3} to {high:.3}");
            }
        }
        out.push('\n');
    }
    if shared {
        let mut text = format!(
            "throughput {:.3} of one thread's (sum of speeds relative to alone), mean slowdown {:.3}",
            run.throughput, run.antt
        );
        if let Some(spread) = &run.spread {
            let [low, high] = spread.throughput;
            let _ = write!(text, "; over {} seeds {low:.3} to {high:.3}", spread.seeds);
        }
        out.push('\n');
        sentence(out, &text, page);
        // What is published is of pairs.
        if run.threads.len() == 2 {
            sentence(out, &lies(run, known), page);
        }
        too_good(out, run, page);
    }
}

/// Where slowdowns and throughput lie, as far as published figures tell.
fn lies(run: &CoreRun, known: &CoreAccuracy) -> String {
    let words = |[low, high]: [f64; 2]| format!("{low:.2} to {high:.2}");
    let slowdowns = run.threads.iter().map(|thread| words(known.slowdown(thread.slowdown)));
    let slowdowns: Vec<String> = slowdowns.collect();
    let elsewhere = if known.presets.contains(&run.preset) { "" } else { " and none of them here" };
    format!(
        "where they lie: slowdowns {}, throughput {}: as far off as the worst of {} published rows, which are \
         on {}{elsewhere}",
        slowdowns.join(" and "),
        words(known.throughput(run.throughput, run.threads.len())),
        known.rows,
        known.presets.join(", "),
    )
}

/// A warning of a throughput that cannot be, with what made it so.
fn too_good(out: &mut String, run: &CoreRun, page: usize) {
    let Some(found) = &run.too_good else { return };
    let Some(thread) = run.threads.get(found.thread) else { return };
    let [alone, beside] =
        [&thread.alone, &thread.beside].map(|side| per_uop(side, &found.component));
    let text = format!(
        "warning: {} threads cannot do more than {0} cores; {} loses {alone:.3} cycles per uop to {} alone and \
         {beside:.3} beside (caches that still fill? leave out --uops; else the model is wrong here)",
        run.threads.len(),
        clean(&thread.profile),
        found.component.replace('_', " "),
    );
    sentence(out, &text, page);
}

/// The columns of the tables below: each thread alone, and where it has siblings beside them.
fn columns(run: &CoreRun) -> Vec<(String, &CoreSide)> {
    let shared = run.threads.len() > 1;
    let of = |index: usize, thread: &CoreThread, state: &str| match state {
        "" => clean(&thread.profile),
        state => format!("{index} {state}"),
    };
    run.threads
        .iter()
        .enumerate()
        .flat_map(|(index, thread)| {
            let alone = (of(index, thread, if shared { "alone" } else { "" }), &thread.alone);
            let beside = shared.then(|| (of(index, thread, "beside"), &thread.beside));
            std::iter::once(alone).chain(beside)
        })
        .collect()
}

fn heads(out: &mut String, first: usize, columns: &[(String, &CoreSide)]) {
    let _ = write!(out, "{:first$}", "");
    for (name, _) in columns {
        let _ = write!(out, "  {name:>COLUMN$}");
    }
    out.push('\n');
}

/// As many of the columns as fit beside the first one; the others follow below.
fn parts<'a>(
    columns: &'a [(String, &'a CoreSide)],
    first: usize,
    page: usize,
) -> impl Iterator<Item = &'a [(String, &'a CoreSide)]> {
    let widths = columns.iter().map(|(head, _)| head.chars().count().max(COLUMN) + 2);
    let fitting = page.saturating_sub(first) / widths.max().unwrap_or(COLUMN);
    columns.chunks(fitting.max(1))
}

fn stacks(out: &mut String, run: &CoreRun, page: usize) {
    out.push_str("\nwhere the cycles went (cycles per uop)\n");
    // What a component means stands beside it where a column has room beside that.
    let first = if page < 80 { 16 } else { 52 };
    for columns in parts(&columns(run), first, page) {
        stack(out, columns, first);
    }
}

fn stack(out: &mut String, columns: &[(String, &CoreSide)], first: usize) {
    heads(out, first, columns);
    let mut line = |name: &str, about: &str, values: &[f64]| {
        let about = if first < 52 { "" } else { about };
        let words = format!("{name:<16}{about}");
        let _ = write!(out, "{words:first$}");
        for (value, (head, _)) in values.iter().zip(columns) {
            let width = head.chars().count().max(COLUMN);
            let _ = write!(out, "  {value:>width$.4}");
        }
        out.push('\n');
    };
    for component in COMPONENTS {
        let values: Vec<f64> =
            columns.iter().map(|(_, side)| per_uop(side, component.name)).collect();
        if values.iter().any(|value| *value >= SHOWN_MIN) {
            line(&component.name.replace('_', " "), component.about, &values);
        }
    }
    let totals: Vec<f64> =
        columns.iter().map(|(_, side)| side.cycles as f64 / side.uops.max(1) as f64).collect();
    line("all", "", &totals);
}

fn occupancy(out: &mut String, run: &CoreRun, page: usize) {
    if run.occupancy.is_empty() {
        return;
    }
    out.push_str("\nentries held on average\n");
    for resource in &run.occupancy {
        let mut words =
            vec![format!("  {:<18} of {:>4}", clean(&resource.resource), resource.entries)];
        for (index, thread) in run.threads.iter().enumerate() {
            let alone = resource.alone.get(index).copied().unwrap_or(0.0);
            let mut held = format!("  {} alone {alone:.1}", clean(&thread.profile));
            if run.threads.len() > 1 {
                let beside = resource.beside.get(index).copied().unwrap_or(0.0);
                let _ = write!(held, ", beside {beside:.1}");
            }
            words.push(held);
        }
        fill(out, words.iter().map(String::as_str), page, "", "    ");
    }
}

fn events(out: &mut String, run: &CoreRun, page: usize) {
    out.push_str("\nevents per 1,000 uops\n");
    let first = 22;
    for columns in parts(&columns(run), first, page) {
        rates(out, columns, first);
    }
}

fn rates(out: &mut String, columns: &[(String, &CoreSide)], first: usize) {
    let names: Vec<&String> = match columns.first() {
        Some((_, side)) => side.events.keys().collect(),
        None => return,
    };
    heads(out, first, columns);
    for name in names {
        let count = |side: &CoreSide| side.events.get(name).copied().unwrap_or(0);
        if columns.iter().all(|(_, side)| count(side) == 0) {
            continue;
        }
        let _ = write!(out, "{:first$}", name.replace('_', " "));
        for (head, side) in columns {
            let rate = count(side) as f64 * 1000.0 / side.uops.max(1) as f64;
            let width = head.chars().count().max(COLUMN);
            let _ = write!(out, "  {rate:>width$.3}");
        }
        out.push('\n');
    }
}

/// A component that has a place of its own in a stack.
pub(super) struct Component {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// Its colour on light paper; families share a hue.
    pub(super) colour: &'static str,
}

const fn component(name: &'static str, about: &'static str, colour: &'static str) -> Component {
    Component { name, about, colour }
}

/// Every component, from the bottom of a stack to its top: work, front end, windows and memory,
/// waiting on purpose, and last what the sibling took.
pub(super) const COMPONENTS: &[Component] = &[
    component("base", "uops renamed: the work itself", "#8d9aa8"),
    component("fetch", "fetch delivered too little", "#d9c46c"),
    component("code_miss", "code was missing", "#c2a433"),
    component("mispredict", "mispredicted branches and refill", "#9a7d12"),
    component("execution", "window full behind execution", "#9cc4ea"),
    component("first_level", "window full behind first-level loads", "#6ba5dc"),
    component("outer_level", "window full behind outer caches", "#3c82c4"),
    component("memory", "window full behind memory", "#175d9e"),
    component("stores", "store buffer full", "#0b3d6e"),
    component("machine_clear", "machine clears", "#8a3aa0"),
    component("lock", "locks", "#b573c6"),
    component("kernel", "entering and leaving the kernel", "#7fb89f"),
    component("pause", "PAUSE", "#4d9a78"),
    component("halt", "halted, or dividing the core", "#0b7d5b"),
    component("sibling_ports", "the sibling took the port", "#f7bb8f"),
    component("sibling_slots", "the sibling was served instead", "#f0955a"),
    component("sibling_entries", "entries the sibling holds", "#c4520a"),
];

pub(super) fn cycles(side: &CoreSide, name: &str) -> f64 {
    side.cpi.get(name).copied().unwrap_or(0.0)
}

pub(super) fn per_uop(side: &CoreSide, name: &str) -> f64 {
    cycles(side, name) / side.uops.max(1) as f64
}

/// Names of the components that have a place, in their order.
pub fn core_components() -> impl Iterator<Item = &'static str> {
    COMPONENTS.iter().map(|component| component.name)
}
