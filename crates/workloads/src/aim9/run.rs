//! The process in which one copy of a row runs, and its clock; and the worker's side: a folder, a key and a
//! process for every copy; all released together; their rates added up; and nothing left.
//!
//! Calls are whole and time is looked at between them only: after each, where a call is long, and
//! after several, where it is so short that looking would show. Each look gives a sample.

use super::{
    CALLS, Call, FILE_KIB, Group, LIBC, LIST, OWN, Place, Prepared, Row, SECONDS, SORT, SYNC_CALLS,
    SYNC_CALLS_MAX, rows,
};
use crate::observe::CpusSeen;
use crate::role::AIM9;
use crate::scratch::Scratch;
use crate::supervisor::Supervisor;
use crate::workload::{
    Better, CopyRule, Facts, Job, Limit, Need, Outcome, Params, Ran, START_S, Telling, Workload,
    decimal, int, needs, outcome, path, word, wrong,
};
use crate::{Context, Error, copies};
use serde::{Deserialize, Serialize};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Calls are grouped so that a look at the clock comes after this long at least: its cost, some
/// ten nanoseconds, then does not show.
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);
/// Samples that are kept of a copy; of more, neighbours are put together.
const SAMPLES: usize = 64;
/// The mean of synchronous calls is known well enough when its standard error is this share.
const ERROR_SHARE: f64 = 0.02;

/// After this long nothing is repeated for the sake of the mean: a slow disk would never end.
const REPEATING: Duration = Duration::from_secs(120);

struct Limits {
    seconds: f64,
    calls: u64,
    /// Where the mean of the calls has to be known: the most calls.
    calls_max: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Report {
    calls: u64,
    /// From the first call's begin to the last call's end, in seconds.
    elapsed_s: f64,
    /// Calls of each sample, and how long they took together, in seconds.
    samples: Vec<(u64, f64)>,
    told: Outcome,
}

pub(crate) fn main(entered: Result<(), Error>, args: &[String]) -> ExitCode {
    let measure = |mut call: Box<dyn Call>, params: &Params| {
        let calls_max = params.contains_key(SYNC_CALLS_MAX.name);
        let limits = Limits {
            seconds: decimal(params, SECONDS.name),
            calls: int(params, CALLS.name).into(),
            calls_max: calls_max.then(|| int(params, SYNC_CALLS_MAX.name).into()),
        };
        take_samples(call.as_mut(), &limits).map(|report| (report, call))
    };
    let go_on = |mut call: Box<dyn Call>, _| while call.call().is_ok() {};
    copies::main(entered, args, "a row of AIM9", set_up, measure, go_on)
}

fn set_up(name: &str, place: &Place) -> Prepared {
    if let Ok(folder) = place.folder() {
        std::env::set_current_dir(folder)
            .with_context(|| format!("cannot work in {}", folder.display()))?;
    }
    let row = rows::all()
        .find(|row| row.name == name)
        .ok_or_else(|| Error::failed(format!("AIM9 has no row {name}")))?;
    (row.prepare)(place)
}

fn take_samples(call: &mut dyn Call, limits: &Limits) -> Result<Report, Error> {
    let seen = CpusSeen::new();
    let (mut calls, mut together, mut samples) = (0, 1, Vec::new());
    let start = Instant::now();
    let mut looked = start;
    loop {
        for _ in 0..together {
            call.call()?;
        }
        let now = Instant::now();
        calls += together;
        samples.push((together, (now - looked).as_secs_f64()));
        seen.note();
        if is_enough(calls, now - start, &samples, limits) {
            looked = now;
            break;
        }
        if now - looked < BETWEEN_LOOKS {
            together *= 2;
        }
        if calls < limits.calls {
            together = together.min(limits.calls - calls);
        }
        looked = now;
    }
    let mut told = outcome(0.0, "", Better::Lower);
    told.cpus_ran = seen.cpus();
    call.remark(calls, &mut told);
    Ok(Report {
        calls,
        elapsed_s: (looked - start).as_secs_f64(),
        samples: put_together(samples),
        told,
    })
}

fn is_enough(calls: u64, elapsed: Duration, samples: &[(u64, f64)], limits: &Limits) -> bool {
    let mean_is_known = |most| {
        calls >= most
            || elapsed >= REPEATING
            || error_share(samples).is_some_and(|share| share <= ERROR_SHARE)
    };
    calls >= limits.calls
        && elapsed.as_secs_f64() >= limits.seconds
        && limits.calls_max.is_none_or(mean_is_known)
}

/// The standard error of the mean time of a call, as a share of it; `None`: fewer than 3 samples.
fn error_share(samples: &[(u64, f64)]) -> Option<f64> {
    let count = samples.len() as f64;
    let times = || samples.iter().map(|(calls, seconds)| seconds / *calls as f64);
    let mean = times().sum::<f64>() / count;
    let squares: f64 = times().map(|time| (time - mean) * (time - mean)).sum();
    (samples.len() >= 3 && mean > 0.0).then(|| (squares / (count - 1.0) / count).sqrt() / mean)
}

/// At most [`SAMPLES`], as if the clock had been looked at less often.
fn put_together(samples: Vec<(u64, f64)>) -> Vec<(u64, f64)> {
    let each = samples.len().div_ceil(SAMPLES).max(1);
    let sum = |some: &[(u64, f64)]| {
        some.iter().fold((0, 0.0), |sum, sample| (sum.0 + sample.0, sum.1 + sample.1))
    };
    samples.chunks(each).map(sum).collect()
}

const SOURCE: &str = "AIM Independent Resource Benchmark, Suite IX 1.1";
const PRINTED_SOURCE: &str = "AIM Independent Resource Benchmark, Suite IX 1.1; Hyper-Threading \
                              speeds Linux, Table 2";

impl Workload for Row {
    fn facts(&self) -> Facts {
        let printed = rows::TABLE_2.iter().any(|row| row.name == self.name);
        Facts {
            name: self.name,
            family: "aim9",
            about: self.about,
            source: if printed { PRINTED_SOURCE } else { SOURCE },
            unit: self.unit,
            params: self.group.params(),
            roles: &["copy"],
            is_slow: self.group == Group::SyncDisk,
            analysis: self.group.analysis(),
            ..Facts::USUAL
        }
    }

    fn tasks(&self, _params: &Params) -> u32 {
        1
    }

    fn needs(&self, _params: &Params) -> Vec<Need> {
        // The copy, its janitor, and of the shell rows a child, two shells and `ls`.
        let tasks = if self.group == Group::Programs { 6 } else { 3 };
        let others: &[(Limit, u64)] = match self.group {
            Group::SharedMemory => &[(Limit::SemaphoreSets, 1), (Limit::SemaphoresTotal, 1)],
            Group::Messages => &[(Limit::EphemeralPorts, 4)],
            _ => &[],
        };
        needs(tasks, others.iter().copied())
    }

    fn copies(&self, params: &Params) -> CopyRule {
        copies::rule(params)
    }

    fn takes_s(&self, params: &Params) -> f64 {
        // A synchronous write of 1 KiB takes about a millisecond; a call makes one for each.
        let calls =
            if self.group == Group::SyncDisk { f64::from(int(params, CALLS.name)) } else { 0.0 };
        let written_s = calls * self.credit(params) as f64 * 1e-3;
        START_S + decimal(params, SECONDS.name).max(written_s)
    }

    fn check(&self, params: &Params) -> Result<(), Error> {
        copies::check(self.name, params)?;
        path(self.name, params, LIST.name, OWN)?;
        if self.group == Group::Sort {
            word(self.name, params, SORT.name, &[OWN, LIBC])?;
        }
        if self.group == Group::SyncDisk
            && int(params, SYNC_CALLS_MAX.name) < int(params, SYNC_CALLS.name)
        {
            let why = "it is at least the number of calls";
            return Err(wrong(self.name, params, SYNC_CALLS_MAX.name, why));
        }
        Ok(())
    }

    fn run(&self, params: &Params, job: &Job, supervisor: &mut Supervisor) -> Ran {
        // The input, and a file that grows beside it.
        let kib = 2 * u64::from(int(params, FILE_KIB.name));
        let row = (AIM9, self.name, kib, self.group == Group::SharedMemory);
        copies::run(row, job, params, supervisor, |ran: &[Report], scratch| {
            let mut measured = measure(self, params, ran);
            if let Some(text) = scratch.and_then(|scratch| warning(self, scratch)) {
                measured.note("warning", text);
            }
            Ok(measured)
        })
    }
}

fn warning(row: &Row, scratch: &Scratch) -> Option<String> {
    let what = match row.group {
        Group::SyncDisk => "no write is synchronous there, so this equals the row without sync",
        Group::Disk => "no disk is behind it",
        _ => return None,
    };
    scratch
        .is_in_memory()
        .then(|| format!("the files are in memory: {what}; name a folder on a disk with dir="))
}

fn measure(row: &Row, params: &Params, reports: &[Report]) -> Outcome {
    let credit = row.credit(params) as f64;
    let rates: Vec<f64> =
        reports.iter().map(|report| report.calls as f64 * credit / report.elapsed_s).collect();
    let calls = reports.iter().map(|report| report.calls).sum::<u64>();
    let samples = || reports.iter().flat_map(|report| &report.samples);
    let times = || samples().map(|(calls, seconds)| seconds / *calls as f64);
    let mut measured = Outcome {
        samples: samples().map(|(calls, seconds)| *calls as f64 * credit / seconds).collect(),
        operations: calls * row.credit(params) * row.operations_per_unit(),
        elapsed_s: reports.iter().map(|report| report.elapsed_s).fold(0.0, f64::max),
        threads: u32::try_from(reports.len()).unwrap_or(u32::MAX),
        ..row.facts().outcome(rates.iter().sum())
    };
    for report in reports.iter().rev() {
        measured.metrics.extend(report.told.metrics.clone());
    }
    measured.higher("calls", calls as f64, "calls");
    measured.lower("call_min_s", times().fold(f64::INFINITY, f64::min), "s");
    measured.lower("call_max_s", times().fold(0.0, f64::max), "s");
    if reports.len() > 1 {
        let slowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
        measured.higher("copy_min", slowest, row.unit);
        measured.higher("copy_max", rates.iter().copied().fold(0.0, f64::max), row.unit);
    }
    let shares = reports.iter().filter_map(|report| error_share(&report.samples));
    if let Some(share) = shares.reduce(f64::max) {
        measured.lower("call_standard_error", 100.0 * share, "%");
    }
    reports.iter().for_each(|report| copies::add(&report.told, &mut measured));
    measured
}

#[cfg(test)]
mod tests {
    use super::*;
    /// Counts its calls, and fails at one of them.
    struct Counted(u64, u64);

    impl Call for Counted {
        fn call(&mut self) -> Result<(), Error> {
            self.0 += 1;
            if self.0 == self.1 { Err(Error::failed("as told")) } else { Ok(()) }
        }

        fn remark(&mut self, _: u64, _: &mut Outcome) {}
    }

    fn limits(seconds: f64, calls: u64, calls_max: Option<u64>) -> Limits {
        Limits { seconds, calls, calls_max }
    }

    #[test]
    fn without_a_time_so_many_calls_are_made() {
        for calls in [1, 2, 3, 7, 1000] {
            let mut call = Counted(0, 0);
            let report = take_samples(&mut call, &limits(0.0, calls, None)).expect("measured");
            assert_eq!((report.calls, call.0), (calls, calls));
            assert_eq!(report.samples.iter().map(|sample| sample.0).sum::<u64>(), calls);
            let sum: f64 = report.samples.iter().map(|sample| sample.1).sum();
            assert!((sum - report.elapsed_s).abs() < 1e-6, "the samples are all of the time");
            assert!(report.samples.len() <= SAMPLES);
        }
    }

    #[test]
    fn time_goes_on_in_whole_calls() {
        let mut call = Counted(0, 0);
        let report = take_samples(&mut call, &limits(0.05, 3, None)).expect("measured");
        assert!(report.elapsed_s >= 0.05 && report.calls == call.0 && report.calls > 1000);
        let failed = take_samples(&mut Counted(0, 5), &limits(0.0, 9, None)).expect_err("failed");
        assert_eq!(failed.to_string(), "as told");
    }

    #[test]
    fn calls_are_repeated_until_their_mean_is_known() {
        let even = [(1, 1.0), (1, 1.01), (1, 0.99), (1, 1.0)];
        let uneven = [(1, 1.0), (1, 2.0), (1, 0.5), (1, 1.5)];
        let limits = limits(1.0, 3, Some(6));
        let [early, late, very_late] = [0.9, 1.0, 120.0].map(Duration::from_secs_f64);
        assert!(!is_enough(2, late, &even[..2], &limits), "fewer than the fewest");
        assert!(is_enough(4, late, &even, &limits));
        assert!(!is_enough(4, late, &uneven, &limits));
        assert!(is_enough(6, late, &uneven, &limits), "the most");
        assert!(is_enough(4, very_late, &uneven, &limits), "the longest");
        assert!(!is_enough(4, early, &even, &limits));
        // Mean 1.25, standard deviation 0.6455: 0.6455 / 2 / 1.25.
        assert!((error_share(&uneven).expect("share") - 0.2582).abs() < 1e-4);
    }
}
