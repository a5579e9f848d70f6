//! What the scheduler has done so far.

use super::counters::{Counter, Kind};
use serde::{Serialize, Serializer};

/// Counters and queues at one moment. As JSON: `{counters: {name: value}, cores: […]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Statistics {
    #[serde(rename = "counters", serialize_with = "by_name")]
    values: Vec<(&'static Counter, u64)>,
    /// By our dense number.
    pub cores: Vec<CoreNow>,
}

/// What is the matter on a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CoreNow {
    /// Its CPUs that are online.
    pub online: u32,
    /// Its CPUs that run a task.
    pub running: u32,
    /// Tasks that wait there.
    pub queued: u32,
}

impl Statistics {
    /// Adds up what each CPU counted.
    #[cfg(any(feature = "bpf", test))]
    pub(super) fn of_cpus(
        counters: &'static [Counter],
        cpus: &[Vec<u64>],
        cores: Vec<CoreNow>,
    ) -> Self {
        let of_counter = |(index, counter): (usize, &'static Counter)| {
            let values = cpus.iter().filter_map(|values| values.get(index).copied());
            let value = match counter.kind {
                Kind::Sum => values.fold(0, u64::wrapping_add),
                Kind::Largest => values.max().unwrap_or(0),
            };
            (counter, value)
        };
        Self { values: counters.iter().enumerate().map(of_counter).collect(), cores }
    }

    /// Every counter with its value.
    pub fn counters(&self) -> impl Iterator<Item = (&'static Counter, u64)> {
        self.values.iter().copied()
    }

    /// The value of a counter; `None` if nothing of that name is counted.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.counters().find(|(counter, _)| counter.name == name).map(|(_, value)| value)
    }

    /// What was counted since `earlier`; largest values and cores stay as they are now.
    pub fn since(&self, earlier: &Self) -> Self {
        let pairs = self.counters().zip(&earlier.values);
        let values = pairs.map(|((counter, now), (_, then))| match counter.kind {
            Kind::Sum => (counter, now.saturating_sub(*then)),
            Kind::Largest => (counter, now),
        });
        Self { values: values.collect(), cores: self.cores.clone() }
    }
}

fn by_name<S: Serializer>(
    values: &[(&'static Counter, u64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(values.iter().map(|(counter, value)| (counter.name, value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::PROGRAMS;

    const COUNTERS: &[Counter] = PROGRAMS[0].counters;

    #[test]
    fn sums_are_added_over_cpus_and_largest_values_are_not() {
        let of = |first: u64| (0..COUNTERS.len() as u64).map(|index| first + index).collect();
        let statistics = Statistics::of_cpus(COUNTERS, &[of(0), of(1000)], Vec::new());
        assert_eq!(statistics.get("woke_last_idle"), Some(1000));
        assert_eq!(statistics.get("woke_sibling"), Some(1002));
        let longest = COUNTERS.iter().position(|counter| counter.name == "queue_longest");
        assert_eq!(statistics.get("queue_longest"), longest.map(|index| 1000 + index as u64));
        assert_eq!(statistics.get("woke"), None);
        let later =
            Statistics::of_cpus(COUNTERS, &[of(5), of(1000)], Vec::new()).since(&statistics);
        assert_eq!(later.get("picked"), Some(5));
        assert_eq!(later.get("queue_longest"), statistics.get("queue_longest"));
    }
}
