//! Ladders: latencies, widths and the price of a mispredicted branch, as the preset says.

use crate::kernels::*;
use coretwin_base::random::Stream as Random;
use coretwin_sim::core::preset::{Cache, WritePolicy};
use coretwin_sim::core::{Class, Effect, Options, Preset, Touched, simulate};

fn cycles_per_load(preset: &Preset, count: u64, stride: u64) -> f64 {
    let outcome = run(preset, vec![in_one_page(chase(count, stride))], 4000);
    1.0 / outcome.uops_per_cycle(0)
}

#[test]
fn every_cache_level_has_its_latency() {
    for preset in Preset::all() {
        let memory = &preset.memory;
        let line = u64::from(memory.line_bytes);
        let levels: Vec<Cache> =
            [memory.first].into_iter().chain(memory.outer.iter().copied()).collect();
        // Lines of one set, one more than it has ways: this level misses, the next hits.
        let sets = |cache: &Cache| cache.bytes / line / u64::from(cache.ways);
        let mut ladder = vec![(1, line, levels[0].load_cycles)];
        let (mut count, mut stride) = (0, 0);
        for (level, cache) in levels.iter().enumerate() {
            count = count.max(u64::from(cache.ways) + 1);
            stride = stride.max(sets(cache) * line);
            let next = levels.get(level + 1).map_or(memory.memory_cycles, |next| next.load_cycles);
            ladder.push((count, stride, next));
        }
        for (count, stride, wanted) in ladder {
            let found = cycles_per_load(&preset, count, stride);
            assert!(
                close(found, f64::from(wanted), 0.002),
                "{}: {count} lines {stride} apart: {found} cycles, not {wanted}",
                preset.name
            );
        }
    }
}

#[test]
fn every_class_has_its_width_and_latency() {
    for preset in Preset::all() {
        let width = f64::from(
            preset.front_end.fetch.width.min(preset.rename.width).min(preset.retire.width),
        );
        let nops = alone(&preset, chain(Class::Nop, 0), 20_000).uops_per_cycle(0);
        assert!(close(nops, width, 0.002), "{}: {nops} nops a cycle", preset.name);
        for class in [
            Class::IntAlu,
            Class::IntShift,
            Class::IntMul,
            Class::FpAdd,
            Class::FpMul,
            Class::Vector,
            Class::IntDiv,
            Class::FpDiv,
        ] {
            let execution = preset.execution[class as usize];
            let fast = (execution.ports & preset.fast_ports).count_ones();
            let ports = f64::from(execution.ports.count_ones() + fast);
            let wanted = match execution.interval_cycles {
                0 => ports.min(width),
                interval => 1.0 / f64::from(interval),
            };
            let found = alone(&preset, chain(class, 0), 20_000).uops_per_cycle(0);
            assert!(
                close(found, wanted, 0.003),
                "{}: {} {found} a cycle, not {wanted}",
                preset.name,
                class.name()
            );
            let latency = f64::from(execution.latency_half_cycles) / 2.0;
            let wanted = latency.max(f64::from(execution.interval_cycles));
            // On ports that are not double pumped, an operation starts on a whole cycle.
            let wanted = if fast == 0 { wanted.ceil() } else { wanted };
            let found = 1.0 / alone(&preset, chain(class, 1), 20_000).uops_per_cycle(0);
            assert!(
                close(found, wanted, 0.003),
                "{}: a chain of {}: {found} cycles each, not {wanted}",
                preset.name,
                class.name()
            );
        }
    }
}

#[test]
fn a_mispredicted_branch_costs_what_the_preset_says() {
    for preset in Preset::all() {
        // A chain, then a branch on its end; the next chain goes on from there. Rightly predicted,
        // the branch costs nothing; else the chain stands still for exactly the penalty.
        let program = |random: bool| {
            let mut outcomes = Random::new(5, "outcomes", 0);
            let mut body = Vec::new();
            for _ in 0..2000 {
                body.push(uop(Class::FpAdd).after(2, 0));
                body.extend(vec![uop(Class::FpAdd).after(1, 0); 19]);
                let taken = !random || outcomes.below(2) == 0;
                let effect = if taken { Effect::Taken } else { Effect::None };
                body.push(uop(Class::Branch).after(1, 0).with(effect));
            }
            let mut program = repeat(body);
            program.same_branch();
            program
        };
        let (right, wrong) =
            (alone(&preset, program(false), 42_000), alone(&preset, program(true), 42_000));
        assert_eq!(right.threads[0].counts.mispredicts, 0, "{}", preset.name);
        let mispredicts = wrong.threads[0].counts.mispredicts as f64;
        assert!(mispredicts > 600.0, "{}: {mispredicts}", preset.name);
        let found = (wrong.cycles as f64 - right.cycles as f64) / mispredicts;
        let wanted = f64::from(preset.front_end.mispredict_cycles);
        assert!(close(found, wanted, 0.01), "{}: {found}, not {wanted}", preset.name);
    }
}

#[test]
fn a_store_supplies_a_later_load() {
    let preset = preset("sandybridge");
    let forwarded =
        repeat(vec![uop(Class::Store).after(1, 1).at(DATA), uop(Class::Load).after(0, 0).at(DATA)]);
    let outcome = alone(&preset, forwarded, 20_000);
    let store = f64::from(preset.execution[Class::Store as usize].latency_half_cycles) / 2.0;
    let wanted = store + f64::from(preset.memory.forward_cycles);
    let found = 2.0 / outcome.uops_per_cycle(0);
    assert!(close(found, wanted, 0.01), "{found} cycles a round, not {wanted}");
    assert!(outcome.threads[0].counts.forwarded_loads * 2 >= outcome.threads[0].uops - 10);
}

#[test]
fn pause_holds_its_thread_for_the_presets_cycles() {
    for preset in Preset::all() {
        let outcome = alone(&preset, spin_pause(), 3000);
        let found = 3.0 / outcome.uops_per_cycle(0);
        let wanted = f64::from(preset.front_end.pause_cycles);
        assert!(
            found >= wanted && found <= wanted + 2.0,
            "{}: {found} cycles a round, not about {wanted}",
            preset.name
        );
    }
}

#[test]
fn a_trace_line_ends_behind_its_branch() {
    let preset = preset("p4-northwood");
    // A line takes two cycles, full or not.
    for (uops, cycles) in [(1, 2.0), (2, 2.0), (3, 2.0), (5, 2.0), (6, 2.0), (7, 4.0)] {
        let mut body = vec![uop(Class::Nop); uops - 1];
        body.push(uop(Class::Branch));
        let found = uops as f64 / alone(&preset, repeat(body.repeat(16)), 20_000).uops_per_cycle(0);
        assert!(close(found, cycles, 0.003), "{found} cycles for {uops}, not {cycles}");
    }
}

#[test]
fn what_a_thread_touches_is_in_the_outer_caches_from_the_start() {
    for preset in Preset::all() {
        let memory = &preset.memory;
        let line = u64::from(memory.line_bytes);
        let count = u64::from(memory.first.ways) + 1;
        let stride = memory.first.bytes / u64::from(memory.first.ways);
        // Each line once: the first time it is anywhere.
        let cycles = |warm: bool| {
            let mut thread = in_one_page(chase(count, stride));
            let touched =
                |number| Touched { code: false, start: DATA + number * stride, bytes: line };
            thread.touched = (0..count).map(touched).collect();
            let options =
                Options { warmup_uops: 0, measure_uops: count, warm, ..Options::default() };
            simulate(&preset, vec![thread], &options).expect("the run ends").cycles as f64
        };
        let found = (cycles(false) - cycles(true)) / count as f64;
        let wanted = f64::from(memory.memory_cycles - memory.outer[0].load_cycles);
        // Of the one page they lie in the entry has to come, too, where it lies in the caches.
        let entries = u8::from(memory.translation.entries_in_caches);
        let wanted = wanted * (1.0 + f64::from(entries) / count as f64);
        assert!(close(found, wanted, 0.05), "{}: {found} cycles, not {wanted}", preset.name);
    }
}

#[test]
fn a_walk_reads_its_entry_from_the_cache_that_has_it() {
    let cycles = |entries_in_caches: bool| {
        let mut preset = preset("golden-cove");
        preset.memory.translation.entries_in_caches = entries_in_caches;
        // A line of each page, more pages than the buffers have; entries and lines are in the second level.
        let chase = chase(8192, 4096 + 64);
        1.0 / alone(&preset, chase, 40_000).uops_per_cycle(0)
    };
    let (fixed, read) = (cycles(false), cycles(true));
    let second = f64::from(preset("golden-cove").memory.outer[0].load_cycles);
    assert!(close(read - fixed, second, 0.05), "{read} - {fixed} cycles, not {second}");
}

/// Cycles for each of many stores to lines that lie beyond the last cache.
fn cycles_per_missing_store(preset: &Preset) -> f64 {
    let memory = &preset.memory;
    let levels = || [memory.first].into_iter().chain(memory.outer.iter().copied());
    let ways = levels().map(|cache| u64::from(cache.ways)).max().unwrap_or(0);
    let stride = levels().map(|cache| cache.bytes / u64::from(cache.ways)).max().unwrap_or(0);
    let store = |number: u64| uop(Class::Store).at(DATA + number * stride);
    let stores = repeat((0..16 * ways).map(store).collect());
    1.0 / run(preset, vec![in_one_page(stores)], 4000).uops_per_cycle(0)
}

/// The same where neither order nor misses before it hold a store up: with lines that come and go, the bus.
fn cycles_per_line(preset: &Preset) -> f64 {
    let memory = &preset.memory;
    let bus = memory.memory_interval_cycles * (u16::from(memory.lines_per_fill) + 1);
    let buffers = match (memory.write_policy, memory.write_combining) {
        (WritePolicy::Through, combining @ 1..) => u16::from(combining),
        _ => memory.miss_buffers.entries,
    };
    f64::from(bus).max(f64::from(memory.memory_cycles) / f64::from(buffers))
}

/// Whether a first level writes through and nothing is known of buffers for what misses it.
fn writes_one_by_one(preset: &Preset) -> bool {
    preset.memory.write_policy == WritePolicy::Through && preset.memory.write_combining == 0
}

#[test]
fn stores_that_miss_come_as_fast_as_miss_buffers_and_bus_allow() {
    for preset in Preset::all() {
        if !writes_one_by_one(&preset) {
            let (found, wanted) = (cycles_per_missing_store(&preset), cycles_per_line(&preset));
            assert!(close(found, wanted, 0.02), "{}: {found} cycles, not {wanted}", preset.name);
        }
    }
}

#[test]
fn without_buffers_behind_a_level_that_writes_through_stores_that_miss_wait_for_one_another() {
    for mut preset in Preset::all() {
        if writes_one_by_one(&preset) {
            let (found, bus) = (cycles_per_missing_store(&preset), cycles_per_line(&preset));
            assert!(found > 1.2 * bus, "{}: {found} cycles, {bus} for a line", preset.name);
            preset.memory.write_combining = 16;
            let found = cycles_per_missing_store(&preset);
            assert!(close(found, bus, 0.02), "{}: {found} cycles, not {bus}", preset.name);
        }
    }
}
