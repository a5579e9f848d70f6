//! A load curve: the rates at which a service is offered requests, the objective that its latency must
//! keep, and what came of it.

use crate::account::Span;
use crate::study::latency::{BEYOND_MIN, QUANTILES};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// Name of the parameter that holds a row's rate: in the plan as asked for, in a reading as offered.
pub const RATE: &str = "rate";

/// Rates between two bounds, unless a number of them is given.
const RATES: usize = 5;
const RATES_MAX: usize = 50;
/// Shares of `auto`: they reach beyond the saturation of the reference, for another arm may carry more.
const AUTO: [f64; 8] = [0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5];
const FORM: &str =
    "write rates like 10%..90% (five of them), 10%..90%:9, 30%,60%,90%, 500/s..2500/s or auto";

/// How many requests a second are offered.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub enum Rate {
    /// As a share of the reference's saturation: the same number of requests in every arm.
    Share(f64),
    PerSecond(f64),
}

impl Rate {
    /// Reads `50%`, `2000/s`; a bare number is requests a second.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bad = || format!("'{text}' is not a rate; {FORM}");
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| bad());
        let (number, rate): (f64, fn(f64) -> Self) = match text.strip_suffix('%') {
            Some(percent) => (number(percent)? / 100.0, Self::Share),
            None => (number(text.strip_suffix("/s").unwrap_or(text))?, Self::PerSecond),
        };
        let most = if matches!(rate(number), Self::Share(_)) { 10.0 } else { 1e8 };
        if number > 0.0 && number <= most { Ok(rate(number)) } else { Err(bad()) }
    }

    fn number(self) -> f64 {
        match self {
            Self::Share(share) => share,
            Self::PerSecond(rate) => rate,
        }
    }

    fn like(self, number: f64) -> Self {
        match self {
            Self::Share(_) => Self::Share(number),
            Self::PerSecond(_) => Self::PerSecond(number),
        }
    }

    /// Reads the rates of a curve, in ascending order. Errors: a sentence, if they are none, are of two
    /// kinds, or one stands there twice.
    pub fn curve(text: &str) -> Result<Vec<Self>, String> {
        let mut rates = match text.split_once("..") {
            _ if text == "auto" => AUTO.map(Self::Share).to_vec(),
            Some((from, to)) => between(from, to)?,
            None => text.split(',').map(Self::parse).collect::<Result<_, _>>()?,
        };
        let shares = rates.iter().filter(|rate| matches!(rate, Self::Share(_))).count();
        if shares != 0 && shares != rates.len() {
            return Err(format!("'{text}' has shares and rates a second; {FORM}"));
        }
        rates.sort_by(|a, b| a.number().total_cmp(&b.number()));
        if rates.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(format!("'{text}' has a rate twice; {FORM}"));
        }
        Ok(rates)
    }

    /// Requests a second, at this saturation of the reference; rounded as it is typed, since some
    /// generators take whole numbers only.
    pub fn per_second(self, saturation: f64) -> f64 {
        let rate = match self {
            Self::Share(share) => share * saturation,
            Self::PerSecond(rate) => rate,
        };
        rounded(rate)
    }
}

/// A rate as it is passed on: whole from 10 a second, in hundredths below.
pub fn rounded(rate: f64) -> f64 {
    if rate >= 10.0 { rate.round() } else { (rate * 100.0).round() / 100.0 }
}

/// Evenly spaced rates from one to the other.
fn between(from: &str, to: &str) -> Result<Vec<Rate>, String> {
    let (to, count) = match to.split_once(':') {
        Some((to, count)) => (to, count.parse().ok().filter(|n| (2..=RATES_MAX).contains(n))),
        None => (to, Some(RATES)),
    };
    let count = count.ok_or_else(|| format!("a curve has 2 to {RATES_MAX} rates; {FORM}"))?;
    let (low, high) = (Rate::parse(from)?, Rate::parse(to)?);
    if low.like(high.number()) != high || high.number() <= low.number() {
        return Err(format!("'{from}..{to}' does not go from a rate to a higher one; {FORM}"));
    }
    let step = (high.number() - low.number()) / (count - 1) as f64;
    // To the millionth: 0.1 + 2 × 0.2 is a little more than 0.3, and rates are shown.
    let at = |index: usize| ((low.number() + step * index as f64) * 1e6).round() / 1e6;
    Ok((0..count).map(|index| low.like(at(index))).collect())
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => write!(f, "{}%", (share * 1e8).round() / 1e6),
            Self::PerSecond(rate) => write!(f, "{rate}/s"),
        }
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// A latency that must be kept, typed `p99=10ms`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Objective {
    /// Index into [`QUANTILES`].
    quantile: usize,
    pub seconds: f64,
}

impl Objective {
    pub fn parse(text: &str) -> Result<Self, String> {
        let names = QUANTILES.map(|(name, _)| name).join(", ");
        let bad = || {
            format!(
                "'{text}' is not an objective: write a percentile ({names}) and a time, like p99=10ms"
            )
        };
        let (name, time) = text.split_once('=').ok_or_else(bad)?;
        let quantile = QUANTILES.iter().position(|(known, _)| *known == name).ok_or_else(bad)?;
        let seconds = latency_s(time).ok_or_else(bad)?;
        if seconds > 0.0 && seconds <= 3_600.0 {
            Ok(Self { quantile, seconds })
        } else {
            Err(bad())
        }
    }

    /// `p99`.
    pub fn percentile(self) -> &'static str {
        QUANTILES[self.quantile].0
    }

    /// Fewest requests of a run whose percentile is known.
    pub fn samples_min(self) -> f64 {
        (BEYOND_MIN as f64 / (1.0 - QUANTILES[self.quantile].1) - 1e-6).ceil()
    }

    /// `p99 ≤ 10 ms`.
    pub fn words(self) -> String {
        format!("{} ≤ {}", self.percentile(), in_unit(self.seconds, " "))
    }
}

/// Reads a latency with its unit, in seconds: `10ms`, `250us`, `1.5s`.
fn latency_s(text: &str) -> Option<f64> {
    let split = text.find(|c: char| c.is_alphabetic())?;
    let (number, unit) = text.split_at(split);
    let scale = time_unit(unit)?;
    number.trim().parse::<f64>().ok().map(|number| number * scale)
}

/// Seconds of a unit of latencies.
pub fn time_unit(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    })
}

fn in_unit(seconds: f64, between: &str) -> String {
    let (scale, unit) = match seconds {
        s if s < 1e-3 => (1e6, "us"),
        s if s < 1.0 => (1e3, "ms"),
        _ => (1.0, "s"),
    };
    // Without what multiplying adds.
    format!("{}{between}{unit}", (seconds * scale * 1e6).round() / 1e6)
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.percentile(), in_unit(self.seconds, ""))
    }
}

impl Serialize for Objective {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Objective {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// A mean over blocks, with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimated {
    pub value: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// An arm at one rate of the curve; a number is null where it is not known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    pub arm: String,
    /// Label of the plan's row.
    pub row: String,
    /// Share of the reference's saturation, where rates are shares.
    pub share: Option<f64>,
    /// Requests offered a second.
    pub rate: f64,
    pub blocks: u32,
    /// Requests answered a second.
    pub throughput: Option<Estimated>,
    /// Seconds by the percentile's name; those known in at least half of the blocks.
    pub latency: BTreeMap<String, Estimated>,
    /// Latency of the compared arm over this one's, at the objective's percentile (p99 without one), by
    /// block: above 1 is faster here.
    pub faster: Option<Estimated>,
    /// CPU seconds of the server for each request (of everything that was run, where they are unknown).
    pub cpu_s: Option<Estimated>,
    /// Share of the arm's CPU time that was busy, as the kernel counts it, 0 to 1.
    pub utilisation: Option<Estimated>,
    /// Share of what the arm carries at most, 0 to 1.
    pub capacity_used: Option<Estimated>,
    /// Seconds of a whole core's capacity for each request, as `account` says. The range is that of
    /// `account`, not an interval by block.
    pub capacity_s: Option<Span>,
    /// The same as a share of what the arm's cores have with all their siblings, 0 to 1.
    pub cores_used: Option<Span>,
}

/// Latency against rate. Numbers are means over blocks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadCurve {
    /// Requests a second that each arm carried at most, by the screening, or beyond it on the curve.
    pub saturation: BTreeMap<String, f64>,
    pub points: Vec<CurvePoint>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let rates = Rate::curve(text).unwrap_or_else(|why| panic!("{text}: {why}"));
        rates.iter().map(Rate::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn rates_are_read_between_bounds_one_by_one_or_a_second() {
        assert_eq!(shown("10%..90%"), "10% 30% 50% 70% 90%");
        assert_eq!(shown("10%..90%:3"), "10% 50% 90%");
        assert_eq!(shown("90%,12.5%"), "12.5% 90%");
        assert_eq!(shown("500/s..2500/s"), "500/s 1000/s 1500/s 2000/s 2500/s");
        assert_eq!(shown("0.5,7/s"), "0.5/s 7/s");
        assert_eq!(shown("auto").split(' ').count(), AUTO.len());
        for text in ["", "x", "0%", "-1%", "90%..10%", "10%..90/s", "10%,5/s", "10%,10%", "NaN/s"] {
            assert!(Rate::curve(text).is_err(), "{text}");
        }
        for text in ["10%..90%:1", "10%..90%:99", "10%..", "1001%", "inf"] {
            assert!(Rate::curve(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_share_is_of_the_saturation_and_whole() {
        assert_eq!(Rate::Share(0.3).per_second(3_333.0), 1_000.0);
        assert_eq!(Rate::Share(0.1).per_second(7.77), 0.78);
        assert_eq!(Rate::PerSecond(250.0).per_second(1.0), 250.0);
    }

    #[test]
    fn objectives_are_read_and_shown() {
        for (text, words, samples) in [
            ("p99=10ms", "p99 ≤ 10 ms", 10_000.0),
            ("p99.9=1.5s", "p99.9 ≤ 1.5 s", 100_000.0),
            ("p50=250us", "p50 ≤ 250 us", 200.0),
        ] {
            let objective = Objective::parse(text).expect(text);
            assert_eq!((objective.to_string(), objective.words()), (text.into(), words.into()));
            assert_eq!(objective.samples_min(), samples);
        }
        for text in ["p99", "p98=1ms", "p99=10", "p99=0ms", "p99=-1ms", "p99=1m", "p99=NaNs"] {
            assert!(Objective::parse(text).is_err(), "{text}");
        }
    }
}
