//! `cargo xtask soak [MINUTES]`: what watches a machine for hours, or serves, keeps nothing of what has
//! passed.
//!
//! `top` and `account` really run so long, while the machine does whatever else it does, and their
//! memory is read from /proc. Once warm, its floor may rise no more than by what they are known to keep:
//! a busy window needs megabytes for a moment, and they give them back within half a minute. A [`storm`] of
//! tasks comes first, so that there are such windows.
//! [`servers`] are visited by [`clients`], good and bad, meanwhile. All of it costs little, so that it may
//! run beside other checks.

mod clients;
mod servers;
mod storm;

use crate::print;
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long, if nothing is said.
const MINUTES: u64 = 10;
/// Gives another number of minutes.
const VARIABLE: &str = "CORETWIN_SOAK_MINUTES";
/// How often their memory is read.
const EVERY: Duration = Duration::from_secs(1);
/// Fewest readings that allow a verdict.
const READINGS_MIN: usize = 12;
/// Exit status of what is not possible on this machine.
const NOT_POSSIBLE: i32 = 3;

/// Something that watches.
struct Watcher {
    name: &'static str,
    arguments: &'static [&'static str],
}

/// How much memory one may gain once it is warm, in KiB. `account` lists up to 10,000 tasks that have ended
/// one by one before it puts them together, at about half a kibibyte each; how many of those it has just
/// then is chance. Beside bursts without end of 4,000 tasks that live and 2,000 that end each second `account`
/// had 6.3 MiB more, and `top` by ebpf 3.2: the tasks it knows, and pages that something small keeps in use.
const GROWTH_KIB_MAX: u64 = 8192;

const WATCHERS: [Watcher; 3] = [
    Watcher { name: "top, sampled", arguments: &["top", "--json", "--method", "sampled"] },
    Watcher { name: "top, ebpf", arguments: &["top", "--json", "--method", "ebpf"] },
    Watcher { name: "account --all", arguments: &["account", "--all", "--json"] },
];

/// Runs the watchers; whether all stayed as they were.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<bool> {
    let length = match arguments {
        [] => crate::minutes(VARIABLE, MINUTES)?,
        [minutes] => crate::minutes_of(Some(minutes), MINUTES)
            .context("cargo xtask soak MINUTES, a number from 0.1 to 100000")?,
        _ => anyhow::bail!("cargo xtask soak [MINUTES]"),
    };
    let program = crate::target_folder(root).join("debug/coretwin");
    ensure!(
        program.exists(),
        "{} is missing; cargo build --package coretwin --features bpf",
        program.display()
    );
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs();
    print(&format!("soak: seed {seed} of the servers' clients\n"));
    let servers = servers::start(&program, length, seed);
    let start = |watcher| Running::start(&program, watcher, length);
    let mut running = WATCHERS.iter().map(start).collect::<Result<Vec<_>>>()?;
    let storm = storm::start(length / 5);
    let mut going = true;
    while going {
        std::thread::sleep(EVERY);
        going = false;
        for one in &mut running {
            going |= one.read()?;
        }
    }
    drop(storm);
    let mut all_flat = true;
    for one in running {
        let name = one.watcher.name;
        all_flat &= tell(name, one.end());
    }
    for (name, server) in servers {
        let verdict = server.join().unwrap_or_else(|_| Err(anyhow::anyhow!("its thread died")));
        all_flat &= tell(name, verdict);
    }
    Ok(all_flat)
}

/// Prints what became of one; whether it stayed as it was.
fn tell(name: &str, verdict: Result<String>) -> bool {
    let flat = verdict.is_ok();
    let line = verdict.unwrap_or_else(|error| format!("FAILED: {error:#}"));
    print(&format!("soak: {name}: {line}\n"));
    flat
}

/// A watcher that was started; killed if it is dropped before its end.
struct Running {
    watcher: &'static Watcher,
    child: Child,
    windows: Option<JoinHandle<usize>>,
    started: Instant,
    /// Anonymous memory, in KiB.
    readings: Vec<u64>,
    cpu_ticks: u64,
    ended: Option<(i32, Duration)>,
}

impl Running {
    fn start(program: &Path, watcher: &'static Watcher, length: Duration) -> Result<Self> {
        let mut child = Command::new(program)
            .args(watcher.arguments)
            .args(["--for", &format!("{}s", length.as_secs())])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let output = BufReader::new(child.stdout.take().context("no output to read")?);
        // Read on and on, else it would wait for us.
        let windows = std::thread::spawn(|| output.split(b'\n').count());
        Ok(Self {
            watcher,
            child,
            windows: Some(windows),
            started: Instant::now(),
            readings: Vec::new(),
            cpu_ticks: 0,
            ended: None,
        })
    }

    /// Reads its memory; whether it still runs.
    fn read(&mut self) -> Result<bool> {
        if self.ended.is_some() {
            return Ok(false);
        }
        if let Some(status) = self.child.try_wait()? {
            self.ended = Some((status.code().unwrap_or(-1), self.started.elapsed()));
            return Ok(false);
        }
        let folder = format!("/proc/{}", self.child.id());
        // Without memory it is just ending.
        self.readings.extend(anonymous_kib(&text(&format!("{folder}/status"))));
        self.cpu_ticks = cpu_ticks(&text(&format!("{folder}/stat"))).unwrap_or(self.cpu_ticks);
        Ok(true)
    }

    /// What it was like, or what was wrong with it.
    fn end(mut self) -> Result<String> {
        let (status, time) = self.ended.context("it still runs")?;
        let mut said = String::new();
        if let Some(mut errors) = self.child.stderr.take() {
            errors.read_to_string(&mut said)?;
        }
        let said = said.lines().last().unwrap_or_default();
        if status == NOT_POSSIBLE {
            return Ok(format!("skipped: {said}"));
        }
        ensure!(status == 0, "exit status {status} after {:.0} s: {said}", time.as_secs_f64());
        let windows = self.windows.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        ensure!(windows > 0, "it wrote nothing");
        let growth = Growth::of(&self.readings)?;
        let hertz = rustix::param::clock_ticks_per_second() as f64;
        let line = format!(
            "{:.1} min, {windows} lines; {} KiB once warm, {} KiB at the end; {:.1} % of a CPU",
            time.as_secs_f64() / 60.0,
            growth.warm_kib,
            growth.end_kib,
            100.0 * self.cpu_ticks as f64 / hertz / time.as_secs_f64(),
        );
        let most_kib = growth.warm_kib + GROWTH_KIB_MAX;
        ensure!(growth.end_kib <= most_kib, "{line}; {most_kib} KiB are allowed");
        Ok(line)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }
}

/// Memory before and after, each the least reading: what busy windows took and have not given back yet
/// is no growth, while what leaks is there at every reading. It is given back every half minute, right
/// after a window, so a quarter of ten minutes has five such readings.
#[derive(Debug, PartialEq, Eq)]
struct Growth {
    /// In the second quarter of the time.
    warm_kib: u64,
    /// In the last quarter.
    end_kib: u64,
}

impl Growth {
    fn of(readings: &[u64]) -> Result<Self> {
        let count = readings.len();
        ensure!(count >= READINGS_MIN, "its memory could be read {count} times only");
        let floor = |part: &[u64]| part.iter().min().copied().unwrap_or_default();
        let quarter = count / 4;
        Ok(Self {
            warm_kib: floor(&readings[quarter..2 * quarter]),
            end_kib: floor(&readings[count - quarter..]),
        })
    }
}

fn text(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Of `/proc/PID/status`: memory that is not a file's, swapped out or not.
fn anonymous_kib(status: &str) -> Option<u64> {
    let value = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().trim_end_matches(" kB").parse::<u64>().ok()
    };
    Some(value("RssAnon:")? + value("VmSwap:").unwrap_or(0))
}

/// Of `/proc/PID/stat`: user and system time, in ticks.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_from_the_second_quarter_to_the_last() {
        let readings: Vec<u64> = (0..16).map(|at| if at < 4 { at } else { 100 + at }).collect();
        let growth = Growth::of(&readings).expect("enough");
        assert_eq!(growth, Growth { warm_kib: 104, end_kib: 112 });
        assert!(Growth::of(&readings[..11]).is_err());
        // Readings amid busy windows do not count.
        let mut busy = vec![50; 160];
        busy[121..].fill(5000);
        assert_eq!(Growth::of(&busy).expect("enough").end_kib, 50);
    }

    #[test]
    fn the_files_of_this_process_are_read() {
        assert!(anonymous_kib(&text("/proc/self/status")).expect("memory") > 0);
        assert!(cpu_ticks(&text("/proc/self/stat")).is_some());
        assert_eq!(anonymous_kib("VmRSS: 7 kB\n"), None);
        assert_eq!(cpu_ticks("1 (a) b) R 1 2 3 4 5 6 7 8 9 10 11 12 13"), Some(23));
    }
}
