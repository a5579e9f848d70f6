//! On what accounting rests: the method, the sibling map, yield and slowdown. `account` and `top`
//! ask for the same.

use crate::exit::usage;
use crate::{host, options, out};
use anyhow::Result;
use coretwin_account::model::Valuation;
use coretwin_account::model::valuation::Known;
use coretwin_base::account::cputime::result::MeasuredFactors;
use coretwin_base::account::{MethodName, Siblings, SiblingsOrigin};
use coretwin_base::machine::topology::Topology;
use coretwin_base::units::parse_duration;
use coretwin_host::root::Root;
use coretwin_lab::capacity_meter::Accounting;
use std::time::Duration;

#[derive(Debug, Default, Clone, clap::Args)]
pub(crate) struct Basis {
    /// How to see who ran beside whom [default: the best that is possible]
    #[arg(long, value_name = "METHOD", value_parser = method)]
    pub(crate) method: Option<MethodName>,
    /// CPUs that share a core, like 0+1,2+3 [default: the kernel's word, else that of a probe]
    #[arg(long, value_name = "MAP")]
    pub(crate) siblings: Option<String>,
    /// Throughput of a core with all siblings busy over one busy, like 1.3, 1.2..1.4 or 1.3:1.2-1.4
    #[arg(long = "yield", value_name = "S", value_parser = |text: &str| Known::parse(text, "yield"))]
    pub(crate) core_yield: Option<Known>,
    /// Time of a task beside busy siblings over its time alone, like 1.5, 1.4..1.6 or 1.5:1.4-1.6
    #[arg(long, value_name = "R", value_parser = |text: &str| Known::parse(text, "slowdown"))]
    pub(crate) slowdown: Option<Known>,
    /// Take both from what cputime measured for this work [default: the last it measured]
    #[arg(long, value_name = "WORK", conflicts_with_all = ["core_yield", "slowdown"])]
    pub(crate) factors: Option<String>,
    /// Seed of the moments at which it is looked
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

impl Basis {
    /// The sibling map: the user's, the kernel's where it shows siblings, else that of the last
    /// probe.
    pub(crate) fn siblings(&self, root: &Root, topology: &Topology) -> Result<Siblings> {
        if let Some(text) = &self.siblings {
            return Siblings::parse(text, &topology.online).map_err(usage);
        }
        let kernel = Siblings::of_kernel(topology);
        let probed = || host::probed(root).filter(|probe| !probe.groups.is_empty());
        match probed().filter(|_| kernel.threads_per_core_max() < 2) {
            Some(probe) => {
                out::news(&format!("Note: siblings as {}", coretwin_lab::probe::sentence(&probe)));
                Ok(Siblings::of_probe(&probe.groups, &topology.online))
            }
            None => Ok(kernel),
        }
    }

    /// Yield and slowdown of every kind of core: those given, those measured here, or the default.
    pub(crate) fn valuation(&self, topology: &Topology, threads: usize) -> Result<Valuation> {
        self.valuation_of(topology.cpuinfo.model_name.as_deref(), threads)
    }

    /// The same for cores of a processor that need not be this machine's.
    pub(crate) fn valuation_of(&self, model: Option<&str>, threads: usize) -> Result<Valuation> {
        let measured = self.measured(model)?;
        let measured = measured.as_ref().map(Known::of_measurement);
        let (core_yield, slowdown) = match (&self.core_yield, &self.slowdown, measured) {
            // Given ones are not mixed with those of some other work.
            (None, None, Some((core_yield, slowdown))) => (core_yield, Some(slowdown)),
            (core_yield, slowdown, _) => (core_yield.clone(), slowdown.clone()),
        };
        Valuation::new(core_yield.as_ref(), slowdown.as_ref(), threads).map_err(usage)
    }

    /// What `cputime` measured on this processor last, of the work that is asked for.
    fn measured(&self, model: Option<&str>) -> Result<Option<MeasuredFactors>> {
        let mut known = match coretwin_store::factors::read(&host::state(&Root::system())) {
            // They were not asked for: without them there is the default, which says what it is.
            Err(error) if self.factors.is_none() => {
                out::news(&format!("yields measured here are not used: {error}"));
                Vec::new()
            }
            known => known?,
        };
        known.retain(|line| line.cpus.relation.is_smt() && Some(line.cpu_model.as_str()) == model);
        let Some(work) = &self.factors else { return Ok(known.pop()) };
        let works: Vec<String> = known.iter().map(|line| format!("'{}'", line.work)).collect();
        match known.into_iter().rfind(|line| line.work == *work) {
            Some(found) => Ok(Some(found)),
            None if works.is_empty() => Err(usage(
                "cputime has measured nothing on this processor yet; run coretwin cputime, or give \
                 --yield and --slowdown",
            )),
            None => Err(usage(format!(
                "cputime has not measured '{work}' on this processor; it has {}",
                works.join(", ")
            ))),
        }
    }
}

/// On what a study of a load curve rests, where nothing can be asked for.
pub(crate) fn accounting(root: &Root, topology: &Topology) -> Result<Accounting> {
    let basis = Basis::default();
    let siblings = basis.siblings(root, topology)?;
    let valuation = basis.valuation(topology, siblings.threads_per_core_max())?;
    let is_probed = siblings.origin == SiblingsOrigin::Probed;
    Ok(Accounting { valuation, probed: is_probed.then_some(siblings) })
}

/// How long to watch: a time with its unit, for `5` may be meant to be minutes, and not none.
pub(crate) fn length(text: &str) -> Result<Duration, String> {
    let length = parse_duration(text).map_err(|error| error.to_string())?;
    if text.trim().ends_with(|last: char| last.is_ascii_digit() || last == '.') {
        return Err(format!(
            "'{text}' has no unit: write {text}s for seconds, {text}m for minutes"
        ));
    }
    match length.is_zero() {
        true => Err("in no time there is nothing to see: give a length, like 10s".to_owned()),
        false => Ok(length),
    }
}

fn method(text: &str) -> Result<MethodName, String> {
    options::named("method", text, MethodName::ALL, |method| method.name())
}
