//! Disjoint pairs tested directly, all side by side.
//!
//! A repetition has three rounds: one CPU of each pair; both; the other. Which comes first is drawn
//! anew for every pair and repetition: if two pairs were matched crosswise, a and b in the way of
//! each other but tested as (a, x) and (b, y), then in half of the repetitions a and b are in the
//! same round already, and no loss shows.

use super::evidence::Compared;
use super::field::{End, Field};
use coretwin_base::account::probe::Contention;

/// Repetitions at least: fewer make a poor interval.
pub(super) const REPEATS_MIN: usize = 5;
/// Repetitions at least of a pair that proves free and needs no interval.
const REPEATS_FREE: usize = 2;
const REPEATS_MAX: usize = 12;
/// Evidence that settles a pair, in nats: odds of 3000 to 1.
const SETTLED: f64 = 8.0;

/// Tests pairs of places until each is settled, or has had enough repetitions; `thorough` gives
/// an interval to those that prove free, too.
pub(super) fn verify(
    field: &mut Field<'_>,
    kind: Contention,
    pairs: &[(usize, usize)],
    thorough: bool,
) -> Result<Vec<Compared>, End> {
    let mut compared = vec![Compared::default(); pairs.len()];
    let free = if thorough { REPEATS_MIN } else { REPEATS_FREE };
    for _ in 0..REPEATS_MAX {
        let is_open = |one: &Compared| {
            let least = if one.evidence < 0.0 { free } else { REPEATS_MIN };
            one.evidence.abs() < SETTLED || one.len() < least
        };
        let open: Vec<usize> = (0..pairs.len()).filter(|at| is_open(&compared[*at])).collect();
        if open.is_empty() {
            break;
        }
        let ordered: Vec<(usize, usize)> = open
            .iter()
            .map(|at| pairs[*at])
            .map(|(a, b)| if field.random.below(2) == 0 { (a, b) } else { (b, a) })
            .collect();
        let first: Vec<usize> = ordered.iter().map(|pair| pair.0).collect();
        let second: Vec<usize> = ordered.iter().map(|pair| pair.1).collect();
        let both: Vec<usize> = first.iter().chain(&second).copied().collect();
        let apart = field.round(kind, &first)?;
        let beside = field.round(kind, &both)?;
        let apart_too = field.round(kind, &second)?;
        for ((a, b), at) in ordered.iter().zip(open) {
            let loss = |place: usize, apart: &[Option<f64>]| Some(beside[place]? - apart[place]?);
            if let Some(both) = loss(*a, &apart).zip(loss(*b, &apart_too)) {
                compared[at].add([both.0, both.1]);
            }
        }
    }
    Ok(compared)
}
