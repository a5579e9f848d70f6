//! Orders of the arms within blocks.
//!
//! Arms take turns inside every block, so that heat, drift and neighbours meet all of them alike.
//! Two arms: every four blocks hold AB and BA twice each, in random order, so that a linear drift
//! cancels exactly after every fourth block. More arms: Williams designs.

use coretwin_base::random::Stream;

/// Fewest blocks in a set.
const SET_MIN: usize = 4;

/// Orders (indexes of arms) for that many blocks, drawn from the stream.
///
/// The blocks come in sets, each a randomly labelled and shuffled Williams design: as many blocks
/// as arms if their number is even, twice as many if it is odd, but at least four. Within a complete
/// set every arm stands in every place equally often and follows every other arm equally often. The
/// last set may be cut short. No arms give empty orders.
///
/// Sets of two would make every second block the mirror of the one before. Where a run still feels
/// the run before it, neighbouring blocks then err the same way, and intervals come out too narrow.
///
/// Source: Williams, *Experimental designs balanced for the estimation of residual effects of
/// treatments*, Australian Journal of Scientific Research A 2 (1949).
pub fn balanced(arms: usize, blocks: usize, stream: &mut Stream) -> Vec<Vec<u16>> {
    // A plan's arm index is 16 bits wide; nobody compares more.
    let arms = u16::try_from(arms).unwrap_or(u16::MAX);
    let mut orders = Vec::with_capacity(blocks);
    while orders.len() < blocks {
        let mut labels: Vec<u16> = (0..arms).collect();
        stream.shuffle(&mut labels);
        let mut set = williams(arms);
        while set.len() < SET_MIN {
            set.extend_from_within(..);
        }
        for order in &mut set {
            for place in order {
                *place = labels[usize::from(*place)];
            }
        }
        stream.shuffle(&mut set);
        set.truncate(blocks - orders.len());
        orders.append(&mut set);
    }
    orders
}

/// Blocks of a set of so many arms.
pub fn set(arms: usize) -> usize {
    let design = if arms % 2 == 1 && arms > 1 { 2 * arms } else { arms.max(1) };
    design * SET_MIN.div_ceil(design).next_power_of_two()
}

/// The Williams design for that many treatments: 0, 1, n−1, 2, n−2, … and its cyclic shifts; for an
/// odd number their reversals too.
fn williams(arms: u16) -> Vec<Vec<u16>> {
    if arms == 0 {
        return vec![Vec::new()];
    }
    let zigzag: Vec<u16> = (0..arms)
        .map(|place| if place % 2 == 1 { place.div_ceil(2) } else { (arms - place / 2) % arms })
        .collect();
    let shifted = |by: u16| -> Vec<u16> {
        let add = |&arm: &u16| ((u32::from(arm) + u32::from(by)) % u32::from(arms)) as u16;
        zigzag.iter().map(add).collect()
    };
    let mut rows: Vec<Vec<u16>> = (0..arms).map(shifted).collect();
    if arms % 2 == 1 && arms > 1 {
        let reversed: Vec<Vec<u16>> =
            rows.iter().map(|row| row.iter().rev().copied().collect()).collect();
        rows.extend(reversed);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn two_arms_are_balanced_after_every_fourth_block() {
        let orders = balanced(2, 402, &mut Stream::new(3, "order", 0));
        assert_eq!(orders.len(), 402);
        let mut lead = 0i32;
        for (block, order) in orders.iter().enumerate() {
            lead += if order[0] == 0 { 1 } else { -1 };
            assert!(lead.abs() <= 2 && (block % 4 != 3 || lead == 0), "after block {block}");
        }
        // Random: all six ways to arrange a set occur, about equally often.
        let mut ways: BTreeMap<Vec<u16>, u32> = BTreeMap::new();
        for set in orders.chunks_exact(4) {
            *ways.entry(set.iter().map(|order| order[0]).collect()).or_default() += 1;
        }
        assert!(ways.len() == 6 && ways.values().all(|&n| (7..28).contains(&n)), "{ways:?}");
    }

    #[test]
    fn a_set_has_every_arm_in_every_place_and_after_every_other() {
        for arms in 2..=7usize {
            let set = set(arms);
            let orders = balanced(arms, 3 * set, &mut Stream::new(11, "order", arms as u64));
            let mut places: BTreeMap<(usize, u16), usize> = BTreeMap::new();
            let mut follows: BTreeMap<(u16, u16), usize> = BTreeMap::new();
            for order in &orders {
                for (place, &arm) in order.iter().enumerate() {
                    *places.entry((place, arm)).or_default() += 1;
                }
                for pair in order.windows(2) {
                    *follows.entry((pair[0], pair[1])).or_default() += 1;
                }
            }
            assert_eq!(places.len(), arms * arms);
            assert!(places.values().all(|&n| n == 3 * set / arms), "{arms}: {places:?}");
            assert_eq!(follows.len(), arms * (arms - 1));
            assert!(follows.values().all(|&n| n == 3 * set / arms), "{arms}: {follows:?}");
        }
    }

    #[test]
    fn the_seed_decides() {
        let draw = |seed| balanced(3, 12, &mut Stream::new(seed, "order", 0));
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn small_numbers() {
        assert_eq!(balanced(1, 2, &mut Stream::new(1, "order", 0)), [[0], [0]]);
        assert_eq!(balanced(0, 1, &mut Stream::new(1, "order", 0)), [Vec::<u16>::new()]);
        assert!(balanced(2, 0, &mut Stream::new(1, "order", 0)).is_empty());
    }
}
