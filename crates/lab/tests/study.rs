//! The engine on a scripted machine: what is run, in which order, and what becomes of it.

mod support;

use coretwin_base::machine::environment::Environment;
use coretwin_base::machine::topology::Topology;
use coretwin_base::study::arm::ArmSpec;
use coretwin_base::study::consistency;
use coretwin_base::study::job::Work;
use coretwin_base::study::plan::{Plan, Protocol, Rule, Variant};
use coretwin_base::study::reading::{Better, Phase, Reading, Status};
use coretwin_base::study::summary::{StoppedBecause, Verdict};
use coretwin_lab::Error;
use coretwin_lab::engine::{self, Finished, Setup};
use coretwin_lab::event::{Event, Listener, Listeners};
use coretwin_lab::machine::Stop;
use coretwin_lab::planning;
use coretwin_lab::request::{Counts, Request, Subject};
use coretwin_lab::scripted::{Script, Scripted, ScriptedMachine};
use support::{command, faster_by, machine, plan, request, run, with_arms};

#[test]
fn a_clear_effect_stops_at_the_first_look_with_balanced_orders() {
    let plan = plan(&request(Counts::Default));
    let mut machine = machine(faster_by(1.2, 0.004));
    let finished = run(&plan, Vec::new(), &mut machine).expect("study");
    assert_eq!(finished.stopped, StoppedBecause::Target);
    // One warm-up, then 8 blocks of 2 arms.
    assert_eq!(finished.readings.len(), 1 + 16);
    assert_eq!(machine.log[..2], ["arm one-per-core", "run work {threads} threads=2 copies=1"]);
    let firsts = machine.log[2..].chunks(4).filter(|block| block[0] == "arm on").count();
    assert_eq!(firsts, 4, "each arm comes first equally often: {:?}", machine.log);
    for (index, reading) in finished.readings.iter().enumerate() {
        assert_eq!(reading.seq, index as u64);
        assert!(finished.environment.moments.contains_key(&*reading.env));
    }
    let summary = coretwin_stats::study::analyse(&plan, &finished.readings, finished.stopped);
    let ratio = summary.suites[0].ratio.expect("ratio");
    assert!((ratio - 1.2).abs() < 0.005, "{ratio}");
    assert_eq!(summary.suites[0].verdict.map(|v| v.to_string()).as_deref(), Some("HELPS"));
}

#[test]
fn until_a_verdict_a_clear_effect_takes_one_balanced_set() {
    for protocol in [Protocol::Modern, Protocol::Quick] {
        let asked = Request { protocol, until: Rule::Verdict, ..request(Counts::Default) };
        let plan = plan(&asked);
        let finished = run(&plan, Vec::new(), &mut machine(faster_by(1.2, 0.004))).expect("study");
        assert_eq!(finished.stopped, StoppedBecause::Verdict);
        assert_eq!(finished.readings.len(), 1 + 2 * 4);
        let summary = coretwin_stats::study::analyse(&plan, &finished.readings, finished.stopped);
        assert_eq!(summary.suites[0].verdict, Some(Verdict::Helps));
        // Broken off in its third block and resumed, it is the same study.
        let mut first = machine(faster_by(1.2, 0.004));
        first.stop_before_run = Some(6);
        let broken = run(&plan, Vec::new(), &mut first).expect("stopped");
        let resumed = run(&plan, broken.readings, &mut machine(faster_by(1.2, 0.004)));
        assert_eq!(resumed.expect("resumed").stopped, StoppedBecause::Verdict);
        // Nothing is found where there is nothing, and that is a verdict too.
        let equal = run(&plan, Vec::new(), &mut machine(faster_by(1.0, 0.004))).expect("study");
        let summary = coretwin_stats::study::analyse(&plan, &equal.readings, equal.stopped);
        assert_eq!(summary.suites[0].verdict, Some(Verdict::NoMaterialDifference));
    }
    let boots = ["boot:a", "boot:b"].map(|arm| ArmSpec::parse(arm).expect("arm")).to_vec();
    let verdict = |request: Request| Request { until: Rule::Verdict, ..request };
    for asked in [
        Request { blocks: Some(9), protocol: Protocol::Fixed, ..request(Counts::Default) },
        Request { protocol: Protocol::Article2003, ..request(Counts::Default) },
        Request { arms: boots, ..request(Counts::Default) },
    ] {
        let drawn = planning::draw(&verdict(asked), "host", &Topology::regular(1, 2, 2));
        let why = drawn.expect_err("no such rule").to_string();
        assert!(why.contains("--until verdict"), "{why}");
    }
}

#[test]
fn equal_seeds_give_equal_studies_and_other_seeds_others() {
    let journal = |seed| {
        let plan = plan(&Request { seed, ..request(Counts::List(vec![1, 2, 4])) });
        let mut machine = machine(faster_by(1.1, 0.01));
        let finished = run(&plan, Vec::new(), &mut machine).expect("study");
        (finished.readings, machine.log)
    };
    assert_eq!(journal(5), journal(5));
    assert_ne!(journal(5).1, journal(6).1);
}

#[test]
fn a_study_stopped_anywhere_goes_on_to_a_whole_one() {
    let plan = plan(&Request { seed: 11, ..request(Counts::List(vec![2, 4])) });
    let mut whole = machine(faster_by(1.2, 0.002));
    let all = run(&plan, Vec::new(), &mut whole).expect("study").readings.len() as u64;
    for stop_before in 0..all {
        let mut first = machine(faster_by(1.2, 0.002));
        first.stop_before_run = Some(stop_before);
        let broken = run(&plan, Vec::new(), &mut first).expect("stopped");
        assert_eq!(broken.stopped, StoppedBecause::Interrupted);
        assert_eq!(broken.readings.len() as u64, stop_before, "nothing taken is lost");
        let mut second = machine(faster_by(1.2, 0.002));
        let finished = run(&plan, broken.readings.clone(), &mut second).expect("resumed");
        assert_eq!(finished.stopped, StoppedBecause::Target, "stopped before run {stop_before}");
        assert_eq!(finished.readings[..broken.readings.len()], broken.readings[..]);
        let summary = coretwin_stats::study::analyse(&plan, &finished.readings, finished.stopped);
        assert_eq!(summary.blocks, 8, "stopped before run {stop_before}");
        let mut keys: Vec<_> = finished
            .readings
            .iter()
            .map(|r| (r.phase, r.block, r.attempt, r.arm.clone(), r.row.clone()))
            .collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), finished.readings.len(), "no cell is doubled");
    }
}

#[test]
fn a_disturbed_block_is_kept_and_run_again() {
    let plan = plan(&request(Counts::Default));
    // The fourth run is disturbed by somebody else's work.
    let mut quiet = faster_by(1.2, 0.002);
    let script: Script = Box::new(move |job, run| {
        let others_s = if run == 4 { 3.0 } else { 0.0 };
        Scripted { others_s, ..quiet(job, run) }
    });
    let finished = run(&plan, Vec::new(), &mut machine(script)).expect("study");
    let disturbed: Vec<&Reading> =
        finished.readings.iter().filter(|r| r.status == Status::SetAside).collect();
    assert_eq!(disturbed.len(), 1);
    assert!(disturbed[0].cause.as_deref().is_some_and(|cause| cause.starts_with("others: ")));
    let again = finished.readings.iter().filter(|r| r.attempt == 1).count();
    assert_eq!(again, 2, "the whole block is run again, both arms");
    let summary = coretwin_stats::study::analyse(&plan, &finished.readings, finished.stopped);
    assert_eq!((summary.blocks, summary.rows[0].blocks_set_aside), (8, 1));
}

#[test]
fn a_disturbed_screening_is_run_again_and_decides_nothing() {
    let plan = plan(&request(Counts::Auto));
    let calm = run(&plan, Vec::new(), &mut machine(screened(None))).expect("study").readings;
    let worst = calm.iter().position(|r| r.phase == Phase::Screen && r.threads == 1);
    let worst = worst.expect("one thread is tried") as u64;
    // What was disturbed looks far better than it is.
    let finished = run(&plan, Vec::new(), &mut machine(screened(Some(worst)))).expect("study");
    let of_screening = |r: &&Reading| r.phase == Phase::Screen;
    let disturbed = |r: &&Reading| r.status == Status::SetAside;
    assert_eq!(finished.readings.iter().filter(of_screening).filter(disturbed).count(), 1);
    let count = |all: &[Reading]| all.iter().filter(of_screening).count();
    let again = finished.readings.iter().filter(of_screening).filter(|r| r.attempt == 1).count();
    assert!(again > 0 && count(&finished.readings) == count(&calm) + again, "the block, once more");
    let chosen = |all: &[Reading]| coretwin_stats::study::choose_threads(&plan, all);
    assert_eq!(chosen(&finished.readings), chosen(&calm));
}

/// More threads are better; that run is disturbed, and seems to take no time.
fn screened(disturbed: Option<u64>) -> Script {
    Box::new(move |job, run| match disturbed == Some(run) {
        true => Scripted { others_s: 3.0, ..Scripted::ok(1e-6, 1.0) },
        false => Scripted::ok(1.0 / f64::from(job.threads), 1.0),
    })
}

#[test]
fn a_frequency_cap_between_sessions_is_one_since_the_study_began() {
    let plan = plan(&request(Counts::Default));
    let mut first = machine(faster_by(1.2, 0.002));
    first.stop_before_run = Some(6);
    let broken = engine::run(fresh(&plan), &mut first, &mut Listeners(Vec::new())).expect("begun");
    let mut second = machine(faster_by(1.2, 0.002));
    second.mhz_permitted = 2000.0;
    let Finished { readings, environment, .. } = broken;
    let setup = Setup { readings, environment, ..fresh(&plan) };
    let finished = engine::run(setup, &mut second, &mut Listeners(Vec::new())).expect("resumed");
    let capped = &finished.readings[6];
    assert_eq!(capped.status, Status::SetAside);
    assert_eq!(
        capped.cause.as_deref(),
        Some("frequency: CPU 0 is capped at 2000 MHz, 3000 when the study began")
    );
}

#[test]
fn a_block_that_is_always_disturbed_is_given_up_after_two_retries() {
    let plan =
        plan(&Request { blocks: Some(2), protocol: Protocol::Fixed, ..request(Counts::Default) });
    let script: Script = Box::new(|_, _| Scripted { steal_s: 1.0, ..Scripted::ok(1.0, 1.0) });
    let finished = run(&plan, Vec::new(), &mut machine(script)).expect("study");
    assert_eq!(finished.readings.len(), 1 + 2 * 3 * 2);
    assert_eq!(finished.stopped, StoppedBecause::Blocks);
}

/// What was said to be left, in seconds, at the end of each block.
#[derive(Default)]
struct Left(Vec<f64>);

impl Listener for Left {
    fn hear(&mut self, event: &Event<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        if let Event::BlockEnded { phase: Phase::Study, left_s, .. } = event {
            self.0.extend(left_s);
        }
        Ok(())
    }
}

#[test]
fn what_is_left_takes_as_many_attempts_as_what_was_done() {
    let plan =
        plan(&Request { blocks: Some(4), protocol: Protocol::Fixed, ..request(Counts::Default) });
    let script: Script = Box::new(|_, _| Scripted { steal_s: 1.0, ..Scripted::ok(1.0, 1.0) });
    let mut left = Left::default();
    engine::run(fresh(&plan), &mut machine(script), &mut left).expect("study");
    assert_eq!(left.0.len(), 4 * 3);
    // After one attempt of one block four are to come; after three of each of two, six.
    assert!((left.0[5] / left.0[0] - 6.0 / 4.0).abs() < 0.01, "{:?}", left.0);
}

#[test]
fn failing_cells_are_results_and_the_study_goes_on() {
    let plan =
        plan(&Request { blocks: Some(3), protocol: Protocol::Fixed, ..request(Counts::Default) });
    let script: Script = Box::new(|job, _| {
        let mut step = Scripted::ok(1.0, 1.0);
        if job.cpus.len() == 4 {
            step.value = Err("exit status 3".to_owned());
        }
        step
    });
    let finished = run(&plan, Vec::new(), &mut machine(script)).expect("study");
    let failed: Vec<&Reading> =
        finished.readings.iter().filter(|r| r.status == Status::Failed).collect();
    assert_eq!(failed.len(), 3);
    assert!(failed.iter().all(|r| r.arm == "on" && r.value.is_none()));
    let summary = coretwin_stats::study::analyse(&plan, &finished.readings, finished.stopped);
    assert_eq!((summary.rows[0].verdict, summary.rows[0].failed), (None, 3));
}

#[test]
fn a_study_of_which_nothing_works_ends_after_a_few_blocks() {
    let plan = plan(&request(Counts::Default));
    let fails = || Scripted { value: Err("no such file".to_owned()), ..Scripted::ok(1.0, 1.0) };
    let mut broken = machine(Box::new(move |_, _| fails()));
    let finished = run(&plan, Vec::new(), &mut broken).expect("study");
    assert_eq!(finished.stopped, StoppedBecause::Error);
    assert_eq!(finished.readings.len(), 1 + 3 * 2, "a warm-up and three blocks");
    // It was the machine: now it works, and the same study goes on to its end.
    let finished = run(&plan, finished.readings, &mut machine(faster_by(1.2, 0.004)));
    assert_ne!(finished.expect("study").stopped, StoppedBecause::Error);
    // One run that works is enough to go on.
    let mut late = machine(Box::new(move |_, run| match run {
        6 => Scripted::ok(1.0, 1.0),
        _ => fails(),
    }));
    let finished = run(&plan, Vec::new(), &mut late).expect("study");
    assert!(finished.readings.len() > 1 + 3 * 2, "{}", finished.readings.len());
}

#[test]
fn a_budget_below_the_fewest_blocks_is_refused_after_the_warm_up() {
    let plan = plan(&Request { budget_s: 6.0, ..request(Counts::Default) });
    let mut machine = machine(faster_by(1.2, 0.002));
    let error = run(&plan, Vec::new(), &mut machine).expect_err("too small");
    assert!(matches!(error, Error::BudgetTooSmall { blocks: 8, .. }), "{error}");
    assert!(error.to_string().contains("--blocks 3"), "{error}");
    assert_eq!(machine.log.len(), 2, "only the warm-up was run");
}

#[test]
fn a_noisy_study_ends_with_its_budget() {
    let plan = plan(&Request { budget_s: 30.0, ..request(Counts::Default) });
    let finished = run(&plan, Vec::new(), &mut machine(faster_by(1.2, 0.5))).expect("study");
    assert_eq!(finished.stopped, StoppedBecause::Budget);
    assert_eq!(finished.readings.len(), 1 + 2 * 14, "no block is begun that would not fit");
}

#[test]
fn thread_counts_are_screened_frozen_and_confirmed_on_fresh_blocks() {
    let plan = plan(&request(Counts::Auto));
    // Two threads are best on two CPUs, four on four.
    let script: Script = Box::new(|job, _| {
        let misfit = f64::from(job.threads.abs_diff(job.cpus.len() as u32));
        Scripted::ok((1.0 + misfit) / job.cpus.len() as f64, 0.1)
    });
    let finished = run(&plan, Vec::new(), &mut machine(script)).expect("study");
    let screened = finished.readings.iter().filter(|r| r.phase == Phase::Screen).count();
    assert_eq!(screened, 3 * (3 + 5), "1 2 4 on two CPUs; 1 2 3 4 8 on four; three blocks");
    for reading in finished.readings.iter().filter(|r| r.phase == Phase::Study) {
        assert_eq!(reading.threads, if reading.arm == "on" { 4 } else { 2 });
    }
}

#[test]
fn the_protocol_of_2003_runs_one_arm_five_times_and_then_the_other() {
    let plan = plan(&Request { protocol: Protocol::Article2003, ..request(Counts::Default) });
    let mut machine = machine(faster_by(1.2, 0.01));
    let finished = run(&plan, Vec::new(), &mut machine).expect("study");
    let arms: Vec<&str> = finished.readings.iter().map(|r| &*r.arm).collect();
    assert_eq!(arms[..5], ["one-per-core"; 5]);
    assert_eq!(arms[5..], ["on"; 5]);
}

#[test]
fn setup_runs_first_and_its_failure_ends_the_study() {
    let asked = Request {
        subject: Subject::Command {
            spec: Box::new(command(Some("make data"))),
            threads: Counts::Default,
            copies: Counts::Default,
            variants: Vec::new(),
            parameters: Vec::new(),
        },
        ..request(Counts::Default)
    };
    let plan = plan(&asked);
    let mut good = machine(faster_by(1.2, 0.002));
    run(&plan, Vec::new(), &mut good).expect("study");
    assert_eq!(good.log[1], "run /bin/sh -c make data threads=2 copies=1");
    let script: Script = Box::new(|_, _| Scripted {
        value: Err("exit status 2".to_owned()),
        ..Scripted::ok(0.0, 1.0)
    });
    let error = run(&plan, Vec::new(), &mut machine(script)).expect_err("setup fails");
    assert!(error.to_string().contains("--setup failed: exit status 2"), "{error}");
}

/// A study from its beginning.
fn fresh(plan: &Plan) -> Setup<'_> {
    Setup {
        plan,
        readings: Vec::new(),
        environment: Environment::default(),
        run_as: None,
        boot: None,
        stop: Stop::default(),
    }
}

/// A listener whose disk is full after a few readings.
struct FullAfter(usize);

impl Listener for FullAfter {
    fn hear(&mut self, event: &Event<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        if matches!(event, Event::ReadingTaken(_)) {
            if self.0 == 0 {
                return Err("no space left".into());
            }
            self.0 -= 1;
        }
        Ok(())
    }
}

#[test]
fn a_reading_that_cannot_be_kept_ends_the_study_at_once() {
    let plan = plan(&request(Counts::Default));
    let mut machine = machine(faster_by(1.2, 0.002));
    let error = engine::run(fresh(&plan), &mut machine, &mut FullAfter(4)).expect_err("full");
    assert!(matches!(error, Error::Listener(_)), "{error}");
    let runs = machine.log.iter().filter(|step| step.starts_with("run")).count();
    assert_eq!(runs, 5, "nothing is run that cannot be kept");
}

/// As of the article's own kernel: two logical CPUs, and nothing says on which cores.
#[test]
fn arms_that_need_cores_are_refused_where_no_file_names_them() {
    let specs = |arms: &[&str]| -> Vec<ArmSpec> {
        arms.iter().map(|arm| ArmSpec::parse(arm).expect("arm")).collect()
    };
    let mut unknown = Topology::regular(1, 2, 1);
    unknown.cores_unknown = unknown.online.clone();
    (unknown.cores, unknown.threads_per_core_max) = (None, None);
    (unknown.smt.active, unknown.trust_why) = (None, "no file says".to_owned());
    for arm in ["one-per-core", "on-cores", "packed", "core-sched", "off", "boot:nosmt"] {
        let error = coretwin_lab::arms::resolve(&specs(&[arm]), &unknown).expect_err(arm);
        let text = error.to_string();
        assert!(text.contains("share a core is unknown here (no file says)"), "{arm}: {text}");
        assert!(matches!(error, Error::NotPossible(_)), "{arm}");
    }
    let arms = specs(&["a=cpus:0", "on"]);
    let plan = planning::draw(&Request { arms, ..request(Counts::Default) }, "host", &unknown);
    let plan = plan.expect("these need no cores");
    assert!(plan.arms.iter().all(|arm| arm.cores == 0), "unknown, not one for each CPU");
    assert_eq!(plan.arms[1].about, "all 2 CPUs on unknown cores");
    let warned = |text: &str| plan.warnings.iter().any(|warning| warning.text.contains(text));
    assert!(warned("which CPUs are siblings is unknown here"), "{:?}", plan.warnings);
}

#[test]
fn a_journal_that_its_plan_contradicts_is_refused_by_line_and_field() {
    let plan = plan(&Request { seed: 11, ..request(Counts::Auto) });
    let good = run(&plan, Vec::new(), &mut machine(faster_by(1.2, 0.004))).expect("study").readings;
    let study = good.iter().position(|r| r.phase == Phase::Study).expect("the study proper");
    let screen = good.iter().position(|r| r.phase == Phase::Screen).expect("a screening");
    type Tamper = (usize, fn(&mut Reading), &'static str);
    let tampers: [Tamper; 10] = [
        (0, |r| r.arm = "onn".into(), "field arm is 'onn'"),
        (study, |r| r.row = "other".into(), "field row is 'other'"),
        (study, |r| r.unit = "ms".into(), "field unit is 'ms', and the plan has command in 's'"),
        (study, |r| r.better = Better::Higher, "field better is higher, and of command the"),
        (study, |r| r.block = 200, "field block is 200, and the plan has 200 blocks"),
        (screen, |r| r.block = 3, "field block is 3, and the plan has 3 blocks"),
        (study, |r| r.elapsed_s = -1.0, "field elapsed_s is -1"),
        (study, |r| r.steal_s = -1e-9, "field steal_s is -0.000000001"),
        // Under another number of the arm change it would be a second value of the cell.
        (study + 2, |r| (r.block, r.switch) = (0, 99), "field attempt: command was run in arm"),
        (screen, |r| r.phase = Phase::Study, "field attempt: command was run in arm"),
    ];
    for (at, tamper, part) in tampers {
        let mut bad = good.clone();
        tamper(&mut bad[at]);
        let found = consistency::check(&plan, &bad).expect_err(part);
        assert!(found.what.contains(part), "{part}: {found:?}");
        assert!(found.seq == at as u64 || part.contains("attempt"), "{part}: {found:?}");
    }
    // Another plan: repeats that were not met are not an error, for an attempt may be broken off.
    let mut more = plan.clone();
    more.rules.repeats = 2;
    assert_eq!(consistency::check(&more, &good), Ok(()));
    let summary = coretwin_stats::study::analyse(&more, &good, StoppedBecause::Target);
    let told = summary.warnings.iter().find(|w| w.kind == "incomplete").expect("a warning");
    assert!(told.text.starts_with("7 block(s) are not complete"), "{}", told.text);
}

#[test]
fn arms_and_rows_are_checked_before_anything_runs() {
    let four = Topology::regular(1, 2, 2);
    let asked = |arms: &[&str]| Request {
        arms: arms.iter().map(|arm| ArmSpec::parse(arm).expect("arm")).collect(),
        ..request(Counts::Default)
    };
    for (arms, topology, part) in [
        (&["on", "on"][..], &four, "two arms are called 'on'"),
        (&["a=cpus:0", "b=cpus:9"], &four, "CPU 9 does not exist"),
        (&["on"], &four, "one arm only"),
        (&["off", "on"], &four, "one-per-core"),
        (&["on@fancy", "one-per-core"], &four, "scheduler 'fancy'"),
        (&["packed", "on"], &Topology::regular(1, 3, 2), "divisible by 2"),
        (&["core-sched", "on"], &Topology::regular(1, 2, 1), "no core shows two"),
    ] {
        let error = planning::draw(&asked(arms), "scripted", topology).expect_err(part).to_string();
        assert!(error.contains(part), "{arms:?}: {error}");
    }
}

/// What was said at the end of each block: time left, in seconds, and whether it was set aside.
#[derive(Default)]
struct Ends(Vec<(Option<f64>, bool)>);

impl Listener for Ends {
    fn hear(&mut self, event: &Event<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        if let Event::BlockEnded { phase: Phase::Study, left_s, set_aside, .. } = event {
            self.0.push((*left_s, set_aside.is_some()));
        }
        Ok(())
    }
}

/// Runs of so many seconds, of which others leave those undisturbed that `is_good` names.
fn busy(takes_s: f64, is_good: impl Fn(u64) -> bool + 'static) -> Script {
    Box::new(move |job, run| Scripted {
        others_s: if is_good(run) { 0.0 } else { takes_s * job.cpus.len() as f64 / 2.0 },
        ..Scripted::ok(1.0, takes_s)
    })
}

#[test]
fn a_study_of_which_others_leave_nothing_ends_within_a_minute_and_says_so() {
    let plan = plan(&request(Counts::Default));
    for (takes_s, attempts, seconds) in [
        // Many short blocks: until the patience is at its end.
        (0.5, 45, 45.0),
        // Three attempts at a block, or six runs of it, whatever comes first.
        (7.0, 4, 49.0),
        (9.0, 3, 54.0),
    ] {
        let mut machine = machine(busy(takes_s, |_| false));
        let mut ends = Ends::default();
        let finished = engine::run(fresh(&plan), &mut machine, &mut ends).expect("study");
        assert_eq!(finished.stopped, StoppedBecause::Busy, "{takes_s} s");
        let tried = finished.readings.iter().filter(|reading| reading.phase == Phase::Study);
        let tried: std::collections::BTreeSet<_> =
            tried.map(|reading| (reading.block, reading.attempt)).collect();
        assert_eq!(tried.len(), attempts, "{takes_s} s");
        let study = finished.readings.iter().filter(|r| r.phase == Phase::Study).count();
        assert!((study as f64 * takes_s - seconds).abs() <= takes_s, "{takes_s} s: {study} runs");
        let summary = coretwin_stats::study::analyse(&plan, &finished.readings, finished.stopped);
        assert_eq!(
            summary.sentences,
            [format!(
                "This machine is too busy to say: {attempts} of {attempts} attempts at a block \
                 were set aside because others used 50 % of the CPUs."
            )]
        );
        // It was the machine: now it is quiet, and the same study goes on to its end.
        let quiet = run(&plan, finished.readings, &mut support::machine(faster_by(1.2, 0.004)));
        assert_eq!(quiet.expect("resumed").stopped, StoppedBecause::Target);
    }
}

#[test]
fn one_block_that_is_kept_is_enough_to_go_on_and_what_is_left_follows_from_what_is_kept() {
    let plan = plan(&Request { budget_s: 300.0, ..request(Counts::Default) });
    // Of the warm-up and the first block nothing is disturbed, of the others everything.
    let mut machine = machine(busy(1.0, |run| run < 3));
    let mut ends = Ends::default();
    let finished = engine::run(fresh(&plan), &mut machine, &mut ends).expect("study");
    assert_eq!(finished.stopped, StoppedBecause::Budget);
    assert_eq!(ends.0[0], (Some(7.0 * 2.0), false), "seven of eight blocks are missing");
    for (index, (left_s, set_aside)) in ends.0.iter().enumerate().skip(1) {
        let attempts = index as f64 + 1.0;
        let by_kept = 7.0 * attempts * 2.0;
        let by_budget = 300.0 - 1.0 - attempts * 2.0;
        assert_eq!((*left_s, *set_aside), (Some(by_kept.min(by_budget)), true), "{index}");
    }
}

#[test]
fn a_screening_takes_a_busy_machine_as_it_is() {
    let plan = plan(&Request { protocol: Protocol::Quick, ..request(Counts::Default) });
    let finished = run(&plan, Vec::new(), &mut machine(busy(30.0, |_| false))).expect("study");
    assert_eq!(finished.stopped, StoppedBecause::Blocks);
    let summary = coretwin_stats::study::analyse(&plan, &finished.readings, finished.stopped);
    assert_eq!(summary.blocks, 3);
}

fn variant(name: &str, argv: &[&str]) -> Variant {
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    Variant { name: name.to_owned(), argv, ..Variant::default() }
}

/// Two commands at two values of a parameter.
fn of_commands(arms: &[&str]) -> Request {
    let mut asked = with_arms(arms, Counts::Default);
    if let Subject::Command { spec, variants, parameters, .. } = &mut asked.subject {
        spec.prepare = Some("make {n} {variant}".to_owned());
        *variants = vec![variant("old", &["./old", "{n}"]), variant("new", &["./new", "{n}"])];
        *parameters = vec![("n".to_owned(), vec!["1".to_owned(), "2".to_owned()])];
    }
    Request { protocol: Protocol::Fixed, blocks: Some(2), ..asked }
}

#[test]
fn every_command_runs_in_every_arm_with_its_parameters_filled_in() {
    let plan = plan(&of_commands(&["one-per-core", "on"]));
    plan.check().expect("a sound plan");
    let labels: Vec<&str> = plan.arms.iter().map(|arm| &*arm.label).collect();
    assert_eq!(labels, ["one-per-core/old", "one-per-core/new", "on/old", "on/new"]);
    let against: Vec<_> = plan.arms.iter().map(|arm| arm.against.as_deref()).collect();
    assert_eq!(against, [None, None, None, Some("on/old")]);
    let rows: Vec<&str> = plan.rows.iter().map(|row| &*row.id).collect();
    assert_eq!(rows, ["command:n=1", "command:n=2"]);
    let script: Script = Box::new(|job, _| {
        let Work::Command(spec) = &job.work else { panic!("{job:?}") };
        let [program, n] = spec.argv.as_slice() else { panic!("{spec:?}") };
        let name = job.arm.rsplit('/').next().expect("a name");
        assert_eq!(program, &format!("./{name}"));
        assert_eq!(spec.prepare.as_deref(), Some(&*format!("make {n} {name}")));
        let seconds = n.parse::<f64>().expect("a number") * if name == "new" { 0.5 } else { 1.0 };
        Scripted::ok(seconds, seconds)
    });
    let finished = run(&plan, Vec::new(), &mut machine(script)).expect("study");
    let warmed: Vec<&str> = finished.readings[..8].iter().map(|reading| &*reading.arm).collect();
    assert!(finished.readings[..8].iter().all(|reading| reading.phase == Phase::Warmup));
    assert_eq!(warmed.iter().filter(|arm| **arm == "on/new").count(), 2, "each is warmed");
    assert_eq!(finished.readings.len(), 8 + 2 * 8);
    let summary = coretwin_stats::study::analyse(&plan, &finished.readings, finished.stopped);
    let of_new = summary.rows.iter().filter(|row| row.arm.ends_with("/new"));
    assert!(of_new.clone().all(|row| row.ratio.is_some_and(|ratio| (ratio - 2.0).abs() < 1e-12)));
    assert_eq!(of_new.count(), 4);
}

#[test]
fn commands_alone_need_no_siblings_and_say_nothing_of_smt() {
    let topology = Topology::regular(1, 4, 1);
    let asked = Request { control: true, warmup_runs: Some(3), ..of_commands(&[]) };
    let plan = planning::draw(&asked, "scripted", &topology).expect("plan");
    let labels: Vec<&str> = plan.arms.iter().map(|arm| &*arm.label).collect();
    assert_eq!(labels, ["old", "new", "old/again"]);
    assert!(plan.compares_commands_only() && plan.warnings.is_empty(), "{:?}", plan.warnings);
    let mut machine = ScriptedMachine::new(topology, faster_by(1.0, 0.0));
    let finished = run(&plan, Vec::new(), &mut machine).expect("study");
    let warmed = finished.readings.iter().filter(|one| one.phase == Phase::Warmup).count();
    assert_eq!(warmed, 3 * 2 * 3, "three runs of each row in each arm");
    let again = run(&plan, finished.readings[..7].to_vec(), &mut machine).expect("resumed");
    assert_eq!(again.readings.len(), finished.readings.len(), "a warm-up is gone on with");
    let control = &plan.arms[2];
    assert!(control.control && control.variant == plan.arms[0].variant);
}

#[test]
fn parameters_that_change_nothing_are_refused() {
    for (name, part) in [("m", "needs {m}"), ("arm", "already"), ("n", "twice")] {
        let mut asked = of_commands(&["on"]);
        if let Subject::Command { parameters, .. } = &mut asked.subject {
            parameters.push((name.to_owned(), vec!["1".to_owned()]));
        }
        let error = planning::draw(&asked, "scripted", &Topology::regular(1, 2, 2));
        let error = error.expect_err(name).to_string();
        assert!(error.contains(part), "{name}: {error}");
    }
}
