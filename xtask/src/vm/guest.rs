//! What the guest half of a suite has: its boot, the port of its results, and what it asks a guest.

use super::cpio::Archive;
use super::frame::{self, Kind};
use super::qemu::Topology;
use anyhow::{Context, Result, ensure};
use rustix::mount::{MountFlags, mount};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

/// The port of the results.
const PORT: &str = "/dev/ttyS1";

/// Mounts one file system that has no device.
pub(crate) fn mount_one(kind: &str, folder: &str, options: &str) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("making {folder}"))?;
    let options = std::ffi::CString::new(options).context("options")?;
    mount(kind, folder, kind, MountFlags::empty(), options.as_c_str())
        .with_context(|| format!("mounting {kind} on {folder}"))
}

fn open_port() -> Result<File> {
    let opening = || format!("opening {PORT}");
    let port = OpenOptions::new().read(true).write(true).open(PORT).with_context(opening)?;
    // Bytes go through as they are.
    let mut settings = tcgetattr(&port).with_context(opening)?;
    settings.make_raw();
    tcsetattr(&port, OptionalActions::Now, &settings).with_context(opening)?;
    Ok(port)
}

/// What the guest half of a suite has.
pub(crate) struct Guest {
    /// Which of the suite's boots this is.
    pub(crate) boot: String,
    /// As the machine was asked for.
    pub(crate) topology: Topology,
    /// Of every random choice.
    pub(crate) seed: u64,
    port: File,
}

impl Guest {
    /// One that tells its results at the machine's second serial port.
    pub(super) fn new(boot: &str, topology: Topology, seed: u64) -> Result<Self> {
        let mut port = open_port()?;
        frame::write(&mut port, Kind::Start, &[])?;
        Ok(Self { boot: boot.to_owned(), topology, seed, port })
    }

    /// Runs the guest half of a suite and says that this is all; whether it went to its end.
    pub(super) fn finish(mut self, suite: fn(&mut Self) -> Result<()>) -> Result<bool> {
        let started = Instant::now();
        let outcome = suite(&mut self).map(|()| String::new());
        self.tell("the suite goes to its end", &outcome, started)?;
        frame::write(&mut self.port, Kind::End, &[])?;
        // Nothing may be lost in the port's buffer when the machine is switched off.
        rustix::termios::tcdrain(&self.port).context("emptying the port")?;
        Ok(outcome.is_ok())
    }

    /// Runs a check and tells its result; whether it passed.
    pub(crate) fn check(&mut self, name: &str, check: impl FnOnce() -> Result<()>) -> Result<bool> {
        self.check_told(name, || check().map(|()| String::new()))
    }

    /// The same for a check that has something to tell when it passed.
    pub(crate) fn check_told(
        &mut self,
        name: &str,
        check: impl FnOnce() -> Result<String>,
    ) -> Result<bool> {
        let started = Instant::now();
        let outcome = check();
        self.tell(name, &outcome, started)?;
        Ok(outcome.is_ok())
    }

    fn tell(&mut self, name: &str, outcome: &Result<String>, started: Instant) -> Result<()> {
        let detail = match outcome {
            Ok(told) => told.clone(),
            Err(error) => format!("{error:#}"),
        };
        let seconds = started.elapsed().as_secs_f64();
        let result = json!({
            "check": name, "passed": outcome.is_ok(), "detail": detail, "seconds": seconds,
        });
        frame::write(&mut self.port, Kind::Result, result.to_string().as_bytes())
            .context("writing a result")
    }

    /// Gives a folder to the next boot, where it has the same name.
    pub(crate) fn bring_out(&mut self, folder: &Path) -> Result<()> {
        let mut archive = Archive::default();
        archive.tree(folder)?;
        frame::write(&mut self.port, Kind::Folder, &archive.finish())
            .context("bringing a folder out")
    }
}

/// Reads a file of the kernel's, without its last line end.
pub(crate) fn read(path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref();
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    Ok(text.trim_end().to_owned())
}

/// Runs a program to its end, whatever that is.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Result<Output> {
    Command::new(program).args(arguments).output().with_context(|| format!("starting {program}"))
}

/// Runs a program that must succeed and print JSON.
pub(crate) fn json_of(program: &str, arguments: &[&str]) -> Result<Value> {
    let output = output(program, arguments)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let command = format!("{program} {}", arguments.join(" "));
    ensure!(output.status.success(), "{command}: {}: {}", output.status, errors.trim());
    serde_json::from_slice(&output.stdout).with_context(|| format!("the JSON of {command}"))
}

/// The CPUs of a list such as `0-1,4`.
pub(crate) fn expand(list: &str) -> Result<Vec<String>> {
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.parse::<u32>().with_context(|| format!("the list {list}"));
        cpus.extend((number(first)?..=number(last)?).map(|cpu| cpu.to_string()));
    }
    Ok(cpus)
}
