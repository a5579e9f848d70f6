//! How often the ranges hold, on made-up machines whose truth is known.

use super::*;
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::random::Stream;

fn siblings(text: &str, cpus: u32) -> Siblings {
    let online: CpuSet = (0..cpus).map(CpuId).collect();
    Siblings::parse(text, &online).expect("siblings")
}

/// A made-up machine: at a moment, who waits for and who has each CPU (the first of the list).
trait World {
    fn at(&self, time_s: f64) -> Vec<(CpuId, Vec<Index>)>;
}

impl<F: Fn(f64) -> Vec<(CpuId, Vec<Index>)>> World for F {
    fn at(&self, time_s: f64) -> Vec<(CpuId, Vec<Index>)> {
        self(time_s)
    }
}

/// Looks at a world for a while; `hidden` threads are not seen.
fn looked(
    world: &dyn World,
    map: &Siblings,
    length_s: f64,
    rate: f64,
    seed: u64,
    hidden: &[Index],
) -> Tally {
    let mut moments = Stream::new(seed, "looks", 0);
    let mut tally = Tally::new(map.clone());
    let stratum_s = 1.0 / rate;
    for stratum in 0..(length_s * rate) as u32 {
        let runnable: Vec<(CpuId, Index)> = world
            .at((f64::from(stratum) + moments.unit()) * stratum_s)
            .into_iter()
            .flat_map(|(cpu, indexes)| indexes.into_iter().map(move |index| (cpu, index)))
            .filter(|(_, index)| !hidden.contains(index))
            .collect();
        tally.add(stratum_s, &runnable);
    }
    tally
}

/// Run time of thread 0 alone and shared on two siblings, and the busy shares of the CPUs, on a fine
/// grid.
fn truth(world: &dyn World, length_s: f64) -> (f64, f64, BTreeMap<CpuId, f64>) {
    const STEPS: u32 = 100_000;
    let step_s = length_s / f64::from(STEPS);
    let (mut alone_s, mut shared_s, mut busy) = (0.0, 0.0, BTreeMap::new());
    for step in 0..STEPS {
        let on = world.at((f64::from(step) + 0.5) * step_s);
        for (cpu, indexes) in on.iter().filter(|(_, indexes)| !indexes.is_empty()) {
            *busy.entry(*cpu).or_default() += 1.0 / f64::from(STEPS);
            if indexes[0] == 0 {
                let is_shared = on.iter().any(|(other, there)| {
                    other.0 / 2 == cpu.0 / 2 && other != cpu && !there.is_empty()
                });
                *(if is_shared { &mut shared_s } else { &mut alone_s }) += step_s;
            }
        }
    }
    (alone_s, shared_s, busy)
}

/// How often of `times` runs the range of shared time of thread 0 held the truth, and its mean
/// width.
fn covered(
    world: &dyn World,
    length_s: f64,
    rate: f64,
    times: u64,
    hidden: &[Index],
) -> (f64, f64) {
    let map = siblings("0+1", 2);
    let (alone_s, shared_s, busy) = truth(world, length_s);
    let (mut held, mut width) = (0u64, 0.0);
    for seed in 0..times {
        let tally = looked(world, &map, length_s, rate, seed, hidden);
        let residues = busy
            .iter()
            .map(|(cpu, told)| {
                let seen = tally.busy_share(*cpu);
                let residue =
                    Residue { unseen: (told - seen).max(0.0), mistaken: (seen - told).max(0.0) };
                (*cpu, residue)
            })
            .collect();
        let runs = tally.runs(0, alone_s + shared_s, Some(CpuId(0)), &residues);
        let shared = runs[0].by_busy_s[1];
        held += u64::from(shared.contains(shared_s));
        width += (shared.high - shared.low) / (alone_s + shared_s);
    }
    (held as f64 / times as f64, width / times as f64)
}

/// On for the first part of every period.
fn on(time_s: f64, period_s: f64, part: f64) -> bool {
    (time_s / period_s).fract() < part
}

/// A pattern of work: its world, who is not visible, and how wide the range may be.
struct Pattern {
    name: &'static str,
    world: fn(f64) -> Vec<(CpuId, Vec<Index>)>,
    hidden: &'static [Index],
    width_max: f64,
}

/// A thread on a CPU, if it is on.
fn one(cpu: u32, index: Index, is_on: bool) -> (CpuId, Vec<Index>) {
    (CpuId(cpu), if is_on { vec![index] } else { vec![] })
}

/// Two that take turns, the first if it is its turn.
fn turns(first: bool, a: Index, b: Index) -> Vec<Index> {
    if first { vec![a, b] } else { vec![b, a] }
}

const fn seen(
    name: &'static str,
    world: fn(f64) -> Vec<(CpuId, Vec<Index>)>,
    width_max: f64,
) -> Pattern {
    Pattern { name, world, hidden: &[], width_max }
}

const PATTERNS: &[Pattern] = &[
    seen("phases of 3 s", |t| vec![one(0, 0, true), one(1, 1, on(t, 10.0, 0.3))], 0.35),
    seen("phases of 7 ms", |t| vec![one(0, 0, true), one(1, 1, on(t, 0.0231, 0.3))], 0.35),
    // A regular clock would miss it.
    seen("the rhythm of the looks", |t| vec![one(0, 0, true), one(1, 1, on(t, 0.02, 0.3))], 0.35),
    seen("both with gaps", |t| vec![one(0, 0, on(t, 0.37, 0.5)), one(1, 1, on(t, 0.11, 0.6))], 0.5),
    seen("rarely running", |t| vec![one(0, 0, on(t, 1.0, 0.01)), one(1, 1, on(t, 0.11, 0.6))], 1.0),
    seen("never together", |t| vec![one(0, 0, on(t, 0.2, 0.5)), one(1, 1, !on(t, 0.2, 0.5))], 0.3),
    // Which of the two runs does not matter.
    seen(
        "two on the sibling",
        |t| {
            let two = if on(t, 5.0, 0.4) { turns(on(t, 0.008, 0.5), 1, 2) } else { vec![] };
            vec![one(0, 0, true), (CpuId(1), two)]
        },
        0.35,
    ),
    // Here it does, and /proc cannot tell.
    seen(
        "turns in step with the sibling",
        |t| vec![(CpuId(0), turns(on(t, 0.02, 0.3), 0, 2)), one(1, 1, on(t, 0.02, 0.3))],
        1.0,
    ),
    // Somebody in another container, whom only /proc/stat shows.
    Pattern {
        name: "a sibling that is not visible",
        world: |t| {
            let visible = on(t, 3.0, 0.2);
            vec![one(0, 0, true), one(1, if visible { 1 } else { 9 }, visible || on(t, 0.3, 0.5))]
        },
        hidden: &[9],
        width_max: 1.0,
    },
];

#[test]
#[expect(clippy::print_stderr, reason = "the numbers that docs/method/account.md states")]
fn the_truth_lies_in_the_range_at_the_stated_rate() {
    for pattern in PATTERNS {
        let (held, width) = covered(&pattern.world, 10.0, 50.0, 400, pattern.hidden);
        let (held_percent, width_percent) = (held * 100.0, width * 100.0);
        let line =
            format!("{}: held {held_percent:.1} %, width {width_percent:.1} %", pattern.name);
        eprintln!("{line}");
        // docs/method/account.md says so. What is stated is 95 %.
        assert!(held >= 1.0, "{line}");
        assert!(width <= pattern.width_max, "{line}");
    }
}

#[test]
fn what_is_certain_has_no_width_but_that_of_the_looks() {
    // Two threads share CPU 0 all the time, the sibling is always busy: all of it is shared.
    let map = siblings("0+1", 2);
    let world = |_: f64| vec![(CpuId(0), vec![0, 1]), (CpuId(1), vec![2])];
    let tally = looked(&world, &map, 10.0, 100.0, 1, &[]);
    let run = &tally.runs(0, 5.0, None, &BTreeMap::new())[0];
    assert_eq!((run.by_busy_s[0].low, run.by_busy_s[1].high), (0.0, 5.0));
    assert!(run.by_busy_s[1].low > 4.9 && run.by_busy_s[0].value == 0.0, "{run:?}");
    let cores = tally.cores(
        10.0,
        |cpu| CpuUse { cpu, busy_s: 0.0, interrupts_s: 0.0, steal_s: 0.0 },
        &BTreeMap::new(),
    );
    assert!((cores[0].by_busy_s[2].value - 10.0).abs() < 1e-9);
}

#[test]
fn a_core_of_one_cpu_was_busy_for_as_long_as_the_kernel_says() {
    let map = siblings("0+1", 3);
    let mut tally = Tally::new(map);
    tally.add(10.0, &[(CpuId(2), 7)]);
    let told = |cpu| CpuUse { cpu, busy_s: 4.0, interrupts_s: 0.0, steal_s: 0.0 };
    let cores = tally.cores(10.0, told, &BTreeMap::new());
    let alone = cores.iter().find(|core| core.cpus.len() == 1).expect("CPU 2");
    assert_eq!(alone.by_busy_s, [Span::exact(6.0), Span::exact(4.0)]);
    let pair = cores.iter().find(|core| core.cpus.len() == 2).expect("CPUs 0 and 1");
    assert!(pair.by_busy_s[0].high > pair.by_busy_s[0].low, "{pair:?}");
}

#[test]
fn pairs_clashes_and_strangers() {
    let map = siblings("0+1,2+3", 4);
    let mut tally = Tally::new(map);
    tally.add(1.0, &[(CpuId(0), 7), (CpuId(1), 8), (CpuId(9), 5)]);
    tally.add(2.0, &[(CpuId(0), 7), (CpuId(2), 8)]);
    let pairs = tally.pairs(|index| Some(index as u32), 9);
    let [PairUse { a: 7, b: 8, together_s }] = pairs[..] else { panic!("{pairs:?}") };
    assert!((together_s.value - 1.0).abs() < 1e-12, "{together_s:?}");
    // Two looks say little.
    assert!(together_s.low < 0.2 && together_s.high > 2.4, "{together_s:?}");
    assert!((tally.clash_s - 1.0).abs() < 1e-12);
    // It ran 4 s, of which no look saw anything: only the range is left.
    let run = &tally.runs(3, 4.0, Some(CpuId(2)), &BTreeMap::new())[0];
    assert_eq!((run.by_busy_s[0].low, run.by_busy_s[1].high), (0.0, 4.0));
    assert!((run.raw_s() - 4.0).abs() < 1e-12);
}
