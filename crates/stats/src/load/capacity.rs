//! The highest rate at which one arm keeps an objective, in one block.
//!
//! Between the rates that were run, the *inverse* of the latency is a monotone cubic of the rate. Where
//! the service is a queue near saturation it is a straight line, which the cubic then is too: the latency
//! of M/M/1 at any percentile is inverse to the spare rate μ − λ, and Kingman's formula has the same
//! factor for every G/G/1. With more servers it bends. A line through the logarithm, the usual choice, is
//! off by 2 to 4 % there; `tests/simulation/load.rs` prints both.
//!
//! Sources: Kingman, *The single server queue in heavy traffic*, Mathematical Proceedings of the Cambridge
//! Philosophical Society 57 (1961); Fritsch & Butland, *A method for constructing local monotone piecewise
//! cubic interpolants*, SIAM Journal on Scientific and Statistical Computing 5 (1984). Latency that falls
//! with the rate is noise, which pooling adjacent violators takes out: Ayer et al., Annals of
//! Mathematical Statistics 26 (1955).

/// One rate of a curve in one block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Requests offered a second, and those answered.
    pub offered: f64,
    pub carried: f64,
    pub latency_s: f64,
}

impl Seen {
    fn share(&self) -> f64 {
        self.carried / self.offered
    }

    /// Where it lies on the axis of rates: what was offered; beyond saturation, what was carried. `best`
    /// is the largest share that was answered: the time of a program's start is in every run.
    fn place(&self, best: f64) -> f64 {
        if self.share() < OVERLOADED * best { self.carried / best } else { self.offered }
    }
}

/// Beyond saturation a smaller share than this of what is offered is answered. Arrivals are random: a
/// thousand of them are 3 % more or fewer than meant.
const OVERLOADED: f64 = 0.95;

/// What a block says of the highest rate that keeps the objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kept {
    /// No rate of the curve keeps it.
    AtMost(f64),
    Rate(f64),
    /// Every rate keeps it.
    AtLeast(f64),
}

impl Kept {
    pub fn rate(self) -> f64 {
        match self {
            Self::AtMost(rate) | Self::Rate(rate) | Self::AtLeast(rate) => rate,
        }
    }
}

/// The highest rate with a latency of at most `objective_s`; `None` without a usable rate.
pub fn kept(seen: &[Seen], objective_s: f64) -> Option<Kept> {
    let best = seen.iter().map(Seen::share).fold(0.0, f64::max).min(1.0);
    let is_usable = |seen: &&Seen| seen.carried > 0.0 && seen.offered > 0.0 && seen.latency_s > 0.0;
    let mut points: Vec<(f64, f64)> = seen
        .iter()
        .filter(is_usable)
        .map(|seen| (seen.place(best), 1.0 / seen.latency_s))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    falling(&mut points);
    let least = 1.0 / objective_s;
    let (first, last) = (*points.first()?, *points.last()?);
    let Some(at) = points.iter().rposition(|(_, inverse)| *inverse >= least) else {
        return Some(Kept::AtMost(first.0));
    };
    let Some((rate, inverse)) = points.get(at + 1).copied() else {
        return Some(Kept::AtLeast(last.0));
    };
    let (mut low, mut high) = (points[at].0, rate);
    if points[at].1 == inverse {
        return Some(Kept::Rate(low));
    }
    let slopes = [slope(&points, at), slope(&points, at + 1)];
    // The cubic falls all the way, so halving finds the one rate; 60 halves are below rounding.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        let is_kept = cubic([points[at], points[at + 1]], slopes, middle) >= least;
        if is_kept { low = middle } else { high = middle }
    }
    Some(Kept::Rate(low))
}

/// Slope of the cubic at a point: the weighted harmonic mean of those beside it, so that it nowhere turns.
fn slope(points: &[(f64, f64)], at: usize) -> f64 {
    let chord = |from: usize| {
        let ((x, y), (next_x, next_y)) = (points[from], points[from + 1]);
        (next_x - x, (next_y - y) / (next_x - x).max(f64::MIN_POSITIVE))
    };
    let last = points.len() - 1;
    // At an end the parabola through three points, no steeper than three times the chord.
    let end = |near: (f64, f64), far: Option<(f64, f64)>| {
        let Some(far) = far else { return near.1 };
        let slope = ((2.0 * near.0 + far.0) * near.1 - near.0 * far.1) / (near.0 + far.0);
        slope.clamp(3.0 * near.1, 0.0)
    };
    match at {
        0 => end(chord(0), (last > 1).then(|| chord(1))),
        at if at == last => end(chord(last - 1), (last > 1).then(|| chord(last - 2))),
        at => {
            let (before, after) = (chord(at - 1), chord(at));
            if before.1 >= 0.0 || after.1 >= 0.0 {
                return 0.0;
            }
            let weights = (2.0 * after.0 + before.0, after.0 + 2.0 * before.0);
            (weights.0 + weights.1) / (weights.0 / before.1 + weights.1 / after.1)
        }
    }
}

/// Hermite's cubic between two points with these slopes.
fn cubic([(x0, y0), (x1, y1)]: [(f64, f64); 2], [m0, m1]: [f64; 2], x: f64) -> f64 {
    let width = x1 - x0;
    let t = (x - x0) / width;
    let (rest, turn) = (1.0 - t, t * (1.0 - t));
    y0 * rest * rest * (1.0 + 2.0 * t)
        + y1 * t * t * (3.0 - 2.0 * t)
        + width * turn * (m0 * rest - m1 * t)
}

/// Makes the second numbers fall: neighbours that rise become their mean.
fn falling(points: &mut [(f64, f64)]) {
    let mut pools: Vec<(f64, usize)> = Vec::with_capacity(points.len());
    for (_, value) in points.iter() {
        let mut pool = (*value, 1);
        while let Some((mean, count)) = pools.last().copied().filter(|(mean, _)| *mean < pool.0) {
            let both = count + pool.1;
            pool = ((mean * count as f64 + pool.0 * pool.1 as f64) / both as f64, both);
            pools.pop();
        }
        pools.push(pool);
    }
    let means = pools.into_iter().flat_map(|(mean, count)| std::iter::repeat_n(mean, count));
    for (point, mean) in points.iter_mut().zip(means) {
        point.1 = mean;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn curve(points: &[(f64, f64)]) -> Vec<Seen> {
        let seen = |(rate, latency_s): &(f64, f64)| Seen {
            offered: *rate,
            carried: *rate,
            latency_s: *latency_s,
        };
        points.iter().map(seen).collect()
    }

    #[test]
    fn between_two_rates_and_beyond_the_ends() {
        let points = curve(&[(10.0, 0.01), (20.0, 0.02), (30.0, 0.1)]);
        // 1/0.02 = 50 and 1/0.1 = 10; 1/0.05 = 20 is three quarters of the way along a line.
        let Some(Kept::Rate(rate)) = kept(&points, 0.05) else { panic!("a rate") };
        assert!((26.5..28.5).contains(&rate), "{rate}");
        // The inverse falls by one a second: the cubic is the line.
        let points =
            curve(&[(10.0, 1.0 / 90.0), (20.0, 1.0 / 80.0), (70.0, 1.0 / 30.0), (95.0, 0.2)]);
        let Some(Kept::Rate(rate)) = kept(&points, 1.0 / 17.0) else { panic!("a rate") };
        assert!((rate - 83.0).abs() < 1e-9, "{rate}");
        let points = curve(&[(10.0, 0.01), (20.0, 0.02), (30.0, 0.1)]);
        assert_eq!(kept(&points, 0.1), Some(Kept::AtLeast(30.0)));
        assert_eq!(kept(&points, 0.001), Some(Kept::AtMost(10.0)));
        assert_eq!(kept(&[], 1.0), None);
    }

    #[test]
    fn beyond_saturation_the_rate_is_what_was_carried() {
        let mut points = curve(&[(70.0, 0.030), (130.0, 5.0)]);
        points[1].carried = 100.0;
        let Some(Kept::Rate(rate)) = kept(&points, 0.1) else { panic!("a rate") };
        assert!((88.0..94.0).contains(&rate), "{rate}");
    }

    #[test]
    fn a_latency_that_falls_with_the_rate_is_pooled() {
        let points = curve(&[(10.0, 0.010), (20.0, 0.030), (30.0, 0.025), (40.0, 0.1)]);
        let Some(Kept::Rate(rate)) = kept(&points, 0.026) else { panic!("a rate") };
        // The middle two are one level of 36.7 a second, which lies under 1/0.026 = 38.5.
        assert!((10.0..20.0).contains(&rate), "{rate}");
    }

    proptest! {
        #[test]
        fn a_looser_objective_is_never_kept_by_less(
            latencies in prop::collection::vec(0.001f64..1.0, 2..9),
            tight in 0.001f64..1.0, looser in 1.0f64..5.0,
        ) {
            let points: Vec<(f64, f64)> =
                latencies.iter().enumerate().map(|(i, l)| (10.0 * (i + 1) as f64, *l)).collect();
            let rate = |objective| kept(&curve(&points), objective).expect("a rate").rate();
            prop_assert!(rate(tight) <= rate(tight * looser) + 1e-9);
        }
    }
}
