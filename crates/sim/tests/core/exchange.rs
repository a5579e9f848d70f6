//! Which hardware thread does what must not matter: a pair the other way round gives the same, to
//! the last cycle.

use coretwin_sim::core::profile::{Profile, copies};
use coretwin_sim::core::{Options, Outcome, Preset, simulate};

fn outcome(preset: &Preset, pair: [&Profile; 2], options: &Options) -> Outcome {
    let inputs = pair.iter().zip(copies(pair));
    let inputs = inputs.map(|(one, copy)| one.input(preset, options.seed, copy));
    simulate(preset, inputs.collect(), options).expect("the run ends")
}

/// Exchanges every pair on every preset; fails with those of which anything at all moved: a speed,
/// a slot, an event, an entry held.
fn exchange(pairs: &[[&str; 2]], options: &Options) {
    for preset in Preset::all() {
        for pair in pairs {
            let [a, b] = pair.map(|name| Profile::named(name).expect("a built-in profile"));
            let there = outcome(&preset, [&a, &b], options);
            let mut back = outcome(&preset, [&b, &a], options);
            back.threads.swap(0, 1);
            assert_eq!(there, back, "{pair:?} on {}", preset.name);
        }
    }
}

#[test]
fn exchanging_two_programs_changes_nothing() {
    let pairs = [
        ["gzip", "perl-loop"],
        ["gzip", "spin"],
        ["perl-loop", "spin-pause"],
        ["chat", "tbench"],
        ["sieve", "gzip"],
        ["stack-alias-64k", "perl-loop"],
        ["lock-handoff", "gzip"],
        ["fadd-chain", "dbench"],
    ];
    exchange(&pairs, &Options { warmup_uops: 4000, measure_uops: 16_000, ..Options::default() });
}

/// All pairs of what a matrix runs and of what fights for one thing: minutes.
#[test]
#[ignore = "minutes long: for check-all"]
fn exchanging_any_two_programs_changes_nothing() {
    let names = [
        "gzip",
        "perl-loop",
        "spin",
        "spin-pause",
        "fadd-chain",
        "pointer-chase",
        "sieve",
        "stack-alias-64k",
        "lock-handoff",
        "lock-handoff-pause",
        "syscall",
        "chat",
        "dbench",
        "tbench",
    ];
    let pairs: Vec<[&str; 2]> = names
        .iter()
        .enumerate()
        .flat_map(|(place, a)| names[place + 1..].iter().map(|b| [*a, *b]))
        .collect();
    exchange(&pairs, &Options { warmup_uops: 3000, measure_uops: 12_000, ..Options::default() });
}
