//! Halting, pausing, locks, and runs that do not get on.

use crate::kernels::*;
use coretwin_base::random::Stream as Random;
use coretwin_sim::core::outcome::Component;
use coretwin_sim::core::{Class, Effect, Options, Outcome, Preset, ThreadInput, Uop, simulate};

/// The same core as it would be built without SMT: what is split even alone is half as large.
fn without_siblings(preset: &Preset) -> Preset {
    let mut single = preset.clone();
    single.ways = 1;
    let memory = &mut single.memory;
    let pools = [
        &mut single.front_end.uop_queue,
        &mut single.reorder_buffer,
        &mut memory.load_buffer,
        &mut memory.store_buffer,
        &mut memory.miss_buffers,
    ];
    for pool in pools {
        if pool.always_split {
            pool.always_split = false;
            pool.entries /= u16::from(preset.ways);
        }
    }
    single
}

#[test]
fn beside_a_halted_sibling_a_core_is_a_core_without_smt() {
    for preset in Preset::all() {
        for footprint in [8 << 10, 1 << 20] {
            let program = || mix(3, footprint, 6);
            let (one, smt) = (
                alone(&without_siblings(&preset), program(), 30_000),
                alone(&preset, program(), 30_000),
            );
            assert_eq!(one.cycles, smt.cycles, "{} {footprint}", preset.name);
            assert_eq!(one.threads[0], smt.threads[0], "{} {footprint}", preset.name);
        }
    }
}

#[test]
fn a_sibling_that_halts_gives_its_half_back_and_one_that_pauses_does_not() {
    let mut preset = preset("p4-northwood");
    preset.switch_cycles = 0;
    let halting = repeat(vec![uop(Class::IntAlu), uop(Class::Nop).with(Effect::Halt)]);
    let program = || mix(4, 4096, 0);
    let speed = |outcome: Outcome| outcome.uops_per_cycle(0);
    let by_itself = speed(alone(&preset, program(), 40_000));
    let halted = speed(pair(&preset, program(), halting, 40_000));
    let paused = speed(pair(&preset, program(), spin_pause(), 40_000));
    let spun = speed(pair(&preset, program(), spin(), 40_000));
    assert!(close(halted, by_itself, 0.001), "{halted} beside a halted one, {by_itself} alone");
    assert!(paused < 0.99 * by_itself, "{paused} beside a pausing one, {by_itself} alone");
    assert!(spun < 0.95 * paused, "{spun} beside a spinning one, {paused} beside a pausing one");
}

#[test]
fn a_thread_wakes_from_its_halt() {
    let preset = preset("skylake-sp");
    let napping = repeat(vec![
        uop(Class::IntAlu),
        Uop { address: 1000, ..uop(Class::Nop) }.with(Effect::Halt),
    ]);
    let outcome = alone(&preset, napping, 200);
    let round = 2.0 / outcome.uops_per_cycle(0);
    let switches = 2.0 * f64::from(preset.switch_cycles);
    assert!(round > 1000.0 && round < 1040.0 + switches, "{round} cycles a round");
    assert!(cycles_per_uop(&outcome, Component::Halt) > 490.0);
}

/// Takes a lock, works `held` cycles, gives it back, works elsewhere for 50 to 350: rounds of one
/// length would soon pass each other by.
fn locking(acquire: Effect, held: usize, seed: u64) -> impl coretwin_sim::core::Stream {
    let mut elsewhere = Random::new(seed, "elsewhere", 0);
    let mut body = Vec::new();
    for _ in 0..64 {
        body.push(uop(Class::Atomic).at(DATA).with(acquire));
        body.extend(vec![uop(Class::IntMul).after(1, 0); held / 4]);
        body.push(uop(Class::Store).at(DATA).with(Effect::Release));
        let cycles = 50 + elsewhere.below(300) as usize;
        body.extend(vec![uop(Class::IntMul).after(1, 0); cycles / 4]);
    }
    repeat(body)
}

fn contended(preset: &Preset, acquire: Effect) -> Outcome {
    let thread = |seed| ThreadInput::new(locking(acquire, 200, seed), 1);
    run(preset, vec![thread(1), thread(2)], 30_000)
}

#[test]
fn a_lock_is_handed_over_and_nobody_starves() {
    for preset in Preset::all() {
        for acquire in [Effect::Acquire, Effect::AcquirePausing] {
            let outcome = contended(&preset, acquire);
            let (first, second) = (outcome.threads[0].uops, outcome.threads[1].uops);
            assert!(
                first * 3 > second && second * 3 > first,
                "{}: {first} and {second} retired",
                preset.name
            );
            assert!(
                outcome.threads[0].counts.contended_acquires > 5,
                "{} {acquire:?}",
                preset.name
            );
        }
    }
}

/// A short lock is free for a moment alone, at the same place of a sibling's round each time.
#[test]
fn locks_of_any_length_are_handed_over() {
    for preset in Preset::all() {
        for (held, outside) in [(1, 2), (1, 40), (10, 2), (10, 40), (60, 2), (60, 200)] {
            for acquire in [Effect::Acquire, Effect::AcquirePausing] {
                let mut body = vec![uop(Class::Atomic).at(DATA).with(acquire)];
                body.extend(vec![uop(Class::IntMul).after(1, 0); held]);
                body.push(uop(Class::Store).at(DATA).with(Effect::Release));
                body.extend(vec![uop(Class::IntAlu); outside]);
                let thread = || ThreadInput::new(repeat(body.clone()), 1);
                let outcome = run(&preset, vec![thread(), thread()], 3000);
                let retired = [0, 1].map(|at| outcome.threads[at].uops);
                let (least, most) = (retired[0].min(retired[1]), retired[0].max(retired[1]));
                let name = &preset.name;
                assert!(least * 10 > most, "{name}, {held}, {outside}, {acquire:?}: {retired:?}");
            }
        }
    }
}

#[test]
fn spinning_without_pause_pays_with_machine_clears() {
    let preset = preset("xeon-mp-foster");
    let clears = |outcome: &Outcome| {
        outcome.threads.iter().map(|thread| thread.counts.machine_clears).sum::<u64>()
    };
    let (plain, pausing) =
        (contended(&preset, Effect::Acquire), contended(&preset, Effect::AcquirePausing));
    assert!(clears(&plain) > clears(&pausing), "{} {}", clears(&plain), clears(&pausing));
}

#[test]
fn a_lock_that_is_never_given_back_is_found_and_named() {
    let preset = preset("westmere");
    let taking = repeat(vec![
        uop(Class::Atomic).at(DATA).with(Effect::Acquire),
        uop(Class::IntAlu).after(1, 0),
    ]);
    let threads = vec![ThreadInput::new(taking.clone(), 1), ThreadInput::new(taking, 1)];
    let stuck = simulate(&preset, threads, &options(1000)).expect_err("no progress");
    let text = stuck.to_string();
    assert!(text.contains("has retired nothing for"), "{text}");
    assert!(text.contains("holds lock 0") && text.contains("waits for lock 0"), "{text}");
}

#[test]
fn a_run_beyond_its_bound_says_what_it_waits_for() {
    let preset = preset("westmere");
    let options = Options { cycle_bound: 1000, ..options(100_000) };
    let slow = ThreadInput::new(chain(Class::IntDiv, 1), 1);
    let text = simulate(&preset, vec![slow], &options).expect_err("the bound").to_string();
    assert!(text.contains("within 1000 cycles") && text.contains("int_div"), "{text}");
    let halting = repeat(vec![uop(Class::Nop).with(Effect::Halt)]);
    let outcome = alone(&preset, halting, 10);
    assert_eq!(outcome.threads[0].uops, 0, "a thread that halts for ever is not waited for");
}

#[test]
fn entering_the_kernel_costs_what_the_preset_says() {
    let preset = preset("zen3");
    let calls = repeat(vec![
        uop(Class::IntAlu).with(Effect::EnterKernel),
        uop(Class::IntAlu).with(Effect::LeaveKernel),
    ]);
    let round = 2.0 / alone(&preset, calls, 1000).uops_per_cycle(0);
    let front_end = preset.front_end;
    let wanted = f64::from(front_end.kernel_entry_cycles + front_end.kernel_exit_cycles);
    assert!(round >= wanted && round < wanted + 8.0, "{round} cycles, not about {wanted}");
}

#[test]
fn entering_the_kernel_takes_half_of_a_siblings_turns() {
    let calls = || {
        repeat(vec![
            uop(Class::IntAlu).with(Effect::EnterKernel),
            uop(Class::IntAlu).with(Effect::LeaveKernel),
        ])
    };
    for preset in Preset::all() {
        let sibling = |takes_turns: bool| {
            let mut preset = preset.clone();
            preset.front_end.kernel_takes_turns = takes_turns;
            pair(&preset, calls(), chain(Class::Nop, 0), 40_000).uops_per_cycle(1)
        };
        let (free, taken) = (sibling(false), sibling(true));
        // Its queue is full at each turn, so that it loses no more than the turns.
        assert!((0.45..0.8).contains(&(taken / free)), "{}: {taken} of {free}", preset.name);
    }
}
