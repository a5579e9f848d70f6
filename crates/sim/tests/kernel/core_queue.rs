//! `core-queue` on the whole machine: each of its five behaviours is there, and gone when switched off.

use crate::support::{BUSY, MS, compute, machine, options, outcome, program, work};
use coretwin_base::machine::cpu_set::CpuId;
use coretwin_sim::kernel::program::{Amount, Which};
use coretwin_sim::kernel::scenario::expect::measure;
use coretwin_sim::kernel::scenario::{Scenario, rt_app};
use coretwin_sim::kernel::work::SocketSpec;
use coretwin_sim::kernel::{Layout, Options, Outcome, Start, Step, TaskOutcome, Work};
use coretwin_sim::policies::{Decision, Settings};
use expect_test::expect_file;

fn on(program: u32, cpu: u32) -> Start {
    Start { on: Some(CpuId(cpu)), ..Start::of(program) }
}

fn run(layout: &str, work: &Work, policy: &str) -> Outcome {
    outcome(&machine(layout, 1600), work, &options(policy, 8000))
}

fn hog(ms: u64) -> coretwin_sim::kernel::Program {
    program("hog", vec![compute(ms * MS)])
}

#[test]
fn active_two_hogs_on_a_core_end_on_two() {
    let mut work = work(vec![hog(500)]);
    work.starts = vec![on(0, 0), on(0, 1)];
    // They begin side by side only where nothing places new tasks elsewhere.
    let stay = "passive=off,idle_core_first=off";
    let with = run("2x2", &work, &format!("core-queue[{stay}]"));
    assert!(with.clash_ns < 20 * MS && with.simulated_ns < 520 * MS, "{}", with.clash_ns);
    let without = run("2x2", &work, &format!("core-queue[active=off,{stay}]"));
    assert_eq!(without.simulated_ns, 800 * MS);
}

#[test]
fn passive_a_waiting_task_goes_to_the_idle_core() {
    let mut work = work(vec![hog(300)]);
    work.starts = vec![on(0, 0), on(0, 0), on(0, 0), on(0, 0)];
    let with = run("2x2", &work, "core-queue[active=off]");
    let stay = "active=off,passive=off,idle_core_first=off";
    let without = run("2x2", &work, &format!("core-queue[{stay}]"));
    // All four at once, or two by two on one core.
    assert!(with.simulated_ns < 500 * MS, "{}", with.simulated_ns);
    assert!(without.simulated_ns > 950 * MS, "{}", without.simulated_ns);
}

/// Twelve that compute a millisecond at a time on eight CPUs: whichever CPU has nothing to do takes of those that wait
/// the one that came first, so that none waits much longer than another.
#[test]
fn passive_an_idle_cpu_takes_what_has_waited_longest() {
    let steps = vec![
        Step::Sleep { ns: Amount::Between(MS / 20, 3 * MS / 20) },
        Step::ComputeFor { profile: BUSY, ns: Amount::Between(MS / 2, 3 * MS / 2) },
        Step::Forever { from: 0 },
    ];
    let mut work = work(vec![program("worker", steps)]);
    work.starts[0].count = 12;
    let outcome = outcome(&machine("8x1", 1000), &work, &options("core-queue", 1000));
    let last = outcome.wake_latency.quantile(990_000);
    assert!(last < MS, "{last}");
}

/// Four hogs are left on one core when what ran on the other has ended: it takes one as it is idle, and
/// of the three against one, which it finds at its next look, half of the difference.
#[test]
fn passive_a_core_takes_half_of_what_another_has_more() {
    let least = |policy: &str| {
        let mut work = work(vec![hog(5000), hog(10)]);
        work.starts = (0..8).map(|number| on(number % 2, 0)).collect();
        let outcome = outcome(&machine("2x1", 1000), &work, &options(policy, 1000));
        let of_long = outcome.tasks.iter().map(|task| task.time.raw_ns() / MS).step_by(2);
        of_long.min().expect("tasks")
    };
    let (with, without) = (least("core-queue"), least("core-queue[balance_ms=10000]"));
    assert!(with > 450 && without < 350, "{with} {without} of 500 ms");
}

#[test]
fn wakeup_takes_the_idle_sibling() {
    let sleeper = program(
        "sleeper",
        vec![
            Step::Sleep { ns: Amount::Fixed(MS) },
            compute(MS / 10),
            Step::Repeat { from: 0, times: Amount::Fixed(200) },
        ],
    );
    let mut work = work(vec![hog(1000), sleeper]);
    work.starts = vec![on(0, 0), on(1, 0)];
    let others = "passive=off,active=off,preempt_us=1000000";
    let with = run("1x2", &work, &format!("core-queue[{others}]"));
    let without = run("1x2", &work, &format!("core-queue[wakeup=off,{others}]"));
    let longest = |outcome: &Outcome| outcome.wait_longest_ns;
    assert!(
        longest(&with) < MS && longest(&without) > MS,
        "{} {}",
        longest(&with),
        longest(&without)
    );
}

/// Beside eight hogs one that sleeps nearly always takes the place of the one that runs, and does not wait for all. Under
/// `fair` it runs at once in the middle: docs/scheduler.md has both.
#[test]
fn a_woken_task_displaces_one_of_many_that_compute() {
    let middle_of = |policy: &str, ns: Amount, work_ns: u64| {
        let repeat = Step::Repeat { from: 0, times: Amount::Fixed(50) };
        let sleeper = program("sleeper", vec![Step::Sleep { ns }, compute(work_ns), repeat]);
        let mut work = work(vec![hog(1000), sleeper]);
        work.starts = (0..8).map(|_| on(0, 0)).chain([on(1, 0)]).collect();
        let outcome = outcome(&machine("1x1", 1000), &work, &options(policy, 1000));
        outcome.programs[1].wake_latency.quantile(500_000)
    };
    let middle = |policy: &str, ns: Amount| middle_of(policy, ns, MS / 10);
    let both = |ns: Amount| (middle("core-queue", ns), middle("fair", ns));
    let (ours, fair) = both(Amount::Mean(20 * MS));
    assert!((2 * MS..3 * MS).contains(&ours) && fair < MS / 100, "{ours} ns, fair {fair} ns");
    // What wakes in step with the ticks finds the same task in the same part of its slice each time.
    let (ours, fair) = both(Amount::Fixed(20 * MS));
    assert!((11 * MS..13 * MS).contains(&ours) && fair / MS == 3, "{ours} ns, fair {fair} ns");
    let often = ["core-queue", "core-queue[preempt_us=0]", "fair"]
        .map(|it| middle_of(it, Amount::Fixed(5 * MS), MS / 5));
    assert!(often[0] / MS == 27 && often[1] / MS == 3 && often[2] < MS / 100, "{often:?} ns");
}

/// On one CPU a sender wakes tasks that wait, and has had more than 2 ms before the last: it goes on if it has woken many.
#[test]
fn who_has_woken_many_is_not_displaced() {
    let preempted = |count: u32, each_ns: u64| {
        let woken = |index: u32| Which::Number(index);
        let sends = (0..count)
            .flat_map(|index| [compute(each_ns), Step::Up { semaphore: woken(index), count: 1 }]);
        let receiver = |index: u32| {
            let steps = vec![Step::Down { semaphore: woken(index), count: 1 }, compute(MS / 100)];
            program("receiver", steps)
        };
        let receivers = (0..count).map(receiver);
        let mut work = work(receivers.chain([program("sender", sends.collect())]).collect());
        work.semaphores = vec![0; count as usize];
        work.starts = (0..=count).map(|index| on(index, 0)).collect();
        run("1x1", &work, "core-queue").pre_emptions
    };
    assert_eq!((preempted(9, 3 * MS / 10), preempted(3, 9 * MS / 10)), (0, 1));
}

#[test]
fn pickup_lets_a_cpu_run_what_waits_on_its_core() {
    // Three hogs begin on CPU 0, a short one on its sibling: when that ends, one is taken over.
    let mut work = work(vec![hog(300), hog(20)]);
    work.starts = vec![on(1, 1), on(0, 0), on(0, 0)];
    let rest = "wakeup=off,passive=off,active=off";
    let with = run("1x2", &work, &format!("core-queue[{rest}]"));
    let without = run("1x2", &work, &format!("core-queue[pickup=off,{rest}]"));
    assert!(with.simulated_ns < 500 * MS, "{}", with.simulated_ns);
    assert!(without.simulated_ns > 590 * MS, "{}", without.simulated_ns);
}

#[test]
fn affinity_keeps_a_task_on_its_core() {
    let sleeper = program(
        "sleeper",
        vec![
            Step::Sleep { ns: Amount::Mean(MS) },
            compute(MS / 2),
            Step::Repeat { from: 0, times: Amount::Fixed(300) },
        ],
    );
    let mut work = work(vec![sleeper]);
    work.starts = (0..6).map(|cpu| on(0, cpu)).collect();
    let far = |policy: &str| {
        let outcome = run("4x2", &work, policy);
        outcome.migrations[2..].iter().sum::<u64>()
    };
    let near = "idle_core_first=off,passive=off,active=off";
    let with = far(&format!("core-queue[{near}]"));
    let without = far(&format!("core-queue[affinity=off,{near}]"));
    assert!(with * 3 < without, "{with} moves between cores, {without} without affinity");
}

/// Client and server that wake each other, each saying that it is about to wait; the client computes for
/// so long before it does, in the last of its rounds.
fn ping_pong(rounds: u64, late_ns: u64) -> Work {
    let (there, back) = (Which::Number(0), Which::Number(1));
    let bytes = Amount::Fixed(100);
    let round = |ns| {
        let send = Step::Send { socket: there, bytes };
        vec![compute(MS / 100), send, compute(ns), Step::Receive { socket: back, bytes }]
    };
    let mut client = round(1);
    client.push(Step::Repeat { from: 0, times: Amount::Fixed(rounds) });
    client.extend(round(late_ns));
    let server = vec![
        Step::Receive { socket: there, bytes },
        compute(MS / 100),
        Step::Send { socket: back, bytes },
        Step::Forever { from: 0 },
    ];
    let mut work = work(vec![program("client", client), program("server", server)]);
    work.starts[1].server = true;
    work.sockets = vec![SocketSpec { sync: true, ..SocketSpec::of(4096) }; 2];
    work
}

/// Wake-ups after which a task ran next where its waker did, and the longest wait.
fn followed(work: &Work, policy: &str) -> (usize, u64) {
    followed_on("2x2", work, policy)
}

fn followed_on(layout: &str, work: &Work, policy: &str) -> (usize, u64) {
    let mut options = options(policy, 1000);
    options.decisions_max = 100_000;
    let outcome = outcome(&machine(layout, 1600), work, &options);
    let is_it = |it: &&Decision| it.reason.text() == "its waker is about to wait";
    (outcome.decisions.iter().filter(is_it).count(), outcome.wait_longest_ns)
}

#[test]
fn follow_runs_a_task_next_where_its_waker_waits_as_it_said() {
    let (with, _) = followed(&ping_pong(200, 1), "core-queue");
    assert!(with > 200, "{with}");
    assert_eq!(followed(&ping_pong(200, 1), "core-queue[follow=off]").0, 0);
    // Beside a hog it happens until the pair is on a core of its own.
    let mut beside = ping_pong(200, 1);
    beside.programs.push(hog(5));
    beside.starts = vec![on(0, 0), Start { server: true, ..on(1, 0) }, on(2, 1)];
    let mut options = options("core-queue[active=off]", 1000);
    options.until_ns = 4 * MS;
    let clash = outcome(&machine("2x2", 1600), &beside, &options).clash_ns;
    assert!(clash < MS, "{clash}");
    // One that never waits as soon as it says so is not believed.
    let mut liar = ping_pong(200, 1);
    liar.programs[0].steps[2] = compute(MS);
    let (with, longest) = followed(&liar, "core-queue");
    assert!(with < 210 && longest < MS, "{with} {longest}");
}

/// A pair that takes turns goes past a hog that waits, for a quarter of a slice together; then it is the hog's turn.
#[test]
fn a_pair_follows_each_other_past_others_for_a_quarter_of_a_slice() {
    let beside = |rounds| {
        let mut work = ping_pong(rounds, 20_000);
        work.programs.push(hog(50));
        work.starts = vec![on(0, 0), Start { server: true, ..on(1, 0) }, on(2, 0)];
        followed_on("1x1", &work, "core-queue")
    };
    let (with, longest) = beside(1000);
    assert!(with > 1000 && longest < 8 * MS, "{with} {longest}");
}

/// What the waker is about to wait for is there when it comes back: nobody wakes it but at the start, and after each
/// time that its word is tried again.
#[test]
fn a_task_that_follows_takes_the_place_of_its_waker_where_nobody_waits() {
    let of = |policy| run("1x1", &ping_pong(200, 1), policy);
    let (with, without) = (of("core-queue"), of("core-queue[follow=off]"));
    assert!(with.pre_emptions > 180 && with.wake_ups < 220, "{}", with.wake_ups);
    assert!(without.pre_emptions < 20 && without.wake_ups > 390, "{}", without.wake_ups);
}

/// Of two in turn one is tried in the 17th round, and waits 50 ms later than it said; or it comes back in the place of
/// the other, which has woken it then. Whichever waits behind it is told of at the tick.
#[test]
fn who_follows_a_task_that_does_not_wait_is_told_of_at_the_tick() {
    for rounds in [17, 25] {
        let (with, longest) = followed(&ping_pong(rounds, 50 * MS), "core-queue[slice_us=1000000]");
        assert!(with > 10 && longest > MS && longest <= 4 * MS, "{rounds}: {with} {longest}");
    }
}

#[test]
fn idle_core_first_prefers_a_whole_core() {
    let mut work = work(vec![
        hog(50),
        program("late", vec![Step::Sleep { ns: Amount::Fixed(MS) }, compute(MS)]),
    ]);
    work.starts = vec![on(0, 0), on(1, 0)];
    let clash = |policy: &str| run("2x2", &work, policy).clash_ns;
    assert_eq!(clash("core-queue[active=off,passive=off]"), 0);
    assert!(clash("core-queue[active=off,passive=off,idle_core_first=off]") > MS);
}

/// Twice as many tasks of each kind as the machine has CPUs compute for 5 s: the kinds' shares are these, within 5 points.
fn expect_shares(policy: &str, (layout, cpus): (&str, u32), kinds: [(Start, f64); 3]) {
    let mut work = work(vec![hog(60_000)]);
    let count = 2 * cpus;
    work.starts = kinds.iter().map(|(start, _)| Start { count, ..start.clone() }).collect();
    let mut options = options(policy, 6000);
    options.warmup_ns = 1000 * MS;
    let outcome = outcome(&machine(layout, 1000), &work, &options);
    let of = |tasks: &[TaskOutcome]| tasks.iter().map(|it| it.time.raw_ns()).sum::<u64>() as f64;
    let all = of(&outcome.tasks);
    for (tasks, (_, expected)) in outcome.tasks.chunks(count as usize).zip(kinds) {
        let share = of(tasks) / all;
        assert!((share - expected).abs() < 0.05, "{policy} {layout}: {share:.3} of {expected}");
    }
}

/// Weights are 1024, 335 and 110.
#[test]
fn shares_of_nice_values_are_within_5_points() {
    for machine in [("1x1", 1), ("1x2", 2), ("2x1", 2), ("2x2", 4)] {
        let kind = |(nice, share)| (Start { nice, ..Start::of(0) }, share);
        expect_shares("core-queue", machine, [(0, 0.697), (5, 0.228), (10, 0.075)].map(kind));
    }
}

/// Groups of `cpu.weight` 300 and 100 with a task each, and one of 100 with a task of nice 5 (0.33 of nice 0).
#[test]
fn shares_of_groups_are_within_5_points_under_core_queue_and_fair() {
    for (policy, machine) in
        [("core-queue", ("1x1", 1)), ("core-queue", ("1x2", 2)), ("fair", ("1x1", 1))]
    {
        let kind = |(weight, nice, share)| {
            (Start { group_weight: Some(weight), nice, ..Start::of(0) }, share)
        };
        let kinds = [(300, 0, 0.693), (100, 0, 0.231), (100, 5, 0.076)].map(kind);
        expect_shares(policy, machine, kinds);
    }
}

/// CPU time of each program in a second: two hogs that may run everywhere, and two of nice 0 and 10 bound
/// to CPU 2. `free` says how many of the first there are.
fn beside_bound(free: u32) -> Vec<u64> {
    let mut work = work(["free", "heavy", "light"].map(|_| hog(5000)).to_vec());
    let only = |program, nice| Start {
        nice,
        mask: Some([CpuId(2)].into_iter().collect()),
        ..on(program, 2)
    };
    work.starts = (0..free).map(|cpu| on(0, cpu % 4)).chain([only(1, 0), only(2, 10)]).collect();
    let outcome =
        outcome(&machine("2x2", 1000), &work, &options("core-queue", u64::from(free + 1) * 500));
    outcome.tasks.iter().map(|task| task.time.raw_ns() / MS).collect()
}

#[test]
fn tasks_bound_to_a_busy_cpu_share_it_by_weight_however_many_others_there_are() {
    // Weights are 1024 and 110. The clock of the core runs on with those that use the sibling.
    for free in [2, 3, 6] {
        let times = beside_bound(free);
        let (heavy, light) = (times[free as usize], times[free as usize + 1]);
        assert!(heavy > 6 * light && heavy < 12 * light && light > 0, "{free}: {times:?}");
        let least = times[..free as usize].iter().min();
        assert!(least > Some(&100), "{free}: somebody is left behind: {times:?}");
    }
}

/// While two tasks of nice 19 have core 0, the clock there runs 68 times as fast as on core 1. Of three later tasks of
/// core 0 core 1 gets two, and they share it with the one that stays there.
#[test]
fn a_task_that_is_taken_waits_no_longer_for_the_clock_it_comes_from() {
    let mut work = work(vec![hog(5000)]);
    let only = |cpu, nice, count| Start {
        nice,
        count,
        mask: Some([CpuId(cpu)].into_iter().collect()),
        ..on(0, cpu)
    };
    let late = Start { count: 3, at_ns: 200 * MS, ..on(0, 0) };
    work.starts = vec![only(0, 19, 2), only(1, 0, 1), late];
    let outcome = outcome(&machine("2x1", 1000), &work, &options("core-queue", 1200));
    let late: Vec<u64> = outcome.tasks[3..].iter().map(|task| task.time.raw_ns() / MS).collect();
    assert!(late.iter().min() > Some(&300), "{late:?} of 1000 ms");
}

/// One more hog than CPUs: a difference of one goes round, between caches too, so that nobody has a CPU to itself.
#[test]
fn one_hog_more_than_cpus_goes_round() {
    let machines = [
        ("core-queue", "2x1", 3, 1.1),
        ("core-queue", "2x2", 5, 1.2),
        ("core-queue", "4x1", 5, 1.2),
        ("core-queue", "2x1x1", 3, 1.3),
        ("core-queue", "2x2x1", 5, 1.5),
        ("fair", "2x1", 3, 1.3),
        ("fair", "2x1x1", 3, 1.3),
    ];
    for (policy, layout, hogs, apart) in machines {
        let mut work = work(vec![hog(60_000)]);
        work.starts[0].count = hogs;
        let outcome = outcome(&machine(layout, 1000), &work, &options(policy, 6000));
        let times: Vec<u64> = outcome.tasks.iter().map(|task| task.time.raw_ns() / MS).collect();
        let [least, most] = [times.iter().min(), times.iter().max()].map(|ms| *ms.expect("tasks"));
        assert!((most as f64) < least as f64 * apart, "{policy} on {layout}: {times:?}");
    }
}

/// A measure of a scenario on a machine, for five seeds, in order.
fn five_seeds(scenario: &Scenario, topology: &str, key: &str, policy: &str) -> [f64; 5] {
    let layout = Layout::parse(topology).expect("a machine");
    let speeds = scenario.uniform(1600).expect("speeds");
    let work = scenario.work_on(&layout);
    let machine = scenario.machine(layout, speeds);
    let measure = measure(key).expect(key);
    let mut values = [1, 2, 3, 4, 5].map(|seed| {
        let mut options = Options::new(Settings::parse(policy).expect(policy));
        (options.until_ns, options.warmup_ns) = (scenario.until_ns, scenario.warmup_ns);
        options.seed = seed;
        measure.of(&outcome(&machine, &work, &options), None).expect("a number")
    });
    values.sort_by(f64::total_cmp);
    values
}

/// Mean, least and most.
fn told(values: [f64; 5]) -> String {
    let [mean, least, most] =
        [values.iter().sum::<f64>() / 5.0, values[0], values[4]].map(|it| match it {
            ..10.0 => format!("{it:.3}"),
            ..100.0 => format!("{it:.2}"),
            _ => format!("{it:.0}"),
        });
    format!("{mean} ({least} to {most})")
}

/// A built-in scenario, or one of `scenes/`, of which one is work as rt-app describes it.
fn scene(name: &str) -> Scenario {
    let read = Scenario::read;
    match name {
        "frames" => rt_app::read(name, include_str!("scenes/frames.json"), "gzip"),
        "hogs-come-and-go" => read(name, include_str!("scenes/hogs-come-and-go.toml")),
        "three-hogs" => read(name, include_str!("scenes/three-hogs.toml")),
        _ => return Scenario::named(name).expect(name),
    }
    .expect(name)
}

/// Beside `fair`: in each of these `core-queue` is at least as good, or as bad, with every seed as `fair` with any.
fn beside_fair() -> String {
    const SCENES: [(&str, &str, &str, bool); 17] = [
        ("wakeup-beside-idle", "1x2", "throughput_cpus", true),
        ("wakeup-beside-idle", "2x2", "throughput_cpus", true),
        ("two-on-siblings", "2x2", "throughput_cpus", true),
        ("two-on-siblings", "2x2", "fairness", true),
        ("make-j3", "2x4x2", "wake_p99_us", true),
        ("mixed-load", "2x2", "wake_p99_us", true),
        ("mixed-load", "2x4x2", "wake_p99_us", true),
        ("mixed-load", "2x2", "throughput_cpus", false),
        ("hogs-come-and-go", "2x2", "operations_per_s", true),
        ("hogs-come-and-go", "2x4x2", "operations_per_s", true),
        ("hogs-come-and-go", "2x4x2", "throughput_cpus", true),
        ("half-loaded", "64x2", "throughput_cpus", true),
        ("half-loaded", "64x2", "fairness", true),
        ("three-hogs", "1x2", "fairness", true),
        ("frames", "2x4x2", "throughput_cpus", true),
        ("frames", "4x2", "throughput_cpus", false),
        ("affinity-in-core", "2x2", "wake_p99_us", false),
    ];
    let mut lines = "\n## Beside `fair`\n\nOf ten scenarios on three or four machines, where one of the two is with every seed \
        at least as good as the other with any. In\nmake-j3 only its daemons wait, each bound to a CPU; half-loaded parts \
        the two on a large machine alone. Three are in \
        `crates/sim/tests/kernel/scenes`: in hogs-come-and-go\nhalf of the CPUs are asked for, by hogs that rest and by \
        periodic tasks, which `fair` wakes where they were, beside a hog or not; in\nthree-hogs three share two CPUs; \
        frames is work of rt-app, with no chance in it.\n\n\
        | scenario | machine | measure | core-queue | fair | ahead |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for (name, topology, key, is_ahead) in SCENES {
        let scenario = scene(name);
        let of = |policy: &str| five_seeds(&scenario, topology, key, policy);
        let (ours, fair) = (of("core-queue"), of("fair"));
        let is_less = ours[4] <= fair[0];
        let is_apart = is_less || ours[0] >= fair[4];
        let found = is_less == (key == "wake_p99_us");
        assert!(is_apart && found == is_ahead, "{name} on {topology}, {key}: {ours:?} {fair:?}");
        let ahead = if is_ahead { "core-queue" } else { "fair" };
        let (ours, fair) = (told(ours), told(fair));
        lines += &format!("| {name} | {topology} | `{key}` | {ours} | {fair} | {ahead} |\n");
    }
    lines
}

/// The others on, each behaviour off is worse with every seed than on with any.
#[test]
fn each_behaviour_pays_in_a_load_of_its_own() {
    const LOADS: [(&str, &str, &str, &str); 5] = [
        ("passive", "mixed-load", "2x2", "throughput_cpus"),
        ("active", "mixed-load", "2x4x2", "throughput_cpus"),
        ("pickup", "mixed-load", "1x2", "wake_p99_us"),
        ("affinity", "half-loaded", "2x4x2", "throughput_cpus"),
        ("wakeup", "make-j3", "2x4x2", "wake_p99_us"),
    ];
    let mut page = "# What each behaviour of core-queue is worth\n\n\
        Written by `UPDATE_EXPECT=1 cargo test -p coretwin-sim --test kernel core_queue`. Simulated: scenarios of \
        `coretwin simulate sched --list`,\neverything 1.6 times as long beside a busy sibling, seeds 1 to 5, mean \
        (least to most). The other behaviours are on.\nMore is better of work done a second, in CPUs that run alone \
        (`throughput_cpus`); less of the 99th percentile from wake-up\nto CPU, in microseconds (`wake_p99_us`).\n\n\
        The loads were chosen, from four scenarios on three machines by four measures, because the behaviour pays in \
        them. It does not in all:\nin the same sweep mixed-load on 2x2 did 0.012 CPUs more with pickup off, and woke 85 µs \
        sooner on 2x4x2 with active off.\n\n\
        | behaviour | scenario | machine | measure | on | off |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for (behaviour, name, topology, key) in LOADS {
        let scenario = Scenario::named(name).expect(name);
        let of = |policy: &str| five_seeds(&scenario, topology, key, policy);
        let (on, off) = (of("core-queue"), of(&format!("core-queue[{behaviour}=off]")));
        let is_worse = if key == "wake_p99_us" { off[0] > on[4] } else { off[4] < on[0] };
        assert!(is_worse, "{behaviour} in {name} on {topology}: {on:?} on, {off:?} off");
        let (on, off) = (told(on), told(off));
        page += &format!("| {behaviour} | {name} | {topology} | `{key}` | {on} | {off} |\n");
    }
    page += &beside_fair();
    let path = "../../../../docs/evidence/core-queue-behaviours.md";
    expect_file![path].assert_eq(&page);
}
