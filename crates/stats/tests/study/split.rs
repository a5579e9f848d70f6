//! Siblings and threads apart, on sizes whose parts are known.

use crate::fixture::{arm, plan, readings, row};
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::plan::{Comparison, Plan, PlanArm, Split};
use coretwin_base::study::summary::{Part, StoppedBecause, Summary, Verdict};
use coretwin_stats::study::{analyse, foremost, headlines, parts_said};

fn split() -> Plan {
    let mut plan = plan(&[row("command", "command")]);
    let cell = |state: &ArmState, cpus, threads| PlanArm {
        threads,
        ..arm(&format!("{state}/{threads}"), state.clone(), cpus)
    };
    let (few, many) = (ArmState::OnePerCore, ArmState::On);
    plan.arms = vec![cell(&few, 4, 4), cell(&few, 4, 8), cell(&many, 8, 4), cell(&many, 8, 8)];
    let label = |place: usize| plan.arms[place].label.clone();
    plan.split = Some(Split { threads: label(1), siblings: label(2), both: label(3) });
    plan.reference_arm = label(0);
    plan.arms[3].against = Some(plan.arms[1].label.clone());
    plan.orders = (0..plan.blocks_max()).map(|_| (0..4).collect()).collect();
    plan.check().expect("a sound plan");
    plan
}

/// Seconds of these sizes, each off by a ripple of a thousandth.
fn of_sizes(plan: &Plan, sizes: [f64; 4]) -> Summary {
    let all = readings(plan, 8, |block, arm, _| {
        let wave = f64::from((block * 5 + arm as u32 * 3) % 7) - 3.0;
        sizes[arm] * (0.001 * wave).exp()
    });
    analyse(plan, &all, StoppedBecause::Target)
}

fn ratio(summary: &Summary, part: Part) -> f64 {
    let found = summary.split.iter().find(|one| one.part == part).expect("the part");
    found.effect.ratio.expect("a ratio")
}

#[test]
fn parts_are_those_that_were_planted_and_make_up_the_whole() {
    let summary = of_sizes(&split(), [10.0, 9.0, 9.8, 7.5]);
    for (part, wanted) in [
        (Part::Siblings, 10.0 / 9.8),
        (Part::Threads, 10.0 / 9.0),
        (Part::SiblingsMore, 9.0 / 7.5),
        (Part::Together, 10.0 / 7.5),
        (Part::Interaction, 9.0 / 7.5 / (10.0 / 9.8)),
        (Part::BesideBetter, 9.0 / 7.5),
    ] {
        let found = ratio(&summary, part);
        assert!((found / wanted - 1.0).abs() < 0.003, "{part:?}: {found} {wanted}");
        let one = summary.split.iter().find(|one| one.part == part).expect("the part");
        assert!(one.effect.low < Some(found) && Some(found) < one.effect.high, "{one:?}");
    }
    let product = ratio(&summary, Part::Threads) * ratio(&summary, Part::SiblingsMore);
    assert!((ratio(&summary, Part::Together) / product - 1.0).abs() < 1e-12);
    let product = ratio(&summary, Part::Siblings) * ratio(&summary, Part::Interaction);
    assert!((ratio(&summary, Part::SiblingsMore) / product - 1.0).abs() < 1e-12);
    assert!(summary.interactions.is_empty(), "that of commands is another");
}

#[test]
fn it_is_said_which_part_of_what_smt_seems_to_bring_is_more_threads() {
    let plan = split();
    for (sizes, verdict, begins, said) in [
        // More threads alone.
        (
            [10.0, 8.0, 10.0, 8.0],
            Verdict::NoMaterialDifference,
            "NO MATERIAL",
            "of +25.0 %, all that is shown is more threads: alone +25.0 %",
        ),
        // Siblings alone.
        (
            [10.0, 10.0, 10.0, 8.0],
            Verdict::Helps,
            "HELPS: keep SMT on",
            "of +25.0 %, nothing is shown to be more threads: alone ",
        ),
        // Of both something.
        (
            [10.0, 9.0, 10.0, 7.5],
            Verdict::Helps,
            "HELPS: keep SMT on",
            "of +33.3 %, more threads alone make +11.1 %, siblings +20.0 %",
        ),
        // Siblings make up for threads that are too many, and for no more: a trap for equal threads.
        (
            [10.0, 20.0, 10.0, 12.0],
            Verdict::Hurts,
            "HURTS: ",
            "no gain in all: −16.7 %; more threads alone −50.0 %",
        ),
        // They bear more threads than the cores do.
        (
            [10.0, 12.0, 10.0, 9.0],
            Verdict::Helps,
            "HELPS: keep SMT on",
            "of +11.1 %, nothing is more threads: alone −16.7 %",
        ),
        // They lose a part of what threads gain.
        (
            [10.0, 8.0, 10.0, 9.0],
            Verdict::Hurts,
            "HURTS: ",
            "of +11.1 %, more threads alone make +25.0 %, siblings −11.1 %",
        ),
    ] {
        let summary = of_sizes(&plan, sizes);
        let heads = headlines(&plan, &summary);
        let head = &heads[foremost(&heads)];
        let text = parts_said(&plan, &summary).remove(0);
        assert_eq!((head.verdict, &*head.arm), (Some(verdict), "on/8"), "{sizes:?} {text}");
        assert!(head.sentence().starts_with(begins), "{sizes:?} {}", head.sentence());
        assert!(text.contains(said) && text.chars().count() <= 70, "{sizes:?} {text}");
        let last = summary.sentences.last().expect("a sentence");
        assert!(last.starts_with("on/8 beside one-per-core/4: ") && last.contains(&text), "{last}");
    }
    // Beside the better of the two without siblings, which it names with its own threads.
    let summary = of_sizes(&plan, [10.0, 20.0, 10.0, 12.0]);
    let head = headlines(&plan, &summary).remove(2);
    assert_eq!(head.reference, "one-per-core/4");
    assert!(summary.sentences[2].contains("one-per-core/4 (4 threads"), "{:?}", summary.sentences);
}

#[test]
fn plain_cpus_get_no_word_on_smt() {
    let mut plan = split();
    plan.comparison = Comparison::None;
    let summary = of_sizes(&plan, [10.0, 9.0, 10.0, 7.5]);
    let head = headlines(&plan, &summary).remove(2);
    assert!(head.sentence().contains("no verdict on SMT"), "{}", head.sentence());
    let said = parts_said(&plan, &summary).join("; ");
    assert!(said.contains("more CPUs") && !said.contains("sibling"), "{said}");
}

#[test]
fn a_plan_whose_split_names_other_arms_is_refused() {
    for spoil in [
        |split: &mut Split| split.both = split.siblings.clone(),
        |split: &mut Split| split.threads = "on/9".to_owned(),
    ] {
        let mut plan = split();
        spoil(plan.split.as_mut().expect("a split"));
        assert!(plan.check().expect_err("a fault").contains("field split"));
    }
}
