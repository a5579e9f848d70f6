//! How much each arm carries at most: found on screening readings before the study proper, and frozen.
//!
//! Either a row says it by itself (a closed loop), or the rate is raised until what is answered falls
//! behind what is offered. What is offered next follows from plan and readings alone.

use coretwin_base::study::load::rounded;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Phase, Reading, Status};
use std::collections::BTreeMap;

/// First rate that is offered, per second.
const START: f64 = 100.0;
/// Factor from a rate that an arm carries to the next, until one is too much.
const FACTOR: f64 = 4.0;
/// Factor on the most that was carried, once a rate was too much.
const BEYOND: f64 = 2.0;
/// An arm keeps up where it answers this share of what it answered of the rate it did best at. The time of
/// a program's start is in all of them alike.
const KEEPS_UP: f64 = 0.8;
/// What the best is at least: of the first rate less may be answered because it is too much already.
const BEST_MIN: f64 = 0.7;
/// Runs whose median is the saturation.
pub const RUNS: usize = 3;
/// Most blocks in which the rate is raised: from [`START`] to a hundred million, and the runs beyond.
pub const RAISED_BLOCKS: u32 = 16;

/// What runs of one arm say so far.
#[derive(Debug, Clone)]
struct Search {
    /// Requests a second in the runs that were saturated.
    found: Vec<f64>,
    most: f64,
    /// The largest share of an offered rate that was answered.
    best: f64,
    next: f64,
}

impl Search {
    fn begun() -> Self {
        Self { found: Vec::new(), most: 0.0, best: BEST_MIN, next: START }
    }

    /// From the arm's screening readings in blocks before `until`, the last attempt of each.
    fn new(plan: &Plan, readings: &[Reading], arm: &str, until: u32) -> Self {
        let row = plan.saturation_row().map_or("", |row| row.id.as_str());
        let is_it = |reading: &&Reading| {
            reading.phase == Phase::Screen && reading.row == row && reading.arm == arm
        };
        let mut runs: BTreeMap<u32, (u32, &Reading)> = BTreeMap::new();
        for reading in readings.iter().filter(is_it).filter(|reading| reading.block < until) {
            let run = runs.entry(reading.block).or_insert((reading.attempt, reading));
            if reading.attempt >= run.0 {
                *run = (reading.attempt, reading);
            }
        }
        let raised = plan.load.as_ref().is_some_and(|load| load.raised);
        let mut search = Self::begun();
        for (_, reading) in runs.into_values() {
            match reading.status {
                Status::SetAside => {}
                Status::Failed => search.failed(),
                Status::Ok if raised => search.raise(reading),
                Status::Ok => search.found.extend(reading.value),
            }
        }
        search
    }

    fn raise(&mut self, reading: &Reading) {
        let Some(latency) = &reading.latency else { return self.failed() };
        let offered = latency.offered_per_s.unwrap_or(self.next);
        let carried = latency.throughput_per_s;
        let share = carried / offered;
        self.most = self.most.max(carried);
        self.best = self.best.max(share.min(1.0));
        let keeps_up = share >= KEEPS_UP * self.best;
        if !keeps_up {
            self.found.push(carried);
        }
        let first = keeps_up && self.found.is_empty();
        self.next = if first { offered * FACTOR } else { self.most * BEYOND };
    }

    /// A load that fails may do so because it is too much.
    fn failed(&mut self) {
        self.next = if self.most > 0.0 { self.most * BEYOND } else { self.next / FACTOR };
    }

    /// The median of the last runs; `None` before there are enough.
    fn saturation(&self) -> Option<f64> {
        let mut last = self.found.get(self.found.len().checked_sub(RUNS)?..)?.to_vec();
        last.sort_unstable_by(f64::total_cmp);
        Some(last[RUNS / 2]).filter(|saturation| *saturation > 0.0)
    }
}

/// Requests a second that each arm carries at most, by its label; an arm of which too few runs say it
/// is left out.
pub fn saturation(plan: &Plan, readings: &[Reading]) -> BTreeMap<String, f64> {
    let of = |label: &String| Search::new(plan, readings, label, u32::MAX).saturation();
    let arms = plan.arms.iter().map(|arm| &arm.label);
    arms.filter_map(|label| Some((label.clone(), of(label)?))).collect()
}

/// The rate to offer an arm in this block of the screening.
pub fn next_rate(plan: &Plan, readings: &[Reading], arm: &str, block: u32) -> f64 {
    rounded(Search::new(plan, readings, arm, block).next.clamp(0.01, 1e8))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(carries: f64, collapses_to: f64, start: f64) -> (Search, usize) {
        let mut search = Search::begun();
        for run in 1..=RAISED_BLOCKS as usize {
            let offered = search.next;
            let carried = match offered {
                offered if offered <= carries => offered,
                offered if offered > 2.0 * carries => collapses_to,
                _ => carries,
            };
            let latency = coretwin_base::study::latency::Latency {
                offered_per_s: Some(offered),
                throughput_per_s: carried * (1.0 - start),
                ..Default::default()
            };
            search.raise(&Reading { latency: Some(latency.into()), ..Reading::default() });
            if search.saturation().is_some() {
                return (search, run);
            }
        }
        (search, usize::MAX)
    }

    #[test]
    fn a_rate_is_raised_until_it_is_too_much() {
        for (carries, runs_max) in [(3.0, 3), (120.0, 4), (5_000.0, 6), (150_000.0, 9)] {
            // A program that takes a fifth of its run to start answers less of every rate.
            for start in [0.0, 0.2] {
                let (search, runs) = search(carries, carries, start);
                assert_eq!(search.saturation(), Some(carries * (1.0 - start)));
                assert!(runs <= runs_max, "{carries}: {runs} runs");
            }
        }
    }

    #[test]
    fn a_server_that_carries_less_when_it_is_flooded_is_approached_from_below() {
        // The second keeps up again after its first flood, which is no reason for another.
        for carries in [2_000.0, 2_600.0] {
            let (search, runs) = search(carries, 1_000.0, 0.0);
            assert!(runs < RAISED_BLOCKS as usize, "{runs}");
            assert_eq!(search.saturation(), Some(carries), "{:?}", search.found);
        }
    }

    #[test]
    fn a_load_that_fails_is_tried_lower() {
        let mut search = Search::begun();
        search.failed();
        assert_eq!(search.next, START / FACTOR);
        search.most = 10.0;
        search.failed();
        assert_eq!(search.next, 20.0);
    }
}
