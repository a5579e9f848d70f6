//! The answer in words.

use crate::fixture::{arm, plan, readings, row};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::origin::Origin;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::command::CommandSpec;
use coretwin_base::study::plan::{Comparison, CopyRule, Plan, Protocol, Rule, Scale};
use coretwin_base::study::summary::{Meaning, StoppedBecause, Verdict};
use coretwin_stats::study::{self, TITLE_WORDS_MAX, WORDS_MAX, analyse, headlines};

/// The first sentence of a study whose second arm gains that much (on the log scale), with a
/// ripple of that size.
fn sentence(plan: &Plan, blocks: u32, gain: f64, ripple: f64) -> String {
    let all = readings(plan, blocks, |block, arm, row| {
        let wave = f64::from((block * 5 + arm as u32 * 3 + row as u32) % 7) - 3.0;
        10.0 * (ripple * wave - gain * arm as f64).exp()
    });
    let mut summary = analyse(plan, &all, StoppedBecause::Target);
    // Verdicts are for what was measured.
    if plan.origin() != Origin::Measured {
        assert!(summary.rows.iter().all(|row| row.verdict.is_none()));
        assert!(summary.suites.iter().all(|suite| suite.verdict.is_none()));
    }
    summary.sentences.remove(0)
}

fn smt(reference: (&str, ArmState), other: (&str, ArmState)) -> Plan {
    let mut plan = plan(&[row("chat:rooms=20", "chat")]);
    plan.comparison = Comparison::Smt;
    let cpus = |state: &ArmState| if *state == ArmState::On { 8 } else { 4 };
    plan.arms =
        [reference, other].map(|(label, state)| arm(label, state.clone(), cpus(&state))).to_vec();
    plan.reference_arm = plan.arms[0].label.clone();
    plan
}

#[test]
fn smt_helps() {
    let plan = smt(("off", ArmState::Off), ("on", ArmState::On));
    assert_eq!(
        sentence(&plan, 8, 0.2, 0.001),
        "Keep SMT on for chat (HELPS): 22.1 % faster, by at least 21.6 % (95 % \
         interval, 8 blocks), with on (8 threads on 8 CPUs) than with off (4 threads on 4 CPUs)."
    );
}

#[test]
fn smt_hurts() {
    let plan = smt(("off", ArmState::Off), ("on", ArmState::On));
    let text = sentence(&plan, 8, -0.1, 0.001);
    assert!(
        text.starts_with("Switch SMT off for chat (HURTS): 9.6 % slower, by at least 9.2 %"),
        "{text}"
    );
}

#[test]
fn with_the_arms_exchanged_the_action_stays() {
    let plan = smt(("on", ArmState::On), ("off", ArmState::Off));
    let text = sentence(&plan, 8, -0.2, 0.001);
    assert!(text.starts_with("Keep SMT on for chat (HURTS): 18.2 % slower"), "{text}");
    let text = sentence(&plan, 8, 0.1, 0.001);
    assert!(text.starts_with("Switch SMT off for chat (HELPS): 10.5 % faster"), "{text}");
}

#[test]
fn a_stand_in_is_never_called_off() {
    let plan = plan(&[row("job", "command")]);
    for (gain, ripple, start) in [
        (0.2, 0.001, "Keep SMT on for your command (HELPS)"),
        (-0.2, 0.001, "Run your command on one CPU per core (HURTS)"),
        (0.0, 0.001, "Decide about SMT by other needs than the speed of your command"),
        (0.0, 0.02, "Measure longer before deciding for your command (INCONCLUSIVE)"),
    ] {
        let text = sentence(&plan, 8, gain, ripple);
        assert!(text.starts_with(start), "{text}");
        assert!(!text.split(|c: char| !c.is_alphabetic()).any(|word| word == "off"), "{text}");
        assert!(text.contains("one-per-core (4 threads on 4 CPUs)"), "{text}");
    }
}

#[test]
fn an_open_result_says_how_many_blocks_would_decide() {
    let plan = plan(&[row("job", "command")]);
    let text = sentence(&plan, 8, 0.01, 0.01);
    assert!(
        text.contains("slower and") && text.contains("blocks would decide, four times in five."),
        "{text}"
    );
}

#[test]
fn no_difference_names_the_margin() {
    let plan = plan(&[row("job", "command")]);
    let text = sentence(&plan, 8, 0.002, 0.001);
    assert!(text.contains("(NO MATERIAL DIFFERENCE)"), "{text}");
    assert!(text.contains("90 % interval, 8 blocks), inside the margin of 2 %."), "{text}");
}

#[test]
fn plain_cpu_sets_get_no_verdict_on_smt() {
    let mut plan = plan(&[row("job", "command")]);
    plan.comparison = Comparison::None;
    let cpus = |list: &str| ArmState::Cpus(CpuSet::parse(list).expect("a list"));
    plan.arms = vec![arm("half", cpus("0"), 1), arm("all", cpus("0-1"), 2)];
    plan.reference_arm = "half".to_owned();
    let text = sentence(&plan, 8, 0.3, 0.001);
    assert!(text.starts_with("Choose all for your command: 34.9 % faster"), "{text}");
    assert!(
        text.contains("with all (2 threads on 2 CPUs) than with half (1 thread on 1 CPU)"),
        "{text}"
    );
    assert!(text.ends_with("it is no verdict on SMT.") && !text.contains("HELPS"), "{text}");
    let text = sentence(&plan, 8, -0.3, 0.001);
    assert!(text.starts_with("Stay with half for your command:"), "{text}");
}

#[test]
fn several_families_are_listed() {
    let plan = plan(&[row("a", "chat"), row("b", "dbench")]);
    let text = sentence(&plan, 8, 0.2, 0.001);
    assert!(text.starts_with("Keep SMT on for these workloads (HELPS)"), "{text}");
    assert!(text.ends_with("By family: chat +22.1 % HELPS, dbench +22.1 % HELPS."), "{text}");
}

#[test]
fn values_that_are_no_speeds_are_better_or_worse() {
    let mut plan = plan(&[row("job", "command")]);
    plan.rows[0].unit = "MiB".to_owned();
    assert!(sentence(&plan, 8, 0.2, 0.001).contains("22.1 % better"));
    plan.rows[0].scale = Scale::Raw;
    plan.rows[0].unit = "us".to_owned();
    let text = sentence(&plan, 8, 0.2, 0.001);
    assert!(
        text.contains("for job (HELPS)") && text.contains(" us faster, by at least 1."),
        "{text}"
    );
}

#[test]
fn protocols_without_verdicts_say_so() {
    let mut plan = plan(&[row("job", "command")]);
    plan.rules.protocol = Protocol::Quick;
    let text = sentence(&plan, 3, 0.2, 0.001);
    assert!(text.starts_with("Screening only, no verdict on your command"), "{text}");
    plan.rules.protocol = Protocol::Article2003;
    let text = sentence(&plan, 5, 0.2, 0.001);
    assert!(text.contains("no interval, no verdict"), "{text}");
    plan.rules.protocol = Protocol::Fixed;
    let text = sentence(&plan, 1, 0.2, 0.001);
    assert!(text.starts_with("Too few blocks for a verdict on your command (1)"), "{text}");
}

#[test]
fn a_cpu_set_among_other_arms_gets_no_verdict_on_smt() {
    let mut plan = plan(&[row("job", "command")]);
    let set = CpuSet::parse("0").expect("a list");
    plan.arms.push(arm("x", ArmState::Cpus(set), 1));
    for protocol in [Protocol::Fixed, Protocol::Quick] {
        plan.rules.protocol = protocol;
        let all = readings(&plan, 8, |block, arm, _| 10.0 + f64::from(block % 3) + arm as f64);
        let texts = analyse(&plan, &all, StoppedBecause::Blocks).sentences;
        assert!(!texts[0].contains("no verdict on SMT"), "{}", texts[0]);
        assert!(texts[1].ends_with("it is no verdict on SMT."), "{}", texts[1]);
        assert!(!texts[1].contains("HURTS"), "{}", texts[1]);
    }
}

#[test]
fn threads_are_told_only_where_the_command_takes_them() {
    let mut plan = plan(&[row("job", "command")]);
    let command =
        |word: &str| Some(CommandSpec::plain(vec!["job".to_owned(), word.to_owned()], 1.0));
    plan.command = command("-j{threads}");
    assert!(sentence(&plan, 8, 0.2, 0.001).contains("with on (8 threads on 8 CPUs)"));
    plan.command = command("-v");
    assert!(sentence(&plan, 8, 0.2, 0.001).contains("with on (8 CPUs)"));
    plan.rows[0].copies = CopyRule::PerCpu;
    let text = sentence(&plan, 8, 0.2, 0.001);
    assert!(
        text.contains("on (8 copies on 8 CPUs) than with one-per-core (4 copies on 4"),
        "{text}"
    );
}

#[test]
fn a_mean_over_settings_of_a_command_names_their_range() {
    let mut plan = plan(&[row("threads=1", "command"), row("threads=2", "command")]);
    for row in &mut plan.rows {
        row.workload = "command".to_owned();
    }
    let all = readings(&plan, 8, |block, arm, row| {
        let noise = 1.0 + 0.001 * f64::from((block * 5 + arm as u32) % 7);
        noise * if arm == 1 { [12.5, 5.0][row] } else { 10.0 }
    });
    let text = analyse(&plan, &all, StoppedBecause::Target).sentences.remove(0);
    assert!(text.contains("over 2 settings of threads and copies (rows range from "), "{text}");
    assert!(text.contains("% slower to ") && text.contains("% faster), by at least"), "{text}");
}

#[test]
fn extreme_effects_stay_readable() {
    let plan = plan(&[row("job", "command")]);
    let text = sentence(&plan, 8, -8.0, 0.001);
    assert!(text.contains("a factor of 2,9") && !text.contains("100.0 %"), "{text}");
    let text = sentence(&plan, 8, 3.0, 0.001);
    assert!(text.contains(": 1,9") && !text.contains(".0 %"), "{text}");
    let text = sentence(&plan, 8, 0.0, 0.000_01);
    assert!(text.contains("less than 0.1 % slower or faster with on"), "{text}");
}

/// Two boots of these names, the second one without SMT.
fn boots(reference: &str, other: &str) -> Plan {
    let boot = |name: &str| ArmState::Boot(name.to_owned());
    let mut plan = smt((reference, boot(reference)), (other, boot(other)));
    plan.arms[0].smt = Some(true);
    plan.arms[1].smt = Some(false);
    plan
}

#[test]
fn boots_are_told_by_what_makes_them() {
    for (name, way) in [
        ("nosmt=force", ", by booting with nosmt=force"),
        ("firmware-b", ", as in boot firmware-b"),
        ("6.12", ", as in boot 6.12"),
        ("off", ""),
    ] {
        let text = sentence(&boots("smt", name), 8, 0.2, 0.001);
        assert!(text.starts_with(&format!("Switch SMT off for chat{way} (HELPS): ")), "{text}");
        let text = sentence(&boots("smt", name), 8, -0.2, 0.001);
        assert!(text.starts_with("Keep SMT on for chat (HURTS): "), "{text}");
    }
}

#[test]
fn boots_that_do_not_differ_in_smt_get_no_verdict_on_it() {
    let mut plan = boots("6.1", "6.12");
    plan.arms[1].smt = Some(true);
    let text = sentence(&plan, 8, 0.2, 0.001);
    assert!(text.starts_with("Choose 6.12 for chat: ") && !text.contains("HELPS"), "{text}");
    assert!(text.ends_with("This is no verdict on SMT off against on."), "{text}");
}

/// Words that are for measurements alone.
const VERDICTS: [&str; 7] =
    ["HELPS", "HURTS", "NO MATERIAL", "INCONCLUSIVE", "% interval", "confidence", "Keep SMT"];

#[test]
fn a_prediction_is_never_worded_as_a_measurement() {
    let mut plan = smt(("off", ArmState::Off), ("on", ArmState::On));
    plan.origin = Some(Origin::Simulated);
    for (gain, ripple) in [(0.2, 0.001), (-0.2, 0.001), (0.0, 0.001), (0.0, 0.02)] {
        for protocol in [Protocol::Fixed, Protocol::Quick] {
            plan.rules.protocol = protocol;
            let text = sentence(&plan, 8, gain, ripple);
            assert!(VERDICTS.iter().all(|word| !text.contains(word)), "{text}");
        }
    }
    assert_eq!(
        sentence(&plan, 8, 0.2, 0.001),
        "For chat: predicted faster by 22.1 % with on (8 threads on 8 CPUs) than with off (4 threads on \
         4 CPUs); seed spread 21.7 % faster to 22.5 % faster (8 blocks); unvalidated: no measured figure \
         stands beside this model's."
    );
    plan.origin = Some(Origin::Emulated);
    let text = sentence(&plan, 8, -0.1, 0.001);
    let start = "For chat: timed on an emulated processor slower by 9.6 % with on";
    assert!(text.starts_with(start) && text.contains("no verdict"), "{text}");
}

#[test]
fn a_study_that_was_stopped_is_interim_unless_its_rule_was_met() {
    let mut plan = plan(&[row("job", "command")]);
    plan.rules.looks = vec![12];
    let value = |block: u32, arm: usize, _| {
        10.0 * (0.001 * f64::from((block * 5 + arm as u32 * 3) % 7) - 0.2 * arm as f64).exp()
    };
    let summary =
        |plan: &Plan, blocks, stopped| analyse(plan, &readings(plan, blocks, value), stopped);
    for stopped in [StoppedBecause::Interrupted, StoppedBecause::Error, StoppedBecause::Running] {
        let five = summary(&plan, 5, stopped);
        assert!(five.interim && five.rows[0].verdict.is_none() && five.suites[0].verdict.is_none());
        let text = &five.sentences[0];
        assert!(text.starts_with("Interim, stopped after 5 of 12 blocks: no verdict on"), "{text}");
        assert!(five.rows[0].ratio.is_some() && text.contains("% faster with on"), "{text}");
        // All of its blocks were done when it was stopped.
        let all = summary(&plan, 12, stopped);
        assert!(!all.interim && all.suites[0].verdict.is_some(), "{stopped:?}");
    }
    // A budget that ends is the plan's own end.
    let five = summary(&plan, 5, StoppedBecause::Budget);
    assert!(!five.interim && five.suites[0].verdict.is_some());
    // Narrow enough at a look: its rule was met.
    plan.rules.looks = vec![8, 12];
    let narrow = summary(&plan, 8, StoppedBecause::Interrupted);
    assert!(!narrow.interim && narrow.suites[0].verdict.is_some(), "{:?}", narrow.suites);
    let between = summary(&plan, 9, StoppedBecause::Interrupted);
    assert!(between.sentences[0].starts_with("Interim, stopped after 9 of at most 12 blocks"));
}

#[test]
fn a_study_until_a_verdict_says_what_its_last_look_had_whenever_it_is_stopped() {
    let mut plan = plan(&[row("job", "command")]);
    plan.rules.until = Rule::Verdict;
    plan.rules.looks = coretwin_stats::sequence::looks(2);
    let value = |size: f64| {
        move |block: u32, arm: usize, _: usize| {
            10.0 * (0.001 * f64::from((block * 5 + arm as u32 * 3) % 7) - size * arm as f64).exp()
        }
    };
    let stopped = |blocks, size, plan: &Plan| {
        let all = readings(plan, blocks, value(size));
        let summary = analyse(plan, &all, StoppedBecause::Interrupted);
        assert_eq!((summary.rule, summary.meaning), (Rule::Verdict, Meaning::BeyondMargin));
        assert!(!summary.interim);
        (study::look(plan, &all), summary)
    };
    for protocol in [Protocol::Modern, Protocol::Quick] {
        plan.rules.protocol = protocol;
        for (blocks, size, said) in [
            (5, 0.2, Verdict::Helps),
            (5, -0.2, Verdict::Hurts),
            (8, 0.0, Verdict::NoMaterialDifference),
            (5, 0.02, Verdict::Inconclusive),
        ] {
            let (look, summary) = stopped(blocks, size, &plan);
            assert_eq!((look.blocks_complete, summary.blocks), (blocks, blocks / 4 * 4));
            let suite = &summary.suites[0];
            assert_eq!((suite.verdict, suite.low_90), (Some(said), None), "{size}");
            assert_eq!(summary.rows[0].verdict, Some(said));
            assert_eq!((summary.rows[0].low, summary.rows[0].high), (suite.low, suite.high));
            let text = &summary.sentences[0];
            assert!(text.contains("95 % confidence sequence"), "{text}");
            let is_beyond = matches!(said, Verdict::Helps | Verdict::Hurts);
            assert_eq!(text.contains("beyond the margin of 2 %"), is_beyond, "{text}");
        }
    }
    // Above none and not surely above the margin: by width it helps.
    let (look, summary) = stopped(8, 0.021, &plan);
    assert!(summary.suites[0].low.is_some_and(|low| low > 1.01) && look.due && !look.satisfied);
    plan.rules.until = Rule::Width;
    plan.rules.protocol = Protocol::Modern;
    plan.rules.looks = vec![8, 12];
    let by_width = analyse(&plan, &readings(&plan, 8, value(0.021)), StoppedBecause::Target);
    assert_eq!(by_width.suites[0].verdict, Some(Verdict::Helps));
    assert_eq!(by_width.meaning, Meaning::ExcludesNone);
}

#[test]
fn a_study_until_a_verdict_is_enough_at_the_first_balanced_set_that_decides() {
    let mut plan = plan(&[row("quiet", "f"), row("loud", "f")]);
    plan.rules.until = Rule::Verdict;
    plan.rules.looks = coretwin_stats::sequence::looks(2);
    let value = |block: u32, arm: usize, row: usize| {
        let noise = f64::from((block * 5 + arm as u32 * 3) % 7) * [0.0003, 0.01][row];
        10.0 * (noise - 0.2 * arm as f64).exp()
    };
    let look = |blocks| study::look(&plan, &readings(&plan, blocks, value));
    let three = look(3);
    assert!(!three.satisfied && !three.due && three.cells[0].low.is_none());
    let first = (4..=240u32).find(|&blocks| look(blocks).satisfied && look(blocks).due);
    assert!(first.is_some_and(|blocks| blocks.is_multiple_of(4)), "{first:?}");
    assert!(!look(first.unwrap_or(0) - 4).satisfied || first == Some(4));
}

#[test]
fn a_screening_whose_interval_reaches_to_both_sides_names_no_direction() {
    let mut plan = plan(&[row("job", "command")]);
    plan.rules.protocol = Protocol::Quick;
    let wild = [[1.0, 30.0, 2.0], [9.0, 1.5, 4.0]];
    let all = readings(&plan, 3, |block, arm, _| wild[arm][block as usize]);
    let text = analyse(&plan, &all, StoppedBecause::Blocks).sentences.remove(0);
    let start =
        "Screening only, no verdict on your command: no direction visible; the 95 % interval";
    assert!(text.starts_with(start), "{text}");
}

/// The short sentence of the same study.
fn short(plan: &Plan, blocks: u32, gain: f64, ripple: f64, stopped: StoppedBecause) -> String {
    let all = readings(plan, blocks, |block, arm, row| {
        let wave = f64::from((block * 5 + arm as u32 * 3 + row as u32) % 7) - 3.0;
        10.0 * (ripple * wave - gain * arm as f64).exp()
    });
    let headline = headlines(plan, &analyse(plan, &all, stopped)).remove(0);
    let text = headline.sentence();
    assert!(text.starts_with(headline.word) && !headline.word.is_empty(), "{text}");
    assert!(text.split_whitespace().count() <= WORDS_MAX, "{text}");
    let title = headline.title();
    let words: Vec<&str> = title.split_whitespace().collect();
    let is_number = |word: &&&str| word.replace(',', "").parse::<f64>().is_ok();
    let numbers = usize::from(headline.effect.is_some());
    assert!(words.len() <= TITLE_WORDS_MAX && title.ends_with('.'), "{title}");
    assert_eq!(words.iter().filter(is_number).count(), numbers, "{title}");
    text
}

#[test]
fn the_short_sentence_has_at_most_twenty_words_and_says_what_it_is_first() {
    let cpus = |list: &str| ArmState::Cpus(CpuSet::parse(list).expect("a list"));
    let mut sets = plan(&[row("job", "command")]);
    sets.comparison = Comparison::None;
    sets.arms = vec![arm("half", cpus("0"), 1), arm("all", cpus("0-1"), 2)];
    sets.reference_arm = "half".to_owned();
    let two = plan(&[row("a", "chat"), row("b", "dbench")]);
    let mut raw = plan(&[row("job", "command")]);
    (raw.rows[0].scale, raw.rows[0].unit) = (Scale::Raw, "us".to_owned());
    let plans = [
        smt(("off", ArmState::Off), ("on", ArmState::On)),
        smt(("on", ArmState::On), ("off", ArmState::Off)),
        boots("smt", "nosmt=force"),
        plan(&[row("job", "command")]),
        two,
        sets,
        raw,
    ];
    let origins = [Origin::Measured, Origin::Simulated, Origin::Emulated];
    let protocols = [Protocol::Modern, Protocol::Fixed, Protocol::Quick, Protocol::Article2003];
    for mut plan in plans {
        for (origin, protocol) in origins.iter().flat_map(|o| protocols.map(|p| (*o, p))) {
            (plan.origin, plan.rules.protocol) = (Some(origin), protocol);
            for (gain, ripple) in [
                (0.2, 0.001),
                (-0.2, 0.001),
                (0.0, 0.001),
                (0.005, 0.000_1),
                (0.01, 0.02),
                (0.0, 3.0),
                (-8.0, 0.001),
                (12.0, 0.001),
                (0.0, 0.0),
            ] {
                for stopped in [StoppedBecause::Blocks, StoppedBecause::Interrupted] {
                    for blocks in [0, 1, 5] {
                        let text = short(&plan, blocks, gain, ripple, stopped);
                        let mark = origin.mark().unwrap_or_default();
                        assert!(text.starts_with(mark), "{text}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_short_sentences() {
    let stand_in = plan(&[row("job", "command")]);
    let off = smt(("off", ArmState::Off), ("on", ArmState::On));
    let mut simulated = off.clone();
    simulated.origin = Some(Origin::Simulated);
    let (ended, cut) = (StoppedBecause::Target, StoppedBecause::Interrupted);
    for (plan, gain, ripple, stopped, wanted) in [
        (
            &off,
            0.2,
            0.001,
            ended,
            "HELPS: keep SMT on for chat: 22.1 % faster with on than with off.",
        ),
        (
            &stand_in,
            -0.2,
            0.001,
            ended,
            "HURTS: run your command on one CPU per core: 18.2 % slower with on than with one-per-core.",
        ),
        (
            &stand_in,
            0.0,
            0.000_01,
            ended,
            "NO MATERIAL DIFFERENCE: no difference for your command between on and one-per-core.",
        ),
        (
            &off,
            0.2,
            0.001,
            cut,
            "INTERIM, no verdict: 22.1 % faster for chat with on than with off.",
        ),
        (
            &simulated,
            0.2,
            0.001,
            ended,
            "PREDICTED, not measured: 22.1 % faster for chat with on than with off.",
        ),
    ] {
        // After eight blocks the rule is met.
        let blocks = if stopped == cut { 5 } else { 8 };
        assert_eq!(short(plan, blocks, gain, ripple, stopped), wanted);
    }
    let text = short(&stand_in, 8, 0.0, 0.02, ended);
    let both =
        text.contains("% slower to ") && text.contains(" % faster for your command with on than");
    assert!(text.starts_with("INCONCLUSIVE: ") && both, "{text}");
}
