//! What a run of a service under load shows: how many requests were due, how many were answered, and how
//! long the answers took, counted from when each request was *due*, not from when it was sent.

use crate::account::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fewest samples that must lie beyond a percentile in a run.
pub const BEYOND_MIN: u64 = 100;

/// The percentiles of a record, as shares of the samples below each, with their names.
pub const QUANTILES: [(&str, f64); 4] =
    [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];

/// A generator is late where 1 % of its requests left later than this after they were due, in seconds.
/// Fixed beforehand and the same for every service: a rule by the latencies would choose among them.
pub const LATE_S: f64 = 200e-6;

/// Requests that were due in the measured part of a run, and what became of them. Latencies are in
/// seconds from when each request was due. A percentile is there only where 100 samples lie beyond
/// it.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Rate at which requests were due, per second; `None` in a closed loop, where an answer makes the
    /// next request due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_per_s: Option<f64>,
    /// Requests that were due in the measured part.
    pub sent: u64,
    /// Of these, answered by the end of the run.
    pub completed: u64,
    /// Of these, answered with an error. The rest was not answered; it counts among the latencies
    /// with the age it had at the end, a lower bound.
    pub failed: u64,
    /// Length of the measured part.
    pub duration_s: f64,
    /// Good answers that came within the measured part, per second.
    pub throughput_per_s: f64,
    /// `None` where nothing was due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_s: Option<f64>,
    /// A percentile is `None` where fewer than [`BEYOND_MIN`] samples lie beyond it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_s: Option<f64>,
    /// Largest relative error of a percentile, by the width of the histogram's bins; 0: exact.
    #[serde(default)]
    pub relative_error: f64,
    /// CPU time of the server in the measured part; `None` where it is not ours to ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_s: Option<f64>,
    /// `None` where it was not looked who ran beside whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityUse>,
    /// `None` where a program of the user sent the requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<Generator>,
}

/// What CPU time was worth on the cores of the arm, as `account` says.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityUse {
    /// Cores of the arm's CPUs, with all their siblings.
    pub cores: u32,
    /// Seconds of a whole core's capacity that a CPU second took: 1 without siblings, half beside a busy
    /// one. The range is that of the looks and of the yield.
    pub per_cpu_s: Span,
}

/// How well the generator kept its own schedule.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generator {
    /// How much later than due a request was written, at the 99th percentile. A socket that takes no
    /// more is the server's delay, and not in it.
    pub late_p99_s: f64,
    pub late_max_s: f64,
    /// Whether it had a CPU on which the server did not run.
    pub own_cpu: bool,
}

impl Latency {
    /// Percentile by its name in [`QUANTILES`].
    pub fn percentile_s(&self, name: &str) -> Option<f64> {
        match name {
            "p50" => self.p50_s,
            "p95" => self.p95_s,
            "p99" => self.p99_s,
            "p99.9" => self.p999_s,
            _ => None,
        }
    }

    /// Requests that were never answered.
    pub fn unanswered(&self) -> u64 {
        self.sent.saturating_sub(self.completed + self.failed)
    }
}

impl Generator {
    /// Late by the rule of [`LATE_S`].
    pub fn is_late(&self) -> bool {
        self.late_p99_s > LATE_S
    }

    /// Whether the run is set aside: late, with a CPU of its own. Without one its lateness is shown.
    pub fn spoils(&self) -> bool {
        self.own_cpu && self.is_late()
    }
}

/// Whether enough of so many samples lie beyond a quantile, 0 to 1.
pub fn is_known(quantile: f64, samples: u64) -> bool {
    // 1 - 0.99 is a little more or less than a hundredth.
    (1.0 - quantile) * samples as f64 + 1e-6 >= BEYOND_MIN as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_a_hundred_samples_beyond_it() {
        for (quantile, least) in [(0.5, 200), (0.95, 2_000), (0.99, 10_000), (0.999, 100_000)] {
            assert!(is_known(quantile, least) && !is_known(quantile, least - 1), "{quantile}");
        }
    }

    #[test]
    fn a_late_generator_spoils_a_run_where_it_had_a_cpu_alone() {
        let mut generator = Generator { late_p99_s: LATE_S, late_max_s: 1.0, own_cpu: true };
        assert!(!generator.is_late() && !generator.spoils());
        generator.late_p99_s *= 1.01;
        assert!(generator.is_late() && generator.spoils());
        generator.own_cpu = false;
        assert!(generator.is_late() && !generator.spoils());
    }
}
