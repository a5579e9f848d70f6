//! What the statistics do on data whose truth is known. Fixed seeds: every number is the same on
//! every host. `cargo test -p coretwin-stats --test simulation -- --nocapture` prints the table
//! that METHOD.md quotes.

#![expect(clippy::print_stdout, reason = "the measured numbers are quoted in METHOD.md")]

#[path = "../study/fixture.rs"]
mod fixture;

mod coverage;
mod fleet;
mod fleet_change;
mod interaction;
mod noise;
mod protection;
mod screening;
mod stopping;
mod suites;
mod visits;
