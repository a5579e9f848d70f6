//! `cargo xtask study`: from a clone to a report on this machine in six minutes after the build.

use anyhow::{Context, Result, bail};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// What is studied where nothing else is asked for.
const ARGUMENTS: &[&str] = &["chat", "--budget", "5m"];

/// Builds, says where the report will be, and becomes the study, so that Ctrl-C reaches it alone.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<bool> {
    let built = Command::new("cargo")
        .args(["build", "--release", "--package", "coretwin", "--bins"])
        .current_dir(root)
        .status()
        .context("starting cargo")?;
    if !built.success() {
        bail!("the build failed");
    }
    let folder = format!("study-{}", stamp(SystemTime::now()));
    crate::print(&format!("The report will be in {folder}/report.html\n\n"));
    let default: Vec<String> = ARGUMENTS.iter().map(|&text| text.to_owned()).collect();
    let arguments = if arguments.is_empty() { &default } else { arguments };
    let program = crate::target_folder(root).join("release/coretwin");
    let error = Command::new(&program)
        .args(["study", "--out", &folder])
        .args(arguments)
        .current_dir(root)
        .exec();
    Err(error).with_context(|| format!("starting {}", program.display()))
}

/// A time in UTC as `2026-01-31-235959`, so that folders sort by age.
fn stamp(now: SystemTime) -> String {
    let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{day:02}-{hour:02}{minute:02}{second:02}")
}

/// Year, month and day of a number of days since 1970 (Gregorian calendar).
fn date(mut days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    for (month, length) in (1..).zip(months) {
        if days < length {
            return (year, month, days + 1);
        }
        days -= length;
    }
    (year, 12, 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn folders_are_named_by_the_time_in_utc() {
        for (seconds, text) in [
            (0, "1970-01-01-000000"),
            (951_782_400, "2000-02-29-000000"),
            (1_735_689_599, "2024-12-31-235959"),
            (4_107_542_400, "2100-03-01-000000"),
        ] {
            assert_eq!(stamp(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
