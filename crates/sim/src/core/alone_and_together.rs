//! Threads alone and together: what a sibling costs.
//!
//! Each thread alone is measured over the very micro-operations it retired in the measurement
//! together, after the same ones as warm-up. (Measured over other regions, or warmed up for
//! longer, a thread alone is faster or slower for reasons that have nothing to do with siblings.)

use super::engine::simulate;
use super::{Component, Options, Outcome, Preset, Stuck, ThreadInput, ThreadOutcome};

/// A yield above the number of threads by this factor is no noise.
const NOISE: f64 = 1.01;

/// Threads together on one core, and each alone on the same core with its siblings halted.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// All of them.
    pub together: Outcome,
    /// Each by itself; it is thread 0 of its run.
    pub alone: Vec<Outcome>,
}

/// Runs the threads together, then each alone. `input` gives thread `n` afresh for each run.
///
/// # Errors
/// [`Stuck`] as [`simulate`].
pub fn compare<'stream>(
    preset: &Preset,
    threads: usize,
    input: &dyn Fn(usize) -> ThreadInput<'stream>,
    options: &Options,
) -> Result<Comparison, Box<Stuck>> {
    let together = simulate(preset, (0..threads).map(input).collect(), options)?;
    let mut alone = Vec::with_capacity(threads);
    for (thread, measured) in together.threads.iter().take(threads).enumerate() {
        let options = Options {
            warmup_uops: measured.warmup_uops,
            measure_uops: measured.uops.max(1),
            settle_uops: 0,
            ..*options
        };
        alone.push(simulate(preset, vec![input(thread)], &options)?);
    }
    Ok(Comparison { together, alone })
}

impl Comparison {
    /// How many times slower a thread is beside its siblings.
    pub fn slowdown(&self, thread: usize) -> f64 {
        self.alone[thread].uops_per_cycle(0) / self.together.uops_per_cycle(thread)
    }

    /// Where the threads together do more than as many cores could, by more than noise: the thread that
    /// gains most, and the component of its cycles that shrinks most.
    pub fn too_good(&self) -> Option<(usize, Component)> {
        let count = self.alone.len();
        if self.throughput() <= NOISE * count as f64 {
            return None;
        }
        let gains =
            |one: &usize, other: &usize| self.slowdown(*one).total_cmp(&self.slowdown(*other));
        let thread = (0..count).min_by(gains)?;
        let per_uop = |of: &ThreadOutcome, component: Component| {
            of.slots[component as usize] as f64 / of.uops.max(1) as f64
        };
        let shrinks = |component: &Component| {
            per_uop(&self.alone[thread].threads[0], *component)
                - per_uop(&self.together.threads[thread], *component)
        };
        let most = |one: &Component, other: &Component| shrinks(one).total_cmp(&shrinks(other));
        Some((thread, Component::ALL.into_iter().max_by(most)?))
    }

    /// Work of all threads together, in units of what each does alone: the yield of the core.
    pub fn throughput(&self) -> f64 {
        (0..self.alone.len()).map(|thread| 1.0 / self.slowdown(thread)).sum()
    }
}
