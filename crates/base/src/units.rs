//! Units as types, where mixing them would be fatal.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use std::time::Duration;

/// A span of time, or a point on a clock that starts at 0, in nanoseconds. Range: 584 years.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// From seconds; negative values and NaN become 0.
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds.max(0.0) * 1e9) as u64)
    }

    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl From<Duration> for Nanos {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a duration: write a number with ms, s, m or h, like 500ms, 90s or 30m, and at \
     most 5000000h; a bare number is seconds"
)]
pub struct BadDuration(pub String);

/// Reads `500ms`, `90s`, `1.5m`, `2h`; a bare number is seconds. Errors: [`BadDuration`] if the text is
/// anything else, negative, not finite, or longer than 584 years.
pub fn parse_duration(text: &str) -> Result<Duration, BadDuration> {
    let bad = || BadDuration(text.to_owned());
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.trim().parse().map_err(|_| bad())?;
    let scale = match unit {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(bad()),
    };
    let seconds = number * scale;
    if !seconds.is_finite() || !(0.0..=1.8e10).contains(&seconds) {
        return Err(bad());
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Seconds for people: `840 ms`, `12.3 s`, `4 min 05 s`, `2 h 10 min`.
pub fn human_seconds(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "unknown".to_owned();
    }
    if seconds < 1.0 {
        return format!("{:.0} ms", seconds * 1e3);
    }
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    if whole < 3600 {
        return format!("{} min {:02} s", whole / 60, whole % 60);
    }
    format!("{} h {:02} min", whole / 3600, whole % 3600 / 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_unit() {
        for (text, ms) in
            [("500ms", 500), ("90s", 90_000), ("1.5m", 90_000), ("2h", 7_200_000), ("3", 3_000)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "s", "-1s", "1d", "1e300h", "NaN", "inf", "5 minutes"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn people_read_minutes() {
        assert_eq!(human_seconds(0.84), "840 ms");
        assert_eq!(human_seconds(12.34), "12.3 s");
        assert_eq!(human_seconds(245.0), "4 min 05 s");
        assert_eq!(human_seconds(7_800.0), "2 h 10 min");
        assert_eq!(human_seconds(f64::NAN), "unknown");
    }
}
