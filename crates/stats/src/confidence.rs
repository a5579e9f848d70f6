//! The level of confidence. Whatever says "95 %" says it from here: intervals, verdicts, sentences,
//! reports, help.
//!
//! What was *measured* at this level (the evidence in METHOD.md, the constants of `study/diagnosis`, the
//! factors of [`crate::stopping::WIDENINGS`]) must be measured again at another.

use coretwin_base::study::plan::Rule;

/// Confidence of the intervals shown, in percent.
pub const PERCENT: u32 = 95;

/// Confidence in percent of the interval that must lie inside the margin: two one-sided tests, each at
/// [`LEVEL`].
pub const EQUIVALENCE_PERCENT: u32 = 2 * PERCENT - 100;

/// Confidence of the intervals shown, 0 to 1.
pub const CONFIDENCE: f64 = PERCENT as f64 / 100.0;

/// Confidence of the interval that must lie inside the margin, 0 to 1.
pub const EQUIVALENCE: f64 = EQUIVALENCE_PERCENT as f64 / 100.0;

/// Adjusted p-values below this make a difference of a row.
pub const LEVEL: f64 = 1.0 - CONFIDENCE;

pub fn interval() -> String {
    format!("{PERCENT} % interval")
}

/// What the interval of a study that looks until there is a verdict is called.
pub fn sequence() -> String {
    format!("{PERCENT} % confidence sequence")
}

/// [`sequence`] or [`interval`], by the rule of a study.
pub fn interval_of(rule: Rule) -> String {
    match rule {
        Rule::Width => interval(),
        Rule::Verdict => sequence(),
    }
}

pub fn equivalence_interval() -> String {
    format!("{EQUIVALENCE_PERCENT} % interval")
}

/// [`LEVEL`] in words: `0.05`.
pub fn level() -> String {
    format!("0.{:02}", 100 - PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_method_names_the_level_that_holds() {
        let method = include_str!("../../../METHOD.md");
        for said in [
            format!("The interval is Student's t at {PERCENT} %."),
            format!("**NO MATERIAL DIFFERENCE** if the {} lies inside", equivalence_interval()),
            format!("(two one-sided tests at {} %)", 100 - PERCENT),
            format!("**HELPS** or **HURTS** if the {} excludes no effect", interval()),
        ] {
            assert!(
                method.contains(&said),
                "METHOD.md and its evidence are of another level: {said}"
            );
        }
        assert_eq!(format!("{LEVEL:.2}"), level());
    }
}
