//! From statistics to a program: a fixed sequence of micro-operations with the profile's mix,
//! dependences and branch sites, laid out once for each phase.
//!
//! The layout is static, as code is: what stands at an address is always of one class with the
//! same sources. What is drawn at execution is left open, see [`Draw`].

use super::statistical::{Lock, Pattern, Phase, Region, Sources};
use super::{CODE_BASE, CODE_BYTES_PER_UOP, DATA_BASE, Seat};
use crate::core::{Class, KERNEL_CODE, KERNEL_DATA, Touched, Uop};
use coretwin_base::random;

/// Bytes from one region to the next: the most that a region can have, and what keeps their first
/// lines out of one set.
const REGION_GAP: u64 = super::read::BYTES_MAX + 0x1_1440;

/// Bytes from the data of one copy to that of the next.
const COPY_GAP: u64 = 0x1_0000_0000 + 0x9_5c80;

#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) uop: Uop,
    pub(super) draw: Draw,
}

/// What is drawn when a slot is executed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Draw {
    Nothing,
    /// An address within a region.
    Random {
        bytes: u64,
    },
    /// An address within a region, so often of 2^32 times near its beginning.
    Near {
        bytes: u64,
        near: u64,
        share: u64,
    },
    /// The next address of a walk.
    Walk {
        region: u8,
        step: u64,
        bytes: u64,
    },
    /// The next address of this slot's own walk, which is at `at`.
    OwnWalk {
        at: u64,
        step: u64,
        bytes: u64,
    },
    /// Whether the branch is taken, so often of 2^32 times.
    Chance {
        taken: u64,
    },
}

pub(super) struct Program {
    pub(super) slots: Vec<Slot>,
    pub(super) hot_slots: usize,
    /// Where the hot part goes on, after an excursion or another phase.
    pub(super) hot_next: usize,
    pub(super) hot_of_2_32: u64,
    pub(super) length: u64,
    pub(super) kernel: bool,
    pub(super) halt_cycles: u64,
    pub(super) pause_every: u64,
    pub(super) lock: Option<Lock>,
}

/// Deals items to places: as many of each as its share says, in random order; the hot places by
/// themselves, so that both parts of the code have the stated shares.
fn deal(shares: &[f64], places: Places, random: &mut random::Stream) -> Vec<u8> {
    let total: f64 = shares.iter().sum();
    let mut all = Vec::with_capacity(places.hot + places.cold);
    for count in [places.hot, places.cold] {
        let mut dealt = Vec::with_capacity(count);
        let mut sum = 0.0;
        for (item, share) in shares.iter().enumerate() {
            // Cumulative rounding: the counts add up, each within one of its share.
            sum += share / total;
            let until = ((sum * count as f64).round() as usize).min(count);
            dealt.resize(until.max(dealt.len()), item as u8);
        }
        dealt.resize(count, 0);
        random.shuffle(&mut dealt);
        all.append(&mut dealt);
    }
    all
}

/// How many places lie in the hot part, and how many behind it.
#[derive(Clone, Copy)]
struct Places {
    hot: usize,
    cold: usize,
}

impl Places {
    /// Of these ascending slots, with so many hot ones.
    fn of(slots: &[usize], hot_slots: usize) -> Self {
        let hot = slots.partition_point(|slot| *slot < hot_slots);
        Self { hot, cold: slots.len() - hot }
    }
}

/// Lays a phase out for a thread. Phases of the same name and number are the same code.
pub(super) fn lay_out(phase: &Phase, number: usize, fused: bool, seat: Seat) -> Program {
    // The code is the same in every thread and for every seed, as a binary is.
    let mut random = random::Stream::new(0, &format!("layout {}", phase.name), number as u64);
    let code = code_base(phase, number);
    let share = phase.mix.fused_share();
    let scaled = |uops: u64| match (uops, fused) {
        (0, _) => 0,
        (_, true) => ((uops as f64 * share) as u64).max(1),
        (_, false) => uops,
    };
    let (slots, hot_slots) = match &phase.body {
        Some(body) => {
            let slots = body.slots(fused, own_data(seat), code);
            let count = slots.len();
            (slots, count)
        }
        None => drawn(phase, code, fused, seat, &mut random),
    };
    Program {
        slots,
        hot_slots,
        hot_next: 0,
        hot_of_2_32: (phase.code.hot_share * 4_294_967_296.0) as u64,
        length: scaled(phase.uops),
        kernel: phase.kernel,
        halt_cycles: phase.halt_cycles,
        pause_every: scaled(phase.pause_every_uops),
        lock: phase.lock.map(|lock| Lock {
            every_uops: scaled(lock.every_uops),
            hold_uops: scaled(lock.hold_uops),
            ..lock
        }),
    }
}

/// Where the code of a phase of this number begins.
fn code_base(phase: &Phase, number: usize) -> u32 {
    let space = if phase.kernel { KERNEL_CODE } else { 0 };
    (CODE_BASE + ((number as u32) << 22)) | space
}

/// What a phase touches again and again.
pub(super) fn touched(phase: &Phase, number: usize, seat: Seat) -> Vec<Touched> {
    if let Some(body) = &phase.body {
        return body.touched(own_data(seat));
    }
    let start = u64::from(code_base(phase, number));
    let code = |bytes| Touched { code: true, start, bytes };
    let data = phase.regions.iter().zip(bases(phase, seat));
    let data = data.map(|(region, start)| Touched { code: false, start, bytes: region.bytes });
    [code(phase.code.bytes), code(phase.code.hot_bytes)].into_iter().chain(data).collect()
}

/// Where the regions of a phase begin.
fn bases(phase: &Phase, seat: Seat) -> Vec<u64> {
    let base = |(number, region): (usize, &Region)| {
        // Region n of every phase is the same memory: phases are parts of one program.
        let own = own_data(seat);
        let start = match (region.shared, phase.kernel) {
            (true, true) => DATA_BASE,
            (true, false) => seat.base,
            (false, _) => own,
        };
        let space = if phase.kernel { KERNEL_DATA } else { 0 };
        (start + number as u64 * REGION_GAP) | space
    };
    phase.regions.iter().enumerate().map(base).collect()
}

/// Where the data of a seat's program begins.
fn own_data(seat: Seat) -> u64 {
    seat.base + u64::from(seat.copy) * COPY_GAP
}

/// The code of a phase, drawn from its statistics, and how many of its slots are hot.
fn drawn(
    phase: &Phase,
    code: u32,
    fused: bool,
    seat: Seat,
    random: &mut random::Stream,
) -> (Vec<Slot>, usize) {
    let slots = |bytes: u64| (bytes / u64::from(CODE_BYTES_PER_UOP)).max(16) as usize;
    let (classes, compares, hot) =
        classes(phase, slots(phase.code.hot_bytes), slots(phase.code.bytes), random);
    let mut program: Vec<Slot> = classes
        .iter()
        .enumerate()
        .map(|(place, class)| Slot {
            uop: Uop::new(*class, code + place as u32 * CODE_BYTES_PER_UOP),
            draw: Draw::Nothing,
        })
        .collect();
    wire(phase, &mut program, &compares, hot, random);
    place_data(phase, &mut program, hot, seat, random);
    tie_chain(&mut program, &compares, hot);
    place_branches(phase, &mut program, &compares, hot, random);
    let kept = |places: &[bool]| places.iter().filter(|dropped| !**dropped).count();
    match fused {
        true => {
            let slots = drop_compares(&program, &compares, hot, |slot| &mut slot.uop);
            (slots, kept(&compares[..hot]).max(1))
        }
        false => (program, hot),
    }
}

/// The class of every slot, which are compares (int_alu right before their branch), and how many
/// slots are hot.
fn classes(
    phase: &Phase,
    hot: usize,
    slots: usize,
    random: &mut random::Stream,
) -> (Vec<Class>, Vec<bool>, usize) {
    let branch = phase.mix.of(Class::Branch);
    let compared = (branch * phase.mix.compared).min(phase.mix.of(Class::IntAlu));
    // Compare and branch are dealt as one card of two slots; `Class::COUNT` is its number.
    let mut shares = phase.mix.share.to_vec();
    shares[Class::IntAlu as usize] -= compared;
    shares[Class::Branch as usize] = (branch - compared).max(0.0);
    shares.push(compared);
    let cards = |slots: usize| (slots as f64 * (1.0 - compared)).round() as usize;
    let places = Places { hot: cards(hot).max(1), cold: cards(slots.saturating_sub(hot)) };
    let (mut classes, mut compares, mut hot_slots) = (Vec::new(), Vec::new(), 0);
    for (number, card) in deal(&shares, places, random).into_iter().enumerate() {
        if usize::from(card) == Class::COUNT {
            classes.extend([Class::IntAlu, Class::Branch]);
            compares.extend([true, false]);
        } else {
            classes.push(Class::ALL[usize::from(card)]);
            compares.push(false);
        }
        if number < places.hot {
            hot_slots = classes.len();
        }
    }
    (classes, compares, hot_slots)
}

/// Draws every source's distance, and moves it back to the nearest slot with a result.
fn wire(
    phase: &Phase,
    program: &mut [Slot],
    compares: &[bool],
    hot: usize,
    random: &mut random::Stream,
) {
    let slots = program.len();
    let places = Places { hot, cold: slots - hot };
    let sources = &phase.sources;
    let one = (1.0 - sources.none - sources.two).max(0.0);
    let counts = deal(&[sources.none, one, sources.two], places, random);
    let twice = Places { hot: places.hot * 2, cold: places.cold * 2 };
    let distances = deal(&sources.share, twice, random);
    let makes: Vec<bool> = program
        .iter()
        .zip(compares)
        .map(|(slot, compare)| slot.uop.class.writes_float_register().is_some() && !compare)
        .collect();
    let (within_hot, within_all) = (gaps(&makes[..hot]), gaps(&makes));
    for place in 0..slots {
        let after_compare = place > 0 && compares[place - 1];
        for source in 0..usize::from(counts[place]) {
            let distance = distance(sources, distances[place * 2 + source], random);
            let gaps = if place < hot { &within_hot } else { &within_all };
            program[place].uop.sources[source] = nearest(gaps, place, distance);
        }
        if after_compare {
            program[place].uop.sources = [1, 0];
        }
    }
}

/// A distance within its class, evenly.
fn distance(sources: &Sources, class: u8, random: &mut random::Stream) -> usize {
    let class = usize::from(class);
    let from = if class == 0 { 1 } else { u64::from(sources.up_to[class - 1]) + 1 };
    let to = u64::from(sources.up_to[class]).max(from);
    (from + random.below(to - from + 1)) as usize
}

/// How many slots lie between each place and the nearest marked one at or before it, around the
/// program's end if need be; empty where none is marked.
fn gaps(marked: &[bool]) -> Vec<usize> {
    let Some(last) = marked.iter().rposition(|mark| *mark) else { return Vec::new() };
    let mut gap = marked.len() - 1 - last;
    marked
        .iter()
        .map(|mark| {
            gap = if *mark { 0 } else { gap + 1 };
            gap
        })
        .collect()
}

/// The first marked slot at least so far back.
fn nearest(gaps: &[usize], place: usize, distance: usize) -> u16 {
    let slots = gaps.len();
    if slots == 0 {
        return 0;
    }
    let from = (place + slots * (1 + distance / slots) - distance) % slots;
    u16::try_from(distance + gaps[from]).unwrap_or(0)
}

/// Deals the regions to the accesses, and marks those of the chain.
fn place_data(
    phase: &Phase,
    program: &mut [Slot],
    hot: usize,
    seat: Seat,
    random: &mut random::Stream,
) {
    let accesses: Vec<usize> = (0..program.len())
        .filter(|place| {
            matches!(program[*place].uop.class, Class::Load | Class::Store | Class::Atomic)
        })
        .collect();
    let shares: Vec<f64> = phase.regions.iter().map(|region| region.share).collect();
    if accesses.is_empty() || shares.is_empty() {
        return;
    }
    let (loads, others): (Vec<usize>, Vec<usize>) =
        accesses.into_iter().partition(|place| program[*place].uop.class == Class::Load);
    // Chains are of loads: their regions are dealt to loads first.
    let count = (loads.len() + others.len()) as f64;
    let of_loads = |region: &Region| region.chase || region.follows;
    let mut for_loads = shares.clone();
    let mut for_others: Vec<f64> =
        phase.regions.iter().map(|r| if of_loads(r) { 0.0 } else { r.share }).collect();
    if for_others.iter().sum::<f64>() <= 0.0 {
        for_others.clone_from(&shares);
    }
    let scale = others.len() as f64 / for_others.iter().sum::<f64>();
    for (region, share) in for_loads.iter_mut().enumerate() {
        *share = (*share * count - for_others[region] * scale).max(0.0);
    }
    let bases = bases(phase, seat);
    for (places, shares) in [(loads, for_loads), (others, for_others)] {
        let dealt = deal(&shares, Places::of(&places, hot), random);
        for (place, region) in places.into_iter().zip(dealt) {
            let described = phase.regions[usize::from(region)];
            program[place].uop.address = bases[usize::from(region)];
            program[place].draw = match described.pattern {
                Pattern::Random => Draw::Random { bytes: described.bytes },
                Pattern::Stride(step) => Draw::Walk { region, step, bytes: described.bytes },
            };
            if described.chase {
                // Marked for `tie_chain`, which takes the marks away.
                program[place].uop.argument = 2 + u16::from(described.chase_steps);
            } else if described.follows {
                program[place].uop.argument = 1;
            }
        }
    }
}

/// Ties the loads of the chain to each other, with integer operations between where asked for.
fn tie_chain(program: &mut [Slot], compares: &[bool], hot: usize) {
    let (mut tip, mut steps) = (None, 0);
    // Two rounds of the hot part: the first finds the chain's end, to which the second ties its
    // beginning. What is cold follows.
    for turn in 0..hot + program.len() {
        let place = if turn < hot { turn } else { turn - hot };
        let mark = program[place].uop.argument;
        let back = tip.and_then(|tip: usize| u16::try_from(turn - tip).ok());
        let uop = &mut program[place].uop;
        if mark > 0 {
            uop.sources = [back.unwrap_or(0), 0];
        }
        if mark > 1 {
            (tip, steps) = (Some(turn), mark - 2);
        } else if steps > 0 && uop.class == Class::IntAlu && !compares[place] {
            uop.sources = [back.unwrap_or(0), 0];
            (tip, steps) = (Some(turn), steps - 1);
        }
    }
    for slot in program {
        slot.uop.argument = 0;
    }
}

/// Deals usual ways and biases to the branches, and ties some to the loads before them.
fn place_branches(
    phase: &Phase,
    program: &mut [Slot],
    compares: &[bool],
    hot: usize,
    random: &mut random::Stream,
) {
    let sites: Vec<usize> =
        (0..program.len()).filter(|place| program[*place].uop.class == Class::Branch).collect();
    let branches = &phase.branches;
    let places = Places::of(&sites, hot);
    let ways = deal(&[branches.taken, 1.0 - branches.taken], places, random);
    let biases = deal(&branches.share, places, random);
    let waits = deal(&[branches.on_loads, 1.0 - branches.on_loads], places, random);
    let is_load: Vec<bool> = program.iter().map(|slot| slot.uop.class == Class::Load).collect();
    let loads = gaps(&is_load);
    for (index, place) in sites.into_iter().enumerate() {
        let usually = ways[index] == 0;
        let bias = branches.bias[usize::from(biases[index])];
        let taken = if usually { bias } else { 1.0 - bias };
        program[place].draw = Draw::Chance { taken: (taken * 4_294_967_296.0) as u64 };
        if waits[index] != 0 {
            continue;
        }
        let tested = if place > 0 && compares[place - 1] { place - 1 } else { place };
        let back = nearest(&loads, tested, 1);
        if back > 0 {
            program[tested].uop.sources = [back, 0];
        }
    }
}

/// What is left of a program where compares fuse: they are dropped, and what they waited for, their
/// branches wait for; sources that reach back across a dropped compare get shorter. The first `hot`
/// places are a round by themselves, the others are executed in a round of all.
pub(super) fn drop_compares<T: Copy>(
    program: &[T],
    compares: &[bool],
    hot: usize,
    uop: impl Fn(&mut T) -> &mut Uop,
) -> Vec<T> {
    let slots = program.len();
    let mut before = Vec::with_capacity(slots + 1);
    let mut dropped = 0;
    for compare in compares {
        before.push(dropped);
        dropped += usize::from(*compare);
    }
    before.push(dropped);
    let shorter = |place: usize, source: u16| -> u16 {
        let slots = if place < hot { hot } else { slots };
        let dropped = before[slots];
        let (back, rounds) = (usize::from(source) % slots, usize::from(source) / slots);
        let (producer, wraps) =
            if back <= place { (place - back, 0) } else { (place + slots - back, 1) };
        let lost = (wraps * dropped + before[place]).saturating_sub(before[producer]);
        (back + rounds * (slots - dropped)).saturating_sub(lost) as u16
    };
    let mut kept = Vec::with_capacity(slots - dropped);
    for (place, slot) in program.iter().enumerate().filter(|(place, _)| !compares[*place]) {
        let mut slot = *slot;
        let fuses = place > 0 && compares[place - 1];
        let (from, mut waits) = if fuses { (place - 1, program[place - 1]) } else { (place, slot) };
        uop(&mut slot).sources = uop(&mut waits)
            .sources
            .map(|source| if source == 0 { 0 } else { shorter(from, source) });
        kept.push(slot);
    }
    kept
}
