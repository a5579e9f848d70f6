//! One boot: QEMU, always with its own translator. Console and results have a serial port each.
//!
//! KVM is never used, even where `/dev/kvm` opens: inside another virtual machine it often starts
//! and then fails. All CPUs of a guest share one thread: while one of them waits in a loop for the others,
//! as all do when a CPU goes, it gives way to them, and takes no core of the host from another guest.
//! What a guest shows is what a kernel decides, never how fast siblings are.

use super::frame::{Frame, Kind, Parser};
use super::kernel::Kernel;
use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A host that is busy gives the guest no time to see its timer tick, and old kernels panic. Tests of the kernel's own
/// ciphers and its watching of memory take a slow CPU's time for half a minute, beside what a suite measures.
const QUIET: &str = "no_timer_check cryptomgr.notests damon_stat.enabled=N";

/// The emulator; the package qemu-system-x86.
const QEMU: &str = "qemu-system-x86_64";
/// Ends a child with its parent, so that nothing is left by a Ctrl-C or a kill; of util-linux.
const SETPRIV: &str = "setpriv";
/// A guest on a busy host begins within half of this.
const SILENT: Duration = Duration::from_secs(240);
/// Lines of the console that are shown when a boot fails.
const TAIL_LINES: usize = 40;

/// Packages, cores in each, threads on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Topology {
    pub(crate) packages: u32,
    pub(crate) cores: u32,
    pub(crate) threads: u32,
}

impl Topology {
    /// A topology of this shape.
    pub(crate) const fn new(packages: u32, cores: u32, threads: u32) -> Self {
        Self { packages, cores, threads }
    }

    /// CPUs of all packages.
    pub(crate) fn cpus(self) -> u32 {
        self.packages * self.cores * self.threads
    }

    /// Reads what [`fmt::Display`] wrote.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('x').map(|number| number.parse().ok());
        let topology = Self::new(numbers.next()??, numbers.next()??, numbers.next()??);
        numbers.next().is_none().then_some(topology)
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.packages, self.cores, self.threads)
    }
}

/// How time passes in a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// As on the host, which may leave the guest alone for a while.
    Host,
    /// By its instructions, four nanoseconds each, and at once while all its CPUs are idle: whatever else the
    /// host does, the guest does not see it.
    Instructions,
}

/// What to boot.
pub(crate) struct Machine<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) topology: Topology,
    pub(crate) memory_mib: u32,
    /// For the kernel, besides what every boot has.
    pub(crate) command_line: &'a str,
    /// Of `/init`; words without blanks.
    pub(crate) arguments: &'a [String],
    /// What the guest boots into.
    pub(crate) initramfs: &'a Path,
    /// Where the console is written.
    pub(crate) console: PathBuf,
    /// From start to power off.
    pub(crate) timeout: Duration,
    /// How time passes.
    pub(crate) clock: Clock,
}

/// Where QEMU is, or why nothing can be booted.
pub(crate) fn qemu() -> Result<PathBuf> {
    super::on_path(QEMU)
        .with_context(|| format!("there is no {QEMU} on this machine (package qemu-system-x86)"))
}

impl Machine<'_> {
    /// Boots, hands over every frame as it comes, and waits for the end. A guest that has not begun in [`SILENT`] is
    /// started again, once, of which `take` hears as of a start: an emulator (QEMU 10) was once silent until its time was
    /// up, its console empty.
    pub(crate) fn boot(&self, mut take: impl FnMut(Frame) -> Result<()>) -> Result<()> {
        if !self.boot_once(SILENT.min(self.timeout), &mut take)? {
            take(Frame { kind: Kind::Start, payload: Vec::new() })?;
            self.boot_once(self.timeout, &mut take)?;
        }
        Ok(())
    }

    /// The same without another try; whether it began before `silent_until`.
    fn boot_once(
        &self,
        silent_until: Duration,
        take: &mut dyn FnMut(Frame) -> Result<()>,
    ) -> Result<bool> {
        let mut child = self.start()?;
        let outcome = self.follow(&mut child, silent_until, take);
        // Already gone if all went well.
        let killed = child.kill();
        let status = child.wait().context("waiting for QEMU")?;
        killed.ok();
        outcome.map_err(|error| {
            let console = tail(&self.console);
            error.context(format!("{status}; the console ended with\n{console}"))
        })
    }

    fn start(&self) -> Result<Child> {
        let mut command = match super::on_path(SETPRIV) {
            Some(setpriv) => {
                let mut command = Command::new(setpriv);
                command.args(["--pdeathsig", "KILL", "--"]).arg(qemu()?);
                command
            }
            None => Command::new(qemu()?),
        };
        let Topology { packages, cores, threads } = self.topology;
        command
            .args(["-accel", "tcg,thread=single", "-cpu", "max,vendor=GenuineIntel"])
            .args(["-machine", "q35", "-m", &self.memory_mib.to_string(), "-smp"])
            .arg(format!(
                "{},sockets={packages},cores={cores},threads={threads}",
                self.topology.cpus()
            ))
            .args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"])
            .arg("-serial")
            .arg(format!("file:{}", self.console.display()))
            .args(["-chardev", "stdio,id=results,signal=off", "-serial", "chardev:results"])
            .arg("-kernel")
            .arg(&self.kernel.image)
            .arg("-initrd")
            .arg(self.initramfs)
            .arg("-append")
            .arg(format!(
                "console=ttyS0 quiet panic=-1 {QUIET} {} -- {}",
                self.command_line,
                self.arguments.join(" ")
            ));
        if self.clock == Clock::Instructions {
            command.args(["-icount", "shift=2,sleep=off"]);
        }
        let errors = File::create(self.console.with_extension("errors"))?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
        command.spawn().context("starting QEMU")
    }

    /// Reads frames until the guest has ended and QEMU with it.
    fn follow(
        &self,
        child: &mut Child,
        silent_until: Duration,
        take: &mut dyn FnMut(Frame) -> Result<()>,
    ) -> Result<bool> {
        let started = Instant::now();
        let mut output = child.stdout.take().context("QEMU has no output")?;
        let mut parser = Parser::default();
        let (mut ended, mut heard) = (false, false);
        let mut bytes = vec![0; 1 << 16];
        loop {
            let until = if heard { self.timeout } else { silent_until };
            let left = until.saturating_sub(started.elapsed());
            let wait = Timespec::try_from(left).context("a time-out too long")?;
            match poll(&mut [PollFd::new(&output, PollFlags::IN)], Some(&wait)) {
                Ok(0) if until < self.timeout => return Ok(false),
                Ok(0) => bail!("the guest did not end within {} s", self.timeout.as_secs()),
                Err(rustix::io::Errno::INTR) => continue,
                ready => ready.context("waiting for the guest")?,
            };
            let count = output.read(&mut bytes).context("reading the results")?;
            if count == 0 {
                break;
            }
            heard = true;
            for frame in parser.push(&bytes[..count])? {
                match frame.kind {
                    Kind::Start => {}
                    Kind::End => ended = true,
                    Kind::Result | Kind::Folder => take(frame)?,
                }
            }
        }
        if parser.unfinished_bytes() > 0 {
            bail!("the guest stopped in the middle of a message");
        }
        if !ended {
            bail!("the guest stopped before its end");
        }
        Ok(true)
    }
}

/// The last lines of what the console and QEMU itself said.
fn tail(console: &Path) -> String {
    let text = |path: &Path| {
        fs::read(path)
            .map_or_else(|_| String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let said = text(console) + &text(&console.with_extension("errors"));
    let lines: Vec<&str> = said.lines().map(str::trim_end).collect();
    let start = lines.len().saturating_sub(TAIL_LINES);
    lines[start..].iter().map(|line| format!("    {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topology_is_read_as_it_was_written() {
        let topology = Topology::new(2, 4, 2);
        assert_eq!((topology.to_string().as_str(), topology.cpus()), ("2x4x2", 16));
        assert_eq!(Topology::parse("2x4x2"), Some(topology));
        for bad in ["", "2x2", "2x2x2x2", "axbxc"] {
            assert_eq!(Topology::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_end_of_a_console_is_shown_whatever_is_in_it() {
        let folder = tempfile::tempdir().expect("folder");
        let console = folder.path().join("boot.console");
        assert_eq!(tail(&console), "");
        let lines: String = (0..100).map(|line| format!("line {line}\r\n")).collect();
        fs::write(&console, lines + "\u{1b}[0m").expect("write");
        fs::write(console.with_extension("errors"), b"qemu: \xff no").expect("write");
        let text = tail(&console);
        assert_eq!(text.lines().count(), TAIL_LINES);
        assert!(text.contains("line 99\n") && text.ends_with("no\n"), "{text}");
    }
}
