//! The answer of a verb on a terminal: at most seven lines, whatever there is to tell. All of it stands
//! in the report's files and behind `--full`.

use crate::document::{Block, Document};
use crate::number;
use crate::words::{clean, fill, shorten};
use coretwin_base::warning::Warning;
use std::collections::BTreeSet;

pub const LINES_MAX: usize = 7;
const LABEL: usize = 10;
const WARNINGS: &str = "warnings";

/// Warnings that make an answer doubtful, the gravest first; the others follow as they come.
const GRAVEST: [&str; 15] = [
    "control-differs",
    "smt-restored",
    "incomplete",
    "environment-unknown",
    "journal-unchecked",
    "failed",
    "set-aside",
    "steal-by-arm",
    "one-armed-outliers",
    "carry-over",
    "few-blocks",
    "drift",
    "order",
    "resolution",
    "steal",
];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Brief {
    /// The verdict, which begins the answer and is coloured; may be empty.
    pub word: String,
    pub answer: String,
    lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    label: &'static str,
    /// What it says, the weightiest first; what does not fit is left out from the end.
    pieces: Vec<String>,
    /// Whether it is typed or opened as it stands, and therefore never cut.
    is_whole: bool,
}

impl Brief {
    /// An answer, which begins with that word; the word may be empty.
    #[must_use]
    pub fn new(word: &str, answer: impl Into<String>) -> Self {
        Self { word: word.to_owned(), answer: clean(&answer.into()), lines: Vec::new() }
    }

    /// The same with a line below. Pieces are weightiest first; empty ones are left out.
    #[must_use]
    pub fn line(mut self, label: &'static str, pieces: impl IntoIterator<Item = String>) -> Self {
        let pieces = pieces.into_iter().map(|piece| clean(&piece));
        let pieces: Vec<String> = pieces.filter(|piece| !piece.is_empty()).collect();
        if !pieces.is_empty() {
            self.lines.push(Line { label, pieces, is_whole: false });
        }
        self
    }

    /// The same with a command or path, which is never cut; what follows it is shown if it fits.
    #[must_use]
    pub fn whole(mut self, label: &'static str, text: &str, more: &str) -> Self {
        let pieces = [text, more].into_iter().filter(|text| !text.is_empty()).map(clean).collect();
        self.lines.push(Line { label, pieces, is_whole: true });
        self
    }

    /// The same with a line that counts the warnings and names the gravest.
    #[must_use]
    pub(crate) fn warnings<'a>(self, warnings: impl IntoIterator<Item = &'a Warning>) -> Self {
        let distinct: BTreeSet<&Warning> = warnings.into_iter().collect();
        let gravity = |warning: &&&Warning| {
            let known = GRAVEST.iter().position(|kind| *kind == warning.kind);
            known.unwrap_or(GRAVEST.len())
        };
        let Some(gravest) = distinct.iter().min_by_key(gravity) else { return self };
        let text = gravest.text.clone();
        self.warned(distinct.len(), text)
    }

    fn warned(self, count: usize, gravest: String) -> Self {
        let of = if count > 1 { format!("{count}, the gravest: ") } else { String::new() };
        self.line(WARNINGS, [of + &gravest])
    }

    /// The lines for a terminal of so many columns, each ending in a line end.
    #[must_use]
    pub fn render(&self, columns: usize, is_coloured: bool) -> String {
        let mut answer = String::new();
        fill(&mut answer, self.answer.split_whitespace(), columns, "", "");
        let wrapped: Vec<Vec<String>> = self.lines.iter().map(|line| line.wrap(columns)).collect();
        let least = |(line, wrapped): (&Line, &Vec<String>)| match line.is_whole {
            true => wrapped.len(),
            false => 1,
        };
        let used =
            answer.lines().count() + self.lines.iter().zip(&wrapped).map(least).sum::<usize>();
        let mut spare = LINES_MAX.saturating_sub(used);
        // Where that is too much, what explains the answer least goes; the first line is its interval.
        let mut drop = used.saturating_sub(LINES_MAX);
        let mut kept = vec![true; self.lines.len()];
        for (index, line) in self.lines.iter().enumerate().skip(1).rev() {
            if drop > 0 && !line.is_whole && line.label != WARNINGS {
                (kept[index], drop) = (false, drop - 1);
            }
        }
        let mut out = self.painted(&answer, is_coloured);
        for ((line, mut wrapped), _) in
            self.lines.iter().zip(wrapped).zip(kept).filter(|(_, kept)| *kept)
        {
            let room = if line.is_whole { wrapped.len() } else { spare + 1 };
            if wrapped.len() > room {
                let tail = wrapped.split_off(room - 1).join(" ");
                wrapped.push(cut(&tail, columns - LABEL));
            }
            spare -= if line.is_whole { 0 } else { wrapped.len() - 1 };
            for (index, text) in wrapped.iter().enumerate() {
                let label = if index == 0 { line.label } else { "" };
                let is_warning = is_coloured && label == WARNINGS;
                let [on, off] = if is_warning { ["\x1b[33m", "\x1b[0m"] } else { [""; 2] };
                out += &format!("{on}{label:<LABEL$}{off}{text}\n");
            }
        }
        out
    }

    fn painted(&self, answer: &str, is_coloured: bool) -> String {
        let rest = answer.strip_prefix(&self.word);
        let Some(rest) = rest.filter(|_| is_coloured && !self.word.is_empty()) else {
            return answer.to_owned();
        };
        let colour = match self.word.as_str() {
            "HELPS" | "BETTER" | "FASTER" => 32,
            "HURTS" | "WORSE" | "SLOWER" | "FAILED" | "NO RESULT" | "TOO BUSY" => 31,
            _ => 33,
        };
        format!("\x1b[1;{colour}m{}\x1b[0m{rest}", self.word)
    }
}

impl Line {
    fn wrap(&self, columns: usize) -> Vec<String> {
        let mut text = String::new();
        let all = self.pieces.join(" · ");
        let is_room = !self.is_whole || all.chars().count() <= columns - LABEL;
        let words = if is_room { all } else { self.pieces[0].clone() };
        fill(&mut text, words.split_whitespace(), columns - LABEL, "", "");
        text.lines().map(str::to_owned).collect()
    }
}

/// The text in so many columns: whole pieces as far as they fit, else the first one cut.
fn cut(text: &str, columns: usize) -> String {
    let fits = |end: &usize| text[..*end].chars().count() <= columns;
    match text.match_indices(" · ").map(|(at, _)| at).filter(fits).last() {
        Some(end) if text.chars().count() > columns => text[..end].to_owned(),
        _ => shorten(text, columns),
    }
}

/// The answer of a document: its first card, with the others and its warnings below.
pub(crate) fn of_document(document: &Document) -> Brief {
    let said = document.sentences.first().cloned().unwrap_or_default();
    let Some((first, others)) = document.headlines.split_first() else {
        return Brief::new("", said).line("of", [document.facts.clone()]).warnings_of(document);
    };
    let verdict = first.verdict.as_ref().map(|(_, word)| word.clone());
    let mark = first.marks(document).into_iter().find(|mark| *mark != "MEASURED");
    let word = mark.map(str::to_owned).or(verdict).unwrap_or("NO VERDICT".to_owned());
    // Of comparisons: `on against off: second over first`.
    let answer = match first.against.split_once(": ") {
        Some((arms, over)) => {
            format!("{word}: {} in the effect of {arms}, {over}.", first.effect)
        }
        None => format!("{word}: {} for {}.", first.effect, first.against),
    };
    let others = others.iter().map(|one| {
        let verdict = one.verdict.as_ref().map(|(_, word)| format!(" {word}"));
        format!("{} {}{}", one.against, one.effect, verdict.unwrap_or_default())
    });
    Brief::new(&word, answer)
        .line("interval", first.interval.clone().into_iter().chain([first.basis.clone()]))
        .line("also", others)
        .line("of", [document.facts.clone()])
        .line("note", document.notice.clone())
        .warnings_of(document)
}

impl Brief {
    pub(crate) fn warnings_of(self, document: &Document) -> Self {
        let mut blocks = document.sections.iter().flat_map(|section| &section.blocks);
        let first = blocks.find_map(|block| match block {
            Block::Warnings(warnings) => warnings.first().map(|(text, _)| text.clone()),
            _ => None,
        });
        match first {
            Some(first) => self.warned(document.warnings(), first),
            None => self,
        }
    }
}

/// So many of each, the most frequent first: `5 HELPS, 1 HURTS`.
pub(crate) fn tally(words: impl Iterator<Item = String>) -> String {
    let mut counts: Vec<(String, u64)> = Vec::new();
    for word in words {
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let parts = counts.iter().map(|(word, count)| format!("{} {word}", number::whole(*count)));
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brief() -> Brief {
        let many = (0..9).map(|index| format!("row {index} is +{index}.0 % HELPS"));
        Brief::new("HELPS", "HELPS: keep SMT on for your command: 24.1 % faster with on than off.")
            .line("interval", many)
            .line("ended", ["every interval was narrow enough ".repeat(5)])
            .line("warnings", ["the hypervisor took 4 % of the time ".repeat(9)])
            .whole("next", "coretwin study --resume study-20261123-014130 --budget 60m", "")
            .whole("report", "coretwin report study-20261123-014130 --full", "report.html there")
    }

    #[test]
    fn no_answer_is_longer_than_seven_lines_or_wider_than_the_terminal() {
        for columns in 60..=200 {
            let text = brief().render(columns, false);
            assert!(text.lines().count() <= LINES_MAX, "{columns}:\n{text}");
            for line in text.lines() {
                assert!(line.chars().count() <= columns, "{columns}: {line}");
            }
            assert!(text.contains("60m\nreport") && text.contains(" --full"), "{text}");
            assert!(text.contains("\ninterval  row 0"), "{columns}:\n{text}");
        }
    }

    #[test]
    fn only_the_verdict_and_the_warnings_have_a_colour() {
        let text = brief().render(80, true);
        assert!(text.starts_with("\x1b[1;32mHELPS\x1b[0m: keep"), "{text:?}");
        assert_eq!(text.matches("\x1b[").count(), 4, "{text:?}");
        assert_eq!(
            text.replace("\x1b[1;32m", "").replace("\x1b[33m", "").replace("\x1b[0m", ""),
            brief().render(80, false)
        );
    }

    #[test]
    fn the_gravest_warning_is_named_and_all_are_counted() {
        let warning = |kind: &str| Warning::new(kind, format!("it is {kind}"), "do");
        let all = ["steal", "unknown-kind", "failed", "drift", "drift"].map(warning);
        let text = Brief::new("", "Answer.").warnings(&all).render(80, false);
        assert_eq!(text, "Answer.\nwarnings  4, the gravest: it is failed\n");
    }

    #[test]
    fn like_words_are_counted() {
        let words = ["A", "B", "B"].map(str::to_owned);
        assert_eq!(tally(words.into_iter()), "2 B, 1 A");
    }
}
