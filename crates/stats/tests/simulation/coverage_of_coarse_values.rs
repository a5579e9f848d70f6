//! Do intervals hold the truth where values come in steps, and does nothing change where they do not?

use crate::fixture;
use crate::noise::{Normal, full_trials, percent, trials};
use crate::quoted;
use coretwin_base::study::plan::Protocol;
use coretwin_base::study::summary::{StoppedBecause, Summary};
use coretwin_stats::paired::Paired;
use coretwin_stats::study::analyse;

/// The step, as a share of a value of about 1 s.
const STEP: f64 = 0.03;

/// A study of one row: the arm takes `effect` less (as a log), runs spread by `sigma`, and each time
/// is read to the nearest step.
fn study(trial: u64, sigma: f64, effect: f64, blocks: u32, step: f64) -> Summary {
    let mut plan = fixture::plan(&[fixture::row("job", "command")]);
    plan.rules.protocol = Protocol::Fixed;
    plan.rules.looks = vec![blocks];
    let mut normal = Normal::new("coarse", trial);
    // Where between two steps the truth lies goes through all places.
    let truth = libm::log(1.0 + STEP * (trial % 20) as f64 / 20.0);
    let readings = fixture::readings(&plan, blocks, |_, arm, _| {
        let gain = if arm == 1 { effect } else { 0.0 };
        let time = libm::exp(truth + sigma * normal.draw() - gain);
        if step > 0.0 { libm::round(time / step) * step } else { time }
    });
    analyse(&plan, &readings, StoppedBecause::Blocks)
}

#[test]
fn coverage_where_values_come_in_steps() {
    let trials = trials(1000);
    println!(
        "steps of 3 %: spread of a run, effect, blocks -> coverage %, of Student's interval %, \
         half-width in points"
    );
    let cases: &[(f64, f64, u32)] = if full_trials().is_some() {
        &[
            (0.001, 0.01, 8),
            (0.004, 0.0, 8),
            (0.004, 0.01, 3),
            (0.004, 0.01, 8),
            (0.004, 0.01, 20),
            (0.004, 0.025, 8),
            (0.01, 0.01, 8),
            (0.01, 0.01, 20),
            (0.015, 0.01, 20),
            (0.03, 0.01, 8),
            (0.03, 0.01, 20),
        ]
    } else {
        &[(0.004, 0.01, 8), (0.01, 0.01, 20), (0.03, 0.01, 20)]
    };
    for &(sigma, effect, blocks) in cases {
        let (mut covered, mut plain, mut width, mut said) = (0, 0, 0.0, 0);
        for trial in 0..trials {
            let summary = study(trial, sigma, effect, blocks, STEP);
            let row = &summary.rows[0];
            let (low, high) = row.low.zip(row.high).expect("an interval");
            assert!(low < high, "no interval is a point");
            let (low, high) = (libm::log(low), libm::log(high));
            covered += u32::from(low <= effect && effect <= high);
            width += (high - low) * 50.0;
            said += u32::from(summary.warnings.iter().any(|warning| warning.kind == "resolution"));
            // What the spread alone would give is not stored: it is analysed again by hand.
            let mut normal = Normal::new("coarse", trial);
            let truth = libm::log(1.0 + STEP * (trial % 20) as f64 / 20.0);
            let differences: Vec<f64> = (0..blocks)
                .map(|block| {
                    let mut logs = [0.0; 2];
                    let order = if block % 2 == 1 { [1, 0] } else { [0, 1] };
                    for arm in order {
                        let gain = if arm == 1 { effect } else { 0.0 };
                        let time = libm::exp(truth + sigma * normal.draw() - gain);
                        logs[arm] = libm::log(libm::round(time / STEP) * STEP);
                    }
                    logs[0] - logs[1]
                })
                .collect();
            let by_hand = Paired::new(&differences).and_then(|all| all.interval(0.95, 1.0));
            let (low, high) = by_hand.expect("an interval");
            plain += u32::from(low <= effect && effect <= high);
        }
        let [covered, plain] = [covered, plain].map(|count| percent(count, trials));
        let width = width / trials as f64;
        println!(
            "  {:.1} %, {:.1} %, {blocks} -> {covered:.1}, {plain:.1}, {width:.1}",
            sigma * 100.0,
            effect * 100.0
        );
        assert!(covered >= 93.5, "{sigma} {effect} {blocks}: {covered}");
        if (sigma, effect, blocks) == (0.004, 0.01, 8) {
            quoted(&format!(
                "intervals by spread alone hold the truth in {plain:.0} % of studies, and with the \
                 steps in {covered:.0} %, {width:.1} points to either side"
            ));
            assert!(percent(said, trials) >= 99.0, "said where it decides: {said}");
        }
    }
}

#[test]
fn values_without_steps_have_the_interval_of_their_spread_to_the_last_bit() {
    for trial in 0..100 {
        let summary = study(trial, 0.004, 0.01, 8, 0.0);
        let row = &summary.rows[0];
        let mut normal = Normal::new("coarse", trial);
        let truth = libm::log(1.0 + STEP * (trial % 20) as f64 / 20.0);
        let differences: Vec<f64> = (0..8)
            .map(|block| {
                let mut logs = [0.0; 2];
                for arm in if block % 2 == 1 { [1, 0] } else { [0, 1] } {
                    let gain = if arm == 1 { 0.01 } else { 0.0 };
                    let time = libm::exp(truth + 0.004 * normal.draw() - gain);
                    logs[arm] = libm::log(time);
                }
                logs[0] - logs[1]
            })
            .collect();
        let by_hand = Paired::new(&differences).and_then(|all| all.interval(0.95, 1.0));
        let (low, high) = by_hand.expect("an interval");
        assert_eq!((row.low, row.high), (Some(libm::exp(low)), Some(libm::exp(high))));
        assert!(summary.warnings.iter().all(|warning| warning.kind != "resolution"));
    }
}
