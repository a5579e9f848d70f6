//! What the checksum of a journal's lines costs when it is read: the same readings with and without, in
//! turns, in one run. `cargo bench -p coretwin-store`.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use coretwin_base::machine::placement::Placement;
use coretwin_base::schema::SCHEMA;
use coretwin_base::study::reading::{Better, Phase, Reading, Status};
use coretwin_store::Journal;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use std::{error::Error, fs, fs::File};

const READINGS: u64 = 1_000_000;
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (sealed, plain) = (folder.path().join("sealed"), folder.path().join("plain"));
    let (mut journal, _) = Journal::open(&sealed)?;
    for seq in 0..READINGS {
        journal.append(&reading(seq))?;
    }
    drop(journal);
    let mut out = BufWriter::new(File::create(&plain)?);
    for line in BufReader::new(File::open(&sealed)?).lines() {
        let line = line?;
        let at = line.rfind(",\"checksum\":").ok_or("a line without a checksum")?;
        writeln!(out, "{}}}", &line[..at])?;
    }
    out.flush()?;
    drop(out);
    let mut best_s = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        for (best_s, path) in best_s.iter_mut().zip([&sealed, &plain]) {
            *best_s = best_s.min(read_s(path)?);
        }
    }
    let [with_s, without_s] = best_s;
    let megabytes = fs::metadata(&sealed)?.len() / 1_000_000;
    println!("{READINGS} readings, {megabytes} MB, least of {ROUNDS} rounds in turns:");
    println!(
        "  checked {with_s:.3} s, unchecked {without_s:.3} s: ratio {:.3}",
        with_s / without_s
    );
    Ok(())
}

fn read_s(path: &Path) -> Result<f64, Box<dyn Error>> {
    let started = Instant::now();
    let (_, read) = Journal::open(path)?;
    let elapsed_s = started.elapsed().as_secs_f64();
    assert_eq!(read.readings.len() as u64, READINGS);
    Ok(elapsed_s)
}

fn reading(seq: u64) -> Reading {
    Reading {
        schema: SCHEMA,
        seq,
        phase: Phase::Study,
        block: u32::try_from(seq / 10).unwrap_or(0),
        switch: 0,
        attempt: 0,
        arm: if seq.is_multiple_of(2) { "on" } else { "off" }.into(),
        row: format!("command:threads={}", seq % 5 + 1).into(),
        workload: "command".into(),
        params: Arc::default(),
        placement_asked: Placement::Free,
        cpus_ran: Arc::default(),
        status: Status::Ok,
        cause: None,
        value: Some((seq.wrapping_mul(2_654_435_761) >> 16) as f64 / 25_600.0),
        unit: "s".into(),
        better: Better::Lower,
        metrics: Arc::default(),
        operations: 1,
        elapsed_s: 1.0,
        user_s: 0.5,
        system_s: 0.25,
        steal_s: 0.0,
        threads: 1,
        copies: 1,
        samples: Arc::default(),
        notes: Arc::default(),
        checks: Arc::default(),
        output: None,
        latency: None,
        env: "e0".into(),
    }
}
