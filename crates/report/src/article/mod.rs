//! The tables and figures of *Hyper-Threading speeds Linux* with a study's own results: Tables 1
//! to 6 and Figures 1 to 3, for any number of arms, with interval and verdict (the protocol of 2003
//! has neither), and beside them what the article printed.
//!
//! Rows of the plan → [`coretwin_article::tables`] → `columns` makes document tables and bars of
//! them, `export` CSV and JSON. Of a simulated study `predicted` sets out each policy
//! so, with the errors of its predictions.

mod columns;
mod export;
mod predicted;
mod schedulers;

pub use export::{article_csv, article_json};

use crate::document::Block;
use crate::{Study, words};
use columns::Footnotes;
use coretwin_article::tables::{Filled, filled};
use coretwin_base::simulation::Simulation;
use coretwin_base::study::plan::{Comparison, Plan};

/// What is meant by *the 2003 article*.
pub(crate) const SOURCE: &str = "Vianney, Hyper-Threading speeds Linux";

/// Whether a plan has rows of all its benchmarks: Tables 1, 2 and 4 to 6.
pub(crate) fn is_whole(plan: &Plan) -> bool {
    let tables = filled(plan);
    [1, 2, 4, 5, 6].iter().all(|number| tables.iter().any(|table| table.number == *number))
}

pub(crate) fn blocks(study: &Study<'_>) -> Vec<Block> {
    let predicted = predicted::blocks(study).unwrap_or_default();
    let simulation = study.plan.simulation.as_deref();
    let prediction = study.summary.prediction.as_deref();
    let by_policy = prediction.is_some_and(|one| !one.gains.is_empty());
    if simulation.is_some_and(|one| one.is_articles) && by_policy {
        return predicted;
    }
    let mut tables = filled(study.plan);
    if tables.is_empty() {
        return predicted;
    }
    let other = simulation.filter(|one| !one.is_articles);
    if other.is_some() {
        tables.iter_mut().for_each(Filled::without_printed);
    }
    let mut blocks = vec![Block::Text(other.map_or_else(|| opening(study), opening_elsewhere))];
    let mut notes = Footnotes::default();
    for table in &tables {
        if table.number == 4 {
            blocks.push(Block::Table(columns::chat_sizes(study, table)));
        }
        blocks.push(Block::Table(columns::table(study, table, &mut notes)));
        blocks.extend(columns::printed_alone(table, &mut notes).map(Block::Table));
        blocks.extend(columns::figure(study, table));
    }
    blocks.extend(predicted);
    blocks.extend(schedulers::blocks(study, &mut notes));
    blocks
}

fn opening(study: &Study<'_>) -> String {
    let arms = match study.summary.comparison {
        Comparison::Smt => "",
        Comparison::StandIn => " Its noht is SMT off; here one CPU per core stands in for that.",
        Comparison::None => " The arms here are not SMT off and on.",
    };
    format!(
        "In the layout of the 2003 article ({SOURCE}). Columns named after it \
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
        "In the layout of the 2003 article ({SOURCE}), predicted for another \
         machine than the article's: {}. So none of the article's figures stand beside.{costs}",
        words::clean(&simulation.title)
    )
}
