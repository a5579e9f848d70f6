//! The built-in presets: one file each in `presets/`, listed once, here.

use super::Preset;
use crate::built_in::{BuiltIn, built_in};

/// Every built-in preset: the article's machine, the note's four, then by maker and age.
pub const ALL: &[BuiltIn] = built_in!["../../../presets/":
    "xeon-mp-foster",
    "p4-northwood",
    "westmere",
    "sandybridge",
    "ivybridge",
    "skylake-sp",
    "golden-cove",
    "zen1",
    "zen3",
    "zen4",
    "zen5",
    "power9-smt4",
];

impl Preset {
    /// Every built-in preset, in the order of [`ALL`].
    #[must_use]
    pub fn all() -> Vec<Self> {
        ALL.iter().map(|entry| entry.read(Self::read)).collect()
    }

    /// The built-in preset of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|entry| entry.name == name).map(|entry| entry.read(Self::read))
    }
}
