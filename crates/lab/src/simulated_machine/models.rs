//! The models of `coretwin_sim` behind a simulated machine: which machines there are, what a fit of
//! one is, and how a job becomes a prediction.

use super::planning::Known;
use super::{Described, Models};
use crate::error::Error;
use crate::simulated_core::{self, Cache};
use coretwin_base::machine::cpu_set::CpuId;
use coretwin_base::machine::environment::Facts;
use coretwin_base::machine::topology::{Cpu, CpuInfo, Smt, Topology};
use coretwin_base::simulation::core_run::CoreMatrix;
use coretwin_base::simulation::{FitText, PresetText, Simulation};
use coretwin_base::study::job::{Job, Outcome, Work};
use coretwin_base::study::plan::PlanArm;
use coretwin_base::study::reading::{Better, Metric};
use coretwin_base::suggest;
use coretwin_sim::calibrate::Fit;
use coretwin_sim::core::Options;
use coretwin_sim::core::length::Length;
use coretwin_sim::core::profile::Profile;
use coretwin_sim::machine::{MachinePreset, table};
use coretwin_sim::models::{self, PROFILES, Prediction, Setting};
use coretwin_sim::policies::Settings;
use std::collections::BTreeMap;
use std::sync::Arc;

const ARTICLES: &str = "xeon-mp-foster";

/// The article's kernels, and Molnar's patch beside the newer.
const POLICIES_2003: [&str; 4] =
    ["linux-2.4.19", "linux-2.5.32", "linux-2.5.32-f3", "linux-2.5.32-a9"];

/// How other machines, those of today, are scheduled, and may be.
const POLICIES_TODAY: [&str; 3] = ["fair", "one-per-core", "core-queue"];

/// What is fitted of a row whose only work is one task's.
const SERVICE_TIME: &str = "its service time, to the article's figure without SMT";

/// Why a machine without such a fit does not have the row.
const NO_SERVICE_TIME: &str = "what one task takes is fitted to published figures, and there are none of this machine; SMT off \
     and on give it the same";

#[derive(Debug, Clone)]
pub struct Modelled {
    pub preset: MachinePreset,
    /// The file it was read from; none: it is built in.
    pub file: Option<PresetText>,
    /// Parameters fitted to published figures; none: those of the preset.
    pub fit: Option<Fit>,
}

pub fn machines() -> Vec<(String, String)> {
    MachinePreset::all().into_iter().map(|preset| (preset.name, preset.title)).collect()
}

impl Modelled {
    /// The built-in machine of that name, with the values of its preset. Errors: [`Error::Usage`]
    /// for a machine that there is not, with the nearest name.
    pub fn named(name: &str) -> Result<Self, Error> {
        let preset = MachinePreset::named(name).ok_or_else(|| {
            let known = table::ALL.iter().map(|entry| entry.name);
            let known: Vec<&str> = std::iter::once("host").chain(known).collect();
            let unknown = suggest::unknown("machine", name, &known);
            Error::Usage(format!("{unknown}; a file of your own is written ./{name}.toml"))
        })?;
        Ok(Self { preset, file: None, fit: None })
    }

    /// The machine that a file describes, with the file's values. Errors: [`Error::Usage`] with
    /// file, line and key for a text that describes none.
    pub fn read(file: &str, text: &str) -> Result<Self, Error> {
        let preset = MachinePreset::read(file, text).map_err(usage)?;
        let file = PresetText { origin: file.to_owned(), text: text.to_owned() };
        Ok(Self { preset, file: Some(file), fit: None })
    }

    /// The same with the fit of a file; without one with that which is built in with the machine,
    /// if there is one. Errors: [`Error::Usage`] for a fit that does not read or is of another
    /// machine or version.
    pub fn fitted(self, fit: Option<(&str, &str)>) -> Result<Self, Error> {
        let built_in = || Fit::of(&self.preset.name).filter(|_| self.file.is_none());
        let fit = match fit {
            Some((file, text)) => Some(Fit::read(file, text).map_err(usage)?),
            None => built_in(),
        };
        if let Some(fit) = &fit {
            fit.check(&self.preset).map_err(usage)?;
        }
        Ok(Self { fit, ..self })
    }

    /// The machine of a plan, with the fit that the plan was drawn for. Errors: as
    /// [`Modelled::named`], [`Modelled::read`] and [`Modelled::fitted`], where the program is
    /// another by now.
    pub fn of_plan(name: &str, simulation: &Simulation) -> Result<Self, Error> {
        let machine = match &simulation.preset {
            Some(file) => Self::read(&file.origin, &file.text)?,
            None => Self::named(name)?,
        };
        match &simulation.fit {
            Some(fit) => machine.fitted(Some((fit.origin.as_str(), fit.text.as_str()))),
            None => Ok(machine),
        }
    }

    pub fn described(&self) -> Described {
        let is_articles = self.preset.name == ARTICLES;
        let of_then = self.preset.name.starts_with("xeon-mp");
        let policies: &[&str] = if of_then { &POLICIES_2003 } else { &POLICIES_TODAY };
        Described {
            name: self.preset.name.clone(),
            topology: topology(&self.preset),
            policies: policies.iter().map(|name| (*name).to_owned()).collect(),
            is_articles,
        }
    }

    pub fn simulation(&self) -> Simulation {
        Simulation {
            title: self.preset.title.clone(),
            is_articles: self.preset.name == ARTICLES,
            preset: self.file.clone(),
            fit: self.fit.as_ref().map(|fit| FitText {
                origin: fit.file.clone(),
                parameters: (fit.costs.len() + fit.work.len()) as u32,
                fitted_to: fit.fitted_to.clone(),
                text: fit.text(),
            }),
            fitted_rows: BTreeMap::new(),
        }
    }

    pub fn facts(&self) -> Facts {
        let fit = self.fit.as_ref().map_or("none", |fit| fit.file.as_str());
        let preset = &self.preset;
        [
            ("cpu.model", format!("{} (simulated)", preset.core.title)),
            ("simulated.machine", preset.title.clone()),
            ("simulated.fit", fit.to_owned()),
            ("simulated.models", coretwin_sim::machine::MODEL_VERSION.to_string()),
            ("simulated.preset", preset.fingerprint.clone()),
            (
                "simulated.file",
                self.file.as_ref().map_or("none", |file| file.origin.as_str()).to_owned(),
            ),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into()
    }

    /// Speeds of every pair of the models' work on one core. Those kept earlier are not run again;
    /// `done` hears how many of how many are done. Errors: [`Error::NotPossible`] where a run does
    /// not end within its bound.
    pub fn speeds(
        &self,
        cache: Option<&Cache>,
        done: impl FnMut(usize, usize),
    ) -> Result<CoreMatrix, Error> {
        let (core, options) = (&self.preset.core, Options::default());
        if !self.preset.has_siblings() {
            return models::speeds_alone(core, &options)
                .map_err(|error| Error::NotPossible(error.to_string()));
        }
        let profiles: Option<Vec<Profile>> =
            PROFILES.iter().map(|name| Profile::named(name)).collect();
        let profiles =
            profiles.ok_or_else(|| Error::NotPossible("a profile is missing".to_owned()))?;
        let length = Some(Length::of_benchmarks(core));
        simulated_core::matrix(core, &profiles, &options, length, cache, done)
    }

    pub fn models(self, speeds: CoreMatrix) -> Arc<Models> {
        Arc::new(move |job: &Job, arm: &PlanArm| outcome(&self, &speeds, job, arm))
    }
}

impl Known for Modelled {
    fn has_model(&self, workload: &str) -> Result<(), String> {
        match (models::find(workload), models::reason(workload)) {
            (Some((_, row)), _) if row.is_fitted && self.fitted(workload).is_none() => {
                Err(NO_SERVICE_TIME.to_owned())
            }
            (Some(_), _) => Ok(()),
            (None, Some(reason)) => Err(reason.to_owned()),
            (None, None) => Err("nobody wrote one".to_owned()),
        }
    }

    fn fitted(&self, workload: &str) -> Option<String> {
        let fit = self.fit.as_ref()?;
        fit.services.contains_key(workload).then(|| SERVICE_TIME.to_owned())
    }
}

fn usage(error: coretwin_sim::Error) -> Error {
    Error::Usage(error.to_string())
}

fn outcome(machine: &Modelled, speeds: &CoreMatrix, job: &Job, arm: &PlanArm) -> Outcome {
    let Work::Builtin { workload, params } = &job.work else {
        let why = "a simulated machine runs models of workloads only";
        return Outcome::failed(why, "", Better::Lower);
    };
    let predicted = Settings::parse(&arm.scheduler).and_then(|policy| {
        let setting = Setting {
            machine: &machine.preset,
            speeds,
            fit: machine.fit.as_ref(),
            policy,
            smt: arm.smt == Some(true),
            seed: job.seed,
            fraction: None,
            runs_max: None,
            others: None,
        };
        models::predict(workload, params, &setting).map_err(|error| error.to_string())
    });
    match predicted {
        Ok(prediction) => {
            let unit = coretwin_workloads::table::find(workload)
                .map_or("", |workload| workload.facts().unit);
            told(job, &prediction, unit)
        }
        Err(why) => Outcome::failed(why, "", Better::Lower),
    }
}

fn told(job: &Job, prediction: &Prediction, unit: &str) -> Outcome {
    let named = |(name, metric): (&&str, &Metric)| ((*name).to_owned(), metric.clone());
    let mut metrics: BTreeMap<String, Metric> = prediction.metrics.iter().map(named).collect();
    let fraction = Metric {
        value: prediction.sampled_fraction,
        unit: "of the load".to_owned(),
        better: Better::Higher,
    };
    metrics.insert("sampled_fraction".to_owned(), fraction);
    Outcome {
        failure: None,
        value: Some(prediction.value),
        metrics,
        operations: prediction.operations,
        elapsed_s: prediction.simulated_s,
        user_s: prediction.user_s,
        system_s: prediction.system_s,
        threads: job.threads,
        cpus_ran: job.cpus.clone(),
        cpus_allowed: job.cpus.clone(),
        notes: [
            ("seed".to_owned(), job.seed.to_string()),
            ("trace".to_owned(), format!("{:016x}", prediction.trace_hash)),
        ]
        .into(),
        ..Outcome::failed("", unit, prediction.better)
    }
}

/// Its CPUs, numbered as the simulated kernel numbers them: first one of every core, then their
/// siblings.
fn topology(preset: &MachinePreset) -> Topology {
    let per_package = preset.caches * preset.cores;
    let regular = Topology::regular(preset.packages, per_package, u32::from(preset.core.ways));
    let cores = preset.packages * per_package;
    let cpu = |id: u32| {
        let core = id % cores;
        let siblings = (0..u32::from(preset.core.ways)).map(|thread| thread * cores + core);
        let own = regular.cpus.iter().find(|cpu| cpu.core.0 == core);
        own.map(|own| Cpu {
            cpu: CpuId(id),
            siblings: siblings.filter(|other| *other != id).map(CpuId).collect(),
            ..own.clone()
        })
    };
    let why = format!("{} is simulated: its siblings are what its preset says", preset.name);
    Topology {
        cpus: (0..cores * u32::from(preset.core.ways)).filter_map(cpu).collect(),
        smt: Smt { why: why.clone(), ..regular.smt.clone() },
        trust_why: why,
        cpuinfo: CpuInfo { model_name: Some(preset.core.title.clone()), ..CpuInfo::default() },
        ..regular
    }
}
