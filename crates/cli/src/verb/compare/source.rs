//! What is compared: studies, fleets, result files of other programs.

use crate::exit::usage;
use crate::out;
use crate::resuming;
use anyhow::Result;
#[cfg(feature = "fleet")]
use coretwin_base::fleet::Fleet;
use coretwin_base::machine::environment::Environment;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Phase, Reading};
use coretwin_base::study::summary::StoppedBecause;
use coretwin_stats::comparison::StudyRecords;
use coretwin_store::import::{Imported, import};
use coretwin_store::{Bundle, Extent, PLAN};
use std::path::Path;

pub(super) enum Source {
    Study(Box<Stored>),
    /// Its folder, as it was given, and its machines.
    #[cfg(feature = "fleet")]
    Fleet(String, Fleet),
}

pub(super) struct Stored {
    pub(super) folder: String,
    pub(super) plan: Plan,
    pub(super) readings: Vec<Reading>,
    pub(super) environment: Environment,
    pub(super) stopped_because: StoppedBecause,
}

impl Source {
    pub(super) fn read(folder: &Path) -> Result<Self> {
        #[cfg(feature = "fleet")]
        if folder.join(coretwin_store::fleet_folder::FLEET).exists() {
            return Ok(Self::Fleet(folder.display().to_string(), super::bundles::read(folder)?));
        }
        Ok(Self::Study(Box::new(Stored::read(folder)?)))
    }

    pub(super) fn study(&self) -> Option<&Stored> {
        match self {
            Self::Study(study) => Some(study),
            #[cfg(feature = "fleet")]
            Self::Fleet(..) => None,
        }
    }
}

impl Stored {
    fn read(folder: &Path) -> Result<Self> {
        if folder.exists() && !folder.is_dir() {
            let Imported { plan, readings, environment } = import(folder)?;
            let folder = folder.display().to_string();
            let stopped_because = StoppedBecause::Blocks;
            return Ok(Self { folder, plan, readings, environment, stopped_because });
        }
        // A survey's folder is that of its study.
        let of_survey = folder.join("study");
        let is_surveys = !folder.join(PLAN).exists() && of_survey.join(PLAN).exists();
        let folder = if is_surveys { &of_survey } else { folder };
        let (bundle, plan) = Bundle::open(folder, None)?;
        let journal = bundle.readings(&plan, Extent::Report)?;
        let line = resuming::line(&plan, folder);
        let folder = folder.display().to_string();
        if journal.torn_bytes > 0 {
            out::news(&format!("{folder}: the journal's last line is torn; it is left out"));
        }
        if !journal.readings.iter().any(|reading| reading.phase == Phase::Study) {
            return Err(usage(format!(
                "{folder} has a plan but no readings to compare; go on with it first: {line}"
            )));
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
}
