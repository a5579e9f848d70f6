//! Demand and capacity of a block, in seconds of work alone: bounds that hold whatever happened within it.
//!
//! With `b_k` the time of cores with k busy, `s_k` what such a core does over one with one busy, and W the
//! time that tasks waited for a CPU: the work that was done is `Σ s_k·b_k`, of two siblings
//! `B + (s − 1)·S`, and what would have run had there been room is at most `Σ k·b_k + W`.

use crate::model::{capacity_shares, weighed};
use coretwin_base::account::Span;
use coretwin_base::account::recording::{RecordedGroup, RecordingBlock};
use coretwin_base::account::replay::ReplaySmt;

/// A block against a machine of the same cores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Work that was done, at least.
    pub low_s: f64,
    /// What ran and waited; `None` if it is not known how many waited.
    pub high_s: Option<f64>,
    pub capacity_low_s: f64,
    pub capacity_high_s: f64,
    /// Work that was done, with the yield in its range.
    pub work: Span,
    /// Time of cores that the same work takes, if it is served as it comes; of `cores_s` there are.
    pub model_low_s: f64,
    pub model_high_s: f64,
    pub cores_s: f64,
    /// How far work can fall behind what was recorded, at most: what busy siblings did beyond what cores are
    /// sure to do.
    pub excess_s: f64,
    /// Time of CPUs, each counted as a core.
    pub running_s: f64,
    pub used: Span,
}

/// `yields` are those of the recorded cores (k = 1 to n) and, where these have no siblings, of the cores
/// that there would be.
pub fn demand(block: &RecordingBlock, yields: &[Span], smt: ReplaySmt) -> Demand {
    let n = block.busy.len() - 1;
    let cores_s = block.cores.len() as f64 * block.elapsed_s;
    let one = Span::exact(1.0);
    let recorded: Vec<Span> =
        (0..n).map(|k| yields.get(k).or(yields.last()).copied().unwrap_or(one)).collect();
    let of = |weights: Vec<Span>| {
        let weights: Vec<Span> = std::iter::once(Span::default()).chain(weights).collect();
        weighed(&block.busy, &weights, cores_s)
    };
    let work = of(recorded.clone());
    let running = of((1..=n).map(|k| Span::exact(k as f64)).collect());
    let busy = of(vec![one; n]);
    let used = of(capacity_shares(&recorded));
    // Siblings may give more than as many cores would: then what was done is the most that ran.
    let high_s = block.waiting.high_s.map(|waited_s| running.high.max(work.high) + waited_s);
    let all = yields.last().copied().unwrap_or(one);
    let capacity_s = |of: fn(&[Span]) -> f64| -> f64 {
        // Cores of several kinds keep theirs; where none has siblings, all would have.
        let of_core = |core: &Vec<u32>| match n {
            0 | 1 => of(yields),
            _ => of(recorded.get(..core.len()).unwrap_or(&recorded)),
        };
        block.elapsed_s * block.cores.iter().map(of_core).sum::<f64>()
    };
    // What waits keeps all siblings busy. Siblings that cost more than they bring may idle.
    let least = |yields: &[Span]| yields.last().map_or(1.0, |all| all.low);
    let best = |yields: &[Span]| yields.iter().fold(1.0, |best, it| f64::max(best, it.high));
    let (capacity_low_s, capacity_high_s) = match smt {
        ReplaySmt::Off => (cores_s, cores_s),
        ReplaySmt::On => (capacity_s(least), capacity_s(best)),
        // At worst no two of a group are there at once.
        ReplaySmt::CoreSched => (capacity_s(least).min(cores_s), capacity_s(best)),
    };
    // What k tasks are sure to get: each a core of its own; or, wherever a scheduler puts them, a part of
    // one with all its siblings busy.
    let packed = |k: usize| (k as f64 * all.low / yields.len().max(1) as f64).min(all.low);
    let sure = |(k, span): (usize, &Span)| match smt {
        ReplaySmt::Off => 1.0,
        ReplaySmt::On if n > 1 => span.high,
        ReplaySmt::On => packed(k),
        ReplaySmt::CoreSched => packed(k).min(1.0),
    };
    let excess = (1..).zip(&recorded).map(|it| Span::exact((it.1.high - sure(it)).max(0.0)));
    let excess_s = of(excess.collect()).high;
    let (model_low_s, model_high_s) = match smt {
        ReplaySmt::Off => (work.low, work.high),
        ReplaySmt::On => (work.low / all.high, work.high / all.low),
        ReplaySmt::CoreSched if n < 2 => (work.low / all.high.max(1.0), work.high),
        ReplaySmt::CoreSched => {
            let apart = apart_share(&block.groups);
            let grown = busy.high + apart * (work.high - busy.high).max(0.0);
            (busy.low, grown.max(busy.low))
        }
    };
    Demand {
        low_s: work.low,
        high_s,
        capacity_low_s,
        capacity_high_s,
        work,
        model_low_s,
        model_high_s,
        cores_s,
        excess_s,
        running_s: running.value,
        used,
    }
}

/// Share of the time beside busy siblings that can have been beside another group, at most: a group with
/// more than half of it was beside itself for the rest.
pub fn apart_share(groups: &[RecordedGroup]) -> f64 {
    let all: u64 = groups.iter().map(|group| group.2).sum();
    let most = groups.iter().map(|group| group.2).max().unwrap_or(0);
    if all == 0 { 0.0 } else { (2.0 * (all - most) as f64 / all as f64).min(1.0) }
}

/// What is left of each block's work when the next begins, if all of a block comes evenly (Lindley 1952):
/// seconds of work. Of least work and most capacity it is the least, for what comes unevenly waits more.
pub fn left_s(blocks: impl IntoIterator<Item = (f64, f64)>) -> impl Iterator<Item = f64> {
    blocks.into_iter().scan(0.0f64, |left_s, (work_s, capacity_s)| {
        *left_s = (*left_s + work_s - capacity_s).max(0.0);
        Some(*left_s)
    })
}

/// How far work is behind what was recorded, within each block and at its end, at most, if tasks are
/// shorter than a block: it falls behind by no more than the excess, and what does not fill the block's
/// capacity is done by its end, but for an excess that came last.
pub fn behind_s<'a>(
    blocks: impl IntoIterator<Item = &'a Demand>,
) -> impl Iterator<Item = (f64, f64)> {
    blocks.into_iter().scan(0.0f64, |left_s, demand| {
        let within_s = *left_s + demand.excess_s;
        let over_s = *left_s + demand.work.high - demand.capacity_low_s;
        *left_s = over_s.max(demand.excess_s).min(within_s);
        Some((within_s, *left_s))
    })
}
