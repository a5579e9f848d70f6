//! What goes into a survey's bundle: put together in a folder, shown, then written.

use super::{CPUTIME_FOLDER, DONE_WORD, STUDY_FOLDER};
use crate::out;
use anyhow::Result;
use coretwin_base::fleet::MemberState;
use coretwin_base::fleet::plan::{BundleHolds, Manifest};
use coretwin_base::fleet::survey::Survey;
use coretwin_base::schema::SCHEMA;
use coretwin_host::root::Root;
use coretwin_lab::fleet::survey::{self, FILE, Private};
use coretwin_lab::probe;
use coretwin_report::topology::labelled;
use coretwin_store::{CPUTIME, ENVIRONMENT, JOURNAL, PLAN, fleet_bundle};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

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
}

impl Contents {
    /// Puts the files together. What is not there is left out.
    pub(super) fn gather(folder: &Path, survey: &Survey, private: &Private) -> Result<Self> {
        let files = folder.join("bundle");
        let [study, cputime] = [STUDY_FOLDER, CPUTIME_FOLDER].map(|name| folder.join(name));
        fs::create_dir(&files)?;
        if study.join(JOURNAL).exists() {
            private.copy_study(&study, &files)?;
        }
        if cputime.join(CPUTIME).exists() {
            private.copy_cputime(&cputime, &files)?;
        }
        out::file(&files.join(FILE), serde_json::to_vec_pretty(survey)?)?;
        Ok(Self { folder: files, parent: folder.to_owned(), survey: survey.clone() })
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
        let sizes = self.files().into_iter().map(|(name, path)| {
            let bytes = fs::metadata(path).map_or(0, |file| file.len());
            format!("{name} {} KB", bytes.div_ceil(1000))
        });
        let sizes = sizes.collect::<Vec<_>>().join(", ");
        lines.push(("files".to_owned(), format!("{sizes}, in {}", self.folder.display())));
        let out = "host name, users, paths, boot id, kernel command line, output of programs";
        lines.push(("left out".to_owned(), out.to_owned()));
        let mark =
            survey.origin.mark().map(|mark| format!("{mark}: it does not count as measured\n"));
        format!("\nIn the bundle:\n{}{}", mark.unwrap_or_default(), labelled(&lines, columns))
    }

    pub(super) fn write(&self, root: &Root, drawn: u64) -> Result<PathBuf> {
        let survey = &self.survey;
        let undone = survey.steps.iter().find(|step| step.result != DONE_WORD);
        let state = undone.map_or(MemberState::Complete, |step| {
            MemberState::Partial(format!("{}: {}", step.name, step.result))
        });
        let machine = survey::machine(root, drawn);
        let model = survey.facts.get("cpu.model").map_or("unknown processor", String::as_str);
        let manifest = Manifest {
            schema: SCHEMA,
            coretwin: env!("CARGO_PKG_VERSION").to_owned(),
            fleet: survey::plan().digest,
            task: 0,
            name: format!("{model} {}", machine.get(..4).unwrap_or_default()),
            machine,
            holds: BundleHolds::Survey,
            state,
            files: BTreeMap::new(),
        };
        Ok(fleet_bundle::write(&self.parent, manifest, &self.files())?)
    }
}
