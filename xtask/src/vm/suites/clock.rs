//! A wall clock that is set while coretwin measures: back and forward, by seconds to years, as often as a
//! seed wants. Every time that is measured is of the clock that only runs; the wall clock only dates.

use super::{Boot, Machine, Suite, Wanted};
use crate::random::Random;
use crate::vm::guest::{Guest, output};
use crate::vm::qemu::Topology;
use anyhow::{Context, Result, ensure};
use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};
use serde_json::Value;
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub(crate) const SUITE: Suite = Suite {
    name: "clock",
    about: "the wall clock set back and forward beside a study, account, top and a run's time limit",
    machines,
    guest,
};

/// How long the clock is left alone.
const BETWEEN: Duration = Duration::from_millis(20);
/// Steps, in seconds: a leap second, NTP's first correction, a time zone, a dead battery, and back.
const STEPS_S: [i64; 8] = [-1, 1, -90, 3600, -7200, 86_400 * 400, -86_400 * 500, 86_400 * 3650];
/// Dates stay between these, in seconds since 1970: kernels refuse others.
const DATES_S: std::ops::RangeInclusive<i64> = 1_000_000..=6_000_000_000;

/// The newest kernel, for what is shown does not hang on kernels; too long for every change.
fn machines(wanted: &Wanted) -> Vec<Machine> {
    let kernel = wanted.kernels.last().filter(|_| !wanted.fast).cloned();
    let machine =
        |kernel| Machine { kernel, topology: Topology::new(1, 1, 2), boots: vec![Boot::only(15)] };
    kernel.map(machine).into_iter().collect()
}

fn guest(guest: &mut Guest) -> Result<()> {
    let seed = guest.seed;
    guest.check_told("a study's times are those of its work", || stepping(seed, study))?;
    guest.check_told("a run ends at its time limit and not before", || stepping(seed, limit))?;
    guest.check_told("account adds up", || stepping(seed, account))?;
    guest.check_told("windows of top are as long as they last", || stepping(seed, top))?;
    Ok(())
}

/// Does something while the clock is stepped; what it told, and how often that was.
fn stepping(seed: u64, work: fn() -> Result<String>) -> Result<String> {
    let (stop, steps) = (AtomicBool::new(false), AtomicU64::new(0));
    let before = clock_gettime(ClockId::Realtime);
    let (told, stepped) = std::thread::scope(|scope| {
        let stepper = scope.spawn(|| {
            let mut random = Random(seed);
            while !stop.load(Ordering::Relaxed) {
                step(STEPS_S[random.below(STEPS_S.len())])?;
                steps.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(BETWEEN);
            }
            anyhow::Ok(())
        });
        let told = work();
        stop.store(true, Ordering::Relaxed);
        (told, stepper.join())
    });
    clock_settime(ClockId::Realtime, before).context("putting the clock back")?;
    stepped
        .map_err(|_| anyhow::anyhow!("the clock's thread died"))?
        .context("setting the clock")?;
    let steps = steps.into_inner();
    ensure!(steps > 10, "the clock was set {steps} times");
    Ok(format!("{}, {steps} steps", told?))
}

fn step(seconds: i64) -> Result<()> {
    let now = clock_gettime(ClockId::Realtime);
    let to = now.tv_sec.saturating_add(seconds);
    let to = if DATES_S.contains(&to) { to } else { 1_700_000_000 };
    Ok(clock_settime(ClockId::Realtime, Timespec { tv_sec: to, tv_nsec: now.tv_nsec })?)
}

/// Standard output of a call that must succeed, and how long it took.
fn timed(arguments: &[&str]) -> Result<(String, f64)> {
    let started = Instant::now();
    let output = output("coretwin", arguments)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {}", output.status, errors.trim());
    Ok((String::from_utf8(output.stdout)?, started.elapsed().as_secs_f64()))
}

/// The number of a field, if it is one.
fn number(value: &Value, field: &str) -> Result<f64> {
    value[field].as_f64().with_context(|| format!("{field} in {value}"))
}

fn within(what: impl Display, found: f64, low: f64, high: f64) -> Result<()> {
    ensure!((low..=high).contains(&found), "{what} is {found} s, not {low} to {high} s");
    Ok(())
}

fn study() -> Result<String> {
    let arms = ["--arm", "a=cpus:0", "--arm", "b=cpus:1", "--blocks", "3"];
    let (_, took_s) =
        timed(&[&["study"], &arms[..], &["--out", "/study", "--", "sleep", "0.2"]].concat())?;
    let journal = std::fs::read_to_string("/study/journal.jsonl").context("the journal")?;
    let mut sum_s = 0.0;
    for line in journal.lines() {
        let reading: Value = serde_json::from_str(line).context("a line of the journal")?;
        // Runs that something else disturbed are set aside; their times are right, too.
        let disturbed = reading["cause"].as_str().is_some_and(|why| why.starts_with("others: "));
        ensure!(reading["status"] == "ok" || disturbed, "{reading}");
        let elapsed_s = number(&reading, "elapsed_s")?;
        within("a run of 0.2 s", elapsed_s, 0.2, took_s)?;
        within("its value", number(&reading, "value")?, 0.2, took_s)?;
        sum_s += elapsed_s;
    }
    within("the sum of all runs", sum_s, 0.2 * 6.0, took_s)?;
    timed(&["report", "/study"])?;
    Ok(format!("{} readings", journal.lines().count()))
}

fn limit() -> Result<String> {
    let arms = ["--arm", "a=cpus:0", "--arm", "b=cpus:1", "--quick", "--timeout", "2s"];
    let all = [&["study"], &arms[..], &["--out", "/limit", "--", "sleep", "600"]].concat();
    let started = Instant::now();
    let output = output("coretwin", &all)?;
    within("all of it", started.elapsed().as_secs_f64(), 2.0, 600.0)?;
    ensure!(output.status.code() == Some(1), "{}", output.status);
    let journal = std::fs::read_to_string("/limit/journal.jsonl").context("the journal")?;
    for line in journal.lines() {
        let reading: Value = serde_json::from_str(line).context("a line of the journal")?;
        ensure!(reading["status"] == "failed", "{reading}");
        let cause = reading["cause"].as_str().unwrap_or_default();
        ensure!(cause.contains("2 s"), "{cause}");
        within("a run of at most 2 s", number(&reading, "elapsed_s")?, 0.0, 120.0)?;
    }
    Ok(format!("{} runs", journal.lines().count()))
}

fn account() -> Result<String> {
    let (text, took_s) = timed(&["account", "--json", "--", "sleep", "1"])?;
    let summary: Value = serde_json::from_str(&text).context("its JSON")?;
    within("the elapsed time", number(&summary, "elapsed_s")?, 1.0, took_s)?;
    within("the CPU time", number(&summary, "raw_s")?, 0.0, took_s * 2.0)?;
    Ok(format!("{:.2} s elapsed", number(&summary, "elapsed_s")?))
}

fn top() -> Result<String> {
    let (text, took_s) =
        timed(&["top", "--json", "--method", "sampled", "--interval", "500ms", "--for", "3s"])?;
    let mut sum_s = 0.0;
    for line in text.lines() {
        let window: Value = serde_json::from_str(line).context("a window")?;
        let elapsed_s = number(&window, "elapsed_s")?;
        within("a window", elapsed_s, 0.0, took_s)?;
        within("its date", number(&window, "time_unix_s")?, 1e6, 7e9)?;
        sum_s += elapsed_s;
    }
    within("the sum of the windows", sum_s, 1.0, took_s)?;
    Ok(format!("{} windows", text.lines().count()))
}
