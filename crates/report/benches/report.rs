//! Time from readings to reports, and how it grows: `cargo bench -p coretwin-report`.

#[path = "../tests/support/mod.rs"]
mod support;

use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

const READINGS: [u32; 3] = [10_000, 100_000, 1_000_000];

fn render(bencher: Bencher<'_, '_>, readings: u32, name: &str) {
    let format = coretwin_report::FORMATS.iter().find(|format| format.name == name);
    let render = format.expect("a format of that name").render;
    let records = support::large(readings);
    bencher.counter(ItemsCount::new(readings)).bench(|| render(&records.study()));
}

#[divan::bench(args = READINGS, sample_count = 5)]
fn text(bencher: Bencher<'_, '_>, readings: u32) {
    render(bencher, readings, "text");
}

#[divan::bench(args = READINGS, sample_count = 5)]
fn html(bencher: Bencher<'_, '_>, readings: u32) {
    render(bencher, readings, "html");
}

#[divan::bench(args = READINGS, sample_count = 5)]
fn csv(bencher: Bencher<'_, '_>, readings: u32) {
    render(bencher, readings, "csv");
}

/// What "What to set" costs, of which every report but CSV and JSON has one.
#[divan::bench(args = READINGS, sample_count = 5)]
fn decide(bencher: Bencher<'_, '_>, readings: u32) {
    let records = support::large(readings);
    bencher.counter(ItemsCount::new(readings)).bench(|| {
        let study = records.study();
        coretwin_stats::decision::decide(study.plan, study.readings, study.summary, None)
    });
}
