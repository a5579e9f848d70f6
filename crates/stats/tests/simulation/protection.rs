//! What the rules protect from: the same noise under the habits that they replace.

use crate::noise::{Noise, Runs, STANDARD, differences, percent};
use coretwin_stats::paired::Paired;
use coretwin_stats::stopping::LOOKS;
use coretwin_stats::student;

const TRIALS: u64 = 2000;

/// Welch's t-test of two samples; true if it calls them different at 5 %.
fn welch(a: &[f64], b: &[f64]) -> bool {
    let [a, b] = [a, b].map(|sample| Paired::new(sample).expect("runs"));
    let [va, vb] = [a, b].map(|sample| sample.standard_error() * sample.standard_error());
    let degrees = (va + vb) * (va + vb)
        / (va * va / f64::from(a.blocks - 1) + vb * vb / f64::from(b.blocks - 1));
    student::two_sided((a.mean - b.mean) / libm::sqrt(va + vb), degrees) < 0.05
}

#[test]
fn all_of_a_then_all_of_b_finds_differences_where_there_are_none() {
    println!("equal arms, 10 runs each: noise -> false % one after the other, false % in pairs");
    for (drift, least) in [(0.0, 15.0), (0.01, 20.0), (0.03, 50.0)] {
        // The model's drift is over 40 runs, and these are 20.
        let noise = Noise { drift: 2.0 * drift, spike: 0.0, ..STANDARD };
        let (mut sequential, mut paired) = (0, 0);
        for trial in 0..TRIALS {
            let mut runs = Runs::new(noise, trial);
            let times: Vec<f64> = (0..20).map(|_| runs.next()).collect();
            sequential += u32::from(welch(&times[..10], &times[10..]));
            let pairs = Paired::new(&differences(noise, trial, 10)).expect("blocks");
            paired += u32::from(pairs.p(1.0).is_some_and(|p| p < 0.05));
        }
        let (sequential, paired) = (percent(sequential, TRIALS), percent(paired, TRIALS));
        println!("  drift {drift} from the first run to the last -> {sequential:.1}, {paired:.1}");
        assert!(sequential >= least && paired <= 7.0, "{sequential} {paired}");
    }
}

#[test]
fn stopping_when_significant_finds_differences_where_there_are_none() {
    let mut found = 0;
    for trial in 0..TRIALS {
        let values = differences(STANDARD, trial, LOOKS[LOOKS.len() - 1] as usize);
        // One more block until it is significant, from 5 to 200.
        let significant = |blocks: usize| {
            Paired::new(&values[..blocks]).and_then(|p| p.p(1.0)).is_some_and(|p| p < 0.05)
        };
        found += u32::from((5..=values.len()).any(significant));
    }
    let found = percent(found, TRIALS);
    println!("equal arms, stopped when significant: {found:.1} % false");
    assert!(found >= 25.0, "{found}");
}

#[test]
fn a_bootstrap_of_few_blocks_covers_too_seldom() {
    println!("95 % intervals of few blocks: blocks -> t %, percentile bootstrap %");
    for blocks in [5, 8] {
        let (mut t, mut bootstrap) = (0, 0);
        for trial in 0..TRIALS {
            let values =
                differences(Noise { drift: 0.0, spike: 0.0, phi: 0.0, ..STANDARD }, trial, blocks);
            let (low, high) =
                Paired::new(&values).and_then(|p| p.interval(0.95, 1.0)).expect("interval");
            t += u32::from(low <= 0.0 && 0.0 <= high);
            let mut stream = coretwin_base::random::Stream::new(trial, "bootstrap", 0);
            let mut means: Vec<f64> = (0..400)
                .map(|_| (0..blocks).map(|_| values[stream.below(blocks as u64) as usize]).sum())
                .collect();
            means.sort_unstable_by(f64::total_cmp);
            bootstrap += u32::from(means[9] <= 0.0 && 0.0 <= means[390]);
        }
        let (t, bootstrap) = (percent(t, TRIALS), percent(bootstrap, TRIALS));
        println!("  {blocks} -> {t:.1}, {bootstrap:.1}");
        assert!(t >= 93.0 && bootstrap <= 91.0);
    }
}
