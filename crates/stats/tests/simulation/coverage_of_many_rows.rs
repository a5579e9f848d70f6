//! How often is a row called better or worse where none of many is?

use crate::fixture;
use crate::noise::{Normal, percent, trials};
use crate::quoted;
use coretwin_base::study::plan::Protocol;
use coretwin_base::study::summary::{StoppedBecause, Verdict};
use coretwin_stats::study::analyse;

const ROWS: usize = 57;
const BLOCKS: u32 = 12;
const SIGMA: f64 = 0.03;

#[test]
fn coverage_of_57_equal_rows_says_seldom_that_one_differs() {
    let trials = trials(400);
    let rows: Vec<_> = (0..ROWS).map(|row| fixture::row(&format!("row{row}"), "f")).collect();
    let mut plan = fixture::plan(&rows);
    plan.rules.protocol = Protocol::Fixed;
    plan.rules.looks = vec![BLOCKS];
    let (mut said, mut by_intervals, mut planted) = (0, 0, 0);
    for trial in 0..trials {
        let mut normal = Normal::new("57 rows", trial);
        let readings = fixture::readings(&plan, BLOCKS, |_, arm, row| {
            // One row in every second study is better by 15 %: that must not be lost.
            let gain = if trial % 2 == 1 && (arm, row) == (1, 7) { 0.15 } else { 0.0 };
            libm::exp(SIGMA * normal.draw() - gain)
        });
        let summary = analyse(&plan, &readings, StoppedBecause::Blocks);
        let differs = |verdict| matches!(verdict, Some(Verdict::Helps | Verdict::Hurts));
        let equal = || summary.rows.iter().filter(|row| trial % 2 == 0 || row.row != "row7");
        said += u32::from(equal().any(|row| differs(row.verdict)));
        let excludes = |low: Option<f64>, high: Option<f64>| {
            low.is_some_and(|low| low > 1.0) || high.is_some_and(|high| high < 1.0)
        };
        by_intervals += u32::from(equal().any(|row| excludes(row.low, row.high)));
        planted += u32::from(trial % 2 == 1 && summary.rows[7].verdict == Some(Verdict::Helps));
        let open = summary.rows.iter().find(|row| row.verdict == Some(Verdict::Inconclusive));
        assert!(open.is_none_or(|row| row.blocks_needed.is_none_or(|blocks| blocks > BLOCKS)));
    }
    let [said, by_intervals] = [said, by_intervals].map(|count| percent(count, trials));
    let planted = percent(planted, trials / 2);
    println!("57 equal rows, {BLOCKS} blocks, spread 3 %: a row differs in % of studies");
    quoted(&format!(
        "by adjusted p-values {said:.0} % of studies call a row better or worse, by its interval \
         {by_intervals:.0} %"
    ));
    println!("  a row that is better by 15 % is called that in {planted:.0} %");
    // One point of error for 400 studies.
    assert!(
        said <= 8.0 && by_intervals >= 80.0 && planted >= 95.0,
        "{said} {by_intervals} {planted}"
    );
}
