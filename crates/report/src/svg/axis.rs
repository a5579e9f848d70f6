//! Axes: where a value lies on the paper, and which values are worth a tick.

use crate::number;
use crate::plot::Forest;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    logarithmic: bool,
}

impl Axis {
    /// A linear axis that shows `low..=high` between two places on the paper.
    pub(crate) fn linear(low: f64, high: f64, from: f64, to: f64) -> Self {
        // A single value gets room around it.
        let room = if high > low { 0.0 } else { low.abs().max(1.0) * 0.05 };
        Self { low: low - room, high: high + room, from, to, logarithmic: false }
    }

    /// A logarithmic axis; both ends are above 0.
    pub(crate) fn logarithmic(low: f64, high: f64, from: f64, to: f64) -> Self {
        let factor = if high > low { 1.0 } else { 1.05 };
        Self { low: low / factor, high: high * factor, from, to, logarithmic: true }
    }

    pub(crate) fn position(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }

    pub(crate) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Round values on a linear axis, at most so many.
    pub(crate) fn ticks(&self, count_max: usize) -> Vec<f64> {
        round_values(self.low, self.high, count_max)
    }
}

/// Multiples of 1, 2 or 5 times a power of ten within the range.
fn round_values(low: f64, high: f64, count_max: usize) -> Vec<f64> {
    let rough = (high - low) / count_max.max(1) as f64;
    if !rough.is_finite() || rough <= 0.0 {
        return vec![low];
    }
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = step.into_iter().find(|step| *step >= rough * 0.999_999).unwrap_or(10.0 * power);
    let first = (low / step - 1e-9).ceil();
    let last = (high / step + 1e-9).floor();
    let count = (last - first).max(-1.0) as usize + 1;
    // Multiplied, not added up: no rounding error gathers.
    (0..count.min(count_max + 2)).map(|index| (first + index as f64) * step).collect()
}

/// The axis of a forest plot: all ratios, their intervals and the margin. An interval far longer
/// than the spread of the ratios is cut, so that it does not flatten everything else.
pub(crate) fn ratio_axis(forest: &Forest, from: f64, to: f64) -> Axis {
    let usable = |ratio: &f64| ratio.is_finite() && *ratio > 0.0;
    let ratios = forest.lines().filter_map(|line| line.ratio).filter(usable);
    let (low, high) = ratios.fold((1.0 - forest.margin, 1.0 + forest.margin), |(l, h), ratio| {
        (f64::min(l, ratio), f64::max(h, ratio))
    });
    let low = low.max(1e-9);
    let reach = (high / low).max(1.2);
    let intervals = forest.lines().flat_map(|line| [line.interval, line.next]).flatten();
    let ends = intervals.flat_map(|(low, high)| [low, high]).filter(usable);
    let (low, high) = ends
        .map(|end| end.clamp(low / reach, high * reach))
        .fold((low, high), |(l, h), end| (f64::min(l, end), f64::max(h, end)));
    let room = (high / low).powf(0.04);
    Axis::logarithmic(low / room, high * room, from, to)
}

/// Ticks of a ratio axis with their labels: whole per cent near 1, factors far from it.
pub(crate) fn ratio_ticks(axis: &Axis, count_max: usize) -> Vec<(f64, String)> {
    let label = |ratio: f64| {
        let percent = (ratio - 1.0) * 100.0;
        if percent.abs() < 1e-9 {
            return "no effect".to_owned();
        }
        let sign = if percent < 0.0 { "−" } else { "+" };
        format!("{sign}{} %", number::short(percent.abs()))
    };
    if axis.high / axis.low < 3.0 {
        let percents = round_values((axis.low - 1.0) * 100.0, (axis.high - 1.0) * 100.0, count_max);
        return percents.into_iter().map(|p| 1.0 + p / 100.0).map(|r| (r, label(r))).collect();
    }
    let decades = axis.low.log10().floor() as i32..=axis.high.log10().ceil() as i32;
    let at = |steps: &[f64]| -> Vec<f64> {
        let all = decades.clone().flat_map(|d| steps.iter().map(move |s| s * 10f64.powi(d)));
        all.filter(|ratio| axis.holds(*ratio)).collect()
    };
    let mut ratios = at(&[1.0, 2.0, 5.0]);
    if ratios.len() > count_max {
        ratios = at(&[1.0]);
    }
    let every = ratios.len().div_ceil(count_max.max(1)).max(1);
    // Counted from the line of no effect, so that it is always among them.
    let one = ratios.iter().position(|ratio| *ratio == 1.0).unwrap_or(0);
    let kept = ratios.iter().enumerate().filter(|(index, _)| index.abs_diff(one) % every == 0);
    kept.map(|(_, ratio)| match *ratio {
        1.0 => (1.0, "no effect".to_owned()),
        ratio => (ratio, format!("×{}", number::short(ratio))),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let axis = Axis::linear(121_730.0, 209_112.0, 0.0, 100.0);
        assert_eq!(axis.ticks(5), [140_000.0, 160_000.0, 180_000.0, 200_000.0]);
        let axis = Axis::linear(-0.13, 0.42, 0.0, 1.0);
        let labels: Vec<String> = axis.ticks(6).into_iter().map(number::short).collect();
        assert_eq!(labels, ["−0.1", "0", "0.1", "0.2", "0.3", "0.4"]);
        for (low, high) in [(0.0, 1e-300), (1.0, 1.0 + 1e-12), (-1e300, 1e300), (5.0, 5.0)] {
            let ticks = Axis::linear(low, high, 0.0, 1.0).ticks(6);
            assert!(ticks.len() <= 8, "{low} {high}: {ticks:?}");
        }
    }

    #[test]
    fn a_value_lies_where_its_share_says() {
        let axis = Axis::linear(10.0, 20.0, 100.0, 0.0);
        assert_eq!([10.0, 15.0, 20.0].map(|v| axis.position(v)), [100.0, 50.0, 0.0]);
        let axis = Axis::logarithmic(0.5, 2.0, 0.0, 100.0);
        assert!((axis.position(1.0) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn ratio_ticks_hold_the_line_of_no_effect() {
        for (low, high) in [(0.97, 1.31), (0.9, 1.02), (0.2, 40.0), (1e-9, 1e9)] {
            let ticks = ratio_ticks(&Axis::logarithmic(low, high, 0.0, 1.0), 6);
            assert!(ticks.iter().any(|(_, label)| label == "no effect"), "{low} {high}: {ticks:?}");
            assert!((2..=8).contains(&ticks.len()), "{low} {high}: {ticks:?}");
        }
    }
}
