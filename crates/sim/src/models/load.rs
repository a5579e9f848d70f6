//! What a model is: a family of rows, and the work that a row is on the simulated kernel.

use crate::kernel::{Amount, Outcome, ProfileId, Program, Step, Which, Work};
use crate::machine::{Fit, MachinePreset};
use crate::{Error, Result};
use coretwin_base::parameters::{ParamValue, Params};
use coretwin_base::study::reading::Better;

#[derive(Debug)]
pub struct Family {
    pub name: &'static str,
    /// The profile of [`crate::core`] at whose speed its work runs.
    pub profile: &'static str,
    pub keeps: &'static [&'static str],
    pub drops: &'static [&'static str],
    pub uses_files: bool,
    pub rows: &'static [Row],
}

#[derive(Debug)]
pub struct Row {
    pub workload: &'static str,
    pub better: Better,
    /// Part of the load that a run simulates where a setting does not say; 1 is all of it.
    pub fraction: f64,
    /// The fewest and the most runs whose mean its value is.
    pub runs: [u32; 2],
    /// Whether its time is fitted to the row's own published figure, which it then reproduces: no
    /// prediction of that figure, and no part of a score.
    pub is_fitted: bool,
    pub is_several: bool,
    pub build: Build,
}

type Build = fn(&Row, &Sizes<'_>, &Values<'_>) -> Result<Load>;

impl Row {
    /// A row of several tasks, of one run with the whole load, whose value is a prediction.
    pub(super) const fn of(workload: &'static str, better: Better, build: Build) -> Self {
        let (is_fitted, is_several) = (false, true);
        Self { workload, better, fraction: 1.0, runs: [1, 1], is_fitted, is_several, build }
    }
}

#[derive(Debug)]
pub struct Load {
    pub(super) work: Work,
    /// When the clock of the benchmark starts, in ns of simulated time.
    pub(super) from_ns: u64,
    pub(super) until_ns: u64,
    pub(super) fraction: f64,
    /// The value, of an outcome and the time from the clock's start to the run's end in seconds.
    pub(super) value: Value,
    pub(super) operations: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    /// This amount, over the elapsed seconds.
    Rate(f64),
    /// Elapsed microseconds over this many operations.
    Microseconds(f64),
}

impl Load {
    pub(super) fn elapsed_s(&self, outcome: &Outcome) -> f64 {
        outcome.simulated_ns.saturating_sub(self.from_ns).max(1) as f64 / 1e9
    }

    pub(super) fn value(&self, outcome: &Outcome) -> f64 {
        let elapsed_s = self.elapsed_s(outcome);
        match self.value {
            Value::Rate(amount) => amount / elapsed_s,
            Value::Microseconds(operations) => elapsed_s * 1e6 / operations,
        }
    }
}

/// The parameters of a workload, as far as its model knows them.
#[derive(Debug)]
pub struct Sizes<'params> {
    pub(super) workload: &'params str,
    pub(super) params: &'params Params,
    pub(super) fraction: f64,
}

impl Sizes<'_> {
    pub(super) fn count(&self, name: &str, or: u64, most: u64) -> Result<u64> {
        match self.params.get(name) {
            None => Ok(or),
            Some(ParamValue::Int(n))
                if u64::try_from(*n).is_ok_and(|n| (1..=most).contains(&n)) =>
            {
                Ok(*n as u64)
            }
            Some(other) => {
                Err(self.refuse(name, format!("is {other}; the model takes 1 to {most}")))
            }
        }
    }

    /// A parameter that the model knows with one value only.
    pub(super) fn only(&self, name: &str, known: &str) -> Result<()> {
        match self.params.get(name) {
            Some(other) if other.to_string() != known => {
                Err(self.refuse(name, format!("is {other}; the model knows only {known}")))
            }
            _ => Ok(()),
        }
    }

    fn refuse(&self, name: &str, problem: String) -> Error {
        Error::Value { file: self.workload.to_owned(), key: name.to_owned(), problem }
    }

    /// The part of a number that is simulated, at least so many; with it the part that this is.
    pub(super) fn sampled(&self, all: u64, least: u64) -> (u64, f64) {
        let sampled = (all as f64 * self.fraction) as u64;
        let sampled = sampled.clamp(least.min(all), all).max(1);
        (sampled, sampled as f64 / all.max(1) as f64)
    }
}

#[derive(Debug)]
pub struct Values<'all> {
    pub(super) machine: &'all MachinePreset,
    pub(super) fit: Option<&'all Fit>,
    pub(super) workload: &'all str,
    pub(super) profile: ProfileId,
}

impl Values<'_> {
    pub(super) fn work(&self, name: &str) -> Result<u64> {
        let fitted = self.fit.and_then(|fit| fit.work.get(name));
        fitted.map_or_else(|| self.machine.work(name, self.workload), |ns| Ok(*ns))
    }

    /// What an operation of a row with one task takes, in ns.
    pub(super) fn service(&self) -> Result<f64> {
        let fitted = self.fit.and_then(|fit| fit.services.get(self.workload));
        fitted.copied().ok_or_else(|| Error::Value {
            file: self.machine.name.clone(),
            key: self.workload.to_owned(),
            problem: "has no service time here: it is fitted to published figures, and no fit of \
                      this machine has one"
                .to_owned(),
        })
    }
}

#[derive(Debug, Default)]
pub(super) struct Making {
    steps: Vec<Step>,
}

impl Making {
    pub(super) fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Work of a profile that takes `ns` alone on average: between half and one and a half of it,
    /// for no two calls find the same in the caches.
    pub(super) fn work(self, profile: ProfileId, ns: u64) -> Self {
        self.compute(profile, Amount::Between(ns / 2, ns + ns / 2))
    }

    /// Work of a profile that takes exactly `ns` alone.
    pub(super) fn exact_work(self, profile: ProfileId, ns: u64) -> Self {
        self.compute(profile, Amount::Fixed(ns))
    }

    fn compute(self, profile: ProfileId, ns: Amount) -> Self {
        if ns.most() == 0 { self } else { self.step(Step::ComputeFor { profile, ns }) }
    }

    pub(super) fn call(self, ns: u64) -> Self {
        self.step(Step::SystemCall { ns: Amount::Fixed(ns) })
    }

    pub(super) fn send(self, socket: Which, bytes: u64) -> Self {
        self.step(Step::Send { socket, bytes: Amount::Fixed(bytes) })
    }

    pub(super) fn receive(self, socket: Which, bytes: u64) -> Self {
        self.step(Step::Receive { socket, bytes: Amount::Fixed(bytes) })
    }

    pub(super) fn repeat(self, times: u64, body: impl FnOnce(Self) -> Self) -> Self {
        let from = self.steps.len() as u32;
        match times {
            0 => self,
            1 => body(self),
            times => body(self).step(Step::Repeat { from, times: Amount::Fixed(times - 1) }),
        }
    }

    pub(super) fn program(self, name: &str) -> Program {
        Program { name: name.to_owned(), steps: self.steps }
    }
}
