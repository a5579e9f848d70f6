//! The report as data: what stands in it and in which order, whatever it is rendered to.

use crate::digest::Digest;
use crate::plot::Plot;
use crate::{Study, article, conditions, decision, effects, readings, words};
use coretwin_base::summary::Verdict;

/// A whole report.
#[derive(Debug)]
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
    /// Number of warnings in the section of that name.
    pub(crate) warnings: usize,
    /// Names of the arms, for legends.
    pub(crate) arms: Vec<String>,
    pub(crate) sections: Vec<Section>,
}

/// The primary result of one arm.
#[derive(Debug)]
pub(crate) struct Headline {
    /// `on against off`.
    pub(crate) comparison: String,
    /// `+24.1 %`.
    pub(crate) effect: String,
    /// `95 % interval +22.0 to +26.3 %`.
    pub(crate) interval: Option<String>,
    /// The verdict, and the word for it in this study.
    pub(crate) verdict: Option<(Verdict, String)>,
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

impl Document {
    /// With figures, or without those that need a page to be drawn on.
    pub(crate) fn new(study: &Study<'_>, with_figures: bool) -> Self {
        let digest = Digest::new(study);
        let warnings = conditions::warnings(study);
        let warning_count = warnings.len();
        let mut sections = Vec::new();
        let mut add = |id, title, blocks: Vec<Block>| {
            if !blocks.is_empty() {
                sections.push(Section { id, title, blocks });
            }
        };
        add("decision", "What to set", decision::blocks(study));
        add("effects", "Effect per row", effects::blocks(study, &digest));
        add("article", "The article's tables", article::blocks(study, &digest));
        if with_figures {
            add("counts", "Thread and copy counts", readings::curves(study, &digest));
            add("readings", "Readings in run order", readings::run_order(study, &digest));
            add("distribution", "Distribution", readings::distribution(study, &digest));
        }
        add("troubled", "Failed and disturbed runs", readings::troubled(study, &digest));
        add("conditions", "What differed between the arms", conditions::differences(study));
        add("environment", "Environment", conditions::environment(study));
        if warning_count > 0 {
            add("warnings", "Warnings", vec![Block::Warnings(warnings)]);
        }
        add("method", "Method", vec![Block::List(conditions::method(study))]);
        add("reproduce", "How to reproduce", conditions::reproduce(study));
        Self {
            kind: "Coretwin study",
            title: effects::title(study),
            notice: words::notice(study),
            sentences: study.summary.sentences.iter().map(|text| words::clean(text)).collect(),
            headlines: effects::headlines(study),
            facts: effects::facts(study),
            warnings: warning_count,
            arms: (0..study.plan.arms.len()).map(|arm| words::arm_name(study, arm)).collect(),
            sections,
        }
    }
}
