//! The interval formula: a pair's speeds in microseconds, beside the event-driven core.
//!
//! Cycles per micro-operation are the sum of intervals between events: issuing at the rate that
//! width and dependences allow, resolving mispredicted branches and refilling behind them, waiting
//! for loads that miss. A busy sibling takes its share of the window, of every other turn at
//! rename, and of the caches; how often it wants its turn follows from its own speed, so both are
//! found by iteration. The method is Karkhanis and Smith's (A First-Order Superscalar Processor
//! Model, ISCA 2004), extended by the shares of a sibling.
//!
//! Deliberately absent: schedulers, ports shared by the two, prefetching, locks, PAUSE and the
//! kernel. Where these matter the event-driven core is the model; its difference is reported.

mod summary;

pub use summary::Summary;

use super::Preset;
use super::preset::{Policy, Resource};

/// Rounds of the iteration; changes are below 1 in 10^4 after six on all built-in pairs.
const ROUNDS: usize = 10;

/// What the formula says of one thread, in cycles per micro-operation.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// Alone on the recombined core.
    pub alone: f64,
    /// Beside the sibling.
    pub together: f64,
}

impl Estimate {
    /// How many times slower beside the sibling.
    pub fn slowdown(&self) -> f64 {
        self.together / self.alone
    }
}

/// What one thread has of the core.
#[derive(Clone, Copy)]
struct Share {
    window: f64,
    /// Turns at rename, of all.
    turns: f64,
    /// Part of each cache.
    cache: f64,
}

/// Speeds of two threads alone and together.
pub fn pair(preset: &Preset, threads: [&Summary; 2]) -> [Estimate; 2] {
    let whole =
        |summary: &Summary| Share { window: window(preset, summary, 1.0), turns: 1.0, cache: 1.0 };
    let alone = threads.map(|summary| cycles(preset, summary, whole(summary)));
    let mut together = alone;
    for _ in 0..ROUNDS {
        let before = together;
        for (thread, summary) in threads.into_iter().enumerate() {
            let sibling = 1 - thread;
            let share = Share {
                window: window(preset, summary, 2.0),
                turns: 1.0 - wants(preset, threads[sibling], before[sibling]) / 2.0,
                cache: part(threads[thread], before[thread], threads[sibling], before[sibling]),
            };
            together[thread] = cycles(preset, summary, share);
        }
    }
    [0, 1].map(|thread| Estimate { alone: alone[thread], together: together[thread] })
}

/// Share of the cycles in which a thread of this speed has something to rename.
fn wants(preset: &Preset, summary: &Summary, cycles: f64) -> f64 {
    let busy = 1.0 / f64::from(preset.rename.width).min(summary.parallelism(f64::from(u16::MAX)));
    // With two threads in a cycle only the slots themselves are taken.
    let slots = 1.0 / f64::from(preset.rename.width);
    let needed = if preset.rename.threads_per_cycle > 1 { slots } else { busy };
    (needed / cycles).min(1.0)
}

/// Part of the caches: by the rate at which each thread brings lines in.
fn part(own: &Summary, own_cycles: f64, other: &Summary, other_cycles: f64) -> f64 {
    let rate = |summary: &Summary, cycles: f64| summary.lines_per_uop() / cycles;
    let (own, other) = (rate(own, own_cycles), rate(other, other_cycles));
    if own + other <= 0.0 { 1.0 } else { (own / (own + other)).clamp(0.05, 1.0) }
}

/// Micro-operations in flight: what the scarcest of buffers allows.
fn window(preset: &Preset, summary: &Summary, threads: f64) -> f64 {
    let memory = &preset.memory;
    let entries = |resource: &Resource| share(resource, threads);
    let loads = entries(&memory.load_buffer) / summary.loads.max(1e-9);
    let stores = entries(&memory.store_buffer) / summary.stores.max(1e-9);
    entries(&preset.reorder_buffer).min(loads).min(stores)
}

/// Entries that one of so many busy threads has.
fn share(resource: &Resource, threads: f64) -> f64 {
    let entries = f64::from(resource.entries);
    if threads <= 1.0 && !resource.always_split {
        return entries;
    }
    match resource.policy {
        Policy::Static => entries / 2.0,
        // What both want they get half of, in the mean.
        Policy::Competitive => entries / 2.0,
        Policy::Watermark { reserve } => {
            (entries - f64::from(reserve)).min(entries / 2.0 + f64::from(reserve))
        }
        Policy::Capped { cap } => f64::from(cap).min(entries / 2.0),
    }
}

/// Cycles per micro-operation with this share of the core.
fn cycles(preset: &Preset, summary: &Summary, share: Share) -> f64 {
    let width = f64::from(preset.rename.width) * share.turns;
    let issue = 1.0 / width.min(summary.parallelism(share.window));
    let refill = f64::from(preset.front_end.mispredict_cycles);
    let mispredicts = summary.mispredicts * (summary.resolution(share.window) + refill);
    issue + mispredicts + waiting(preset, summary, share, issue)
}

/// Cycles per micro-operation lost to loads that miss the first level.
fn waiting(preset: &Preset, summary: &Summary, share: Share, issue: f64) -> f64 {
    let memory = &preset.memory;
    let first = f64::from(memory.first.load_cycles);
    let mut lost = 0.0;
    let mut within = share.cache * memory.first.bytes as f64;
    let further = memory.outer.iter().map(|level| (level.load_cycles, level.bytes as f64));
    let last = std::iter::once((memory.memory_cycles, f64::MAX));
    for (cycles, bytes) in further.chain(last) {
        // Loads that miss within and are served here.
        let beyond = if bytes == f64::MAX { 0.0 } else { summary.misses(share.cache * bytes) };
        let served = (summary.misses(within) - beyond).max(0.0);
        let latency = f64::from(cycles) - first;
        // What the window hides of a load whose address does not come from another load.
        let hidden = share.window * issue;
        let parallel = (served * share.window).clamp(1.0, share_of_misses(preset, share));
        let free = (latency - hidden).max(0.0) / parallel;
        lost += served * (summary.chained * latency + (1.0 - summary.chained) * free);
        within = share.cache * bytes;
    }
    lost
}

/// Misses that one thread can have under way.
fn share_of_misses(preset: &Preset, share: Share) -> f64 {
    let threads = if share.turns < 1.0 { 2.0 } else { 1.0 };
    self::share(&preset.memory.miss_buffers, threads).max(1.0)
}
