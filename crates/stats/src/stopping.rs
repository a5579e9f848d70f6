//! When to stop: when the intervals are narrow enough, looked at after a few fixed counts of blocks.
//!
//! Stopping when an effect is *significant* finds one in three studies where there is none; stopping
//! when an interval is *narrow* almost never, because how wide an interval is tells nothing about
//! where it lies. What remains is that a study stops rather when its spread happens to look small,
//! and the earlier it stops the more so; [`WIDENINGS`] makes up for that. METHOD.md has the
//! measurements.

/// Block counts at which a study looks by default. Few, so that there are few chances to be lucky;
/// spaced by about half, so that at most a third of the blocks are more than were needed; all
/// multiples of four, so that two arms have come first equally often.
pub const LOOKS: [u32; 8] = [8, 12, 20, 32, 52, 80, 120, 200];

/// Fewest blocks for an interval that has been checked by simulation.
pub(crate) const BLOCKS_MIN: u32 = LOOKS[0];

/// Factor on every half-width where blocks were added until an interval was narrow enough: from so
/// many blocks on. The earlier a study stops, the smaller its spread must have looked.
pub const WIDENINGS: [(u32, f64); 4] = [(8, 1.25), (12, 1.18), (20, 1.12), (32, 1.08)];

/// Most blocks a forecast speaks of; more is as good as never.
pub(crate) const FORECAST_MAX: u32 = 1_000_000;

/// The factor for a study with these looks after so many blocks: 1 where the number of blocks was
/// fixed beforehand. Between two looks that of the one before holds, which is the larger.
pub fn widening(looks: &[u32], blocks: u32) -> f64 {
    if looks.len() < 2 {
        return 1.0;
    }
    let reached = WIDENINGS.iter().rfind(|(from, _)| *from <= blocks);
    reached.unwrap_or(&WIDENINGS[0]).1
}

/// Fewest blocks, from 2, that are enough by a rule that more blocks never break; `None` if
/// [`FORECAST_MAX`] are not.
pub(crate) fn fewest_blocks(are_enough: impl Fn(u32) -> bool) -> Option<u32> {
    if !are_enough(FORECAST_MAX) {
        return None;
    }
    let (mut too_few, mut enough) = (1, FORECAST_MAX);
    while enough - too_few > 1 {
        let middle = too_few.midpoint(enough);
        if are_enough(middle) {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_blocks_are_found() {
        assert_eq!(fewest_blocks(|blocks| blocks >= 63), Some(63));
        assert_eq!(fewest_blocks(|_| true), Some(2));
        assert_eq!(fewest_blocks(|_| false), None);
    }

    #[test]
    fn between_two_looks_the_larger_factor_holds() {
        let at = |blocks| widening(&LOOKS, blocks);
        assert_eq!([3, 8, 11, 12, 19, 20, 31].map(at), [1.25, 1.25, 1.25, 1.18, 1.18, 1.12, 1.12]);
        assert_eq!([32, 52, 200].map(at), [1.08; 3]);
        assert_eq!(widening(&[12], 12), 1.0, "a number of blocks fixed beforehand");
    }

    #[test]
    fn looks_fit_the_orders_and_grow() {
        assert!(LOOKS.iter().all(|look| look % 4 == 0));
        assert!(LOOKS.windows(2).all(|pair| pair[0] < pair[1] && pair[1] * 3 <= pair[0] * 5));
        assert!(WIDENINGS.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1));
        assert!(WIDENINGS.iter().all(|(from, _)| LOOKS.contains(from)));
    }
}
