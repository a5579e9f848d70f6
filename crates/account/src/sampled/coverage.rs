//! The exact interval of a share that was seen in so many random looks (Clopper & Pearson 1934).

use coretwin_base::account::Span;
use coretwin_stats::confidence;
use coretwin_stats::student::incomplete_beta;

/// Probability left out on each side.
const TAIL: f64 = (100 - confidence::PERCENT) as f64 / 200.0;
/// The point of the normal distribution with that much above it.
const NORMAL: f64 = 1.959_964;
/// Up to so many looks the binomial distribution itself is taken.
const LOOKS_EXACT: f64 = 10_000.0;

/// The lowest share that would give as much as was seen with a probability of 2.5 %.
/// `hits` of `looks`, which need not be whole: looks of unequal weight count as the number of equal
/// ones that would be as precise.
pub(crate) fn lowest(hits: f64, looks: f64) -> f64 {
    if hits <= 0.0 || looks <= 0.0 {
        return 0.0;
    }
    if hits >= looks {
        // P(X >= looks) = p^looks.
        return TAIL.powf(1.0 / looks);
    }
    if looks > LOOKS_EXACT {
        return lowest_of_many(hits, looks);
    }
    // P(X >= hits) = I_p(hits, looks - hits + 1), increasing in p.
    solve(|share| incomplete_beta(hits, (looks - hits).max(0.0) + 1.0, share) - TAIL)
}

pub(crate) fn highest(hits: f64, looks: f64) -> f64 {
    1.0 - lowest(looks - hits, looks)
}

/// How long something lasted that was seen in `seen_s` of `elapsed_s` by so many looks.
pub(crate) fn seen_s(seen_s: f64, elapsed_s: f64, looks: f64) -> Span {
    let share = if elapsed_s > 0.0 { (seen_s / elapsed_s).clamp(0.0, 1.0) } else { 0.0 };
    Span {
        value: seen_s,
        low: (elapsed_s * lowest(share * looks, looks)).min(seen_s),
        high: (elapsed_s * highest(share * looks, looks)).max(seen_s),
    }
}

/// The same by Wilson's score (1927), moved out by half a look to stay on the safe side.
fn lowest_of_many(hits: f64, looks: f64) -> f64 {
    let share = (hits - 0.5).max(0.0) / looks;
    let square = NORMAL * NORMAL / looks;
    let spread = NORMAL * (share * (1.0 - share) / looks + square / looks / 4.0).sqrt();
    ((share + square / 2.0 - spread) / (1.0 + square)).max(0.0)
}

fn solve(increasing: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0f64, 1.0f64);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if increasing(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_interval_of_the_tables() {
        // Clopper-Pearson, 95 %: 5 of 20, 0 of 10, 10 of 10 (any table of the binomial).
        let near = |a: f64, b: f64| assert!((a - b).abs() < 5e-4, "{a} {b}");
        near(lowest(5.0, 20.0), 0.0866);
        near(highest(5.0, 20.0), 0.4910);
        near(lowest(0.0, 10.0), 0.0);
        near(highest(0.0, 10.0), 0.3085);
        near(lowest(10.0, 10.0), 0.6915);
        near(highest(10.0, 10.0), 1.0);
        near(highest(0.0, 0.0), 1.0);
    }

    #[test]
    fn many_looks_go_on_where_the_exact_interval_ends() {
        for share in [0.001, 0.1, 0.5, 0.97] {
            let (exact, wilson) = (
                lowest(share * LOOKS_EXACT, LOOKS_EXACT),
                lowest_of_many(share * LOOKS_EXACT, LOOKS_EXACT),
            );
            assert!((exact - wilson).abs() < 1e-4, "{share}: {exact} {wilson}");
        }
    }
}
