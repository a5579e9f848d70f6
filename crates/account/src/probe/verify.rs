//! Disjoint pairs tested directly, all side by side.
//!
//! A repetition has three rounds: one CPU of each pair; both; the other. Which comes first is drawn
//! anew for every pair and repetition: if two pairs were matched crosswise, a and b in the way of
//! each other but tested as (a, x) and (b, y), then in half of the repetitions a and b are in the
//! same round already, and no loss shows.

use super::evidence::Compared;
use super::field::{End, Field};
use coretwin_base::probe::Contention;
use coretwin_base::random::Stream;

/// Repetitions at least: fewer make a poor interval.
pub(super) const REPEATS_MIN: usize = 5;
/// Repetitions at most.
const REPEATS_MAX: usize = 12;
/// Evidence that settles a pair, in nats: odds of 3000 to 1.
const SETTLED: f64 = 8.0;

/// Tests pairs of places until each is settled, or has had enough repetitions.
pub(super) fn verify(
    field: &mut Field<'_>,
    kind: Contention,
    pairs: &[(usize, usize)],
    random: &mut Stream,
) -> Result<Vec<Compared>, End> {
    let mut compared = vec![Compared::default(); pairs.len()];
    for repeat in 0..REPEATS_MAX {
        let unsettled = |one: &Compared| one.evidence.abs() < SETTLED || one.len() < REPEATS_MIN;
        if repeat >= REPEATS_MIN && !compared.iter().any(unsettled) {
            break;
        }
        let ordered: Vec<(usize, usize)> = pairs
            .iter()
            .map(|(a, b)| if random.below(2) == 0 { (*a, *b) } else { (*b, *a) })
            .collect();
        let first: Vec<usize> = ordered.iter().map(|pair| pair.0).collect();
        let second: Vec<usize> = ordered.iter().map(|pair| pair.1).collect();
        let both: Vec<usize> = first.iter().chain(&second).copied().collect();
        let apart = field.round(kind, &first)?;
        let beside = field.round(kind, &both)?;
        let apart_too = field.round(kind, &second)?;
        for ((a, b), compared) in ordered.iter().zip(&mut compared) {
            let loss = |place: usize, apart: &[Option<f64>]| Some(beside[place]? - apart[place]?);
            if let Some(both) = loss(*a, &apart).zip(loss(*b, &apart_too)) {
                compared.add([both.0, both.1]);
            }
        }
    }
    Ok(compared)
}
