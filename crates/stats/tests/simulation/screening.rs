//! Choosing the best of six thread counts: on the same data, and by screening first.

use crate::fixture;
use crate::noise::{Normal, percent};
use crate::quoted;
use coretwin_base::study::plan::{Plan, Screening, ThreadRule};
use coretwin_base::study::reading::{Phase, Reading};
use coretwin_base::study::summary::{StoppedBecause, Verdict};
use coretwin_stats::paired::Paired;
use coretwin_stats::study::{analyse, choose_threads};
use coretwin_stats::{stopping, verdict};

const TRIALS: u64 = 2000;
const COUNTS: [u32; 6] = [1, 2, 4, 6, 8, 16];
/// Where the time budget ends the study, well before its intervals are narrow.
const BLOCKS: u32 = 12;
const SCREEN_BLOCKS: u32 = 3;

/// Spread of a run: wide enough that the margin of 2 % does not hide the question.
const SIGMA: f64 = 0.05;
const MARGIN: f64 = 0.019_802_627_296_179_712;

fn is_false(verdict: Option<Verdict>) -> u32 {
    u32::from(matches!(verdict, Some(Verdict::Helps | Verdict::Hurts)))
}

fn plan() -> Plan {
    let mut row = fixture::row("job", "command");
    row.threads = ThreadRule::Screened;
    let mut plan = fixture::plan(&[row]);
    plan.screening = Some(Screening {
        blocks: SCREEN_BLOCKS,
        candidates: vec![vec![4], COUNTS.to_vec()],
        orders: vec![vec![0, 1]; SCREEN_BLOCKS as usize],
    });
    plan
}

/// Screening readings of the arm at every count, all equally fast in truth.
fn screen(plan: &Plan, normal: &mut Normal) -> Vec<Reading> {
    let mut readings = Vec::new();
    for block in 0..SCREEN_BLOCKS {
        for threads in COUNTS {
            let seq = readings.len() as u64;
            let value = libm::exp(SIGMA * normal.draw());
            let mut reading = fixture::reading(plan, seq, block, 1, 0, value);
            reading.phase = Phase::Screen;
            reading.threads = threads;
            readings.push(reading);
        }
    }
    readings
}

#[test]
fn screened_then_confirmed_keeps_its_promise_and_best_of_six_on_the_same_data_does_not() {
    let plan = plan();
    let (mut confirmed, mut same_data, mut same_data_plain) = (0, 0, 0);
    let mut chosen = [0u32; COUNTS.len()];
    for trial in 0..TRIALS {
        let mut normal = Normal::new("screening", trial);
        let mut readings = screen(&plan, &mut normal);
        let threads = choose_threads(&plan, &readings)["on"];
        chosen[COUNTS.iter().position(|&count| count == threads).expect("a candidate")] += 1;
        // Fresh blocks; every count has the same truth, so only the choice could do harm.
        let mut study =
            fixture::readings(&plan, BLOCKS, |_, _, _| libm::exp(SIGMA * normal.draw()));
        study.iter_mut().for_each(|reading| reading.seq += readings.len() as u64);
        readings.append(&mut study);
        confirmed += is_false(analyse(&plan, &readings, StoppedBecause::Budget).suites[0].verdict);

        // The tempting way: read all six beside the reference, compare the best of them.
        let mut best: Option<Paired> = None;
        let reference: Vec<f64> = (0..BLOCKS).map(|_| SIGMA * normal.draw()).collect();
        for _ in COUNTS {
            let differences: Vec<f64> =
                reference.iter().map(|time| time - SIGMA * normal.draw()).collect();
            let effect = Paired::new(&differences).expect("blocks");
            if best.is_none_or(|best| effect.mean > best.mean) {
                best = Some(effect);
            }
        }
        let decide = |widening| best.and_then(|best| verdict::decide(&best, MARGIN, widening));
        same_data += is_false(decide(stopping::widening(&stopping::LOOKS, BLOCKS)));
        same_data_plain += is_false(decide(1.0));
    }
    let [confirmed, same_data, same_data_plain] =
        [confirmed, same_data, same_data_plain].map(|count| percent(count, TRIALS));
    quoted(&format!(
        "six equal counts gave a false verdict in {same_data_plain:.1} % of studies \
         ({same_data:.1} % with the widened intervals)"
    ));
    quoted(&format!("confirmed on fresh blocks: {confirmed:.1} %"));
    assert!(confirmed <= 5.0, "{confirmed}");
    assert!(same_data >= 1.5 * confirmed && same_data_plain >= 8.0, "{same_data}");
    // No count is favoured by its place in the list.
    assert!(chosen.iter().all(|&count| (260..410).contains(&count)), "{chosen:?}");
}
