//! Warnings that follow from the readings.

use crate::fixture::{plan, readings, row};
use coretwin_base::plan::Plan;
use coretwin_base::reading::Reading;
use coretwin_base::summary::StoppedBecause;
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
