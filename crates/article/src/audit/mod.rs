//! The audit of a published table: does every printed figure follow from the others?
//!
//! CSV text → [`table`] (cells with places) → [`recognise`] (headers to relations) → [`relation`]
//! (does each hold, as intervals?) → [`misprint`] (the smallest one that explains what does not) →
//! [`AuditReport`]. [`claims`] does the same for the sentences of a text about its tables.
//!
//! Invariants: a figure is never called wrong if rounding or truncation of the printed figures can
//! explain it; input of any kind gives a report or an [`Error`] that names the place.

mod builtin;
pub mod claims;
pub mod figure;
mod misprint;
pub mod note;
mod recognise;
mod relation;
mod table;
#[cfg(test)]
mod tests;

pub use builtin::{Table, builtin};
pub use table::{Error, ROWS_MAX};

use coretwin_base::schema::SCHEMA;
use misprint::{Explanation, Mend};
use recognise::Reading;
use relation::{Holds, Model, Relation};
use serde::Serialize;
use table::{Place, Sheet};

/// What an audit found; the object of `audit --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditReport {
    pub schema: u32,
    pub file: String,
    pub rows: usize,
    /// What the columns were taken to mean, in sentences.
    pub recognised: Vec<String>,
    /// How many figures were recomputed, and how they came out.
    pub checked: Checked,
    /// What does not follow, with the smallest misprint that explains it.
    pub findings: Vec<Finding>,
}

/// Counts of recomputed figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Checked {
    pub figures: usize,
    /// Those that follow with every figure rounded.
    pub by_rounding: usize,
    /// Those that follow only if some figure was truncated.
    pub by_truncation: usize,
    pub broken: usize,
}

/// A printed figure that does not follow from the others, or the misprint behind several.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    pub row: String,
    /// Its line in the file, from 1.
    pub line: u64,
    pub column: String,
    pub printed: String,
    /// What the other figures give: for a misprint the figure that fits, else the computed number.
    pub recomputed: String,
    /// `misprint` where exactly one small misprint explains it, else what was recomputed:
    /// `speed-up`, `ratio`, `geometric-mean`, `sum`, `product`, `cpu-time`, `claim`.
    pub kind: &'static str,
    pub suggestion: Option<String>,
    pub broken: Vec<Broken>,
    /// The smallest misprints that explain them; more than one cannot be told apart.
    pub candidates: Vec<Candidate>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Broken {
    pub row: String,
    /// The column's header.
    pub column: String,
    pub printed: String,
    /// What the other printed figures give.
    pub recomputed: String,
    /// What they give once the misprint is mended; `None` without a single misprint.
    pub mended: Option<String>,
    /// Whether `mended` prints so by `rounding` or only by `truncation`.
    pub explained_by: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    pub row: String,
    /// Its line in the file, from 1.
    pub line: u64,
    pub column: String,
    pub printed: String,
    pub meant: String,
    pub edit: String,
}

/// Recomputes a table.
///
/// # Errors
/// [`Error`] if the text is not CSV, a cell is not the number its column needs, or nothing in the
/// table follows from anything else.
pub fn audit(file: &str, csv_text: &str) -> Result<AuditReport, Error> {
    let sheet = Sheet::parse(file, csv_text)?;
    let reading = recognise::recognise(&sheet)?;
    let explanations = misprint::explain(&reading.model);
    let view = View { sheet: &sheet, reading: &reading };
    Ok(AuditReport {
        schema: SCHEMA,
        file: file.to_owned(),
        rows: sheet.rows.len(),
        recognised: reading.recognised.clone(),
        checked: count(&reading.model),
        findings: explanations.iter().map(|explanation| view.finding(explanation)).collect(),
    })
}

fn count(model: &Model) -> Checked {
    let mut checked = Checked { figures: model.relations.len(), ..Checked::default() };
    for relation in &model.relations {
        match model.holds(relation, None) {
            Holds::ByRounding => checked.by_rounding += 1,
            Holds::ByTruncation => checked.by_truncation += 1,
            Holds::No => checked.broken += 1,
        }
    }
    checked
}

/// A sheet as read, for putting results into its own words.
struct View<'a> {
    sheet: &'a Sheet,
    reading: &'a Reading,
}

impl View<'_> {
    fn finding(&self, explanation: &Explanation) -> Finding {
        let model = &self.reading.model;
        let single = match explanation.mends.as_slice() {
            [mend] => Some(mend),
            _ => None,
        };
        let first = &model.relations[explanation.relations[0]];
        let cell = single.map_or_else(|| first.result(), |mend| mend.cell);
        let (place, figure) = &model.cells[cell];
        let broken: Vec<Broken> = explanation
            .relations
            .iter()
            .map(|&relation| self.broken(&model.relations[relation], single))
            .collect();
        Finding {
            row: self.label(place.0),
            line: self.sheet.rows[place.0].line,
            column: self.sheet.headers[place.1].clone(),
            printed: figure.to_string(),
            recomputed: single
                .map_or_else(|| broken[0].recomputed.clone(), |mend| mend.figure.to_string()),
            kind: if single.is_some() { "misprint" } else { first.kind() },
            suggestion: Some(self.suggestion(explanation)),
            broken,
            candidates: explanation.mends.iter().map(|mend| self.candidate(mend)).collect(),
        }
    }

    fn broken(&self, relation: &Relation, single: Option<&Mend>) -> Broken {
        let model = &self.reading.model;
        let (place, figure) = &model.cells[relation.result()];
        let trial = single.map(|mend| (mend.cell, &mend.figure));
        let number = |value: f64| format!("{value:.*}", decimals_shown(relation, figure));
        Broken {
            row: self.label(place.0),
            column: self.sheet.headers[place.1].clone(),
            printed: figure.to_string(),
            recomputed: number(model.recomputed(relation, None)),
            mended: single.map(|_| number(model.recomputed(relation, trial))),
            explained_by: trial.and_then(|_| match model.holds(relation, trial) {
                Holds::ByRounding => Some("rounding"),
                Holds::ByTruncation => Some("truncation"),
                Holds::No => None,
            }),
        }
    }

    fn candidate(&self, mend: &Mend) -> Candidate {
        let ((row, column), figure) = &self.reading.model.cells[mend.cell];
        Candidate {
            row: self.label(*row),
            line: self.sheet.rows[*row].line,
            column: self.sheet.headers[*column].clone(),
            printed: figure.to_string(),
            meant: mend.figure.to_string(),
            edit: mend.edit.to_string(),
        }
    }

    fn suggestion(&self, explanation: &Explanation) -> String {
        let spelled = |mend: &Mend| {
            let candidate = self.candidate(mend);
            let Candidate { row, column, printed, meant, edit, .. } = candidate;
            format!("{meant} for {printed} in {row}, {column} ({edit})")
        };
        match explanation.mends.as_slice() {
            [] => "no single wrong digit, swap of two digits or wrong sign explains it".to_owned(),
            [mend] => {
                let explained = match mend.relations.len() {
                    1 => "it".to_owned(),
                    2 => "both figures that do not follow".to_owned(),
                    count => format!("all {count} figures that do not follow"),
                };
                format!("{} explains {explained}", spelled(mend))
            }
            several => {
                let shown: Vec<String> = several.iter().take(3).map(spelled).collect();
                let more = several.len().saturating_sub(shown.len());
                let rest = if more > 0 { format!(", or {more} more") } else { String::new() };
                format!("cannot tell which misprint: {}{rest}", shown.join("; "))
            }
        }
    }

    /// The fewest label cells that tell the row from all others.
    fn label(&self, row: usize) -> String {
        let columns = self.reading.label_columns;
        let rows = &self.sheet.rows;
        let own = |width: usize| &rows[row].cells[..width];
        let unique =
            |width: &usize| rows.iter().filter(|r| &r.cells[..*width] == own(*width)).count() == 1;
        own((1..columns).find(unique).unwrap_or(columns)).join(" ")
    }
}

/// One digit more than printed, but none for sums of whole counts.
fn decimals_shown(relation: &Relation, figure: &figure::Figure) -> usize {
    let exact = matches!(relation, Relation::Sum { .. } | Relation::Product { .. });
    figure.decimals() + usize::from(!exact)
}

/// The sheet of a table, its misprints mended where exactly one explains what does not follow.
fn mended_sheet(file: &str, csv_text: &str) -> Result<Sheet, Error> {
    let mut sheet = Sheet::parse(file, csv_text)?;
    let model = recognise::recognise(&sheet)?.model;
    for explanation in misprint::explain(&model) {
        if let [mend] = explanation.mends.as_slice() {
            let (row, column): Place = model.cells[mend.cell].0;
            sheet.rows[row].cells[column] = mend.figure.to_string();
        }
    }
    Ok(sheet)
}
