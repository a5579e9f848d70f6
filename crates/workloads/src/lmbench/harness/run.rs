//! The process in which one copy of a row runs: sets it up, waits for its release, takes samples, and reports;
//! and the worker's side: a folder and a process for every copy; all released together; the median of all
//! their samples; and nothing left.

use super::sampler::{Overheads, Sample, Sampler};
use super::{Bench, Place, Row, SAMPLE, SAMPLES};
use crate::lmbench::rows;
use crate::observe::CpusSeen;
use crate::role::LMBENCH;
use crate::supervisor::Supervisor;
use crate::workload::{
    Better, CopyRule, Facts, Job, Limit, Need, Outcome, Params, Ran, Telling, Workload, decimal,
    int, needs, outcome,
};
use crate::{Error, copies};
use serde::{Deserialize, Serialize};
use std::process::ExitCode;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Report {
    samples: Vec<Sample>,
    /// Operations, those of finding the pace included.
    all: u64,
    /// The same of what is taken off.
    minus_all: Option<u64>,
    overheads: Overheads,
    amount: f64,
    told: Outcome,
}

fn rows() -> impl Iterator<Item = &'static Row> {
    rows::TABLE_1.iter().chain(rows::MORE.iter().flat_map(|group| group.rows))
}

pub(crate) fn main(entered: Result<(), Error>, args: &[String]) -> ExitCode {
    // The pace is found after the release.
    let measure = |bench: Bench, params: &Params| {
        let mut sampler = Sampler::new(bench, decimal(params, SAMPLE.name))?;
        let report = take_samples(&mut sampler, int(params, SAMPLES.name) as usize)?;
        Ok((report, sampler))
    };
    let go_on = |mut sampler: Sampler, report: Report| {
        while sampler.sample(report.overheads).is_ok() {}
    };
    copies::main(entered, args, "a row of LMbench", set_up, measure, go_on)
}

fn set_up(name: &str, place: &Place) -> Result<Bench, Error> {
    let row = rows()
        .find(|row| row.name == name)
        .ok_or_else(|| Error::failed(format!("there is no row {name}")))?;
    (row.prepare)(place)
}

fn take_samples(sampler: &mut Sampler, count: usize) -> Result<Report, Error> {
    let seen = CpusSeen::new();
    let overheads = Overheads::measure()?;
    let mut samples = Vec::with_capacity(count);
    for _ in 0..count {
        samples.push(sampler.sample(overheads)?);
        seen.note();
    }
    let mut told = outcome(0.0, "", Better::Lower);
    told.cpus_ran = seen.cpus();
    sampler.body.body.remark(&mut told);
    if let Some(minus) = &mut sampler.minus {
        minus.body.remark(&mut told);
    }
    sampler.notes.iter().for_each(|(name, text)| told.note(name, text));
    Ok(Report {
        samples,
        all: sampler.body.all,
        minus_all: sampler.minus.as_ref().map(|minus| minus.all),
        overheads,
        amount: sampler.amount,
        told,
    })
}

impl Workload for Row {
    fn facts(&self) -> Facts {
        Facts {
            name: self.name,
            family: self.family,
            about: self.about,
            source: self.source,
            unit: self.measure.unit,
            better: self.measure.better,
            scale: self.scale,
            params: self.params,
            roles: self.roles,
            placements: self.placements,
            is_slow: false,
            analysis: self.analysis,
        }
    }

    fn tasks(&self, params: &Params) -> u32 {
        (self.tasks)(params)
    }

    fn needs(&self, params: &Params) -> Vec<Need> {
        // And the janitor.
        let tasks = (self.processes)(params) + 1;
        let memory_kib = (self.memory_kib)(params);
        needs(tasks, (memory_kib > 0).then_some((Limit::MemoryKib, memory_kib)))
    }

    fn copies(&self, params: &Params) -> CopyRule {
        copies::rule(params)
    }

    fn check(&self, params: &Params) -> Result<(), Error> {
        copies::check(self.name, params)?;
        (self.check)(self, params)
    }

    fn run(&self, params: &Params, job: &Job, supervisor: &mut Supervisor) -> Ran {
        let row = (LMBENCH, self.name, (self.folder_kib)(params), false);
        copies::run(row, job, params, supervisor, |ran: &[Report], _| {
            measure(self, (self.tasks)(params), ran)
        })
    }
}

fn measure(row: &Row, tasks: u32, reports: &[Report]) -> Ran {
    let of_all = |part: &dyn Fn(&Report, &Sample) -> Option<f64>| -> Vec<f64> {
        let of = |report: &Report| -> Vec<f64> {
            report.samples.iter().filter_map(|sample| part(report, sample)).collect()
        };
        reports.iter().flat_map(of).collect()
    };
    let value = |report: &Report, sample: &Sample| {
        Some((row.measure.value)(sample.operation_s(), report.amount))
    };
    let samples = of_all(&value);
    let median = Median::of(&samples).ok_or_else(|| Error::failed("the row took no sample"))?;
    let elapsed = |report: &Report| report.samples.iter().map(|s| s.elapsed_s).sum::<f64>();
    let mut measured = Outcome {
        operations: reports.iter().flat_map(|r| &r.samples).map(|sample| sample.operations).sum(),
        elapsed_s: reports.iter().map(elapsed).fold(0.0, f64::max),
        threads: tasks * reports.len() as u32,
        ..row.facts().outcome(median.value)
    };
    for (name, value) in [
        ("median_low", median.low),
        ("median_high", median.high),
        ("sample_min", samples.iter().copied().fold(f64::INFINITY, f64::min)),
        ("sample_max", samples.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
    ] {
        measured.metric(name, value, row.measure.unit, row.measure.better);
    }
    measured.higher("median_confidence", 100.0 * median.confidence, "%");
    let length = Median::of(&of_all(&|_, sample| Some(sample.elapsed_s)));
    measured.higher("sample_s", length.map_or(0.0, |median| median.value), "s");
    let all: u64 = reports.iter().map(|report| report.all).sum();
    measured.higher("operations_with_warm_up", all as f64, "operations");
    let largest = |part: fn(&Report) -> f64| reports.iter().map(part).fold(0.0, f64::max);
    measured.lower("clock_overhead_ns", largest(|r| r.overheads.clock_s * 1e9), "ns");
    measured.lower("loop_overhead_ns", largest(|r| r.overheads.turn_s * 1e9), "ns");
    let whole = of_all(&|report, sample| Some(sample.whole_s * 1e6 / report.amount));
    let minus = of_all(&|report, sample| Some(sample.minus_s? * 1e6 / report.amount));
    if let (Some(whole), Some(minus)) = (Median::of(&whole), Median::of(&minus)) {
        measured.lower("whole_us", whole.value, "µs");
        measured.lower("subtracted_us", minus.value, "µs");
        let all: u64 = reports.iter().filter_map(|report| report.minus_all).sum();
        measured.higher("subtracted_operations_with_warm_up", all as f64, "operations");
    }
    for (name, metric) in reports.iter().flat_map(|report| &report.told.metrics) {
        let largest = measured.metrics.entry(name.clone()).or_insert(metric.clone());
        largest.value = largest.value.max(metric.value);
    }
    measured.samples = samples;
    reports.iter().for_each(|report| copies::add(&report.told, &mut measured));
    Ok(measured)
}

/// The share of intervals that shall hold the median.
const CONFIDENCE: f64 = 0.95;

/// The median of samples of one run, and between which samples it lies, whatever their distribution:
/// that the median lies below the k-th of n samples has the probability that a coin thrown n times
/// shows heads fewer than k times (David and Nagaraja, Order Statistics, 7.1).
#[derive(Debug, Clone, Copy, PartialEq)]
struct Median {
    value: f64,
    low: f64,
    high: f64,
    /// Share of such intervals that hold the median: 0.95 or more, less of fewer than six samples.
    confidence: f64,
}

impl Median {
    fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (first, last) = (sorted.len().checked_sub(1)? / 2, sorted.len() / 2);
        let value = f64::midpoint(sorted[first], sorted[last]);
        let (outside, confidence) = trimmed(sorted.len());
        let high = sorted[sorted.len() - 1 - outside];
        Some(Self { value, low: sorted[outside], high, confidence })
    }
}

/// How many samples on either side the interval leaves out, and its confidence.
fn trimmed(count: usize) -> (usize, f64) {
    // Probability that so many of the samples are below the median, and of at most so many.
    let mut exactly = 0.5_f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
    let mut at_most = exactly;
    let mut outside = 0;
    let mut confidence = 1.0 - 2.0 * at_most;
    while 2 * (outside + 1) < count {
        exactly *= (count - outside) as f64 / (outside + 1) as f64;
        at_most += exactly;
        if 1.0 - 2.0 * at_most < CONFIDENCE {
            break;
        }
        outside += 1;
        confidence = 1.0 - 2.0 * at_most;
    }
    (outside, confidence.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_median_lies_between_two_samples() {
        let samples: Vec<f64> = (1..=11).rev().map(f64::from).collect();
        let median = Median::of(&samples).expect("median");
        assert_eq!((median.value, median.low, median.high), (6.0, 2.0, 10.0));
        // 1 - 2 (1 + 11) / 2^11.
        assert!((median.confidence - 0.988_281_25).abs() < 1e-12, "{median:?}");
        let even = Median::of(&[4.0, 1.0, 3.0, 2.0]).expect("median");
        assert_eq!((even.value, even.low, even.high, even.confidence), (2.5, 1.0, 4.0, 0.875));
        let one = Median::of(&[7.0]).expect("median");
        assert_eq!((one.value, one.low, one.high, one.confidence), (7.0, 7.0, 7.0, 0.0));
        assert_eq!(Median::of(&[]), None);
    }

    #[test]
    fn intervals_are_those_of_the_tables() {
        // Number of samples left out on either side at 95 %, of 6, 9, 12, 20, 25, 100 samples.
        for (count, outside) in [(6, 0), (8, 0), (9, 1), (12, 2), (20, 5), (25, 7), (100, 39)] {
            assert_eq!(trimmed(count).0, outside, "{count}");
        }
        // Of so many samples that a single outcome's probability is next to nothing.
        let (outside, confidence) = trimmed(1001);
        assert!((468..=470).contains(&outside) && confidence >= 0.95, "{outside} {confidence}");
    }
}
