//! A fit: values of parameters, what they were fitted to, and how well they fit.

use super::{MODEL_VERSION, MachinePreset};
use crate::kernel::{Costs, Machine};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::fmt::Write;

type Cost = for<'all> fn(&'all mut Costs) -> &'all mut u64;

/// Costs that a fit may have, in ns: keys of `[costs]`, and what they stand for.
pub(crate) const COSTS: &[(&str, Cost)] = &[
    ("exec", |costs| &mut costs.exec_ns),
    ("fork", |costs| &mut costs.fork_ns[0]),
    ("policy_far_step", |costs| &mut costs.policy_far_step_ns),
    ("policy_step", |costs| &mut costs.policy_step_ns),
    ("switch", |costs| &mut costs.switch_ns),
    ("write_back", |costs| &mut costs.write_back_ns),
];

#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Its file or built-in name, for errors.
    pub file: String,
    pub machine: String,
    pub fingerprint: String,
    pub version: u32,
    pub fitted_to: String,
    /// Costs of the kernel, in ns.
    pub costs: BTreeMap<String, u64>,
    /// Parameters of families, in their units.
    pub work: BTreeMap<String, u64>,
    /// Service times of rows with one task, in ns an operation. They reproduce what they were fitted
    /// to, and take no part in any score.
    pub services: BTreeMap<String, f64>,
    pub residuals: Vec<Residual>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Residual {
    /// The workload as it is typed: `chat:rooms=20`.
    pub cell: String,
    pub published: f64,
    pub simulated: f64,
}

impl Residual {
    /// By how much the model is off, in percent of what was published.
    pub fn error_percent(&self) -> f64 {
        100.0 * (self.simulated / self.published - 1.0)
    }
}

impl Fit {
    /// Refuses a machine that it is not a fit of.
    pub fn check(&self, machine: &MachinePreset) -> Result<()> {
        let problem = if self.machine != machine.name {
            format!("is a fit of {}, not of {}", self.machine, machine.name)
        } else if self.version != MODEL_VERSION {
            let own = self.version;
            format!("was made for version {own} of the models; this is version {MODEL_VERSION}")
        } else if self.fingerprint != machine.fingerprint {
            format!(
                "was made for another state of the preset {} ({}; this is {})",
                machine.name, self.fingerprint, machine.fingerprint
            )
        } else {
            return Ok(());
        };
        Err(Error::Fit { file: self.file.clone(), problem })
    }

    pub(crate) fn apply(&self, machine: &mut Machine) {
        for (key, cost) in COSTS {
            if let Some(ns) = self.costs.get(*key) {
                *cost(&mut machine.costs) = *ns;
            }
        }
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        let free = self.costs.len() + self.work.len();
        let _ = writeln!(text, "# Made by `coretwin simulate calibrate`; do not edit.");
        let _ = writeln!(text, "machine = {:?}", self.machine);
        let _ = writeln!(text, "preset = \"{}\"", self.fingerprint);
        let _ = writeln!(text, "version = {}", self.version);
        let _ = writeln!(text, "fitted_to = {:?}", self.fitted_to);
        let _ = writeln!(text, "free_parameters = {free}");
        for (name, values) in [("costs", &self.costs), ("work", &self.work)] {
            let _ = writeln!(text, "\n[{name}]");
            for (key, ns) in values {
                let _ = writeln!(text, "{key} = {ns}");
            }
        }
        let _ = writeln!(
            text,
            "\n# In ns an operation. They reproduce what they were fitted to, and take no part in any score."
        );
        let _ = writeln!(text, "[service]");
        for (workload, ns) in &self.services {
            let _ = writeln!(text, "\"{workload}\" = {ns:?}");
        }
        for residual in &self.residuals {
            let _ = writeln!(
                text,
                "\n[[residual]]\ncell = {:?}\npublished = {:?}\nsimulated = {:?}",
                residual.cell, residual.published, residual.simulated
            );
        }
        text
    }
}
