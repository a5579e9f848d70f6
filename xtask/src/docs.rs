//! `cargo xtask docs`: the reference in `docs/reference`, written by the program itself and from the doc
//! comments of its records; the pictures in `docs` and the list of tests of the threat model, written by the
//! tests that hold them.

use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Writes the tables of records, then builds the program and has it write.
pub(crate) fn run(root: &Path) -> Result<bool> {
    for (path, text) in crate::tidy::formats_of(root)? {
        std::fs::write(root.join(&path), text).with_context(|| format!("writing {path}"))?;
    }
    let status = Command::new("cargo")
        .args(["run", "--quiet", "--package", "coretwin"])
        .args(crate::FEATURES)
        .args(["--", "generate", "reference", "docs/reference"])
        .current_dir(root)
        .status()
        .context("starting cargo")?;
    let pictures = Command::new("cargo")
        .args(["test", "--quiet", "-p", "coretwin-top", "-p", "coretwin-report", "picture"])
        .env("UPDATE_EXPECT", "1")
        .current_dir(root)
        .status()
        .context("starting cargo")?;
    let tests = Command::new("cargo")
        .args(["test", "--quiet", "-p", "coretwin", "--test", "security"])
        .args(crate::FEATURES)
        .arg("every_test_that_the_page_names_is_there")
        .env("UPDATE_EXPECT", "1")
        .current_dir(root)
        .status()
        .context("starting cargo")?;
    Ok(status.success() && pictures.success() && tests.success())
}
