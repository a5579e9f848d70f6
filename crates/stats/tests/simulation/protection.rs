//! What the rules protect from: the same noise under the habits that they replace.

use crate::noise::{Noise, Runs, STANDARD, differences, ends, percent};
use crate::quoted;
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
    println!("equal arms, 10 runs each: spikes, drift -> false % one after the other, in pairs");
    let mut in_pairs = Vec::new();
    for (spike, says) in [(STANDARD.spike, "With spikes"), (0.0, "Without them")] {
        let found = [0.0, 0.01, 0.03].map(|drift| {
            // The model's drift is over 40 runs, and these are 20.
            let [sequential, paired] =
                one_after_the_other(Noise { drift: 2.0 * drift, spike, ..STANDARD });
            println!("  {spike}, {drift} from first to last -> {sequential:.1}, {paired:.1}");
            assert!(paired <= 7.0, "{paired}");
            in_pairs.push(paired);
            sequential
        });
        assert!(found.is_sorted() && found[0] >= 7.0, "{found:?}");
        let [none, one, three] = found;
        quoted(&format!(
            "{says}: {none:.0} % of studies without drift, {one:.0} % with a drift of 1 %, \
             {three:.0} % with 3 %"
        ));
    }
    let [least, most] = ends(&in_pairs);
    quoted(&format!("In pairs it is {least:.0} to {most:.0} %"));
}

/// Percent of studies of equal arms that find a difference: all of A then all of B, and in pairs.
fn one_after_the_other(noise: Noise) -> [f64; 2] {
    let (mut sequential, mut paired) = (0, 0);
    for trial in 0..TRIALS {
        let mut runs = Runs::new(noise, trial);
        let times: Vec<f64> = (0..20).map(|_| runs.next()).collect();
        sequential += u32::from(welch(&times[..10], &times[10..]));
        let pairs = Paired::new(&differences(noise, trial, 10)).expect("blocks");
        paired += u32::from(pairs.p(1.0).is_some_and(|p| p < 0.05));
    }
    [sequential, paired].map(|count| percent(count, TRIALS))
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
    quoted(&format!(
        "until something is significant found a difference between equal arms in {found:.0} % of studies"
    ));
    assert!(found >= 25.0, "{found}");
}

#[test]
fn a_bootstrap_of_few_blocks_covers_too_seldom() {
    let [five, eight] = [5, 8].map(|blocks| {
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
        assert!(t >= 93.0 && bootstrap <= 91.0);
        [t, bootstrap]
    });
    quoted(&format!(
        "covers {:.0} % at 5 blocks and {:.0} % at 8; t covers {:.0} % and {:.0} %",
        five[1], eight[1], five[0], eight[0]
    ));
}
