//! The report as data: what stands in it and in which order, whatever it is rendered to.

use crate::plot::Plot;
use crate::words;
use coretwin_base::study::summary::Verdict;
use coretwin_base::warning::Warning;

/// A whole report.
#[derive(Debug, Default)]
pub(crate) struct Document {
    /// What it is a report of.
    pub(crate) kind: &'static str,
    /// Name of the study: its rows or the command.
    pub(crate) title: String,
    /// What must be known before anything else.
    pub(crate) notice: Option<String>,
    /// The answer, a sentence for each arm that is compared.
    pub(crate) sentences: Vec<String>,
    /// The big numbers.
    pub(crate) headlines: Vec<Headline>,
    /// One line: machine, blocks, readings, why it ended.
    pub(crate) facts: String,
    /// Names of the arms, for legends.
    pub(crate) arms: Vec<String>,
    pub(crate) sections: Vec<Section>,
}

/// The primary result of one arm.
#[derive(Debug)]
pub(crate) struct Headline {
    /// `on against off`.
    pub(crate) against: String,
    /// `+24.1 %`.
    pub(crate) effect: String,
    /// Its name and ends.
    pub(crate) interval: Option<String>,
    /// The verdict, and the word for it in this study.
    pub(crate) verdict: Option<(Verdict, String)>,
    /// What stands where a verdict would, of a result that nobody measured.
    pub(crate) mark: Option<&'static str>,
    /// What it was computed from.
    pub(crate) basis: String,
}

/// A part of the report under its own heading.
#[derive(Debug)]
pub(crate) struct Section {
    /// Anchor.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Debug)]
pub(crate) enum Block {
    Text(String),
    /// Numbered lines.
    List(Vec<String>),
    /// What was seen, and what to do about it.
    Warnings(Vec<(String, String)>),
    Table(Table),
    /// Figures that share a legend of these arms.
    Figures {
        arms: Vec<usize>,
        figures: Vec<Figure>,
    },
    /// Lines to be typed.
    Code(Vec<String>),
}

/// A figure with its words.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) title: String,
    pub(crate) caption: String,
    pub(crate) plot: Plot,
}

/// A table.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Whether the last row sums up the others.
    pub(crate) total: bool,
    pub(crate) note: Option<String>,
    /// Long and of minor interest: folded away where that is possible, left out in a terminal.
    pub(crate) folded: bool,
}

/// A column of a table.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// Whether it holds numbers.
    pub(crate) number: bool,
    /// Whether a terminal does without it.
    pub(crate) detail: bool,
    /// Whether it is the first of several that a terminal keeps side by side.
    pub(crate) opens: bool,
}

impl Column {
    /// A column of words.
    pub(crate) fn words(name: impl Into<String>) -> Self {
        Self { name: name.into(), number: false, detail: false, opens: false }
    }

    /// A column of numbers.
    pub(crate) fn number(name: impl Into<String>) -> Self {
        Self { name: name.into(), number: true, detail: false, opens: false }
    }

    /// The same column, not shown in a terminal.
    pub(crate) fn detail(self) -> Self {
        Self { detail: true, ..self }
    }

    /// The same column, with which a group begins that a terminal keeps together.
    pub(crate) fn opening(self) -> Self {
        Self { opens: true, ..self }
    }
}

/// Sections in the making: those without content are left out.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub(crate) sections: Vec<Section>,
}

impl Outline {
    /// Adds a section behind the others.
    pub(crate) fn add(&mut self, id: &'static str, title: &'static str, blocks: Vec<Block>) {
        if !blocks.is_empty() {
            self.sections.push(Section { id, title, blocks });
        }
    }

    /// Adds the section of warnings.
    pub(crate) fn warnings<'a>(&mut self, warnings: impl IntoIterator<Item = &'a Warning>) {
        let said = |warning: &Warning| (words::clean(&warning.text), words::clean(&warning.remedy));
        let warnings: Vec<(String, String)> = warnings.into_iter().map(said).collect();
        if !warnings.is_empty() {
            self.add("warnings", "Warnings", vec![Block::Warnings(warnings)]);
        }
    }
}

impl Document {
    /// How many things it warns of.
    pub(crate) fn warnings(&self) -> usize {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        let warnings = |block: &Block| match block {
            Block::Warnings(warnings) => warnings.len(),
            _ => 0,
        };
        blocks.map(warnings).sum()
    }
}
