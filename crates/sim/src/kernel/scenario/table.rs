//! The built-in scenarios: one file each in `scenarios/`, listed once, here.

use super::Scenario;

/// A built-in scenario before it is read.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// Its id.
    pub name: &'static str,
    /// The text of its file, also a template for scenarios of one's own.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$(BuiltIn { name: $name, text: include_str!(concat!("../../../scenarios/", $name, ".toml")) }),*]
    };
}

/// Every built-in scenario, the patch's own questions first.
pub const ALL: &[BuiltIn] = built_in![
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
        ALL.iter().map(BuiltIn::scenario).collect()
    }

    /// The built-in scenario of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|entry| entry.name == name).map(BuiltIn::scenario)
    }
}

impl BuiltIn {
    /// The scenario itself.
    ///
    /// # Panics
    /// If the built-in text is bad, which a test rules out.
    #[must_use]
    pub fn scenario(&self) -> Scenario {
        Scenario::read(self.name, self.text).unwrap_or_else(|error| panic!("{error}"))
    }
}
