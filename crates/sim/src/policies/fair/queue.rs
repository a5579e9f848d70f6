//! The run queue of a CPU: which tasks are eligible, and which has the earliest deadline (EEVDF).

use super::load::{Decay, QueueLoad};
use crate::kernel::TaskId;
use crate::policies::weight::WEIGHT;
use std::collections::BTreeSet;

/// Where a task waits: rank of its class (better first), deadline, order of arrival.
pub(super) type Place = (u8, i64, u64, TaskId);

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entity {
    /// Virtual time: CPU time divided by weight.
    pub(super) virtual_ns: i64,
    /// Virtual deadline of its slice.
    pub(super) deadline_ns: i64,
    /// Virtual time up to which a task that runs and is eligible keeps its CPU.
    pub(super) protected_ns: i64,
    pub(super) weight: u64,
    pub(super) counted_ns: u64,
    /// Lag when it left its queue.
    pub(super) lag_ns: i64,
}

impl Entity {
    pub(super) fn scaled(&self, ns: u64) -> i64 {
        let scaled = u128::from(ns) * u128::from(WEIGHT) / u128::from(self.weight);
        i64::try_from(scaled).unwrap_or(i64::MAX)
    }
}

/// A queue. The task that runs is not in it, but counts in its average.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Tasks that wait, best first.
    pub(super) waiting: BTreeSet<Place>,
    /// Tasks that sleep and leave only when they are eligible (DELAY_DEQUEUE), best first.
    pub(super) delayed: BTreeSet<Place>,
    /// Sum of weights of all that wait or run, or whose leaving is delayed.
    weights: i128,
    /// Sum of weight times virtual time of the same.
    moments: i128,
    /// The average before it became empty.
    last_average: i64,
    pub(super) load: QueueLoad,
}

impl Queue {
    pub(super) fn tasks(&self) -> impl Iterator<Item = (u8, TaskId)> + '_ {
        self.waiting.iter().map(|(rank, _, _, task)| (*rank, *task))
    }

    /// Counts a task in the average, or no longer.
    pub(super) fn count(&mut self, entity: &Entity, joins: bool) {
        if !joins {
            self.last_average = self.average();
        }
        let sign = if joins { 1 } else { -1 };
        let weight = sign * i128::from(entity.weight);
        self.weights += weight;
        self.moments += weight * i128::from(entity.virtual_ns);
    }

    /// Brings its load up to date.
    pub(super) fn update_load(&mut self, decay: &Decay, now_ns: u64) {
        self.load.update(decay, now_ns, u64::try_from(self.weights).unwrap_or(0));
    }

    /// A task that counts has run on.
    pub(super) fn advance(&mut self, entity: &Entity, ran_ns: i64) {
        self.moments += i128::from(entity.weight) * i128::from(ran_ns);
    }

    /// The weighted average virtual time: lag 0.
    pub(super) fn average(&self) -> i64 {
        if self.weights == 0 {
            return self.last_average;
        }
        i64::try_from(self.moments.div_euclid(self.weights)).unwrap_or(i64::MAX)
    }

    /// Places a task that comes with a lag: so that, once it counts, it is as far behind the new
    /// average as it was behind its old one.
    pub(super) fn place(&self, entity: &mut Entity) {
        let mut lag = i128::from(entity.lag_ns);
        if self.weights > 0 {
            lag = lag * (self.weights + i128::from(entity.weight)) / self.weights;
        }
        let lag = i64::try_from(lag).unwrap_or(0);
        entity.virtual_ns = self.average().saturating_sub(lag);
    }
}
