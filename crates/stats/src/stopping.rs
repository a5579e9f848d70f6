//! When to stop: when the intervals are narrow enough, looked at after a few fixed counts of blocks.
//!
//! Stopping when an effect is *significant* finds one in three studies where there is none; stopping
//! when an interval is *narrow* almost never, because how wide an interval is tells nothing about
//! where it lies. What remains is that a study stops rather when its spread happens to look small;
//! [`WIDENING`] makes up for that. METHOD.md has the measurements.

use crate::student;

/// Block counts at which a study looks by default. Few, so that there are few chances to be lucky;
/// spaced by about half, so that at most a third of the blocks are more than were needed; all
/// multiples of four, so that two arms have come first equally often.
pub const LOOKS: [u32; 8] = [8, 12, 20, 32, 52, 80, 120, 200];

/// Confidence of the intervals shown.
pub const CONFIDENCE: f64 = 0.95;

/// Factor on every half-width where blocks were added until an interval was narrow enough.
pub const WIDENING: f64 = 1.1;

/// Most blocks a forecast speaks of; more is as good as never.
pub(crate) const FORECAST_MAX: u32 = 1_000_000;

/// The factor for a study with these looks: 1 where the number of blocks was fixed beforehand.
#[must_use]
pub fn widening(looks: &[u32]) -> f64 {
    if looks.len() > 1 { WIDENING } else { 1.0 }
}

/// Fewest blocks, from 2, after which (`critical_a` + `critical_b`)·s/√n is at most `half_width`,
/// each critical value being Student's t at that probability times `widening`. At most
/// [`FORECAST_MAX`].
///
/// With one probability of 0 it forecasts an interval's width; with 0.80 the blocks that find an
/// effect of `half_width` four times in five (Lachin 1981; NIST/SEMATECH e-Handbook 7.2.2.2).
#[must_use]
pub(crate) fn blocks_for(
    deviation: f64,
    half_width: f64,
    sure: f64,
    power: f64,
    widening: f64,
) -> u32 {
    let narrow = |blocks: u32| {
        let degrees = f64::from(blocks - 1);
        let power = if power > 0.0 { student::quantile(power, degrees) } else { 0.0 };
        let critical = widening * student::quantile(sure, degrees) + power;
        critical * deviation / libm::sqrt(f64::from(blocks)) <= half_width
    };
    if !narrow(FORECAST_MAX) {
        return FORECAST_MAX;
    }
    let (mut too_few, mut enough) = (1, FORECAST_MAX);
    while enough - too_few > 1 {
        let middle = too_few.midpoint(enough);
        if narrow(middle) {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    enough
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forecasts_agree_with_the_known_formula() {
        // n ≈ ((1.96 + 0.84)·s/δ)²: 62 for s = 1.4 %, δ = 0.5 %; Student's t asks for one or two
        // more.
        let blocks = blocks_for(0.014, 0.005, 0.975, 0.80, 1.0);
        assert!((62..=65).contains(&blocks), "{blocks}");
        assert_eq!(blocks_for(0.0, 0.005, 0.975, 0.80, 1.0), 2);
        assert_eq!(blocks_for(1.0, 0.0, 0.975, 0.0, 1.0), FORECAST_MAX);
    }

    #[test]
    fn a_forecast_width_is_reached_and_not_earlier() {
        let blocks = blocks_for(0.03, 0.01, 0.975, 0.0, 1.1);
        let half =
            |n: u32| 1.1 * student::critical(0.95, f64::from(n - 1)) * 0.03 / f64::from(n).sqrt();
        assert!(half(blocks) <= 0.01 && half(blocks - 1) > 0.01);
    }

    #[test]
    fn looks_fit_the_orders_and_grow() {
        assert!(LOOKS.iter().all(|look| look % 4 == 0));
        assert!(LOOKS.windows(2).all(|pair| pair[0] < pair[1] && pair[1] * 3 <= pair[0] * 5));
    }
}
