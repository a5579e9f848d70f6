//! Figures as SVG, one file per kind of figure.
//!
//! Data flow: `plot` (what is shown) → `axis` (where it lies) → `canvas` (elements). A figure is
//! drawn in one of two widths, `wide` and `half`, for which the style sheet sets font sizes.

pub(crate) mod axis;
mod bars;
pub(crate) mod canvas;
mod curve;
mod distribution;
mod forest;
mod frame;
mod heat;
mod mark;
mod run_order;

use crate::plot::Plot;
use canvas::Canvas;

/// The figure as an `svg` element, its words as title and description.
pub(crate) fn draw(plot: &Plot, id: &str, title: &str, description: &str) -> String {
    let canvas = match plot {
        Plot::Forest(plot) => forest::draw(plot),
        Plot::RunOrder(plot) => run_order::draw(plot),
        Plot::Distribution(plot) => distribution::draw(plot),
        Plot::Bars(plot) => bars::draw(plot),
        Plot::Curve(plot) => curve::draw(plot),
        Plot::Heat(plot) => heat::draw(plot),
    };
    canvas.finish(id, if is_wide(plot) { "wide" } else { "half" }, title, description)
}

/// Whether a figure wants the width of the page.
pub(crate) fn is_wide(plot: &Plot) -> bool {
    matches!(plot, Plot::Forest(_) | Plot::Bars(_) | Plot::Heat(_))
}

/// An arm's mark alone, for a legend; said by the name beside it, so hidden from screen readers.
pub(crate) fn legend_mark(arm: usize) -> String {
    let mut canvas = Canvas::new(16.0, 16.0);
    canvas.path(&mark::shape(arm, (8.0, 8.0), 5.0), &format!("mark {}", mark::colour(arm)));
    canvas.finish_hidden()
}
