//! `cargo xtask docs`: the reference in `docs/reference`, written by the program itself and from the doc
//! comments of its records; the table of machines in the README; the pictures in `docs` and the list of tests of the threat model, written by the
//! tests that hold them.

use anyhow::{Context, Result, ensure};
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
    machines(root)?;
    let pictures = Command::new("cargo")
        .args(["test", "--quiet", "-p", "coretwin-top", "-p", "coretwin-report", "picture"])
        .env("UPDATE_EXPECT", "1")
        .current_dir(root)
        .status()
        .context("starting cargo")?;
    let tests = Command::new("cargo")
        .args(["test", "--quiet", "-p", "coretwin", "--test", "threat_model"])
        .args(crate::FEATURES)
        .arg("every_test_that_the_page_names_is_there")
        .env("UPDATE_EXPECT", "1")
        .current_dir(root)
        .status()
        .context("starting cargo")?;
    Ok(status.success() && pictures.success() && tests.success())
}

/// Where the table of processors measured stands in a page.
const MACHINES: [&str; 2] = ["<!-- machines -->\n", "<!-- /machines -->"];

/// Writes the table of contributed machines into the README.
fn machines(root: &Path) -> Result<()> {
    let output = Command::new("cargo")
        .args(["run", "--quiet", "--package", "coretwin"])
        .args(crate::FEATURES)
        .args(["--", "generate", "machines", "data/machines"])
        .current_dir(root)
        .output()
        .context("starting cargo")?;
    ensure!(output.status.success(), "generate machines ended with {}", output.status);
    let path = root.join("README.md");
    let page = std::fs::read_to_string(&path)?;
    let (before, rest) =
        page.split_once(MACHINES[0]).context("README.md has no place for machines")?;
    let (_, after) = rest.split_once(MACHINES[1]).context("README.md: the place has no end")?;
    let [begin, end] = MACHINES;
    let table = String::from_utf8(output.stdout)?;
    Ok(std::fs::write(path, format!("{before}{begin}{table}{end}{after}"))?)
}
