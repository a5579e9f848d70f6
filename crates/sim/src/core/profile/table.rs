//! The built-in profiles: one file each in `profiles/`, listed once, here.

use super::Profile;

/// A built-in profile before it is read.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// Its id.
    pub name: &'static str,
    /// The text of its file, also a template for profiles of one's own.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$(BuiltIn { name: $name, text: include_str!(concat!("../../../profiles/", $name, ".toml")) }),*]
    };
}

/// Every built-in profile: the note's pair, the article's suites, kernels, AIM9's rows.
pub const ALL: &[BuiltIn] = built_in![
    "gzip",
    "gzip-words",
    "gzip-source",
    "gzip-binary",
    "perl-loop",
    "syscall",
    "chat",
    "dbench",
    "tbench",
    "sieve",
    "fadd-chain",
    "spin",
    "spin-pause",
    "pointer-chase",
    "stack-alias-64k",
    "stack-offset",
    "lock-handoff",
    "lock-handoff-pause",
    "add_double",
    "add_float",
    "add_long",
    "add_int",
    "add_short",
    "mul_double",
    "mul_float",
    "mul_long",
    "mul_int",
    "mul_short",
    "div_double",
    "div_float",
    "div_long",
    "div_int",
    "div_short",
    "fun_cal",
    "jmp_test",
];

impl Profile {
    /// Every built-in profile, in the order of [`ALL`].
    #[must_use]
    pub fn all() -> Vec<Self> {
        ALL.iter().map(BuiltIn::profile).collect()
    }

    /// The built-in profile of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|entry| entry.name == name).map(BuiltIn::profile)
    }
}

impl BuiltIn {
    /// The profile itself.
    ///
    /// # Panics
    /// If the built-in text is bad, which a test rules out.
    #[must_use]
    pub fn profile(&self) -> Profile {
        Profile::read(self.name, self.text).unwrap_or_else(|error| panic!("{error}"))
    }
}
