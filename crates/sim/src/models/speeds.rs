//! Speeds of every pair of profiles on a core, one pair after the other. A caller with threads may
//! measure the pairs side by side instead; the results are the same.

use crate::core::profile::{Profile, copies};
use crate::core::{Length, Options, Preset, compare, length};
use crate::{Error, Result};
use coretwin_base::schema::SCHEMA;
use coretwin_base::simulation::core_run::CoreMatrix;

/// Profiles of [`crate::core`] that a matrix for [`Setting::speeds`](super::Setting::speeds) holds.
pub const PROFILES: [&str; 5] = ["chat", "dbench", "tbench", KERNEL, POLLING];

/// The profile of entering and leaving the kernel.
pub(super) const KERNEL: &str = "syscall";

/// The profile of an idle CPU that polls.
pub(super) const POLLING: &str = "spin-pause";

/// Every pair of [`PROFILES`] on a core. A core with one thread has no pairs: every
/// speed beside another is that alone, and is never asked for.
///
/// # Errors
/// [`Error::Stuck`] where a run does not end within its bound.
pub fn matrix(preset: &Preset, options: &Options) -> Result<CoreMatrix> {
    let profiles: Vec<Profile> = PROFILES
        .iter()
        .map(|name| {
            Profile::named(name)
                .ok_or_else(|| Error::Unknown(format!("there is no profile '{name}'")))
        })
        .collect::<Result<_>>()?;
    let count = profiles.len();
    let mut matrix = CoreMatrix {
        schema: SCHEMA,
        preset: preset.name.clone(),
        profiles: profiles.iter().map(|profile| profile.name.clone()).collect(),
        alone_ipc: vec![0.0; count],
        slowdown: vec![vec![1.0; count]; count],
        throughput: vec![vec![2.0; count]; count],
        slowdown_by_formula: Vec::new(),
        cached: 0,
        seed: options.seed,
        warmup_uops: options.warmup_uops,
        measure_uops: options.measure_uops,
    };
    let speed = |one| length::speed(preset, one, options);
    let speeds: Vec<f64> = profiles.iter().map(speed).collect::<std::result::Result<_, _>>()?;
    if preset.ways < 2 {
        return Ok(CoreMatrix { alone_ipc: speeds, ..matrix });
    }
    for a in 0..count {
        for b in a..count {
            let pair = [&profiles[a], &profiles[b]];
            let copies = copies(pair);
            let input = |thread: usize| pair[thread].input(preset, options.seed, copies[thread]);
            let speeds = [speeds[a], speeds[b]].into_iter();
            let options = length::fitted(Length::of_benchmarks(preset), options, speeds);
            let result = compare(preset, 2, &input, &options)?;
            let [of_a, of_b] = [0, 1].map(|thread| result.slowdown(thread));
            matrix.slowdown[b][a] = of_b;
            matrix.slowdown[a][b] = if a == b { f64::midpoint(of_a, of_b) } else { of_a };
            matrix.throughput[a][b] = result.throughput();
            matrix.throughput[b][a] = result.throughput();
            if a == b {
                matrix.alone_ipc[a] = result.alone[0].uops_per_cycle(0);
            }
        }
    }
    Ok(matrix)
}
