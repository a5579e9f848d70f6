//! `cargo xtask docs`: the reference in `docs/reference`, written by the program itself.

use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Builds the program and has it write.
pub(crate) fn run(root: &Path) -> Result<bool> {
    let status = Command::new("cargo")
        .args(["run", "--quiet", "--package", "coretwin"])
        .args(crate::FEATURES)
        .args(["--", "generate", "reference", "docs/reference"])
        .current_dir(root)
        .status()
        .context("starting cargo")?;
    Ok(status.success())
}
