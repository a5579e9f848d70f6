//! The tables and figures of *Hyper-Threading speeds Linux* with a study's own results: Tables 1
//! to 6 and Figures 1 to 3, for any number of arms, with interval and verdict (the protocol of 2003
//! has neither), and beside them what the article printed.
//!
//! Rows of the plan → [`Filled`] tables (`named`: Tables 1 and 2, whose rows have names; `sized`:
//! Tables 4 to 6, whose rows are sizes) → `columns` and `footnotes` make document tables of them,
//! `figure` the bars, `export` CSV and JSON. Table 3 is `rooms`. Of a simulated study `predicted` sets
//! out each policy so, with the errors of its predictions.

mod columns;
mod export;
mod figure;
mod footnotes;
mod named;
mod predicted;
mod rooms;
mod sized;

pub use export::{article_csv, article_json};

use crate::digest::Digest;
use crate::document::Block;
use crate::{Study, words};
use coretwin_base::machine::placement::Placement;
use coretwin_base::simulation::Simulation;
use coretwin_base::study::plan::{Comparison, CopyRule, PlanRow};
use coretwin_stats::article2003::printed::{self, Kernel, Printed};

/// One of the article's tables, filled with a study's rows.
struct Filled<'a> {
    /// Its number in the article.
    number: u8,
    /// Number of the figure that shows it, where there is one.
    figure: Option<u8>,
    /// What it shows, in words of our own.
    title: String,
    /// What the first column holds.
    head: &'static str,
    /// Whether that is a number.
    sizes: bool,
    /// What sizes count, like `chat rooms`.
    counted: &'static str,
    lines: Vec<Line<'a>>,
    /// Every row the article printed for the family.
    printed: Vec<Printed>,
    /// The kernel whose figures stand beside.
    kernel: Kernel,
}

/// A row in its place in a table.
struct Line<'a> {
    label: String,
    row: &'a PlanRow,
    /// What the article printed for it, on its two kernels.
    printed: Option<Printed>,
    printed_later: Option<Printed>,
}

impl Filled<'_> {
    /// Takes the article's figures out, where they say nothing: a prediction for another machine is
    /// held against nothing that was measured on the article's.
    fn without_printed(&mut self) {
        self.printed.clear();
        for line in &mut self.lines {
            (line.printed, line.printed_later) = (None, None);
        }
    }
}

impl<'a> Line<'a> {
    /// The row with what the article has on it. Where tasks were placed, and copies that run side by
    /// side, have no counterpart there.
    fn new(row: &'a PlanRow, label: Option<String>, all: &[Printed]) -> Self {
        let comparable = row.placement == Placement::Free && row.copies == CopyRule::Fixed(1);
        let found = printed::find(all, &row.workload, &row.params).filter(|_| comparable);
        let later = found.and_then(|found| {
            let same =
                |row: &&Printed| row.kernel == Kernel::Development2532 && row.label == found.label;
            all.iter().find(same)
        });
        Self {
            label: label.unwrap_or_default(),
            row,
            printed: found.cloned(),
            printed_later: later.cloned(),
        }
    }
}

/// Every table that the study has rows for.
fn filled<'a>(study: &Study<'a>) -> Vec<Filled<'a>> {
    let mut tables = named::tables(study);
    tables.extend(sized::tables(study));
    tables.sort_by_key(|table| table.number);
    tables
}

/// The section: tables and figures in the article's order.
pub(crate) fn blocks(study: &Study<'_>, digest: &Digest<'_>) -> Vec<Block> {
    let predicted = predicted::blocks(study).unwrap_or_default();
    let simulation = study.plan.simulation.as_deref();
    let prediction = study.summary.prediction.as_deref();
    let by_policy = prediction.is_some_and(|one| !one.gains.is_empty());
    if simulation.is_some_and(|one| one.is_articles) && by_policy {
        return predicted;
    }
    let mut tables = filled(study);
    if tables.is_empty() {
        return predicted;
    }
    let other = simulation.filter(|one| !one.is_articles);
    if other.is_some() {
        tables.iter_mut().for_each(Filled::without_printed);
    }
    let mut blocks = vec![Block::Text(other.map_or_else(|| opening(study), opening_elsewhere))];
    for table in &tables {
        if table.number == 4 {
            blocks.push(Block::Table(rooms::table(study, digest, table)));
        }
        blocks.push(Block::Table(columns::table(study, table)));
        blocks.extend(columns::printed_alone(table).map(Block::Table));
        blocks.extend(figure::figure(study, table));
    }
    blocks.extend(predicted);
    blocks
}

fn opening(study: &Study<'_>) -> String {
    let arms = match study.summary.comparison {
        Comparison::Smt => "",
        Comparison::StandIn => " Its noht is SMT off; here one CPU per core stands in for that.",
        Comparison::None => " The arms here are not SMT off and on.",
    };
    format!(
        "In the layout of the article \"Hyper-Threading speeds Linux\" (2003). Columns named after it \
         hold what it printed for Linux 2.4.19 on one Xeon MP of 1.6 GHz, without SMT (noht) and \
         with it (ht). That is another machine: hold speed-ups against each other rather than \
         values.{arms}"
    )
}

/// Of a simulated machine that the article never saw.
fn opening_elsewhere(simulation: &Simulation) -> String {
    let costs = match &simulation.fit {
        Some(_) => "",
        None => {
            " Nothing was fitted: what the kernel's and the benchmarks' own work costs there is what the \
             machine's file says, most of it estimates, so hold arms against each other rather than \
             values against a real machine's."
        }
    };
    format!(
        "In the layout of the article \"Hyper-Threading speeds Linux\" (2003), predicted for another \
         machine than the article's: {}. So none of the article's figures stand beside.{costs}",
        words::clean(&simulation.title)
    )
}
