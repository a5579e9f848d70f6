//! What must hold on every built-in machine, whatever its costs are: orders and limits that follow from
//! what siblings are. The figures themselves are predictions, and nobody's to test.

mod support;

use coretwin_base::parameters::WorkloadSpec;
use coretwin_sim::calibrate::Fit;
use coretwin_sim::core::length::{self, Length};
use coretwin_sim::core::profile::{Profile, copies};
use coretwin_sim::core::{self, Preset, compare};
use coretwin_sim::kernel::co_run::{CoRun, ProfileId};
use coretwin_sim::kernel::program::{Amount, Options, Program, Step};
use coretwin_sim::kernel::{Outcome, SocketSpec, Start, Which, Work, run};
use coretwin_sim::machine::{MODEL_VERSION, MachinePreset};
use coretwin_sim::models::{Setting, predict};
use coretwin_sim::policies::Settings;
use expect_test::expect_file;
use support::speeds;

const MS: u64 = 1_000_000;
const TODAY: [&str; 3] = ["fair", "one-per-core", "core-queue"];
/// How much longer work takes beside a busy sibling here.
const SLOWDOWN: f64 = 1.5;

fn settings(policy: &str) -> Settings {
    Settings::parse(policy).expect(policy)
}

fn cores(machine: &MachinePreset) -> u32 {
    machine.packages * machine.caches * machine.cores
}

/// A row's value, by one run with seed 1.
fn value(machine: &MachinePreset, fit: Option<&Fit>, cell: &str, policy: &str, smt: bool) -> f64 {
    value_of(machine, fit, cell, policy, smt, (1, None))
}

fn value_of(
    machine: &MachinePreset,
    fit: Option<&Fit>,
    cell: &str,
    policy: &str,
    smt: bool,
    (seed, fraction): (u64, Option<f64>),
) -> f64 {
    let spec = WorkloadSpec::parse(cell).expect(cell);
    let speeds = speeds(machine, SLOWDOWN);
    let setting = Setting {
        machine,
        speeds: &speeds,
        fit,
        policy: settings(policy),
        smt,
        seed,
        fraction,
        runs_max: Some(1),
        others: None,
    };
    let prediction = predict(&spec.name, &spec.params, &setting);
    prediction.unwrap_or_else(|error| panic!("{} {policy}: {error}", machine.name)).value
}

/// So many tasks that do these steps, until all have ended or a second has passed.
fn tasks(machine: &MachinePreset, policy: &str, smt: bool, count: u32, steps: &[Step]) -> Outcome {
    let slowdown = (1000.0 * SLOWDOWN) as u32;
    let speeds = CoRun::uniform(&["busy"], slowdown, 1000).expect("a table");
    let program = Program { name: "task".to_owned(), steps: steps.to_vec() };
    let start = Start { count, ..Start::of(0) };
    let work = Work { programs: vec![program], starts: vec![start], ..Work::default() };
    let options = Options { until_ns: 1000 * MS, ..Options::new(settings(policy)) };
    let machine = machine.machine(smt, speeds).expect("a machine");
    run(&machine, &work, &options).unwrap_or_else(|failure| panic!("{policy}: {failure}"))
}

fn compute(ns: u64) -> Step {
    Step::ComputeFor { profile: ProfileId(1), ns: Amount::Fixed(ns) }
}

/// While caches fill, threads with data in common fill them for each other: measured then, two of them
/// are told to do more than twice the work of one (2.3 and 2.5 times on these).
#[test]
fn speeds_are_those_of_full_caches() {
    let profile = Profile::named("chat").expect("a profile");
    let of = copies([&profile, &profile]);
    for preset in ["skylake-sp", "zen4"].map(|name| Preset::named(name).expect(name)) {
        let options = core::Options::default();
        let input = |thread: usize| profile.input(&preset, options.seed, of[thread]);
        let speed = length::speed(&preset, &profile, &options).expect("a speed");
        let options = length::fitted(Length::of_benchmarks(&preset), &options, [speed].into_iter());
        let yields = compare(&preset, 2, &input, &options).expect("a run").throughput();
        assert!((1.0..1.8).contains(&yields), "{}: {yields}", preset.name);
    }
}

#[test]
fn a_row_of_one_task_does_not_feel_idle_siblings() {
    for machine in MachinePreset::all() {
        let (name, preset) = (&machine.name, &machine.fingerprint);
        let text = format!(
            "machine = \"{name}\"\npreset = \"{preset}\"\nversion = {MODEL_VERSION}\n\
             fitted_to = \"a test\"\nfree_parameters = 0\n[costs]\n[work]\n\
             [service]\n\"lmbench/simple-read\" = 500.0\n\"aim9/add_int\" = 900.0\n"
        );
        let fit = Fit::read("a test", &text).expect("a fit");
        for policy in TODAY {
            for cell in ["lmbench/simple-read", "aim9/add_int"] {
                let of = |smt| value(&machine, Some(&fit), cell, policy, smt);
                let change = of(true) / of(false) - 1.0;
                assert!(change.abs() < 1e-3, "{name} {policy} {cell}: {change}");
            }
        }
    }
}

#[test]
fn a_task_a_core_gains_nothing_and_two_gain_what_the_core_yields() {
    for machine in MachinePreset::all() {
        let (name, cores) = (&machine.name, cores(&machine));
        let time = |policy, smt, count| {
            let outcome = tasks(&machine, policy, smt, count, &[compute(100 * MS)]);
            assert!(outcome.finished, "{name} {policy}");
            outcome.simulated_ns as f64
        };
        let gain = time("one-per-core", false, cores) / time("one-per-core", true, cores) - 1.0;
        assert!(gain.abs() < 1e-3, "{name}: {gain} with a task a core");
        let steps = [compute(MS), Step::Done(0), Step::Forever { from: 0 }];
        let done = |policy, smt| {
            tasks(&machine, policy, smt, 2 * cores, &steps).operations[0].count as f64
        };
        for policy in ["fair", "core-queue"] {
            let gain = done(policy, true) / done(policy, false);
            let yields = 2.0 / SLOWDOWN;
            assert!((gain / yields - 1.0).abs() < 0.02, "{name} {policy}: {gain} with two");
        }
    }
}

#[test]
fn a_queue_for_each_core_is_no_worse_at_half_load() {
    let sleep = Step::Sleep { ns: Amount::Between(MS / 2, 3 * MS / 2) };
    let steps = [compute(MS), Step::Done(0), sleep, Step::Forever { from: 0 }];
    for machine in MachinePreset::all() {
        // As many as there are CPUs, each busy for half of the time at most.
        let count = 2 * cores(&machine);
        let done = |policy| {
            let outcome = tasks(&machine, policy, true, count, &steps);
            outcome.operations[0].count as f64
        };
        let (fair, core_queue) = (done("fair"), done("core-queue"));
        assert!(core_queue > 0.98 * fair, "{}: {core_queue} {fair}", machine.name);
    }
}

/// hackbench's shape: in each group every sender writes to every receiver; messages a second.
fn hackbench(
    machine: &MachinePreset,
    groups: u32,
    policy: &str,
    smt: bool,
    (seed, length): (u64, u64),
) -> f64 {
    const ENDS: u32 = 10;
    let loops = 20 * length;
    const BYTES: u64 = 100;
    let work = |ns: u64| Step::ComputeFor {
        profile: ProfileId(1),
        ns: Amount::Between(ns / 2, ns + ns / 2),
    };
    let bytes = Amount::Fixed(BYTES);
    let mut sender = Vec::new();
    for receiver in 0..ENDS as u8 {
        sender.extend([work(2000), Step::Send { socket: Which::Own(receiver), bytes }]);
    }
    sender.push(Step::Repeat { from: 0, times: Amount::Fixed(loops - 1) });
    let messages = loops * u64::from(ENDS);
    let receiver = vec![
        Step::Receive { socket: Which::Own(0), bytes },
        work(2000),
        Step::Repeat { from: 0, times: Amount::Fixed(messages - 1) },
    ];
    let program = |name: &str, steps| Program { name: name.to_owned(), steps };
    let mut load = Work {
        programs: vec![program("sender", sender), program("receiver", receiver)],
        sockets: vec![SocketSpec::of(30_000); (groups * ENDS) as usize],
        ..Work::default()
    };
    for group in 0..groups {
        let own: Vec<u32> = (group * ENDS..(group + 1) * ENDS).collect();
        let receivers = own.iter().map(|socket| Start { own: vec![*socket], ..Start::of(1) });
        let sender = Start { own: own.clone(), count: ENDS, ..Start::of(0) };
        load.starts.extend(receivers.chain([sender]));
    }
    let slowdown = (1000.0 * SLOWDOWN) as u32;
    let speeds = CoRun::uniform(&["busy"], slowdown, 1000).expect("a table");
    let options = Options { until_ns: 100_000 * MS, seed, ..Options::new(settings(policy)) };
    let machine = machine.machine(smt, speeds).expect("a machine");
    let outcome = run(&machine, &load, &options).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(outcome.finished, "{policy}");
    (u64::from(groups) * messages * u64::from(ENDS)) as f64 / outcome.simulated_ns as f64
}

/// schbench's shape: a message thread wakes workers, each of which computes, sleeps shortly in place of the network, and
/// says that it is ready. The 99th percentile of the time from a worker's wake-up to its CPU, in µs.
fn schbench(machine: &MachinePreset, workers: u32, policy: &str, smt: bool, seed: u64) -> f64 {
    let [ready, go] = [0, 1].map(Which::Number);
    let work = |low: u64, high: u64| Step::ComputeFor {
        profile: ProfileId(1),
        ns: Amount::Between(low, high),
    };
    let up = |semaphore| Step::Up { semaphore, count: 1 };
    let down = |semaphore| Step::Down { semaphore, count: 1 };
    let again = Step::Forever { from: 0 };
    let messenger = vec![down(ready), work(1000, 3000), up(go), again.clone()];
    let network = Step::Sleep { ns: Amount::Between(MS / 20, 3 * MS / 20) };
    let worker = vec![network, up(ready), down(go), work(MS / 2, 3 * MS / 2), again];
    let program = |name: &str, steps| Program { name: name.to_owned(), steps };
    let load = Work {
        programs: vec![program("messenger", messenger), program("worker", worker)],
        semaphores: vec![0; 2],
        starts: vec![Start::of(0), Start { count: workers, ..Start::of(1) }],
        ..Work::default()
    };
    let slowdown = (1000.0 * SLOWDOWN) as u32;
    let speeds = CoRun::uniform(&["busy"], slowdown, 1000).expect("a table");
    let (until_ns, warmup_ns) = (2200 * MS, 200 * MS);
    let options = Options { until_ns, warmup_ns, seed, ..Options::new(settings(policy)) };
    let machine = machine.machine(smt, speeds).expect("a machine");
    let outcome = run(&machine, &load, &options).unwrap_or_else(|failure| panic!("{failure}"));
    outcome.programs[1].wake_latency.quantile(990_000) as f64 / 1000.0
}

/// The rows of which each seed gives a ratio: chat and tbench in part, where all of it says the same.
fn of_fair(machine: &MachinePreset, cell: &str, smt: bool, (seed, length): (u64, u64)) -> f64 {
    let part = |least: f64| (seed, Some(least * length as f64));
    let of = |policy| match cell.split_once(':') {
        Some(("hackbench", groups)) => {
            hackbench(machine, groups.parse().expect("groups"), policy, smt, (seed, length))
        }
        Some(("chat", _)) => value_of(machine, None, cell, policy, smt, part(0.2)),
        Some(_) => value_of(machine, None, cell, policy, smt, part(0.02)),
        // A time.
        None => 1.0 / value_of(machine, None, cell, policy, smt, (seed, None)),
    };
    of("core-queue") / of("fair")
}

/// Rows of many tasks and a pair, each without siblings and with.
const ROWS: [&str; 10] = [
    "chat:rooms=10",
    "chat:rooms=20",
    "chat:rooms=40",
    "tbench:clients=8",
    "tbench:clients=20",
    "hackbench:1",
    "hackbench:4",
    "hackbench:8",
    "hackbench:16",
    PIPE,
];

const PIPE: &str = "lmbench/pipe-latency";
const PIPE_LEAST: f64 = 0.95;

/// A ratio over five seeds: low end, middle, high end.
fn interval(of: impl Fn(u64) -> f64) -> [f64; 3] {
    interval_of(&(1..=5).map(of).collect::<Vec<_>>())
}

fn interval_of(ratios: &[f64]) -> [f64; 3] {
    /// Student's t for five values and for ten, 95 % both ways.
    const T: [f64; 2] = [2.776, 2.262];
    let count = ratios.len() as f64;
    let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / count;
    let squares = ratios.iter().map(|ratio| (ratio.ln() - mean).powi(2));
    let half =
        T[usize::from(ratios.len() > 5)] * (squares.sum::<f64>() / (count - 1.0) / count).sqrt();
    [mean - half, mean, mean + half].map(f64::exp)
}

/// Tasks by the hundred on two cores that share no cache, and a pair: with siblings and without, the lower
/// end over five seeds is at most a fiftieth below `fair` (of a pair a twentieth), or where they differ by more the
/// upper end is not behind. `--nocapture` prints the table.
#[test]
fn core_queue_is_not_behind_fair_with_hundreds_of_tasks_on_few_cores() {
    let machine = MachinePreset::named("xeon-mp-2-socket").expect("a machine");
    let [(_, behind), (_, later)] = [table(&machine, 1), wakeups(&machine)];
    assert!(behind.is_empty() && later.is_empty(), "{behind:#?} {later:#?}");
}

/// The lines of a machine's table, printed as they come, and those of them that are behind.
#[expect(clippy::print_stdout, reason = "the table is what --nocapture asks for")]
fn table(machine: &MachinePreset, length: u64) -> (String, Vec<String>) {
    let (mut lines, mut behind) = (String::new(), Vec::new());
    for (cell, smt) in ROWS.iter().flat_map(|cell| [(cell, false), (cell, true)]) {
        let least = if *cell == PIPE { PIPE_LEAST } else { 0.98 };
        let is_behind = |[low, _, high]: [f64; 3]| {
            let is_wide = high - low > 0.04;
            low < least && !(is_wide && high >= 1.0)
        };
        let of = |seed| of_fair(machine, cell, smt, (seed, length));
        let mut ratios: Vec<f64> = (1..=5).map(of).collect();
        // Five that leave a row behind may be too few to tell.
        if is_behind(interval_of(&ratios)) {
            ratios.extend((6..=10).map(of));
        }
        let [low, middle, high] = interval_of(&ratios);
        let siblings = if smt { "on" } else { "off" };
        let line = format!(
            "| {} | {cell} | {siblings} | {middle:.3} ({low:.3} to {high:.3}) |\n",
            machine.name
        );
        println!("{}", line.trim_end());
        lines += &line;
        if is_behind([low, middle, high]) {
            behind.push(line);
        }
    }
    (lines, behind)
}

/// Below this a percentile is what a wake-up itself costs, and counts as much.
const WAKE_LEAST_US: f64 = 5.0;
/// The counts of durations are known to 1/32.
const WAKE_MOST: f64 = 1.0 + 1.0 / 32.0;

/// The lines of a machine's table of wake-ups, and those of them that are later than those of `fair`.
#[expect(clippy::print_stdout, reason = "the table is what --nocapture asks for")]
fn wakeups(machine: &MachinePreset) -> (String, Vec<String>) {
    let (mut lines, mut later) = (String::new(), Vec::new());
    for smt in [false, true] {
        let cpus = cores(machine) * if smt { 2 } else { 1 };
        let mut counts = [1, cpus / 2, cpus, cpus * 3 / 2, cpus * 2].to_vec();
        counts.retain(|workers| *workers > 0);
        counts.dedup();
        for workers in counts {
            let of =
                |policy, seed| schbench(machine, workers, policy, smt, seed).max(WAKE_LEAST_US);
            let [low, middle, high] = interval(|seed| of("core-queue", seed) / of("fair", seed));
            let siblings = if smt { "on" } else { "off" };
            let line = format!(
                "| {} | {workers} of {cpus} | {siblings} | {:.0} | {middle:.3} ({low:.3} to {high:.3}) |\n",
                machine.name,
                of("fair", 1)
            );
            println!("{}", line.trim_end());
            lines += &line;
            if middle > WAKE_MOST {
                later.push(line);
            }
        }
    }
    (lines, later)
}

/// The same on every machine.
#[test]
#[ignore = "minutes long: for check-all; `cargo test -p coretwin-sim --release --test machines -- --ignored`"]
fn core_queue_is_not_behind_fair_on_any_machine() {
    let mut page = "\
# core-queue beside `fair`, simulated

Written by `UPDATE_EXPECT=1 cargo test -p coretwin-sim --release --test machines -- --ignored`. Of the simulated `fair`, above
1 is better: middle and 95 % interval over seeds 1 to 5, with everything 1.5 times as long beside a busy sibling. A row
that these leave behind is measured with seeds 6 to 10, too.
The test fails where the lower end is below 0.98, of the pipe below 0.95; where five seeds leave more than 2 % either way,
where the upper end is below 1. While tasks that wake left for any core of their cache with two fewer, chat of 10 rooms on
golden-cove-server had 0.947 (0.844 to 1.063) without siblings and 0.906 (0.871 to 0.943) with them.

| machine | load | siblings | of fair |
|---|---|---|---|
"
    .to_owned();
    let mut behind = Vec::new();
    let mut of_wakeups = "
## Wake-ups

schbench's shape: a message thread wakes workers, each of which computes 0.5 to 1.5 ms and sleeps 50 to 150 µs. The 99th
percentile of the time from a worker's wake-up to its CPU, of that under `fair`: below 1 is better. What is below 5 µs
counts as 5. The test fails above 1.031, which is how finely percentiles are known.

| machine | workers of CPUs | siblings | `fair`, µs | of fair |
|---|---|---|---|---|
"
    .to_owned();
    for machine in MachinePreset::all() {
        let [(lines, of_machine), (wakeups, later)] = [table(&machine, 5), wakeups(&machine)];
        page += &lines;
        of_wakeups += &wakeups;
        behind.extend(of_machine.into_iter().chain(later));
    }
    page += &of_wakeups;
    expect_file!["../../../docs/evidence/core-queue-simulated.md"].assert_eq(&page);
    assert!(behind.is_empty(), "{behind:#?}");
}
