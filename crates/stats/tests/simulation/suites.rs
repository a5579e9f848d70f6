//! Do suite intervals cover when the rows of a block share a shock?

use crate::fixture;
use crate::noise::{Normal, ends, percent};
use crate::quoted;
use coretwin_base::study::summary::{StoppedBecause, Summary, Verdict};
use coretwin_stats::paired::Paired;
use coretwin_stats::study::{analyse, look};

const TRIALS: u64 = 2000;
const ROWS: usize = 6;

/// A study of equal arms, six rows in two families. Every arm change of a block brings a shock of
/// 1 % that all its rows share (heat, clock, memory layout); each run adds 1 % of its own.
fn study(trial: u64, blocks: u32) -> Summary {
    let rows: Vec<_> = (0..ROWS)
        .map(|row| fixture::row(&format!("row{row}"), if row < 2 { "chat" } else { "lmbench" }))
        .collect();
    let mut plan = fixture::plan(&rows);
    plan.rules.protocol = coretwin_base::study::plan::Protocol::Fixed;
    plan.rules.looks = vec![blocks];
    let mut normal = Normal::new("suite", trial);
    let shocks: Vec<f64> = (0..blocks * 2).map(|_| 0.01 * normal.draw()).collect();
    let readings = fixture::readings(&plan, blocks, |block, arm, _| {
        libm::exp(shocks[block as usize * 2 + arm] + 0.01 * normal.draw())
    });
    analyse(&plan, &readings, StoppedBecause::Blocks)
}

fn holds_one(low: Option<f64>, high: Option<f64>) -> bool {
    low.zip(high).is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high)
}

#[test]
fn suite_intervals_cover_under_a_shock_shared_by_the_block() {
    println!("suite of six rows with a shared shock: blocks -> coverage %, as if rows independent");
    let (mut shared, mut alone) = (Vec::new(), Vec::new());
    for blocks in [8, 12, 20] {
        let (mut families, mut all, mut independent) = (0, 0, 0);
        for trial in 0..TRIALS {
            let summary = study(trial, blocks);
            let [chat, _, over_all] = &summary.suites[..] else { panic!("three suites") };
            families += u32::from(holds_one(chat.low, chat.high));
            all += u32::from(holds_one(over_all.low, over_all.high));
            // What treating every row of every block as one of 6·blocks observations would do.
            let logs: Vec<f64> =
                summary.rows.iter().map(|row| libm::log(row.ratio.expect("ratio"))).collect();
            let widths: Vec<f64> = summary
                .rows
                .iter()
                .map(|row| libm::log(row.high.expect("high") / row.low.expect("low")) / 2.0)
                .collect();
            let mean = Paired::new(&logs).expect("rows").mean;
            let half = libm::sqrt(widths.iter().map(|w| w * w).sum::<f64>()) / ROWS as f64;
            independent += u32::from(libm::fabs(mean) <= half);
        }
        let [families, all, independent] =
            [families, all, independent].map(|count| percent(count, TRIALS));
        println!(
            "  {blocks} -> one family {families:.1}, all {all:.1}, independent {independent:.1}"
        );
        assert!((93.0..=98.0).contains(&families) && (93.0..=98.0).contains(&all));
        assert!(independent < 80.0, "the demonstration needs a shock that matters: {independent}");
        shared.extend([families, all]);
        alone.push(independent);
    }
    let ([low, high], [least, most]) = (ends(&alone), ends(&shared));
    quoted(&format!(
        "in {low:.0} to {high:.0} % of studies, and sums within blocks in {least:.0} to {most:.0} %"
    ));
}

#[test]
fn suite_intervals_cover_where_cells_are_missing() {
    let mut covered = 0;
    for trial in 0..TRIALS {
        let rows: Vec<_> = (0..ROWS).map(|row| fixture::row(&format!("row{row}"), "f")).collect();
        let mut plan = fixture::plan(&rows);
        plan.rules.protocol = coretwin_base::study::plan::Protocol::Fixed;
        plan.rules.looks = vec![12];
        let mut normal = Normal::new("missing", trial);
        let shocks: Vec<f64> = (0..24).map(|_| 0.01 * normal.draw()).collect();
        let mut readings = fixture::readings(&plan, 12, |block, arm, _| {
            libm::exp(shocks[block as usize * 2 + arm] + 0.01 * normal.draw())
        });
        for reading in &mut readings {
            // One run in twenty fails.
            if normal.happens(0.05) {
                reading.value = None;
            }
        }
        let summary = analyse(&plan, &readings, StoppedBecause::Blocks);
        covered += u32::from(holds_one(summary.suites[0].low, summary.suites[0].high));
    }
    let covered = percent(covered, TRIALS);
    println!("suite with one run in twenty failing, 12 blocks: coverage {covered:.1} %");
    assert!((93.0..=98.0).contains(&covered));
}

#[test]
fn suite_intervals_cover_when_the_rule_stops() {
    let rows: Vec<_> = (0..ROWS).map(|row| fixture::row(&format!("row{row}"), "f")).collect();
    let plan = fixture::plan(&rows);
    let (mut covered, mut wrong, mut blocks) = (0, 0, 0);
    for trial in 0..TRIALS {
        let mut normal = Normal::new("suite at the stop", trial);
        let shocks: Vec<f64> = (0..400).map(|_| 0.005 * normal.draw()).collect();
        let value = |block: u32, arm: usize, _| {
            libm::exp(shocks[block as usize * 2 + arm] + 0.005 * normal.draw())
        };
        let all = fixture::readings(&plan, 80, value);
        let upto = |look: u32| &all[..look as usize * 2 * ROWS];
        let stopped = plan
            .rules
            .looks
            .iter()
            .copied()
            .find(|&at| at == 80 || look(&plan, upto(at)).satisfied);
        let stopped = stopped.expect("the last look ends");
        let suite = analyse(&plan, upto(stopped), StoppedBecause::Target).suites.remove(0);
        covered += u32::from(holds_one(suite.low, suite.high));
        wrong += u32::from(matches!(suite.verdict, Some(Verdict::Helps | Verdict::Hurts)));
        blocks += stopped;
    }
    let [covered, wrong, blocks] = [covered, wrong, blocks].map(|count| percent(count, TRIALS));
    let blocks = blocks / 100.0;
    println!("suite at the stop: coverage {covered:.1} %, false {wrong:.1} %, {blocks:.0} blocks");
    assert!((93.0..=98.0).contains(&covered) && wrong <= 5.0);
}
