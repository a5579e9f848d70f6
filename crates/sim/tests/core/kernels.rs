//! Loops of known behaviour, and short ways to run them.

use coretwin_sim::core::{
    Class, Effect, Options, Outcome, Preset, Stream, ThreadInput, Uop, simulate,
};

/// A loop, uop by uop; loads and stores may walk.
#[derive(Clone)]
pub struct Repeat {
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

/// Code addresses four bytes apart.
pub fn repeat(body: Vec<Uop>) -> Repeat {
    let mut body = body;
    for (index, uop) in body.iter_mut().enumerate() {
        uop.code = 0x40_0000 + 4 * index as u32;
    }
    Repeat { body, next: 0 }
}

pub fn uop(class: Class) -> Uop {
    Uop::new(class, 0)
}

/// `count` micro-operations of the class, each after the one `distance` before (0: independent),
/// and a taken branch.
pub fn chain(class: Class, distance: u16, count: usize) -> Repeat {
    let mut body = vec![uop(class).after(distance, 0); count];
    body.push(uop(Class::Branch).with(Effect::Taken));
    repeat(body)
}

pub fn preset(name: &str) -> Preset {
    Preset::named(name).unwrap()
}

pub fn run(preset: &Preset, threads: Vec<ThreadInput<'_>>, uops: u64) -> Outcome {
    let options = Options { warmup_uops: uops / 4, measure_uops: uops, ..Options::default() };
    simulate(preset, threads, &options).unwrap()
}

pub fn alone(preset: &Preset, stream: impl Stream, uops: u64) -> Outcome {
    run(preset, vec![ThreadInput::new(stream, 1)], uops)
}

pub fn pair(preset: &Preset, first: impl Stream, second: impl Stream, uops: u64) -> Outcome {
    run(preset, vec![ThreadInput::new(first, 1), ThreadInput::new(second, 2)], uops)
}
