//! The built-in scenarios: one file each in `scenarios/`, listed once, here.

use super::Scenario;
use crate::built_in::{BuiltIn, built_in};

/// Every built-in scenario, the patch's own questions first.
pub const ALL: &[BuiltIn] = built_in!["../../../scenarios/":
    "two-on-siblings",
    "passive-balancing",
    "make-j1",
    "make-j2",
    "make-j3",
    "make-j4",
    "wakeup-beside-idle",
    "affinity-in-core",
    "priority-in-core",
    "article-machine",
    "half-loaded",
    "mixed-load",
];

impl Scenario {
    /// Every built-in scenario, in the order of [`ALL`].
    #[must_use]
    pub fn all() -> Vec<Self> {
        ALL.iter().map(|entry| entry.read(Self::read)).collect()
    }

    /// The built-in scenario of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|entry| entry.name == name).map(|entry| entry.read(Self::read))
    }
}
