//! `cputime --with` against the truth of the simulated core: pairs are run with one page map (seed) a
//! block, as `cputime` measures them; the truth is the mean of many other seeds.

#![expect(clippy::print_stdout, reason = "a test says what it measured")]

mod support;

use coretwin_base::account::cputime::pairs::{Objective, Pairs, WithCommand};
use coretwin_base::account::cputime::result::CputimeSummary;
use coretwin_base::account::cputime::{Place, Spinner, SpinnerKind};
use coretwin_base::machine::topology::Topology;
use coretwin_base::study::command::CommandSpec;
use coretwin_base::study::job::{Job, Work};
use coretwin_base::study::plan::Plan;
use coretwin_base::study::summary::StoppedBecause;
use coretwin_lab::cputime::{BLOCKS, Request, draw, pair};
use coretwin_lab::scripted::{Scripted, ScriptedMachine};
use coretwin_lab::simulated_core::matrix;
use coretwin_sim::core::length::Length;
use coretwin_sim::core::profile::Profile;
use coretwin_sim::core::{Options, Preset, compare};
use coretwin_stats::cputime::summarise;
use coretwin_stats::placement::Costs;

const PROFILES: [&str; 6] = ["spin", "perl-loop", "sieve", "gzip", "syscall", "fadd-chain"];
const UOPS: u64 = 8_000;
/// Seeds of the truth; a block has one of its own.
const TRUTH: u64 = 12;
/// Studies of commands that are all alike.
const ALIKE: u64 = 200;

type Matrix = Vec<Vec<f64>>;

fn simulated(seed: u64) -> Matrix {
    let preset = Preset::named("zen4").expect("a preset");
    let profiles = PROFILES.map(|name| Profile::named(name).expect("a profile"));
    let options = Options { warmup_uops: UOPS / 3, measure_uops: UOPS, seed, ..Options::default() };
    let mut slowdown = vec![vec![1.0; PROFILES.len()]; PROFILES.len()];
    for (a, b) in (0..PROFILES.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
        let input = |thread: usize| profiles[[a, b][thread]].input(&preset, seed, 0);
        let found = compare(&preset, 2, &input, &options).expect("a run that ends");
        (slowdown[a][b], slowdown[b][a]) = (found.slowdown(0), found.slowdown(1));
    }
    slowdown
}

fn request(topology: &Topology, objective: Objective) -> Request {
    let command =
        |name: &str| WithCommand { name: name.to_owned(), argv: vec![name.to_owned()], row: false };
    Request {
        work: CommandSpec::plain(Vec::new(), 60.0),
        about: "profiles".to_owned(),
        repeat: 1,
        data_bytes: None,
        spinner: Spinner { kind: SpinnerKind::Native, argv: Vec::new() },
        spinners: Vec::new(),
        control: None,
        pair: pair::choose(topology, None, &[]).expect("pair"),
        seed: 1,
        blocks: Some(BLOCKS),
        budget_s: 300.0,
        steal_share_max: 0.05,
        others_share_max: 0.05,
        commands: PROFILES.map(command).into(),
        objective,
        cores: None,
        rulers: false,
    }
}

/// Which command a job measures, and which runs beside it.
fn asked(job: &Job) -> (usize, Option<usize>) {
    let Work::Beside(beside) = &job.work else { panic!("{:?}", job.work) };
    let number = |argv: &[String]| {
        let name = argv.last().expect("a command");
        PROFILES.iter().position(|profile| profile == name).expect("a profile")
    };
    let work = beside.work.as_ref().expect("work");
    (number(&work.argv), (beside.spinners > 0).then(|| number(&beside.spinner.argv)))
}

fn measured(topology: &Topology, objective: Objective, blocks: &[Matrix]) -> CputimeSummary {
    let plan = draw(&request(topology, objective), &[1.0; PROFILES.len()], topology).expect("plan");
    plan.check().expect("a plan that readers accept");
    let (rows, blocks) = (plan.rows.len() as u64, blocks.to_vec());
    run(&plan, topology, move |job, run| {
        let block = &blocks[(run / rows) as usize];
        let (work, beside) = asked(job);
        Scripted::ok(beside.map_or(1.0, |beside| block[work][beside]), 1.0)
    })
}

fn run(
    plan: &Plan,
    topology: &Topology,
    script: impl FnMut(&Job, u64) -> Scripted + 'static,
) -> CputimeSummary {
    let mut machine = ScriptedMachine::new(topology.clone(), Box::new(script));
    let finished = support::run(plan, Vec::new(), &mut machine).expect("the blocks are run");
    summarise(plan, &finished.readings, finished.stopped).expect("a summary")
}

fn of(summary: &CputimeSummary) -> &Pairs {
    summary.pairs.as_ref().expect("pairs")
}

#[test]
fn slowdowns_and_placement_are_those_of_the_simulated_core() {
    let smt = Topology::regular(1, 3, 2);
    let blocks: Vec<Matrix> = (0..u64::from(BLOCKS)).map(|block| simulated(1000 + block)).collect();
    let others: Vec<Matrix> = (0..TRUTH).map(simulated).collect();
    let truth: Matrix = (0..PROFILES.len())
        .map(|a| {
            let mean = |b: usize| {
                let logs = others.iter().map(|one| one[a][b].ln()).sum::<f64>();
                (logs / TRUTH as f64).exp()
            };
            (0..PROFILES.len()).map(mean).collect()
        })
        .collect();
    println!("SIMULATED. zen4, {BLOCKS} blocks, {UOPS} uops; truth: {TRUTH} other seeds");
    for objective in Objective::ALL {
        let summary = measured(&smt, objective, &blocks);
        let pairs = of(&summary);
        let sides = pairs
            .pairs
            .iter()
            .flat_map(|it| [(it.a, it.b, it.low_a, it.high_a), (it.b, it.a, it.low_b, it.high_b)]);
        let (mut held, mut count) = (0, 0);
        for (a, b, low, high) in sides {
            let (low, high) = (low.expect("blocks"), high.expect("blocks"));
            count += 1;
            held += usize::from((low..=high).contains(&truth[a][b]));
        }
        assert_eq!(count, PROFILES.len() * (PROFILES.len() - 1));
        // An interval of 95 % may miss; the seeds of the truth are few, too.
        assert!(held * 10 >= count * 8, "{held} of {count} intervals hold the simulator's own");
        let placement = pairs.placement.as_ref().expect("a placement");
        let seats: Vec<(usize, usize)> =
            placement.pairs.iter().map(|(a, b)| (*a, b.expect("three full cores"))).collect();
        let costs = Costs::new(&truth, 3, objective).expect("costs");
        let (chosen, best) = (costs.total(&seats), brute_force(&truth, objective));
        let random = costs.random(1);
        println!(
            "{objective:5}: {held} of {count} intervals hold; chosen {chosen:.3}, best {best:.3}, \
             random {random:.3}, at worst {:.3}; gain {:?}",
            costs.worst(),
            placement.gain
        );
        assert!(chosen - best <= placement.regret.expect("intervals") + 1e-9, "{chosen} {best}");
        assert!(chosen < random, "{chosen} {random}");
        assert_eq!(placement.cores.len(), 3, "the kernel knows three cores");
    }
}

/// Every way to pair them, without the search that is tried.
fn brute_force(truth: &Matrix, objective: Objective) -> f64 {
    fn least(truth: &Matrix, objective: Objective, left: &[usize]) -> f64 {
        let Some((&a, rest)) = left.split_first() else { return 0.0 };
        let ways = rest.iter().map(|&b| {
            let others: Vec<usize> = rest.iter().copied().filter(|it| *it != b).collect();
            let others = least(truth, objective, &others);
            match objective {
                Objective::Sum => truth[a][b] + truth[b][a] + others,
                Objective::Worst => truth[a][b].max(truth[b][a]).max(others),
            }
        });
        ways.fold(f64::INFINITY, f64::min)
    }
    least(truth, objective, &(0..PROFILES.len()).collect::<Vec<_>>())
}

/// Alike: everything slows everything by about as much, and only noise tells pairs apart.
fn alike(block: u64) -> Matrix {
    let mut draws = coretwin_base::random::Stream::new(3, "alike", block);
    let count = PROFILES.len();
    (0..count).map(|_| (0..count).map(|_| 1.4 + 0.1 * draws.unit()).collect()).collect()
}

#[test]
fn where_all_are_alike_no_gain_is_claimed() {
    let smt = Topology::regular(1, 3, 2);
    let (mut claimed, mut gains, mut flattered) = (0, 0.0, 0);
    for study in 0..ALIKE {
        let first = study * u64::from(BLOCKS);
        let blocks: Vec<Matrix> = (first..first + u64::from(BLOCKS)).map(alike).collect();
        let summary = measured(&smt, Objective::Sum, &blocks);
        let placement = of(&summary).placement.as_ref().expect("a placement");
        let gain = placement.gain.expect("eight blocks");
        claimed += u32::from(gain.low > Some(1.0));
        gains += gain.value / ALIKE as f64;
        // On its own blocks it looks better than chance, which is why it is not judged there.
        flattered += u32::from(placement.cost < placement.rivals.random);
    }
    println!("of {ALIKE} studies {claimed} claim a gain; mean gain {gains:.5}");
    assert!(claimed <= 10, "{claimed} of {ALIKE}: one in forty is the level");
    assert!((gains - 1.0).abs() < 0.001, "{gains}");
    assert_eq!(u64::from(flattered), ALIKE);
}

#[test]
fn without_siblings_commands_take_turns_and_no_core_is_named() {
    let apart = Topology::regular(1, 4, 1);
    let blocks: Vec<Matrix> = (0..u64::from(BLOCKS)).map(alike).collect();
    let summary = measured(&apart, Objective::Sum, &blocks);
    let beside = summary.conditions.iter().filter(|condition| condition.spinners > 0);
    assert!(
        beside.clone().count() == 30 && beside.clone().all(|it| it.placement == Place::SameCpu)
    );
    assert!(summary.factors.is_none());
    assert!(summary.meaning.iter().any(|text| text.contains("cannot be measured here")));
    assert!(of(&summary).placement.as_ref().is_some_and(|it| it.cores.is_empty()));
}

#[test]
fn a_pair_that_fails_leaves_the_others_and_no_placement() {
    let smt = Topology::regular(1, 3, 2);
    let plan = draw(&request(&smt, Objective::Sum), &[1.0; 6], &smt).expect("plan");
    let summary = run(&plan, &smt, |job, _| match asked(job) {
        (0, Some(1)) => Scripted {
            value: Err("spinner 1 of 1 ended with status 3".to_owned()),
            ..Scripted::ok(1.0, 1.0)
        },
        (_, beside) => Scripted::ok(if beside.is_some() { 1.5 } else { 1.0 }, 1.0),
    });
    let pairs = of(&summary);
    assert_eq!((pairs.pairs.len(), pairs.placement.is_none()), (14, true));
    assert!(pairs.pairs.iter().all(|it| (it.a, it.b) != (0, 1)));
}

#[test]
fn a_stop_keeps_what_was_measured() {
    let smt = Topology::regular(1, 3, 2);
    let plan = draw(&request(&smt, Objective::Sum), &[1.0; 6], &smt).expect("plan");
    let script = |job: &Job, _| Scripted::ok(if asked(job).1.is_some() { 1.5 } else { 1.0 }, 1.0);
    let mut machine = ScriptedMachine::new(smt, Box::new(script));
    machine.stop_before_run = Some(plan.rows.len() as u64 * 2 + 5);
    let finished = support::run(&plan, Vec::new(), &mut machine).expect("stopped");
    assert_eq!(finished.stopped, StoppedBecause::Interrupted);
    let summary = summarise(&plan, &finished.readings, finished.stopped).expect("a summary");
    assert_eq!((summary.blocks, of(&summary).pairs.len()), (2, 15));
    assert!(of(&summary).placement.as_ref().is_some_and(|it| it.gain.is_none()));
}

/// Slowdowns on the page of symbiotic pickup that are said to be the simulated core's: rows `A, B on PRESET`.
#[test]
fn pairs_on_the_page_of_symbiotic_pickup_are_the_cores() {
    let page = include_str!("../../../docs/evidence/symbiotic-pickup.md");
    let mut known = 0;
    for row in page.lines().filter(|row| row.contains(" | 1x2 | 0 ms | ")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let Some((programs, preset)) = cells[1].split_once(" on ") else { continue };
        let profiles: Vec<Profile> =
            programs.split(", ").map(|name| Profile::named(name).expect("a profile")).collect();
        let preset = Preset::named(preset).expect("a preset");
        let measure_uops = Options::default().measure_uops;
        let options = Options { warmup_uops: measure_uops / 5, ..Options::default() };
        let length = Some(Length::STEADY);
        let core =
            matrix(&preset, &profiles, &options, length, None, |_, _| ()).expect("runs that end");
        let told = cells[2].split([',', ';']).map(|it| it.trim().parse::<f64>().expect("per cent"));
        let slowdown = &core.slowdown;
        let own = [slowdown[0][0], slowdown[0][1], slowdown[1][1], slowdown[1][0]];
        for (told, own) in told.zip(own) {
            assert!((100.0 * (own - 1.0) - told).abs() < 2.0, "{row}: {slowdown:?}");
        }
        known += 1;
    }
    assert_eq!(known, 5, "{page}");
}
