//! Solo truth: a profile is as fast alone as the program that it stands for was on a real processor.

use coretwin_sim::core::profile::Profile;
use coretwin_sim::core::{Preset, length};

const PAGE: &str = include_str!("../../../docs/evidence/simulated-core.md");

/// How far off a simulated speed may be.
const SPEED_ERROR_MAX: f64 = 0.10;
/// How far off first-level misses may be; below three in 1000 instructions they are not compared.
const MISSES_ERROR_MAX: f64 = 0.15;

/// Off by more, and why. A profile that is right again is taken off.
const OFF: [(&str, &str); 1] = [(
    "memcached",
    "counted with a thread that runs by the clock, and without what its kernel costs it",
)];

#[test]
fn every_profile_with_facts_is_as_fast_alone_as_its_program() {
    let (mut compared, mut failures) = (0, Vec::new());
    for profile in Profile::all() {
        for solo in &profile.solo {
            let preset = Preset::named(&solo.preset).expect("the facts name a preset");
            let (speed, misses) =
                length::alone(&preset, &profile, solo.uops_per_instruction).expect("the run ends");
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
