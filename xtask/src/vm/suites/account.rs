//! Accounting on a guest's real siblings: the tests of the program that sees every switch, with the
//! kernel's own map, two and four siblings to a core, on kernels old and new.

use super::{Boot, Machine, Suite, Wanted};
use crate::vm::guest::{Guest, mount_one};
use crate::vm::qemu::Topology;
use anyhow::{Context, Result, ensure};
use std::process::Command;

pub(crate) const SUITE: Suite = Suite {
    name: "account",
    about: "alone and shared time on two and four siblings, by every switch; hotplug; nothing left",
    machines,
    guest,
};

/// The tests of `crates/bpf`, linked statically.
const TESTS: &str = "/bin/overlap-tests";

/// Every kernel, with two and with four siblings to a core; for every change two of the four.
fn machines(wanted: &Wanted) -> Vec<Machine> {
    let boot = Boot::only(15);
    let shapes = [Topology::new(1, 2, 2), Topology::new(1, 1, 4)];
    let all = wanted.kernels.iter().enumerate().flat_map(|(at, kernel)| {
        let boot = boot.clone();
        shapes
            .into_iter()
            .enumerate()
            .filter(move |(shape, _)| !wanted.fast || *shape == at % 2)
            .map(move |(_, topology)| Machine {
                kernel: kernel.clone(),
                topology,
                boots: vec![boot.clone()],
            })
    });
    all.collect()
}

fn guest(guest: &mut Guest) -> Result<()> {
    mount_one("tracefs", "/sys/kernel/tracing", "")?;
    for name in tests()? {
        guest.check_told(&name.replace("::", ": ").replace('_', " "), || test(&name))?;
    }
    Ok(())
}

/// The names of all tests.
fn tests() -> Result<Vec<String>> {
    let output = Command::new(TESTS).args(["--list"]).output().context(TESTS)?;
    let text = String::from_utf8(output.stdout).context("the names of tests")?;
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    let names: Vec<String> =
        names.filter(|name| !name.ends_with("::child")).map(str::to_owned).collect();
    ensure!(names.len() >= 8, "there are {} tests", names.len());
    Ok(names)
}

/// Runs one; what it told. None may be skipped here.
fn test(name: &str) -> Result<String> {
    let mut command = Command::new(TESTS);
    command.args(["--exact", name, "--nocapture"]).env("CORETWIN_HOTPLUG", "1");
    command.env("CORETWIN_EMULATED", "1").env("RUST_BACKTRACE", "0");
    let output = command.output().context(TESTS)?;
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {} {}", output.status, said.trim(), errors.trim());
    let told = said.lines().filter(|line| {
        !line.is_empty() && !line.starts_with("running ") && !line.starts_with("test ")
    });
    let told: Vec<&str> = told.collect();
    ensure!(!told.iter().any(|line| line.contains("skipped: ")), "{}", told.join("; "));
    Ok(told.join("; "))
}
