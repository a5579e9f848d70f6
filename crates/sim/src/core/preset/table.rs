//! The built-in presets: one file each in `presets/`, listed once, here.

use super::Preset;

/// A built-in preset before it is read.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// Its id.
    pub name: &'static str,
    /// The text of its file, also a template for presets of one's own.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$(BuiltIn { name: $name, text: include_str!(concat!("../../../presets/", $name, ".toml")) }),*]
    };
}

/// Every built-in preset: the article's machine, the note's four, then by maker and age.
pub const ALL: &[BuiltIn] = built_in![
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
        ALL.iter().map(BuiltIn::preset).collect()
    }

    /// The built-in preset of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|entry| entry.name == name).map(BuiltIn::preset)
    }
}

impl BuiltIn {
    /// The preset itself.
    ///
    /// # Panics
    /// If the built-in text is bad, which a test rules out.
    #[must_use]
    pub fn preset(&self) -> Preset {
        Preset::read(self.name, self.text).unwrap_or_else(|error| panic!("{error}"))
    }
}
