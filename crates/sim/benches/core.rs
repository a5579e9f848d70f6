//! How fast the core simulates: `cargo bench -p coretwin-sim --bench core [PRESET …]`; with
//! `-- --against FILE`, this benchmark of another version (`cargo bench --no-run` there), by turns with it.
//!
//! Micro-operations per second of CPU time, over all pairs of the profiles, and how that changes
//! with threads and with the footprint. The yardstick in the same run is a dependent chain of
//! multiplications on this host, so that figures of two machines, or of a busy one, can be compared.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

mod yardstick;

use coretwin_sim::core::profile::Profile;
use coretwin_sim::core::{Class, Options, Outcome, Preset, Stream, ThreadInput, Uop, simulate};
use yardstick::{cpu_seconds, yardstick};

/// The profiles of the matrix, which has every pair of them.
const PROFILES: &[&str] = &[
    "gzip",
    "perl-loop",
    "spin",
    "spin-pause",
    "fadd-chain",
    "pointer-chase",
    "sieve",
    "lock-handoff",
    "syscall",
    "chat",
    "dbench",
    "tbench",
];

/// Measured for each thread of a pair; a tenth more is warm-up.
const UOPS: u64 = 100_000;

fn main() {
    let mut named: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| *word == "--against" || !word.starts_with('-'))
        .collect();
    let against = named.iter().position(|word| word == "--against");
    let against = against.and_then(|place| named.drain(place..).nth(1));
    let presets = if named.is_empty() {
        ["p4-northwood", "westmere", "golden-cove", "zen4"].map(str::to_owned).to_vec()
    } else {
        named
    };
    let yardstick = yardstick();
    println!("yardstick: {yardstick:.0} M dependent multiplications per CPU second");
    for name in &presets {
        let Some(preset) = Preset::named(name) else {
            println!("{name}: no such preset");
            continue;
        };
        let rate = matrix(&preset, yardstick);
        if let Some(other) = against.as_deref().and_then(|file| rate_of(file, name)) {
            println!("  {:.2} times the other version's {other:.1} M uops/s", rate / other);
        }
    }
    if against.is_some() {
        return;
    }
    let Some(preset) = Preset::named("power9-smt4") else { return };
    println!("\ngrowth with threads (perl-loop on {}):", preset.name);
    for threads in [1, 2, 4] {
        let Some(profile) = Profile::named("perl-loop") else { return };
        let inputs = (0..threads).map(|thread| profile.input(&preset, 1, thread)).collect();
        println!("  {threads}: {}", timed(&preset, inputs));
    }
    let Some(preset) = Preset::named("westmere") else { return };
    println!("growth with footprint (random loads on {}, two threads):", preset.name);
    for kib in [4, 64, 1024, 16_384, 262_144] {
        let inputs = (1..=2).map(|space| ThreadInput::new(Loads::new(kib << 10, space), space));
        println!("  {kib:6} KiB: {}", timed(&preset, inputs.collect()));
    }
}

/// What another version's benchmark gives for a preset, in millions of uops per CPU second.
fn rate_of(file: &str, preset: &str) -> Option<f64> {
    let output = std::process::Command::new(file).args([preset, "--against"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split(" M uops/s (").next()?.rsplit(' ').next()?.parse().ok()
}

/// All pairs of the profiles on one preset; gives millions of uops per CPU second.
fn matrix(preset: &Preset, yardstick: f64) -> f64 {
    let profiles: Vec<Profile> = PROFILES.iter().filter_map(|name| Profile::named(name)).collect();
    let (mut seconds, mut uops, mut cycles) = (0.0, 0, 0);
    let mut rates: Vec<(f64, String)> = Vec::new();
    for (number, first) in profiles.iter().enumerate() {
        for second in &profiles[number..] {
            let inputs = vec![
                first.input(preset, 1, 0),
                second.input(preset, 1, u16::from(first.name == second.name)),
            ];
            let (outcome, taken) = run(preset, inputs);
            seconds += taken;
            uops += outcome.total_uops;
            cycles += outcome.total_cycles;
            let pair = format!("{} + {}", first.name, second.name);
            rates.push((outcome.total_uops as f64 / taken / 1e6, pair));
        }
    }
    rates.sort_by(|a, b| a.0.total_cmp(&b.0));
    let rate = uops as f64 / seconds / 1e6;
    println!(
        "\n{}: {} pairs, {:.1} M uops and {:.1} M cycles in {seconds:.2} CPU s: {rate:.1} M uops/s \
         ({:.4} of the yardstick), {:.1} M cycles/s",
        preset.name,
        rates.len(),
        uops as f64 / 1e6,
        cycles as f64 / 1e6,
        rate / yardstick,
        cycles as f64 / seconds / 1e6,
    );
    let named = |place: usize| format!("{:.1} ({})", rates[place].0, rates[place].1);
    let last = rates.len() - 1;
    println!("  slowest {}, median {}, fastest {}", named(0), named(last / 2), named(last));
    rate
}

fn run(preset: &Preset, inputs: Vec<ThreadInput<'_>>) -> (Outcome, f64) {
    let options = Options { warmup_uops: UOPS / 10, measure_uops: UOPS, ..Options::default() };
    let start = cpu_seconds();
    let outcome = simulate(preset, inputs, &options).unwrap_or_else(|stuck| panic!("{stuck}"));
    (outcome, cpu_seconds() - start)
}

fn timed(preset: &Preset, inputs: Vec<ThreadInput<'_>>) -> String {
    let (outcome, seconds) = run(preset, inputs);
    format!(
        "{:5.1} M uops/s, {:5.1} M cycles/s",
        outcome.total_uops as f64 / seconds / 1e6,
        outcome.total_cycles as f64 / seconds / 1e6
    )
}

/// Independent loads all over a footprint, a branch after every seven.
struct Loads {
    bytes: u64,
    state: u64,
    count: u32,
}

impl Loads {
    fn new(bytes: u64, seed: u16) -> Self {
        Self { bytes, state: u64::from(seed), count: 0 }
    }
}

impl Stream for Loads {
    fn fill(&mut self, batch: &mut [Uop]) {
        for place in batch {
            self.count = (self.count + 1) % 8;
            let code = 0x40_0000 + 4 * self.count;
            *place = if self.count == 0 {
                Uop::new(Class::Branch, code).with(coretwin_sim::core::Effect::Taken)
            } else {
                // SplitMix64's step, without its finaliser: spread is all that is asked for.
                self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let offset = (u128::from(self.state) * u128::from(self.bytes)) >> 64;
                Uop::new(Class::Load, code).at((1 << 32) + (offset as u64 & !7))
            };
        }
    }
}
