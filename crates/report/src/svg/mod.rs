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
mod load;
mod mark;
mod run_order;

use crate::plot::{Plot, Sign};
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
        Plot::Load(plot) => load::draw(plot),
    };
    canvas.finish(id, if is_wide(plot) { "wide" } else { "half" }, title, description)
}

/// A figure as a file of its own, which carries its colours; paper and ink follow the colour scheme.
/// `style` has its own rules on light paper, those on dark, and those for both.
pub(crate) fn file(
    canvas: Canvas,
    id: &str,
    title: &str,
    about: &str,
    [light, dark, both]: [&str; 3],
) -> String {
    let svg = canvas.finish(id, id, title, about);
    let (head, body) = svg.split_at(svg.find('>').map_or(0, |at| at + 1));
    format!(
        "{head}<style>svg{{color-scheme:light dark;font:13px system-ui,sans-serif;background:#fbfaf7}}\
         text{{fill:#1c2127}}.title{{font-size:17px;font-weight:600}}.name{{font-weight:600}}\
         .tick{{fill:#5a626d}}{light}@media(prefers-color-scheme:dark){{svg{{background:#14171a}}\
         text{{fill:#e9e6df}}.tick{{fill:#a4abb4}}{dark}}}{both}</style>{body}\n"
    )
}

/// Whether a figure wants the width of the page.
pub(crate) fn is_wide(plot: &Plot) -> bool {
    matches!(plot, Plot::Forest(_) | Plot::Bars(_) | Plot::Heat(_) | Plot::Load(_))
}

/// An arm's mark alone, for a legend; said by the name beside it, so hidden from screen readers.
pub(crate) fn legend_mark(arm: usize) -> String {
    key(&mark::shape(arm, (8.0, 8.0), 5.0), &format!("mark {}", mark::colour(arm)))
}

/// A sign alone, likewise, and what it means.
pub(crate) fn legend_sign(sign: Sign) -> (String, &'static str) {
    let at = (8.0, 8.0);
    match sign {
        Sign::NotAnalysed => (key(&mark::shape(0, at, 4.5), "hollow a0"), "not analysed"),
        Sign::Failed => (key(&mark::cross(at, 5.0), "failed"), "failed"),
        Sign::Chosen => (key(&mark::shape(0, at, 7.0), "ring"), "the count that was chosen"),
    }
}

fn key(data: &str, class: &str) -> String {
    let mut canvas = Canvas::new(16.0, 16.0);
    canvas.path(data, class);
    canvas.finish_hidden()
}
