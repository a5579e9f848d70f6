//! This program as the first process of a boot, and the suite as its child.

use super::guest::{Guest, mount_one};
use super::qemu::Topology;
use super::suites::sched::{cost, peers};
use super::suites::table;
use anyhow::{Context, Result, bail, ensure};
use rustix::process::WaitOptions;
use rustix::process::wait;
use rustix::system::{RebootCommand, reboot};
use std::process::Command;

/// What this program is called in a guest.
const INIT: &str = "/init";
/// What is mounted before a suite begins: type and folder.
pub(super) const MOUNTS: &[(&str, &str)] = &[
    ("devtmpfs", "/dev"),
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("tmpfs", "/run"),
    ("tmpfs", "/tmp"),
    ("cgroup2", "/sys/fs/cgroup"),
];
/// Whether this program runs in a guest.
pub(crate) fn is_one() -> bool {
    std::env::args().next().as_deref() == Some(INIT)
}

/// The first process, or the suite as its child.
pub(crate) fn run(arguments: &[String]) -> Result<bool> {
    match arguments {
        _ if std::process::id() == 1 => init(arguments),
        [word, numbers @ ..] if word == cost::GROUPS => cost::groups(numbers),
        [word, scheduler, row] if word == peers::READING => peers::reading(scheduler, row),
        _ => suite(arguments),
    }
}

/// Mounts, runs the suite as a child, takes in orphans, switches off.
fn init(arguments: &[String]) -> Result<bool> {
    let outcome = mount_all().and_then(|()| run_child(arguments));
    if let Err(error) = &outcome {
        crate::print(&format!("init: {error:#}\n"));
    }
    rustix::fs::sync();
    reboot(RebootCommand::PowerOff).context("switching off")?;
    bail!("the machine is still on")
}

fn mount_all() -> Result<()> {
    for (kind, folder) in MOUNTS {
        mount_one(kind, folder, "")?;
    }
    Ok(())
}

fn run_child(arguments: &[String]) -> Result<()> {
    let child = Command::new(INIT)
        .args(arguments)
        .env("PATH", "/bin")
        .env("HOME", "/tmp")
        .spawn()
        .context("starting the suite")?;
    // Orphans are reparented to this process.
    while let Some((process, status)) = wait(WaitOptions::empty()).context("waiting")? {
        if u32::try_from(process.as_raw_nonzero().get()) == Ok(child.id()) {
            ensure!(status.exit_status() == Some(0), "the suite ended with {status:?}");
            return Ok(());
        }
    }
    bail!("the suite is gone")
}

/// The child of the first process: `SUITE BOOT TOPOLOGY SEED`.
fn suite(arguments: &[String]) -> Result<bool> {
    let [suite, boot, topology, seed] = arguments else {
        bail!("a guest needs a suite, a boot, a topology and a seed");
    };
    let suite = table::find(suite)?;
    let topology = Topology::parse(topology).context("what topology is this?")?;
    let seed = seed.parse().context("what seed is this?")?;
    Guest::new(boot, topology, seed)?.finish(suite.guest)
}
