//! Warnings that follow from the readings.

use crate::fixture::{plan, readings, row};
use coretwin_base::study::command::CommandSpec;
use coretwin_base::study::plan::{CopyRule, Plan, Scale};
use coretwin_base::study::reading::Reading;
use coretwin_base::study::summary::StoppedBecause;
use coretwin_base::warning::Warning;
use coretwin_stats::study::analyse;
use std::sync::Arc;

fn quiet(plan: &Plan, blocks: u32) -> Vec<Reading> {
    readings(plan, blocks, |block, arm, _| 1.0 + 0.001 * f64::from((block * 3 + arm as u32) % 5))
}

fn warnings(plan: &Plan, readings: &[Reading]) -> Vec<Warning> {
    analyse(plan, readings, StoppedBecause::Target).warnings
}

fn text_of(warnings: &[Warning], kind: &str) -> Option<String> {
    warnings.iter().find(|warning| warning.kind == kind).map(|warning| warning.text.clone())
}

#[test]
fn a_quiet_study_has_none_but_those_of_its_plan() {
    let mut plan = plan(&[row("job", "command")]);
    assert_eq!(warnings(&plan, &quiet(&plan, 12)), []);
    let known = Warning::new("topology-hidden", "no siblings", "none");
    plan.warnings.push(known.clone());
    assert_eq!(warnings(&plan, &quiet(&plan, 12)), [known]);
}

#[test]
fn a_command_of_one_thread_in_arms_that_differ_in_threads() {
    let mut plan = plan(&[row("job", "command")]);
    let command = |words: &[&str]| {
        let argv = words.iter().map(|word| (*word).to_owned()).collect();
        Some(CommandSpec { argv, ..CommandSpec::default() })
    };
    plan.command = command(&["./job"]);
    let used = |plan: &Plan, share: f64| {
        let mut all = quiet(plan, 12);
        all.iter_mut().for_each(|it| it.user_s = share * it.elapsed_s);
        text_of(&warnings(plan, &all), "one-cpu")
    };
    let text = used(&plan, 1.02).expect("a warning");
    assert!(text.contains("1.0 CPUs busy at most") && text.contains("in arm on"), "{text}");
    assert_eq!(used(&plan, 1.7), None, "it counts CPUs itself");
    plan.command = command(&["./job", "-t{threads}"]);
    assert_eq!(used(&plan, 1.02), None, "it is told");
    plan.command = command(&["./job"]);
    plan.rows[0].copies = CopyRule::PerCpu;
    assert_eq!(used(&plan, 1.02), None, "one runs on each CPU");
}

#[test]
fn few_blocks() {
    let plan = plan(&[row("job", "command")]);
    let text = text_of(&warnings(&plan, &quiet(&plan, 5)), "few-blocks");
    assert!(text.expect("a warning").contains('5'));
}

#[test]
fn drift_of_the_machine() {
    let plan = plan(&[row("steady", "f"), row("drifting", "f")]);
    let mut all = quiet(&plan, 20);
    for reading in all.iter_mut().filter(|r| r.row == "drifting") {
        reading.value = reading.value.map(|value| value * (1.0 + 0.004 * f64::from(reading.block)));
    }
    let text = text_of(&warnings(&plan, &all), "drift").expect("a warning");
    assert!(text.contains("drifting") && text.contains("+7."), "{text}");
    // The same drift over fewer blocks stays inside the margin.
    all.retain(|reading| reading.block < 4);
    assert_eq!(text_of(&warnings(&plan, &all), "drift"), None);
}

/// Counters of a run of one CPU second: so many GHz, and two instructions every three cycles.
fn count(reading: &mut Reading, prefix: &str, ghz: f64) {
    let cycles = ghz * 1e9;
    let metric = |(name, value): (&str, f64)| {
        let (unit, better) = (String::new(), coretwin_base::study::reading::Better::Lower);
        (format!("{prefix}{name}"), coretwin_base::study::reading::Metric { value, unit, better })
    };
    let counted = [
        ("cycles", cycles),
        ("reference_cycles", 2e9),
        ("instructions", cycles / 1.5),
        ("llc_misses", cycles / 1500.0),
    ];
    reading.metrics = Arc::new(counted.map(metric).into());
}

#[test]
fn an_arm_at_another_clock() {
    let plan = plan(&[row("job", "command")]);
    let text = |on: f64, prefix: &str| {
        let mut all = quiet(&plan, 8);
        all.iter_mut().for_each(|r| count(r, prefix, if r.arm == "on" { on } else { 3.0 }));
        // A run that failed or was set aside tells nothing.
        count(&mut all[0], prefix, 99.0);
        all[0].status = coretwin_base::study::reading::Status::SetAside;
        (coretwin_stats::study::counted(&plan, &all), text_of(&warnings(&plan, &all), "clock"))
    };
    let (counted, said) = text(2.7, "");
    assert_eq!((counted[0].runs, counted[1].runs), (7, 8));
    let near = |value: Option<f64>, expected: f64| (value.unwrap_or(0.0) - expected).abs() < 1e-9;
    assert!(near(counted[0].ghz, 3.0) && near(counted[1].ghz, 2.7), "{counted:?}");
    assert!(near(counted[1].of_base, 1.35) && near(counted[1].instructions_per_cycle, 2.0 / 3.0));
    assert!(near(counted[1].misses_per_thousand, 1.0));
    let said = said.expect("a warning");
    assert!(said.contains("11.1 % faster in arm one-per-core than in arm on"), "{said}");
    // Within the margin it is nothing; in user mode alone there is the base clock to go by.
    assert_eq!(text(2.95, "").1, None);
    let (counted, said) = text(2.7, "user_");
    assert_eq!(counted[0].ghz, None);
    assert!(said.is_some_and(|said| said.contains("11.1 %")));
}

#[test]
fn stolen_time() {
    let plan = plan(&[row("job", "command")]);
    let mut all = quiet(&plan, 8);
    for reading in all.iter_mut().filter(|r| r.arm == "on") {
        // 0.24 s of 8 CPUs during 1 s.
        reading.steal_s = 0.24;
    }
    let text = text_of(&warnings(&plan, &all), "steal").expect("a warning");
    assert!(text.contains("3.0 %") && text.contains("arm on"), "{text}");
}

#[test]
fn stolen_time_of_one_arm() {
    let plan = plan(&[row("job", "command")]);
    let stolen = |most: f64| {
        let mut all = quiet(&plan, 12);
        for reading in all.iter_mut().filter(|r| r.arm == "on") {
            // Up to so much of 8 CPUs during 1 s, another share in each block.
            reading.steal_s = most * (0.6 + 0.1 * f64::from(reading.block % 5));
        }
        text_of(&warnings(&plan, &all), "steal-by-arm")
    };
    let text =
        "the hypervisor took 0.8 % of the CPU time of on and 0.0 % of the CPU time of one-per-core";
    assert_eq!(stolen(0.08).as_deref(), Some(text));
    assert_eq!(stolen(0.008), None, "a tenth of a percent moves nothing");
    // As much from one arm as from the other.
    let mut all = quiet(&plan, 12);
    for reading in &mut all {
        let cpus = if reading.arm == "on" { 8.0 } else { 4.0 };
        reading.steal_s = cpus * 0.005 * f64::from((reading.seq as u32 * 7) % 5);
    }
    assert_eq!(text_of(&warnings(&plan, &all), "steal-by-arm"), None);
}

/// Values of twelve blocks and six rows in this order of arms, in which `slow(block, arm, row)` took
/// so many times as long.
fn with_slow(slow: impl Fn(u32, usize, usize) -> f64) -> (Plan, Vec<Reading>) {
    let rows: Vec<_> = (0..6).map(|index| row(&format!("row{index}"), "f")).collect();
    let plan = plan(&rows);
    let all = readings(&plan, 12, |block, arm, row| {
        let ripple = 0.001 * f64::from((block * 3 + arm as u32 + row as u32 * 4) % 7);
        (1.0 + ripple) * slow(block, arm, row)
    });
    (plan, all)
}

#[test]
fn slow_runs_of_one_arm() {
    // One row in each block but the first two, in the arm `on`.
    let one_arm = |arm| move |b: u32, a, r| if a == arm && b > 1 && r == 0 { 1.2 } else { 1.0 };
    for (arm, other, label) in [(1, "one-per-core", "on"), (0, "on", "one-per-core")] {
        let rare = |b: u32, a, r| one_arm(arm)(b, a, (r + b as usize) % 6);
        let (plan, all) = with_slow(rare);
        let text = text_of(&warnings(&plan, &all), "one-armed-outliers").expect("a warning");
        let wanted = format!(
            "{label} was far worse than usual beside {other} in 10 of 72 comparisons of a row in a \
             block, {other} beside {label} in 0 (p = 0.002)"
        );
        assert_eq!(text, wanted);
    }
    let (plan, all) = with_slow(|b, a, r| if a == b as usize % 2 && r == 0 { 1.2 } else { 1.0 });
    assert_eq!(text_of(&warnings(&plan, &all), "one-armed-outliers"), None, "both arms alike");
}

#[test]
fn what_an_arm_leaves_to_the_next() {
    // By the order of the fixture, ABBA, each arm follows itself in every second block.
    let after = |arm: usize| {
        move |b: u32, a: usize, _| {
            let is_first = a == b as usize % 2;
            let before = if is_first { a } else { 1 - a };
            if (b > 0 || !is_first) && before == arm { 1.02 } else { 1.0 }
        }
    };
    for (arm, worse, better) in [(1, "on", "one-per-core"), (0, "one-per-core", "on")] {
        let (plan, all) = with_slow(after(arm));
        let text = text_of(&warnings(&plan, &all), "carry-over").expect("a warning");
        let start = format!("runs after {worse} were 2.0 % worse than after {better} (p = 0.000)");
        assert_eq!(text, start);
    }
    let (plan, all) = with_slow(|_, _, _| 1.0);
    assert_eq!(text_of(&warnings(&plan, &all), "carry-over"), None);
}

#[test]
fn checks_that_did_not_hold() {
    let plan = plan(&[row("job", "command")]);
    let mut all = quiet(&plan, 8);
    all[3].checks = Arc::new([("messages".to_owned(), false)].into());
    all[4].checks = Arc::new([("messages".to_owned(), true)].into());
    let text = text_of(&warnings(&plan, &all), "check").expect("a warning");
    assert!(text.contains("'messages'") && text.contains("1 run"), "{text}");
}

#[test]
fn one_arm_mostly_first() {
    let plan = plan(&[row("job", "command")]);
    let mut all = quiet(&plan, 10);
    assert_eq!(text_of(&warnings(&plan, &all), "order"), None);
    for reading in &mut all {
        reading.seq = u64::from(reading.block) * 2 + u64::from(reading.arm == "one-per-core");
    }
    let text = text_of(&warnings(&plan, &all), "order").expect("a warning");
    assert!(text.contains("on ran before one-per-core in 10"), "{text}");
}

#[test]
fn what_workloads_warn_of_is_said_once() {
    let plan = plan(&[row("sync", "f"), row("plain", "f"), row("other", "f")]);
    let mut all = quiet(&plan, 8);
    for reading in all.iter_mut().filter(|r| r.row != "other") {
        let notes = [("warning", "in memory"), ("file_system", "tmpfs")];
        let notes = notes.map(|(name, note)| (name.to_owned(), note.to_owned()));
        reading.notes = Arc::new(notes.into());
    }
    let found = warnings(&plan, &all);
    let texts: Vec<&str> = found.iter().map(|warning| warning.text.as_str()).collect();
    assert_eq!(texts, ["sync, plain: in memory"]);
}

#[test]
fn values_of_a_size_that_nothing_has_are_named_and_not_compared() {
    for (scale, sizes) in [(Scale::Ratio, [1e308, 1e-308]), (Scale::Raw, [1e308, -1e308])] {
        let mut plan = plan(&[row("job", "command")]);
        plan.rows[0].scale = scale;
        let all = readings(&plan, 8, |_, arm, _| sizes[arm]);
        let summary = analyse(&plan, &all, StoppedBecause::Target);
        assert_eq!((summary.rows[0].ratio, summary.rows[0].verdict), (None, None));
        assert!(summary.sentences.iter().all(|said| !said.contains("inf")), "{summary:?}");
        let text = text_of(&summary.warnings, "failed").expect("a warning");
        assert!(text.contains("its value was 1e308, of a size that nothing has"), "{text}");
    }
    // The interval of two blocks far apart is a number too.
    let plan = plan(&[row("job", "command")]);
    let all = readings(&plan, 2, |block, arm, _| 1e30_f64.powi((block as usize + arm) as i32 % 2));
    let summary = analyse(&plan, &all, StoppedBecause::Target);
    assert!(summary.rows[0].high.is_some_and(f64::is_finite), "{:?}", summary.rows[0]);
}
