//! Two fleets compared: what is taken from machines of both, what is told of machines, when there is no
//! verdict.

#[path = "fleet/support.rs"]
mod support;

use coretwin_base::fleet::comparison::{FleetChange, FleetComparison};
use coretwin_base::fleet::{Effect, Fleet, Member};
use coretwin_base::random::Stream;
use coretwin_base::study::comparison::Change;
use coretwin_base::study::plan::Comparison;
use coretwin_stats::fleet::comparison::{FleetRecords, compare_fleets};
use support::{effect, member};

fn compared(first: &Fleet, second: &Fleet) -> FleetComparison {
    let records = |head, fleet| FleetRecords { head, folder: head, fleet };
    compare_fleets([&records("old", first), &records("new", second)], None).expect("comparable")
}

/// Machines of two models, whose effects differ by a tenth between machines and stay what they are;
/// `change` is added to the log ratio of each row.
fn fleet(numbers: std::ops::Range<u32>, change: [f64; 2]) -> Fleet {
    let members = numbers.map(|number| {
        let model = if number % 2 == 0 { "Alpha" } else { "Beta" };
        let own = 0.2 * (Stream::new(7, "machine", number.into()).unit() - 0.5);
        let mut noise =
            Stream::new(8, "fleet comparison", (number * 3 + u32::from(change[0] != 0.0)).into());
        let mut near = |mean: f64| mean + own + 0.004 * (noise.unit() - 0.5);
        let effects = vec![
            effect("chat:rooms=10", near(0.2 + change[0]), 0.002),
            effect("tbench", near(0.1 + change[1]), 0.002),
        ];
        Member { bundle: format!("{number} {change:?}").into(), ..member(number, model, effects) }
    });
    Fleet { members: members.collect(), refused: Vec::new() }
}

fn line<'a>(comparison: &'a FleetComparison, model: Option<&str>, row: &str) -> &'a FleetChange {
    let wanted = |line: &&FleetChange| line.cpu_model.as_deref() == model && *line.row == *row;
    comparison.effects.iter().find(wanted).expect("such a line")
}

#[test]
fn machines_of_both_show_a_change_that_two_samples_would_not() {
    let (old, new) = (fleet(0..12, [0.0, 0.0]), fleet(0..12, [-0.05, 0.0]));
    let comparison = compared(&old, &new);
    assert_eq!(comparison.machines_paired, 12);
    for model in [None, Some("Alpha"), Some("Beta")] {
        let chat = line(&comparison, model, "chat:rooms=10");
        assert_eq!(chat.change.change, Some(Change::Worse), "{chat:?}");
        assert!(chat.change.is_regression(comparison.confidence), "{chat:?}");
        let ratio = chat.change.ratio.expect("ratio");
        assert!((ratio.ln() + 0.05).abs() < 0.004, "{ratio}");
        let tbench = line(&comparison, model, "tbench");
        assert_eq!(tbench.change.change, Some(Change::NoMaterialChange), "{tbench:?}");
    }
    assert_eq!(line(&comparison, Some("Alpha"), "tbench").machines_paired, 6);
    // Two rows in both: a suite over all models, and one for each.
    let models: Vec<_> = comparison.suites.iter().map(|suite| suite.cpu_model.clone()).collect();
    assert_eq!(models, [None, Some("Alpha".into()), Some("Beta".into())]);
    let suite = comparison.suites[0].change.ratio.expect("ratio");
    assert!((suite.ln() + 0.025).abs() < 0.003, "{suite}");
    assert!(comparison.sentences[0].contains("(WORSE)"), "{:?}", comparison.sentences);
    assert!(comparison.sentences[0].contains("12 machines against themselves"));

    // Other machines of the same kinds: the same change is lost among what machines are like.
    let comparison = compared(&old, &fleet(20..32, [-0.05, 0.0]));
    let chat = line(&comparison, None, "chat:rooms=10");
    assert_eq!((chat.machines_paired, chat.machines_independent), (0, [12, 12]));
    assert_eq!(chat.change.change, Some(Change::Inconclusive), "{chat:?}");
    assert!(comparison.warnings.iter().any(|warning| warning.kind == "other-machines"));
}

#[test]
fn what_changed_on_machines_is_told_machine_by_machine() {
    let mut old = fleet(0..6, [0.0, 0.0]);
    let mut new = fleet(1..7, [0.01, 0.0]);
    for (fleet, kernel) in [(&mut old, "6.1"), (&mut new, "6.12")] {
        for member in &mut fleet.members {
            member.facts.insert("kernel.release".into(), kernel.into());
            member.facts.insert("cpu.model".into(), member.cpu_model.clone());
            member.facts.insert("clock.source".into(), "tsc".into());
        }
    }
    new.members[0].facts.insert("clock.source".into(), "hpet".into());
    let comparison = compared(&old, &new);
    let [kernel, clock] = comparison.facts.as_slice() else { panic!("{:?}", comparison.facts) };
    assert_eq!(
        (&*kernel.fact, kernel.machines.len(), kernel.foremost),
        ("kernel.release", 5, true)
    );
    assert_eq!(kernel.values.clone(), [Some("6.1".into()), Some("6.12".into())]);
    assert_eq!((&*clock.fact, clock.machines.as_slice()), ("clock.source", &["node-1".into()][..]));
    assert_eq!(comparison.facts_same, 1);
    // Node 0 left, node 6 came: both of one model, so the kernel alone is in other shares.
    let mixed: Vec<&str> = comparison.mixtures.iter().map(|mixture| &*mixture.fact).collect();
    assert_eq!(mixed, ["kernel.release"]);
    assert_eq!(comparison.mixtures[0].values[1].get(&"6.12".into()), Some(&6));
    assert_eq!(comparison.fleets[0].machines_only, ["node-0"]);
    assert_eq!(comparison.fleets[1].machines_only, ["node-6"]);
}

#[test]
fn rows_and_arms_of_one_alone_are_named_and_suites_are_of_the_same_rows() {
    let old = fleet(0..4, [0.0, 0.0]);
    let mut new = fleet(0..4, [0.01, 0.01]);
    for member in &mut new.members {
        member.effects.push(effect("dbench", 0.3, 0.002));
        member.effects[1].unit = "MB/s".into();
        member.effects.push(Effect { arm: "packed".into(), ..effect("chat:rooms=10", 0.1, 0.002) });
    }
    // A row that one machine lacks is in no suite.
    let comparison = compared(&old, &new);
    assert_eq!(comparison.suites, []);
    assert_eq!(comparison.fleets[0].rows_only, ["tbench (1/s)"]);
    assert_eq!(comparison.fleets[1].rows_only, ["dbench (1/s)", "tbench (MB/s)"]);
    assert_eq!(comparison.fleets[1].arms_only, ["packed against off"]);
    let mut lacking = fleet(0..4, [0.01, 0.01]);
    lacking.members[2].effects.remove(1);
    let comparison = compared(&old, &lacking);
    assert!(comparison.suites.iter().all(|suite| suite.cpu_model.as_deref() == Some("Beta")));
    assert_eq!(line(&comparison, Some("Alpha"), "tbench").machines_paired, 1);
    let nothing = Fleet {
        members: vec![member(9, "Alpha", vec![effect("dbench", 0.3, 0.002)])],
        refused: Vec::new(),
    };
    let records = |head, fleet| FleetRecords { head, folder: head, fleet };
    let error = compare_fleets([&records("old", &old), &records("other", &nothing)], None);
    let text = error.expect_err("nothing in common").to_string();
    assert!(text.contains("old has chat:rooms=10") && text.contains("other has dbench"), "{text}");
}

#[test]
fn the_same_bundles_and_other_questions_get_no_verdict() {
    let old = fleet(0..4, [0.0, 0.0]);
    let same = compared(&old, &old.clone());
    assert_eq!(same.warnings[0].kind, "same-fleet");
    assert!(same.effects.iter().all(|line| line.change.change.is_none()));
    let mut other = fleet(0..4, [-0.05, 0.0]);
    other.members.iter_mut().for_each(|member| member.comparison = Comparison::StandIn);
    let comparison = compared(&old, &other);
    assert_eq!(comparison.warnings[0].kind, "comparison-kind");
    assert!(comparison.effects.iter().all(|line| line.change.change.is_none()));
    assert!(comparison.sentences[0].ends_with("no verdict."), "{:?}", comparison.sentences);
    // The order of members does not matter.
    let mut turned = old.clone();
    turned.members.reverse();
    assert_eq!(compared(&turned, &other), compared(&old, &other));
}

#[test]
fn one_machine_is_compared_by_its_blocks_and_one_against_many_as_one_of_them() {
    let (old, new) = (fleet(0..1, [0.0, 0.0]), fleet(0..1, [-0.05, 0.0]));
    let comparison = compared(&old, &new);
    let chat = line(&comparison, Some("Alpha"), "chat:rooms=10");
    // Two studies of 10 blocks: errors of 0.002 each, 18 degrees of freedom.
    assert_eq!((chat.machines_paired, chat.change.change), (1, Some(Change::Worse)));
    assert!((chat.change.degrees.expect("degrees") - 18.0).abs() < 1e-6);
    let many = fleet(2..12, [0.0, 0.0]);
    let comparison = compared(&many, &new);
    let chat = line(&comparison, Some("Alpha"), "chat:rooms=10");
    assert_eq!((chat.machines_paired, chat.machines_independent), (0, [5, 1]));
    assert_eq!(chat.change.change, Some(Change::Inconclusive), "{chat:?}");
}
