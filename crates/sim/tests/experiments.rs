//! The article's experiments, and the interval formula beside the event-driven core.

use coretwin_sim::core::experiments::{enhancements, sieve_pages};
use coretwin_sim::core::interval::{Summary, pair};
use coretwin_sim::core::profile::Profile;
use coretwin_sim::core::{Options, Preset, simulate};

fn netburst() -> Vec<Preset> {
    ["xeon-mp-foster", "p4-northwood"]
        .map(|name| Preset::named(name).expect("a built-in preset"))
        .into()
}

fn short() -> Options {
    Options { warmup_uops: 150_000, measure_uops: 150_000, ..Options::default() }
}

fn enhancement(name: &str) -> &'static enhancements::Enhancement {
    enhancements::ALL.iter().find(|entry| entry.name == name).expect("an enhancement")
}

#[test]
fn each_enhancement_shows_its_effect_on_netburst() {
    for preset in netburst() {
        let gain = |name: &str, side: usize| {
            enhancement(name).run(&preset, &short()).unwrap().sides[side].ratio
        };
        assert!(gain("stack-offset", 1) > 1.2, "64-KiB aliasing");
        assert!(gain("spin-wait-pause", 1) > 1.02, "PAUSE leaves slots to the sibling");
        assert!(gain("delay-loop", 1) > 1.1, "a delay that executes nothing");
        assert!(gain("lock-alignment", 1) > 1.05, "no false sharing");
        // Polling keeps the core divided, with PAUSE or without; only HLT gives all of it.
        let halted = gain("idle", 2) / gain("idle", 1);
        assert!(halted > 1.005, "HLT is more than PAUSE: {halted}");
    }
}

#[test]
fn pages_decide_about_the_sieve() {
    let preset = Preset::named("xeon-mp-foster").unwrap();
    let result = sieve_pages::run(&preset, 1, 12).unwrap();
    let [least, .., most] = result.quartiles_per_s;
    assert!(result.last_level_misses_ideal < 1000, "it fits where frames are coloured ideally");
    assert!(result.last_level_misses[0] > 150_000);
    assert!(result.ideal_per_s > most && most > least * 1.1, "{:?}", result.quartiles_per_s);
}

#[test]
fn the_interval_formula_is_near_the_core_for_the_notes_pair() {
    let [gzip, perl] = ["gzip", "perl-loop"].map(|name| Profile::named(name).unwrap());
    for name in ["p4-northwood", "westmere", "sandybridge", "ivybridge"] {
        let preset = Preset::named(name).unwrap();
        let summaries = [&gzip, &perl].map(|profile| Summary::of(profile, &preset, 1));
        let formula = pair(&preset, [&summaries[0], &summaries[1]]);
        let options = Options { warmup_uops: 150_000, measure_uops: 300_000, ..Options::default() };
        let alone = simulate(&preset, vec![gzip.input(&preset, 1, 0)], &options).unwrap();
        let both = vec![gzip.input(&preset, 1, 0), perl.input(&preset, 1, 0)];
        let both = simulate(&preset, both, &options).unwrap();
        let core = alone.uops_per_cycle(0) / both.uops_per_cycle(0);
        let error = formula[0].slowdown() - core;
        assert!(error.abs() < 0.3, "{name}: {error:+.3} beside {core:.3}");
    }
}
