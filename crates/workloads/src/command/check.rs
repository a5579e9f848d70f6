//! Checks a command before anything is run.

use super::extract::Extractor;
use crate::counters::EVENTS;
use coretwin_base::study::command::CommandSpec;
use rustix::fs::{Access, access};
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::Path;

pub(super) const WALL: &str = "wall_per_run_s";
/// User CPU time of one run, server included, in seconds.
pub(super) const USER: &str = "user_per_run_s";
/// System CPU time of one run, server included, in seconds.
pub(super) const SYSTEM: &str = "system_per_run_s";
const RESERVED: [&str; 4] = [WALL, USER, SYSTEM, "peak_memory_kib"];

/// Checks a command before a study: its program can be run, its metrics can be read, at most one
/// of them is primary (without one, the wall time is). The error says what to do.
pub fn check(spec: &CommandSpec) -> Result<(), String> {
    let program = spec.argv.first().filter(|program| !program.is_empty());
    let program = program.ok_or("no command was given; write it after --")?;
    if let Some(folder) = &spec.folder {
        let found = metadata(Path::new(folder), "the folder")?;
        if !found.is_dir() {
            return Err(format!("the folder '{folder}' is not a folder"));
        }
        access(folder.as_str(), Access::EXEC_OK)
            .map_err(|error| format!("the folder '{folder}' may not be entered: {error}"))?;
    }
    // A program whose name is still to be filled in is looked for when it is started.
    if !program.contains('{') {
        find(program, spec.folder.as_deref())?;
    }
    let mut names = BTreeSet::from(RESERVED);
    names.extend(EVENTS.iter().flat_map(|(event, ..)| [event.name, event.user_name]));
    for metric in &spec.metrics {
        if !names.insert(&metric.name) {
            let name = &metric.name;
            return Err(format!("there is another metric '{name}'; give it a name of its own"));
        }
        Extractor::new(metric)?;
    }
    if spec.metrics.iter().filter(|metric| metric.primary).count() > 1 {
        return Err("more than one metric is primary; only one number can be compared".to_owned());
    }
    for (what, seconds) in [("least time", spec.min_time_s), ("time limit", spec.timeout_s)] {
        if seconds.is_nan() || seconds < 0.0 {
            return Err(format!("the {what} of {seconds} s is not a time"));
        }
    }
    if spec.min_time_s >= spec.timeout_s {
        return Err(format!(
            "the least time of {} s is not below the time limit of {} s",
            spec.min_time_s, spec.timeout_s
        ));
    }
    Ok(())
}

/// Finds a program as exec does: by its path, or in the folders of PATH.
fn find(program: &str, folder: Option<&str>) -> Result<(), String> {
    let runs = |path: &Path| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if program.contains('/') {
        let path = Path::new(folder.unwrap_or(".")).join(program);
        let found = metadata(&path, "the command")?;
        return match found.is_file() {
            true => access(&path, Access::EXEC_OK)
                .map_err(|error| format!("'{program}' is not executable: {error}")),
            false => Err(format!("'{program}' is not executable: it is not a file")),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    if std::env::split_paths(&path).any(|folder| runs(&folder.join(program))) {
        return Ok(());
    }
    Err(format!("the command '{program}' is in no folder of PATH; give its path"))
}

/// What is known of a path, or why nothing is: that there is nothing, and that one may not look,
/// are told apart.
fn metadata(path: &Path, what: &str) -> Result<Metadata, String> {
    path.metadata().map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("{what} '{}' does not exist", path.display()),
        ErrorKind::PermissionDenied => format!(
            "{what} '{}' cannot be reached: a folder on the way may not be entered by this user \
             ({error})",
            path.display()
        ),
        _ => format!("{what} '{}' cannot be looked at: {error}", path.display()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::study::command::{Extract, MetricSpec};
    use coretwin_base::study::reading::Better;

    fn spec(argv: &[&str], metrics: &[(&str, Extract, bool)]) -> CommandSpec {
        let metric = |(name, extract, primary): &(&str, Extract, bool)| MetricSpec {
            name: (*name).to_owned(),
            extract: extract.clone(),
            unit: String::new(),
            better: Better::Higher,
            primary: *primary,
        };
        CommandSpec {
            argv: argv.iter().map(|arg| (*arg).to_owned()).collect(),
            metrics: metrics.iter().map(metric).collect(),
            server: None,
            setup: None,
            prepare: None,
            cleanup: None,
            min_time_s: 0.0,
            timeout_s: 10.0,
            folder: None,
            load: None,
        }
    }

    #[test]
    fn what_can_be_run_passes() {
        let number = Extract::Regex("([0-9]+)".to_owned());
        let pointer = Extract::JsonPointer("/a/0".to_owned());
        for good in [
            spec(&["sh", "-c", "true"], &[]),
            spec(&["/bin/sh"], &[("a", number, true), ("b", pointer, false)]),
            spec(&["./tool-{threads}"], &[]),
            CommandSpec { folder: Some("/bin".to_owned()), ..spec(&["./sh"], &[]) },
        ] {
            assert_eq!(check(&good), Ok(()));
        }
    }

    #[test]
    fn what_cannot_is_explained() {
        let regex = |text: &str| Extract::Regex(text.to_owned());
        for (bad, part) in [
            (spec(&[], &[]), "no command"),
            (spec(&["coretwin-no-such-program"], &[]), "no folder of PATH"),
            (spec(&["/no/such"], &[]), "does not exist"),
            (spec(&["/etc/passwd"], &[]), "not executable"),
            (spec(&["/bin"], &[]), "not executable"),
            (spec(&["sh"], &[("a", regex("("), true)]), "regular expression"),
            (spec(&["sh"], &[("a", Extract::JsonPointer("a".to_owned()), true)]), "JSON pointer"),
            (spec(&["sh"], &[("a", regex("x"), true), ("b", regex("y"), true)]), "primary"),
            (spec(&["sh"], &[("a", regex("x"), true), ("a", regex("y"), false)]), "another metric"),
            (spec(&["sh"], &[("peak_memory_kib", regex("x"), true)]), "another metric"),
            (CommandSpec { min_time_s: 10.0, ..spec(&["sh"], &[]) }, "not below"),
            (CommandSpec { min_time_s: f64::NAN, ..spec(&["sh"], &[]) }, "not a time"),
            (
                CommandSpec { folder: Some("/no/such".to_owned()), ..spec(&["sh"], &[]) },
                "does not exist",
            ),
            (
                CommandSpec { folder: Some("/etc/passwd".to_owned()), ..spec(&["sh"], &[]) },
                "not a folder",
            ),
        ] {
            let error = check(&bad).expect_err(part);
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
