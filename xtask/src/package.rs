//! `cargo xtask package`: static programs, man pages, completions, units, as a Debian package and as
//! an archive. Two builds of one commit are equal, byte for byte: no path of the builder is in the
//! programs, and every time is that of the commit.

use crate::{facts, notices};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Static programs run on any distribution.
const STATIC: &str = "-Ctarget-feature=+crt-static";
/// Maintainer of the package.
const MAINTAINER: &str = "the Coretwin contributors <coretwin@example.org>";
/// What dpkg runs before it removes the package.
const BEFORE_REMOVAL: &str = "packaging/prerm";
/// Files of the clone, where they go, and their modes.
const FILES: &[(&str, &str, u32)] = &[
    ("packaging/coretwin-top.service", "lib/systemd/system/coretwin-top.service", 0o644),
    ("packaging/coretwin-record.service", "lib/systemd/system/coretwin-record.service", 0o644),
    ("packaging/grafana-dashboard.json", "share/coretwin/grafana-dashboard.json", 0o644),
    ("packaging/copyright", "share/doc/coretwin/copyright", 0o644),
    ("LICENSE-MIT", "share/doc/coretwin/LICENSE-MIT", 0o644),
    ("README.md", "share/doc/coretwin/README.md", 0o644),
    ("METHOD.md", "share/doc/coretwin/METHOD.md", 0o644),
    ("FORMAT.md", "share/doc/coretwin/FORMAT.md", 0o644),
    ("LIMITS.md", "share/doc/coretwin/LIMITS.md", 0o644),
    ("CONTRIBUTING.md", "share/doc/coretwin/CONTRIBUTING.md", 0o644),
    ("SECURITY.md", "share/doc/coretwin/SECURITY.md", 0o644),
    ("CHANGELOG.md", "share/doc/coretwin/CHANGELOG.md", 0o644),
    ("packaging/lintian-overrides", "share/lintian/overrides/coretwin", 0o644),
];
/// Shells, and where each looks for its completions.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "share/bash-completion/completions/coretwin"),
    ("zsh", "share/zsh/vendor-completions/_coretwin"),
    ("fish", "share/fish/vendor_completions.d/coretwin.fish"),
];

/// What a package is built for.
struct Goal {
    /// As rustc names it.
    target: String,
    /// As Debian names it.
    architecture: &'static str,
    /// What runs its programs here, before their own name; nothing where they are this machine's.
    runner: Vec<String>,
}

impl Goal {
    /// The machine named, else this one.
    fn of(given: Option<&str>) -> Result<Self> {
        let host = facts::target()?;
        let target = given.map_or_else(|| host.clone(), str::to_owned);
        let (processor, _) = target.split_once('-').unwrap_or((&target, ""));
        let architecture = match processor {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            _ => bail!("packages are for x86_64 and aarch64, not '{target}'"),
        };
        let runner = match target == host {
            true => Vec::new(),
            false => vec![format!("qemu-{processor}")],
        };
        Ok(Self { target, architecture, runner })
    }

    /// What cargo and the libraries in C need to build for another machine, as Debian's cross compilers are named.
    fn cross(&self) -> Vec<(String, String)> {
        let Some((processor, _)) = self.target.split_once('-').filter(|_| !self.runner.is_empty())
        else {
            return Vec::new();
        };
        let (plain, upper) =
            (self.target.replace('-', "_"), self.target.replace('-', "_").to_uppercase());
        let compiler = format!("{processor}-linux-gnu-gcc");
        vec![
            (format!("CARGO_TARGET_{upper}_LINKER"), compiler.clone()),
            (format!("CC_{plain}"), compiler),
        ]
    }

    /// A program of the package, to be run here.
    fn command(&self, program: &Path) -> Command {
        let mut words = self.runner.iter().map(PathBuf::from).chain([program.to_owned()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        command
    }
}

/// Builds all of it into `target/package`, for this machine or the one named.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<bool> {
    let goal = match arguments {
        [] => Goal::of(None)?,
        [target] if !target.starts_with('-') => Goal::of(Some(target))?,
        _ => bail!("cargo xtask package [TARGET], such as aarch64-unknown-linux-gnu"),
    };
    let folder = crate::target_folder(root).join("package");
    let stage = folder.join("stage");
    if stage.exists() {
        fs::remove_dir_all(&stage).with_context(|| format!("removing {}", stage.display()))?;
    }
    let epoch = epoch(root)?;
    let programs = build(root, &folder, &goal)?;
    fill(root, &programs, &stage.join("usr"), &epoch, &goal)?;
    let architecture = goal.architecture;
    let version = env!("CARGO_PKG_VERSION");
    let archive = folder.join(format!("coretwin-{version}-{architecture}.tar.gz"));
    pack(&stage, &archive, &epoch)?;
    let package = folder.join(format!("coretwin_{version}_{architecture}.deb"));
    debian(root, &stage, &package, architecture, &epoch)?;
    for path in [&archive, &package] {
        let bytes =
            fs::metadata(path).with_context(|| format!("reading {}", path.display()))?.len();
        let mib = bytes as f64 / f64::from(1 << 20);
        crate::print(&format!("{mib:>6.1} MiB  {}\n", path.display()));
    }
    Ok(true)
}

/// The time that everything in a package has: the builder's word, else that of the commit.
fn epoch(root: &Path) -> Result<String> {
    if let Ok(given) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(given);
    }
    text_of(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root))
        .context("no git here; say the time of the source by SOURCE_DATE_EPOCH")
}

/// Markdown below a folder: the pages that README and LIMITS point to.
fn pages_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        match path.is_dir() {
            true => pages.extend(pages_below(&path)?),
            false if path.extension().is_some_and(|end| end == "md") => pages.push(path),
            false => {}
        }
    }
    pages.sort();
    Ok(pages)
}

/// Builds the programs; the folder they are in.
fn build(root: &Path, folder: &Path, goal: &Goal) -> Result<PathBuf> {
    let target = &goal.target;
    let built = folder.join("build");
    let cargo_home = std::env::var("CARGO_HOME")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))
        .context("there is neither CARGO_HOME nor HOME")?;
    // The last that fits wins: what is built lies below the root.
    let maps = [
        (root.display().to_string(), "/coretwin"),
        (cargo_home, "/cargo"),
        (built.display().to_string(), "/built"),
    ];
    let maps = maps.map(|(from, to)| format!("--remap-path-prefix={from}={to}"));
    let flags = [&[STATIC.to_owned()][..], &maps].concat();
    run_in(
        root,
        Command::new("cargo")
            .args(["build", "--profile", "dist", "--locked", "--target", target])
            .args(["--package", "coretwin", "--bins"])
            .args(crate::FEATURES)
            .env("CARGO_TARGET_DIR", &built)
            .envs(goal.cross())
            // Between flags stands a separator that no path has, as a space is one that paths have.
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}")),
    )?;
    Ok(built.join(target).join("dist"))
}

/// Puts everything in its place below `usr`.
fn fill(root: &Path, programs: &Path, usr: &Path, epoch: &str, goal: &Goal) -> Result<()> {
    for name in ["coretwin", "coretwin-worker"] {
        place(&programs.join(name), &usr.join("bin").join(name), 0o755)?;
    }
    for (from, to, mode) in FILES {
        place(&root.join(from), &usr.join(to), *mode)?;
    }
    for page in pages_below(&root.join("docs"))? {
        let to = usr.join("share/doc/coretwin").join(page.strip_prefix(root)?);
        place(&page, &to, 0o644)?;
    }
    let coretwin = usr.join("bin/coretwin");
    for (shell, to) in COMPLETIONS {
        let script = text_of(goal.command(&coretwin).args(["generate", "completions", shell]))?;
        write(&usr.join(to), format!("{script}\n").as_bytes())?;
    }
    let notices = notices::text(&facts::packages(root, &goal.target)?)?;
    write(&usr.join("share/doc/coretwin/licences.txt"), notices.as_bytes())?;
    let pages = usr.join("share/man/man1");
    run_in(root, goal.command(&coretwin).args(["generate", "man"]).arg(&pages))?;
    for page in fs::read_dir(&pages)? {
        // -n: neither name nor time.
        run_in(root, Command::new("gzip").args(["-9", "-n"]).arg(page?.path()))?;
    }
    // Debian's own form (deb-changelog(5)), whose date dpkg and its tools read.
    let date = text_of(
        Command::new("date").args(["--utc", "--rfc-email", "--date"]).arg(format!("@{epoch}")),
    )?;
    let changelog = format!(
        "coretwin ({}) unstable; urgency=medium\n\n  * As CHANGELOG.md tells.\n\n -- {MAINTAINER}  {date}\n",
        env!("CARGO_PKG_VERSION")
    );
    write(&usr.join("share/doc/coretwin/changelog"), changelog.as_bytes())?;
    for name in ["changelog", "licences.txt"] {
        let path = usr.join("share/doc/coretwin").join(name);
        run_in(root, Command::new("gzip").args(["-9", "-n"]).arg(path))?;
    }
    Ok(())
}

fn place(from: &Path, to: &Path, mode: u32) -> Result<()> {
    let bytes = fs::read(from).with_context(|| format!("reading {}", from.display()))?;
    write(to, &bytes)?;
    fs::set_permissions(to, fs::Permissions::from_mode(mode))?;
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    fs::write(path, bytes).with_context(|| format!("writing {}", path.display()))
}

/// An archive sorted by name, without owners, with one timestamp.
fn pack(stage: &Path, archive: &Path, epoch: &str) -> Result<()> {
    let plain = archive.with_extension("");
    run_in(
        stage,
        Command::new("tar")
            .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"])
            .args(["--mode=u=rwX,go=rX", &format!("--mtime=@{epoch}"), "--create", "--file"])
            .arg(&plain)
            .arg("usr"),
    )?;
    run_in(stage, Command::new("gzip").args(["-9", "-n", "--force"]).arg(&plain))
}

/// The Debian package.
fn debian(
    root: &Path,
    stage: &Path,
    package: &Path,
    architecture: &str,
    epoch: &str,
) -> Result<()> {
    let kib = installed_kib(&stage.join("usr"))?;
    let version = env!("CARGO_PKG_VERSION");
    let control = format!(
        "Package: coretwin\nVersion: {version}\nArchitecture: {architecture}\n\
         Maintainer: {MAINTAINER}\nInstalled-Size: {kib}\n\
         Section: admin\nPriority: optional\nSuggests: linux-perf\n\
         Description: laboratory for simultaneous multithreading (SMT, Hyper-Threading)\n \
         Tells, with intervals, whether SMT should be on for a workload on a machine.\n \
         Compares arms in balanced blocks, switches SMT with an undo, accounts CPU time\n \
         beside busy siblings, and simulates what is not at hand.\n"
    );
    write(&stage.join("DEBIAN/control"), control.as_bytes())?;
    place(&root.join(BEFORE_REMOVAL), &stage.join("DEBIAN/prerm"), 0o755)?;
    // Folders and files as they are installed, whatever the builder's umask.
    run_in(stage, Command::new("chmod").args(["-R", "u=rwX,go=rX", "."]))?;
    run_in(
        stage,
        Command::new("dpkg-deb")
            .args(["--root-owner-group", "-Zxz", "--build"])
            .arg(stage)
            .arg(package)
            .env("SOURCE_DATE_EPOCH", epoch),
    )
}

/// What the package takes when installed, as Debian counts (deb-substvars(5)): files in whole KiB,
/// everything else one, so that it is the same on every file system.
fn installed_kib(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let entry = entry?;
        let file = entry.metadata()?;
        sum += if file.is_dir() {
            1 + installed_kib(&entry.path())?
        } else {
            file.len().div_ceil(1024)
        };
    }
    Ok(sum)
}

fn run_in(folder: &Path, command: &mut Command) -> Result<()> {
    let program = command.get_program().display().to_string();
    let status = command.current_dir(folder).status();
    let status = status.with_context(|| format!("starting {program}; is it installed?"))?;
    ensure!(status.success(), "{program} ended with {status}");
    Ok(())
}

/// What a command prints, without the line end.
fn text_of(command: &mut Command) -> Result<String> {
    let program = command.get_program().display().to_string();
    let output = command.output().with_context(|| format!("starting {program}"))?;
    ensure!(output.status.success(), "{program} ended with {}", output.status);
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_package_is_there_and_installed_for_all_to_read() {
        for (from, to, mode) in FILES {
            assert!(crate::root().join(from).is_file(), "{from}");
            assert!(mode & 0o022 == 0 && !to.starts_with('/'), "{to}");
        }
    }

    #[test]
    fn another_machine_is_built_for_by_its_cross_compiler_and_run_by_its_emulator() {
        let goal = Goal::of(Some("aarch64-unknown-linux-gnu")).expect("known");
        assert_eq!(goal.architecture, "arm64");
        assert!(goal.cross().contains(&(
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER".to_owned(),
            "aarch64-linux-gnu-gcc".to_owned()
        )));
        assert_eq!(goal.command(Path::new("/x")).get_program(), "qemu-aarch64");
        let here = Goal::of(None).expect("this machine");
        assert_eq!((here.cross(), here.runner), (Vec::new(), Vec::new()));
        assert!(Goal::of(Some("riscv64gc-unknown-linux-gnu")).is_err());
        assert!(run(Path::new("/"), &["--target".to_owned()]).is_err());
    }

    #[test]
    fn two_archives_of_equal_files_are_equal() {
        let folder = tempfile::tempdir().expect("folder");
        let archive = |name: &str, mode| {
            let stage = folder.path().join(name);
            write(&stage.join("usr/b/x"), b"x").expect("file");
            write(&stage.join("usr/a"), b"a").expect("file");
            fs::set_permissions(stage.join("usr/a"), fs::Permissions::from_mode(mode))
                .expect("mode");
            let archive = folder.path().join(format!("{name}.tar.gz"));
            pack(&stage, &archive, "1700000000").expect("packed");
            fs::read(archive).expect("archive")
        };
        assert_eq!(archive("one", 0o600), archive("two", 0o664));
    }
}
