//! `cargo xtask study`: from a clone to a report on this machine, within six minutes after the build.

use anyhow::{Context, Result, bail};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// What is studied where nothing else is asked for: the rooms of the article's Tables 3 and 4, with
/// fewer messages than its 100, so that the blocks a verdict needs fit into the time on a busy
/// machine too.
const ARGUMENTS: &[&str] = &[
    "--budget",
    "5m",
    "chat:rooms=20,messages=40",
    "chat:rooms=30,messages=40",
    "chat:rooms=40,messages=40",
    "chat:rooms=50,messages=40",
];

/// Builds, and becomes the study, so that Ctrl-C reaches it alone.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<bool> {
    let built = Command::new("cargo")
        .args(["build", "--release", "--package", "coretwin", "--bins"])
        .args(crate::FEATURES)
        .current_dir(root)
        .status()
        .context("starting cargo")?;
    if !built.success() {
        bail!("the build failed");
    }
    let default: Vec<String> = ARGUMENTS.iter().map(|&text| text.to_owned()).collect();
    let arguments = if arguments.is_empty() { &default } else { arguments };
    let program = crate::target_folder(root).join("release/coretwin");
    let error = Command::new(&program).arg("study").args(arguments).current_dir(root).exec();
    Err(error).with_context(|| format!("starting {}", program.display()))
}
