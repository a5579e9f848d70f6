//! The process in which one copy of a row runs: sets it up, waits for its release, takes samples,
//! and reports.

use super::Bench;
use super::sampler::{Overheads, Sample, Sampler};
use super::{Row, SAMPLE, SAMPLES};
use crate::Error;
use crate::copies::{self, Place, Remarks};
use crate::lmbench::{more, table_1};
use crate::observe::CpusSeen;
use crate::workload::{decimal, int};
use coretwin_base::parameters::Params;
use serde::{Deserialize, Serialize};
use std::process::ExitCode;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) samples: Vec<Sample>,
    /// Operations, those of finding the pace included.
    pub(super) all: u64,
    /// The same of what is taken off.
    pub(super) minus_all: Option<u64>,
    pub(super) overheads: Overheads,
    pub(super) amount: f64,
    pub(super) remarks: Remarks,
}

fn rows() -> impl Iterator<Item = &'static Row> {
    table_1::ALL.iter().chain(more::ALL.iter().flat_map(|group| group.rows))
}

pub(crate) fn main(entered: Result<(), Error>, args: &[String]) -> ExitCode {
    // The pace is found after the release.
    let measure = |bench: Bench, params: &Params| {
        let mut sampler = Sampler::new(bench, decimal(params, SAMPLE.name))?;
        let report = measure(&mut sampler, int(params, SAMPLES.name) as usize)?;
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

fn measure(sampler: &mut Sampler, count: usize) -> Result<Report, Error> {
    let seen = CpusSeen::new();
    let overheads = Overheads::measure()?;
    let mut samples = Vec::with_capacity(count);
    for _ in 0..count {
        samples.push(sampler.sample(overheads)?);
        seen.note();
    }
    let mut remarks = Remarks::on(seen.cpus());
    sampler.body.body.remark(&mut remarks);
    if let Some(minus) = &mut sampler.minus {
        minus.body.remark(&mut remarks);
    }
    sampler.notes.iter().for_each(|(name, text)| remarks.note(name, text));
    Ok(Report {
        samples,
        all: sampler.body.all,
        minus_all: sampler.minus.as_ref().map(|minus| minus.all),
        overheads,
        amount: sampler.amount,
        remarks,
    })
}
