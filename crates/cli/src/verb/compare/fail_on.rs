//! What makes a comparison fail a build.

use crate::options;
use coretwin_base::study::comparison::{Change, Contrast, StudyComparison};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailOn {
    Worse,
    EffectWorse,
    ValueWorse,
    Inconclusive,
    Unmatched,
}

const FAIL_ON: [(&str, FailOn); 5] = [
    ("worse", FailOn::Worse),
    ("effect-worse", FailOn::EffectWorse),
    ("value-worse", FailOn::ValueWorse),
    ("inconclusive", FailOn::Inconclusive),
    ("unmatched", FailOn::Unmatched),
];

pub(super) fn parse(word: &str) -> Result<FailOn, String> {
    options::named("condition", word, FAIL_ON, |(name, _)| name).map(|(_, condition)| condition)
}

/// Whether data that could have decided did not.
pub(super) fn is_open(contrast: &Contrast) -> bool {
    matches!(contrast.change, None | Some(Change::Inconclusive))
}

impl FailOn {
    pub(super) fn holds(self, comparison: &StudyComparison) -> bool {
        let is_worse = |contrast: &Contrast| contrast.is_regression(comparison.confidence);
        let mut suites = comparison.suites.iter().map(|line| &line.interaction);
        match self {
            Self::Worse => {
                Self::EffectWorse.holds(comparison) || Self::ValueWorse.holds(comparison)
            }
            Self::EffectWorse => {
                suites.any(is_worse)
                    || comparison.effects.iter().any(|line| is_worse(&line.interaction))
            }
            Self::ValueWorse => {
                let mut lines = comparison.value_suites.iter().chain(&comparison.values);
                lines.any(|line| is_worse(&line.contrast))
            }
            Self::Inconclusive => suites.any(is_open),
            Self::Unmatched => comparison
                .studies
                .iter()
                .any(|study| !study.rows_only.is_empty() || !study.arms_only.is_empty()),
        }
    }
}
