//! A parameter of a scheduling policy, as data: lists, help, checks and the loader of a live scheduler
//! are made from it.

/// A whole number with a range, or a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, unit last.
    pub name: &'static str,
    /// What it is, and where its default comes from.
    pub about: &'static str,
    /// What it is unless said otherwise.
    pub default: i64,
    /// The least it may be.
    pub low: i64,
    /// The most it may be. A switch is a parameter of 0 to 1, also written `off` and `on`.
    pub high: i64,
}

impl Parameter {
    /// A switch.
    #[must_use]
    pub const fn switch(name: &'static str, default: bool, about: &'static str) -> Self {
        Self { name, about, default: default as i64, low: 0, high: 1 }
    }

    /// A number.
    #[must_use]
    pub const fn number(
        name: &'static str,
        default: i64,
        (low, high): (i64, i64),
        about: &'static str,
    ) -> Self {
        Self { name, about, default, low, high }
    }

    /// Whether it is a switch.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        (self.low, self.high) == (0, 1)
    }
}
