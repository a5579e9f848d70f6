//! The sizes of windows and queues, found as one finds them on hardware: two chases through memory
//! overlap as long as what lies between them fits. With a busy sibling the preset's share shows.

use crate::kernels::*;
use coretwin_sim::core::preset::{Policy, Resource};
use coretwin_sim::core::{Class, Preset, ThreadInput, Uop};

/// Two chases with `count` fillers behind each load; gives cycles per round.
fn round(preset: &Preset, filler: Filler, count: u16, sibling: bool) -> f64 {
    let memory = &preset.memory;
    let stride = memory.outer.iter().map(|level| level.bytes).max().unwrap_or(1 << 20);
    let rounds = 64;
    let mut body: Vec<Uop> = Vec::new();
    let length = 2 * (u64::from(count) + 1);
    for index in 0..rounds {
        for chase in 0..2 {
            let line = DATA + (index * 2 + chase) * stride + chase * 4096;
            body.push(uop(Class::Load).after(length as u16, 0).at(line));
            for place in 1..=count {
                body.push(match filler {
                    Filler::Nop => uop(Class::Nop),
                    Filler::Load => uop(Class::Load).at(DATA - 8),
                    Filler::Store => uop(Class::Store).at(DATA - 8),
                    Filler::Waiting => uop(Class::IntAlu).after(place, 0),
                });
            }
        }
    }
    let mut threads = vec![in_one_page(repeat(body))];
    if sibling {
        threads.push(ThreadInput::new(chain(Class::Nop, 0), 2));
    }
    let outcome = run(preset, threads, 60 * length);
    outcome.cycles as f64 / (outcome.threads[0].uops as f64 / length as f64)
}

#[derive(Debug, Clone, Copy)]
enum Filler {
    Nop,
    Load,
    Store,
    Waiting,
}

/// What a thread can hold of a resource, from its policy.
fn share(resource: Resource, sibling: bool) -> u16 {
    match resource.policy {
        Policy::Static if sibling || resource.always_split => resource.entries / 2,
        Policy::Watermark { reserve } if sibling => resource.entries - reserve,
        Policy::Capped { cap } if sibling => cap,
        _ => resource.entries,
    }
}

/// The step in time lies exactly where the resource ends: `fits` fillers overlap, one more does
/// not.
fn assert_cliff(preset: &Preset, filler: Filler, fits: u16, sibling: bool) {
    let (below, above) =
        (round(preset, filler, fits, sibling), round(preset, filler, fits + 1, sibling));
    let step = above - below;
    assert!(
        step > 0.6 * f64::from(preset.memory.memory_cycles),
        "{}: {filler:?} {fits} sibling {sibling}: {below} then {above} cycles a round",
        preset.name
    );
}

fn two_way() -> impl Iterator<Item = Preset> {
    Preset::all().into_iter().filter(|preset| preset.ways == 2)
}

#[test]
fn the_reorder_buffer_ends_where_the_preset_says() {
    for preset in two_way() {
        for sibling in [false, true] {
            let entries = share(preset.reorder_buffer, sibling);
            assert_cliff(&preset, Filler::Nop, entries - 2, sibling);
        }
    }
}

#[test]
fn the_load_and_store_buffers_end_where_the_preset_says() {
    for preset in two_way() {
        for sibling in [false, true] {
            let window = share(preset.reorder_buffer, sibling);
            let loads = share(preset.memory.load_buffer, sibling);
            if loads < window {
                assert_cliff(&preset, Filler::Load, loads - 2, sibling);
            }
            let stores = share(preset.memory.store_buffer, sibling);
            if stores < window {
                assert_cliff(&preset, Filler::Store, stores, sibling);
            }
        }
    }
}

#[test]
fn the_scheduler_ends_where_the_preset_says() {
    for preset in two_way() {
        let holding = |class: Class| {
            preset.schedulers.iter().position(|scheduler| scheduler.classes.contains(&class))
        };
        let (alu, load) = (holding(Class::IntAlu), holding(Class::Load));
        let Some(scheduler) = alu else { panic!("{}: additions wait nowhere", preset.name) };
        let resource = preset.schedulers[scheduler].resource;
        for sibling in [false, true] {
            let entries = share(resource, sibling);
            if entries + 2 < share(preset.reorder_buffer, sibling) {
                // In a unified scheduler the second load needs an entry too.
                let fits = if alu == load { entries - 1 } else { entries };
                assert_cliff(&preset, Filler::Waiting, fits, sibling);
            }
        }
    }
}

#[test]
fn as_many_stores_to_one_place_as_there_are_entries_are_all_found() {
    let mut preset = preset("golden-cove");
    preset.memory.store_buffer.entries = 256;
    // They are renamed faster than written, so that it fills; each load is of the youngest.
    preset.memory.commits_per_cycle = 1;
    let mut body = vec![uop(Class::Store).at(DATA); 300];
    body.push(uop(Class::Load).at(DATA));
    let outcome = alone(&preset, repeat(body), 100_000);
    let counts = outcome.threads[0].counts;
    assert!(counts.loads > 300 && counts.forwarded_loads == counts.loads, "{counts:?}");
}
