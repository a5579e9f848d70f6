//! What is compared: studies, fleets, result files of other programs.

use crate::exit::Usage;
use crate::out;
use crate::resuming;
use anyhow::Result;
use coretwin_base::fleet::{Fleet, MemberState};
use coretwin_base::machine::environment::Environment;
use coretwin_base::schema::SCHEMA;
use coretwin_base::shared_text::SharedText;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Phase, Reading};
use coretwin_base::study::summary::StoppedBecause;
use coretwin_lab::fleet::identity;
use coretwin_lab::fleet::merge::{self, merge};
use coretwin_stats::comparison::StudyRecords;
use coretwin_store::fleet_folder::{FLEET, FleetFolder};
use coretwin_store::import::{Imported, import};
use coretwin_store::{Bundle, Extent};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Something to compare.
pub(super) enum Source {
    Study(Box<Stored>),
    /// Its folder, as it was given, and its machines.
    Fleet(String, Fleet),
}

/// What is read of a study.
pub(super) struct Stored {
    pub(super) folder: String,
    plan: Plan,
    readings: Vec<Reading>,
    environment: Environment,
    stopped_because: StoppedBecause,
}

impl Source {
    /// Reads a folder or file of a known kind.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        if folder.join(FLEET).exists() {
            return Ok(Self::Fleet(folder.display().to_string(), fleet(folder)?));
        }
        Ok(Self::Study(Box::new(Stored::read(folder)?)))
    }

    pub(super) fn study(&self) -> Option<&Stored> {
        match self {
            Self::Study(study) => Some(study),
            Self::Fleet(..) => None,
        }
    }
}

/// The machines of a fleet, by its bundles; nothing is written.
fn fleet(folder: &Path) -> Result<Fleet> {
    let (fleet, plan) = FleetFolder::open(folder)?;
    let shown = folder.display();
    let merged = merge(&plan, &fleet.bundles()?, fleet.folder(), |_| ());
    if merged.sweep.is_some() {
        let why =
            format!("{shown} holds a sweep of the simulated kernel, which has no arms to compare");
        return Err(Usage(why).into());
    }
    if merged.fleet.members.is_empty() {
        let why = format!(
            "{shown} has no bundle that counts; what is missing, and how to finish: coretwin fleet status \
             {shown}"
        );
        return Err(Usage(why).into());
    }
    for refused in &merged.fleet.refused {
        out::news(&format!("{shown}: does not count: {}: {}", refused.file, refused.reason));
    }
    Ok(merged.fleet)
}

impl Stored {
    fn read(folder: &Path) -> Result<Self> {
        if folder.exists() && !folder.is_dir() {
            let Imported { plan, readings, environment } = import(folder)?;
            let folder = folder.display().to_string();
            let stopped_because = StoppedBecause::Blocks;
            return Ok(Self { folder, plan, readings, environment, stopped_because });
        }
        let (bundle, plan) = Bundle::open(folder, None)?;
        let journal = bundle.readings(&plan, Extent::Report)?;
        let line = resuming::line(&plan, folder);
        let folder = folder.display().to_string();
        if journal.torn_bytes > 0 {
            out::news(&format!("{folder}: the journal's last line is torn; it is left out"));
        }
        if !journal.readings.iter().any(|reading| reading.phase == Phase::Study) {
            return Err(Usage(format!(
                "{folder} has a plan but no readings to compare; go on with it first: {line}"
            ))
            .into());
        }
        // Only the summary knows why the study ended; without one it was killed, or still runs.
        let stopped_because =
            bundle.summary().map_or(StoppedBecause::Running, |summary| summary.stopped_because);
        let mut environment = bundle.environment()?;
        journal.note(&mut environment);
        Ok(Self { folder, plan, readings: journal.readings, environment, stopped_because })
    }

    pub(super) fn records(&self) -> StudyRecords<'_> {
        StudyRecords {
            folder: &self.folder,
            plan: &self.plan,
            readings: &self.readings,
            environment: &self.environment,
            stopped_because: self.stopped_because,
        }
    }

    /// A fleet of this one machine. Of a host the study tells no more than the name, by which it is
    /// `known` again where only one machine has it.
    fn into_fleet(self, known: &Names) -> (String, Fleet) {
        let Self { folder, plan, readings, environment, stopped_because } = self;
        let host = environment.sessions.last().map(|session| session.host.as_str());
        let (machine, name) = match &plan.simulation {
            Some(_) => (
                identity::of_simulated(&plan.machine, plan.seed),
                format!("{}, seed {}", plan.machine, plan.seed),
            ),
            None => {
                let name = host.unwrap_or("unnamed").to_owned();
                let only = known.get(&name).filter(|ids| ids.len() == 1);
                let only = only.and_then(|ids| ids.first()).cloned();
                (only.unwrap_or_else(|| SharedText::from(&format!("study on {name}"))), name)
            }
        };
        let state = match stopped_because {
            StoppedBecause::Target | StoppedBecause::Blocks | StoppedBecause::Budget => {
                MemberState::Complete
            }
            _ => MemberState::Partial("the study did not come to its end".to_owned()),
        };
        let source = merge::Source {
            machine,
            name,
            bundle: folder.as_str().into(),
            plan: SharedText::default(),
            schema: SCHEMA,
            state,
        };
        let member = merge::member(source, &plan, &readings, &environment);
        (folder, Fleet { members: vec![member], refused: Vec::new() })
    }
}

/// Ids of machines by what their users call them.
type Names = BTreeMap<String, BTreeSet<SharedText>>;

/// All of them as fleets, a study as one of one machine.
pub(super) fn as_fleets(sources: Vec<Source>) -> Vec<(String, Fleet)> {
    let mut names = Names::new();
    for source in &sources {
        if let Source::Fleet(_, fleet) = source {
            for member in &fleet.members {
                names.entry(member.name.clone()).or_default().insert(member.machine.clone());
            }
        }
    }
    let as_fleet = |source| match source {
        Source::Fleet(folder, fleet) => (folder, fleet),
        Source::Study(study) => study.into_fleet(&names),
    };
    sources.into_iter().map(as_fleet).collect()
}
