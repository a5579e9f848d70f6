//! The parts of a split in words, and which of what is taken for the siblings' is the threads'.

use super::headline::verdict_word;
use super::phrase::signed_percent;
use super::sentences::interaction_word;
use super::split::of;
use coretwin_base::study::plan::{Comparison, Plan, Split};
use coretwin_base::study::summary::{Part, SplitEffect, SuiteEffect, Summary, Verdict};

/// What is done without them, and what they are: other CPUs, where nothing is known of siblings.
fn siblings(plan: &Plan) -> [&'static str; 2] {
    match plan.comparison {
        Comparison::None => ["on fewer CPUs", "more CPUs"],
        Comparison::Smt | Comparison::StandIn => ["without siblings", "siblings"],
    }
}

/// What a part is, in words.
pub fn part_name(plan: &Plan, part: Part) -> String {
    let threads = |label: fn(&Split) -> &String| {
        let arm = plan.split.as_ref().and_then(|split| plan.arm(label(split)));
        arm.map_or(0, |arm| arm.threads)
    };
    let [few, many] = [threads(|split| &split.siblings), threads(|split| &split.both)];
    let [alone, siblings] = siblings(plan);
    match part {
        Part::Siblings => format!("{siblings}, {few} threads"),
        Part::SiblingsMore => format!("{siblings}, {many} threads"),
        Part::Threads => format!("more threads, {alone}"),
        Part::Together => format!("{siblings} and more threads"),
        Part::Interaction => "interaction".to_owned(),
        Part::BesideBetter => format!("beside the better {alone}"),
    }
}

/// The verdict on a part as a word: only siblings with as many threads as without say anything of SMT.
pub fn part_word(plan: &Plan, summary: &Summary, one: &SplitEffect) -> Option<&'static str> {
    let verdict = one.effect.verdict?;
    let arm = plan.arm(&one.effect.arm)?;
    Some(match (one.part, verdict) {
        (Part::Interaction, _) => interaction_word(verdict),
        (Part::Together, Verdict::Helps) => "BETTER",
        (Part::Together, Verdict::Hurts) => "WORSE",
        _ => verdict_word(plan, summary, arm, verdict),
    })
}

/// Whether it is more than nothing (1), less (-1) or neither (0): by its verdict, else by its interval.
fn direction(one: &SplitEffect) -> i32 {
    let SuiteEffect { verdict, low, high, .. } = &one.effect;
    match verdict {
        Some(Verdict::Helps) => 1,
        Some(Verdict::Hurts) => -1,
        Some(_) => 0,
        None => i32::from(*low > Some(1.0)) - i32::from(high.is_some_and(|high| high < 1.0)),
    }
}

fn size(one: &SplitEffect) -> String {
    one.effect.ratio.map(signed_percent).unwrap_or_default()
}

/// Which part of what is taken for the siblings' is the threads', in less than a line.
fn attribution(summary: &Summary, siblings: &str) -> Option<String> {
    let part = |part: Part| of(&summary.split, part);
    let (together, threads, more) =
        (part(Part::Together)?, part(Part::Threads)?, part(Part::SiblingsMore)?);
    let [all, alone, beyond] = [together, threads, more].map(size);
    Some(match (direction(together), direction(threads), direction(more)) {
        (1, 1, 1 | -1) => format!("of {all}, more threads alone make {alone}, {siblings} {beyond}"),
        (1, 1, _) => format!("of {all}, all that is shown is more threads: alone {alone}"),
        (1, -1, _) => format!("of {all}, nothing is more threads: alone {alone}"),
        (1, ..) => format!("of {all}, nothing is shown to be more threads: alone {alone}"),
        _ => format!("no gain in all: {all}; more threads alone {alone}"),
    })
}

/// The parts for a terminal: what they come to in words, then one by one.
pub fn parts_said(plan: &Plan, summary: &Summary) -> Vec<String> {
    let shown = summary.split.iter().filter(|one| {
        !matches!(one.part, Part::Together | Part::BesideBetter) && one.effect.ratio.is_some()
    });
    let told = |one: &SplitEffect| {
        let ends = match (one.effect.low, one.effect.high) {
            (Some(low), Some(high)) => {
                let low = signed_percent(low);
                format!(" ({} to {})", low.trim_end_matches(" %"), signed_percent(high))
            }
            _ => String::new(),
        };
        let word = part_word(plan, summary, one).map(|word| format!(" {word}"));
        let (name, size) = (part_name(plan, one.part), size(one));
        format!("{name} {size}{ends}{}", word.unwrap_or_default())
    };
    attribution(summary, siblings(plan)[1]).into_iter().chain(shown.map(told)).collect()
}

/// The same as a sentence of the report.
pub(super) fn sentence(plan: &Plan, summary: &Summary) -> Option<String> {
    let said = parts_said(plan, summary);
    let (first, rest) = said.split_first()?;
    let together = of(&summary.split, Part::Together)?;
    let (arm, against) = (&together.effect.arm, &together.against);
    Some(format!("{arm} beside {against}: {first}. Apart: {}.", rest.join("; ")))
}
