//! What a thread's lost work costs its sibling: the wrong path, replay, and ports bound too early.

use crate::kernels::*;
use coretwin_base::random::Stream as Random;
use coretwin_sim::core::profile::Profile;
use coretwin_sim::core::{Class, Effect, Options, Preset, ThreadInput, compare};

/// A branch that waits for a chain of multiplications; its outcome is random, or always the same.
fn late_branches(random: bool) -> Repeat {
    let mut outcomes = Random::new(7, "outcomes", 0);
    let mut body = Vec::new();
    for _ in 0..1000 {
        body.extend([uop(Class::FpMul).after(9, 0), uop(Class::FpMul).after(1, 0)]);
        let taken = !random || outcomes.below(2) == 0;
        let effect = if taken { Effect::Taken } else { Effect::None };
        body.push(uop(Class::Branch).after(1, 0).with(effect));
        body.extend(vec![uop(Class::Nop); 6]);
    }
    let mut program = repeat(body);
    program.same_branch();
    program
}

#[test]
fn work_on_the_wrong_path_takes_slots_of_a_sibling() {
    for preset in Preset::all() {
        let beside = |random: bool| {
            let outcome = pair(&preset, late_branches(random), chain(Class::Nop, 0), 40_000);
            (outcome.uops_per_cycle(0), outcome.uops_per_cycle(1))
        };
        let ((right, _), (wrong, sibling)) = (beside(false), beside(true));
        let width = f64::from(
            preset.front_end.fetch.width.min(preset.rename.width).min(preset.retire.width),
        );
        // What the sibling does not get is more than what the thread retires.
        let lost = width - sibling;
        assert!(wrong < right, "{}", preset.name);
        assert!(
            lost > 1.3 * wrong,
            "{}: it retires {wrong}, its sibling {sibling} of {width}",
            preset.name
        );
    }
}

#[test]
fn a_mispredicted_branch_keeps_a_sibling_from_rename_for_so_many_cycles() {
    let beside = |recovery_cycles: u16| {
        let mut preset = preset("golden-cove");
        preset.recovery_cycles = recovery_cycles;
        let outcome = pair(&preset, late_branches(true), chain(Class::Nop, 0), 40_000);
        let missed = outcome.threads[0].counts.mispredicts as f64 / outcome.cycles as f64;
        (missed, outcome.uops_per_cycle(1), f64::from(preset.rename.width))
    };
    let ((_, without, width), (missed, with, _)) = (beside(0), beside(12));
    // The thread's own work of the wrong path had some of the slots that both lose.
    let lost = (without - with) / missed / width;
    assert!((10.0..=12.5).contains(&lost), "{lost} cycles of rename for each of 12 ({missed})");
}

#[test]
fn stores_that_wait_in_buffers_of_their_own_leave_loads_the_miss_buffers() {
    let preset = preset("p4-northwood");
    assert!(preset.memory.write_combining > 0);
    let sets = preset.memory.first.bytes / u64::from(preset.memory.first.ways);
    let loads = || {
        // Too many for their sets of the first level, few for the second.
        let load = |number: u64| uop(Class::Load).at(DATA + number % 8 * sets + number / 8 * 64);
        in_one_page(repeat((0..64).map(load).collect()))
    };
    // All over four times the second level, a sector each.
    let store = |number: u64| uop(Class::Store).at(DATA + (1 << 29) + number * 128);
    let stores = in_one_page(repeat((0..16_384).map(store).collect()));
    let alone = run(&preset, vec![loads()], 4000).uops_per_cycle(0);
    let beside = run(&preset, vec![loads(), stores], 4000).uops_per_cycle(0);
    assert!(beside > 0.6 * alone, "{beside} of {alone} loads a cycle");
}

#[test]
fn what_goes_round_takes_the_load_port() {
    let sibling = |replay_cycles: u16| {
        let mut preset = preset("p4-northwood");
        preset.replay_cycles = replay_cycles;
        let line = u64::from(preset.memory.line_bytes);
        let sets = preset.memory.first.bytes / line / u64::from(preset.memory.first.ways);
        // One set of the first level, which is too small for it.
        let missing = chase(u64::from(preset.memory.first.ways) + 1, sets * line);
        let hits = repeat(vec![uop(Class::Load).at(DATA + 64); 64]);
        let threads = vec![in_one_page(missing), ThreadInput::new(hits, 2)];
        run(&preset, threads, 4000).uops_per_cycle(1)
    };
    // A load and the three behind it, each 2 cycles later, in 2 rounds of 7 before the second level's
    // 18 cycles are over.
    let (without, with) = (sibling(0), sibling(7));
    let lost = 18.0 * (without - with);
    assert!(close(lost, 8.0, 0.02), "{without} {with}: {lost} loads a round");
}

#[test]
fn ports_bound_at_rename_change_little() {
    for name in ["westmere", "sandybridge", "ivybridge", "skylake-sp", "golden-cove"] {
        let cycles = |binds: bool| {
            let mut preset = preset(name);
            assert!(preset.binds_ports_at_rename, "{name}");
            preset.binds_ports_at_rename = binds;
            pair(&preset, mix(3, 4096, 20), mix(4, 4096, 20), 40_000).cycles as f64
        };
        let (bound, free) = (cycles(true), cycles(false));
        assert!(bound != free && close(bound, free, 0.05), "{name}: {bound} {free}");
    }
}

#[test]
fn a_chase_does_not_starve_a_spinner() {
    let [spin, chase] =
        ["spin", "pointer-chase"].map(|name| Profile::named(name).expect("a built-in profile"));
    for preset in Preset::all() {
        let options = Options { warmup_uops: 2000, measure_uops: 10_000, ..Options::default() };
        let input = |thread: usize| [&spin, &chase][thread].input(&preset, 1, 0);
        let slowdown = compare(&preset, 2, &input, &options).expect("the run ends").slowdown(0);
        assert!(slowdown < 3.0, "{}: {slowdown}", preset.name);
    }
}

#[test]
fn lines_64_kib_apart_clash_within_an_address_space_only_where_lines_carry_its_number() {
    let stacks = Profile::named("stack-alias-64k").expect("a shipped profile");
    let evictions = |name: &str, apart: bool| {
        let preset = preset(name);
        let input = |copy: u16| {
            let mut input = stacks.input(&preset, 1, copy);
            input.data_space += if apart { u32::from(copy) } else { 0 };
            input
        };
        let outcome = run(&preset, vec![input(0), input(1)], 20_000);
        let counts = outcome.threads.iter().map(|thread| thread.counts.alias_evictions);
        counts.sum::<u64>()
    };
    assert!(evictions("p4-northwood", false) > 1000);
    assert_eq!(evictions("p4-northwood", true), 0);
    assert!(evictions("xeon-mp-foster", true) > 1000, "its lines carry no number");
}
