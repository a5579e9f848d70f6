//! Effects, suites, adjusted p-values, verdicts, protocols.

use crate::fixture::{arm, plan, reading, readings, row};
use coretwin_base::simulation::Simulation;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::plan::{Plan, Protocol, Scale, Screening, ThreadRule};
use coretwin_base::study::reading::{Better, Phase, Reading};
use coretwin_base::study::summary::{StoppedBecause, Verdict};
use coretwin_stats::confidence::CONFIDENCE;
use coretwin_stats::study::{analyse, choose_threads};
use coretwin_stats::{orders, paired};
use std::collections::BTreeMap;

/// A ripple that differs between blocks, arms and rows and averages to about 0.
fn ripple(block: u32, arm: usize, row: usize) -> f64 {
    f64::from((block * 5 + arm as u32 * 3 + row as u32 * 2) % 7) / 1000.0 - 0.003
}

/// Values with that log effect in arm 1 (above 0: less time) around 10 s.
fn with_effects(plan: &Plan, blocks: u32, effects: &[f64]) -> Vec<Reading> {
    readings(plan, blocks, |block, arm, row| {
        let gain = if arm == 1 { effects[row] } else { 0.0 };
        10.0 * (ripple(block, arm, row) - gain).exp()
    })
}

#[test]
fn the_effect_is_the_mean_log_ratio_in_the_arms_favour() {
    let plan = plan(&[row("job", "command")]);
    let all = with_effects(&plan, 8, &[0.25]);
    let summary = analyse(&plan, &all, StoppedBecause::Target);
    let row = &summary.rows[0];
    let logs: Vec<f64> = (0..8).map(|b| ripple(b, 0, 0) - ripple(b, 1, 0) + 0.25).collect();
    let by_hand = paired::Paired::new(&logs).expect("eight");
    // Blocks were added until the interval was narrow: it is a quarter wider than Student's.
    let (low, high) = by_hand.interval(CONFIDENCE, 1.25).expect("interval");
    let same = |shown: Option<f64>, log: f64| (shown.expect("shown").ln() - log).abs() < 1e-12;
    assert!(same(row.ratio, by_hand.mean) && same(row.low, low) && same(row.high, high));
    assert!(same(row.hodges_lehmann, paired::hodges_lehmann(&logs).expect("estimate")));
    let quotient = row.value_reference.expect("a") / row.value_arm.expect("b");
    assert!(same(Some(quotient), by_hand.mean));
    assert_eq!((row.verdict, row.confidence), (Some(Verdict::Helps), CONFIDENCE));
    assert_eq!((row.threads, row.threads_reference), (8, 4));
}

#[test]
fn higher_is_better_turns_the_sign() {
    let mut plan = plan(&[row("rate", "chat")]);
    plan.rows[0].better = Better::Higher;
    let all = with_effects(&plan, 8, &[0.25]);
    let summary = analyse(&plan, &all, StoppedBecause::Target);
    assert_eq!(summary.rows[0].verdict, Some(Verdict::Hurts));
    assert!((summary.rows[0].ratio.expect("ratio").ln() + 0.25).abs() < 0.01);
}

#[test]
fn rows_on_the_raw_scale_are_compared_by_difference_and_stay_out_of_suites() {
    let mut plan = plan(&[row("overhead", "lmbench"), row("read", "lmbench")]);
    plan.rows[0].scale = Scale::Raw;
    let all = readings(&plan, 8, |block, arm, row| match row {
        // The reference hovers about 0 and is sometimes below it; the arm is 0.5 s slower.
        0 => 0.1 * f64::from(block % 3) - 0.1 + 0.5 * arm as f64,
        _ => 1.0 + ripple(block, arm, row),
    });
    let summary = analyse(&plan, &all, StoppedBecause::Target);
    let overhead = &summary.rows[0];
    assert!((overhead.ratio.expect("difference") + 0.5).abs() < 1e-12);
    assert_eq!((overhead.failed, overhead.verdict), (0, Some(Verdict::Hurts)));
    assert_eq!((summary.suites.len(), summary.suites[0].rows), (1, 1));
}

#[test]
fn families_weigh_equally_in_the_suite_over_all() {
    let plan = plan(&[row("c", "chat"), row("l1", "lmbench"), row("l2", "lmbench")]);
    let all = with_effects(&plan, 12, &[0.30, 0.0, 0.10]);
    let summary = analyse(&plan, &all, StoppedBecause::Blocks);
    let names: Vec<&str> = summary.suites.iter().map(|suite| suite.suite.as_str()).collect();
    assert_eq!(names, ["chat", "lmbench", "all"]);
    let log = |index: usize| summary.suites[index].ratio.expect("ratio").ln();
    assert!((log(1) - 0.05).abs() < 0.002, "{}", log(1));
    assert!((log(2) - f64::midpoint(log(0), log(1))).abs() < 1e-12);
    assert_eq!((summary.suites[2].rows, summary.suites[2].blocks), (3, 12));
    let all = &summary.suites[2];
    assert!(all.low < all.low_90 && all.high_90 < all.high);
}

#[test]
fn a_suite_of_complete_rows_is_students_t_on_block_means() {
    let plan = plan(&[row("a", "f"), row("b", "f")]);
    let all = with_effects(&plan, 10, &[0.02, 0.04]);
    let summary = analyse(&plan, &all, StoppedBecause::Target);
    let means: Vec<f64> = (0..10)
        .map(|b| {
            let d = |row| ripple(b, 0, row) - ripple(b, 1, row);
            f64::midpoint(d(0) + 0.02, d(1) + 0.04)
        })
        .collect();
    let (low, high) =
        paired::Paired::new(&means).and_then(|p| p.interval(CONFIDENCE, 1.25)).expect("interval");
    let suite = &summary.suites[0];
    assert!((suite.low.expect("low").ln() - low).abs() < 1e-12);
    assert!((suite.high.expect("high").ln() - high).abs() < 1e-12);
}

#[test]
fn a_suite_of_one_row_is_that_row_and_one_block_gives_no_verdict() {
    let plan = plan(&[row("job", "command")]);
    for (blocks, failing) in [(8, vec![1, 4]), (3, vec![2]), (2, vec![0])] {
        let mut all = with_effects(&plan, blocks, &[0.2]);
        for reading in &mut all {
            if failing.contains(&reading.block) && &*reading.arm == "on" {
                reading.value = None;
            }
        }
        let summary = analyse(&plan, &all, StoppedBecause::Blocks);
        let (row, suite) = (&summary.rows[0], &summary.suites[0]);
        assert_eq!(
            (suite.ratio, suite.low, suite.high, suite.blocks, suite.verdict),
            (row.ratio, row.low, row.high, row.blocks, row.verdict)
        );
        assert_eq!(suite.low.is_some(), row.blocks >= 2, "{blocks}");
        assert_eq!(suite.verdict.is_some(), row.blocks >= 2, "{blocks}");
    }
}

#[test]
fn what_a_simulated_machine_does_is_exact() {
    let mut plan = plan(&[row("job", "command")]);
    let all = readings(&plan, 8, |_, arm, _| [0.34, 0.33][arm]);
    let summary = analyse(&plan, &all, StoppedBecause::Blocks);
    assert_ne!(summary.rows[0].verdict, Some(Verdict::Helps), "a tick of 3 %");
    assert!(summary.warnings.iter().any(|warning| warning.kind == "resolution"));
    plan.simulation = Some(Box::new(Simulation {
        title: "a machine".to_owned(),
        is_articles: false,
        preset: None,
        fit: None,
        fitted_rows: BTreeMap::new(),
    }));
    let summary = analyse(&plan, &all, StoppedBecause::Blocks);
    assert_eq!(summary.rows[0].low, summary.rows[0].high);
    assert!(summary.warnings.iter().all(|warning| warning.kind != "resolution"));
}

#[test]
fn p_values_are_adjusted_over_the_rows_of_an_arm() {
    let plan = plan(&[row("a", "f"), row("b", "f"), row("c", "f")]);
    let all = with_effects(&plan, 8, &[0.0, 0.003, 0.2]);
    let summary = analyse(&plan, &all, StoppedBecause::Target);
    let raw: Vec<f64> = summary.rows.iter().map(|row| row.p.expect("p")).collect();
    let adjusted: Vec<f64> = summary.rows.iter().map(|row| row.p_adjusted.expect("p")).collect();
    assert_eq!(adjusted, coretwin_stats::holm::adjust(&raw));
    assert!(adjusted[2] > raw[2] && adjusted[2] < 1e-6);
}

#[test]
fn a_verdict_on_one_of_many_rows_follows_its_adjusted_p() {
    let rows: Vec<_> = (0..20).map(|index| row(&format!("row{index}"), "f")).collect();
    let mut plan = plan(&rows);
    // No difference is too small to matter.
    plan.rules.margin = 1e-6;
    let effects: Vec<f64> = (0..20).map(|index| 0.0005 * f64::from(index)).collect();
    let summary = analyse(&plan, &with_effects(&plan, 8, &effects), StoppedBecause::Target);
    let (mut only_raw, mut both) = (0, 0);
    for row in &summary.rows {
        let [raw, adjusted] = [row.p, row.p_adjusted].map(|p| p.expect("p") < 0.05);
        let is_said = matches!(row.verdict, Some(Verdict::Helps | Verdict::Hurts));
        assert_eq!(is_said, adjusted, "{} {:?}: p {:?}", row.row, row.verdict, row.p_adjusted);
        only_raw += u32::from(raw && !adjusted);
        both += u32::from(adjusted);
    }
    assert!(only_raw > 0 && both > 0, "{only_raw} {both}");
}

#[test]
fn each_arm_is_compared_with_the_reference() {
    let mut plan = plan(&[row("job", "command")]);
    plan.arms.push(arm("packed", ArmState::Packed, 4));
    let all = readings(&plan, 8, |block, arm, row| {
        10.0 * [1.0, 0.8, 1.5][arm] * ripple(block, arm, row).exp()
    });
    let summary = analyse(&plan, &all, StoppedBecause::Target);
    let verdicts: Vec<(&str, Option<Verdict>)> =
        summary.rows.iter().map(|row| (row.arm.as_str(), row.verdict)).collect();
    assert_eq!(verdicts, [("on", Some(Verdict::Helps)), ("packed", Some(Verdict::Hurts))]);
    assert_eq!((summary.suites.len(), summary.sentences.len()), (2, 2));
}

#[test]
fn a_screening_gives_intervals_but_no_verdict_and_one_block_not_even_those() {
    let mut plan = plan(&[row("job", "command")]);
    plan.rules.protocol = Protocol::Quick;
    plan.rules.looks = vec![3];
    let summary = analyse(&plan, &with_effects(&plan, 3, &[0.3]), StoppedBecause::Blocks);
    let row = &summary.rows[0];
    assert!(row.low.is_some() && row.verdict.is_none() && summary.suites[0].verdict.is_none());

    plan.rules.protocol = Protocol::Fixed;
    let summary = analyse(&plan, &with_effects(&plan, 1, &[0.3]), StoppedBecause::Blocks);
    let row = &summary.rows[0];
    assert!(row.ratio.is_some() && row.low.is_none() && row.p.is_none() && row.verdict.is_none());
}

#[test]
fn a_fixed_number_of_blocks_needs_no_wider_interval() {
    let mut plan = plan(&[row("job", "command")]);
    let all = with_effects(&plan, 12, &[0.1]);
    let width = |plan: &Plan| {
        let summary = analyse(plan, &all, StoppedBecause::Blocks);
        (summary.rows[0].high.expect("high") / summary.rows[0].low.expect("low")).ln()
    };
    let modern = width(&plan);
    plan.rules.protocol = Protocol::Fixed;
    plan.rules.looks = vec![12];
    assert!((modern / width(&plan) - 1.18).abs() < 1e-9, "the factor after twelve blocks");
}

#[test]
fn the_protocol_of_2003_prints_what_the_article_would() {
    let mut plan = plan(&[row("20", "chat"), row("30", "chat"), row("pipe", "lmbench")]);
    plan.rules.protocol = Protocol::Article2003;
    for row in &mut plan.rows[..2] {
        row.better = Better::Higher;
    }
    // Rates of Table 4; the runs scatter about them so that the means are the printed ones.
    let figures = [[164_071.0, 202_809.0], [151_530.0, 184_803.0], [11.16, 11.31]];
    let mut all = Vec::new();
    for arm in 0..2 {
        for (row, figure) in figures.iter().enumerate() {
            let scatter: &[f64] =
                if row == 2 { &[0.9, 1.0, 1.1] } else { &[0.8, 1.0, 1.25, 0.5, 2.0] };
            for (run, factor) in scatter.iter().enumerate() {
                let seq = all.len() as u64;
                all.push(reading(&plan, seq, run as u32, arm, row, figure[arm] * factor));
            }
        }
    }
    let summary = analyse(&plan, &all, StoppedBecause::Blocks);
    let percent = |ratio: Option<f64>| ((ratio.expect("ratio") - 1.0) * 100.0).round();
    let rows: Vec<f64> = summary.rows.iter().map(|row| percent(row.ratio)).collect();
    assert_eq!(rows, [24.0, 22.0, -1.0]);
    assert_eq!(summary.rows.iter().map(|row| row.blocks).collect::<Vec<_>>(), [5, 5, 3]);
    assert!((summary.rows[2].value_arm.expect("mean") - 11.31).abs() < 1e-9);
    assert_eq!(percent(summary.suites[0].ratio), 23.0);
    assert!(summary.rows.iter().all(|row| row.low.is_none() && row.verdict.is_none()));
    assert!(summary.sentences[0].contains("protocol of 2003"));
}

#[test]
fn the_best_screened_thread_count_is_chosen_for_each_arm() {
    let mut plan = plan(&[row("a", "f"), row("b", "f"), row("fixed", "f")]);
    for row in &mut plan.rows[..2] {
        row.threads = ThreadRule::Screened;
    }
    plan.screening = Some(Screening {
        blocks: 3,
        candidates: vec![vec![2, 4], vec![4, 8, 16]],
        orders: orders::balanced(2, 3, &mut coretwin_base::random::Stream::new(1, "screen", 0)),
    });
    // Seconds by arm, thread count and row. In arm 1 the best of both rows together is 8.
    let table: [(usize, u32, [f64; 3]); 5] = [
        (0, 2, [9.0, 9.0, 1.0]),
        (0, 4, [5.0, 5.0, 9.0]),
        (1, 4, [4.0, 6.0, 1.0]),
        (1, 8, [4.2, 3.0, 9.0]),
        (1, 16, [8.0, 8.0, 9.0]),
    ];
    let mut all: Vec<Reading> = Vec::new();
    for block in 0..3u32 {
        for (arm, threads, seconds) in table {
            for (row, value) in seconds.into_iter().enumerate() {
                let seq = all.len() as u64;
                let mut screened = reading(&plan, seq, block, arm, row, value);
                screened.threads = threads;
                screened.phase = Phase::Screen;
                all.push(screened);
            }
        }
    }
    let chosen = choose_threads(&plan, &all);
    assert_eq!((chosen["one-per-core"], chosen["on"]), (4, 8));
    // What the study reads later changes nothing, and a count that failed is passed over.
    let mut later = all.clone();
    for reading in &mut later {
        reading.phase = Phase::Study;
        reading.value = Some(0.001);
    }
    later.extend(all.iter().cloned());
    assert_eq!(choose_threads(&plan, &later), chosen);
    let failing = all.iter_mut().find(|r| r.arm == "on" && r.threads == 8 && r.row == "a");
    failing.expect("a reading").status = coretwin_base::study::reading::Status::Failed;
    assert_eq!(choose_threads(&plan, &all)["on"], 4);
    let told = |all: &[Reading]| {
        let summary = analyse(&plan, all, StoppedBecause::Running);
        let texts = summary.warnings.into_iter().filter(|warning| warning.kind == "screening");
        (summary.threads_chosen, texts.map(|warning| warning.text).collect::<Vec<_>>())
    };
    assert_eq!((told(&all).0["on"], told(&all).1.len()), (4, 0));
    // An arm that was disturbed throughout has no choice, and that is said.
    for reading in all.iter_mut().filter(|reading| reading.arm == "on") {
        reading.status = coretwin_base::study::reading::Status::SetAside;
    }
    let (chosen, texts) = told(&all);
    assert!(!chosen.contains_key("on") && texts.len() == 1, "{texts:?}");
    assert!(texts[0].starts_with("no number of threads was chosen for on ("), "{texts:?}");
}
