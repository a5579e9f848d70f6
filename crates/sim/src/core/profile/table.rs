//! The built-in profiles: one file each in `profiles/`, listed once, here.

use super::Profile;
use crate::built_in::{BuiltIn, built_in};

/// Every built-in profile: the note's pair, the article's suites, kernels, AIM9's rows.
pub const ALL: &[BuiltIn] = built_in!["../../../profiles/":
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
        ALL.iter().map(|entry| entry.read(Self::read)).collect()
    }

    /// The built-in profile of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|entry| entry.name == name).map(|entry| entry.read(Self::read))
    }
}
