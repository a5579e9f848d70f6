//! Where figures come from. Every record that leaves says it, so that a prediction is never read as a
//! measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The three origins, which never mix: an effect over studies is of one of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, strum::Display, strum::IntoStaticStr, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Origin {
    #[default]
    Measured,
    Simulated,
    /// Timed in a guest whose processor is emulated in software.
    Emulated,
}

impl Origin {
    /// The origin of records that only models make, where an older one does not say it.
    pub(crate) const fn simulated() -> Self {
        Self::Simulated
    }

    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The word that stands where a measured result has its verdict; `None` for a measured one.
    pub const fn mark(self) -> Option<&'static str> {
        match self {
            Self::Measured => None,
            Self::Simulated => Some("PREDICTED"),
            Self::Emulated => Some("EMULATED"),
        }
    }

    /// What its figures are, to follow "every figure is"; `None` for a measured one.
    pub const fn caution(self) -> Option<&'static str> {
        match self {
            Self::Measured => None,
            Self::Simulated => Some("a prediction of models; nothing was measured"),
            Self::Emulated => {
                Some("timed on an emulated processor, whose cores share nothing as real ones do")
            }
        }
    }

    /// What an interval of that confidence is called. Seeds of a simulation draw the same models again
    /// and again: their spread holds no truth with any confidence.
    pub fn interval_name(self, confidence: f64) -> String {
        match self {
            Self::Measured | Self::Emulated => {
                let percent = format!("{:.2}", confidence * 100.0);
                format!("{} % interval", percent.trim_end_matches('0').trim_end_matches('.'))
            }
            Self::Simulated => "seed spread".to_owned(),
        }
    }

    /// The origin that decides how a change between others is spoken of: it is simulated where any of
    /// them is.
    pub fn of_change(origins: impl IntoIterator<Item = Self>) -> Self {
        let simulated = origins.into_iter().any(|origin| origin == Self::Simulated);
        if simulated { Self::Simulated } else { Self::Measured }
    }

    /// The one origin of all of them; `None` where they differ or there are none.
    pub fn common(origins: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut origins = origins.into_iter();
        let first = origins.next()?;
        origins.all(|other| other == first).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Origin::{Emulated, Measured, Simulated};

    #[test]
    fn older_records_of_models_are_simulated_and_others_measured() {
        let cell = r#"{"schema":1,"policy":"p","topology":"1x2","scenario":"s","seed":1,"measures":{},"trace_hash":""}"#;
        let cell: crate::simulation::sweep::SweepCell = serde_json::from_str(cell).expect("a cell");
        assert_eq!((cell.origin, Origin::default()), (Simulated, Measured));
    }

    #[test]
    fn figures_of_several_origins_have_none_in_common() {
        assert_eq!(Origin::common([Measured, Measured]), Some(Measured));
        assert_eq!(Origin::common([Measured, Emulated]), None);
        assert_eq!(Origin::common([]), None);
        assert_eq!(Origin::of_change([Measured, Simulated]), Simulated);
        assert_eq!(serde_json::to_string(&Emulated).ok(), Some("\"emulated\"".to_owned()));
        assert_eq!(
            [Measured, Simulated].map(|origin| origin.interval_name(0.95)),
            ["95 % interval", "seed spread"]
        );
    }
}
