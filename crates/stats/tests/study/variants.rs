//! Commands against commands, in one arm or in several, with a control or without.

use crate::fixture::{arm, plan, readings, row};
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::plan::{Comparison, Plan, PlanArm, Variant};
use coretwin_base::study::summary::{StoppedBecause, Summary, Verdict};
use coretwin_stats::study::{analyse, foremost, headlines, interactions, machine_effects};

const BLOCKS: u32 = 8;

fn variant(label: &str, state: ArmState, name: &str, against: Option<&str>) -> PlanArm {
    PlanArm {
        variant: Some(Variant { name: name.to_owned(), ..Variant::default() }),
        against: against.map(str::to_owned),
        ..arm(label, state, 4)
    }
}

/// Two commands in two states of the machine.
fn crossed() -> Plan {
    let mut plan = plan(&[row("command", "command")]);
    plan.comparison = Comparison::StandIn;
    plan.arms = vec![
        variant("one-per-core/old", ArmState::OnePerCore, "old", None),
        variant("one-per-core/new", ArmState::OnePerCore, "new", None),
        variant("on/old", ArmState::On, "old", None),
        variant("on/new", ArmState::On, "new", Some("on/old")),
    ];
    plan.reference_arm = plan.arms[0].label.clone();
    plan.orders = (0..plan.blocks_max()).map(|_| (0..4).collect()).collect();
    plan.check().expect("a sound plan");
    plan
}

/// One state, and the reference once more.
fn with_control() -> Plan {
    let mut plan = plan(&[row("command", "command")]);
    plan.arms = vec![
        variant("old", ArmState::On, "old", None),
        variant("new", ArmState::On, "new", None),
        PlanArm { control: true, ..variant("old/again", ArmState::On, "old", None) },
    ];
    plan.reference_arm = plan.arms[0].label.clone();
    plan.orders = (0..plan.blocks_max()).map(|_| (0..3).collect()).collect();
    plan
}

/// What seconds of these sizes come to, each off by a ripple of a thousandth.
fn of_sizes(plan: &Plan, sizes: &[f64]) -> Summary {
    let all = readings(plan, BLOCKS, |block, arm, _| {
        let wave = f64::from((block * 5 + arm as u32 * 3) % 7) - 3.0;
        sizes[arm] * (0.001 * wave).exp()
    });
    analyse(plan, &all, StoppedBecause::Target)
}

fn ratio(summary: &Summary, arm: &str) -> f64 {
    let row = summary.rows.iter().find(|row| row.arm == arm).expect(arm);
    row.ratio.expect(arm)
}

#[test]
fn each_command_is_compared_with_the_first_of_its_own_arm() {
    let plan = crossed();
    let sizes = [10.0, 8.0, 6.0, 5.5];
    let summary = of_sizes(&plan, &sizes);
    for (arm, wanted) in
        [("one-per-core/new", 10.0 / 8.0), ("on/old", 10.0 / 6.0), ("on/new", 6.0 / 5.5)]
    {
        let found = ratio(&summary, arm);
        assert!((found / wanted - 1.0).abs() < 0.002, "{arm}: {found} {wanted}");
    }
    let heads = headlines(&plan, &summary);
    let said: Vec<(&str, &str)> = heads.iter().map(|one| (&*one.reference, one.word)).collect();
    let wanted =
        [("one-per-core/old", "FASTER"), ("one-per-core/old", "HELPS"), ("on/old", "FASTER")];
    assert_eq!(said, wanted);
    assert_eq!(foremost(&heads), 0, "the question is which command");
    assert!(
        heads[2].sentence().starts_with("FASTER: choose on/new: 9."),
        "{}",
        heads[2].sentence()
    );
    assert!(!heads[2].sentence().contains("SMT"), "{}", heads[2].sentence());
    let all = readings(&plan, BLOCKS, |_, arm, _| sizes[arm]);
    let effects = machine_effects(&plan, &all).effects;
    let of_new = effects.iter().find(|effect| &*effect.arm == "on/new").expect("an effect");
    assert_eq!((&*of_new.reference, of_new.value_reference.round()), ("on/old", 6.0));
}

#[test]
fn the_interaction_is_the_ratio_of_what_a_command_gains_here_and_there() {
    let plan = crossed();
    let summary = of_sizes(&plan, &[10.0, 8.0, 6.0, 5.5]);
    let [interaction] = summary.interactions.as_slice() else { panic!("{summary:?}") };
    let found = interaction.effect.ratio.expect("a ratio");
    let wanted = ratio(&summary, "on/new") / ratio(&summary, "one-per-core/new");
    assert!((found / wanted - 1.0).abs() < 1e-12, "{found} {wanted}");
    assert!(interaction.effect.low < Some(found) && Some(found) < interaction.effect.high);
    assert_eq!(interaction.effect.verdict, Some(Verdict::Hurts), "it gains less with siblings");
    let said = interactions(&plan, &summary).remove(0);
    assert!(said.starts_with("GAINS LESS: new over old −12.7 % (−1"), "{said}");
    assert!(said.ends_with(" %), on beside one-per-core"), "{said}");
    let alike = of_sizes(&plan, &[10.0, 8.0, 6.0, 4.8]);
    let verdict = alike.interactions[0].effect.verdict;
    assert_eq!(verdict, Some(Verdict::NoMaterialDifference));
    assert!(of_sizes(&with_control(), &[1.0, 1.0, 1.0]).interactions.is_empty());
}

#[test]
fn a_reference_that_differs_from_itself_takes_every_verdict_back() {
    let plan = with_control();
    let good = of_sizes(&plan, &[10.0, 9.0, 10.0]);
    assert_eq!(good.rows[0].verdict, Some(Verdict::Helps));
    assert_eq!(good.rows[1].verdict, Some(Verdict::NoMaterialDifference));
    assert!(good.sentences[1].starts_with("Control, old once more as old/again"), "{good:?}");
    let bad = of_sizes(&plan, &[10.0, 9.0, 9.5]);
    assert_eq!((bad.rows[0].verdict, bad.suites[0].verdict), (None, None));
    assert!(bad.warnings.iter().any(|warning| warning.kind == "control-differs"));
    let head = headlines(&plan, &bad).remove(0);
    let sentence = head.sentence();
    assert!(sentence.starts_with("NO VERDICT, for the control differs from itself"), "{sentence}");
    assert!(sentence.split_whitespace().count() <= coretwin_stats::study::WORDS_MAX, "{sentence}");
    assert_eq!(ratio(&bad, "new"), ratio(&good, "new"), "the figures stay");
}

#[test]
fn a_plan_whose_arm_is_compared_with_nothing_is_refused() {
    for other in ["nothing", "on/new"] {
        let mut plan = crossed();
        plan.arms[3].against = Some(other.to_owned());
        let error = plan.check().expect_err(other);
        assert!(error.contains("on/new cannot be compared"), "{error}");
    }
}
