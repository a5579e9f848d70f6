//! The analysis of a fleet: what is taken together, who is named, what is said.

#[path = "fleet/support.rs"]
mod support;

use coretwin_base::fleet::summary::FleetSummary;
use coretwin_base::fleet::{Fleet, Member, MemberState, Refused};
use coretwin_base::origin::Origin;
use coretwin_base::random::Stream;
use coretwin_base::study::plan::Comparison;
use coretwin_base::study::summary::Verdict;
use coretwin_stats::fleet::{Weights, analyse};
use std::collections::BTreeMap;
use support::{effect, member};

/// Machines of two models: chat gains 20 % on the first and loses 5 % on the second.
fn two_models() -> Fleet {
    let mut noise = Stream::new(1, "fleet", 0);
    let mut members = Vec::new();
    for number in 0..24 {
        let (model, mean) = if number < 12 { ("Alpha", 0.18) } else { ("Beta", -0.05) };
        let mut near = |mean: f64| mean + 0.02 * (noise.unit() - 0.5);
        let effects =
            vec![effect("chat:rooms=10", near(mean), 0.004), effect("tbench", near(0.05), 0.004)];
        members.push(member(number, model, effects));
    }
    Fleet { members, refused: Vec::new() }
}

fn line<'a>(
    summary: &'a FleetSummary,
    model: Option<&str>,
    row: &str,
) -> &'a coretwin_base::fleet::summary::FleetEffect {
    summary
        .effects
        .iter()
        .find(|line| line.cpu_model.as_deref() == model && *line.row == *row)
        .expect("such a line")
}

#[test]
fn models_are_told_apart_and_taken_together() {
    let summary = analyse(&two_models(), None);
    assert_eq!((summary.machines, summary.studies, summary.models.len()), (24, 24, 2));
    let alpha = line(&summary, Some("Alpha"), "chat:rooms=10");
    assert!((1.18..1.22).contains(&alpha.effect), "{alpha:?}");
    assert_eq!((alpha.machines, alpha.blocks), (12, 120));
    assert_eq!((alpha.verdict, alpha.next), (Some(Verdict::Helps), Some(Verdict::Helps)));
    let beta = line(&summary, Some("Beta"), "chat:rooms=10");
    assert_eq!((beta.verdict, beta.next), (Some(Verdict::Hurts), Some(Verdict::Hurts)));
    // Over both the mean says little of the next machine, and the analysis says so.
    let both = line(&summary, None, "chat:rooms=10");
    assert_eq!((both.machines, both.next), (24, Some(Verdict::Inconclusive)));
    assert!(both.share_between.expect("several machines") > 0.95);
    // The suite over both rows: first over all models, then by model.
    let suites: Vec<_> = summary.suites.iter().map(|suite| suite.cpu_model.clone()).collect();
    assert_eq!(suites, [None, Some("Alpha".into()), Some("Beta".into())]);
    let expected = (alpha.effect * line(&summary, Some("Alpha"), "tbench").effect).sqrt();
    assert!((summary.suites[1].effect - expected).abs() < 1e-3, "{:?}", summary.suites[1]);
    assert_eq!(summary.sentences.len(), 1);
    assert!(
        summary.sentences[0].contains("24 machines of 2 CPU models")
            && summary.sentences[0].contains("By model: Alpha +"),
        "{:?}",
        summary.sentences
    );
}

#[test]
fn the_order_of_members_changes_nothing() {
    let fleet = two_models();
    let mut turned = fleet.clone();
    turned.members.reverse();
    assert_eq!(analyse(&fleet, None), analyse(&turned, None));
}

#[test]
fn the_odd_machine_is_named_with_its_rows() {
    let mut fleet = two_models();
    for effect in &mut fleet.members[5].effects {
        effect.mean -= 0.3;
    }
    let summary = analyse(&fleet, None);
    let [odd] = summary.outliers.as_slice() else { panic!("{:?}", summary.outliers) };
    assert_eq!((&*odd.name, odd.rows_unlike, odd.rows_looked_at), ("node-5", 2, 2));
    assert!(odd.effect < odd.expected_low, "{odd:?}");
    assert_eq!(line(&summary, Some("Alpha"), "tbench").outliers, 1);
    assert_eq!(analyse(&two_models(), None).outliers, []);
}

#[test]
fn a_fleet_of_one_says_what_its_study_says() {
    let fleet = Fleet {
        members: vec![member(1, "Alpha", vec![effect("chat", 0.1, 0.01)])],
        refused: Vec::new(),
    };
    let summary = analyse(&fleet, None);
    let only = line(&summary, Some("Alpha"), "chat");
    let t = coretwin_stats::student::critical(coretwin_stats::confidence::CONFIDENCE, 9.0);
    let (low, high) = (only.low.expect("interval"), only.high.expect("interval"));
    assert!((low.ln() - (0.1 - t * 0.01)).abs() < 1e-6, "{low}");
    assert!((high.ln() - (0.1 + t * 0.01)).abs() < 1e-6, "{high}");
    assert_eq!((only.next_low, only.between), (None, None));
    assert_eq!(only.verdict, Some(Verdict::Helps));
    assert!(summary.warnings.iter().any(|warning| warning.kind == "few-machines"));
}

#[test]
fn a_machine_that_was_only_screened_has_no_verdict_and_two_machines_do() {
    let screened = |number| Member {
        is_screening: true,
        ..member(number, "Alpha", vec![effect("chat", 0.1, 0.01)])
    };
    let mut fleet = Fleet { members: vec![screened(1)], refused: Vec::new() };
    let summary = analyse(&fleet, None);
    assert_eq!(line(&summary, Some("Alpha"), "chat").verdict, None);
    assert!(summary.warnings.iter().any(|warning| warning.kind == "screening"));
    // Between machines there is a spread of its own.
    fleet.members.push(screened(2));
    let verdict = line(&analyse(&fleet, None), Some("Alpha"), "chat").verdict;
    assert!(verdict.is_some(), "{verdict:?}");
    // A study in full beside the screening of the same machine decides.
    fleet.members[1] = member(1, "Alpha", vec![effect("chat", 0.1, 0.01)]);
    let verdict = line(&analyse(&fleet, None), Some("Alpha"), "chat").verdict;
    assert_eq!(verdict, Some(Verdict::Helps));
}

#[test]
fn a_fleet_in_which_nothing_was_compared_says_so() {
    let fleet = Fleet { members: vec![member(1, "Alpha", Vec::new())], refused: Vec::new() };
    let summary = analyse(&fleet, None);
    assert!(summary.sentences[0].starts_with("Nothing could be compared on 1 machine"));
}

#[test]
fn two_studies_of_one_machine_are_one_machine() {
    let mut fleet = two_models();
    let again = Member { plan: "other".into(), ..fleet.members[0].clone() };
    fleet.members.push(again);
    let summary = analyse(&fleet, None);
    assert_eq!((summary.machines, summary.studies), (24, 25));
    let alpha = line(&summary, Some("Alpha"), "tbench");
    assert_eq!((alpha.machines, alpha.blocks), (12, 130));
    assert!(summary.warnings.iter().any(|warning| warning.kind == "several-plans"));
}

#[test]
fn what_is_missing_mixed_or_odd_is_said() {
    let mut fleet = two_models();
    fleet.refused = vec![Refused { file: "x.tar.gz".to_owned(), reason: "torn".to_owned() }];
    fleet.members[3].state = MemberState::Partial("time limit".to_owned());
    fleet.members[4].bundle_schema = 0;
    fleet.members[6].comparison = Comparison::StandIn;
    // Numbers that are none are left out, not spread.
    fleet.members[7].effects[0].mean = f64::NAN;
    fleet.members[8].effects[0].standard_error = 0.0;
    fleet.members[9].effects[0].degrees = 0.0;
    let summary = analyse(&fleet, None);
    let kinds: Vec<&str> = summary.warnings.iter().map(|warning| warning.kind.as_str()).collect();
    assert_eq!(kinds, ["refused", "partial", "mixed-schemas", "mixed-comparisons"]);
    let alpha = line(&summary, Some("Alpha"), "chat:rooms=10");
    assert_eq!(alpha.machines, 11);
    assert!((1.1..1.3).contains(&alpha.effect) && alpha.low.is_some(), "{alpha:?}");
    let nothing = analyse(&Fleet::default(), None);
    assert_eq!((nothing.machines, nothing.effects.len(), nothing.sentences.len()), (0, 0, 0));
}

#[test]
fn weights_make_the_means_of_the_report() {
    let mut fleet = two_models();
    // One machine of Beta was studied twice, and one effect is no number.
    let mut again = fleet.members[20].clone();
    again.plan = "another".into();
    again.effects[0].mean += 0.1;
    again.effects[0].blocks = 5;
    fleet.members.push(again);
    fleet.members[3].effects[1].mean = f64::NAN;
    let summary = analyse(&fleet, None);
    let weights = Weights::new(&fleet);
    let mut sums: BTreeMap<(String, String), (f64, f64)> = BTreeMap::new();
    for member in &fleet.members {
        for effect in &member.effects {
            let Some(share) = weights.share(member, effect) else { continue };
            let key = (member.cpu_model.to_string(), effect.row.to_string());
            let (weight, mean) = sums.entry(key).or_default();
            *weight += share;
            *mean += share * effect.mean;
        }
    }
    assert_eq!(sums.len(), 4);
    for ((model, row), (weight, mean)) in sums {
        let expected = line(&summary, Some(&model), &row).effect;
        assert!((weight - 1.0).abs() < 1e-12, "{model} {row}: {weight}");
        assert!((mean.exp() / expected - 1.0).abs() < 1e-12, "{model} {row}: {mean} {expected}");
    }
}

#[test]
fn what_is_measured_and_what_is_not_never_make_one_effect() {
    let mut fleet = two_models();
    // One model, of which every second machine is simulated.
    for (index, member) in fleet.members.iter_mut().enumerate() {
        member.cpu_model = "Alpha".into();
        if index % 2 == 1 {
            member.origin = Origin::Simulated;
        }
    }
    let summary = analyse(&fleet, None);
    assert_eq!(summary.origin, None);
    assert!(summary.effects.iter().all(|effect| effect.machines == 12), "{:?}", summary.effects);
    assert_eq!(summary.sentences.len(), 2);
    for effect in summary.suites.iter().chain(&summary.effects) {
        let measured = effect.origin == Origin::Measured;
        assert_eq!((effect.verdict.is_some(), effect.next.is_some()), (measured, measured));
    }
    let predicted = &summary.sentences[1];
    assert!(
        predicted.starts_with("PREDICTED: ") && predicted.contains("(seed spread "),
        "{predicted}"
    );
    assert!(
        !predicted.contains(&coretwin_stats::confidence::interval())
            && !predicted.contains("HELPS"),
        "{predicted}"
    );
    assert!(summary.warnings.iter().any(|warning| warning.kind == "mixed-origins"));
}
