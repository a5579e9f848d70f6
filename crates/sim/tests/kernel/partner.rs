//! Symbiotic pickup, simulated: plain, by learnt classes, and with the speeds of pairs known.

use crate::support::{MS, options};
use coretwin_sim::kernel::co_run::{CoRun, ONE, ProfileId, UOP_PER_NS, WorkProfile};
use coretwin_sim::kernel::program::{Amount, Program};
use coretwin_sim::kernel::{Layout, Machine, Start, Step, Work, run};
use expect_test::expect_file;
use std::fmt::Write as _;

/// Two kinds of work: how fast each is alone, in uops per µs, and by how many per cent it is slower beside one
/// of its own kind and of the other. What is named `A, B on PRESET` has them from the simulated core.
struct Pair {
    name: &'static str,
    alone: [u64; 2],
    slower: [[u32; 2]; 2],
}

const PAIRS: [Pair; 9] = [
    Pair { name: "all alike", alone: [4000, 4000], slower: [[60, 60], [60, 60]] },
    Pair { name: "mild", alone: [4000, 2000], slower: [[80, 50], [40, 60]] },
    Pair { name: "complements", alone: [8000, 1000], slower: [[95, 20], [25, 70]] },
    Pair { name: "bully", alone: [8000, 1000], slower: [[60, 10], [200, 40]] },
    Pair {
        name: "gzip, pointer-chase on skylake-sp",
        alone: [2728, 49],
        slower: [[24, 9], [4, 28]],
    },
    Pair {
        name: "x265, pointer-chase on skylake-sp",
        alone: [5925, 49],
        slower: [[56, 19], [10, 28]],
    },
    Pair {
        name: "openblas-dgemm, memcached on skylake-sp",
        alone: [7688, 1866],
        slower: [[92, 43], [19, 4]],
    },
    Pair {
        name: "openblas-dgemm, pointer-chase on p4-northwood",
        alone: [1671, 10],
        slower: [[97, 56], [12, 30]],
    },
    Pair {
        name: "gzip, memcached on p4-northwood",
        alone: [2602, 1769],
        slower: [[43, 25], [93, 51]],
    },
];

/// Work done alone a second, in CPUs, by so many tasks of each kind that compute 5 ms on average and sleep.
fn throughput(pair: &Pair, layout: &str, sleep_ms: u64, policy: &str, seed: u64) -> f64 {
    let alone = |kind: usize| pair.alone[kind.saturating_sub(1)] * UOP_PER_NS / 1000;
    let profiles = ["kernel", "one", "other"].iter().enumerate().map(|(kind, name)| WorkProfile {
        name: (*name).to_owned(),
        alone: alone(kind),
        refill: ONE,
    });
    let kind = |profile: usize| profile.saturating_sub(1);
    let beside = |own, other| ONE * 100 / (100 + pair.slower[kind(own)][kind(other)]);
    let speeds = CoRun::new(profiles.collect(), beside, |_| ONE, |_| ONE).expect("a table");
    let layout = Layout::parse(layout).expect("a machine");
    let each = 2 * layout.cpus() as u32;
    let program = |profile| {
        let ns = Amount::Mean(5 * MS);
        let mut steps = vec![Step::ComputeFor { profile: ProfileId(profile), ns }];
        if sleep_ms > 0 {
            steps.push(Step::Sleep { ns: Amount::Mean(sleep_ms * MS) });
        }
        steps.push(Step::Forever { from: 0 });
        Program { name: "task".to_owned(), steps }
    };
    let starts = [0, 1].map(|number| Start { count: each, ..Start::of(number) }).to_vec();
    let work = Work { programs: vec![program(1), program(2)], starts, ..Work::default() };
    let mut options = options(policy, 3000);
    options.seed = seed;
    let outcome = run(&Machine::new(layout, speeds), &work, &options).expect("a run");
    let done: f64 = outcome.tasks.iter().map(|task| task.time.work_alone_ns() as f64).sum();
    done / outcome.simulated_ns as f64
}

/// Gains over plain pickup, in per cent, over seeds 1 to 5: mean, least, most.
fn gain(pair: &Pair, layout: &str, sleep_ms: u64, partner: u32) -> [f64; 3] {
    let of = |policy: &str, seed| throughput(pair, layout, sleep_ms, policy, seed);
    let policy = format!("core-queue[partner={partner}]");
    let gains =
        [1, 2, 3, 4, 5].map(|seed| 100.0 * (of(&policy, seed) / of("core-queue", seed) - 1.0));
    let [least, most] = [f64::min, f64::max].map(|of| gains.into_iter().reduce(of).expect("five"));
    [gains.iter().sum::<f64>() / 5.0, least, most]
}

#[test]
fn symbiotic_pickup_changes_nothing_among_identical_tasks_and_the_page_has_the_rest() {
    let mut lost = Vec::new();
    let mut page = "\
# Symbiotic pickup, simulated

Written by `UPDATE_EXPECT=1 cargo test -p coretwin-sim --test kernel partner`. Simulated: twice as many tasks of each of two kinds as
CPUs, each computing 5 ms on average, then sleeping as long as said. Work done under `core-queue[partner=1]` (classes
learnt from instructions and time) and `[partner=2]` (speeds of pairs known), in per cent more than without: mean
(least to most) over seeds 1 to 5. The first four pairs of kinds are made up; the others are the simulated core's
(`coretwin simulate core --matrix`). Slowdowns in per cent: beside its own kind and beside the other. Live
there are only pairs that were measured before (`sched start --partners`), tried in guests, whose siblings share
nothing, and a turn is a tick longer. Learning needs counters, which no guest has; and where one kind disturbs far more than it is disturbed
(`bully`), it costs more than it finds.

| kinds | slowdowns | machine | sleep | learnt | known |
|---|---|---|---|---|---|
"
    .to_owned();
    for pair in &PAIRS {
        for (layout, sleep_ms) in [("1x2", 0), ("1x2", 10), ("2x2", 0), ("2x2", 10)] {
            let [learnt, known] = [1, 2].map(|partner| gain(pair, layout, sleep_ms, partner));
            if pair.name == "all alike" {
                assert!(
                    [learnt[0], known[0]].iter().all(|gain| gain.abs() < 1.0),
                    "{learnt:?} {known:?}"
                );
            }
            if known[0] > 3.0 && learnt[0] < known[0] / 2.0 {
                lost.push((pair.name, layout, sleep_ms));
            }
            let [[a, b], [c, d]] = pair.slower;
            let told =
                |[mean, least, most]: [f64; 3]| format!("{mean:+.1} ({least:+.1} to {most:+.1})");
            let (learnt, known) = (told(learnt), told(known));
            let _ = writeln!(
                page,
                "| {} | {a}, {b}; {d}, {c} | {layout} | {sleep_ms} ms | {learnt} | {known} |",
                pair.name
            );
        }
    }
    expect_file!["../../../../docs/evidence/symbiotic-pickup.md"].assert_eq(&page);
    assert!(lost.is_empty(), "less than half of what is known: {lost:?}");
}
