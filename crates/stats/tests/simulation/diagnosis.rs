//! How often the diagnoses warn when nothing is wrong, and when the fault is there; and what the fault
//! does to the interval meanwhile.

use crate::fixture;
use crate::noise::{MODELS, Noise, Normal, PLAIN, Runs, percent};
use crate::quoted;
use coretwin_base::random::Stream;
use coretwin_base::study::plan::Protocol;
use coretwin_base::study::summary::{StoppedBecause, Summary};
use coretwin_stats::orders;
use coretwin_stats::study::{COVERED_CARRY_OVER, COVERED_ONE_ARM_OUTLIERS, analyse};

const TRIALS: u64 = 400;
const BLOCKS: [usize; 4] = [8, 12, 20, 32];
const ROWS: [usize; 3] = [1, 6, 20];

/// A fault that intervals do not show.
#[derive(Clone, Copy)]
enum Fault {
    None,
    /// 5 % of the runs of one arm take 20 % longer.
    Outliers,
    /// Runs in the visit after one to one arm take 1 % longer.
    CarryOver,
}

/// A study of two arms, equal but for the fault, and how many runs were outliers. All rows of a visit
/// feel what it feels.
fn study(noise: Noise, fault: Fault, blocks: usize, rows: usize, trial: u64) -> (Summary, u32) {
    let rows: Vec<_> = (0..rows).map(|row| fixture::row(&format!("row{row}"), "f")).collect();
    let mut plan = fixture::plan(&rows);
    plan.rules.protocol = Protocol::Fixed;
    plan.rules.looks = vec![blocks as u32];
    let mut runs = Runs::new(noise, trial);
    let mut normal = Normal::new("fault", trial);
    let (mut readings, mut before, mut outliers) = (Vec::new(), 0, 0);
    let orders = orders::balanced(2, blocks, &mut Stream::new(trial, "order", 0));
    for (block, order) in orders.iter().enumerate() {
        for &arm in order {
            for row in 0..rows.len() {
                let more = match fault {
                    Fault::Outliers if arm == 1 && normal.happens(0.05) => {
                        outliers += 1;
                        libm::log(1.2)
                    }
                    Fault::CarryOver if before == 1 => libm::log(1.01),
                    _ => 0.0,
                };
                let value = libm::exp(runs.next() + more);
                let (arm, seq) = (usize::from(arm), readings.len() as u64);
                readings.push(fixture::reading(&plan, seq, block as u32, arm, row, value));
            }
            before = arm;
        }
    }
    (analyse(&plan, &readings, StoppedBecause::Blocks), outliers)
}

/// Shares of studies, in percent.
struct Shares {
    covered: f64,
    one_armed: f64,
    carry_over: f64,
    /// Intervals that held the truth, of the studies that were not warned of.
    covered_unwarned: f64,
    /// Studies whose interval missed the truth: those with an outlier in their data, and those without.
    missed: [u32; 2],
}

fn measure(noise: Noise, fault: Fault, blocks: usize, rows: usize) -> Shares {
    // Of outliers the mean is the truth; what is left by the arm before is not the arm's.
    let truth = match fault {
        Fault::Outliers => -0.05 * libm::log(1.2),
        Fault::None | Fault::CarryOver => 0.0,
    };
    let (mut covered, mut unwarned, mut kinds) = ([0, 0], 0, [0, 0]);
    let mut missed = [0, 0];
    for trial in 0..TRIALS {
        let (summary, outliers) = study(noise, fault, blocks, rows, trial);
        let ends = [summary.suites[0].low, summary.suites[0].high].map(|end| end.expect("an end"));
        let holds = libm::log(ends[0]) <= truth && truth <= libm::log(ends[1]);
        let warns = |kind: &str| u32::from(summary.warnings.iter().any(|w| w.kind == kind));
        let found = [warns("one-armed-outliers"), warns("carry-over")];
        let silent = u32::from(found == [0, 0]);
        covered[0] += u32::from(holds);
        covered[1] += u32::from(holds) * silent;
        unwarned += silent;
        missed[usize::from(outliers == 0)] += u32::from(!holds);
        kinds = [kinds[0] + found[0], kinds[1] + found[1]];
    }
    Shares {
        covered: percent(covered[0], TRIALS),
        one_armed: percent(kinds[0], TRIALS),
        carry_over: percent(kinds[1], TRIALS),
        covered_unwarned: percent(covered[1], unwarned.max(1).into()),
        missed,
    }
}

#[test]
fn diagnoses_are_silent_when_nothing_is_wrong() {
    println!("nothing wrong: noise, blocks, rows -> warned of outliers %, of carry-over %");
    let mut most = [0.0f64; 2];
    for noise in MODELS {
        for blocks in BLOCKS {
            for rows in ROWS {
                let Shares { one_armed, carry_over, .. } =
                    measure(noise, Fault::None, blocks, rows);
                println!("  {}, {blocks}, {rows} -> {one_armed:.1}, {carry_over:.1}", noise.name);
                assert!(one_armed <= 6.5 && carry_over <= 6.5, "{one_armed} {carry_over}");
                most = [most[0].max(one_armed), most[1].max(carry_over)];
            }
        }
    }
    let [outliers, carry_over] = most;
    quoted(&format!("they come in at most {outliers:.1} % and {carry_over:.1} % of studies"));
}

#[test]
fn diagnoses_find_outliers_of_one_arm_where_they_are_seen() {
    println!("5 % of the runs of one arm take 20 % longer: blocks, rows -> covered %, warned %,");
    println!("covered % of those not warned of");
    let mut least = f64::MAX;
    for rows in ROWS {
        for blocks in BLOCKS {
            let Shares { covered, one_armed, covered_unwarned, .. } =
                measure(PLAIN, Fault::Outliers, blocks, rows);
            println!("  {blocks}, {rows} -> {covered:.1}, {one_armed:.1}, {covered_unwarned:.1}");
            if rows == 1 {
                least = least.min(covered);
            }
            assert!(rows * blocks < 190 || one_armed >= 80.0, "{one_armed}");
        }
    }
    assert!(libm::fabs(least - f64::from(COVERED_ONE_ARM_OUTLIERS)) < 0.5, "{least}");
}

/// What stops every test for outliers of one arm in a study of one row: those that miss the truth do so
/// because no outlier fell into their blocks. One that came is in mean and width.
#[test]
fn diagnoses_of_one_row_cannot_see_what_did_not_happen() {
    println!(
        "the same of one row: blocks -> missed of {TRIALS}, of these without an outlier; share"
    );
    println!("of runs that so many blocks without one do not rule out %");
    let (mut missed, mut unseen) = ([0, 0], Vec::new());
    for blocks in BLOCKS {
        let [with, without] = measure(PLAIN, Fault::Outliers, blocks, 1).missed;
        // None of so many runs, at 95 %: (1 - share)^blocks = 0.05.
        let share = 100.0 * (1.0 - libm::pow(0.05, 1.0 / blocks as f64));
        println!("  {blocks} -> {}, {without}; {share:.0}", with + without);
        missed = [missed[0] + with, missed[1] + without];
        unseen.push(format!("{share:.0}"));
    }
    let (studies, all) = (TRIALS * BLOCKS.len() as u64, missed[0] + missed[1]);
    quoted(&format!(
        "{all} of {studies} such studies missed the truth, and {} of these had not one slow run in \
         their data",
        missed[1]
    ));
    quoted(&format!("do not rule out slow runs in {} % of an arm's runs", unseen.join(", ")));
}

#[test]
fn diagnoses_find_what_one_arm_leaves_to_the_next() {
    println!(
        "1 % longer after one arm: blocks, rows -> covered %, warned %, covered % of those not"
    );
    println!("warned of");
    let mut least = f64::MAX;
    for rows in ROWS {
        for blocks in BLOCKS {
            let Shares { covered, carry_over, covered_unwarned, .. } =
                measure(PLAIN, Fault::CarryOver, blocks, rows);
            println!("  {blocks}, {rows} -> {covered:.1}, {carry_over:.1}, {covered_unwarned:.1}");
            if rows == 1 {
                least = least.min(covered);
            }
            assert!(rows * blocks < 60 || carry_over >= 80.0, "{carry_over}");
        }
    }
    assert!(libm::fabs(least - f64::from(COVERED_CARRY_OVER)) < 0.5, "{least}");
}
