//! What to set, from studies whose truth is known.

#[path = "study/fixture.rs"]
mod fixture;

use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::Topology;
use coretwin_base::origin::Origin;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::decision::{Decision, ENERGY_METRIC, Licence, Measure};
use coretwin_base::study::plan::{Plan, PlanArm, PlanRow};
use coretwin_base::study::reading::{Better, Metric, Reading};
use coretwin_base::study::summary::{StoppedBecause, Verdict};
use coretwin_stats::decision::decide;
use coretwin_stats::study::analyse;
use fixture::{arm, plan, readings, row};
use std::sync::Arc;

fn decided(plan: &Plan, readings: &[Reading], licence: Option<Licence>) -> Decision {
    let summary = analyse(plan, readings, StoppedBecause::Blocks);
    decide(plan, readings, &summary, licence).expect("a decision")
}

/// Seconds a run takes: `on` takes this share of the reference's, with a little noise.
fn seconds(share: f64) -> impl FnMut(u32, usize, usize) -> f64 {
    move |block, arm, _| {
        let noise = 1.0 + 0.004 * f64::from((block * 7 + arm as u32 * 3) % 5);
        if arm == 0 { 10.0 * noise } else { 10.0 * share * noise }
    }
}

fn ratio(decision: &Decision, measure: Measure) -> (f64, Option<Verdict>) {
    let found = decision.worth.iter().find(|worth| worth.measure == measure);
    found.map(|worth| (worth.ratio, worth.verdict)).expect("that measure")
}

#[test]
fn smt_that_helps_is_set_and_its_cost_per_thread_is_told() {
    let plan = plan(&[row("a", "a"), row("b", "b")]);
    let readings = readings(&plan, 10, seconds(0.8));
    let decision = decided(&plan, &readings, None);
    assert_eq!(decision.choice.arm.as_deref(), Some("on"));
    assert_eq!(decision.choice.threads, Some(8));
    let (throughput, verdict) = ratio(&decision, Measure::Throughput);
    assert!((throughput - 1.25).abs() < 0.01 && verdict == Some(Verdict::Helps), "{throughput}");
    // The same cores do more; twice the threads do less each.
    let (per_core, _) = ratio(&decision, Measure::Licence(Licence::PerCore));
    assert!((per_core - 1.25).abs() < 0.01, "{per_core}");
    let (per_thread, verdict) = ratio(&decision, Measure::Licence(Licence::PerThread));
    assert!((per_thread - 0.625).abs() < 0.01, "{per_thread}");
    assert_eq!(verdict, Some(Verdict::Hurts));
    // Each run takes a CPU second; a run of `on` does the work of 0.8 seconds in a second.
    let (cpu, _) = ratio(&decision, Measure::CpuSeconds);
    assert!((cpu - 1.25).abs() < 0.01, "{cpu}");
    let [price] = decision.prices.as_slice() else { panic!("{:?}", decision.prices) };
    assert!((price.ratio - 0.8).abs() < 0.01, "{price:?}");
    assert!(decision.choice.sentences[0].starts_with("Set on (SMT on, all CPUs)"));
    assert!(decision.choice.sentences.iter().any(|text| text.starts_with("It costs:")));
}

#[test]
fn a_licence_by_thread_turns_the_choice() {
    let plan = plan(&[row("a", "a")]);
    let readings = readings(&plan, 10, seconds(0.8));
    let decision = decided(&plan, &readings, Some(Licence::PerThread));
    assert_eq!(decision.choice.arm.as_deref(), Some("one-per-core"));
    assert_eq!(decision.choice.measure, Measure::Licence(Licence::PerThread));
    let by_core = decided(&plan, &readings, Some(Licence::PerCore));
    assert_eq!(by_core.choice.arm.as_deref(), Some("on"));
}

#[test]
fn no_difference_and_no_answer_are_told_apart() {
    let plan = plan(&[row("a", "a")]);
    let same = decided(&plan, &readings(&plan, 12, seconds(1.0)), None);
    assert_eq!(same.choice.arm.as_deref(), Some("one-per-core"));
    assert!(same.choice.sentences[0].contains("no difference"), "{:?}", same.choice);
    let wild =
        readings(&plan, 8, |block, arm, _| 10.0 + f64::from((block * 5 + arm as u32 * 3) % 7));
    let open = decided(&plan, &wild, None);
    assert_eq!((open.choice.arm, open.choice.threads), (None, None));
    assert!(open.choice.sentences[0].starts_with("Change nothing yet"));
}

#[test]
fn smt_that_hurts_is_not_set() {
    let plan = plan(&[row("a", "a")]);
    let decision = decided(&plan, &readings(&plan, 10, seconds(1.2)), None);
    assert_eq!(decision.choice.arm.as_deref(), Some("one-per-core"));
    assert!(decision.choice.sentences[0].contains("less work per second"), "{:?}", decision.choice);
}

#[test]
fn tails_and_energy_are_compared_where_readings_have_them() {
    let plan = plan(&[row("a", "a")]);
    let mut readings = readings(&plan, 10, seconds(0.8));
    let metric =
        |value: f64, unit: &str| Metric { value, unit: unit.to_owned(), better: Better::Lower };
    for reading in &mut readings {
        let on = &*reading.arm == "on";
        let metrics = Arc::make_mut(&mut reading.metrics);
        // Tails twice as long, and the same power: a run of a second takes 50 J in either arm.
        metrics.insert("read_p99_us".to_owned(), metric(if on { 200.0 } else { 100.0 }, "µs"));
        metrics.insert("write_p99_us".to_owned(), metric(if on { 400.0 } else { 200.0 }, "µs"));
        metrics.insert("read_p50_us".to_owned(), metric(5.0, "µs"));
        metrics.insert(ENERGY_METRIC.to_owned(), metric(50.0, "J"));
    }
    // A kind of call that one reading lacks is left out of all.
    Arc::make_mut(&mut readings[3].metrics).remove("write_p99_us");
    let decision = decided(&plan, &readings, None);
    let (tail, verdict) = ratio(&decision, Measure::Tail);
    assert!((tail - 0.5).abs() < 1e-9 && verdict == Some(Verdict::Hurts), "{tail}");
    let (energy, _) = ratio(&decision, Measure::Energy);
    assert!((energy - 1.25).abs() < 0.01, "{energy}");
    let costs = &decision.choice.sentences[1];
    assert!(costs.contains("50.0 % less speed of the slowest 1 % of calls"), "{costs}");
    // One effect, one number: every percentage of the sentence stands in the table.
    let numbers = costs.split(" % less").filter_map(|part| part.rsplit(' ').next());
    for number in numbers.filter(|word| word.parse::<f64>().is_ok()) {
        let shown = |ratio: f64| format!("{:.1}", 100.0 * (ratio - 1.0).abs());
        assert!(
            decision.worth.iter().any(|worth| shown(worth.ratio) == number),
            "{number}: {costs}"
        );
    }
}

#[test]
fn going_without_smt_and_core_scheduling_have_a_price() {
    let rates = PlanRow { better: Better::Higher, ..row("a", "a") };
    let mut plan = plan(&[rates]);
    plan.arms = vec![
        arm("off", ArmState::Off, 4),
        arm("on", ArmState::On, 8),
        arm("cookies", ArmState::CoreSched, 8),
    ];
    plan.reference_arm = "off".to_owned();
    let readings = readings(&plan, 12, |block, arm, _| {
        [100.0, 125.0, 110.0][arm] * (1.0 + 0.003 * f64::from((block + arm as u32) % 4))
    });
    let decision = decided(&plan, &readings, None);
    let prices: Vec<(&str, f64)> =
        decision.prices.iter().map(|price| (price.what.as_str(), price.ratio)).collect();
    assert_eq!(prices.len(), 2, "{prices:?}");
    assert!(prices[0].0 == "going without SMT" && (prices[0].1 - 0.8).abs() < 0.01, "{prices:?}");
    assert!(prices[1].0 == "core scheduling" && (prices[1].1 - 0.88).abs() < 0.01, "{prices:?}");
    assert_eq!(decision.choice.arm.as_deref(), Some("on"));
}

#[test]
fn a_screening_decides_nothing() {
    let mut plan = plan(&[row("a", "a")]);
    plan.rules.protocol = coretwin_base::study::plan::Protocol::Quick;
    let readings = readings(&plan, 3, seconds(0.8));
    let summary = analyse(&plan, &readings, StoppedBecause::Blocks);
    assert_eq!(decide(&plan, &readings, &summary, None), None);
}

/// A prediction is no reason to set anything, and has no verdict; an emulator's times are not even that.
#[test]
fn what_nobody_measured_is_advised_as_such() {
    let mut plan = plan(&[row("a", "a")]);
    plan.origin = Some(Origin::Simulated);
    let made = readings(&plan, 10, seconds(0.8));
    for (licence, arm) in [(None, "on"), (Some(Licence::PerThread), "one-per-core")] {
        let decision = decided(&plan, &made, licence);
        assert_eq!(decision.choice.arm.as_deref(), Some(arm));
        assert!(decision.worth.iter().all(|worth| worth.verdict.is_none()));
        let first = &decision.choice.sentences[0];
        assert!(first.starts_with("Predicted best, to be measured before it is set: "), "{first}");
    }
    plan.origin = Some(Origin::Emulated);
    let summary = analyse(&plan, &made, StoppedBecause::Blocks);
    assert_eq!(decide(&plan, &made, &summary, None), None);
}

#[test]
fn a_study_that_was_stopped_sets_nothing() {
    let mut plan = plan(&[row("a", "a")]);
    plan.rules.looks = vec![12];
    let made = readings(&plan, 10, seconds(0.8));
    let summary = analyse(&plan, &made, StoppedBecause::Interrupted);
    for licence in [None, Some(Licence::PerThread)] {
        let decision = decide(&plan, &made, &summary, licence).expect("a decision");
        assert_eq!(decision.choice.arm, None);
        let first = &decision.choice.sentences[0];
        assert!(first.starts_with("Change nothing yet: the study was stopped"), "{first}");
        assert!(decision.worth.iter().all(|worth| worth.verdict.is_none()), "{licence:?}");
    }
}

#[test]
fn a_control_is_nothing_to_set_and_one_that_differs_leaves_nothing_to_decide() {
    let mut plan = plan(&[row("a", "a")]);
    let again = arm("one-per-core/again", ArmState::OnePerCore, 4);
    plan.arms.push(PlanArm { control: true, ..again });
    let with = |control: f64| {
        readings(&plan, 10, move |block, arm, row| {
            seconds(0.8)(block, arm % 2, row) * if arm == 2 { control } else { 1.0 }
        })
    };
    let decision = decided(&plan, &with(1.0), None);
    assert_eq!(decision.choice.arm.as_deref(), Some("on"));
    assert!(decision.worth.iter().all(|worth| worth.arm == "on"), "{:?}", decision.worth);
    let odd = with(0.7);
    let summary = analyse(&plan, &odd, StoppedBecause::Blocks);
    assert_eq!(decide(&plan, &odd, &summary, None), None);
}

#[test]
fn a_licence_by_package_counts_the_packages_of_an_arm() {
    let mut plan = plan(&[row("a", "a")]);
    // CPUs 0-3 in one package, 4-7 in the other: `on` does 1.6 times the work with two licences, on
    // eight threads for three.
    plan.topology = Topology::regular(2, 2, 2);
    plan.arms[0].cpus = CpuSet::parse("0-2").expect("a list");
    let decision =
        decided(&plan, &readings(&plan, 10, seconds(1.0 / 1.6)), Some(Licence::PerPackage));
    let (ratio, verdict) = ratio(&decision, Measure::Licence(Licence::PerPackage));
    assert!((ratio - 0.8).abs() < 0.01 && verdict == Some(Verdict::Hurts), "{ratio}");
    assert_eq!(decision.choice.arm.as_deref(), Some("one-per-core"));
}
