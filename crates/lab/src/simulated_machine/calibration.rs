//! Calibration of a machine: the article's figures without SMT on its older kernel, and a way to run
//! cells side by side. What is fitted, and how, is [`coretwin_sim::calibrate`]'s.

use super::Modelled;
use crate::error::Error;
use crate::machine::{MachineError, Stop};
use crate::parallel;
use coretwin_article::printed::{self, Kernel, LMBENCH, MEAN, Printed, SIZES};
use coretwin_base::parameters::{Params, WorkloadSpec};
use coretwin_base::simulation::core_run::CoreMatrix;
use coretwin_sim::calibrate::{Fit, Target, calibrate};
use coretwin_sim::models::{self, Setting};
use coretwin_sim::policies::Settings;

const FITTED_TO: &str = "the noht columns of Tables 1, 2, 4, 5 and 6, Linux 2.4.19";

const POLICY: &str = "linux-2.4.19";

/// Seed of every cell: a fit is of one draw, which others differ from by less than what it is off.
const SEED: u64 = 1;

/// Every figure without SMT that the article printed of its older kernel, of rows that have a model.
pub fn targets() -> Vec<Target> {
    let families = ["lmbench", "aim9"].into_iter().chain(SIZES.iter().map(|(name, _)| *name));
    let mut targets: Vec<Target> = families.flat_map(of_family).collect();
    targets.retain(|target| models::find(&target.cell.name).is_some());
    targets
}

fn of_family(family: &str) -> Vec<Target> {
    let rows = printed::rows_of(family);
    let rows = rows.iter().filter(|row| row.kernel == Kernel::Stable2419 && row.label != MEAN);
    let target = |(place, row): (usize, &Printed)| {
        let cell = cell(family, place, &row.label)?;
        Some(Target { cell, published: row.noht.parse().ok()? })
    };
    rows.enumerate().filter_map(target).collect()
}

fn cell(family: &str, place: usize, label: &str) -> Option<WorkloadSpec> {
    let plain = |name: String| WorkloadSpec { name, params: Params::new() };
    match (family, SIZES.iter().find(|(name, _)| *name == family)) {
        ("lmbench", _) => LMBENCH.get(place).map(|name| plain((*name).to_owned())),
        (_, Some((name, size))) => Some(WorkloadSpec {
            name: (*name).to_owned(),
            params: [((*size).to_owned(), label.parse::<i64>().ok()?.into())].into(),
        }),
        _ => Some(plain(format!("{family}/{label}"))),
    }
}

impl Modelled {
    /// Fits its free parameters, from its preset or from where the fit it has ended, by at most so
    /// many rounds for each group. `done` hears which group is done. Errors: [`Error::NotPossible`]
    /// for a machine without the data that the models need; [`MachineError::Stopped`] if `stop` was
    /// raised.
    pub fn calibrate(
        &self,
        speeds: &CoreMatrix,
        rounds: usize,
        stop: &Stop,
        done: impl FnMut(&str),
    ) -> Result<Fit, Error> {
        let targets = targets();
        let policy = Settings::parse(POLICY).map_err(Error::Usage)?;
        let mut run = |fit: &Fit, cells: &[&Target]| {
            let setting = Setting {
                machine: &self.preset,
                speeds,
                fit: Some(fit),
                policy,
                smt: false,
                seed: SEED,
                fraction: None,
                runs_max: Some(1),
                others: None,
            };
            let value = |target: &&Target| {
                if stop.raised() {
                    return Err(coretwin_sim::Error::Unknown("stopped".to_owned()));
                }
                models::predict(&target.cell.name, &target.cell.params, &setting)
                    .map(|prediction| prediction.value)
            };
            parallel::map(cells, value, |_| {}).into_iter().collect()
        };
        let from = (self.fit.as_ref(), rounds);
        calibrate(&self.preset, &targets, FITTED_TO, from, &mut run, done).map_err(|error| {
            match stop.raised() {
                true => MachineError::Stopped.into(),
                false => Error::NotPossible(error.to_string()),
            }
        })
    }

    pub fn has_figures(&self) -> bool {
        self.described().is_articles
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::parameters::label;
    use std::collections::BTreeMap;

    #[test]
    fn targets_are_the_noht_columns_of_the_older_kernel_and_nothing_else() {
        let targets = targets();
        let of = |family: &str| {
            let is_of = |target: &&Target| target.cell.name.split('/').next() == Some(family);
            targets.iter().filter(is_of).collect::<Vec<_>>()
        };
        let counts = ["lmbench", "chat", "dbench", "tbench"].map(|family| of(family).len());
        assert_eq!(counts, [14, 4, 5, 5]);
        let rooms: Vec<f64> = of("chat").iter().map(|target| target.published).collect();
        assert_eq!(rooms, [164_071.0, 151_530.0, 140_301.0, 123_842.0]);
        let pipe = targets.iter().find(|target| target.cell.name == "lmbench/pipe-latency");
        assert_eq!(pipe.map(|target| target.published), Some(11.16));
        let aim9 = of("aim9");
        assert!(aim9.iter().any(|t| t.cell.name == "aim9/creat-clo" && t.published == 129_100.0));
        assert!(!aim9.iter().any(|target| {
            ["aim9/sieve", "aim9/sync_disk_rw"].contains(&target.cell.name.as_str())
        }));
    }

    #[test]
    fn the_shipped_fit_was_made_to_the_figures_of_today() {
        let figures: BTreeMap<String, f64> = targets()
            .iter()
            .map(|target| (label(&target.cell.name, &target.cell.params), target.published))
            .collect();
        let fit = Fit::of("xeon-mp-foster").expect("a fit");
        assert!(!fit.residuals.is_empty());
        for residual in &fit.residuals {
            let figure = figures.get(&residual.cell);
            assert_eq!(figure, Some(&residual.published), "{}: fit again", residual.cell);
        }
    }
}
