//! `cargo xtask study`: from a clone to a report on this machine, within six minutes after the build.

use anyhow::{Context, Result, bail};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// What is studied where nothing else is asked for: the rooms of the article's Tables 3 and 4, with
/// fewer messages than its 100, so that the blocks a verdict needs fit into the time on a busy
/// machine too.
const ROWS: &[&str] = &[
    "chat:rooms=20,messages=40",
    "chat:rooms=30,messages=40",
    "chat:rooms=40,messages=40",
    "chat:rooms=50,messages=40",
];

/// The study; where its time is too short on a machine as busy as this, which is status 2, or others
/// leave it nothing, which is status 5, a screening of the same rows. A shell waits for what it runs when Ctrl-C comes, and then ends as that did.
const STUDY_OR_SCREENING: &str = r#"
study=$1; shift
"$study" study --budget 5m "$@"; status=$?
[ $status = 2 ] || [ $status = 5 ] || exit $status
echo "so this machine is screened instead: three blocks, and no verdict"
exec "$study" study --quick "$@"
"#;

/// Builds, and becomes the study, so that Ctrl-C reaches it alone.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<bool> {
    let built = Command::new("cargo")
        .args(["build", "--release", "--package", "coretwin", "--bins"])
        .args(crate::FEATURES)
        .current_dir(root)
        .status()
        .context("starting cargo")?;
    if !built.success() {
        bail!("the build failed");
    }
    let program = crate::target_folder(root).join("release/coretwin");
    let error = study(&program, arguments).current_dir(root).exec();
    Err(error).with_context(|| format!("starting {}", program.display()))
}

/// The usual study, or another.
fn study(program: &Path, arguments: &[String]) -> Command {
    if !arguments.is_empty() {
        let mut study = Command::new(program);
        study.arg("study").args(arguments);
        return study;
    }
    let mut shell = Command::new("sh");
    shell.args(["-c", STUDY_OR_SCREENING, "study"]).arg(program).args(ROWS);
    shell
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is printed, and the status, where a study of five minutes ends with one.
    fn ran(status: i32, arguments: &[&str]) -> (String, Option<i32>) {
        let folder = tempfile::tempdir().expect("folder");
        let program = folder.path().join("coretwin");
        // Written by another process: a file that this one has open for writing cannot be executed, nor
        // while a process that another test has just forked still has it.
        let script = format!(
            "printf '#!/bin/sh\\necho \"$@\"\\ncase $* in *--budget*) exit {status} ;; esac\\n' >$0; \
             chmod 755 $0"
        );
        let written = Command::new("sh").arg("-c").arg(script).arg(&program).status();
        assert!(written.expect("sh").success());
        let arguments: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
        let output = study(&program, &arguments).output();
        let output = output.expect("output");
        (String::from_utf8(output.stdout).expect("text"), output.status.code())
    }

    #[test]
    fn a_machine_too_busy_for_a_study_is_screened() {
        let rows = ROWS.join(" ");
        let whole = format!("study --budget 5m {rows}\n");
        assert_eq!(ran(0, &[]), (whole.clone(), Some(0)));
        assert_eq!(ran(3, &[]), (whole.clone(), Some(3)), "another failure is told");
        for too_busy in [2, 5] {
            let (said, status) = ran(too_busy, &[]);
            assert!(said.starts_with(&whole), "{said}");
            assert!(said.ends_with(&format!("study --quick {rows}\n")), "{said}");
            assert_eq!(status, Some(0));
        }
        assert_eq!(ran(2, &["--budget", "1m"]), ("study --budget 1m\n".into(), Some(2)));
    }
}
