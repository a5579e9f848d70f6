//! Which readings count.

use crate::fixture::{plan, readings, row};
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Phase, Reading, Status};
use coretwin_base::study::summary::{StoppedBecause, Summary};
use coretwin_stats::study::analyse;

fn one_row() -> Plan {
    plan(&[row("job", "command")])
}

/// The arm takes 1 s, the reference 2 s; a slight ripple keeps the spread above 0.
fn twice_as_fast(plan: &Plan, blocks: u32) -> Vec<Reading> {
    readings(plan, blocks, |block, arm, _| {
        [2.0, 1.0][arm] * (1.0 + 0.001 * f64::from((block * 7 + arm as u32) % 5))
    })
}

fn summary(plan: &Plan, readings: &[Reading]) -> Summary {
    analyse(plan, readings, StoppedBecause::Target)
}

/// Runs block `block` again as attempt `attempt`, at `factor` times its values.
fn again(readings: &mut Vec<Reading>, block: u32, attempt: u32, factor: f64) {
    let repeated: Vec<Reading> = readings
        .iter()
        .filter(|reading| reading.block == block && reading.attempt == 0)
        .cloned()
        .collect();
    for mut reading in repeated {
        reading.attempt = attempt;
        reading.seq = readings.len() as u64;
        reading.value = reading.value.map(|value| value * factor);
        readings.push(reading);
    }
}

#[test]
fn warm_up_and_screening_take_no_part() {
    let plan = one_row();
    let mut all = twice_as_fast(&plan, 8);
    let clean = summary(&plan, &all);
    for phase in [Phase::Warmup, Phase::Screen] {
        let mut extra = all[0].clone();
        extra.phase = phase;
        extra.value = Some(1000.0);
        all.push(extra);
    }
    assert_eq!(summary(&plan, &all), clean);
}

#[test]
fn the_last_complete_attempt_of_a_block_counts() {
    let plan = one_row();
    let mut all = twice_as_fast(&plan, 8);
    let clean = summary(&plan, &all);
    // The first attempt was broken off after the reference; the second is complete.
    again(&mut all, 3, 1, 1.0);
    all.retain(|r| !(r.block == 3 && r.attempt == 0 && r.arm == "on"));
    for reading in all.iter_mut().filter(|r| r.block == 3 && r.attempt == 0) {
        reading.value = Some(77.0);
    }
    let repeated = summary(&plan, &all);
    assert_eq!(repeated.blocks, 8);
    assert_eq!(repeated.rows[0].ratio, clean.rows[0].ratio);
    assert_eq!(repeated.rows[0].blocks_set_aside, 0);

    // A broken-off attempt after a complete one does not replace it.
    let mut all = twice_as_fast(&plan, 8);
    let mut torn = all[0].clone();
    (torn.attempt, torn.value) = (1, Some(500.0));
    all.push(torn);
    assert_eq!(summary(&plan, &all).rows[0].ratio, clean.rows[0].ratio);

    // Of two complete ones the later counts, as if the earlier had never been.
    let mut all = twice_as_fast(&plan, 8);
    again(&mut all, 3, 1, 1.0);
    for reading in all.iter_mut().filter(|r| r.attempt == 1 && r.arm == "on") {
        reading.value = reading.value.map(|value| value * 3.0);
    }
    let later = summary(&plan, &all).rows[0].ratio;
    all.retain(|r| r.block != 3 || r.attempt == 1);
    assert_eq!(later, summary(&plan, &all).rows[0].ratio);
    assert_ne!(later, clean.rows[0].ratio);
}

#[test]
fn a_block_set_aside_is_replaced_counted_and_shown_beside() {
    let plan = one_row();
    let mut all = twice_as_fast(&plan, 20);
    let clean = summary(&plan, &all);
    // Block 5 was disturbed: its arm took ten times as long. The retry is good.
    again(&mut all, 5, 1, 1.0);
    for reading in all.iter_mut().filter(|r| r.block == 5 && r.attempt == 0 && r.arm == "on") {
        reading.status = Status::SetAside;
        reading.cause = Some("steal 40 %".into());
        reading.value = reading.value.map(|value| value * 10.0);
    }
    let kept = summary(&plan, &all);
    let row = &kept.rows[0];
    assert_eq!((kept.blocks, row.blocks, row.blocks_set_aside), (20, 20, 1));
    assert_eq!(row.ratio, clean.rows[0].ratio);
    // With it, the effect is 2·10^(−1/20).
    let with = row.ratio_all.expect("effect with the disturbed block");
    assert!((with / (row.ratio.expect("effect") * 0.1f64.powf(0.05)) - 1.0).abs() < 1e-12);
    assert!(row.low_all < row.low && row.high_all.is_some());
    assert!(clean.rows[0].ratio_all.is_none());
    // One of 21 attempts is below the tenth that is warned of.
    assert!(kept.warnings.iter().all(|warning| warning.kind != "set-aside"));
}

#[test]
fn a_block_whose_every_attempt_was_set_aside_is_lost() {
    let plan = one_row();
    let mut all = twice_as_fast(&plan, 10);
    for block in [2, 7] {
        again(&mut all, block, 1, 3.0);
        for reading in all.iter_mut().filter(|r| r.block == block && r.arm == "on") {
            reading.status = Status::SetAside;
        }
    }
    let summary = summary(&plan, &all);
    assert_eq!((summary.blocks, summary.rows[0].blocks_set_aside), (8, 4));
    let warning = summary.warnings.iter().find(|w| w.kind == "set-aside").expect("a warning");
    assert!(warning.text.contains("4 of 12") && warning.text.contains("2 block"), "{warning:?}");
}

#[test]
fn a_failed_cell_costs_its_own_row_one_block() {
    let plan = plan(&[row("a", "f"), row("b", "f")]);
    let mut all = twice_as_fast(&plan, 10);
    for reading in all.iter_mut().filter(|r| r.block == 4 && r.arm == "on" && r.row == "a") {
        reading.status = Status::Failed;
        reading.value = None;
        reading.cause = Some("exit status 9".into());
    }
    let summary = summary(&plan, &all);
    let [a, b] = [&summary.rows[0], &summary.rows[1]];
    assert_eq!((summary.blocks, a.blocks, a.failed, b.blocks, b.failed), (10, 9, 1, 10, 0));
    assert_eq!(summary.suites[0].blocks, 10);
    let warning = summary.warnings.iter().find(|w| w.kind == "failed").expect("a warning");
    assert!(warning.text.contains("exit status 9") && warning.text.contains("arm on"));
}

#[test]
fn a_row_that_fails_in_one_arm_is_a_result_without_a_verdict() {
    let plan = plan(&[row("a", "f"), row("b", "f")]);
    let mut all = twice_as_fast(&plan, 8);
    for reading in all.iter_mut().filter(|r| r.arm == "on" && r.row == "a") {
        reading.status = Status::Failed;
        reading.value = None;
    }
    let summary = summary(&plan, &all);
    let a = &summary.rows[0];
    assert_eq!((a.verdict, a.ratio, a.p_adjusted, a.failed), (None, None, None, 8));
    assert!(a.value_reference.is_some_and(|value| value > 1.9) && a.value_arm.is_none());
    assert_eq!((summary.suites[0].rows, summary.suites[0].blocks), (1, 8));
}

#[test]
fn values_that_have_no_ratio_are_failures_not_crashes() {
    let plan = one_row();
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut all = twice_as_fast(&plan, 8);
        all[0].value = Some(bad);
        let summary = summary(&plan, &all);
        assert_eq!((summary.rows[0].blocks, summary.rows[0].failed), (7, 1), "{bad}");
    }
}

#[test]
fn readings_of_one_block_arm_and_row_are_averaged_first() {
    let plan = one_row();
    let all = twice_as_fast(&plan, 8);
    // Two runs within the switch, a factor f above and below: the same geometric mean.
    let mut doubled = Vec::new();
    for reading in &all {
        for factor in [1.25, 0.8] {
            let mut run = reading.clone();
            run.seq = doubled.len() as u64;
            run.value = run.value.map(|value| value * factor);
            doubled.push(run);
        }
    }
    let (once, twice) = (summary(&plan, &all), summary(&plan, &doubled));
    assert_eq!(twice.blocks, 8);
    let difference = |a: Option<f64>, b: Option<f64>| (a.expect("a") / b.expect("b") - 1.0).abs();
    assert!(difference(once.rows[0].low, twice.rows[0].low) < 1e-12);
    assert!(difference(once.rows[0].high, twice.rows[0].high) < 1e-12);
}

#[test]
fn nothing_read_gives_an_empty_result() {
    let plan = one_row();
    let summary = summary(&plan, &[]);
    assert_eq!((summary.blocks, summary.rows.len(), summary.rows[0].ratio), (0, 1, None));
    assert!(summary.sentences[0].starts_with("No result"), "{:?}", summary.sentences);
    let mut stranger = readings(&plan, 1, |_, _, _| 1.0);
    stranger[0].arm = "elsewhere".into();
    stranger[1].row = "other".into();
    assert_eq!(analyse(&plan, &stranger, StoppedBecause::Error).blocks, 0);
}

/// Every run of the study twice, the second one that much longer.
fn doubled(readings: &[Reading], longer: f64) -> Vec<Reading> {
    let mut doubled = Vec::new();
    for reading in readings {
        for factor in [1.0, longer] {
            let mut run = reading.clone();
            run.seq = doubled.len() as u64;
            run.value = run.value.map(|value| value * factor);
            doubled.push(run);
        }
    }
    doubled
}

#[test]
fn runs_of_one_visit_count_as_one() {
    let mut plan = one_row();
    let clean = summary(&plan, &twice_as_fast(&plan, 8));
    plan.rules.repeats = 2;
    let all = doubled(&twice_as_fast(&plan, 8), 1.1);
    let row = &summary(&plan, &all).rows[0];
    assert_eq!(row.blocks, 8, "visits, not runs");
    for (now, before) in [
        (row.ratio, clean.rows[0].ratio),
        (row.low, clean.rows[0].low),
        (row.high, clean.rows[0].high),
    ] {
        let (now, before) = now.zip(before).expect("numbers");
        assert!((now - before).abs() < 1e-9, "{now} {before}");
    }
}

#[test]
fn a_visit_with_a_run_missing_was_broken_off() {
    let mut plan = one_row();
    plan.rules.repeats = 2;
    let mut all = doubled(&twice_as_fast(&plan, 8), 1.1);
    let last = all.iter().rposition(|r| r.block == 5 && r.arm == "on").expect("there");
    all.remove(last);
    assert_eq!(summary(&plan, &all).blocks, 7);
}

#[test]
fn of_two_boots_of_one_visit_the_later_counts() {
    let mut plan = one_row();
    plan.rules.repeats = 2;
    let mut all = doubled(&twice_as_fast(&plan, 4), 1.0);
    for reading in &mut all {
        let arm = u32::from(reading.arm == "on");
        reading.switch = 10 * (2 * reading.block + arm) + 5;
    }
    let clean = summary(&plan, &all);
    // A boot that broke down after one run, before the one that counts; far off, and set aside.
    let mut early = all.iter().find(|r| r.block == 2 && r.arm == "on").expect("there").clone();
    early.switch -= 1;
    early.seq = all.len() as u64;
    early.value = early.value.map(|value| value * 100.0);
    early.status = Status::SetAside;
    all.push(early);
    let with_it = summary(&plan, &all);
    assert_eq!((with_it.rows[0].ratio, with_it.blocks), (clean.rows[0].ratio, 4));
    let analysed = coretwin_stats::study::Analysed::new(&plan, &all);
    assert_eq!(all.iter().filter(|reading| analysed.includes(reading)).count(), 16);
}
