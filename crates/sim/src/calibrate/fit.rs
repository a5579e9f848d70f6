//! A fit: values of parameters, what they were fitted to, and how well they fit.

use crate::built_in::{BuiltIn, built_in};
use crate::document::{Document, Table};
use crate::kernel::Machine;
use crate::kernel::costs::Costs;
use crate::kernel::machine::DiskSpec;
use crate::machine::{MODEL_VERSION, MachinePreset};
use crate::models::{PARAMETERS, TABLE};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Where a machine has a cost.
type Cost = for<'all> fn(&'all mut Costs, &'all mut DiskSpec) -> &'all mut u64;

/// Costs that a fit may have, in ns: keys of `[costs]`, and what they stand for.
pub(super) const COSTS: [(&str, Cost); 7] = [
    ("disk_block", |_, disk| &mut disk.block_ns),
    ("exec", |costs, _| &mut costs.exec_ns),
    ("fork", |costs, _| &mut costs.fork_ns[0]),
    ("policy_far_step", |costs, _| &mut costs.policy_far_step_ns),
    ("policy_step", |costs, _| &mut costs.policy_step_ns),
    ("switch", |costs, _| &mut costs.switch_ns),
    ("write_back", |costs, _| &mut costs.write_back_ns),
];

/// The longest time of a parameter, in ns.
const NS_MAX: f64 = 1e10;

/// Parameters fitted to published figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Its file or built-in name, for errors.
    pub file: String,
    /// The machine preset it is of.
    pub machine: String,
    /// The preset's fingerprint when it was made.
    pub fingerprint: String,
    /// [`MODEL_VERSION`] when it was made.
    pub version: u32,
    /// What it was fitted to, in words.
    pub fitted_to: String,
    /// Costs of kernel and disk, in ns.
    pub costs: BTreeMap<String, u64>,
    /// Parameters of families, in their units.
    pub work: BTreeMap<String, u64>,
    /// Service times of rows with one task, in ns an operation. They reproduce what they were fitted
    /// to, and take no part in any score.
    pub services: BTreeMap<String, f64>,
    /// How well it fits, cell by cell.
    pub residuals: Vec<Residual>,
}

/// A cell that a fit was made to.
#[derive(Debug, Clone, PartialEq)]
pub struct Residual {
    /// The workload as it is typed: `chat:rooms=20`.
    pub cell: String,
    /// What was published.
    pub published: f64,
    /// What the fitted model gives.
    pub simulated: f64,
}

impl Residual {
    /// By how much the model is off, in percent of what was published.
    #[must_use]
    pub fn error_percent(&self) -> f64 {
        100.0 * (self.simulated / self.published - 1.0)
    }
}

/// Every built-in fit, by its machine.
const BUILT_IN: &[BuiltIn] = built_in!["../../fits/": "xeon-mp-foster"];

impl Fit {
    /// The built-in fit of a machine; none if there is none.
    #[must_use]
    pub fn of(machine: &str) -> Option<Self> {
        BUILT_IN.iter().find(|entry| entry.name == machine).map(|entry| entry.read(Self::read))
    }

    /// Reads a fit; `file` is named in errors.
    ///
    /// # Errors
    /// [`Error`] naming file, line and key of anything missing, unknown or absurd.
    pub fn read(file: &str, text: &str) -> Result<Self> {
        let document = Document::parse(file, text)?;
        let mut root = document.root();
        let machine = root.words("machine")?.to_owned();
        let fingerprint = root.words("preset")?.to_owned();
        let version = root.whole("version", 0..=1_000_000)? as u32;
        let fitted_to = root.words("fitted_to")?.to_owned();
        let free = root.whole("free_parameters", 0..=1000)?;
        let costs = times(root.table("costs")?, &COSTS.map(|(key, _)| key))?;
        let names: Vec<&str> = PARAMETERS.iter().map(|parameter| parameter.name).collect();
        let work = times(root.table("work")?, &names)?;
        if free != (costs.len() + work.len()) as u64 {
            let problem = format!("is {free}; there are {}", costs.len() + work.len());
            return Err(root.refuse("free_parameters", problem));
        }
        let services = services(root.table("service")?)?;
        let mut residuals = Vec::new();
        for mut table in root.tables("residual")? {
            residuals.push(Residual {
                cell: table.words("cell")?.to_owned(),
                published: table.number("published", 1e-9..=1e12)?,
                simulated: table.number("simulated", 1e-9..=1e12)?,
            });
            table.finish()?;
        }
        root.finish()?;
        let file = file.to_owned();
        Ok(Self {
            file,
            machine,
            fingerprint,
            version,
            fitted_to,
            costs,
            work,
            services,
            residuals,
        })
    }

    /// Refuses a machine that it is not a fit of.
    ///
    /// # Errors
    /// [`Error::Fit`].
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

    pub(crate) fn work(&self, name: &str) -> Option<u64> {
        self.work.get(name).copied()
    }

    pub(crate) fn service(&self, workload: &str) -> Option<f64> {
        self.services.get(workload).copied()
    }

    /// Gives a machine the costs that were fitted.
    pub(crate) fn apply(&self, machine: &mut Machine) {
        for (key, cost) in COSTS {
            if let Some(ns) = self.costs.get(key) {
                *cost(&mut machine.costs, &mut machine.disk) = *ns;
            }
        }
    }

    /// The fit as a file.
    #[must_use]
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

fn times(mut table: Table<'_>, known: &[&str]) -> Result<BTreeMap<String, u64>> {
    let mut values = BTreeMap::new();
    for key in known {
        if table.has(key) {
            values.insert((*key).to_owned(), table.whole(key, 0..=NS_MAX as u64)?);
        }
    }
    table.finish()?;
    Ok(values)
}

fn services(mut table: Table<'_>) -> Result<BTreeMap<String, f64>> {
    let mut values = BTreeMap::new();
    for row in TABLE.iter().flat_map(|family| family.rows) {
        if table.has(row.workload) {
            values.insert(row.workload.to_owned(), table.number(row.workload, 1e-6..=NS_MAX)?);
        }
    }
    table.finish()?;
    Ok(values)
}
