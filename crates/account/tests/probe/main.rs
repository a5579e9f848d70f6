//! The search on made-up machines: what it finds, in how many rounds, and what it does not take
//! for sharing.

#![expect(clippy::print_stdout, reason = "the table of rounds is for people")]

mod fake;

use coretwin_account::probe::{self, Findings, Options};
use coretwin_base::account::probe::Sharing;
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::random::Stream;
use fake::{FakeMeter, Machine};

fn find(machine: &Machine, seed: u64) -> (Findings, FakeMeter) {
    let mut meter = FakeMeter::new(machine, seed);
    let options = Options { cpus: machine.all(), budget_s: 60.0, caches: false, seed };
    let found = probe::find(&mut meter, &options, &mut |_| {}).expect("a fake meter never fails");
    (found, meter)
}

/// A machine of a kind that exists: 2 to 64 CPUs; one, two or four to a core; some with cores of
/// two kinds; some of which a hypervisor gives only a part.
fn drawn(index: u64) -> Machine {
    let mut random = Stream::new(2026, "machines", index);
    let cores = 1 + random.below(if index.is_multiple_of(10) { 32 } else { 8 }) as usize;
    let mut widths: Vec<u32> = match index % 5 {
        0 => vec![1; cores + 1],
        1 | 2 => vec![2; cores],
        3 => vec![4; cores.div_ceil(2)],
        _ => (0..=cores).map(|core| if core.is_multiple_of(2) { 2 } else { 1 }).collect(),
    };
    if random.below(2) == 0 {
        // Partly offline: any of a core's CPUs may be missing, though not all of the machine.
        for width in &mut widths {
            *width = width.saturating_sub(random.below(2) as u32);
        }
        widths.retain(|width| *width > 0);
    }
    while widths.iter().sum::<u32>() < 2 {
        widths.push(1);
    }
    Machine::new(&widths, &mut random)
}

#[test]
fn groups_of_a_thousand_machines_are_right() {
    let (mut wrong, mut unsure) = (Vec::new(), 0);
    for index in 0..1000 {
        let machine = drawn(index);
        let (found, _) = find(&machine, index);
        if found.groups != machine.groups() || !found.undecided.is_empty() {
            wrong.push((index, machine.groups(), found.groups, found.undecided));
        } else if found.confidence < 0.99 {
            unsure += 1;
        }
    }
    println!("{} of 1000 wrong, {unsure} right with a confidence below 0.99", wrong.len());
    assert!(wrong.len() <= 5, "{wrong:?}");
    quoted(&format!("partly offline): {} right.", 1000 - wrong.len()));
}

#[test]
fn rounds_grow_with_the_logarithm_of_the_cpus() {
    const WIDTHS: [u32; 3] = [1, 2, 4];
    let mut rounds = Vec::new();
    for cpus in [2_u32, 16, 64, 256, 1024] {
        let mut cells = vec![grouped(cpus)];
        rounds.push(WIDTHS.map(|width| {
            let cores = (cpus / width).max(1);
            let mut random = Stream::new(7, "large", u64::from(cpus));
            let machine = Machine::new(&vec![width.min(cpus); cores as usize], &mut random);
            let (found, meter) = find(&machine, 7);
            assert_eq!(found.groups, machine.groups(), "{cpus} CPUs, {width} to a core");
            let unit = if (cpus, width) == (2, 1) { " rounds" } else { "" };
            let time_s = found.valid_s.map_or(0.0, |(a, b)| b - a);
            cells.push(match width > cpus {
                true => "–".to_owned(),
                false => format!("{}{unit}, {time_s:.1} s", meter.rounds),
            });
            meter.rounds
        }));
        quoted(&format!("| {} |", cells.join(" | ")));
    }
    // From 16 to 1024 is 64 times as many CPUs.
    for (few, many) in rounds[1].iter().zip(&rounds[4]) {
        assert!(many < &(4 * few), "{rounds:?}");
    }
}

/// A number with its thousands set apart.
fn grouped(number: u32) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", number / 1000, number % 1000),
    }
}

/// What the pages on the probe say of these measurements, in these words.
fn quoted(claim: &str) {
    println!("{claim}");
    let pages = [
        include_str!("../../../../docs/method/probe.md"),
        include_str!("../../../../docs/evidence/probe.md"),
    ];
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_said = pages.iter().any(|page| plain(page).contains(claim));
    assert!(is_said, "docs/method/probe.md and docs/evidence/probe.md do not say: {claim}");
}

#[test]
fn a_neighbour_is_foreign_load_and_not_sharing() {
    for widths in [&[1, 1][..], &[2], &[2, 2], &[1, 1, 1, 1]] {
        let mut machine = Machine::new(widths, &mut Stream::new(3, "neighbour", 0));
        machine.cpus[1].foreign = true;
        let busy: CpuSet = [machine.cpus[1].cpu].into_iter().collect();
        let (found, meter) = find(&machine, 3);
        assert!(meter.clock_is_bounded(60.0));
        assert!(found.disturbed.iter().any(|(cpu, _, gave_up)| busy.contains(*cpu) && *gave_up));
        assert!(busy.is_subset(&found.undecided), "{found:?}");
        for group in &found.groups {
            assert!(machine.groups().contains(group), "{found:?}");
        }
    }
}

#[test]
fn passers_by_cost_rounds_and_change_nothing() {
    for (index, widths) in [&[1, 1][..], &[2], &[2, 2, 2], &[4, 2, 1, 1]].into_iter().enumerate() {
        let machine = Machine::new(widths, &mut Stream::new(4, "passers-by", 0));
        let mut meter = FakeMeter::new(&machine, index as u64);
        meter.passers_by = 0.5;
        let options = Options { cpus: machine.all(), budget_s: 60.0, caches: false, seed: 1 };
        let found = probe::find(&mut meter, &options, &mut |_| {}).expect("found");
        assert_eq!(found.groups, machine.groups());
        assert!(found.rounds_disturbed > found.rounds / 3, "{found:?}");
    }
}

#[test]
fn of_cpus_that_are_busy_most_of_the_time_nothing_is_said() {
    for widths in [&[1, 1][..], &[2]] {
        let machine = Machine::new(widths, &mut Stream::new(4, "crowd", 0));
        let mut meter = FakeMeter::new(&machine, 1);
        // Of the rounds every third is undisturbed by luck, which is enough to find cores by.
        meter.crowd = 2.0 / 3.0;
        let options = Options { cpus: machine.all(), budget_s: 60.0, caches: false, seed: 1 };
        let found = probe::find(&mut meter, &options, &mut |_| {}).expect("found");
        assert!(found.rounds > 20 && !found.out_of_time, "{found:?}");
        assert_eq!(found.undecided, machine.all(), "{found:?}");
        assert!(found.groups.is_empty() && found.alone.is_empty() && found.shared.is_empty());
        assert_eq!(found.confidence, 0.0);
        assert!(found.disturbed.iter().all(|(_, share, prevents)| *share > 0.5 && *prevents));
    }
}

#[test]
fn no_more_is_claimed_than_is_borne_out() {
    for widths in [&[1, 1][..], &[2], &[2, 2]] {
        let machine = Machine::new(widths, &mut Stream::new(4, "sure", 0));
        let (found, _) = find(&machine, 1);
        assert!((0.99..=0.999).contains(&found.confidence), "{found:?}");
        assert!(found.pairs.iter().all(|pair| (0.001..=0.999).contains(&pair.confidence)));
    }
}

#[test]
fn a_budget_that_ends_says_so_and_keeps_what_was_found() {
    let machine = Machine::new(&[2; 8], &mut Stream::new(5, "budget", 0));
    for budget_s in [0.0, 0.3, 0.8] {
        let mut meter = FakeMeter::new(&machine, 1);
        let options = Options { cpus: machine.all(), budget_s, caches: false, seed: 1 };
        let found = probe::find(&mut meter, &options, &mut |_| {}).expect("found");
        assert!(found.out_of_time && found.alone.is_empty(), "{found:?}");
        assert!(meter.clock_is_bounded(budget_s + meter.round_s));
        assert!(found.groups.iter().all(|group| machine.groups().contains(group)));
    }
}

#[test]
fn virtual_cpus_that_take_turns_share_time_and_not_a_core() {
    // Two that take turns on one thread; a pair of siblings; one alone.
    let mut machine = Machine::new(&[2, 2, 1], &mut Stream::new(6, "turns", 0));
    for cpu in machine.cpus.iter_mut().filter(|cpu| cpu.core == 0) {
        cpu.thread = 0;
    }
    let (found, _) = find(&machine, 6);
    assert_eq!(found.groups, machine.groups());
    for shared in &found.shared {
        let core = |cpu: CpuId| machine.cpus.iter().find(|one| one.cpu == cpu).map(|one| one.core);
        let is_turns = shared.cpus.iter().all(|cpu| core(cpu) == Some(0));
        let wanted = if is_turns { Sharing::Time } else { Sharing::Core };
        assert_eq!(shared.what, wanted, "{found:?}");
    }
}

#[test]
fn every_pair_of_a_few_has_an_interval() {
    let machine = Machine::new(&[1, 1], &mut Stream::new(8, "two", 0));
    let (found, _) = find(&machine, 8);
    let [pair] = &found.pairs[..] else { panic!("{found:?}") };
    assert!(pair.low < 1.0 && pair.high > 0.9 && pair.high - pair.low < 0.2, "{pair:?}");
    assert!(pair.confidence < 0.01 && found.groups.is_empty());
    assert_eq!(found.alone, machine.all());
}

#[test]
fn cores_that_share_caches_are_found_with_their_siblings() {
    // Eight cores of two CPUs; two second-level caches of two cores each among them; two last-level
    // caches of four cores.
    let mut machine = Machine::new(&[2; 8], &mut Stream::new(9, "caches", 0));
    for cpu in &mut machine.cpus {
        cpu.caches = (if cpu.core < 4 { cpu.core / 2 } else { cpu.core }, cpu.core / 4);
    }
    let below = |cache: &dyn Fn(&fake::Cpu) -> Option<u32>, which: u32| -> CpuSet {
        machine.cpus.iter().filter(|cpu| cache(cpu) == Some(which)).map(|cpu| cpu.cpu).collect()
    };
    let mut meter = FakeMeter::new(&machine, 9);
    let options = Options { cpus: machine.all(), budget_s: 60.0, caches: true, seed: 9 };
    let found = probe::find(&mut meter, &options, &mut |_| {}).expect("found");
    assert_eq!(found.groups, machine.groups());
    let sets = |what: Sharing| -> Vec<CpuSet> {
        found.shared.iter().filter(|one| one.what == what).map(|one| one.cpus.clone()).collect()
    };
    let second = |cpu: &fake::Cpu| (cpu.core < 4).then_some(cpu.caches.0);
    let mut wanted: Vec<CpuSet> = (0..2).map(|which| below(&second, which)).collect();
    wanted.sort();
    assert_eq!(sets(Sharing::L2), wanted);
    let last = |cpu: &fake::Cpu| Some(cpu.caches.1);
    let mut wanted: Vec<CpuSet> = (0..2).map(|which| below(&last, which)).collect();
    wanted.sort();
    assert_eq!(sets(Sharing::LastLevel), wanted);
}
