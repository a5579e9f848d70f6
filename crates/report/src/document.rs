//! The report as data: what stands in it and in which order, whatever it is rendered to.

use crate::number;
use crate::plot::Plot;
use crate::words;
use coretwin_base::study::summary::Verdict;
use coretwin_base::warning::Warning;

#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) kind: &'static str,
    /// Name of the study: its rows or the command.
    pub(crate) title: String,
    /// How its figures may be read, in capitals: `MEASURED`, `PREDICTED`, `INTERIM`.
    pub(crate) marks: Vec<&'static str>,
    /// What must be known before anything else.
    pub(crate) notice: Option<String>,
    /// The answer: one sentence of at most twelve words with one number. `None` without a result.
    pub(crate) headline: Option<String>,
    /// The same in full, a sentence for each arm that is compared.
    pub(crate) sentences: Vec<String>,
    pub(crate) headlines: Vec<Headline>,
    /// One line: machine, blocks, readings, why it ended.
    pub(crate) facts: String,
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
    pub(crate) interval: Option<String>,
    /// The verdict, and the word for it in this study.
    pub(crate) verdict: Option<(Verdict, String)>,
    /// What stands where a verdict would, where there is none.
    pub(crate) mark: Option<&'static str>,
    pub(crate) basis: String,
}

impl Headline {
    /// How it may be read, in capitals: as its document, and by what stands in for a verdict.
    pub(crate) fn marks(&self, document: &Document) -> Vec<&'static str> {
        let own = self.mark.filter(|mark| !document.marks.contains(mark));
        document.marks.iter().copied().chain(own).collect()
    }

    /// The card as a sentence: `Undecided: on against off, +0.4 %.`
    fn title(&self) -> String {
        let head = match &self.verdict {
            Some((Verdict::Helps, _)) => "Better",
            Some((Verdict::Hurts, _)) => "Worse",
            Some((Verdict::NoMaterialDifference, _)) => "No material difference",
            Some((Verdict::Inconclusive, _)) => "Undecided",
            None => "No verdict",
        };
        format!("{head}: {}, {}.", self.against.replace(": ", ", "), self.effect)
    }
}

#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) blocks: Vec<Block>,
}

#[derive(Debug)]
pub(crate) enum Block {
    Text(String),
    List(Vec<String>),
    /// What was seen, and what to do about it.
    Warnings(Vec<(String, String)>),
    Table(Table),
    Figures(Vec<Figure>),
    Code(Vec<String>),
}

#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) title: String,
    pub(crate) caption: String,
    pub(crate) plot: Plot,
}

impl Figure {
    pub(crate) fn block(title: String, caption: impl Into<String>, plot: Plot) -> Block {
        Block::Figures(vec![Self { title, caption: caption.into(), plot }])
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Whether the last row sums up the others.
    pub(crate) total: bool,
    pub(crate) note: Option<String>,
    /// Rows that say nothing new, by their index: folded under `quiet_caption` where possible.
    pub(crate) quiet: Vec<usize>,
    pub(crate) quiet_caption: String,
    /// Long and of minor interest: folded away where that is possible, left out in a terminal.
    pub(crate) folded: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) number: bool,
    /// Whether a terminal does without it.
    pub(crate) detail: bool,
    /// Whether it is for experts: folded away where that is possible.
    pub(crate) expert: bool,
    /// Whether it is the first of several that a terminal keeps side by side.
    pub(crate) opens: bool,
    absent: bool,
}

impl Column {
    pub(crate) fn words(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    pub(crate) fn number(name: impl Into<String>) -> Self {
        Self { number: true, ..Self::words(name) }
    }

    /// Columns by their names; `#` stands before the name of one of numbers.
    pub(crate) fn list<const N: usize>(names: [&str; N]) -> Vec<Self> {
        let column = |name: &str| match name.strip_prefix('#') {
            Some(name) => Self::number(name),
            None => Self::words(name),
        };
        names.map(column).into()
    }

    /// The same column, left out of a table where it is not wanted.
    pub(crate) fn only_if(self, is_there: bool) -> Self {
        Self { absent: !is_there, ..self }
    }

    /// The same column, not shown in a terminal.
    pub(crate) fn detail(self) -> Self {
        Self { detail: true, ..self }
    }

    pub(crate) fn expert(self) -> Self {
        Self { expert: true, ..self }
    }

    /// The same column, with which a group begins that a terminal keeps together.
    pub(crate) fn opening(self) -> Self {
        Self { opens: true, ..self }
    }
}

/// A column, and what stands in it of an item.
pub(crate) type ColumnOf<'a, Item> = (Column, &'a dyn Fn(&Item) -> String);

impl Table {
    pub(crate) fn new(
        caption: impl Into<String>,
        columns: Vec<Column>,
        rows: Vec<Vec<String>>,
    ) -> Self {
        Self { caption: caption.into(), columns, rows, ..Self::default() }
    }

    pub(crate) fn of<'a, Item: 'a, const N: usize>(
        caption: impl Into<String>,
        items: impl IntoIterator<Item = &'a Item>,
        columns: [ColumnOf<'_, Item>; N],
    ) -> Self {
        let (columns, cells): (Vec<_>, Vec<_>) =
            columns.into_iter().filter(|(column, _)| !column.absent).unzip();
        let line = |item: &Item| cells.iter().map(|cell| cell(item)).collect();
        Self::new(caption, columns, items.into_iter().map(line).collect())
    }

    pub(crate) fn note(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()).filter(|note| !note.is_empty()), ..self }
    }

    /// The table for a page: what stands open, then, folded, its quiet rows and what is for experts.
    pub(crate) fn pieces(&self) -> Vec<Self> {
        // A column that says nothing of any row is left out.
        let says = |column: &usize| {
            self.rows.is_empty() || self.rows.iter().any(|row| row[*column] != number::NONE)
        };
        let (experts, open): (Vec<usize>, Vec<usize>) =
            (0..self.columns.len()).filter(says).partition(|column| self.columns[*column].expert);
        let (quiet, loud): (Vec<usize>, Vec<usize>) =
            (0..self.rows.len()).partition(|row| self.quiet.contains(row));
        let piece = |caption: &str, columns: &[usize], rows: &[usize]| Self {
            folded: true,
            ..Self::new(
                caption,
                columns.iter().map(|column| self.columns[*column].clone()).collect(),
                rows.iter()
                    .map(|row| columns.iter().map(|cell| self.rows[*row][*cell].clone()).collect())
                    .collect(),
            )
        };
        let first = Self {
            folded: self.folded,
            note: self.note.clone(),
            total: self.total,
            ..piece(&self.caption, &open, &loud)
        };
        let mut pieces = vec![first];
        if !quiet.is_empty() {
            pieces.push(piece(&self.quiet_caption, &open, &quiet));
        }
        if !experts.is_empty() {
            let names: Vec<&str> = experts.iter().map(|it| &*self.columns[*it].name).collect();
            let keys = open.iter().take_while(|column| !self.columns[**column].number);
            let columns: Vec<usize> = keys.chain(&experts).copied().collect();
            let all: Vec<usize> = (0..self.rows.len()).collect();
            pieces.push(piece(&format!("For experts: {}", names.join(", ")), &columns, &all));
        }
        pieces
    }
}

/// Sections in the making: those without content are left out.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub(crate) sections: Vec<Section>,
}

impl Outline {
    pub(crate) fn add(&mut self, id: &'static str, title: &'static str, blocks: Vec<Block>) {
        if !blocks.is_empty() {
            self.sections.push(Section { id, title, blocks });
        }
    }

    pub(crate) fn warnings<'a>(&mut self, warnings: impl IntoIterator<Item = &'a Warning>) {
        let said = |warning: &Warning| (words::clean(&warning.text), words::clean(&warning.remedy));
        let warnings: Vec<(String, String)> = warnings.into_iter().map(said).collect();
        if !warnings.is_empty() {
            self.add("warnings", "Warnings", vec![Block::Warnings(warnings)]);
        }
    }
}

impl Document {
    /// The answer in one sentence, in words of its own or of the first card.
    pub(crate) fn answer(&self) -> String {
        let of_card = || self.headlines.first().map(Headline::title);
        let own = self.headline.clone().or_else(of_card);
        own.unwrap_or_else(|| "There is no result yet.".to_owned())
    }

    pub(crate) fn warnings(&self) -> usize {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        let warnings = |block: &Block| match block {
            Block::Warnings(warnings) => warnings.len(),
            _ => 0,
        };
        blocks.map(warnings).sum()
    }
}
