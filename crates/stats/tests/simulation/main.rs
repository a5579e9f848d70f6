//! What the statistics do on data whose truth is known. Fixed seeds: every number is the same on
//! every host. `cargo test -p coretwin-stats --test simulation -- --nocapture` prints the tables,
//! with `coverage` at its end those of coverage alone; `CORETWIN_TRIALS=20000` and `--release`
//! before `--` make them full.

#![expect(clippy::print_stdout, reason = "the measured numbers are quoted in METHOD.md and docs")]

#[path = "../study/fixture.rs"]
mod fixture;

mod coverage;
mod coverage_of_coarse_values;
mod coverage_of_many_rows;
mod coverage_of_suites;
mod diagnosis;
mod fleet;
mod fleet_change;
mod forecast;
mod interaction;
mod load;
mod noise;
mod protection;
mod screening;
mod sequence;
mod stopping;
mod suites;
mod visits;

const PAGES: [&str; 4] = [
    include_str!("../../../../METHOD.md"),
    include_str!("../../../../docs/method/statistics.md"),
    include_str!("../../../../docs/method/fleet.md"),
    include_str!("../../../../docs/evidence/statistics.md"),
];

/// What one of [`PAGES`] says of a measurement, in these words. Figures that nothing prints go stale.
fn quoted(claim: &str) {
    println!("  quoted: {claim}");
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    if noise::full_trials().is_none() {
        let is_said = PAGES.iter().any(|page| plain(page).contains(&plain(claim)));
        assert!(is_said, "neither METHOD.md nor the pages on statistics say: {claim}");
    }
}
