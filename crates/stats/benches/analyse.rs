//! How long the analysis of a journal takes, and how that grows: `cargo bench -p coretwin-stats`.

#[path = "../tests/study/fixture.rs"]
mod fixture;

use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::Reading;
use coretwin_base::study::summary::StoppedBecause;
use coretwin_stats::study::{analyse, look};

fn main() {
    divan::main();
}

/// A study of ten rows in two arms with about that many readings.
fn study(readings: u32) -> (Plan, Vec<Reading>) {
    let rows: Vec<_> =
        (0..10).map(|row| fixture::row(&format!("row{row}"), &format!("f{}", row / 2))).collect();
    let plan = fixture::plan(&rows);
    let all = fixture::readings(&plan, readings / 20, |block, arm, row| {
        10.0 + f64::from((block * 13 + arm as u32 * 7 + row as u32 * 3) % 17) / 100.0
    });
    (plan, all)
}

#[divan::bench(args = [10_000, 100_000, 1_000_000], sample_count = 5)]
fn analyse_readings(bencher: divan::Bencher, readings: u32) {
    let (plan, all) = study(readings);
    bencher.bench_local(|| analyse(&plan, &all, StoppedBecause::Blocks));
}

#[divan::bench(args = [10_000, 100_000, 1_000_000], sample_count = 5)]
fn look_at_readings(bencher: divan::Bencher, readings: u32) {
    let (plan, all) = study(readings);
    bencher.bench_local(|| look(&plan, &all));
}
