//! What a scheduler counts, by name.

use serde::Serialize;

/// How a value behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Grows; values of CPUs are added.
    Sum,
    /// The largest so far.
    Largest,
}

/// Something that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counter {
    /// Its name; a unit other than a number of times stands last.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// How it behaves.
    pub kind: Kind,
}

pub(crate) const fn sum(name: &'static str, about: &'static str) -> Counter {
    Counter { name, about, kind: Kind::Sum }
}

pub(crate) const fn largest(name: &'static str, about: &'static str) -> Counter {
    Counter { name, about, kind: Kind::Largest }
}
