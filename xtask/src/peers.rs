//! `cargo xtask peers`: schedulers of others for sched_ext, built from the registry at versions that stand here,
//! to be measured in the guest where ours is. They are programs of their own, under the GPL: never linked with
//! ours, never shipped, and gone with the target folder.

use crate::vm::cpio::Archive;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
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

/// The programs with the libraries that they load, for a guest, which has none.
pub(crate) fn archive(root: &Path) -> Result<Vec<u8>> {
    let folder = folder(root)?.join("bin");
    let mut archive = Archive::default();
    let mut libraries = BTreeSet::new();
    for (name, _) in PROGRAMS {
        let path = folder.join(name);
        ensure!(path.is_file(), "{} is missing: run cargo xtask peers", path.display());
        let listed = Command::new("ldd").arg(&path).output().context("starting ldd")?;
        libraries.extend(loaded(&String::from_utf8_lossy(&listed.stdout)));
        let content = std::fs::read(&path).with_context(|| path.display().to_string())?;
        archive.file(&format!("bin/{name}"), 0o755, &content);
    }
    let mut folders = BTreeSet::new();
    for library in &libraries {
        let above = library.ancestors().skip(1).filter(|it| *it != Path::new("/"));
        folders.extend(above.map(Path::to_path_buf));
    }
    let inside = |path: &Path| path.to_string_lossy().trim_start_matches('/').to_owned();
    folders.iter().for_each(|folder| archive.folder(&inside(folder), 0o755));
    for library in &libraries {
        let content = std::fs::read(library).with_context(|| library.display().to_string())?;
        archive.file(&inside(library), 0o755, &content);
    }
    Ok(archive.finish())
}

/// The files that a line of ldd(1) names: `libelf.so.1 => /lib/libelf.so.1 (0x…)`, or the linker's own path.
fn loaded(listed: &str) -> impl Iterator<Item = PathBuf> {
    let path = |line: &str| {
        let words = line.split_whitespace();
        words.map(PathBuf::from).find(|word| word.is_absolute())
    };
    listed.lines().filter_map(path).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_loads_is_read_from_ldd() {
        let listed = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibelf.so.1 => /lib/x/libelf.so.1 (0x7f)\n\
                      \tlibgone.so => not found\n\t/lib64/ld-linux-x86-64.so.2 (0x7f)\n";
        let found: Vec<_> = loaded(listed).collect();
        assert_eq!(found, ["/lib/x/libelf.so.1", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from));
    }
}
