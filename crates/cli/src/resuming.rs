//! Folders of results, of a study or of an experiment of `cputime`: the name of a new one, one that is
//! opened to be resumed, and the command that resumes it.

use crate::exit::usage;
use crate::host;
use anyhow::Result;
use coretwin_base::study::plan::Plan;
use coretwin_host::root::Root;
use coretwin_lab::host_machine::now_utc;
use coretwin_store::{Bundle, JOURNAL};
use std::path::{Path, PathBuf};

/// The verb that made a plan, and resumes it.
fn verb(plan: &Plan) -> &'static str {
    if plan.cputime.is_some() { "cputime" } else { "study" }
}

/// Opens a folder to be resumed by a verb. Errors: if it cannot be opened, or is for the other verb
/// to resume.
pub(crate) fn open(folder: &Path, by: &str) -> Result<(Bundle, Plan)> {
    let (bundle, plan) = Bundle::open(folder, host::owner(&Root::system())?)?;
    let holds = match verb(&plan) {
        verb if verb == by => return Ok((bundle, plan)),
        "cputime" => "an experiment of cputime",
        _ => "a study",
    };
    let line = line(&plan, folder);
    Err(usage(format!("{} holds {holds}; go on with: {line}", folder.display())))
}

pub(crate) fn new_folder(kind: &str) -> PathBuf {
    let now = now_utc();
    let stamp: String = now
        .trim_end_matches('Z')
        .chars()
        .filter(|c| !matches!(c, '-' | ':'))
        .map(|c| if c == 'T' { '-' } else { c })
        .collect();
    // Two may begin in one second.
    let again = (2u32..).map(|number| PathBuf::from(format!("{kind}-{stamp}-{number}")));
    let mut names = std::iter::once(PathBuf::from(format!("{kind}-{stamp}"))).chain(again);
    names.find(|name| !name.exists()).expect("numbers go on for longer than folders do")
}

pub(crate) fn line(plan: &Plan, folder: &Path) -> String {
    crate::out::command(&format!("{} --resume", verb(plan)), folder)
}

pub(crate) fn go_on(plan: &Plan, folder: &Path) -> String {
    let line = line(plan, folder);
    format!("what was measured is kept in {}; go on with: {line}", folder.display())
}

/// How to resume after an error, which may have come before the first reading.
pub(crate) fn after_error(plan: &Plan, bundle: &Bundle) -> String {
    match bundle.path(JOURNAL).exists() {
        true => go_on(plan, bundle.folder()),
        false => {
            let line = line(plan, bundle.folder());
            format!("no reading is kept; begin again with: {line}")
        }
    }
}
