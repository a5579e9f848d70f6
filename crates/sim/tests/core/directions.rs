//! Directions that hold on every core, whatever the numbers are.

use coretwin_sim::core::profile::Profile;
use coretwin_sim::core::{Comparison, Options, Preset, compare};

/// Each of these beside the others, one a thread.
fn beside(preset: &Preset, names: &[&str]) -> Comparison {
    let profile = |name: &&str| Profile::named(name).expect("a built-in profile");
    let profiles: Vec<Profile> = names.iter().map(profile).collect();
    let input = |thread: usize| profiles[thread].input(preset, 1, thread as u16);
    let options = Options { warmup_uops: 5000, measure_uops: 20_000, ..Options::default() };
    compare(preset, names.len(), &input, &options).expect("the runs end")
}

/// Of what fills the core. Where there is room for both, either costs 2 % at most.
#[test]
fn a_spinner_that_pauses_hurts_less_where_pause_is_long() {
    let presets = Preset::all().into_iter().filter(|preset| preset.front_end.pause_cycles >= 100);
    let mut seen = 0;
    for preset in presets {
        let slowed = ["spin", "perl-loop", "add_long"].map(|program| {
            ["spin", "spin-pause"].map(|spinner| beside(&preset, &[program, spinner]).slowdown(0))
        });
        let name = &preset.name;
        assert!(slowed.iter().all(|it| it[1] < 1.02 * it[0]), "{name}: {slowed:?}");
        assert!(slowed[0][1] < slowed[0][0] - 0.2, "{name}: {slowed:?}");
        seen += 1;
    }
    assert!(seen >= 3, "{seen}");
}

/// Both wait for something else nearly always: neither takes what the other needs.
#[test]
fn a_chase_and_a_chain_of_results_hardly_slow_each_other() {
    for preset in Preset::all() {
        let found = beside(&preset, &["pointer-chase", "fadd-chain"]);
        for thread in [0, 1] {
            let slowdown = found.slowdown(thread);
            assert!((0.97..1.1).contains(&slowdown), "{} {thread}: {slowdown}", preset.name);
        }
    }
}

#[test]
fn four_threads_that_wait_for_memory_do_more_than_two() {
    let preset = Preset::named("power9-smt4").expect("a built-in preset");
    for program in ["pointer-chase", "fadd-chain"] {
        let [two, four] = [2, 4].map(|count| beside(&preset, &vec![program; count]).throughput());
        assert!(two > 1.7 && four > 1.5 * two, "{program}: {two} {four}");
    }
}

/// Each has its own data, so a sibling's work helps nobody.
#[test]
fn no_pair_of_equal_threads_does_the_work_of_more_than_two() {
    let names = [
        "gzip-words",
        "sieve",
        "perl-loop",
        "spin",
        "fadd-chain",
        "pointer-chase",
        "add_long",
        "stack-offset",
    ];
    for preset in Preset::all() {
        for name in names {
            let found = beside(&preset, &[name, name]);
            assert!(found.throughput() < 2.03, "{} {name}: {}", preset.name, found.throughput());
        }
    }
}
