//! What several verbs read in their options: shares, limits, placements; and the seed nobody gives.

use anyhow::Result;
use clap::builder::{PossibleValue, PossibleValuesParser};
use coretwin_base::machine::placement::Placement;
use coretwin_base::suggest::unknown;
use coretwin_report::Format;

/// A seed nobody chose: from the kernel, and small enough to be typed again.
pub(crate) fn drawn_seed() -> Result<u64> {
    use std::hash::{BuildHasher, Hasher, RandomState};
    // RandomState is keyed by the operating system's random numbers.
    Ok(RandomState::new().build_hasher().finish() % 1_000_000_000)
}

/// The one of that name; else what else there is, with the nearest.
pub(crate) fn named<T>(
    kind: &str,
    name: &str,
    all: impl IntoIterator<Item = T>,
    name_of: impl Fn(&T) -> &'static str,
) -> Result<T, String> {
    let mut names = Vec::new();
    for one in all {
        if name_of(&one) == name {
            return Ok(one);
        }
        names.push(name_of(&one));
    }
    Err(unknown(kind, name, &names))
}

pub(crate) fn placement(text: &str) -> Result<Placement, String> {
    named("placement", text, Placement::ALL, |placement| placement.name())
}

/// A share that is typed and shown in percent, like `5%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limit(pub(crate) f64);

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}%", self.0 * 100.0)
    }
}

pub(crate) fn limit(text: &str) -> Result<Limit, String> {
    (if text == "100%" { Ok(1.0) } else { share(text) }).map(Limit)
}

pub(crate) fn share(text: &str) -> Result<f64, String> {
    let bad =
        || format!("'{text}' is not a share above 0 and below 100 %; write it like 2% or 0.02");
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    let share = number.trim().parse::<f64>().map_err(|_| bad())? * scale;
    if share > 0.0 && share < 1.0 { Ok(share) } else { Err(bad()) }
}

/// `--format`: what it takes, its help and its completions are the tables of formats.
pub(crate) fn formats<Render>(formats: &[Format<Render>]) -> PossibleValuesParser {
    PossibleValuesParser::new(formats.iter().map(format_value))
}

pub(crate) fn format_value<Render>(format: &Format<Render>) -> PossibleValue {
    PossibleValue::new(format.name).help(format.about)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::study::plan::DISTURBED_SHARE_MAX;

    #[test]
    fn shares_are_read_as_percent_or_fraction() {
        assert_eq!(share("2%"), Ok(0.02));
        assert_eq!(share("0.02"), Ok(0.02));
        assert_eq!(limit("100%"), Ok(Limit(1.0)));
        assert_eq!(Limit(DISTURBED_SHARE_MAX).to_string(), "5%");
        for text in ["2", "0", "-1%", "100%", "x", "NaN"] {
            assert!(share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn documents_name_the_limit_of_steal_and_of_others() {
        let limit = format!("{} %", DISTURBED_SHARE_MAX * 100.0);
        let pages = ["LIMITS.md", "docs/virtual-machines.md"];
        for page in pages.map(|page| format!("{}/../../{page}", env!("CARGO_MANIFEST_DIR"))) {
            let text = std::fs::read_to_string(&page).expect(&page);
            let line = text.lines().find(|line| line.contains("--steal-limit"));
            assert!(line.is_some_and(|line| line.contains(&limit)), "{page}: {limit}");
        }
    }
}
