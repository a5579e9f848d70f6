//! `cargo xtask python`: DuckDB, pandas and polars in `target/python`, for the tests that read our datasets with
//! them. Nothing is installed or kept outside of the target folder.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// What is installed, in versions that the tests were written with.
const PACKAGES: &[&str] =
    &["duckdb==2.0.0", "pandas==3.1.1", "pyarrow==26.0.1", "polars==2.1.0", "matplotlib==3.11.2"];

/// Lists what was installed, once all of it was.
const DONE: &str = "installed.txt";

/// Makes it where it is not there yet. Without Python it says so, and those tests skip.
pub(crate) fn run(root: &Path) -> Result<bool> {
    let folder = crate::target_folder(root).join("python");
    let wanted = PACKAGES.join("\n");
    if fs::read_to_string(folder.join(DONE)).is_ok_and(|done| done == wanted) {
        crate::print(&format!("{} is there already\n", folder.display()));
        return Ok(true);
    }
    let mut python = Command::new("python3");
    if !python
        .args(["-c", "import ensurepip, venv"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|end| end.success())
    {
        crate::print(
            "skipped: there is no python3 with its venv (Debian's package python3-venv); datasets \
             are not read by DuckDB and pandas\n",
        );
        return Ok(true);
    }
    crate::print(&format!("installing {} into {}\n", PACKAGES.join(", "), folder.display()));
    let made = Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder).status();
    ensure!(made.context("starting python3")?.success(), "python3 -m venv failed");
    let installed = Command::new(folder.join("bin/python"))
        .args(["-m", "pip", "install", "--quiet", "--no-cache-dir", "--only-binary=:all:"])
        .args(["--disable-pip-version-check", "--no-input"])
        .args(PACKAGES)
        .status()
        .context("starting pip")?;
    ensure!(installed.success(), "pip cannot install them; it needs a package index it can reach");
    fs::write(folder.join(DONE), wanted).context("writing what was installed")?;
    Ok(true)
}
