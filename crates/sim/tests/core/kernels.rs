//! Loops of known behaviour, and short ways to run them.

use coretwin_base::random::Stream as Random;
use coretwin_sim::core::outcome::Component;
use coretwin_sim::core::stream::Placement;
use coretwin_sim::core::{
    Class, Effect, Options, Outcome, Preset, Stream, ThreadInput, Uop, simulate,
};

/// A loop, micro-operation by micro-operation.
#[derive(Clone)]
pub(crate) struct Repeat {
    body: Vec<Uop>,
    next: usize,
}

impl Stream for Repeat {
    fn fill(&mut self, batch: &mut [Uop]) {
        for place in batch {
            *place = self.body[self.next];
            self.next = (self.next + 1) % self.body.len();
        }
    }
}

impl Repeat {
    /// All branches are one site.
    pub(crate) fn same_branch(&mut self) {
        for uop in &mut self.body {
            uop.code = 0x40_0000;
        }
    }
}

/// The loop with its code addresses, four bytes apart, folded into 512 bytes: code is no matter.
pub(crate) fn repeat(body: Vec<Uop>) -> Repeat {
    let mut body = body;
    for (index, uop) in body.iter_mut().enumerate() {
        uop.code = 0x40_0000 + 4 * (index % 128) as u32;
    }
    Repeat { body, next: 0 }
}

pub(crate) fn uop(class: Class) -> Uop {
    Uop::new(class, 0)
}

/// Micro-operations of one class, each after the one `distance` before (0: independent).
pub(crate) fn chain(class: Class, distance: u16) -> Repeat {
    repeat(vec![uop(class).after(distance, 0); 64])
}

/// A busy loop: independent additions and a taken branch.
pub(crate) fn spin() -> Repeat {
    let mut body = vec![uop(Class::IntAlu); 7];
    body.push(uop(Class::Branch).with(Effect::Taken));
    repeat(body)
}

/// A busy loop that pauses.
pub(crate) fn spin_pause() -> Repeat {
    repeat(vec![
        uop(Class::Nop).with(Effect::Pause),
        uop(Class::IntAlu),
        uop(Class::Branch).with(Effect::Taken),
    ])
}

/// One load after the other, through `count` lines `stride` bytes apart.
pub(crate) fn chase(count: u64, stride: u64) -> Repeat {
    let load = |line: u64| uop(Class::Load).after(1, 0).at(DATA + line * stride);
    repeat((0..count).map(load).collect())
}

/// Where test data begins.
pub(crate) const DATA: u64 = 1 << 32;

/// A mixed program of 16384 micro-operations: chains and bursts, loads and stores in `footprint`
/// bytes, one branch in eight, one in `surprise` of them with a random outcome (0: no branches).
pub(crate) fn mix(seed: u64, footprint: u64, surprise: u64) -> Repeat {
    mix_at(DATA, seed, footprint, surprise)
}

/// As [`mix`], with data at `base`.
pub(crate) fn mix_at(base: u64, seed: u64, footprint: u64, surprise: u64) -> Repeat {
    let mut random = Random::new(seed, "test-mix", 0);
    let mut body = Vec::new();
    for index in 0..16_384_u32 {
        let class = match random.below(32) {
            0..7 => Class::Load,
            7..10 => Class::Store,
            10..14 if surprise > 0 => Class::Branch,
            14 => Class::IntShift,
            15 => Class::FpAdd,
            _ => Class::IntAlu,
        };
        let mut one = Uop::new(class, 0x40_0000 + 4 * (index % 2048));
        let near = random.below(3) == 0;
        let first = 1 + random.below(if near { 3 } else { 60 }) as u16;
        one.sources = [first, if random.below(3) == 0 { 1 + random.below(60) as u16 } else { 0 }];
        if matches!(class, Class::Load | Class::Store) {
            one.address = base + random.below(footprint / 8) * 8;
        }
        if class == Class::Branch {
            let taken = if random.below(surprise) == 0 {
                random.below(2) == 0
            } else {
                one.code.is_multiple_of(3)
            };
            one.effect = if taken { Effect::Taken } else { Effect::None };
        }
        body.push(one);
    }
    Repeat { body, next: 0 }
}

pub(crate) fn preset(name: &str) -> Preset {
    Preset::named(name).expect("a built-in preset")
}

pub(crate) fn options(uops: u64) -> Options {
    Options { warmup_uops: uops / 4, measure_uops: uops, ..Options::default() }
}

pub(crate) fn run(preset: &Preset, threads: Vec<ThreadInput<'_>>, uops: u64) -> Outcome {
    simulate(preset, threads, &options(uops)).expect("the run ends")
}

pub(crate) fn alone(preset: &Preset, stream: impl Stream, uops: u64) -> Outcome {
    run(preset, vec![ThreadInput::new(stream, 1)], uops)
}

pub(crate) fn pair(preset: &Preset, first: impl Stream, second: impl Stream, uops: u64) -> Outcome {
    run(preset, vec![ThreadInput::new(first, 1), ThreadInput::new(second, 2)], uops)
}

/// Data in one huge page, so that translation never misses and lines keep their order.
pub(crate) fn in_one_page<'stream>(stream: impl Stream + 'stream) -> ThreadInput<'stream> {
    ThreadInput {
        page_bytes: 1 << 30,
        placement: Placement::Contiguous,
        ..ThreadInput::new(stream, 1)
    }
}

pub(crate) fn close(found: f64, wanted: f64, tolerance: f64) -> bool {
    (found - wanted).abs() <= tolerance * wanted.abs()
}

/// Cycles per micro-operation of the first thread that a component took.
pub(crate) fn cycles_per_uop(outcome: &Outcome, component: Component) -> f64 {
    let thread = &outcome.threads[0];
    thread.slots[component as usize] as f64 / (f64::from(outcome.width) * thread.uops as f64)
}
