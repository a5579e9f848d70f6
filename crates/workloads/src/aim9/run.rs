//! The worker's side of AIM9: a folder, a key and a process for every copy; all released together;
//! their rates added up; and nothing left.

use super::copy::{Report, error_share};
use super::{
    CALLS, FILE_KIB, Group, LIBC, LIST, OWN, Row, SECONDS, SORT, SYNC_CALLS, SYNC_CALLS_MAX, rows,
};
use crate::role::AIM9;
use crate::scratch::Scratch;
use crate::semaphores::{Claim, KEYS_MAX};
use crate::supervisor::Supervisor;
use crate::workload::{
    Facts, Measured, Ran, START_S, Workload, decimal, int, metric, needs, path, word, wrong,
};
use crate::{Error, copies, leftovers};
use coretwin_base::machine::limits::{Limit, Need};
use coretwin_base::parameters::Params;
use coretwin_base::study::job::Job;
use coretwin_base::study::plan::CopyRule;
use coretwin_base::study::reading::{Better, Metric};
use std::collections::BTreeMap;

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
        let scratch = copies::scratch(params, kib, job, supervisor)?;
        let claim = claim_for(self, job.copies.max(1), supervisor)?;
        let own = (scratch.as_ref(), claim.as_ref());
        let ran: Vec<Report> = copies::run((AIM9, self.name), job, params, own, supervisor)?;
        drop(claim);
        let mut measured = measure(self, params, &ran);
        if let Some(scratch) = scratch {
            let warning = warning(self, &scratch).map(|text| ("warning".to_owned(), text));
            measured.notes.extend(warning);
            scratch.end(&mut measured)?;
        }
        Ok(measured)
    }
}

fn claim_for(row: &Row, copies: u32, supervisor: &mut Supervisor) -> Result<Option<Claim>, Error> {
    if row.group != Group::SharedMemory {
        return Ok(None);
    }
    if copies > KEYS_MAX {
        return Err(Error::failed(format!("{} runs in at most {KEYS_MAX} copies", row.name)));
    }
    leftovers::start_janitor(supervisor)?;
    Claim::new(copies).map(Some)
}

/// What a reader must know of the folder, of rows for which it matters.
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

fn measure(row: &Row, params: &Params, reports: &[Report]) -> Measured {
    let credit = row.credit(params) as f64;
    let rates: Vec<f64> =
        reports.iter().map(|report| report.calls as f64 * credit / report.elapsed_s).collect();
    let calls = reports.iter().map(|report| report.calls).sum::<u64>();
    let samples = || reports.iter().flat_map(|report| &report.samples);
    let mut measured = Measured {
        metrics: metrics(row, reports, &rates),
        samples: samples().map(|(calls, seconds)| *calls as f64 * credit / seconds).collect(),
        operations: calls * row.credit(params) * row.operations_per_unit(),
        elapsed_s: reports.iter().map(|report| report.elapsed_s).fold(0.0, f64::max),
        threads: u32::try_from(reports.len()).unwrap_or(u32::MAX),
        ..Measured::of(&row.facts(), rates.iter().sum())
    };
    reports.iter().for_each(|report| report.remarks.add_to(&mut measured));
    measured
}

fn metrics(row: &Row, reports: &[Report], rates: &[f64]) -> BTreeMap<String, Metric> {
    let times = || {
        let samples = reports.iter().flat_map(|report| &report.samples);
        samples.map(|(calls, seconds)| seconds / *calls as f64)
    };
    let calls: u64 = reports.iter().map(|report| report.calls).sum();
    let time = |value| metric(value, "s", Better::Lower);
    let rate = |value| metric(value, row.unit, Better::Higher);
    let mut metrics = BTreeMap::from([
        ("calls".to_owned(), metric(calls as f64, "calls", Better::Higher)),
        ("call_min_s".to_owned(), time(times().fold(f64::INFINITY, f64::min))),
        ("call_max_s".to_owned(), time(times().fold(0.0, f64::max))),
    ]);
    if reports.len() > 1 {
        let slowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let fastest = rates.iter().copied().fold(0.0, f64::max);
        metrics.insert("copy_min".to_owned(), rate(slowest));
        metrics.insert("copy_max".to_owned(), rate(fastest));
    }
    if let Some(share) =
        reports.iter().filter_map(|report| error_share(&report.samples)).reduce(f64::max)
    {
        let percent = metric(100.0 * share, "%", Better::Lower);
        metrics.insert("call_standard_error".to_owned(), percent);
    }
    for (name, (value, unit)) in reports.iter().flat_map(|report| &report.remarks.metrics) {
        metrics.entry(name.clone()).or_insert(metric(*value, unit, Better::Higher));
    }
    metrics
}
