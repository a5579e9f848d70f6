//! The frame of a figure with a value axis: grid lines, ticks, names of the axes.

use super::axis::Axis;
use super::canvas::{Anchor, Canvas};
use crate::number;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
    /// Distance of the lines of text under it.
    pub(crate) leading: f64,
}

impl Frame {
    /// Grid lines and labels of a value axis at the left, its unit above it.
    pub(crate) fn values(self, canvas: &mut Canvas, axis: &Axis, unit: &str) {
        for tick in axis.ticks(5) {
            let y = axis.position(tick);
            canvas.line((self.left, y), (self.right, y), "grid-line");
            canvas.text((self.left - 7.0, y + 4.5), Anchor::End, "tick", &number::short(tick));
        }
        canvas.text((2.0, self.top - 12.0), Anchor::Start, "tick", unit);
    }

    /// A line at the bottom with a name under it.
    pub(crate) fn base(self, canvas: &mut Canvas, name: &str) {
        canvas.line((self.left, self.bottom), (self.right, self.bottom), "base");
        let middle = f64::midpoint(self.left, self.right);
        canvas.text((middle, self.bottom + 2.0 * self.leading), Anchor::Middle, "tick", name);
    }

    pub(crate) fn below(self, canvas: &mut Canvas, x: f64, label: &str) {
        canvas.text((x, self.bottom + self.leading), Anchor::Middle, "tick", label);
    }
}

/// The smallest and the largest of the values, with a little room; `None` if there are no values.
pub(crate) fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let (low, high) = number::ends(values)?;
    // Halved first: the whole span of two huge values may not be a number.
    let room = (high / 2.0 - low / 2.0) * 0.1;
    Some((low - room, high + room))
}
