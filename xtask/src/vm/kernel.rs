//! Kernels to boot: Debian's cloud kernels, fetched once through an apt of its own from the mirror
//! that the machine's own sources name, and kept in the target folder.

use super::apt::{self, Archive, Release};
use super::own::{self, run};
use anyhow::{Context, Result, bail, ensure};
use std::fmt::{self, Write};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the machine's own sources are (sources.list(5)).
const SOURCES: &str = "/etc/apt";
/// Releases of Debian that are asked: the first has a kernel before 5.15, the second one before 6.2, the third
/// the source of one that was the first with sched_ext, the others the newest.
const RELEASES: &[&str] =
    &["bullseye", "bookworm", "bookworm-backports", "trixie-backports", "sid"];
/// A package that turns out to hold no kernel is passed over, this many at most.
const TRIES_MAX: usize = 4;

/// Which kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// The newest before 5.15, the first that takes the programs that count overlap.
    Before515,
    /// The newest before 6.2, which loses the affinities of tasks when CPUs go.
    Before62,
    /// The newest there is.
    Newest,
    /// The newest of a series, such as `7.2`.
    Series(String),
    /// One of this series that is built here, from Debian's package of its source.
    Own(String),
}

impl Wish {
    /// Reads what was typed: `7.2`, or `own:6.12`.
    pub(crate) fn parse(text: &str) -> Self {
        match text.strip_prefix("own:") {
            Some(series) => Self::Own(series.to_owned()),
            None => Self::Series(text.to_owned()),
        }
    }

    fn takes(&self, release: &Release) -> bool {
        match self {
            Self::Before515 => release.is_before("5.15"),
            Self::Before62 => release.is_before("6.2"),
            Self::Newest => true,
            Self::Series(series) | Self::Own(series) => release.is_of(series),
        }
    }

    /// The name of its folder.
    fn folder(&self) -> String {
        match self {
            Self::Before515 => "before-5.15".into(),
            Self::Before62 => "before-6.2".into(),
            Self::Newest => "newest".into(),
            Self::Series(series) => format!("series-{series}"),
            Self::Own(series) => format!("own-{series}"),
        }
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Before515 => f.write_str("the newest kernel before 5.15"),
            Self::Before62 => f.write_str("the newest kernel before 6.2"),
            Self::Newest => f.write_str("the newest kernel"),
            Self::Series(series) => write!(f, "a kernel {series}"),
            Self::Own(series) => write!(f, "a kernel {series} of our own making"),
        }
    }
}

/// A kernel at hand.
#[derive(Debug, Clone)]
pub(crate) struct Kernel {
    /// As `uname -r` tells it, without the flavour.
    pub(crate) release: String,
    pub(crate) image: PathBuf,
}

impl Kernel {
    /// Whether it is too old for the programs that count overlap.
    pub(crate) fn is_old(&self) -> bool {
        Release::parse(&self.release).is_some_and(|release| release.is_before("5.15"))
    }
}

/// Gets each kernel, from `folder` if it is there, else from the archive; or the reason why it cannot
/// be had.
pub(crate) fn get(folder: &Path, wishes: &[Wish]) -> Vec<Result<Kernel>> {
    let mut packages = None;
    let mut get = |wish: &Wish| {
        if let Some(kernel) = kept(folder, wish) {
            return Ok(kernel);
        }
        let apt = Apt { folder: folder.join("apt") };
        let packages = packages.get_or_insert_with(|| apt.packages());
        match packages {
            Ok(packages) => match wish {
                Wish::Own(series) => make(folder, &apt, series),
                wish => fetch(folder, &apt, packages, wish),
            },
            Err(error) => bail!("{error:#}"),
        }
    };
    wishes.iter().map(&mut get).collect()
}

/// Releases that are at hand.
pub(crate) fn releases(folder: &Path) -> Vec<String> {
    let folders = fs::read_dir(folder).into_iter().flatten().flatten();
    let release = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("release")).ok();
    let mut releases: Vec<String> = folders.filter_map(release).collect();
    releases.sort();
    releases
}

fn kept(folder: &Path, wish: &Wish) -> Option<Kernel> {
    let folder = folder.join(wish.folder());
    let release = fs::read_to_string(folder.join("release")).ok()?;
    let image = folder.join("vmlinuz");
    image.is_file().then_some(Kernel { release, image })
}

/// Fetches the first kernel that fits, the newest first.
fn fetch(folder: &Path, apt: &Apt, packages: &str, wish: &Wish) -> Result<Kernel> {
    let mut kernels = apt::kernels(packages.lines());
    kernels.retain(|(release, _)| wish.takes(release));
    let mut reasons = String::new();
    for (release, package) in kernels.into_iter().take(TRIES_MAX) {
        let got = apt.download(package).and_then(|unpacked| {
            let image = image_in(&unpacked)?;
            fits(&image)?;
            keep(folder, wish, &release, &image)
        });
        match got {
            Ok(kernel) => return Ok(kernel),
            Err(error) => write!(reasons, "; {package}: {error:#}")?,
        }
    }
    bail!("{wish} is not in the archive of {}{reasons}", RELEASES.join(", "))
}

/// Builds a kernel of a series from its package of source, with little in it but what guests need.
fn make(folder: &Path, apt: &Apt, series: &str) -> Result<Kernel> {
    let unpacked = apt.download(&format!("linux-source-{series}"))?;
    let (release, image) = own::build(&unpacked, series)?;
    fits(&image)?;
    let wish = Wish::Own(series.to_owned());
    let kernel = keep(folder, &wish, &release, &image)?;
    // Gigabytes of objects.
    remove_folder(&unpacked).context("removing what was built")?;
    Ok(kernel)
}

/// The kernel in an unpacked package: `boot/vmlinuz-RELEASE`, since 7.0
/// `usr/lib/modules/RELEASE/vmlinuz`, with `.unsigned` after it where it is not signed.
fn image_in(folder: &Path) -> Result<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in
            fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?
        {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if entry.file_name().to_string_lossy().starts_with("vmlinuz") {
                return Ok(entry.path());
            }
        }
    }
    bail!("there is no kernel in it")
}

/// Whether a kernel can serve: here is decided which candidate is passed over for the next older
/// one, as one whose type information cannot be used would be.
fn fits(image: &Path) -> Result<()> {
    // Documentation/arch/x86/boot.rst: the magic of a kernel that a boot loader can start.
    let bytes = fs::read(image).with_context(|| format!("reading {}", image.display()))?;
    ensure!(bytes.get(0x202..0x206) == Some(b"HdrS"), "it is no kernel image of x86");
    Ok(())
}

/// Puts a kernel where [`kept`] finds it, whole or not at all.
fn keep(folder: &Path, wish: &Wish, release: &Release, image: &Path) -> Result<Kernel> {
    let (new, old) = (folder.join("new"), folder.join(wish.folder()));
    let put = || -> std::io::Result<()> {
        remove_folder(&new)?;
        fs::create_dir_all(&new)?;
        fs::copy(image, new.join("vmlinuz"))?;
        fs::write(new.join("release"), release.to_string())?;
        remove_folder(&old)?;
        fs::rename(&new, &old)
    };
    put().with_context(|| format!("writing {}", old.display()))?;
    Ok(Kernel { release: release.to_string(), image: old.join("vmlinuz") })
}

/// Removes a folder, if it is there.
pub(crate) fn remove_folder(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// An apt with lists, cache and configuration of its own; nothing of the system's is changed.
struct Apt {
    folder: PathBuf,
}

impl Apt {
    /// Names of the packages of Linux in the archive, a line each.
    fn packages(&self) -> Result<String> {
        ensure!(
            std::env::consts::ARCH == "x86_64",
            "kernels are fetched for x86_64 only, and this machine is {}",
            std::env::consts::ARCH
        );
        let archives = archives_of(Path::new(SOURCES))?;
        ensure!(
            !archives.is_empty(),
            "{SOURCES}/sources.list and sources.list.d name no archive of Debian, from which a \
             kernel could come"
        );
        self.configure(&archives)?;
        // A release that the mirror lacks must not keep the others from being used.
        let updated = self.run("apt-get", &["--quiet", "--quiet", "update"]);
        let packages = self.run("apt-cache", &["pkgnames", "linux-"])?;
        if packages.trim().is_empty() {
            updated?;
            bail!("the archive has no packages of Linux");
        }
        Ok(packages)
    }

    /// Fetches a package; the folder into which it was unpacked.
    fn download(&self, package: &str) -> Result<PathBuf> {
        let folder = self.folder.join("package");
        remove_folder(&folder)?;
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        self.run_in(&folder, "apt-get", &["--quiet", "--quiet", "download", package])?;
        let file = fs::read_dir(&folder)?.next().context("apt-get left no file")??.path();
        let unpacked = folder.join("unpacked");
        let texts = [&file, &unpacked].map(|path| path.to_string_lossy().into_owned());
        self.run_in(&folder, "dpkg-deb", &["-x", &texts[0], &texts[1]])?;
        Ok(unpacked)
    }

    fn configure(&self, archives: &[Archive]) -> Result<()> {
        let folder = self.folder.display();
        // Proxies and patience are the machine's, hooks and further sources are not.
        let dump = run(Path::new("/"), Command::new("apt-config").arg("dump"))?;
        let of_machine = |line: &&str| {
            line.starts_with("Acquire::") && !line.starts_with("Acquire::IndexTargets")
        };
        let mut configuration: String =
            dump.lines().filter(of_machine).map(|line| format!("{line}\n")).collect();
        write!(
            configuration,
            "Dir::Etc::Parts \"/dev/null\";\nDir::Etc::main \"/dev/null\";\n\
             Dir::Etc::sourcelist \"{folder}/debian.sources\";\n\
             Dir::Etc::sourceparts \"/dev/null\";\n\
             Dir::State::lists \"{folder}/lists\";\nDir::Cache \"{folder}/cache\";\n\
             Dir::Log \"{folder}\";\nAPT::Architecture \"amd64\";\n\
             APT::Architectures {{ \"amd64\"; }};\nAPT::Sandbox::User \"root\";\n\
             Acquire::Languages \"none\";\nAcquire::Retries \"2\";\n",
        )?;
        let sources = apt::sources(archives, RELEASES);
        let put = || -> std::io::Result<()> {
            for name in ["lists/partial", "cache/archives/partial"] {
                fs::create_dir_all(self.folder.join(name))?;
            }
            fs::write(self.folder.join("debian.sources"), sources)?;
            fs::write(self.folder.join("apt.conf"), configuration)
        };
        put().with_context(|| format!("writing {folder}"))
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<String> {
        self.run_in(&self.folder, program, arguments)
    }

    fn run_in(&self, folder: &Path, program: &str, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(program);
        command.args(arguments).env("APT_CONFIG", self.folder.join("apt.conf"));
        run(folder, command.env("LC_ALL", "C.UTF-8"))
    }
}

/// The archives of Debian in `sources.list` and `sources.list.d`.
fn archives_of(folder: &Path) -> Result<Vec<Archive>> {
    let mut files = vec![folder.join("sources.list")];
    if let Ok(entries) = fs::read_dir(folder.join("sources.list.d")) {
        files.extend(entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?);
    }
    files.sort();
    let mut archives = Vec::new();
    for file in files {
        let name = file.to_string_lossy();
        let known = name.ends_with(".list") || name.ends_with(".sources");
        let Some(text) = known.then(|| fs::read_to_string(&file).ok()).flatten() else { continue };
        archives.extend(apt::archives(&name, &text));
    }
    archives.dedup();
    Ok(archives)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_take_what_they_name() {
        let takes = |wish: &Wish, text: &str| wish.takes(&Release::parse(text).expect("release"));
        assert!(takes(&Wish::Before62, "6.1.0-50") && !takes(&Wish::Before62, "6.2"));
        assert!(takes(&Wish::Before515, "5.10.0-46") && !takes(&Wish::Before515, "6.1.0-50"));
        assert!(!takes(&Wish::Before62, "6.12.9") && takes(&Wish::Newest, "7.3.4+deb13"));
        let series = Wish::Series("7.2".into());
        assert!(takes(&series, "7.2.12+deb13") && !takes(&series, "7.3.4+deb13"));
    }

    #[test]
    fn sources_of_both_formats_are_found_and_others_passed_over() {
        let folder = tempfile::tempdir().expect("folder");
        let parts = folder.path().join("sources.list.d");
        fs::create_dir(&parts).expect("folder");
        assert!(archives_of(folder.path()).expect("none").is_empty());
        let line = |host: &str| format!("deb http://{host}.example/archive bookworm main\n");
        fs::write(folder.path().join("sources.list"), line("one")).expect("write");
        fs::write(parts.join("two.list"), line("two")).expect("write");
        fs::write(parts.join("three.list.disabled"), line("three")).expect("write");
        let stanza =
            "Types: deb\nURIs: http://four.example/archive\nSuites: sid\nComponents: main\n";
        fs::write(parts.join("four.sources"), stanza).expect("write");
        assert_eq!(archives_of(folder.path()).expect("archives").len(), 3);
    }

    #[test]
    fn a_kernel_is_kept_whole_and_found_again() {
        let folder = tempfile::tempdir().expect("folder");
        let image = folder.path().join("image");
        fs::write(&image, "not a kernel").expect("write");
        assert!(fits(&image).is_err());
        let mut bytes = vec![0; 0x400];
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        fs::write(&image, &bytes).expect("write");
        fits(&image).expect("a kernel");
        let release = Release::parse("6.1.0-50").expect("release");
        assert!(kept(folder.path(), &Wish::Newest).is_none());
        for _ in 0..2 {
            keep(folder.path(), &Wish::Newest, &release, &image).expect("kept");
        }
        let kernel = kept(folder.path(), &Wish::Newest).expect("found");
        assert_eq!(kernel.release, "6.1.0-50");
        assert_eq!(fs::read(kernel.image).expect("image"), bytes);
    }
}
