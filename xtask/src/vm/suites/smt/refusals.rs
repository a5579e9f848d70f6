//! Those who may not switch, and machines that have no switch: a sentence, and nothing changes.

use super::hand::{refused, said, status};
use super::state::Arranged;
use crate::vm::guest::{Guest, output};
use anyhow::{Context, Result, ensure};
use rustix::mount::{MountFlags, mount_remount};
use std::os::unix::process::CommandExt;
use std::process::Command;

pub(super) fn run(guest: &mut Guest) -> Result<()> {
    let machine = Arranged::new()?;
    guest.check("without a word and a terminal nothing is done", || {
        refused(&machine, &output("coretwin", &["smt", "off"])?, 2, "--yes")
    })?;
    guest.check("an ordinary user is told what helps", || {
        let mut command = Command::new("coretwin");
        let output = command.args(["smt", "off", "--yes"]).uid(1000).gid(1000).output()?;
        refused(&machine, &output, 3, "sudo")
    })?;
    guest.check("a read-only sysfs is named, and what can be done instead", || {
        mount_remount("/sys", MountFlags::RDONLY, c"").context("making /sys read-only")?;
        let by_hand = output("coretwin", &["smt", "off", "--yes"]);
        let study = output("coretwin", &["study", "--switch", "--yes", "--", "/bin/true"]);
        mount_remount("/sys", MountFlags::empty(), c"").context("making /sys writable")?;
        for output in [by_hand?, study?] {
            refused(&machine, &output, 3, "read-only")?;
            refused(&machine, &output, 3, "one-per-core")?;
        }
        Ok(())
    })?;
    Ok(())
}

/// `nosmt=force`, and a machine without siblings.
pub(super) fn run_not_switchable(guest: &mut Guest) -> Result<()> {
    let word = if guest.boot == "forced" { "forceoff" } else { "notsupported" };
    guest.check("status tells the kernel's word and why it cannot be switched", || {
        let status = status()?;
        ensure!(status["control"] == word && status["switchable"] == false, "{status}");
        ensure!(status["why"].as_str().is_some_and(|why| !why.is_empty()), "no reason");
        Ok(())
    })?;
    for arguments in [&["smt", "off", "--yes"][..], &["smt", "on", "--yes"]] {
        guest.check(&format!("{} is refused with a reason", arguments[1]), || {
            let output = output("coretwin", arguments)?;
            let reason = String::from_utf8_lossy(&output.stderr).contains("SMT");
            ensure!(output.status.code() == Some(3) && reason, "{}", said(&output));
            Ok(())
        })?;
    }
    guest.check("restore finds nothing to do", || {
        let output = output("coretwin", &["smt", "restore"])?;
        ensure!(output.status.success(), "{}", said(&output));
        Ok(())
    })?;
    Ok(())
}
