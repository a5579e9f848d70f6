//! The built-in machines: one file each in `machines/`, listed once, here.

use super::MachinePreset;
use crate::built_in::{BuiltIn, built_in};

/// Every built-in machine, the article's first.
pub const ALL: &[BuiltIn] = built_in!["../../machines/":
    "xeon-mp-foster",
    "xeon-mp-2-socket",
    "golden-cove-server",
    "zen4-2x96",
    "vm-1",
];

impl MachinePreset {
    /// Every built-in machine, in the order of [`ALL`].
    #[must_use]
    pub fn all() -> Vec<Self> {
        ALL.iter().map(|entry| entry.read(Self::read)).collect()
    }

    /// The built-in machine of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|entry| entry.name == name).map(|entry| entry.read(Self::read))
    }
}
