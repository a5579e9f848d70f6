//! Two studies compared: the numbers by hand, what is refused, what is said.

#[path = "study/fixture.rs"]
mod fixture;

use coretwin_base::machine::environment::{Environment, Facts, Moment, Session};
use coretwin_base::origin::Origin;
use coretwin_base::parameters::ParamValue;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::comparison::{Change, StudyComparison};
use coretwin_base::study::plan::{
    Comparison, Plan, PlanArm, PlanRow, Protocol, Rule, Scale, Variant,
};
use coretwin_base::study::reading::{Better, Reading};
use coretwin_base::study::summary::{Meaning, StoppedBecause};
use coretwin_stats::comparison::{NothingInCommon, StudyRecords, compare};
use coretwin_stats::confidence;
use coretwin_stats::student;

/// A study that can be changed before it is compared.
struct Made {
    plan: Plan,
    readings: Vec<Reading>,
    environment: Environment,
    stopped: StoppedBecause,
}

impl Made {
    /// A study of a fixed number of blocks; `value(block, arm, row)` is what they read.
    fn new(
        rows: &[PlanRow],
        blocks: u32,
        host: &str,
        value: impl FnMut(u32, usize, usize) -> f64,
    ) -> Self {
        let mut plan = fixture::plan(rows);
        plan.rules.protocol = Protocol::Fixed;
        plan.rules.looks = vec![blocks];
        let readings = fixture::readings(&plan, blocks, value);
        let stopped = StoppedBecause::Blocks;
        Self { environment: environment(&plan, host), plan, readings, stopped }
    }

    fn records(&self) -> StudyRecords<'_> {
        StudyRecords {
            folder: "folder",
            plan: &self.plan,
            readings: &self.readings,
            environment: &self.environment,
            stopped_because: self.stopped,
        }
    }
}

/// The environment of a host whose kernel is called like it.
fn environment(plan: &Plan, host: &str) -> Environment {
    let mut environment = Environment::default();
    environment.sessions.push(Session {
        started_utc: "2026-11-20T09:00:00Z".to_owned(),
        coretwin: "test".to_owned(),
        argv: Vec::new(),
        boot_id: host.to_owned(),
        host: host.to_owned(),
    });
    for arm in &plan.arms {
        let facts = Facts::from([
            ("cpu.model".to_owned(), "Example".to_owned()),
            ("cpu.0.governor".to_owned(), "performance".to_owned()),
            ("cpu.1.governor".to_owned(), "performance".to_owned()),
            ("kernel.release".to_owned(), format!("{host}-generic")),
            ("smt.control".to_owned(), arm.label.clone()),
        ]);
        let moment = Moment {
            facts: String::new(),
            arm: arm.label.clone(),
            at_utc: "2026-11-20T09:00:01Z".to_owned(),
            load_1min: 0.0,
            mhz: [].into(),
            mhz_permitted: [].into(),
            idle_us: [].into(),
        };
        environment.add(facts, moment);
    }
    environment
}

fn compared(a: &Made, b: &Made) -> StudyComparison {
    compare([&a.records(), &b.records()], None).expect("comparable")
}

fn kinds(comparison: &StudyComparison) -> Vec<&str> {
    comparison.warnings.iter().map(|warning| warning.kind.as_str()).collect()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + b.abs())
}

/// Some spread that is the same in every run.
fn wobble(block: u32, arm: usize, row: usize) -> f64 {
    let step = (block * 7 + arm as u32 * 3 + row as u32 * 5) % 11;
    1.0 + 0.002 * f64::from(step)
}

fn rows(names: &[&str]) -> Vec<PlanRow> {
    names.iter().map(|name| fixture::row(name, name.split('/').next().expect("a family"))).collect()
}

#[test]
fn the_interaction_is_welch_on_the_log_ratios_of_blocks() {
    let rows = rows(&["job"]);
    let a =
        Made::new(&rows, 8, "6.1", |block, arm, row| wobble(block, arm, row) * [10.0, 9.0][arm]);
    let b =
        Made::new(&rows, 12, "6.12", |block, arm, row| wobble(block, arm, row) * [10.0, 8.0][arm]);
    let comparison = compared(&a, &b);
    let by_hand = |made: &Made| {
        let value = |block: u32, arm: &str| {
            let is = |r: &&Reading| r.block == block && r.arm == *arm;
            made.readings.iter().find(is).and_then(|r| r.value).expect("value").ln()
        };
        let blocks = made.plan.rules.looks[0];
        let logs: Vec<f64> =
            (0..blocks).map(|block| value(block, "one-per-core") - value(block, "on")).collect();
        let mean = logs.iter().sum::<f64>() / f64::from(blocks);
        let squares: f64 = logs.iter().map(|log| (log - mean) * (log - mean)).sum();
        let variance = squares / f64::from(blocks - 1) / f64::from(blocks);
        (mean, variance, f64::from(blocks - 1))
    };
    let ((mean_a, va, na), (mean_b, vb, nb)) = (by_hand(&a), by_hand(&b));
    let degrees = (va + vb) * (va + vb) / (va * va / na + vb * vb / nb);
    let half = student::critical(confidence::CONFIDENCE, degrees) * (va + vb).sqrt();
    let interaction = &comparison.effects[0].interaction;
    assert!(close(interaction.ratio.expect("ratio"), (mean_b - mean_a).exp()));
    assert!(close(interaction.low.expect("low"), (mean_b - mean_a - half).exp()));
    assert!(close(interaction.high.expect("high"), (mean_b - mean_a + half).exp()));
    assert!(close(interaction.degrees.expect("degrees"), degrees));
    assert_eq!(interaction.change, Some(Change::Better));
    assert_eq!(comparison.studies.each_ref().map(|study| study.head.as_str()), ["6.1", "6.12"]);
    assert!(comparison.sentences[0].contains("does more for job in 6.12 than in 6.1 (BETTER)"));

    let back = compared(&b, &a);
    let back = &back.effects[0].interaction;
    assert!(close(back.ratio.expect("ratio") * interaction.ratio.expect("ratio"), 1.0));
    assert_eq!(back.change, Some(Change::Worse));
    assert!(back.is_regression(confidence::CONFIDENCE));
}

#[test]
fn each_side_is_that_of_its_own_report() {
    let rows = rows(&["chat/a", "chat/b", "lmbench/c"]);
    let a = Made::new(&rows, 8, "6.1", |b, arm, row| wobble(b, arm, row) * [3.0, 2.0][arm]);
    let b = Made::new(&rows, 9, "6.12", |b, arm, row| wobble(b, arm, row) * [3.0, 1.9][arm]);
    let comparison = compared(&a, &b);
    for (index, made) in [&a, &b].into_iter().enumerate() {
        let own = coretwin_stats::study::analyse(&made.plan, &made.readings, made.stopped);
        for (line, own) in comparison.effects.iter().zip(&own.rows) {
            assert_eq!(&line.effects[index], own);
        }
        assert_eq!(comparison.suites.len(), own.suites.len());
        for (line, own) in comparison.suites.iter().zip(&own.suites) {
            assert_eq!(&line.effects[index], own);
        }
    }
}

#[test]
fn open_ended_studies_have_wider_intervals() {
    let rows = rows(&["job"]);
    let made = |host: &str, arm: f64| {
        Made::new(&rows, 12, host, |block, a, row| wobble(block, a, row) * [10.0, arm][a])
    };
    let (a, mut b) = (made("6.1", 9.0), made("6.12", 8.9));
    let width = |comparison: StudyComparison| {
        let contrast = &comparison.effects[0].interaction;
        (contrast.high.expect("high") / contrast.low.expect("low")).ln()
    };
    let plain = width(compared(&a, &b));
    b.plan.rules.protocol = Protocol::Modern;
    b.plan.rules.looks = vec![8, 12];
    let one = width(compared(&a, &b));
    let mut a = a;
    a.plan.rules.protocol = Protocol::Modern;
    a.plan.rules.looks = vec![8, 12];
    let both = width(compared(&a, &b));
    assert!(plain < one && one < both && close(both / plain, 1.18), "{plain} {one} {both}");
}

#[test]
fn rows_that_can_be_zero_are_compared_by_difference_of_differences() {
    let mut row = fixture::row("overhead", "lmbench");
    (row.scale, row.unit) = (Scale::Raw, "us".to_owned());
    let rows = [row];
    let a = Made::new(&rows, 8, "6.1", |b, arm, _| [2.0, 1.0][arm] + 0.01 * f64::from(b % 3));
    let b = Made::new(&rows, 8, "6.12", |b, arm, _| [2.5, 2.1][arm] + 0.01 * f64::from(b % 3));
    let comparison = compared(&a, &b);
    // On makes it 1.0 us less there, 0.4 us less here: 0.6 us worse.
    let interaction = &comparison.effects[0].interaction;
    assert!(close(interaction.ratio.expect("difference"), -0.6));
    assert_eq!(interaction.change, Some(Change::Worse));
    assert!(close(comparison.values[0].contrast.ratio.expect("difference"), -0.5));
    assert!(close(comparison.values[1].contrast.ratio.expect("difference"), -1.1));
    assert!(comparison.suites.is_empty(), "it has no ratio, so it is in no suite");
    assert!(
        comparison.sentences[0].contains("−0.600 us between them"),
        "{:?}",
        comparison.sentences
    );
}

#[test]
fn values_are_compared_arm_by_arm_and_turned_so_that_more_is_better() {
    let mut rows = rows(&["time", "rate"]);
    (rows[1].better, rows[1].unit) = (Better::Higher, "1/s".to_owned());
    let a = Made::new(&rows, 8, "6.1", |b, arm, row| wobble(b, arm, row) * 10.0);
    // Off takes and gives 20 % more, on is as it was.
    let b = Made::new(&rows, 8, "6.12", |b, arm, row| wobble(b, arm, row) * [12.0, 10.0][arm]);
    let comparison = compared(&a, &b);
    let line = |name: &str, arm: &str| {
        comparison.values.iter().find(|v| v.name == name && v.arm == arm).expect("a line")
    };
    let change = |name: &str, arm: &str| line(name, arm).contrast.ratio.expect("a ratio");
    assert!(close(change("time", "one-per-core"), 1.0 / 1.2));
    assert!(close(change("rate", "one-per-core"), 1.2));
    assert!(close(change("time", "on"), 1.0) && close(change("rate", "on"), 1.0));
    let [before, after] = line("time", "one-per-core").values.map(|value| value.expect("a value"));
    assert!(close(after / before, 1.2));
    assert!(line("time", "one-per-core").contrast.is_regression(comparison.confidence));
    assert_eq!(line("time", "on").contrast.change, Some(Change::NoMaterialChange));
    let all = comparison.value_suites.iter().find(|v| v.name == "all" && v.arm == "one-per-core");
    assert!(close(all.expect("suite").contrast.ratio.expect("ratio"), 1.0));
    let told = comparison.sentences.last().expect("a sentence");
    assert!(told.contains("not that between boots"), "{told}");
}

#[test]
fn only_what_both_have_is_compared_whatever_its_order() {
    let a_rows = rows(&["chat/a", "chat/b", "lmbench/c", "lmbench/unit"]);
    let mut b_rows = rows(&["lmbench/unit", "chat/b", "extra/d", "chat/a"]);
    b_rows[0].unit = "ms".to_owned();
    let value = |rows: &[PlanRow], row: usize, arm: usize| match (rows[row].id.as_str(), arm) {
        ("chat/a", 0) => 10.0,
        ("chat/a", _) => 8.0,
        _ => 5.0,
    };
    let a =
        Made::new(&a_rows, 8, "6.1", |b, arm, row| wobble(b, arm, row) * value(&a_rows, row, arm));
    let mut b =
        Made::new(&b_rows, 8, "6.12", |b, arm, row| wobble(b, arm, row) * value(&b_rows, row, arm));
    // The second study has its arms the other way round, and one more.
    b.plan.arms.push(fixture::arm("half", ArmState::OnCores, 2));
    b.plan.reference_arm = "on".to_owned();
    let more: Vec<Reading> = b
        .readings
        .iter()
        .filter(|reading| reading.arm == "on")
        .map(|reading| Reading { arm: "half".into(), seq: reading.seq + 1000, ..reading.clone() })
        .collect();
    b.readings.extend(more);
    let comparison = compared(&a, &b);
    assert_eq!(comparison.reference_arm, "one-per-core");
    let names: Vec<&str> =
        comparison.effects.iter().map(|line| line.effects[0].row.as_str()).collect();
    assert_eq!(names, ["chat/a", "chat/b"]);
    for line in &comparison.effects {
        assert_eq!(line.effects[0].row, line.effects[1].row);
        assert!((line.interaction.ratio.expect("ratio") - 1.0).abs() < 0.02);
    }
    let [first, second] = &comparison.studies;
    assert_eq!(first.rows_only, ["lmbench/c", "lmbench/unit"]);
    assert_eq!(second.rows_only, ["lmbench/unit", "extra/d"]);
    assert_eq!((first.arms_only.len(), second.arms_only[0].as_str()), (0, "half"));
    assert_eq!(comparison.suites.len(), 1, "one family in common");
    assert_eq!(comparison.suites[0].effects[1].rows, 2);
    let kinds = kinds(&comparison);
    assert!(kinds.contains(&"unit-differs") && kinds.contains(&"reference-differs"), "{kinds:?}");
}

#[test]
fn nothing_in_common_is_an_error_that_says_what_there_is() {
    let made = |name: &str| Made::new(&rows(&[name]), 2, "6.1", |_, _, _| 1.0);
    let (a, mut b) = (made("chat"), made("dbench"));
    let error = |a: &Made, b: &Made| -> NothingInCommon {
        compare([&a.records(), &b.records()], None).expect_err("nothing in common")
    };
    let text = error(&a, &b).to_string();
    assert!(text.contains("no row") && text.contains("chat (s)") && text.contains("dbench (s)"));
    b = made("chat");
    for arm in &mut b.plan.arms {
        arm.label.push('2');
    }
    b.plan.reference_arm.push('2');
    let text = error(&a, &b).to_string();
    assert!(text.contains("no arm") && text.contains("on2"), "{text}");
}

#[test]
fn other_kinds_of_arms_get_numbers_and_no_verdict() {
    let rows = rows(&["job"]);
    let made = |host: &str| {
        Made::new(&rows, 8, host, |b, arm, row| wobble(b, arm, row) * [10.0, 8.0][arm])
    };
    let (mut a, b) = (made("6.1"), made("6.12"));
    a.plan.comparison = Comparison::Smt;
    a.plan.arms[0].state = ArmState::Off;
    let comparison = compared(&a, &b);
    let kinds = kinds(&comparison);
    assert!(kinds.contains(&"comparison-kind") && kinds.contains(&"arm-differs"), "{kinds:?}");
    let line = &comparison.effects[0].interaction;
    assert!(line.low.is_some() && line.change.is_none());
    // The arm that is the same in both may be judged by itself.
    let change =
        |arm: &str| comparison.values.iter().find(|v| v.arm == arm).expect("line").contrast.change;
    assert_eq!((change("one-per-core"), change("on")), (None, Some(Change::NoMaterialChange)));
    assert!(comparison.sentences[0].ends_with("no verdict."), "{:?}", comparison.sentences);
}

#[test]
fn a_study_compared_with_itself_says_so_and_decides_nothing() {
    let a = Made::new(&rows(&["job"]), 8, "6.1", wobble);
    let comparison = compared(&a, &a);
    assert_eq!(kinds(&comparison)[0], "same-study");
    assert_eq!(comparison.effects[0].interaction.change, None);
    assert_eq!(comparison.values[0].contrast.change, None);
    assert_eq!(comparison.studies.each_ref().map(|study| study.head.as_str()), ["A", "B"]);
}

#[test]
fn what_makes_studies_unlike_is_said() {
    let rows = rows(&["job"]);
    let made = |host: &str| Made::new(&rows, 8, host, wobble);
    let (a, mut b) = (made("6.1"), made("6.12"));
    b.plan.rules.margin = 0.05;
    b.plan.rows[0].params.insert("rooms".to_owned(), ParamValue::Int(3));
    b.plan.arms[1].threads = 16;
    b.stopped = StoppedBecause::Interrupted;
    b.readings.retain(|reading| reading.block < 5);
    let comparison = compared(&a, &b);
    assert_eq!(
        kinds(&comparison),
        ["work-differs", "unfinished", "few-blocks", "arm-size", "margin-differs"]
    );
    assert!(comparison.warnings[0].text.contains("job (other parameters)"));
    assert_eq!(comparison.effects[0].interaction.change, None, "other work, no verdict");
    assert!((comparison.margin - 0.05).abs() < 1e-12);
    let mine = compare([&a.records(), &b.records()], Some(0.01)).expect("comparable");
    assert!((mine.margin - 0.01).abs() < 1e-12);
}

#[test]
fn each_study_has_its_rule_and_one_that_stopped_at_its_verdict_is_named() {
    let mut a =
        Made::new(&rows(&["work"]), 12, "a", |block, arm, row| 10.0 + wobble(block, arm, row));
    let b = Made::new(&rows(&["work"]), 12, "b", |block, arm, row| 10.0 + wobble(block, arm, row));
    a.plan.rules.until = Rule::Verdict;
    let comparison = compared(&a, &b);
    let meanings = comparison.studies.each_ref().map(|study| (study.rule, study.meaning));
    let wanted = [(Rule::Verdict, Meaning::BeyondMargin), (Rule::Width, Meaning::ExcludesNone)];
    assert_eq!(meanings, wanted);
    assert_eq!(comparison.meaning, Meaning::ExcludesNone, "of the changes");
    let named = comparison.warnings.iter().find(|warning| warning.kind == "until-verdict");
    assert!(named.expect("a warning").text.contains(": a"), "{named:?}");
    assert!(!kinds(&compared(&b, &b)).contains(&"until-verdict"));
}

#[test]
fn facts_that_differ_are_told_foremost_first_and_arms_of_a_study_may_differ() {
    let rows = rows(&["job"]);
    let made = |host: &str| Made::new(&rows, 8, host, wobble);
    let (a, mut b) = (made("6.1"), made("6.12"));
    for facts in b.environment.facts.values_mut() {
        facts.insert("cpu.1.governor".to_owned(), "powersave".to_owned());
        facts.insert("libc".to_owned(), "glibc 2.41".to_owned());
    }
    let comparison = compared(&a, &b);
    let keys: Vec<&str> = comparison.facts.iter().map(|fact| fact.fact.as_str()).collect();
    assert_eq!(keys, ["kernel.release", "cpu.*.governor", "libc"]);
    assert_eq!(comparison.facts_same, 2, "the processor, and SMT by arm");
    assert_eq!(
        comparison.facts[1].values[1].as_deref(),
        Some("performance (CPU 0); powersave (CPU 1)")
    );
    assert_eq!(comparison.facts[2].values[0], None);
    assert!(!comparison.facts[2].foremost && comparison.facts[0].foremost);
    assert!(kinds(&comparison).contains(&"machines-differ"));
}

#[test]
fn failed_runs_take_their_blocks_from_their_own_row_and_study() {
    let rows = rows(&["chat/a", "chat/b"]);
    let made = |host: &str| {
        Made::new(&rows, 10, host, |b, arm, row| wobble(b, arm, row) * [10.0, 9.0][arm])
    };
    let (a, mut b) = (made("6.1"), made("6.12"));
    for reading in b.readings.iter_mut().filter(|r| r.row == "chat/b" && r.block < 7) {
        reading.value = None;
    }
    let comparison = compared(&a, &b);
    assert_eq!(comparison.effects[1].effects.each_ref().map(|effect| effect.blocks), [10, 3]);
    // In more than half of the blocks it failed, so in both studies the suite is without it.
    assert_eq!(comparison.suites[0].effects.each_ref().map(|suite| suite.rows), [1, 1]);
    b.readings.iter_mut().filter(|r| r.row == "chat/b").for_each(|r| r.value = None);
    let comparison = compared(&a, &b);
    assert_eq!(comparison.effects[1].interaction.ratio, None);
    assert_eq!(comparison.effects[1].interaction.change, None);
}

#[test]
fn a_prediction_beside_a_measurement_is_named_and_has_no_verdict() {
    let rows = rows(&["job"]);
    let made = |origin| {
        let value = |block, arm: usize, row| wobble(block, arm, row) * [10.0, 9.0][arm];
        let mut made = Made::new(&rows, 8, "6.1", value);
        made.plan.origin = Some(origin);
        made
    };
    let mut simulated = made(Origin::Simulated);
    simulated.plan.seed += 1;
    let comparison = compared(&made(Origin::Measured), &simulated);
    assert!(comparison.effects.iter().all(|line| line.interaction.change.is_none()));
    assert!(comparison.values.iter().all(|line| line.contrast.change.is_none()));
    let warning = comparison.warnings.iter().find(|warning| warning.kind == "origin");
    let text = &warning.expect("a warning").text;
    assert!(text.ends_with("is measured, B is simulated"), "{text}");
    assert!(comparison.sentences.iter().all(|text| !text.contains(&confidence::interval())));
}

/// Two commands in two arms; the second of each is a program of that name.
fn of_commands(second: &str) -> Made {
    let mut made = Made::new(&rows(&["job"]), 8, second, |_, _, _| 1.0);
    let arm = |label: &str, name: &str, against: Option<&str>| PlanArm {
        variant: Some(Variant { argv: vec![name.to_owned()], ..Variant::default() }),
        against: against.map(str::to_owned),
        ..fixture::arm(label, ArmState::On, 4)
    };
    made.plan.arms = vec![
        arm("a/old", "old", None),
        arm("a/new", second, None),
        arm("b/old", "old", None),
        arm("b/new", second, Some("b/old")),
    ];
    made.plan.reference_arm = "a/old".to_owned();
    let seconds = [8.0, 4.0, 2.0, 1.0];
    made.readings =
        fixture::readings(&made.plan, 8, |block, arm, row| seconds[arm] * wobble(block, arm, row));
    made
}

#[test]
fn studies_of_commands_are_compared_against_one_reference_and_by_the_same_commands() {
    let (first, other) = (of_commands("new"), of_commands("newer"));
    let comparison = compared(&first, &other);
    let of = |arm: &str| {
        let mut lines = comparison.effects.iter();
        lines.find(|line| line.effects[0].arm == arm).expect("an effect")
    };
    let ratio = of("b/new").effects[0].ratio.expect("a ratio");
    assert!((ratio - 8.0).abs() < 0.1, "against a/old, not b/old: {ratio}");
    assert!(of("b/old").interaction.change.is_some(), "{:?}", of("b/old"));
    assert_eq!(of("b/new").interaction.change, None, "another command is another question");
}
