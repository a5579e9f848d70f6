//! Reading fits.

use crate::Result;
use crate::built_in::{BuiltIn, built_in};
use crate::document::{Document, Table};
use crate::machine::fit::COSTS;
use crate::machine::{Fit, PARAMETERS, Residual};
use crate::models::TABLE;
use std::collections::BTreeMap;

/// The longest time of a parameter, in ns.
const NS_MAX: f64 = 1e10;

const BUILT_IN: &[BuiltIn] = built_in!["../../fits/": "xeon-mp-foster"];

impl Fit {
    pub fn of(machine: &str) -> Option<Self> {
        BUILT_IN.iter().find(|entry| entry.name == machine).map(|entry| entry.read(Self::read))
    }

    /// Reads a fit; `file` is named in errors.
    pub fn read(file: &str, text: &str) -> Result<Self> {
        let document = Document::parse(file, text)?;
        let mut root = document.root();
        let machine = root.words("machine")?.to_owned();
        let fingerprint = root.words("preset")?.to_owned();
        let version = root.whole("version", 0..=1_000_000)?;
        let fitted_to = root.words("fitted_to")?.to_owned();
        let free = root.whole("free_parameters", 0..=1000_u64)?;
        let ns = |table: &mut Table<'_>, key: &str| table.whole(key, 0..=NS_MAX as u64);
        let costs = COSTS.iter().map(|(key, _)| *key);
        let costs = root.section("costs", |table| values(table, costs, ns))?;
        let work = PARAMETERS.iter().map(|parameter| parameter.name);
        let work = root.section("work", |table| values(table, work, ns))?;
        if free != (costs.len() + work.len()) as u64 {
            let problem = format!("is {free}; there are {}", costs.len() + work.len());
            return Err(root.refuse("free_parameters", problem));
        }
        let rows = TABLE.iter().flat_map(|family| family.rows).map(|row| row.workload);
        let service = |table: &mut Table<'_>, key: &str| table.number(key, 1e-6..=NS_MAX);
        let services = root.section("service", |table| values(table, rows, service))?;
        let residuals = root.each("residual", |table| {
            Ok(Residual {
                cell: table.words("cell")?.to_owned(),
                published: table.number("published", 1e-9..=1e12)?,
                simulated: table.number("simulated", 1e-9..=1e12)?,
            })
        })?;
        root.finish()?;
        Ok(Self {
            file: file.to_owned(),
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
}

fn values<'key, T>(
    table: &mut Table<'_>,
    known: impl Iterator<Item = &'key str>,
    read: impl Fn(&mut Table<'_>, &str) -> Result<T>,
) -> Result<BTreeMap<String, T>> {
    let mut values = BTreeMap::new();
    for key in known {
        if table.has(key) {
            values.insert(key.to_owned(), read(table, key)?);
        }
    }
    Ok(values)
}
