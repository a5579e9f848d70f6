//! Why a run was refused or given up.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    BadInput,
    Deadlock,
    EndlessLoop,
    TooManyTasks,
    /// More events than allowed, or time stands still.
    NoProgress,
    /// A task does what no program may: gives back a lock that it has not, ends with one.
    Misuse,
    /// The policy broke its contract. A mistake in its file.
    Policy,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub cause: Cause,
    pub at_ns: u64,
    pub what: String,
    /// Further lines: which task waits for what.
    pub lines: Vec<String>,
}

impl Failure {
    pub(crate) fn new(cause: Cause, at_ns: u64, what: impl Into<String>) -> Box<Self> {
        Box::new(Self { cause, at_ns, what: what.into(), lines: Vec::new() })
    }

    pub(crate) fn bad(what: impl Into<String>) -> Box<Self> {
        Self::new(Cause::BadInput, 0, what)
    }
}

impl std::error::Error for Failure {}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.cause {
            Cause::BadInput => return write!(formatter, "{}", self.what),
            Cause::Deadlock => "deadlock",
            Cause::EndlessLoop => "endless loop",
            Cause::TooManyTasks => "too many tasks",
            Cause::NoProgress => "no progress",
            Cause::Misuse => "misuse",
            Cause::Policy => "the policy broke its contract",
        };
        let (ms, ns) = (self.at_ns / 1_000_000, self.at_ns % 1_000_000);
        write!(formatter, "the simulation gave up at {ms}.{ns:06} ms, {kind}: {}", self.what)?;
        for line in &self.lines {
            write!(formatter, "\n  {line}")?;
        }
        Ok(())
    }
}
