//! The machines of all suites, a few side by side; the boots of one machine follow each other.

use super::frame::{Frame, Kind};
use super::kept::Kept;
use super::suites::sched::{self, peers};
use super::suites::{Boot, Machine, Suite, Wanted};
use super::{image, qemu};
use crate::stages::Tally;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

/// Machines side by side. On two cores two take less time than one after the other: a boot is mostly
/// one CPU's work.
const LANES: usize = 2;
/// For thousands of tasks.
const MEMORY_MIB: u32 = 1024;

/// A machine in the queue.
struct Job {
    suite: &'static Suite,
    machine: Machine,
}

impl Job {
    /// What stands before each of its results.
    fn title(&self, boot: &Boot) -> String {
        let Machine { kernel, topology, .. } = &self.machine;
        let release = &boot.kernel.as_ref().unwrap_or(kernel).release;
        format!("{} {release} {topology} {}", self.suite.name, boot.name)
    }
}

/// Runs everything; what passed and what failed. A boot that does not come to its end is a failure.
pub(crate) fn run(
    suites: &[&'static Suite],
    wanted: &Wanted,
    archive: &[u8],
    scratch: &Path,
    kept: &Kept,
) -> Result<Tally> {
    let jobs = suites
        .iter()
        .flat_map(|suite| suite.wanted(wanted).into_iter().map(|machine| Job { suite, machine }));
    let queue = Mutex::new(jobs.enumerate().collect::<VecDeque<_>>());
    let lane = || -> Result<Tally> {
        let mut tally = Tally::default();
        loop {
            let next = queue.lock().ok().and_then(|mut queue| queue.pop_front());
            let Some((index, job)) = next else { return Ok(tally) };
            let folder = scratch.join(index.to_string());
            fs::create_dir_all(&folder)?;
            tally.add(run_job(&job, wanted.seed, archive, &folder, kept)?);
        }
    };
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|_| scope.spawn(lane)).collect();
        let mut total = Tally::default();
        for lane in lanes {
            match lane.join() {
                Ok(tally) => total.add(tally?),
                Err(_) => bail!("a lane ended badly"),
            }
        }
        Ok(total)
    })
}

/// The boots of a machine, until one does not come to its end.
fn run_job(job: &Job, seed: u64, archive: &[u8], folder: &Path, kept: &Kept) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut brought: Vec<Vec<u8>> = Vec::new();
    for boot in &job.machine.boots {
        let title = job.title(boot);
        let release = &job.machine.kernel.release;
        brought.extend(kept.archive(release, boot.name));
        if peers::BOOTS.iter().any(|(name, _)| *name == boot.name) {
            brought.push(crate::peers::archive(&crate::root())?);
        }
        let (programs, packages) = sched::brings(boot.name);
        if !programs.is_empty() {
            let paths =
                programs.iter().map(|name| super::on_path(name)).collect::<Option<Vec<_>>>();
            let Some(paths) = paths else {
                crate::print(&format!("FAILED  {title}: install {packages}\n"));
                tally.add(Tally { passed: 0, failed: 1 });
                return Ok(tally);
            };
            brought.push(image::with_libraries(&paths)?);
        }
        let mut told = String::new();
        let initramfs = folder.join(format!("{}.initramfs", boot.name));
        write_initramfs(&initramfs, archive, &brought)?;
        brought.clear();
        let console = folder.join(format!("{}.console", boot.name));
        let started = Instant::now();
        let outcome = boot_one(job, boot, seed, &initramfs, console, |frame| match frame.kind {
            Kind::Folder => {
                brought.push(frame.payload);
                Ok(())
            }
            Kind::Start => {
                crate::print(&format!("    {title}: silent, so started again\n"));
                Ok(())
            }
            Kind::Result | Kind::End => {
                told = detail(&frame).unwrap_or_else(|| std::mem::take(&mut told));
                tally.add(tell(&title, &frame)?);
                Ok(())
            }
        });
        // An archive for the next boot, or rows of a page.
        if !brought.is_empty() || told.starts_with('|') {
            kept.keep(release, boot.name, brought.last().map(Vec::as_slice), &told)?;
        }
        let seconds = started.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => crate::print(&format!("    {title}: {seconds:.1} s\n")),
            Err(error) => {
                crate::print(&format!("FAILED  {title}: after {seconds:.1} s: {error:#}\n"));
                tally.add(Tally { passed: 0, failed: 1 });
                return Ok(tally);
            }
        }
    }
    Ok(tally)
}

fn boot_one(
    job: &Job,
    boot: &Boot,
    seed: u64,
    initramfs: &Path,
    console: PathBuf,
    take: impl FnMut(Frame) -> Result<()>,
) -> Result<()> {
    let Machine { kernel, topology, .. } = &job.machine;
    let arguments =
        [job.suite.name.to_owned(), boot.name.to_owned(), topology.to_string(), seed.to_string()];
    let machine = qemu::Machine {
        kernel: boot.kernel.as_ref().unwrap_or(kernel),
        topology: *topology,
        memory_mib: MEMORY_MIB,
        command_line: boot.command_line,
        arguments: &arguments,
        initramfs,
        console,
        timeout: boot.timeout,
        clock: boot.clock,
    };
    machine.boot(take)
}

fn write_initramfs(path: &Path, archive: &[u8], brought: &[Vec<u8>]) -> Result<()> {
    let writing = || format!("writing {}", path.display());
    let mut file = File::create(path).with_context(writing)?;
    file.write_all(archive).with_context(writing)?;
    brought.iter().try_for_each(|folder| file.write_all(folder)).with_context(writing)
}

/// What a check had to tell; `None` if nothing.
fn detail(frame: &Frame) -> Option<String> {
    let result: Value = serde_json::from_slice(&frame.payload).ok()?;
    result["detail"].as_str().filter(|detail| !detail.is_empty()).map(str::to_owned)
}

/// Prints a check's result, and counts it.
fn tell(title: &str, frame: &Frame) -> Result<Tally> {
    let result: Value = serde_json::from_slice(&frame.payload).context("a result is not JSON")?;
    let text = |name: &str| result[name].as_str().unwrap_or_default();
    let passed = result["passed"] == true;
    let word = if passed { "ok    " } else { "FAILED" };
    let detail = match text("detail") {
        "" => String::new(),
        detail => format!(": {detail}"),
    };
    let seconds = result["seconds"].as_f64().unwrap_or_default();
    crate::print(&format!("{word}  {title}: {} ({seconds:.1} s){detail}\n", text("check")));
    Ok(Tally { passed: u64::from(passed), failed: u64::from(!passed) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_result_that_says_so_has_passed() {
        let count = |payload: &str| {
            let frame = Frame { kind: Kind::Result, payload: payload.as_bytes().to_vec() };
            tell("x", &frame).map(|tally| (tally.passed, tally.failed)).ok()
        };
        assert_eq!(count(r#"{"check": "a", "passed": true, "detail": null}"#), Some((1, 0)));
        assert_eq!(count(r#"{"check": "a", "passed": false, "detail": "b"}"#), Some((0, 1)));
        assert_eq!(count(r#"{"check": "a"}"#), Some((0, 1)));
        assert_eq!(count(r#"{"check": "#), None);
    }

    #[test]
    fn what_was_brought_out_follows_the_archive() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("initramfs");
        write_initramfs(&path, b"base", &[b"one1".to_vec(), b"two2".to_vec()]).expect("written");
        assert_eq!(fs::read(path).expect("read"), b"baseone1two2");
    }
}
