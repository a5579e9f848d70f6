//! Solo truth: a profile is as fast alone as the program that it stands for was on a real processor.

use coretwin_sim::core::profile::{Profile, Solo};
use coretwin_sim::core::{Options, Preset, simulate};

const PAGE: &str = include_str!("../../../docs/evidence/simulated-core.md");

/// How far off a simulated speed may be.
const SPEED_ERROR_MAX: f64 = 0.10;
/// How far off first-level misses may be; below three in 1000 instructions they are not compared.
const MISSES_ERROR_MAX: f64 = 0.15;

/// Off by more, and why. A profile that is right again is taken off.
const OFF: [(&str, &str); 1] =
    [("sieve", "a sixth too slow: stores that miss the first level wait for one another")];

/// Instructions per cycle, and first-level misses per 1000 instructions.
fn simulated(profile: &Profile, solo: &Solo) -> (f64, f64) {
    let preset = Preset::named(&solo.preset).expect("the facts name a preset");
    let options = Options {
        warmup_uops: 1_000_000,
        measure_uops: profile.round_uops(&preset).max(1_000_000),
        ..Options::default()
    };
    let outcome =
        simulate(&preset, vec![profile.input(&preset, 1, 0)], &options).expect("the run ends");
    let thread = &outcome.threads[0];
    let instructions = thread.uops as f64 * profile.unfused(&preset) / solo.uops_per_instruction;
    let misses = 1000.0 * thread.counts.first_level_misses as f64 / instructions;
    (instructions / outcome.cycles as f64, misses)
}

#[test]
fn every_profile_with_facts_is_as_fast_alone_as_its_program() {
    let (mut compared, mut failures) = (0, Vec::new());
    for profile in Profile::all() {
        for solo in &profile.solo {
            let (speed, misses) = simulated(&profile, solo);
            let error = speed / solo.instructions_per_cycle - 1.0;
            let row = format!(
                "| {} | {} | {:.3} | {speed:.3} | {:+.1} % |",
                profile.name,
                solo.preset,
                solo.instructions_per_cycle,
                100.0 * error
            );
            if !PAGE.contains(&row) {
                failures.push(format!("docs/evidence/simulated-core.md has no line {row}"));
            }
            let off = OFF.iter().any(|(name, _)| *name == profile.name);
            if (error.abs() > SPEED_ERROR_MAX) != off {
                failures.push(format!("{} on {}: {error:+.3}", profile.name, solo.preset));
            }
            if let Some(counted) = solo.first_level_misses.filter(|counted| *counted >= 3.0 && !off)
                && (misses / counted - 1.0).abs() > MISSES_ERROR_MAX
            {
                failures.push(format!("{}: {misses:.1} misses, not {counted}", profile.name));
            }
            compared += 1;
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(compared >= 10, "{compared} facts");
}
