//! What the lab itself costs, each figure beside a reference measured in the same run.
//!
//! * engine: time of a study outside its runs, as a share of a study of 1 s runs (aim: below 2 %);
//! * report: from a journal of 1,000,000 readings to the report (aim: 2 s, 300 MB), how both grow,
//!   and beside each the time `cat` takes to read the same file.
//!
//! `cargo bench -p coretwin` prints a table; with a filter word, `engine` or `report`, one half.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

type Any = Box<dyn std::error::Error>;

const CORETWIN: &str = env!("CARGO_BIN_EXE_coretwin");

fn main() -> Result<(), Any> {
    let filter: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let wanted = |name: &str| filter.is_empty() || filter.iter().any(|word| name.contains(word));
    if wanted("engine") {
        engine()?;
    }
    if wanted("report") {
        report()?;
    }
    Ok(())
}

/// A study of `sleep 1`: whatever its wall time exceeds the sum of its runs by is the lab's own.
fn engine() -> Result<(), Any> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("study");
    let started = Instant::now();
    let status = Command::new(CORETWIN)
        .args(["study", "--blocks", "8", "--arm", "a=cpus:0", "--arm", "b=cpus:0", "--out"])
        .arg(&out)
        .args(["--", "sleep", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let wall_s = started.elapsed().as_secs_f64();
    let mut runs = 0u32;
    let mut runs_s = 0.0;
    for line in BufReader::new(File::open(out.join("journal.jsonl"))?).lines() {
        let reading: serde_json::Value = serde_json::from_str(&line?)?;
        runs += 1;
        runs_s += reading["elapsed_s"].as_f64().unwrap_or(0.0);
    }
    println!("engine: a study of {runs} runs of 'sleep 1' ({status})");
    println!("  wall {wall_s:.2} s, in runs {runs_s:.2} s (reference)");
    println!(
        "  outside runs {:.1} ms a run, {:.2} % of the study (aim: below 2 %)\n",
        (wall_s - runs_s) * 1e3 / f64::from(runs),
        (wall_s / runs_s - 1.0) * 100.0
    );
    Ok(())
}

/// Grows a real study's journal to a million readings and reports each size.
fn report() -> Result<(), Any> {
    let folder = tempfile::tempdir()?;
    let seed = folder.path().join("seed");
    let made = Command::new(CORETWIN)
        .args(["study", "--blocks", "2", "--no-warmup", "--arm", "a=cpus:0", "--arm", "b=cpus:0"])
        .args(["--threads", "1,2,3,4,5", "--out"])
        .arg(&seed)
        .args(["--", "true", "{threads}"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    println!(
        "report: journal to report.html ({made}; 'cat' reads the same journal, the reference)"
    );
    println!("  readings   journal     coretwin      cat   ratio   peak memory");
    let mut last: Option<(f64, f64)> = None;
    for readings in [1_000u64, 10_000, 100_000, 1_000_000] {
        let grown = folder.path().join(readings.to_string());
        grow(&seed, &grown, readings)?;
        let journal = grown.join("journal.jsonl");
        let (cat_s, _) = best_of_three(&["cat", &journal.to_string_lossy()])?;
        let command = [CORETWIN, "report", &grown.to_string_lossy(), "--format", "html"];
        let (report_s, peak_mb) = best_of_three(&command)?;
        println!(
            "  {readings:>8}   {:>5} MB   {report_s:>8.3} s {cat_s:>6.3} s   {:>5.1}   {peak_mb:>8.0} MB",
            fs::metadata(&journal)?.len() / 1_000_000,
            report_s / cat_s,
        );
        if let Some((time, memory)) = last {
            println!(
                "             ten times the readings: time x{:.1}, memory x{:.1}",
                report_s / time,
                peak_mb / memory
            );
        }
        last = Some((report_s, peak_mb));
        fs::remove_dir_all(&grown)?;
    }
    println!("  aim at 1,000,000: 2 s, 300 MB");
    Ok(())
}

/// Copies a study's folder, its journal repeated with new blocks and numbers.
fn grow(seed: &Path, grown: &Path, readings: u64) -> Result<(), Any> {
    fs::create_dir_all(grown)?;
    for file in ["plan.json", "environment.json", "summary.json"] {
        fs::copy(seed.join(file), grown.join(file))?;
    }
    let lines: Vec<serde_json::Value> = BufReader::new(File::open(seed.join("journal.jsonl"))?)
        .lines()
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect::<Result<_, Any>>()?;
    let mut out = BufWriter::new(File::create(grown.join("journal.jsonl"))?);
    for seq in 0..readings {
        let mut line = lines[(seq % lines.len() as u64) as usize].clone();
        let block = line["block"].as_u64().unwrap_or(0) + seq / lines.len() as u64 * 2;
        line.as_object_mut().map(|line| line.remove("checksum"));
        line["seq"] = seq.into();
        line["block"] = block.into();
        let wobble = 1.0 + ((seq.wrapping_mul(2_654_435_761) >> 16) & 0xff) as f64 / 25_600.0;
        line["value"] = (line["value"].as_f64().unwrap_or(1.0) * wobble).into();
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(())
}

/// Least wall time of three runs, in seconds, and the peak memory, in MB, as our own `run` reads
/// them.
fn best_of_three(command: &[&str]) -> Result<(f64, f64), Any> {
    let mut best_s = f64::INFINITY;
    let mut peak_mb = 0.0f64;
    for _ in 0..3 {
        let output = Command::new(CORETWIN).args(["run", "--json", "--"]).args(command).output()?;
        let reading: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let value = reading["value"].as_f64().ok_or_else(|| format!("{command:?}: {reading}"))?;
        best_s = best_s.min(value);
        let peak_kib = reading["metrics"]["peak_memory_kib"]["value"].as_f64().unwrap_or(0.0);
        peak_mb = peak_mb.max(peak_kib * 1024.0 / 1e6);
    }
    Ok((best_s, peak_mb))
}
