//! Accounting on a guest's real siblings: the tests of the program that sees every switch, and of the
//! other methods beside it, with the kernel's own map, two and four siblings to a core, on kernels old
//! and new. On one that is too old for it: that this is said, and the other methods serve.

use super::{Boot, Machine, Suite, Wanted};
use crate::vm::guest::{Guest, json_of, mount_one, output};
use crate::vm::qemu::Topology;
use anyhow::{Context, Result, ensure};
use std::process::Command;

pub(crate) const SUITE: Suite = Suite {
    name: "account",
    about: "alone and shared time on two and four siblings, by every switch; hotplug; nothing left",
    machines,
    guest,
};

/// The tests of `crates/bpf` and of `crates/account`, linked statically, and how many there are at least.
const TESTS: [(&str, usize); 2] = [("/bin/overlap-tests", 8), ("/bin/agree-tests", 1)];

/// The boot of a kernel that does not take the program.
const OLD: &str = "old";

/// Two and four siblings to a core; for every change the first alone.
const SHAPES: &[Topology] = &[Topology::new(1, 2, 2), Topology::new(1, 1, 4)];

/// Every kernel, in every shape.
fn machines(wanted: &Wanted) -> Vec<Machine> {
    let boot = Boot::only(15);
    let shapes = if wanted.fast { &SHAPES[..1] } else { SHAPES };
    let all = wanted.kernels.iter().flat_map(|kernel| {
        shapes.iter().map(|&topology| Machine {
            kernel: kernel.clone(),
            topology,
            boots: vec![boot.clone()],
        })
    });
    let old = wanted.old.iter().map(|kernel| Machine {
        kernel: kernel.clone(),
        topology: Topology::new(1, 2, 2),
        boots: vec![Boot { name: OLD, ..boot.clone() }],
    });
    all.chain(old).collect()
}

fn guest(guest: &mut Guest) -> Result<()> {
    if guest.boot == OLD {
        return old(guest);
    }
    mount_one("tracefs", "/sys/kernel/tracing", "")?;
    for (program, least) in TESTS {
        for name in tests(program, least)? {
            let title = name.replace("::", ": ").replace('_', " ");
            guest.check_told(&title, || test(program, &name))?;
        }
    }
    Ok(())
}

/// The names of all tests of a program.
fn tests(program: &'static str, least: usize) -> Result<Vec<String>> {
    let output = Command::new(program).args(["--list"]).output().context(program)?;
    let text = String::from_utf8(output.stdout).context("the names of tests")?;
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    let names: Vec<String> =
        names.filter(|name| !name.ends_with("::child")).map(str::to_owned).collect();
    ensure!(names.len() >= least, "{program} has {} tests", names.len());
    Ok(names)
}

/// Runs one; what it told. None may be skipped here.
fn test(program: &'static str, name: &str) -> Result<String> {
    let mut command = Command::new(program);
    command.args(["--exact", name, "--nocapture"]).env("CORETWIN_HOTPLUG", "1");
    command.env("CORETWIN_EMULATED", "1").env("RUST_BACKTRACE", "0");
    let output = command.output().context(program)?;
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

/// A kernel that does not take the program.
fn old(guest: &mut Guest) -> Result<()> {
    guest.check_told("that the kernel is too old is said", || {
        let mut told = String::new();
        // Beside a command 3 would be the command's.
        for (rest, status) in [(&["--", "true"][..], 125), (&["--all", "--for", "1s"], 3)] {
            let asked = output("coretwin", &[&["account", "--method", "ebpf"], rest].concat())?;
            let said = String::from_utf8_lossy(&asked.stderr).trim().to_owned();
            ensure!(asked.status.code() == Some(status), "{}: {said}", asked.status);
            ensure!(said.contains("5.15"), "it says {said}");
            told = said;
        }
        Ok(told)
    })?;
    for method in ["sampled", "bounds"] {
        guest.check_told(&format!("{method} serves"), || {
            // What was asked for, or what is taken without being asked.
            let asked = ["--method", method];
            let asked: &[&str] = if method == "sampled" { &[] } else { &asked };
            let work = ["--", "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"];
            let words = [&["account", "--json"], asked, &work].concat();
            let account = json_of("coretwin", &words)?;
            ensure!(account["method"] == method, "it took {}", account["method"]);
            let raw_s = account["raw_s"].as_f64().context("no raw time")?;
            ensure!(raw_s > 0.0, "{raw_s} s");
            Ok(format!("{raw_s:.2} s"))
        })?;
    }
    Ok(())
}
