//! What a guest boots into: an archive with the static binaries, busybox, and this program as
//! `/init`.

use super::cpio::Archive;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The profile in the workspace's Cargo.toml.
const PROFILE: &str = "vm";
/// Tests that run in a guest, too: their crate, their target, and their program there.
const TESTS: &[(&str, &str, &str)] = &[
    ("coretwin-bpf", "overlap", "bin/overlap-tests"),
    ("coretwin-account", "agree", "bin/agree-tests"),
];
/// A guest has no dynamic linker. And no relocations: under emulation they are most of what a short
/// program does.
const FLAGS: &str = "-C target-feature=+crt-static -C relocation-model=static";
/// Where a statically linked busybox is; the package busybox-static.
const BUSYBOX: &str = "busybox";
/// Programs of busybox that suites use.
const APPLETS: &[&str] = &["sh", "cat", "echo", "gzip", "kill", "ls", "sleep", "taskset", "true"];
/// Folders on which something is mounted, or in which programs expect to write.
pub(super) const FOLDERS: &[&str] = &["bin", "dev", "etc", "proc", "run", "sys", "tmp", "var"];
/// The same in every boot, as on a machine.
const MACHINE_ID: &str = "0123456789abcdef0123456789abcdef\n";

/// Where busybox is, or why a guest cannot be made.
pub(crate) fn busybox() -> Result<PathBuf> {
    let advice = "install the package busybox-static";
    let path = super::on_path(BUSYBOX)
        .with_context(|| format!("there is no busybox on this machine; {advice}"))?;
    let content = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
    ensure!(is_static(&content), "{} needs a dynamic linker; {advice}", path.display());
    Ok(path)
}

/// Whether a program runs where there is no dynamic linker, whose name would be near its start.
fn is_static(program: &[u8]) -> bool {
    let start = &program[..program.len().min(4096)];
    !start.windows(4).any(|bytes| bytes == b"/ld-")
}

/// Where cargo's messages say that the program of a target of tests is: its name has a hash in it.
fn test_program(messages: &[u8], target: &str) -> Option<PathBuf> {
    let lines = messages.split(|&byte| byte == b'\n');
    let mut messages = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    messages.find_map(|message| {
        let of_tests =
            message["target"]["name"] == target && message["target"]["kind"][0] == "test";
        message["executable"].as_str().filter(|_| of_tests).map(PathBuf::from)
    })
}

/// Builds the binaries into `folder` and packs them; the archive.
pub(crate) fn build(root: &Path, folder: &Path) -> Result<Vec<u8>> {
    let output = Command::new("cargo")
        .args(["build", "--quiet", "--profile", PROFILE, "--target", TARGET])
        .args(["--package", "coretwin", "--bins", "--package", "xtask"])
        .args(TESTS.iter().flat_map(|(package, name, _)| ["--package", package, "--test", name]))
        .args(["--features", "bpf"])
        .args(["--message-format", "json-render-diagnostics"])
        .env("CARGO_TARGET_DIR", folder)
        .env("RUSTFLAGS", FLAGS)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("starting cargo")?;
    ensure!(output.status.success(), "the static binaries do not build");
    let built = folder.join(TARGET).join(PROFILE);
    let mut archive = Archive::default();
    for name in FOLDERS {
        archive.folder(name, 0o755);
    }
    // The kernel gives it to /init as its standard streams.
    archive.device("dev/console", 0o600, 5, 1);
    archive.file("etc/machine-id", 0o444, MACHINE_ID.as_bytes());
    archive.file(
        "etc/passwd",
        0o644,
        b"root:x:0:0:root:/:/bin/sh\nguest:x:1000:1000::/tmp:/bin/sh\n",
    );
    archive.file("etc/group", 0o644, b"root:x:0:\nguest:x:1000:\n");
    let mut programs = vec![
        ("init", built.join("xtask")),
        ("bin/coretwin", built.join("coretwin")),
        ("bin/coretwin-worker", built.join("coretwin-worker")),
        ("bin/busybox", busybox()?),
    ];
    for (_, target, name) in TESTS {
        let tests = test_program(&output.stdout, target);
        programs.push((name, tests.context("cargo does not say where the tests are")?));
    }
    for (name, path) in programs {
        let content =
            std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        archive.file(name, 0o755, &content);
    }
    for applet in APPLETS {
        archive.link(&format!("bin/{applet}"), BUSYBOX);
    }
    Ok(archive.finish())
}

/// An archive of programs with the libraries that they load, for a guest has none.
pub(crate) fn with_libraries(programs: &[PathBuf]) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    let mut libraries = BTreeSet::new();
    for path in programs {
        let name = path.file_name().context("a program without a name")?.to_string_lossy();
        ensure!(path.is_file(), "{} is missing", path.display());
        let listed = Command::new("ldd").arg(path).output().context("starting ldd")?;
        libraries.extend(loaded(&String::from_utf8_lossy(&listed.stdout)));
        let content = std::fs::read(path).with_context(|| path.display().to_string())?;
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
    fn the_program_of_the_tests_is_found_among_cargos_messages() {
        let message = |kind: &str, executable: &str| {
            format!(
                r#"{{"target": {{"name": "overlap", "kind": ["{kind}"]}}, "executable": {executable}}}"#
            )
        };
        let messages = [message("lib", "null"), "x".into(), message("test", r#""/a/b-1""#)];
        let found = test_program(messages.join("\n").as_bytes(), "overlap");
        assert_eq!(found.as_deref(), Some(Path::new("/a/b-1")));
        assert_eq!(test_program(messages[0].as_bytes(), "overlap"), None);
        assert_eq!(test_program(messages.join("\n").as_bytes(), "agree"), None);
    }

    #[test]
    fn a_program_that_needs_a_linker_is_told_apart() {
        let this = std::env::current_exe().expect("path");
        assert!(!is_static(&std::fs::read(this).expect("read")), "tests are linked dynamically");
        assert!(is_static(b"\x7fELF") && !is_static(b"\x7fELF\0/lib64/ld-linux-x86-64.so.2\0"));
    }

    #[test]
    fn what_a_program_loads_is_read_from_ldd() {
        let listed = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibelf.so.1 => /lib/x/libelf.so.1 (0x7f)\n\
                      \tlibgone.so => not found\n\t/lib64/ld-linux-x86-64.so.2 (0x7f)\n";
        let found: Vec<_> = loaded(listed).collect();
        assert_eq!(found, ["/lib/x/libelf.so.1", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from));
    }
}
