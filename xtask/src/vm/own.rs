//! Kernels of our own making: from Debian's package of a kernel's source, with a configuration that has
//! little but what guests and sched_ext need; about four minutes on two cores.

use super::apt::Release;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is set beyond `allnoconfig`.
const CONFIGURATION: &str = include_str!("own.txt");
/// Programs that the build needs, and their packages.
const TOOLS: &[(&str, &str)] = &[
    ("make", "make"),
    ("gcc", "gcc"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("pahole", "dwarves"),
    ("xz", "xz-utils"),
];

/// Builds the kernel whose source is in an unpacked package; its release and image.
pub(super) fn build(unpacked: &Path, series: &str) -> Result<(Release, PathBuf)> {
    for (program, package) in TOOLS {
        ensure!(
            super::on_path(program).is_some(),
            "building a kernel needs {program} (package {package})"
        );
    }
    let packed = unpacked.join(format!("usr/src/linux-source-{series}.tar.xz"));
    run(unpacked, Command::new("tar").arg("xf").arg(&packed))?;
    let source = unpacked.join(format!("linux-source-{series}"));
    let make = |arguments: &[&str]| run(&source, Command::new("make").args(arguments));
    fs::write(source.join("own.config"), CONFIGURATION).context("writing the configuration")?;
    make(&["--silent", "allnoconfig"])?;
    let merge = ["scripts/kconfig/merge_config.sh", "-m", ".config", "own.config"];
    run(&source, Command::new("sh").args(merge))?;
    make(&["--silent", "olddefconfig"])?;
    let configured = fs::read_to_string(source.join(".config")).context("the configuration")?;
    let lacks = missing(CONFIGURATION, &configured);
    ensure!(lacks.is_empty(), "this source does not take {}", lacks.join(", "));
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    make(&["--silent", &format!("-j{cpus}"), "bzImage"])?;
    let release = make(&["--silent", "kernelrelease"])?;
    let release = Release::parse(release.trim()).context("it has no release")?;
    Ok((release, source.join("arch/x86/boot/bzImage")))
}

/// Runs a command to its end; what it printed.
pub(super) fn run(folder: &Path, command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .current_dir(folder)
        .output()
        .with_context(|| format!("starting {program}; is this a Debian?"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program}: {}: {}", output.status, errors.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Lines that are wanted and not there.
fn missing<'a>(wanted: &'a str, configured: &str) -> Vec<&'a str> {
    let there = |line: &&str| configured.lines().any(|other| other == *line);
    let lines = wanted.lines().filter(|line| line.starts_with("CONFIG_"));
    lines.filter(|line| !there(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_source_does_not_take_is_named() {
        let wanted = "# for schedulers\nCONFIG_SCHED_CLASS_EXT=y\nCONFIG_SMP=y\n";
        assert_eq!(missing(wanted, "CONFIG_SMP=y\n"), ["CONFIG_SCHED_CLASS_EXT=y"]);
        assert!(missing(wanted, wanted).is_empty());
    }

    #[test]
    fn the_configuration_has_what_the_scheduler_asks_for() {
        for option in ["SCHED_CLASS_EXT", "DEBUG_INFO_BTF", "SCHED_SMT", "HOTPLUG_CPU"] {
            assert!(CONFIGURATION.contains(&format!("CONFIG_{option}=y\n")), "{option}");
        }
    }
}
