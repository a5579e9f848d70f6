//! Fitting the few free parameters of the models to published figures, and fits as data.
//!
//! What may be fitted is the list [`FREE`], and what it is fitted to are figures of one machine state:
//! siblings off, one kernel. Everything else that a machine preset says is fixed before, and every
//! figure with siblings on is a prediction.
//!
//! Data flow: [`Target`]s, which the caller takes from the published tables, and a way to run them go
//! into [`calibrate()`]; a [`Fit`] comes out, with its residuals.
//!
//! Groups are fitted one after the other, each by the squares of its cells' relative errors; those of
//! later groups do not change cells of earlier ones by more than the later cells' own dependence on
//! them. At the end every row with a service time gets it by the rule of three, repeatedly.

use crate::machine::fit::COSTS;
use crate::machine::{MODEL_VERSION, MachinePreset};
use crate::models;
use crate::{Error, Result};
use coretwin_base::parameters::{WorkloadSpec, label};
use coretwin_base::study::reading::Better;

mod fit;
mod least_squares;

pub use crate::machine::{Fit, Residual};

/// A published figure, of one state of the machine and one scheduler.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    pub cell: WorkloadSpec,
    pub published: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Free {
    pub name: &'static str,
    pub about: &'static str,
    pub group: usize,
    of_work: bool,
}

const fn cost(group: usize, name: &'static str, about: &'static str) -> Free {
    Free { name, about, group, of_work: false }
}

const fn work(group: usize, name: &'static str, about: &'static str) -> Free {
    Free { name, about, group, of_work: true }
}

pub const FREE: &[Free] = &[
    cost(0, "switch", "turning to another task"),
    cost(1, "fork", "making a process"),
    cost(2, "exec", "starting a program"),
    cost(3, "policy_step", "scoring a task whose data is in a cache"),
    cost(3, "policy_far_step", "scoring a task whose data is in memory"),
    work(3, "tbench_exchange", "a request and its reply"),
    work(4, "chat_message", "sending and receiving a message"),
    work(4, "chat_messages_held", "messages that a connection holds"),
    work(5, "dbench_call", "a call of a file server's client"),
    cost(5, "write_back", "CPU time of writing a page back"),
];

/// The cells that decide each group: names of workloads.
const CELLS: &[&[&str]] = &[
    &["lmbench/pipe-latency"],
    &["lmbench/fork-exit"],
    &["lmbench/fork-execve"],
    &["tbench"],
    &["chat"],
    &["dbench"],
];

/// Rounds of each group's fit, where it begins with what the preset says.
pub const ROUNDS: usize = 6;

/// Values of cells under a fit, in the order of the targets.
type Run<'all> = dyn FnMut(&Fit, &[&Target]) -> Result<Vec<f64>> + 'all;

/// Fits the free parameters of a machine to published figures; `fitted_to` says in words what they
/// are. It begins with what the preset says, or where an earlier fit ended, and takes at most so many
/// rounds ([`ROUNDS`]) for each group. `run` runs cells with siblings off; `done` hears which group is
/// done. A group without any figure is an error, and a machine without the data a parameter starts from.
pub fn calibrate(
    machine: &MachinePreset,
    targets: &[Target],
    fitted_to: &str,
    (earlier, rounds): (Option<&Fit>, usize),
    run: &mut Run<'_>,
    mut done: impl FnMut(&str),
) -> Result<Fit> {
    let mut fit = start(machine, targets, fitted_to)?;
    if let Some(earlier) = earlier {
        fit.costs.extend(earlier.costs.clone());
        fit.work.extend(earlier.work.clone());
    }
    for (group, cells) in CELLS.iter().enumerate() {
        let free: Vec<&Free> = FREE.iter().filter(|free| free.group == group).collect();
        let is_of = |target: &&Target| cells.contains(&target.cell.name.as_str());
        let own: Vec<&Target> = targets.iter().filter(is_of).collect();
        if own.is_empty() {
            return Err(Error::Unknown(format!("no published figure of {}", cells.join(" or "))));
        }
        let value = |free: &&Free| {
            let values = if free.of_work { &fit.work } else { &fit.costs };
            values.get(free.name).copied().unwrap_or(0)
        };
        let from: Vec<f64> = free.iter().map(|free| libm::log(value(free).max(1) as f64)).collect();
        let found = least_squares::fit(&from, rounds, |logs| {
            let mut tried = fit.clone();
            set(&mut tried, &free, logs);
            let values = run(&tried, &own)?;
            let pairs = values.iter().zip(&own);
            Ok(pairs.map(|(value, target)| libm::log(value / target.published)).collect())
        })?;
        set(&mut fit, &free, &found);
        done(&cells.join(", "));
    }
    services(&mut fit, targets, run)?;
    done("service times");
    residuals(&mut fit, targets, run)?;
    Ok(fit)
}

/// A fit from what the preset says, with a first guess of every service time.
fn start(machine: &MachinePreset, targets: &[Target], fitted_to: &str) -> Result<Fit> {
    let mut costs = machine.costs;
    let costs = COSTS.iter().map(|(name, cost)| ((*name).to_owned(), *cost(&mut costs)));
    let free = FREE.iter().filter(|free| free.of_work);
    let work = free.map(|free| Ok((free.name.to_owned(), machine.work(free.name, "calibration")?)));
    let service = |target: &Target| {
        let (_, row) = models::find(&target.cell.name).filter(|(_, row)| row.is_fitted)?;
        let ns = match row.better {
            Better::Lower => target.published * 1e3,
            Better::Higher => 1e9 / target.published,
        };
        // A row that makes processes spends a part on that.
        Some((target.cell.name.clone(), if row.is_several { ns / 2.0 } else { ns }))
    };
    Ok(Fit {
        file: "calibration".to_owned(),
        machine: machine.name.clone(),
        fingerprint: machine.fingerprint.clone(),
        version: MODEL_VERSION,
        fitted_to: fitted_to.to_owned(),
        costs: costs.collect(),
        work: work.collect::<Result<_>>()?,
        services: targets.iter().filter_map(service).collect(),
        residuals: Vec::new(),
    })
}

fn set(fit: &mut Fit, free: &[&Free], logs: &[f64]) {
    for (free, log) in free.iter().zip(logs) {
        let values = if free.of_work { &mut fit.work } else { &mut fit.costs };
        values.insert(free.name.to_owned(), libm::round(libm::exp(*log)).max(1.0) as u64);
    }
}

/// Service times of rows, whose values are nearly proportional to them.
fn services(fit: &mut Fit, targets: &[Target], run: &mut Run<'_>) -> Result<()> {
    let fitted = |target: &&Target| fit.services.contains_key(&target.cell.name);
    let own: Vec<&Target> = targets.iter().filter(fitted).collect();
    for _ in 0..4 {
        let values = run(fit, &own)?;
        for (value, target) in values.iter().zip(&own) {
            let Some((_, row)) = models::find(&target.cell.name) else { continue };
            let Some(ns) = fit.services.get_mut(&target.cell.name) else { continue };
            // What is missing of the time of one operation, in ns.
            let missing_ns = match row.better {
                Better::Lower => (target.published - value) * 1e3,
                Better::Higher => 1e9 / target.published - 1e9 / value,
            };
            *ns = (*ns + missing_ns).max(1e-3);
        }
    }
    Ok(())
}

fn residuals(fit: &mut Fit, targets: &[Target], run: &mut Run<'_>) -> Result<()> {
    let known: Vec<&Target> =
        targets.iter().filter(|target| models::find(&target.cell.name).is_some()).collect();
    let values = run(fit, &known)?;
    let residual = |(value, target): (&f64, &&Target)| Residual {
        cell: label(&target.cell.name, &target.cell.params),
        published: target.published,
        simulated: *value,
    };
    fit.residuals = values.iter().zip(&known).map(residual).collect();
    Ok(())
}
