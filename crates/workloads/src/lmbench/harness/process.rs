//! The process in which one copy of a row runs: sets it up, waits for its release, takes samples,
//! and reports.
//!
//! Where copies run side by side, one that has finished goes on, uncounted, until the worker ends
//! it: so each is measured beside all others from its first sample to its last.

use super::bench::{Bench, Place};
use super::row::{Row, SAMPLE, SAMPLES};
use super::sampler::{Overheads, Paced, Sample, Sampler};
use crate::copies::Remarks;
use crate::lmbench::{more, table_1};
use crate::observe::CpusSeen;
use crate::workload::{decimal, int};
use crate::{Error, answer, role};
use serde::{Deserialize, Serialize};
use std::process::ExitCode;

/// What a copy has to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Orders {
    pub(super) row: String,
    pub(super) place: Place,
    /// Whether it goes on until it is ended.
    pub(super) company: bool,
}

/// What a copy measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) samples: Vec<Sample>,
    /// Operations, those of finding the pace included.
    pub(super) all: u64,
    /// The same of what is taken off.
    pub(super) minus_all: Option<u64>,
    pub(super) overheads: Overheads,
    /// See [`Bench::worth`].
    pub(super) amount: f64,
    pub(super) remarks: Remarks,
}

/// Every row that the harness measures.
fn rows() -> impl Iterator<Item = &'static Row> {
    table_1::ALL.iter().chain(more::ALL.iter().flat_map(|group| group.rows))
}

pub(crate) fn main(entered: Result<(), Error>, args: &[String]) -> ExitCode {
    let mut sampler = None;
    let measured = entered.and_then(|()| set_up(args)).and_then(|(orders, bench)| {
        let mut gate = role::gate()?;
        role::wait_for_release(&mut gate)?;
        drop(gate);
        let params = &orders.place.params;
        let (_, sampler) =
            sampler.insert((orders.company, Sampler::new(bench, decimal(params, SAMPLE.name))?));
        measure(sampler, int(params, SAMPLES.name) as usize)
    });
    let code = answer::say(&measured);
    if let (Some((true, mut sampler)), Ok(report)) = (sampler, measured) {
        while sampler.sample(report.overheads).is_ok() {}
    }
    code
}

fn set_up(args: &[String]) -> Result<(Orders, Bench), Error> {
    let orders: Orders = role::orders(args, "a row of LMbench")?;
    let row = rows()
        .find(|row| row.name == orders.row)
        .ok_or_else(|| Error::failed(format!("there is no row {}", orders.row)))?;
    let bench = (row.prepare)(&orders.place)?;
    Ok((orders, bench))
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
    sampler.body.body().remark(&mut remarks);
    if let Some(minus) = &mut sampler.minus {
        minus.body().remark(&mut remarks);
    }
    sampler.notes.iter().for_each(|(name, text)| remarks.note(name, text));
    Ok(Report {
        samples,
        all: sampler.body.all(),
        minus_all: sampler.minus.as_ref().map(Paced::all),
        overheads,
        amount: sampler.amount,
        remarks,
    })
}
