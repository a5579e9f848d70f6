//! `cputime --rulers` against the simulated core: what a profile is known to fight for is what its signature
//! says, and predictions of pairs stand beside the measured ones and the product of means.

#![expect(clippy::print_stdout, reason = "a test says what it measured")]

mod support;

use coretwin_base::account::cputime::pairs::{Objective, WithCommand};
use coretwin_base::account::cputime::result::CputimeSummary;
use coretwin_base::account::cputime::rulers::{RULERS, Rulers, resource};
use coretwin_base::account::cputime::{Place, Spinner, SpinnerKind, metric};
use coretwin_base::machine::topology::Topology;
use coretwin_base::study::command::CommandSpec;
use coretwin_base::study::job::{Job, Work};
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Better, Metric};
use coretwin_lab::cputime::{self, Request, draw, enough_s, pair};
use coretwin_lab::scripted::{Scripted, ScriptedMachine};
use coretwin_sim::core::profile::Profile;
use coretwin_sim::core::{Options, Preset, compare};
use coretwin_stats::cputime::summarise;
use std::collections::BTreeMap;
use std::sync::Arc;

const UOPS: u64 = 3_000;
const BLOCKS: u32 = 2;
const WORKS: [&str; 5] = ["spin", "perl-loop", "sieve", "gzip", "fadd-chain"];

/// The loop of a ruler in the simulator's language.
fn body(ruler: SpinnerKind) -> String {
    match ruler {
        SpinnerKind::FrontEnd => "int_alu x8192\nint_alu x8192\nbranch taken".to_owned(),
        SpinnerKind::Integer => "int_alu x32\nbranch taken".to_owned(),
        SpinnerKind::Vector => "fp_add x16\nfp_mul x16\nbranch taken".to_owned(),
        SpinnerKind::LoadStore => "load @0x40 x8\nstore @0x80 x8\nbranch taken".to_owned(),
        SpinnerKind::L1d => "load <1 @?24576".to_owned(),
        SpinnerKind::L2 => "load <1 @?393216".to_owned(),
        SpinnerKind::Tlb => "load <1 @?16777216".to_owned(),
        SpinnerKind::Branches => "int_alu\nbranch <1 1/2".to_owned(),
        SpinnerKind::Stream => "load @+64/33554432\nint_alu <1\nstore <1 @+64/33554432".to_owned(),
        _ => "nop pause".to_owned(),
    }
}

fn profile(name: &str) -> Profile {
    let Some(ruler) = RULERS.iter().find(|(kind, _)| kind.name() == name) else {
        return Profile::named(name).expect("a profile");
    };
    let text = format!(
        "name = \"{name}\"\ntitle = \"a ruler\"\nkind = \"body\"\n[body]\nsource = \"a test\"\n\
         confidence = \"low\"\ntext = '''\n{}\n'''\n",
        body(ruler.0)
    );
    Profile::read(name, &text).expect("a body")
}

/// Slowdown of the first beside the second, and of the second.
type Slowdowns = dyn FnMut(&str, &str, u64) -> (f64, f64);

/// The simulated core, which runs each pair and seed once.
fn core() -> Box<Slowdowns> {
    let mut known: BTreeMap<(String, String, u64), (f64, f64)> = BTreeMap::new();
    Box::new(move |a, b, seed| {
        let (first, second) = if a <= b { (a, b) } else { (b, a) };
        let found = known.entry((first.to_owned(), second.to_owned(), seed)).or_insert_with(|| {
            let preset = Preset::named("zen4").expect("a preset");
            let profiles = [profile(first), profile(second)];
            let input = |thread: usize| profiles[thread].input(&preset, seed, 0);
            let (warmup_uops, measure_uops) = (UOPS / 3, UOPS);
            let options = Options { warmup_uops, measure_uops, seed, ..Options::default() };
            let found = compare(&preset, 2, &input, &options).expect("a run that ends");
            (found.slowdown(0), found.slowdown(1))
        });
        if a <= b { *found } else { (found.1, found.0) }
    })
}

/// All slow each other alike.
fn alike() -> Box<Slowdowns> {
    Box::new(|_, _, _| (1.5, 1.5))
}

fn request(topology: &Topology, works: &[&str]) -> Request {
    let command = |name: &&str| WithCommand {
        name: (*name).to_owned(),
        argv: vec![(*name).to_owned()],
        row: false,
    };
    let (commands, argv): (Vec<WithCommand>, Vec<String>) = match works {
        [one] => (Vec::new(), vec![(*one).to_owned()]),
        several => (several.iter().map(command).collect(), Vec::new()),
    };
    Request {
        work: CommandSpec::plain(argv, 60.0),
        about: works.join(", "),
        repeat: 1,
        data_bytes: None,
        spinner: Spinner { kind: SpinnerKind::Native, argv: Vec::new() },
        spinners: Vec::new(),
        control: None,
        pair: pair::choose(topology, None, &[]).expect("pair"),
        seed: 1,
        blocks: Some(BLOCKS),
        budget_s: 120.0,
        steal_share_max: 0.05,
        others_share_max: 0.05,
        commands,
        objective: Objective::Sum,
        cores: None,
        rulers: true,
    }
}

/// Who works and who spins in a job, by name; and whether two spin.
fn asked(job: &Job) -> (Option<String>, Option<String>, bool) {
    let Work::Beside(beside) = &job.work else { panic!("{:?}", job.work) };
    let work = beside.work.as_ref().map(|work| work.argv.last().expect("a name").clone());
    let spinner = match beside.spinner.kind {
        SpinnerKind::Command => beside.spinner.argv.last().expect("a name").clone(),
        kind => kind.name().to_owned(),
    };
    (work, (beside.spinners > 0).then_some(spinner), beside.spinners > 1)
}

fn measured(topology: &Topology, works: &[&str], slowdowns: Box<Slowdowns>) -> CputimeSummary {
    let plan = draw(&request(topology, works), &vec![1.0; works.len()], topology).expect("plan");
    plan.check().expect("a plan that readers accept");
    run(&plan, topology, slowdowns)
}

/// The blocks by the engine, and then what spinners counted in them.
fn run(plan: &Plan, topology: &Topology, mut slowdowns: Box<Slowdowns>) -> CputimeSummary {
    let rows = plan.rows.len() as u64;
    let (send, receive) = std::sync::mpsc::channel();
    let script = move |job: &Job, run: u64| {
        let seed = 100 + run / rows;
        let (value, rates) = match asked(job) {
            (Some(_), None, _) => (1.0, Vec::new()),
            (Some(work), Some(other), _) => {
                let (slow, of_other) = slowdowns(&work, &other, seed);
                (slow, vec![1e6 / of_other])
            }
            (None, Some(ruler), true) => {
                let (one, other) = slowdowns(&ruler, &ruler, seed);
                (2.0, vec![1e6 / one, 1e6 / other])
            }
            (None, _, _) => (1e6, vec![1e6]),
        };
        let _ = send.send(rates);
        Scripted::ok(value, 1.0)
    };
    let mut machine = ScriptedMachine::new(topology.clone(), Box::new(script));
    let mut finished = support::run(plan, Vec::new(), &mut machine).expect("the blocks are run");
    for (reading, rates) in finished.readings.iter_mut().zip(receive.try_iter()) {
        let number = |value: f64| Metric { value, unit: String::new(), better: Better::Higher };
        let all = (0..).map(metric::spinner_rate).zip(rates.into_iter().map(number));
        reading.metrics = Arc::new(all.collect());
    }
    summarise(plan, &finished.readings, finished.stopped).expect("a summary")
}

fn of(summary: &CputimeSummary) -> &Rulers {
    summary.rulers.as_ref().expect("rulers")
}

/// Slowdown of a work by the ruler of that kind.
fn by(summary: &CputimeSummary, work: usize, kind: SpinnerKind) -> f64 {
    let all = &of(summary).signatures[work].beside;
    all.iter().find(|it| it.ruler == kind).expect("measured").slowdown.value
}

#[test]
fn a_signature_is_what_the_simulated_core_says() {
    let smt = Topology::regular(1, 2, 2);
    println!("SIMULATED. zen4, {BLOCKS} blocks, {UOPS} uops");
    // Its own ruler slows such work more than one that leaves it alone.
    for (work, kind, other) in [
        ("vector", SpinnerKind::Vector, SpinnerKind::Integer),
        ("integer", SpinnerKind::Integer, SpinnerKind::Pause),
        ("load-store", SpinnerKind::LoadStore, SpinnerKind::Vector),
    ] {
        let summary = measured(&smt, &[work], core());
        let mut all = of(&summary).signatures[0].beside.clone();
        all.sort_by(|a, b| b.slowdown.value.total_cmp(&a.slowdown.value));
        let said: Vec<String> = all
            .iter()
            .map(|it| format!("{} {:.2}", resource(it.ruler), it.slowdown.value))
            .collect();
        println!("{work}: {}", said.join(", "));
        assert_eq!((all.len(), of(&summary).scales.len()), (10, 10), "{work}");
        assert!(all.iter().all(|it| it.ruler_slowdown.is_some()), "{work}");
        assert!(summary.factors.is_none(), "a ruler is no neighbour of accounting");
        let (own, other) = (by(&summary, 0, kind), by(&summary, 0, other));
        assert!(
            own > 1.05 && own > other,
            "{work}: {own} beside its ruler, {other} beside another"
        );
        // The work is the ruler: the scale says the same.
        let scale = of(&summary).scales.iter().find(|scale| scale.ruler == kind).expect("a scale");
        assert!((scale.slowdown.value / own - 1.0).abs() < 0.02, "{work}: {scale:?} {own}");
    }
}

#[test]
fn pairs_are_predicted_beside_the_measured_ones_and_the_simple_rules() {
    let smt = Topology::regular(1, 3, 2);
    let summary = measured(&smt, &WORKS, core());
    let pairs = summary.pairs.as_ref().expect("pairs");
    assert_eq!((pairs.pairs.len(), of(&summary).signatures.len()), (10, WORKS.len()));
    let found = of(&summary).predictions.as_ref().expect("five commands");
    println!(
        "SIMULATED. zen4, {BLOCKS} blocks, {UOPS} uops: mean error {:.3} by rulers, {:.3} by means, \
         {:.3} by the mean of all; rulers less means {:?}",
        found.error_rulers, found.error_means, found.error_constant, found.difference
    );
    assert_eq!(found.sides.len(), 20);
    for side in &found.sides {
        let it = pairs
            .pairs
            .iter()
            .find(|it| (it.a, it.b) == (side.work.min(side.beside), side.work.max(side.beside)));
        let it = it.expect("a measured pair");
        let slowdown = if side.work < side.beside { it.slowdown_a } else { it.slowdown_b };
        assert!((side.measured - slowdown).abs() < 1e-12);
    }
    let mean = |of: fn(&coretwin_base::account::cputime::rulers::Predicted) -> f64| {
        let logs = found.sides.iter().map(|side| (of(side) / side.measured).ln().abs());
        logs.sum::<f64>() / found.sides.len() as f64
    };
    assert!((mean(|side| side.by_rulers) - found.error_rulers).abs() < 1e-9);
    assert!((mean(|side| side.by_means) - found.error_means).abs() < 1e-9);
    let difference = found.error_rulers - found.error_means;
    assert!((found.difference.value - difference).abs() < 1e-9);
}

#[test]
fn a_pair_is_predicted_from_the_others_alone() {
    let smt = Topology::regular(1, 2, 2);
    let plan = draw(&request(&smt, &WORKS[..3]), &[1.0; 3], &smt).expect("plan");
    let predicted = |first: f64| {
        let script = move |job: &Job, _| {
            let value = match asked(job) {
                (Some(work), Some(other), _) if work == WORKS[0] && other == WORKS[1] => first,
                (Some(_), Some(_), _) => 1.5,
                _ => 1.0,
            };
            Scripted::ok(value, 1.0)
        };
        let mut machine = ScriptedMachine::new(smt.clone(), Box::new(script));
        let mut finished = support::run(&plan, Vec::new(), &mut machine).expect("run");
        for reading in &mut finished.readings {
            let number = |value: f64| Metric { value, unit: String::new(), better: Better::Higher };
            let is_alone = reading.row.starts_with("spinner") && !reading.row.ends_with("twice");
            let rate = if is_alone { 1.0 } else { 0.5 };
            let rates = (0..2).map(metric::spinner_rate).zip([rate, rate].map(number));
            reading.metrics = Arc::new(rates.collect());
        }
        let summary = summarise(&plan, &finished.readings, finished.stopped).expect("summary");
        let found = of(&summary).predictions.clone().expect("three commands");
        (found.sides[0].measured, found.sides[0].by_rulers, found.sides[0].by_means)
    };
    let (low, high) = (predicted(1.1), predicted(3.0));
    assert!((low.0 - 1.1).abs() < 1e-9 && (high.0 - 3.0).abs() < 1e-9);
    assert_eq!((low.1, low.2), (high.1, high.2), "the pair's own slowdown is not known to a rule");
}

#[test]
fn a_ruler_is_compared_with_itself_alone() {
    let smt = Topology::regular(1, 2, 2);
    let plan = draw(&request(&smt, &["sieve"]), &[1.0], &smt).expect("plan");
    let mut machine = ScriptedMachine::new(smt, Box::new(|_, _| Scripted::ok(1.0, 1.0)));
    let mut finished = support::run(&plan, Vec::new(), &mut machine).expect("run");
    let experiment = plan.cputime.as_ref().expect("cputime");
    for reading in &mut finished.readings {
        let condition = experiment.condition(&reading.row).expect("a condition");
        // Each counts at a rate of its own, and half as fast where anything runs beside it.
        let kind = RULERS.iter().position(|(kind, _)| condition.ruler == Some(*kind));
        let alone = 10_f64.powi(kind.unwrap_or(0) as i32);
        let is_alone = !condition.has_work && condition.spinners == 1;
        let value = if is_alone { alone } else { alone / 2.0 };
        let number = |value: f64| Metric { value, unit: String::new(), better: Better::Higher };
        let rates = (0..condition.spinners).map(|at| (metric::spinner_rate(at), number(value)));
        reading.metrics = Arc::new(rates.collect());
    }
    let summary = summarise(&plan, &finished.readings, finished.stopped).expect("summary");
    for it in &of(&summary).signatures[0].beside {
        let slowdown = it.ruler_slowdown.expect("counted").value;
        assert!((slowdown - 2.0).abs() < 1e-9, "{it:?}");
    }
    for scale in &of(&summary).scales {
        assert!((scale.slowdown.value - 2.0).abs() < 1e-9, "{scale:?}");
    }
}

#[test]
fn two_commands_leave_no_pair_to_learn_from() {
    let smt = Topology::regular(1, 2, 2);
    let summary = measured(&smt, &WORKS[..2], alike());
    assert!(of(&summary).predictions.is_none() && of(&summary).signatures.len() == 2);
}

#[test]
fn without_siblings_rulers_take_turns_and_say_so() {
    let apart = Topology::regular(1, 2, 1);
    let plan = draw(&request(&apart, &["sieve"]), &[1.0], &apart).expect("plan");
    let experiment = plan.cputime.as_ref().expect("cputime");
    let beside = experiment.conditions.iter().filter(|it| it.has_work && it.ruler.is_some());
    assert!(beside.clone().count() == 10 && beside.clone().all(|it| it.place == Place::SameCpu));
    let twice = experiment.conditions.iter().filter(|it| it.spinners == 2);
    assert!(twice.clone().count() == 10 && twice.clone().all(|it| it.spinner_cpus.len() == 1));
    let summary = run(&plan, &apart, alike());
    assert!(summary.meaning.iter().any(|text| text.contains("cannot be measured here")));
}

#[test]
fn a_second_of_work_takes_two_minutes() {
    let smt = Topology::regular(1, 2, 2);
    let request = Request { blocks: None, ..request(&smt, &["sieve"]) };
    assert!(enough_s(&request, &[1.0]) < 120.0, "{}", enough_s(&request, &[1.0]));
    assert!(enough_s(&request, &[10.0]) > 120.0);
    let plan = draw(&request, &[1.0], &smt).expect("plan");
    assert_eq!(plan.rules.looks, [cputime::BLOCKS_MIN, cputime::BLOCKS]);
}
