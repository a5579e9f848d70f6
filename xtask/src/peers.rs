//! `cargo xtask peers`: schedulers of others for sched_ext, built from the registry at versions that stand here,
//! to be measured in the guest where ours is. They are programs of their own, under the GPL: never linked with
//! ours, never shipped, and gone with the target folder.

use crate::vm::image;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Each is a program of the name of its package.
pub(crate) const PROGRAMS: &[(&str, &str)] = &[
    ("scx_bpfland", "1.1.4"),
    ("scx_lavd", "1.1.4"),
    ("scx_rusty", "1.1.4"),
    ("scx_cosmos", "1.1.7"),
    ("scx_p2dq", "1.1.4"),
];
/// Compilers of BPF programs, the first that is there.
const CLANGS: &[&str] = &["clang", "clang-19", "clang-18", "clang-17", "clang-16"];

fn folder(root: &Path) -> Result<PathBuf> {
    Ok(std::path::absolute(crate::target_folder(root))?.join("peers"))
}

/// Builds those that are not there at their version; whether all are.
pub(crate) fn run(root: &Path) -> Result<bool> {
    let folder = folder(root)?;
    let mut clangs = CLANGS.iter().filter_map(|name| crate::vm::on_path(name));
    let clang = clangs.next().context("there is no clang; .ci/needs study installs one")?;
    let mut failed = Vec::new();
    for (name, version) in PROGRAMS {
        crate::print(&format!("peers: {name} {version}\n"));
        // Whole-program optimisation of five programs takes longer than all they are measured for.
        let status = Command::new("cargo")
            .args(["install", "--quiet", "--locked", "--version", version, name, "--root"])
            .arg(&folder)
            .env("CARGO_TARGET_DIR", folder.join("build"))
            .env("CARGO_PROFILE_RELEASE_LTO", "off")
            .env("BPF_CLANG", &clang)
            .current_dir("/")
            .status()
            .context("starting cargo")?;
        if !status.success() {
            failed.push(*name);
        }
    }
    if !failed.is_empty() {
        crate::print(&format!(
            "peers: not built: {}; they need libelf-dev, zlib1g-dev and libbpf's other needs (see above)\n",
            failed.join(", ")
        ));
    }
    Ok(failed.is_empty())
}

/// The programs with the libraries that they load, for a guest.
pub(crate) fn archive(root: &Path) -> Result<Vec<u8>> {
    let folder = folder(root)?.join("bin");
    let paths: Vec<PathBuf> = PROGRAMS.iter().map(|(name, _)| folder.join(name)).collect();
    image::with_libraries(&paths).context("cargo xtask peers builds them")
}
