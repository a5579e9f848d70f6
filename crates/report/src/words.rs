//! Words that several parts of the report share.

use crate::Study;
use coretwin_base::origin::Origin;
pub(crate) use coretwin_base::printable::clean;
use coretwin_base::printable::is_steering;
use coretwin_base::study::arm::{ArmState, KERNEL};
use coretwin_base::study::plan::{Comparison, PlanArm, Protocol};
use coretwin_base::study::reading::Better;
use coretwin_base::study::summary::{RowEffect, StoppedBecause, Verdict};
use coretwin_stats::study::belief;
use coretwin_stats::study::verdict_word;

/// Writes the pieces with spaces between them, in lines of at most so many characters (a longer piece
/// has its own) behind `first`, and behind `rest` from the second line on.
pub(crate) fn fill<'a>(
    out: &mut String,
    pieces: impl Iterator<Item = &'a str>,
    characters_max: usize,
    first: &str,
    rest: &str,
) {
    let mut line = first.to_owned();
    let mut empty = true;
    for piece in pieces {
        let width = line.chars().count() + piece.chars().count() + usize::from(!empty);
        if !empty && width > characters_max {
            out.push_str(&line);
            out.push('\n');
            line = rest.to_owned();
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(piece);
        empty = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

/// A paragraph in lines of at most 100 characters.
pub(crate) fn paragraph(out: &mut String, text: &str) {
    fill(out, text.split_whitespace(), 100, "", "");
}

/// The text cut to so many characters, with an ellipsis where something was cut.
pub(crate) fn shorten(text: &str, characters_max: usize) -> String {
    if text.chars().count() <= characters_max {
        return text.to_owned();
    }
    let head: String = text.chars().take(characters_max.saturating_sub(1)).collect();
    format!("{}…", head.trim_end())
}

/// What the reader must know before anything else: that this is not SMT off against on.
pub(crate) fn notice(study: &Study<'_>) -> Option<String> {
    if let Some(notice) = unmeasured(study.summary.origin) {
        let says = match study.summary.comparison {
            Comparison::None => " Its arms differ in other things than SMT.",
            Comparison::Smt | Comparison::StandIn => "",
        };
        let beaten = belief::beaten(study.summary.prediction.as_deref());
        let beaten = beaten.map(|text| format!(" {text}")).unwrap_or_default();
        return Some(format!("{notice}{beaten}{says}"));
    }
    match study.summary.comparison {
        Comparison::None if study.plan.compares_commands_only() => None,
        Comparison::Smt => None,
        Comparison::StandIn => Some(
            "SMT was never switched off: one CPU per core stands in for it, while the other \
             siblings stay online and idle."
                .to_owned(),
        ),
        Comparison::None if study.plan.reboots() => Some(
            "Whether these boots differ in SMT is not known, or they do not: the result says \
             nothing about SMT off against on."
                .to_owned(),
        ),
        Comparison::None if study.plan.changes_scheduler() => Some(
            "Schedulers are compared here: the result says nothing about SMT off against on."
                .to_owned(),
        ),
        Comparison::None if study.plan.topology.has_usable_siblings() => {
            Some("Plain CPU sets are compared here: the result says nothing about SMT.".to_owned())
        }
        Comparison::None => {
            let arms: Vec<String> = study.plan.arms.iter().map(arm_with_cpus).collect();
            Some(format!(
                "No siblings are visible on this machine, so SMT cannot be studied here; compared \
                 instead: {}.",
                arms.join(" and ")
            ))
        }
    }
}

/// How figures of an origin may be read, in capitals.
pub(crate) fn mark(origin: Origin) -> &'static str {
    origin.mark().unwrap_or("MEASURED")
}

pub(crate) fn marks_of_pair(origins: [Option<Origin>; 2]) -> Vec<&'static str> {
    match origins {
        [Some(first), Some(second)] if first == second => vec![mark(first)],
        _ => vec!["NOT ALIKE"],
    }
}

/// What is said first of figures that nobody measured; `None` of measured ones.
pub(crate) fn unmeasured(origin: Origin) -> Option<String> {
    let (mark, caution) = origin.mark().zip(origin.caution())?;
    Some(format!("{mark}: every figure is {caution}."))
}

pub(crate) fn unmeasured_pair(origins: [Option<Origin>; 2]) -> Option<String> {
    match origins {
        [Some(first), Some(second)] if first == second => unmeasured(first),
        [first, second] => {
            let name = |origin: Option<Origin>| origin.map_or("of several origins", Origin::name);
            Some(format!(
                "NOT ALIKE: the first is {}, the second {}. A change is the error of what was not \
                 measured, not something that happened to a machine.",
                name(first),
                name(second)
            ))
        }
    }
}

fn arm_with_cpus(arm: &PlanArm) -> String {
    let cpus = if arm.cpus.len() == 1 { "CPU" } else { "CPUs" };
    format!("{} ({cpus} {})", clean(&arm.label), arm.cpus)
}

/// The arm's name in tables. The article's protocol prints the article's names.
pub(crate) fn arm_name(study: &Study<'_>, arm: usize) -> String {
    let Some(arm) = study.plan.arms.get(arm) else {
        return "?".to_owned();
    };
    let name = match (study.plan.rules.protocol, &arm.state) {
        (Protocol::Article2003, ArmState::Off) => "noht",
        (Protocol::Article2003, ArmState::On) => "ht",
        _ => return clean(&arm.label),
    };
    // Under several schedulers there are several of each.
    let mut arms = study.plan.arms.iter();
    match arms.any(|other| other.scheduler != arm.scheduler) {
        true => clean(&format!("{name}@{}", arm.scheduler)),
        false => name.to_owned(),
    }
}

/// Why a row has no effect, where an arm does not have its placement.
pub(crate) fn not_run(study: &Study<'_>, effect: &RowEffect) -> Option<String> {
    let row = study.plan.row(&effect.row)?;
    let base = &study.plan.base_of(study.plan.arm(&effect.arm)?).label;
    let arms = [base.as_str(), effect.arm.as_str()];
    let arm = arms.into_iter().find(|arm| !row.runs_in(arm))?;
    Some(format!("not in {}", arm_name(study, arm_index(study, arm))))
}

/// Index of the arm of that label; the reference if there is none.
pub(crate) fn arm_index(study: &Study<'_>, label: &str) -> usize {
    let found = study.plan.arms.iter().position(|arm| arm.label == label);
    found.unwrap_or_else(|| study.plan.reference_index())
}

/// The state of an arm with its scheduler, as it would be typed.
pub(crate) fn state(arm: &PlanArm) -> String {
    if arm.scheduler == KERNEL {
        clean(&arm.state.to_string())
    } else {
        clean(&format!("{}@{}", arm.state, arm.scheduler))
    }
}

pub(crate) fn arrow(better: Better) -> char {
    match better {
        Better::Higher => '↑',
        Better::Lower => '↓',
    }
}

pub(crate) fn verdict_column(study: &Study<'_>) -> &'static str {
    match study.summary.comparison {
        Comparison::None => "Result",
        Comparison::Smt | Comparison::StandIn => "Verdict",
    }
}

pub(crate) fn verdict(study: &Study<'_>, arm: &str, verdict: Verdict) -> String {
    match study.plan.arm(arm) {
        Some(arm) => verdict_word(study.plan, study.summary, arm, verdict).to_owned(),
        None => verdict.to_string(),
    }
}

/// An arm's name in tables; beside that of another than the reference, if it is compared with one.
pub(crate) fn compared_name(study: &Study<'_>, label: &str) -> String {
    let arm = arm_index(study, label);
    let against = study.plan.arms.get(arm).and_then(|arm| arm.against.as_deref());
    let name = arm_name(study, arm);
    match against {
        Some(other) => format!("{name} against {}", arm_name(study, arm_index(study, other))),
        None => name,
    }
}

/// Why the study ended, to follow "after 10 blocks".
pub(crate) fn stopped(because: StoppedBecause) -> &'static str {
    match because {
        StoppedBecause::Target => "every interval was narrow enough",
        StoppedBecause::Verdict => "a verdict holds",
        StoppedBecause::Blocks => "all planned blocks were done",
        StoppedBecause::Budget => "the time budget ended",
        StoppedBecause::Busy => "the machine was too busy; it can be resumed when it is quiet",
        StoppedBecause::Reboot => "it waits for a reboot and can be resumed after it",
        StoppedBecause::Interrupted => "it was interrupted and can be resumed",
        StoppedBecause::Error => "an error ended it; it can be resumed",
        StoppedBecause::Running => "it has not ended",
    }
}

/// A word of a command line, quoted for a shell where it must be.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if clean(word) == word {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let escaped = |c: char| match c {
        '\'' | '\\' => format!("\\{c}"),
        c if is_steering(c) => format!("\\U{:08x}", u32::from(c)),
        c => c.to_string(),
    };
    format!("$'{}'", word.chars().map(escaped).collect::<String>())
}

/// A command line, quoted so that it can be pasted into a shell.
pub fn shell_line(words: &[String]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// Lines of columns two spaces apart, the first to the left and all others to the right. Where they are wider than the page, the
/// table is cut into parts below each other, and the first column heads each.
pub(crate) fn columns(rows: &[Vec<String>], page: usize) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or(0)).collect();
    let mut out = String::new();
    let mut next = 1;
    loop {
        let begun = next;
        let mut used = widths.first().copied().unwrap_or(0);
        while next < count && (next == begun || used + 2 + widths[next] <= page) {
            used += 2 + widths[next];
            next += 1;
        }
        if begun > 1 {
            out.push('\n');
        }
        for row in rows {
            let mut line = format!("{:<1$}", row.first().map_or("", String::as_str), widths[0]);
            for (cell, width) in row.iter().zip(&widths).take(next).skip(begun) {
                line.push_str(&format!("  {cell:>width$}"));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        if next >= count {
            return out;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_can_be_pasted() {
        let words = ["coretwin", "study", "--", "sh", "-c", "echo 'a b' $HOME", ""];
        let words: Vec<String> = words.map(str::to_owned).into();
        assert_eq!(shell_line(&words), r"coretwin study -- sh -c 'echo '\''a b'\'' $HOME' ''");
        assert_eq!(shell_word("a\n'b"), r"$'a\U0000000a\'b'");
    }

    #[test]
    fn the_first_column_is_left_the_others_right() {
        let rows = [["a", "10", "x"], ["long", "9", ""]].map(|row| row.map(str::to_owned).into());
        assert_eq!(columns(&rows, 80), "a     10  x\nlong   9\n");
    }

    #[test]
    fn a_table_wider_than_the_page_goes_on_below_under_its_first_column() {
        let rows =
            [["a", "10", "x", "yy"], ["b", "9", "", "z"]].map(|row| row.map(str::to_owned).into());
        assert_eq!(columns(&rows, 8), "a  10  x\nb   9\n\na  yy\nb   z\n");
    }
}
