//! What goes into a survey's bundle: put together in a folder, shown, then written.

use super::{CPUTIME_FOLDER, DONE_WORD, STUDY_FOLDER};
use crate::exit::usage;
use crate::out;
use anyhow::Result;
use coretwin_base::fleet::plan::{BundleHolds, Manifest};
use coretwin_base::fleet::survey::Survey;
use coretwin_base::fleet::{MachineId, MemberState};
use coretwin_base::schema::SCHEMA;
use coretwin_lab::fleet::survey::{self, FILE, Private};
use coretwin_lab::probe;
use coretwin_report::topology::labelled;
use coretwin_store::fleet_bundle::{self, MANIFEST, unpacked};
use coretwin_store::{CPUTIME, ENVIRONMENT, JOURNAL, PLAN};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Folder of what is packed, in a survey's.
const PACKED: &str = "bundle";
const FILES: [&str; 5] = [FILE, CPUTIME, PLAN, JOURNAL, ENVIRONMENT];
/// What is shown of a survey's facts; the files have all of them.
const SHOWN: [&str; 7] = [
    "cpu.model",
    "cpu.microcode",
    "kernel.release",
    "hypervisor",
    "smt.control",
    "smt.siblings",
    "clock.source",
];

pub(super) struct Contents {
    /// Where the files lie, as they are packed.
    folder: PathBuf,
    parent: PathBuf,
    survey: Survey,
    manifest: Manifest,
}

impl Contents {
    /// Puts the files together. What is not there is left out.
    pub(super) fn gather(
        folder: &Path,
        survey: Survey,
        machine: MachineId,
        private: &Private,
    ) -> Result<Self> {
        let files = folder.join(PACKED);
        let [study, cputime] = [STUDY_FOLDER, CPUTIME_FOLDER].map(|name| folder.join(name));
        fs::create_dir(&files)?;
        if study.join(JOURNAL).exists() {
            private.copy_study(&study, &files)?;
        }
        if cputime.join(CPUTIME).exists() {
            private.copy_cputime(&cputime, &files)?;
        }
        let manifest = manifest(&survey, machine);
        out::file(&files.join(FILE), serde_json::to_vec_pretty(&survey)?)?;
        out::file(&files.join(MANIFEST), serde_json::to_vec_pretty(&manifest)?)?;
        Ok(Self { folder: files, parent: folder.to_owned(), survey, manifest })
    }

    /// What an earlier survey put together. Errors: if it did not come so far, or that does not read.
    pub(super) fn again(folder: &Path) -> Result<Self> {
        let files = folder.join(PACKED);
        if !files.join(MANIFEST).exists() {
            let why = format!(
                "{} holds no survey that came to its end; make one: coretwin survey",
                folder.display()
            );
            return Err(usage(why));
        }
        let survey = unpacked(&files.join(FILE))?;
        let manifest = unpacked(&files.join(MANIFEST))?;
        Ok(Self { folder: files, parent: folder.to_owned(), survey, manifest })
    }

    pub(super) fn survey_folder(&self) -> &Path {
        &self.parent
    }

    fn files(&self) -> Vec<(&'static str, PathBuf)> {
        let files = FILES.map(|name| (name, self.folder.join(name)));
        files.into_iter().filter(|(_, path)| path.exists()).collect()
    }

    /// What a reader of the bundle would see.
    pub(super) fn shown(&self, columns: usize) -> String {
        let survey = &self.survey;
        let shown = SHOWN.iter().filter_map(|name| {
            survey.facts.get(*name).map(|value| ((*name).to_owned(), value.clone()))
        });
        let mut lines: Vec<(String, String)> = shown.collect();
        let probed = survey.probe.as_ref().map(probe::sentence);
        lines.extend(probed.map(|text| ("probe".to_owned(), text)));
        let blocks = survey.doctor.iter().filter(|check| check.level == "blocks");
        let blocks: Vec<&str> = blocks.map(|check| check.name.as_str()).collect();
        let scheduler = match blocks.is_empty() {
            true => "can be loaded".to_owned(),
            false => format!("cannot be loaded: {}", blocks.join(", ")),
        };
        lines.push(("scheduler".to_owned(), scheduler));
        for step in &survey.steps {
            lines.push(("step".to_owned(), format!("{}: {}", step.name, step.result)));
        }
        let id = format!(
            "{}: a hash that tells two surveys of a machine from those of two",
            self.manifest.machine
        );
        lines.push(("machine".to_owned(), id));
        let sizes = self.files().into_iter().map(|(name, path)| {
            let bytes = fs::metadata(path).map_or(0, |file| file.len());
            format!("{name} {} KB", bytes.div_ceil(1000))
        });
        let sizes = sizes.collect::<Vec<_>>().join(", ");
        let files = format!("{sizes}, and {MANIFEST}; in {}", self.folder.display());
        lines.push(("files".to_owned(), files));
        let out = "host name, users, paths, boot id, kernel command line, output of programs";
        lines.push(("left out".to_owned(), out.to_owned()));
        let mark =
            survey.origin.mark().map(|mark| format!("{mark}: it does not count as measured\n"));
        format!("\nIn the bundle:\n{}{}", mark.unwrap_or_default(), labelled(&lines, columns))
    }

    pub(super) fn write(&self) -> Result<PathBuf> {
        Ok(fleet_bundle::write(&self.parent, self.manifest.clone(), &self.files())?)
    }
}

fn manifest(survey: &Survey, machine: MachineId) -> Manifest {
    let undone = survey.steps.iter().find(|step| step.result != DONE_WORD);
    let state = undone.map_or(MemberState::Complete, |step| {
        MemberState::Partial(format!("{}: {}", step.name, step.result))
    });
    let model = survey.facts.get("cpu.model").map_or("unknown processor", String::as_str);
    Manifest {
        schema: SCHEMA,
        coretwin: env!("CARGO_PKG_VERSION").to_owned(),
        fleet: survey::plan().digest,
        task: 0,
        name: format!("{model} {}", machine.get(..4).unwrap_or_default()),
        machine,
        holds: BundleHolds::Survey,
        state,
        files: BTreeMap::new(),
    }
}
