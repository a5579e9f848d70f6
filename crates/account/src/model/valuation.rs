//! Yields and slowdowns for every kind of core, from what is known of them.

use crate::Error;
use coretwin_base::account::cputime::result::{Estimate, MeasuredFactors};
use coretwin_base::account::{Factor, FactorOrigin, Factors, Span};
use std::collections::BTreeMap;

/// The yield of two siblings where nothing is known, with its range: from 1.0 (a second thread gives
/// nothing) to 1.5. Published numbers lie between 0.9 (an analytic database) and 1.48 (the article's
/// rows on Linux 2.5.32); VMware's discount is 1.25, IBM's rule for z15 1.3.
pub const DEFAULT_YIELD: Span = Span { value: 1.25, low: 1.0, high: 1.5 };
/// The same of cores with more CPUs, all busy: POWER7's published 1.6 of four.
const DEFAULT_YIELD_MORE: Span = Span { value: 1.6, low: 1.0, high: 2.0 };
/// Yields and slowdowns outside of this are slips of the pen.
const FACTOR_RANGE: std::ops::RangeInclusive<f64> = 0.05..=64.0;

/// What is known of a factor: numbers for some k.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// By k, from 2; 0 stands for *all siblings busy*.
    by_busy: BTreeMap<usize, Span>,
    origin: FactorOrigin,
}

impl Known {
    /// Reads `1.3`, `1.2..1.4`, `1.3:1.2-1.4` or `2=1.4,4=1.6:1.5-1.7`: the number with all siblings busy, or with
    /// k busy, and its range. Errors: [`Error::Factor`] naming what is wrong; `what` says which factor
    /// it is.
    pub fn parse(text: &str, what: &str) -> Result<Self, Error> {
        let bad = |why: String| {
            Error::Factor(format!(
                "{what} '{text}': {why}; write a number, with its range if it is known, like 1.3, \
                 1.2..1.4 or 1.3:1.2-1.4; on cores of more than two CPUs by how many are busy, like \
                 2=1.4,4=1.6"
            ))
        };
        let mut by_busy = BTreeMap::new();
        for part in text.split(',') {
            let (busy, span) = match part.split_once('=') {
                Some((busy, span)) => match busy.trim().parse::<usize>() {
                    Ok(busy @ 2..=64) => (busy, span),
                    _ => return Err(bad(format!("'{busy}' is no number of busy CPUs, 2 to 64"))),
                },
                None => (0, part),
            };
            if by_busy.insert(busy, span_of(span).map_err(bad)?).is_some() {
                return Err(bad("it says the same twice".to_owned()));
            }
        }
        Ok(Self { by_busy, origin: FactorOrigin::Given })
    }

    fn measured(estimate: Estimate, from: &MeasuredFactors) -> Self {
        let span = Span {
            value: estimate.value,
            low: estimate.low.unwrap_or(estimate.value).min(estimate.value),
            high: estimate.high.unwrap_or(estimate.value).max(estimate.value),
        };
        let origin = FactorOrigin::Measured {
            work: from.work.clone(),
            neighbour: from.neighbour.clone(),
            measured_utc: from.measured_utc.clone(),
        };
        // Measured beside one busy sibling.
        Self { by_busy: [(2, span)].into(), origin }
    }

    pub fn of_measurement(from: &MeasuredFactors) -> (Option<Self>, Self) {
        let core_yield = from.factors.core_yield.map(|known| Self::measured(known, from));
        (core_yield, Self::measured(from.factors.slowdown, from))
    }
}

fn span_of(text: &str) -> Result<Span, String> {
    let number = |word: &str| match word.trim().parse::<f64>() {
        Ok(number) if FACTOR_RANGE.contains(&number) => Ok(number),
        Ok(number) => Err(format!("{number} is not between 0.05 and 64")),
        Err(_) => Err(format!("'{}' is not a number", word.trim())),
    };
    if let Some((low, high)) = text.split_once("..") {
        let (low, high) = (number(low)?, number(high)?);
        let value = f64::midpoint(low, high);
        return if low <= high {
            Ok(Span { value, low, high })
        } else {
            Err(format!("{low} is above {high}"))
        };
    }
    let Some((value, range)) = text.split_once(':') else {
        return number(text).map(Span::exact);
    };
    let (low, high) = range.split_once('-').ok_or_else(|| format!("'{range}' is not a range"))?;
    let span = Span { value: number(value)?, low: number(low)?, high: number(high)? };
    if span.low <= span.value && span.value <= span.high {
        Ok(span)
    } else {
        Err(format!("{value} does not lie between {low} and {high}"))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Valuation {
    /// Those of cores of n CPUs at index n − 1.
    by_threads: Vec<Factors>,
}

impl Valuation {
    /// From what is known, for cores of up to so many CPUs. A yield that is not known is the default; a
    /// slowdown that is not known is that of equal tasks, `k / s_k`. Between two known k the numbers
    /// lie on a line; beyond the last they stay. Errors: [`Error::Factor`] if something is said of more
    /// busy CPUs than a core has.
    pub fn new(
        core_yield: Option<&Known>,
        slowdown: Option<&Known>,
        threads_per_core_max: usize,
    ) -> Result<Self, Error> {
        let n = threads_per_core_max.max(1);
        for (known, what) in [(core_yield, "yield"), (slowdown, "slowdown")] {
            let most = known.and_then(|known| known.by_busy.keys().next_back().copied());
            // Siblings that nobody has are a slip; but a number for two is harmless without any.
            if let Some(most) = most.filter(|most| *most > n.max(2)) {
                return Err(Error::Factor(format!(
                    "the {what} is given for {most} busy CPUs of a core, but no core here has \
                     more than {n}"
                )));
            }
        }
        let factors = |n| factors(core_yield, slowdown, n);
        Ok(Self { by_threads: (1..=n).map(factors).collect() })
    }

    /// The factors of cores of n CPUs; of the largest known ones for more.
    pub fn factors(&self, threads_per_core: usize) -> &Factors {
        let last = self.by_threads.len() - 1;
        &self.by_threads[threads_per_core.saturating_sub(1).min(last)]
    }

    pub fn largest(&self) -> &Factors {
        self.factors(self.by_threads.len())
    }
}

/// What is known, completed for cores of n CPUs.
fn factors(core_yield: Option<&Known>, slowdown: Option<&Known>, n: usize) -> Factors {
    let of_known = |known: &Known| along(&known.by_busy, n, known.origin.clone());
    let core_yield = core_yield.map(of_known).unwrap_or_else(|| {
        let all_busy = if n > 2 { DEFAULT_YIELD_MORE } else { DEFAULT_YIELD };
        let by_busy = [(2, DEFAULT_YIELD), (n.max(2), all_busy)].into();
        along(&by_busy, n, FactorOrigin::Default)
    });
    let slowdown = slowdown.map(of_known).unwrap_or_else(|| {
        let equal = |(k, s): (u32, &Span)| {
            let k = f64::from(k);
            Span { value: k / s.value, low: k / s.high, high: k / s.low }
        };
        let by_busy: Vec<Span> = (1..).zip(&core_yield.by_busy).map(equal).collect();
        Factor { all_busy: by_busy[n - 1], by_busy, origin: FactorOrigin::FromYield }
    });
    Factors { core_yield, slowdown }
}

/// Numbers for k = 1 to n: 1 for one, the known ones, and lines between them.
fn along(known: &BTreeMap<usize, Span>, n: usize, origin: FactorOrigin) -> Factor {
    let mut points: BTreeMap<usize, Span> = [(1, Span::exact(1.0))].into();
    points.extend(known.iter().filter(|(k, _)| **k > 0).map(|(k, span)| (*k, *span)));
    if let Some(all) = known.get(&0) {
        points.insert(n.max(2), *all);
    }
    let at = |k: usize| {
        let below = points.range(..=k).next_back().map_or((1, Span::exact(1.0)), |(k, s)| (*k, *s));
        let Some((above_k, above)) = points.range(k..).next() else { return below.1 };
        if *above_k == below.0 {
            return below.1;
        }
        let way = (k - below.0) as f64 / (above_k - below.0) as f64;
        let between = |from: f64, to: f64| from + (to - from) * way;
        Span {
            value: between(below.1.value, above.value),
            low: between(below.1.low, above.low),
            high: between(below.1.high, above.high),
        }
    };
    let by_busy: Vec<Span> = (1..=n).map(at).collect();
    Factor { all_busy: by_busy[n - 1], by_busy, origin }
}
