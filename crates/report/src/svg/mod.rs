//! Figures as SVG.

pub(crate) mod axis;
