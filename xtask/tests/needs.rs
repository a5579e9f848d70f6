//! What `make` says before it begins: no toolchain, an old one, one that does not run, nowhere to
//! build, packages that cannot be installed, crates that cannot be had. Everything it looks for is put into a
//! folder of its own, so nothing on this machine is touched.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the script itself is made of.
const TOOLS: &[&str] = &[
    "awk", "cat", "cut", "dirname", "du", "head", "iconv", "id", "mkdir", "sed", "sh", "sort",
    "true",
];

/// What a build needs besides a toolchain.
const PROGRAMS: &[&str] = &[
    "cc",
    "clang-19",
    "make",
    "pkg-config",
    "autoreconf",
    "automake",
    "autopoint",
    "flex",
    "bison",
    "gawk",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// Written by a child, for what this process holds open for writing, children of its other threads hold
/// too, and execve(2) refuses.
fn script(path: &Path, text: &str) {
    let lines = r#"rm -f "$0" && printf '#!/bin/sh\n%s\n' "$1" >"$0" && chmod 755 "$0""#;
    let status = Command::new("/bin/sh").args(["-c", lines]).arg(path).arg(text).status();
    assert!(status.expect("a shell").success(), "{} is written", path.display());
}

/// A machine on which a build works, until something is taken away.
struct World {
    folder: tempfile::TempDir,
    target: OsString,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("folder");
        let target = folder.path().join("target").into_os_string();
        let world = Self { folder, target };
        for tool in TOOLS {
            let real = ["/usr/bin", "/bin"].map(|place| Path::new(place).join(tool));
            let real = real.into_iter().find(|path| path.exists()).expect(tool);
            symlink(real, world.folder.path().join(tool)).expect("link");
        }
        for program in PROGRAMS {
            world.put(program, "exit 0");
        }
        world.put("rustc", "echo 'rustc 1.999.0 (x)'");
        world.put("cargo", "exit 0");
        world.put("df", "echo; echo none 0 0 102400000 0% /");
        world
    }

    fn put(&self, name: &str, text: &str) {
        script(&self.folder.path().join(name), text);
    }

    fn without(&self, name: &str) {
        fs::remove_file(self.folder.path().join(name)).expect(name);
    }

    /// Whether all is well, and what was said.
    fn ask(&self) -> (bool, String) {
        let output = Command::new("/bin/sh")
            .arg(root().join(".ci/needs"))
            .arg("study")
            .env_clear()
            .env("PATH", self.folder.path())
            .env("CARGO_TARGET_DIR", &self.target)
            .output()
            .expect("sh");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    fn refuses(&self, part: &str) {
        let (well, said) = self.ask();
        assert!(!well && said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_toolchain_that_is_missing_old_or_broken_is_named_with_what_to_do() {
    let world = World::new();
    for old in ["1.63.0", "1.94.1", "1.9.0"] {
        world.put("rustc", &format!("echo 'rustc {old} (x)'"));
        world.refuses(&format!("Rust {old} is too old, 1.95 or later is needed: rustup update"));
    }
    world.put("rustc", "echo 'error: no default toolchain' >&2; exit 1");
    world.refuses("does not run: error: no default toolchain");
    world.without("rustc");
    world.refuses("rustc is missing; install Rust 1.95 or later with rustup");
    let world = World::new();
    world.without("cargo");
    world.refuses("cargo is missing");
}

#[test]
fn new_toolchains_are_taken() {
    let world = World::new();
    for new in ["1.95.0", "1.100.0", "1.97.0-nightly", "2.0.0"] {
        world.put("rustc", &format!("echo 'rustc {new} (x)'"));
        let (_, said) = world.ask();
        assert!(!said.contains("too old"), "{said}");
    }
}

#[test]
fn a_place_where_nothing_can_be_built_is_named_with_the_way_around() {
    let mut world = World::new();
    world.target = world.folder.path().join("with a space").into_os_string();
    assert!(world.ask().0, "a space does no harm");
    world.target = "/proc/none".into();
    world.refuses("cannot make /proc/none; name another place: CARGO_TARGET_DIR=");
    let mut world = World::new();
    world.put("df", "echo; echo none 0 0 102400 0% /");
    world.refuses("100 MiB are free at");
    world.put("df", "echo; echo none 0 0 1024000 0% /");
    let (well, said) = world.ask();
    assert!(well && said.contains("1000 MiB are free") && said.contains("going on"), "{said}");
    let foreign = [world.folder.path().as_os_str().as_bytes(), b"/\xff"].concat();
    world.target = OsString::from_vec(foreign);
    world.refuses("is not UTF-8, which cargo cannot take");
}

#[test]
fn packages_that_cannot_be_installed_are_listed() {
    let world = World::new();
    world.without("clang-19");
    world.refuses("there is no apt-get here");
    world.put("apt-get", "echo 'E: no network'; exit 100");
    world.put("id", "echo 0");
    world.refuses("apt-get failed, its reason is above; no network? With one, install by hand");
    world.put("id", "echo 1000");
    world.refuses("not root, and sudo asks for a password or is missing");
    // What would do is installed, and nothing else.
    world.put("sudo", "shift; exec \"$@\"");
    world.put("apt-get", "echo \"$@\"; echo");
    let (well, said) = world.ask();
    assert!(well && said.contains("install -y --no-install-recommends clang-19"), "{said}");
}

#[test]
fn crates_that_cannot_be_had_are_said_with_the_ways_to_them() {
    let world = World::new();
    world.put("cargo", "if [ \"$1\" = fetch ]; then echo 'error: no network'; exit 101; fi");
    world.refuses("Once, it needs the network and a home it may write to (CARGO_HOME)");
}
