//! Two studies compared: does the interaction's interval hold the truth, is a planted one found,
//! and what does a boot of its own do to either?

use crate::fixture;
use crate::noise::{MODELS, Noise, Normal, Runs, STANDARD, ends, percent};
use crate::quoted;
use coretwin_base::machine::environment::Environment;
use coretwin_base::random::Stream;
use coretwin_base::study::comparison::StudyComparison;
use coretwin_base::study::plan::{Plan, Protocol};
use coretwin_base::study::reading::Reading;
use coretwin_base::study::summary::StoppedBecause;
use coretwin_stats::comparison::{StudyRecords, compare};
use coretwin_stats::orders;
use coretwin_stats::paired::Paired;
use coretwin_stats::stopping::{LOOKS, widening};
use coretwin_stats::verdict;
use coretwin_stats::welch::Estimate;

const TRIALS: u64 = 4000;

/// Margin on the log scale.
const MARGIN: f64 = 0.019_802_627_296_179_712;

/// Logs of the times of both arms by block, in orders drawn as a study draws them.
fn times(noise: Noise, study: u64, blocks: usize) -> Vec<[f64; 2]> {
    let mut runs = Runs::new(noise, study);
    orders::balanced(2, blocks, &mut Stream::new(study, "order", 0))
        .iter()
        .map(|order| {
            let mut times = [0.0; 2];
            for &arm in order {
                times[usize::from(arm)] = runs.next();
            }
            times
        })
        .collect()
}

/// How much less time the second arm took, and how little the first took.
fn estimates(times: &[[f64; 2]], widening: f64) -> [Estimate; 2] {
    let of = |values: Vec<f64>| Estimate::of(&Paired::new(&values).expect("blocks"), widening);
    [of(times.iter().map(|t| t[0] - t[1]).collect()), of(times.iter().map(|t| -t[0]).collect())]
}

fn holds(estimate: &Estimate, truth: f64) -> bool {
    let (low, high) = estimate.interval(0.95).expect("an interval");
    low <= truth && truth <= high
}

#[test]
fn the_interactions_interval_covers_with_unequal_blocks_and_spreads() {
    println!("interaction: noise, sigmas, blocks -> coverage %, one in two studies that differs %");
    let mut coverages = Vec::new();
    for model in MODELS {
        for (sigmas, blocks) in [
            ([0.01, 0.01], [8, 8]),
            ([0.01, 0.01], [8, 20]),
            ([0.01, 0.03], [12, 12]),
            ([0.03, 0.01], [8, 32]),
            ([0.01, 0.03], [8, 32]),
        ] {
            let (mut covered, mut wrong) = (0, 0);
            for trial in 0..TRIALS {
                let [a, b] = [0, 1].map(|side: usize| {
                    let noise = Noise { sigma: sigmas[side], ..model };
                    estimates(&times(noise, trial * 2 + side as u64, blocks[side]), 1.0)[0]
                });
                let interaction = b.less(&a);
                covered += u32::from(holds(&interaction, 0.0));
                let ends = |confidence| interaction.interval(confidence).expect("an interval");
                let said = verdict::of_intervals(ends(0.90), ends(0.95), MARGIN);
                use coretwin_base::study::summary::Verdict::{Helps, Hurts};
                wrong += u32::from(matches!(said, Helps | Hurts));
            }
            let [covered, wrong] = [covered, wrong].map(|count| percent(count, TRIALS));
            println!("  {}, {sigmas:?}, {blocks:?} -> {covered:.1}, {wrong:.1}", model.name);
            assert!(covered >= 93.0, "{}: {covered}", model.name);
            assert!(wrong <= 6.5, "{}: {wrong}", model.name);
            coverages.push(covered);
        }
    }
    let [least, most] = ends(&coverages);
    quoted(&format!("The interaction's interval holds the truth in {least:.1} to {most:.1} %"));
}

#[test]
fn a_planted_interaction_is_found() {
    println!("interaction of 3 %, standard noise: blocks -> found %, wrong sign %");
    let mut shares = Vec::new();
    for (blocks, least) in [([8, 8], 35.0), ([12, 20], 60.0), ([20, 20], 70.0), ([32, 32], 85.0)] {
        let (mut found, mut wrong) = (0, 0);
        for trial in 0..TRIALS {
            let [a, mut b] = [0, 1].map(|side: usize| {
                estimates(&times(STANDARD, trial * 2 + side as u64, blocks[side]), 1.0)[0]
            });
            b.mean += libm::log1p(0.03);
            let (low, high) = b.less(&a).interval(0.95).expect("an interval");
            found += u32::from(low > 0.0);
            wrong += u32::from(high < 0.0);
        }
        let [found, wrong] = [found, wrong].map(|count| percent(count, TRIALS));
        println!("  {blocks:?} -> {found:.1}, {wrong:.1}");
        assert!(found >= least && wrong <= 0.1, "{found} {wrong}");
        shares.push(format!("{found:.0}"));
    }
    quoted(&format!("is found in {} % (8 and 8,", shares.join(", ")));
}

#[test]
fn open_ended_studies_cover_when_both_have_stopped() {
    println!("interaction of two studies at their stop: noise, sigmas -> coverage %");
    for model in MODELS {
        for sigmas in [[0.01, 0.01], [0.005, 0.02]] {
            let mut covered = 0;
            for trial in 0..TRIALS / 2 {
                let [a, b] = [0, 1].map(|side: usize| {
                    let noise = Noise { sigma: sigmas[side], ..model };
                    let all = times(noise, trial * 2 + side as u64, LOOKS[7] as usize);
                    let effect =
                        |look: u32| estimates(&all[..look as usize], widening(&LOOKS, look))[0];
                    let narrow = |look: &u32| {
                        let (low, high) = effect(*look).interval(0.95).expect("an interval");
                        (high - low) / 2.0 <= 0.01
                    };
                    effect(LOOKS.into_iter().find(narrow).unwrap_or(LOOKS[7]))
                });
                covered += u32::from(holds(&b.less(&a), 0.0));
            }
            let covered = percent(covered, TRIALS / 2);
            println!("  {}, {sigmas:?} -> {covered:.1}", model.name);
            assert!(covered >= 93.0, "{}: {covered}", model.name);
        }
    }
}

#[test]
fn what_a_boot_does_to_both_arms_cancels_in_the_interaction_and_not_in_values() {
    println!("two studies of 20 blocks: boot-to-boot % -> coverage of interaction %, of value %");
    let model = Noise { drift: 0.0, spike: 0.0, ..STANDARD };
    let mut shares = [Vec::new(), Vec::new()];
    for (boot, value_between) in [(0.0, 80.0..=96.0), (0.01, 15.0..=60.0), (0.02, 5.0..=35.0)] {
        let (mut interactions, mut values) = (0, 0);
        for trial in 0..TRIALS {
            let mut luck = Normal::new("boot", trial);
            let [a, b] = [0, 1].map(|side: u64| {
                let shift = boot * luck.draw();
                let mut times = times(model, trial * 2 + side, 20);
                times.iter_mut().flatten().for_each(|time| *time += shift);
                estimates(&times, 1.0)
            });
            interactions += u32::from(holds(&b[0].less(&a[0]), 0.0));
            values += u32::from(holds(&b[1].less(&a[1]), 0.0));
        }
        let [interactions, values] = [interactions, values].map(|count| percent(count, TRIALS));
        println!("  {:.0} -> {interactions:.1}, {values:.1}", boot * 100.0);
        assert!(interactions >= 93.0, "{interactions}");
        assert!(value_between.contains(&values), "{values}");
        for (shares, share) in shares.iter_mut().zip([interactions, values]) {
            shares.push(format!("{share:.0}"));
        }
    }
    let [interactions, values] = shares.map(|shares| shares.join(", "));
    quoted(&format!("holds the truth in {interactions} % of trials, the value's in {values} %"));
}

/// Two studies of six rows in two families. The second arm does more for every row in the second
/// study, by this factor; every arm change brings a shock that the rows of a block share.
fn compared(trial: u64, blocks: [u32; 2], planted: f64) -> StudyComparison {
    let rows: Vec<_> = (0..6)
        .map(|row| fixture::row(&format!("row{row}"), if row < 2 { "chat" } else { "lmbench" }))
        .collect();
    let studies: [(Plan, Vec<Reading>); 2] = [0, 1].map(|side: usize| {
        let mut plan = fixture::plan(&rows);
        plan.rules.protocol = Protocol::Fixed;
        plan.rules.looks = vec![blocks[side]];
        plan.seed = side as u64;
        let mut normal = Normal::new("compared suites", trial * 2 + side as u64);
        let shocks: Vec<f64> = (0..blocks[side] * 2).map(|_| 0.01 * normal.draw()).collect();
        let readings = fixture::readings(&plan, blocks[side], |block, arm, _| {
            let gain = if (side, arm) == (1, 1) { libm::log(planted) } else { 0.0 };
            libm::exp(shocks[block as usize * 2 + arm] + 0.01 * normal.draw() - gain)
        });
        (plan, readings)
    });
    let environment = Environment::default();
    let [a, b] = studies.each_ref().map(|(plan, readings)| StudyRecords {
        folder: "study",
        plan,
        readings,
        environment: &environment,
        stopped_because: StoppedBecause::Blocks,
    });
    compare([&a, &b], None).expect("comparable")
}

#[test]
fn suites_cover_and_equal_studies_seldom_regress() {
    const TRIALS: u64 = 1000;
    println!(
        "suites of two studies: blocks -> coverage %, effect-worse %, worse % (equal studies)"
    );
    let mut shares = [Vec::new(), Vec::new()];
    for blocks in [[8, 12], [20, 20]] {
        let (mut covered, mut effect, mut any) = (0, 0, 0);
        for trial in 0..TRIALS {
            let planted = compared(trial, blocks, 1.05);
            let all = planted.suites.last().expect("a suite over all").interaction.clone();
            let (low, high) = (all.low.expect("low"), all.high.expect("high"));
            covered += u32::from(low <= 1.05 && 1.05 <= high);
            let equal = compared(trial, blocks, 1.0);
            let suites = equal.suites.iter().map(|line| &line.interaction);
            let rows = equal.effects.iter().map(|line| &line.interaction);
            let values = equal.value_suites.iter().chain(&equal.values).map(|line| &line.contrast);
            let effects = suites.chain(rows).any(|line| line.is_regression(0.95));
            effect += u32::from(effects);
            any += u32::from(effects || values.into_iter().any(|line| line.is_regression(0.95)));
        }
        let [covered, effect, any] = [covered, effect, any].map(|count| percent(count, TRIALS));
        println!("  {blocks:?} -> {covered:.1}, {effect:.1}, {any:.1}");
        assert!((92.5..=97.5).contains(&covered) && effect <= 6.0 && any <= 10.0);
        shares[0].push(effect);
        shares[1].push(any);
    }
    let [[a, b], [c, d]] = shares.map(|shares| ends(&shares));
    quoted(&format!(
        "`--fail-on effect-worse` matches in {a:.1} to {b:.1} %, `worse` in {c:.1} to {d:.1} %"
    ));
}
