//! The process in which one copy of a row runs, and its clock.
//!
//! Calls are whole and time is looked at between them only: after each, where a call is long, and
//! after several, where it is so short that looking would show. Each look gives a sample.

use super::{CALLS, Call, Place, SECONDS, SYNC_CALLS_MAX, rows};
use crate::copies::{self, Remarks};
use crate::observe::CpusSeen;
use crate::workload::{decimal, int};
use crate::{Context, Error};
use coretwin_base::parameters::Params;
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
pub(super) struct Report {
    pub(super) calls: u64,
    /// From the first call's begin to the last call's end, in seconds.
    pub(super) elapsed_s: f64,
    /// Calls of each sample, and how long they took together, in seconds.
    pub(super) samples: Vec<(u64, f64)>,
    pub(super) remarks: Remarks,
}

pub(crate) fn main(entered: Result<(), Error>, args: &[String]) -> ExitCode {
    let measure = |mut call: Box<dyn Call>, params: &Params| {
        let calls_max = params.contains_key(SYNC_CALLS_MAX.name);
        let limits = Limits {
            seconds: decimal(params, SECONDS.name),
            calls: int(params, CALLS.name).into(),
            calls_max: calls_max.then(|| int(params, SYNC_CALLS_MAX.name).into()),
        };
        measure(call.as_mut(), &limits).map(|report| (report, call))
    };
    let go_on = |mut call: Box<dyn Call>, _| while call.call().is_ok() {};
    copies::main(entered, args, "a row of AIM9", set_up, measure, go_on)
}

fn set_up(name: &str, place: &Place) -> Result<Box<dyn Call>, Error> {
    if let Ok(folder) = place.folder() {
        std::env::set_current_dir(folder)
            .with_context(|| format!("cannot work in {}", folder.display()))?;
    }
    let row = rows::all()
        .find(|row| row.name == name)
        .ok_or_else(|| Error::failed(format!("AIM9 has no row {name}")))?;
    (row.prepare)(place)
}

fn measure(call: &mut dyn Call, limits: &Limits) -> Result<Report, Error> {
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
    let mut remarks = Remarks::on(seen.cpus());
    call.remark(&mut remarks);
    Ok(Report {
        calls,
        elapsed_s: (looked - start).as_secs_f64(),
        samples: put_together(samples),
        remarks,
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
pub(super) fn error_share(samples: &[(u64, f64)]) -> Option<f64> {
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
    }

    fn limits(seconds: f64, calls: u64, calls_max: Option<u64>) -> Limits {
        Limits { seconds, calls, calls_max }
    }

    #[test]
    fn without_a_time_so_many_calls_are_made() {
        for calls in [1, 2, 3, 7, 1000] {
            let mut call = Counted(0, 0);
            let report = measure(&mut call, &limits(0.0, calls, None)).expect("measured");
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
        let report = measure(&mut call, &limits(0.05, 3, None)).expect("measured");
        assert!(report.elapsed_s >= 0.05 && report.calls == call.0 && report.calls > 1000);
        let failed = measure(&mut Counted(0, 5), &limits(0.0, 9, None)).expect_err("failed");
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
