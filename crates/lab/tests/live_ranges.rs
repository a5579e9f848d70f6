//! What simulated policies make of every scenario, as ranges of numbers that a live kernel counts, too:
//! `crates/lab/live-ranges*.json`, against which the suite `sched` of `cargo xtask vm` holds the live
//! schedulers. The files are data made by this test; `CORETWIN_RANGES=write` writes them anew.
//!
//! Ranges are over seeds; over what a busy sibling costs, from nothing, as on an emulated machine, to what
//! the scenario says; and over the cost of the kernel's own paths, from that of a machine to that of an
//! emulated one, whose CPUs take turns: one that is told of work while another's turn lasts sees it later. Files are in memory already, as they are when the scenario runs for real: nobody waits for a disk.

use coretwin_sim::kernel::program::Amount;
use coretwin_sim::kernel::scenario::Scenario;
use coretwin_sim::kernel::{Distance, Options, Outcome, Step, Work, run};
use coretwin_sim::policies::Settings;
use std::collections::BTreeMap;
use std::path::Path;

/// What the kernel's paths cost, in multiples of their cost on a machine, and how long a CPU that is told of
/// work waits for its turn; and by how much each stretch of work is longer for the turns of others.
const COSTS: [(u64, u64, u64); 4] =
    [(1, 0, 0), (20, 0, 0), (20, 1_000_000, 0), (20, 2_000_000, 2_000_000)];
/// A read of some pages that are in memory.
const READ_NS: u64 = 5000;
const SEEDS: std::ops::RangeInclusive<u64> = 1..=4;
/// Nobody slows anybody down.
const NO_SLOWDOWN: u32 = 1000;
const DECISIONS_MAX: usize = 4_000_000;
/// Fewer wake-ups say nothing about shares of them.
const WAKES_MIN: f64 = 50.0;

/// Texts of reasons by the live counter's name for them.
type Texts = &'static [(&'static str, &'static [&'static str])];

/// A policy that is held against its live scheduler.
struct Held {
    policy: &'static str,
    /// Beside this crate's manifest.
    file: &'static str,
    /// Where tasks that wake go: told as shares of all of these.
    wakes: Texts,
    /// How many times as long its scenarios of [`SLOWED`] take.
    slowed: u64,
    /// Numbers of decisions, told as shares of wake-ups where there are enough of these.
    counts: Texts,
}

const HELD: &[Held] = &[
    Held {
        policy: "core-queue",
        file: "live-ranges.json",
        wakes: WAKES,
        slowed: 1,
        counts: COUNTS,
    },
    Held {
        policy: "linux-2.4.19[wake_tail=off]",
        file: "live-ranges-linux-2.4.19.json",
        wakes: WAKES_2_4_19,
        slowed: 1,
        counts: COUNTS_2_4_19,
    },
    Held {
        policy: "linux-2.5.32",
        file: "live-ranges-linux-2.5.32.json",
        wakes: WAKES_2_5_32,
        slowed: 10,
        counts: COUNTS_2_5_32,
    },
    Held {
        policy: "linux-2.5.32-a9",
        file: "live-ranges-linux-2.5.32-a9.json",
        wakes: WAKES_2_5_32,
        slowed: 10,
        counts: COUNTS_2_5_32,
    },
];

const WAKES_2_5_32: Texts = &[
    ("woke_own_idle", &["its CPU is idle"]),
    ("woke_sibling", &["its CPU is busy and the sibling idle"]),
    ("preempted", &["better priority than what runs"]),
    ("preempted_equal", &["equal priority, and more of its slice left"]),
    ("preempted_sibling", &["better priority than what the sibling runs"]),
    ("woke_waits", &["waits its turn"]),
];
const COUNTS_2_5_32: Texts = &[("pulled", &["a longer queue"])];

const WAKES_2_4_19: Texts = &[
    ("woke_last_idle", &["its last CPU is idle"]),
    ("woke_idle_core", &["an idle CPU of an idle core"]),
    ("woke_longest_idle", &["the CPU that is idle longest"]),
    ("preempted", &["better than the running task"]),
    ("woke_waits", &["better than no running task: waits"]),
    ("woke_sync", &["its waker is about to wait: no CPU is looked for"]),
];
const COUNTS_2_4_19: Texts = &[("renewals", &["all slices are used up: new ones for every task"])];

const WAKES: Texts = &[
    ("woke_last_idle", &["its last CPU is idle", "its last CPU, of an idle core"]),
    ("woke_sibling", &["an idle sibling of its last CPU"]),
    ("woke_idle_core", &["an idle core"]),
    ("woke_other_idle", &["an idle CPU of another core"]),
    ("woke_with_waker", &["its waker is about to wait"]),
    ("woke_less_crowded", &["a less crowded core"]),
    ("woke_last_busy", &["its last CPU, busy"]),
];
const COUNTS: Texts =
    &[("active_moved", &["a core to itself"]), ("stolen_or_evened_out", &["a busier core"])];

/// Work and sleep of some milliseconds end in an order that is decided by the turns of a guest's CPUs, which are as
/// long: the policies that keep a task on its CPU are held at ten times the length.
const SLOWED: &str = "affinity-in-core";

type Ranges = BTreeMap<String, BTreeMap<String, [f64; 2]>>;

#[test]
fn the_ranges_are_those_of_the_simulated_policies() {
    HELD.iter().for_each(hold);
}

fn hold(held: &Held) {
    let mut ranges = Ranges::new();
    for scenario in Scenario::all() {
        let of_scenario = ranges.entry(scenario.name.clone()).or_default();
        let slowed = if scenario.name == SLOWED { held.slowed } else { 1 };
        for outcome in outcomes(&scenario, held.policy, slowed) {
            for (name, value) in measures(&outcome, held) {
                let range = of_scenario.entry(name).or_insert([value, value]);
                *range = [range[0].min(value), range[1].max(value)];
            }
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(held.file);
    let text = serde_json::to_string_pretty(&ranges).expect("json") + "\n";
    if std::env::var("CORETWIN_RANGES").is_ok_and(|word| word == "write") {
        std::fs::write(&path, &text).expect("written");
    }
    let kept = std::fs::read_to_string(&path).expect(held.file);
    assert!(
        kept == text,
        "{} decides otherwise now; CORETWIN_RANGES=write writes {} anew",
        held.policy,
        held.file
    );
}

fn outcomes(scenario: &Scenario, policy: &str, slowed: u64) -> Vec<Outcome> {
    let layout = scenario.layout().expect("its own machine");
    let mut settings = Vec::new();
    for seed in SEEDS {
        for slowdown in [NO_SLOWDOWN, scenario.slowdown] {
            settings.extend(COSTS.map(|costs| (seed, slowdown, costs)));
        }
    }
    let outcome = |(seed, slowdown, (factor, wait_ns, turn_ns)): (u64, u32, (u64, u64, u64))| {
        let speeds = scenario.uniform(slowdown).expect("speeds");
        let mut machine = scenario.machine(layout.clone(), speeds);
        let costs = &mut machine.costs;
        for cost in [
            &mut costs.switch_ns,
            &mut costs.wake_halted_ns,
            &mut costs.interrupt_processor_ns,
            &mut costs.tick_ns,
            &mut costs.interrupt_ns,
            &mut costs.system_call_ns,
            &mut costs.wake_ns,
            &mut costs.socket_ns,
            &mut costs.exec_ns,
            &mut costs.exit_ns,
        ] {
            *cost *= factor;
        }
        costs.wake_halted_ns += wait_ns;
        let mut options = Options::new(Settings::parse(policy).expect("a policy"));
        (options.seed, options.decisions_max) = (seed, DECISIONS_MAX);
        (options.until_ns, options.warmup_ns) = (slowed * scenario.until_ns, scenario.warmup_ns);
        let mut work = scenario.work_on(&layout);
        slow_down(&mut work, slowed);
        run(&machine, &as_live(work, turn_ns), &options).expect("a run")
    };
    settings.into_iter().map(outcome).collect()
}

/// So many times as much of each stretch of work and sleep.
fn slow_down(work: &mut Work, times: u64) {
    for step in work.programs.iter_mut().flat_map(|program| &mut program.steps) {
        if let Step::ComputeFor { ns, .. } | Step::Sleep { ns } = step {
            match ns {
                Amount::Fixed(ns) => *ns *= times,
                Amount::Between(least, most) => {
                    *least *= times;
                    *most *= times;
                }
                _ => {}
            }
        }
    }
}

/// The same work with every file read from memory, and with sockets that say so when they wake (SCX_WAKE_SYNC),
/// as live ones do. Where CPUs take turns, whoever computes for a moment holds its CPU through the turns of the
/// others: a stretch of 100 µs takes 1.6 ms in a guest (`half-loaded`, 2x2). So does a timer that wakes a sleeper.
fn as_live(mut work: Work, turn_ns: u64) -> Work {
    work.sockets.iter_mut().for_each(|socket| socket.sync = true);
    let copied = Step::SystemCall { ns: Amount::Fixed(READ_NS) };
    for step in work.programs.iter_mut().flat_map(|program| &mut program.steps) {
        match step {
            Step::Read { .. } => *step = copied.clone(),
            Step::ComputeFor { ns: Amount::Fixed(ns), .. } => *ns += turn_ns,
            Step::ComputeFor { ns: Amount::Between(least, most), .. } => {
                *least += turn_ns;
                *most += turn_ns;
            }
            Step::Sleep { ns: Amount::Fixed(ns) } => *ns += turn_ns,
            Step::Sleep { ns: Amount::Between(least, most) } => {
                *least += turn_ns;
                *most += turn_ns;
            }
            _ => {}
        }
    }
    work
}

/// The numbers of a run, those that mean something in it.
fn measures(outcome: &Outcome, held: &Held) -> BTreeMap<String, f64> {
    let warm = outcome.simulated_ns - outcome.measured_ns;
    let count = |texts: &[&str]| {
        let counted = |decision: &&coretwin_sim::policies::Decision| {
            decision.at_ns >= warm && texts.contains(&decision.reason.text())
        };
        outcome.decisions.iter().filter(counted).count() as f64
    };
    let mut measures = BTreeMap::new();
    let mut put = |name: &str, value: f64| {
        measures.insert(name.to_owned(), (value * 1e4).round() / 1e4);
    };
    let wakes: f64 = held.wakes.iter().map(|(_, text)| count(text)).sum();
    if wakes >= WAKES_MIN {
        for (name, text) in held.wakes {
            put(&format!("{name}_of_wakes"), count(text) / wakes);
        }
        let moves = |distances: &[Distance]| {
            distances.iter().map(|distance| outcome.migrations[*distance as usize]).sum::<u64>()
        };
        put("ran_same_core_of_wakes", moves(&[Distance::SameCore]) as f64 / wakes);
        let far = [Distance::SameCache, Distance::SamePackage, Distance::OtherPackage];
        put("ran_other_core_of_wakes", moves(&far) as f64 / wakes);
    }
    for (name, text) in held.counts {
        // Slices are used up by time, whoever wakes.
        match wakes >= WAKES_MIN && *name != "renewals" {
            true => put(&format!("{name}_of_wakes"), count(text) / wakes),
            false => put(name, count(text)),
        }
    }
    measures
}
