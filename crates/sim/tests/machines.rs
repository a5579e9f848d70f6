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
use coretwin_sim::kernel::{Outcome, Start, Work, run};
use coretwin_sim::machine::{MODEL_VERSION, MachinePreset};
use coretwin_sim::models::{Setting, predict};
use coretwin_sim::policies::Settings;
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

/// A row's value, by one run.
fn value(machine: &MachinePreset, fit: Option<&Fit>, cell: &str, policy: &str, smt: bool) -> f64 {
    let spec = WorkloadSpec::parse(cell).expect(cell);
    let speeds = speeds(machine, SLOWDOWN);
    let setting = Setting {
        machine,
        speeds: &speeds,
        fit,
        policy: settings(policy),
        smt,
        seed: 1,
        fraction: None,
        runs_max: Some(1),
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
