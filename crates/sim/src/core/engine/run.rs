//! A run: warm-up, measurement, and giving up where it makes no progress.
//!
use super::pool::{MAX_POOLS, resources};
use super::{Core, MAX_THREADS, NEVER};
use crate::core::preset::Resource;
use crate::core::{Component, Counts, Options, Outcome, Preset, Stuck, ThreadInput, ThreadOutcome};

/// A thread that is awake and retires no work for so many cycles is stuck. Longer than any wait
/// for memory, a lock held through a few thousand misses included.
const PATIENCE_CYCLES: u64 = 4_000_000;
/// How often that is looked at.
const LOOK_EVERY_CYCLES: u64 = 65_536;

/// A measurement that ends when speeds are known is cut into batches of a tenth of its least length.
const BATCHES: u64 = 10;
/// A speed is known when two standard errors of its batches' mean are no more than this share of it.
const KNOWN: f64 = 0.01;
/// A longer round of work is not waited for.
const ROUND_UOPS_MAX: u64 = 1 << 25;

/// Runs the threads on one core, and measures all of them over the same cycles.
///
/// Threads beyond the preset's ways are an error of the caller; missing ones are halted.
///
/// # Errors
/// [`Stuck`] where the run exceeds its bound, or a thread stops retiring.
///
/// # Panics
/// If there are more threads than the preset has ways.
pub fn simulate(
    preset: &Preset,
    threads: Vec<ThreadInput<'_>>,
    options: &Options,
) -> Result<Outcome, Box<Stuck>> {
    assert!(threads.len() <= usize::from(preset.ways), "more threads than the core has ways");
    let mut core = Core::new(preset, threads, options);
    core.aim(options.warmup_uops);
    core.run(options)?;
    core.begin_measurement();
    let (start, uops) = (core.cycle, core.uops());
    let speed_error = core.measure(options)?;
    Ok(Outcome { speed_error, ..core.outcome(start, &uops) })
}

/// A stretch of a thread's work: what it retires before, and while it is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Micro-operations before.
    pub warmup_uops: u64,
    /// Micro-operations measured.
    pub measure_uops: u64,
}

/// The micro-operations per cycle of one thread alone over several stretches of its work, in one
/// run: to the last bit what [`simulate`] gives for each stretch by itself.
///
/// # Errors
/// [`Stuck`] as [`simulate`].
pub fn simulate_stretches(
    preset: &Preset,
    thread: ThreadInput<'_>,
    stretches: &[Stretch],
    options: &Options,
) -> Result<Vec<f64>, Box<Stuck>> {
    /// What a stretch waits for next, in micro-operations, and where it began.
    struct Pending {
        stretch: usize,
        target: u64,
        begin: Option<(u64, u64)>,
    }
    let mut core = Core::new(preset, vec![thread], options);
    let mut speeds = vec![0.0; stretches.len()];
    let begins = stretches.iter().enumerate();
    let mut pending: Vec<Pending> = begins
        .map(|(stretch, of)| Pending { stretch, target: of.warmup_uops, begin: None })
        .collect();
    while let Some(next) = pending.iter().map(|one| one.target).min() {
        core.aim(next.saturating_sub(core.threads[0].uops));
        core.run(options)?;
        let (cycle, uops) = (core.cycle, core.threads[0].uops);
        // A thread that has halted for ever gets no further than it is.
        let reached = uops.max(next);
        pending.retain_mut(|one| {
            if one.target > reached {
                return true;
            }
            let Some((begin_cycle, begin_uops)) = one.begin else {
                one.begin = Some((cycle, uops));
                one.target = uops + stretches[one.stretch].measure_uops;
                return true;
            };
            speeds[one.stretch] = (uops - begin_uops) as f64 / (cycle - begin_cycle).max(1) as f64;
            false
        });
    }
    Ok(speeds)
}

/// What the batches of a thread's measurement say of its speed.
#[derive(Clone, Copy, Default)]
struct Batches {
    sum: f64,
    squares: f64,
}

impl Batches {
    fn add(&mut self, speed: f64) {
        self.sum += speed;
        self.squares += speed * speed;
    }

    /// Two standard errors of the mean of so many, as a share of it.
    fn error(self, count: u64) -> f64 {
        let count = count as f64;
        let mean = self.sum / count;
        let variance = (self.squares / count - mean * mean).max(0.0) / (count - 1.0);
        if mean > 0.0 { 2.0 * variance.sqrt() / mean } else { 0.0 }
    }
}

impl Core<'_> {
    /// Runs the measurement: for its length, or until every thread has done a round of its work and its
    /// speed is known. Gives the error of the least known. A thread whose round takes as long as the least
    /// length is known when the round is done, its phases being no draws.
    fn measure(&mut self, options: &Options) -> Result<Option<f64>, Box<Stuck>> {
        if options.settle_uops == 0 {
            self.aim(options.measure_uops);
            self.run(options)?;
            return Ok(None);
        }
        let start = self.uops();
        let mut batches = [Batches::default(); MAX_THREADS];
        for count in 1.. {
            let (cycle, before) = (self.cycle, self.uops());
            self.aim((options.measure_uops / BATCHES).max(1));
            self.run(options)?;
            let cycles = (self.cycle - cycle).max(1) as f64;
            for (thread, batch) in batches.iter_mut().enumerate().take(self.ways) {
                batch.add((self.threads[thread].uops - before[thread]) as f64 / cycles);
            }
            let whole = self.threads.iter().zip(&start).all(|(thread, start)| {
                let waited_for = thread.round_uops <= ROUND_UOPS_MAX && thread.target > 0;
                !waited_for || thread.uops - start >= thread.round_uops
            });
            if count < BATCHES || !whole {
                continue;
            }
            let drawn = self.threads.iter().zip(batches);
            let drawn = drawn.filter(|(thread, _)| thread.round_uops < options.measure_uops);
            let error = drawn.map(|(_, batch)| batch.error(count)).fold(0.0, f64::max);
            if error <= KNOWN || count * options.measure_uops / BATCHES >= options.settle_uops {
                return Ok(Some(error));
            }
        }
        Ok(None)
    }

    /// Sets every thread's target this much further.
    fn aim(&mut self, uops: u64) {
        self.unfinished = 0;
        for (thread, state) in self.threads.iter_mut().enumerate() {
            let sleeps_for_ever = !self.awake[thread] && state.wake_at == NEVER;
            if state.stream.is_some() && !sleeps_for_ever && uops > 0 {
                state.target = state.uops + uops;
                self.unfinished += 1;
            }
        }
    }

    fn run(&mut self, options: &Options) -> Result<(), Box<Stuck>> {
        let mut next_look = self.cycle + LOOK_EVERY_CYCLES;
        while self.unfinished > 0 {
            self.step();
            let limit = options.cycle_bound.min(next_look);
            if !self.busy && options.idle_skip && !self.rest(limit, options.cycle_bound) {
                return Err(self.stuck("no thread waits for anything that will happen".into()));
            }
            if self.cycle >= options.cycle_bound {
                let bound = options.cycle_bound;
                return Err(self.stuck(format!("it was to end within {bound} cycles")));
            }
            if self.cycle >= next_look {
                next_look = self.cycle + LOOK_EVERY_CYCLES;
                self.look_for_starved()?;
            }
        }
        Ok(())
    }

    fn look_for_starved(&self) -> Result<(), Box<Stuck>> {
        for (thread, state) in self.threads.iter().enumerate() {
            if self.awake[thread] && self.cycle - state.last_progress > PATIENCE_CYCLES {
                return Err(self.stuck(format!(
                    "thread {thread} has retired nothing for {PATIENCE_CYCLES} cycles"
                )));
            }
        }
        Ok(())
    }

    fn uops(&self) -> Vec<u64> {
        self.threads.iter().map(|thread| thread.uops).collect()
    }

    fn begin_measurement(&mut self) {
        for thread in self.threads.iter_mut() {
            thread.charged = [0; Component::COUNT];
            thread.counts = Counts::default();
        }
        self.entry_cycles = [[0; MAX_POOLS]; MAX_THREADS];
    }

    fn outcome(&self, start: u64, uops_before: &[u64]) -> Outcome {
        let cycles = self.cycle - start;
        let threads = self.threads.iter().enumerate().map(|(index, thread)| ThreadOutcome {
            warmup_uops: uops_before[index],
            uops: thread.uops - uops_before[index],
            slots: thread.charged,
            counts: thread.counts,
            entry_cycles: self.entry_cycles[index][..self.pools.count()].to_vec(),
        });
        let outcome = Outcome {
            cycles,
            width: self.preset.rename.width,
            resources: self.resources(),
            threads: threads.collect(),
            speed_error: None,
            total_cycles: self.cycle,
            total_uops: self.threads.iter().map(|thread| thread.uops).sum(),
        };
        for thread in &outcome.threads {
            let slots: u64 = thread.slots.iter().sum();
            assert_eq!(slots, cycles * u64::from(outcome.width), "every slot is accounted for");
        }
        outcome
    }

    /// Names and sizes of the pools, in their order.
    fn resources(&self) -> Vec<(String, u16)> {
        let size = |resource: Option<Resource>| resource.map_or(0, |resource| resource.entries);
        resources(&self.preset).map(|(name, of)| (name.to_owned(), size(of))).collect()
    }

    fn stuck(&self, what: String) -> Box<Stuck> {
        let waits = (0..self.ways).map(|thread| self.wait(thread)).collect();
        Box::new(Stuck { what, cycle: self.cycle, waits })
    }

    fn wait(&self, thread: usize) -> String {
        let state = &self.threads[thread];
        if !self.awake[thread] {
            return match state.wake_at {
                NEVER => format!("thread {thread}: halted for ever"),
                wake => format!("thread {thread}: halted until cycle {wake}"),
            };
        }
        let oldest = &state.slots[state.place(state.retired)];
        let window = if state.retired == state.renamed {
            "its window is empty".to_owned()
        } else if oldest.complete == NEVER {
            format!(
                "its oldest micro-operation ({}) waits for {} sources",
                oldest.class.name(),
                oldest.pending
            )
        } else {
            let cycle = oldest.complete / self.ticks_per_cycle;
            let class = oldest.class.name();
            format!("its oldest micro-operation ({class}) completes at cycle {cycle}")
        };
        let rename = match self.block(thread) {
            None => "rename goes on".to_owned(),
            Some(super::rename::Block::Supply) => {
                format!("rename waits for fetch ({})", state.supply.name())
            }
            Some(super::rename::Block::Wait(cause)) => format!("rename waits: {}", cause.name()),
            Some(super::rename::Block::Pool(pool)) => {
                format!("rename waits for room in {}", self.resources()[pool].0)
            }
        };
        let owned = self.owners.iter().enumerate();
        let owned = owned.filter(|(_, owner)| **owner == Some(thread as u8));
        let locks: Vec<String> =
            owned.map(|(lock, _)| (lock % super::lock::NUMBERS).to_string()).collect();
        let locks = if locks.is_empty() {
            String::new()
        } else {
            format!("; it holds lock {}", locks.join(", "))
        };
        let spins = match state.spin {
            Some(spin) => format!("; it waits for lock {}", spin.acquire.argument),
            None => String::new(),
        };
        format!("thread {thread}: {} retired; {window}; {rename}{locks}{spins}", state.uops)
    }
}
