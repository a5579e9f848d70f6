//! The smallest misprint that explains what does not follow.
//!
//! A candidate is a cell of a broken relation with one small edit undone. It counts only if every
//! relation that the cell enters then holds; of those, the ones that mend most, then the smaller
//! edits, win. Where no cell can satisfy all its relations (two misprints in one column, say), a
//! cell that mends some and breaks none is taken.

use super::figure::{Edit, Figure};
use super::relation::{CellId, Holds, Model, Relation};

/// With more broken relations than this, a table is misread rather than misprinted, and the search
/// stops being worth its time.
pub(super) const SEARCHED_MAX: usize = 20;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mend {
    pub(super) cell: CellId,
    pub(super) figure: Figure,
    pub(super) edit: Edit,
    /// The broken relations it mends.
    pub(super) relations: Vec<usize>,
}

/// Broken relations and the equally small misprints that explain them: one is a find, several
/// cannot be told apart, none means that no single one does.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Explanation {
    pub(super) relations: Vec<usize>,
    pub(super) mends: Vec<Mend>,
}

/// Explains every relation that does not hold, by as few misprints as a search from each of them
/// finds.
pub(super) fn explain(model: &Model) -> Vec<Explanation> {
    let open: Vec<usize> = (0..model.relations.len())
        .filter(|&relation| model.holds(&model.relations[relation], None) == Holds::No)
        .collect();
    if open.len() > SEARCHED_MAX {
        let unexplained = |relation| Explanation { relations: vec![relation], mends: Vec::new() };
        return open.into_iter().map(unexplained).collect();
    }
    let from = |start: usize| {
        let mut order = open.clone();
        order.rotate_left(start);
        explain_in_order(model.clone(), order)
    };
    let merit = |found: &Vec<Explanation>| {
        let unexplained = found.iter().filter(|e| e.mends.is_empty());
        (unexplained.map(|e| e.relations.len()).sum::<usize>(), found.len())
    };
    let mut best = (0..open.len()).map(from).min_by_key(merit).unwrap_or_default();
    best.sort_by_key(|explanation| explanation.relations.iter().min().copied());
    best
}

fn explain_in_order(mut model: Model, mut open: Vec<usize>) -> Vec<Explanation> {
    let mut found = Vec::new();
    while let Some(&relation) = open.first() {
        let mends = smallest_mends(&model, relation, &open);
        let by_all =
            |other: &usize| !mends.is_empty() && mends.iter().all(|m| m.relations.contains(other));
        let mut relations = open.clone();
        relations.retain(|other| *other == relation || by_all(other));
        relations.sort_unstable();
        open.retain(|other| !relations.contains(other));
        // What follows is judged with a found misprint mended.
        if let [mend] = mends.as_slice() {
            model.replace(mend.cell, mend.figure.clone());
        }
        found.push(Explanation { relations, mends });
    }
    found
}

fn smallest_mends(model: &Model, relation: usize, open: &[usize]) -> Vec<Mend> {
    let candidates = candidates(model, relation, open);
    let complete = |mend: &Mend| {
        let entered = model.entered_by(mend.cell);
        entered.iter().filter(|other| open.contains(other)).all(|o| mend.relations.contains(o))
    };
    let all_complete: Vec<Mend> = candidates.iter().filter(|m| complete(m)).cloned().collect();
    let pool = if all_complete.is_empty() { candidates } else { all_complete };
    let merit = |mend: &Mend| (std::cmp::Reverse(mend.relations.len()), mend.edit == Edit::Apart);
    let Some(best) = pool.iter().map(merit).min() else { return pool };
    pool.into_iter().filter(|mend| merit(mend) == best).collect()
}

/// Every edit that mends the relation and breaks no other.
fn candidates(model: &Model, relation: usize, open: &[usize]) -> Vec<Mend> {
    let mut found = Vec::new();
    let mut cells = model.relations[relation].cells();
    cells.sort_unstable();
    cells.dedup();
    for cell in cells {
        // A rate, a time or a count stays above zero; only a derived figure may be of either sign.
        let signed = model.entered_by(cell).iter().all(|&entered| {
            matches!(model.relations[entered], Relation::Derived { result, .. } if result == cell)
        });
        for (figure, edit) in model.cells[cell].1.misprints() {
            if !signed && figure.value() <= 0.0 {
                continue;
            }
            if let Some(relations) = mended(model, cell, &figure, open)
                && relations.contains(&relation)
            {
                found.push(Mend { cell, figure, edit, relations });
            }
        }
    }
    found
}

/// The open relations that the figure mends; `None` if it breaks one that held.
fn mended(model: &Model, cell: CellId, figure: &Figure, open: &[usize]) -> Option<Vec<usize>> {
    let mut relations = Vec::new();
    for &entered in model.entered_by(cell) {
        let holds = |trial| model.holds(&model.relations[entered], trial) != Holds::No;
        match (holds(None), holds(Some((cell, figure)))) {
            (true, false) => return None,
            (false, true) if open.contains(&entered) => relations.push(entered),
            _ => {}
        }
    }
    Some(relations)
}
