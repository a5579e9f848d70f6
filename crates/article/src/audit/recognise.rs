//! From headers to relations: which columns follow from which.
//!
//! | header | read as |
//! |---|---|
//! | `speedup_pct`, `gain_pct`, `Speed-up %` | gain of the second of the two numeric columns to its left over the first, in percent |
//! | `change_pct`, `delta_pct` | the plain change, whatever is better |
//! | `ratio` | the quotient; a bare `speedup` is a quotient or a percentage, whichever fits |
//! | `X_total` | the sum of the other `X_…` columns |
//! | `connections`, `threads`, `messages_sent`, `messages_received` | fixed multiples, as in the article's Table 3 |
//! | `real_s`, `user_s`, `system_s` | user + system ≤ real, of single-threaded work |
//!
//! A row in which a cell says `geomean` holds geometric means of the rows above it, back to the
//! previous such row, that share the cells left of that word.

use super::relation::{CellId, Formula, Holds, Model, Relation};
use super::table::{Error, Place, Sheet};
use std::collections::BTreeMap;

/// Words in a header that make its column a time or a cost: lower is better.
const LOWER_WORDS: &[&str] = &[
    "ns", "us", "ms", "s", "sec", "secs", "second", "seconds", "min", "minutes", "h", "time",
    "latency", "elapsed", "wall", "real", "cycles", "joules", "energy",
];

/// Words that make it a rate after all.
const RATE_WORDS: &[&str] = &["per", "rate", "throughput"];

/// Columns that are fixed multiples of another: result, source.
const MULTIPLES: &[(&str, &str)] = &[
    ("connections", "rooms"),
    ("threads", "connections"),
    ("messages_sent", "connections"),
    ("messages_received", "messages_sent"),
];

#[derive(Debug, Clone)]
pub(super) struct Reading {
    pub(super) model: Model,
    /// Sentences for people: what was recognised.
    pub(super) recognised: Vec<String>,
    /// How many columns, from the left, name the row.
    pub(super) label_columns: usize,
}

struct DerivedColumn {
    result: usize,
    first: usize,
    second: usize,
    alternatives: Vec<Formula>,
    lower_is_better: bool,
}

pub(super) fn recognise(sheet: &Sheet) -> Result<Reading, Error> {
    let means = mean_rows(sheet);
    let derived = derived_columns(sheet, &means)?;
    let mut builder = Builder { sheet, model: Model::default(), cells: BTreeMap::new() };
    let mut recognised = Vec::new();
    for column in &derived {
        recognised.push(builder.add_derived(column)?);
    }
    recognised.extend(builder.add_means(&means, &derived)?);
    recognised.extend(builder.add_multiples()?);
    recognised.extend(builder.add_sums()?);
    recognised.extend(builder.add_cpu_times()?);
    if recognised.is_empty() {
        return Err(sheet.error(format!(
            "nothing to recompute among its columns ({}); it needs a column speedup_pct, \
             change_pct or ratio right of two numeric columns, geomean rows, an X_total \
             column, or real_s, user_s and system_s",
            sheet.headers.join(", ")
        )));
    }
    let label_columns = builder.model.cells.iter().map(|((_, column), _)| *column).min();
    let label_columns = label_columns.unwrap_or(0).max(1);
    Ok(Reading { model: builder.model, recognised, label_columns })
}

/// The words of a header: `Speed-up %` is `speed`, `up`, `pct`.
fn words(header: &str) -> Vec<String> {
    let spelled = header.to_lowercase().replace('%', " pct ").replace("percent", " pct ");
    let parts = spelled.split(|c: char| !c.is_alphanumeric());
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn is_mean(text: &str) -> bool {
    matches!(words(text).concat().as_str(), "geomean" | "geometricmean")
}

/// Rows of geometric means: row, and the column that says so.
fn mean_rows(sheet: &Sheet) -> Vec<Place> {
    let column_of = |cells: &[String]| cells.iter().position(|cell| is_mean(cell));
    let rows = sheet.rows.iter().enumerate();
    rows.filter_map(|(row, content)| Some((row, column_of(&content.cells)?))).collect()
}

/// The formulas a header may stand for; empty if it is no derived column.
fn formulas(header: &str, lower_is_better: bool) -> Vec<Formula> {
    let words = words(header);
    let has = |word: &str| words.iter().any(|other| other == word);
    let percent = has("pct");
    let speed_up = has("speedup") || has("gain") || (has("speed") && has("up"));
    let of_gain: &[Formula] =
        if lower_is_better { &[Formula::GainOfTimes, Formula::Saved] } else { &[Formula::Gain] };
    let of_ratio: &[Formula] =
        if lower_is_better { &[Formula::InverseRatio, Formula::Ratio] } else { &[Formula::Ratio] };
    if speed_up && percent {
        of_gain.to_vec()
    } else if speed_up {
        [of_gain, of_ratio].concat()
    } else if percent && (has("change") || has("delta") || has("difference")) {
        vec![Formula::Gain]
    } else if has("ratio") {
        of_ratio.to_vec()
    } else {
        Vec::new()
    }
}

fn derived_columns(sheet: &Sheet, means: &[Place]) -> Result<Vec<DerivedColumn>, Error> {
    let results: Vec<usize> = (0..sheet.headers.len())
        .filter(|&column| !formulas(&sheet.headers[column], false).is_empty())
        .collect();
    let is_source = |column: &usize| {
        !results.contains(column)
            && !means.iter().any(|(_, label)| label == column)
            && sheet.is_numeric(*column)
    };
    let mut found = Vec::new();
    for &result in &results {
        let mut left = (0..result).rev().filter(is_source);
        let (Some(second), Some(first)) = (left.next(), left.next()) else {
            return Err(sheet.error(format!(
                "column {} needs two numeric columns to its left, the reference first",
                sheet.headers[result]
            )));
        };
        let lower_is_better = lower_is_better(&sheet.headers[second]);
        let alternatives = formulas(&sheet.headers[result], lower_is_better);
        found.push(DerivedColumn { result, first, second, alternatives, lower_is_better });
    }
    Ok(found)
}

fn lower_is_better(header: &str) -> bool {
    let words = words(header);
    let any = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    any(LOWER_WORDS) && !any(RATE_WORDS)
}

struct Builder<'a> {
    sheet: &'a Sheet,
    model: Model,
    cells: BTreeMap<Place, CellId>,
}

impl Builder<'_> {
    /// A source cell, which must be above zero; `None` where it is empty.
    fn source(&mut self, place: Place) -> Result<Option<CellId>, Error> {
        let figure = self.sheet.positive(place)?;
        Ok(figure.map(|figure| self.intern(place, figure)))
    }

    fn cell(&mut self, place: Place) -> Result<Option<CellId>, Error> {
        let figure = self.sheet.figure(place)?;
        Ok(figure.map(|figure| self.intern(place, figure)))
    }

    fn intern(&mut self, place: Place, figure: super::figure::Figure) -> CellId {
        let model = &mut self.model;
        *self.cells.entry(place).or_insert_with(|| model.add_cell(place, figure))
    }

    /// The rows in which all of these columns are filled, with figures above zero where `positive`.
    fn filled<const N: usize>(
        &mut self,
        columns: [usize; N],
        positive: [bool; N],
    ) -> Result<Vec<[CellId; N]>, Error> {
        let mut found = Vec::new();
        for row in 0..self.sheet.rows.len() {
            let mut cells = [None; N];
            for (cell, (column, positive)) in
                cells.iter_mut().zip(columns.into_iter().zip(positive))
            {
                let place = (row, column);
                *cell = if positive { self.source(place)? } else { self.cell(place)? };
            }
            if cells.iter().all(Option::is_some) {
                found.push(cells.map(Option::unwrap_or_default));
            }
        }
        Ok(found)
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.sheet.headers.iter().position(|header| header == name)
    }

    fn add_derived(&mut self, column: &DerivedColumn) -> Result<String, Error> {
        let columns = [column.first, column.second, column.result];
        let triples = self.filled(columns, [true, true, false])?;
        let relations = |formula: Formula| {
            let relation = move |&[first, second, result]: &[CellId; 3]| Relation::Derived {
                formula,
                first,
                second,
                result,
            };
            triples.iter().map(relation)
        };
        let broken = |formula: &Formula| {
            relations(*formula).filter(|r| self.model.holds(r, None) == Holds::No).count()
        };
        let formula = column.alternatives.iter().copied().min_by_key(broken);
        let formula = formula.unwrap_or(Formula::Gain);
        for relation in relations(formula).collect::<Vec<_>>() {
            self.model.add(relation);
        }
        let header = |column: usize| self.sheet.headers[column].as_str();
        Ok(format!(
            "{} = {}, {} is better",
            header(column.result),
            formula.describe(header(column.first), header(column.second)),
            if column.lower_is_better { "lower" } else { "higher" }
        ))
    }

    fn add_means(
        &mut self,
        means: &[Place],
        derived: &[DerivedColumn],
    ) -> Result<Option<String>, Error> {
        for &(row, label) in means {
            let same_group = |other: &usize| {
                !means.iter().any(|(mean, _)| mean == other)
                    && self.sheet.rows[*other].cells[..label] == self.sheet.rows[row].cells[..label]
            };
            let members: Vec<usize> = (0..row).rev().take_while(same_group).collect();
            if members.len() < 2 {
                let why = "needs at least two rows above it to be the mean of";
                return Err(self.sheet.cell_error((row, label), why));
            }
            for column in label + 1..self.sheet.headers.len() {
                let is_result = derived.iter().any(|derived| derived.result == column);
                if !is_result && self.sheet.is_numeric(column) {
                    self.add_mean((row, column), &members)?;
                }
            }
        }
        let found = means.len();
        Ok((found > 0).then(|| format!("{found} row(s) of geometric means")))
    }

    fn add_mean(&mut self, place: Place, members: &[usize]) -> Result<(), Error> {
        let Some(result) = self.source(place)? else { return Ok(()) };
        let mut sources = Vec::new();
        for &row in members {
            sources.extend(self.source((row, place.1))?);
        }
        if !sources.is_empty() {
            self.model.add(Relation::geometric_mean(&self.model, sources, result));
        }
        Ok(())
    }

    fn add_multiples(&mut self) -> Result<Vec<String>, Error> {
        let mut recognised = Vec::new();
        for &(result_name, source_name) in MULTIPLES {
            let (Some(result), Some(source)) = (self.column(result_name), self.column(source_name))
            else {
                continue;
            };
            let pairs = self.filled([source, result], [true; 2])?;
            if let Some(factor) = self.common_factor(&pairs) {
                for [source, result] in pairs {
                    self.model.add(Relation::Product { source, factor, result });
                }
                recognised.push(format!("{result_name} = {factor} × {source_name}"));
            }
        }
        Ok(recognised)
    }

    /// The whole quotient that more than half of at least three rows share.
    fn common_factor(&self, pairs: &[[CellId; 2]]) -> Option<f64> {
        let value = |cell: CellId| self.model.cells[cell].1.value();
        let mut quotients: Vec<f64> =
            pairs.iter().map(|&[source, result]| value(result) / value(source)).collect();
        quotients.sort_by(f64::total_cmp);
        // A majority, if there is one, holds the middle.
        let middle = *quotients.get(quotients.len() / 2)?;
        let sharing = quotients.iter().filter(|&&quotient| quotient == middle).count();
        let common = quotients.len() >= 3 && sharing * 2 > quotients.len();
        (common && libm::floor(middle) == middle).then_some(middle)
    }

    fn add_sums(&mut self) -> Result<Vec<String>, Error> {
        let mut recognised = Vec::new();
        for result in 0..self.sheet.headers.len() {
            let Some(prefix) = self.sheet.headers[result].strip_suffix("total") else { continue };
            if !prefix.ends_with('_') {
                continue;
            }
            let parts: Vec<usize> = (0..self.sheet.headers.len())
                .filter(|&column| column != result)
                .filter(|&column| self.sheet.headers[column].starts_with(prefix))
                .collect();
            if parts.len() < 2 {
                continue;
            }
            for row in 0..self.sheet.rows.len() {
                let mut cells = Vec::new();
                for &part in &parts {
                    cells.extend(self.cell((row, part))?);
                }
                if let (Some(result), true) =
                    (self.cell((row, result))?, cells.len() == parts.len())
                {
                    self.model.add(Relation::Sum { parts: cells, result });
                }
            }
            let names: Vec<&str> =
                parts.iter().map(|&part| self.sheet.headers[part].as_str()).collect();
            recognised.push(format!("{} = {}", self.sheet.headers[result], names.join(" + ")));
        }
        Ok(recognised)
    }

    fn add_cpu_times(&mut self) -> Result<Option<String>, Error> {
        let [Some(real), Some(user), Some(system)] =
            ["real_s", "user_s", "system_s"].map(|name| self.column(name))
        else {
            return Ok(None);
        };
        let relation = |[user, system, real]: [CellId; 3]| Relation::CpuTime { user, system, real };
        let cells = self.filled([user, system, real], [false; 3])?;
        let relations: Vec<Relation> = cells.into_iter().map(relation).collect();
        let broken = relations.iter().filter(|r| self.model.holds(r, None) == Holds::No).count();
        if broken * 2 > relations.len() {
            return Ok(Some(
                "user_s + system_s exceed real_s in most rows: taken as work of several threads, \
                 not checked"
                    .to_owned(),
            ));
        }
        for relation in relations {
            self.model.add(relation);
        }
        Ok(Some("user_s + system_s ≤ real_s, as for single-threaded work".to_owned()))
    }
}
