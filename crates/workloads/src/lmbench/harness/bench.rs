//! What is timed: a body of operations, made ready in a process of its own.

use crate::Error;
use crate::copies::Remarks;
use std::io;

pub(crate) trait Body {
    /// Prepares for `count` operations; not timed.
    fn before(&mut self, _count: u64) -> Result<(), Error> {
        Ok(())
    }

    /// Does the operation `count` times in a row, and nothing else.
    fn repeat(&mut self, count: u64) -> Result<(), Error>;

    /// The most operations of a sample, where each leaves something: samples are then shorter.
    fn most(&self) -> u64 {
        u64::MAX
    }

    /// Tells whether what was done so far is right, and other numbers, of which the largest of several
    /// copies counts; not timed.
    fn remark(&mut self, _to: &mut Remarks) {}
}

pub(crate) struct Bench {
    pub(super) body: Box<dyn Body>,
    /// What a sample of the body is lessened by: the same work without what is to be measured.
    pub(super) minus: Option<Box<dyn Body>>,
    /// What an operation is worth in the row's unit: the bytes it moves, where that is a rate; the
    /// turns it takes, where a turn's time is wanted. 1 otherwise.
    pub(super) amount: f64,
    pub(super) notes: Vec<(&'static str, String)>,
}

impl Bench {
    pub(crate) fn of(body: impl Body + 'static) -> Self {
        Self { body: Box::new(body), minus: None, amount: 1.0, notes: Vec::new() }
    }

    /// Takes the time of another body off, sample by sample.
    pub(crate) fn minus(mut self, body: impl Body + 'static) -> Self {
        self.minus = Some(Box::new(body));
        self
    }

    /// Sets what an operation is worth: bytes, or turns.
    pub(crate) fn worth(mut self, amount: f64) -> Self {
        self.amount = amount;
        self
    }

    /// Words that belong to the result.
    pub(crate) fn note(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.notes.push((name, text.into()));
        self
    }
}

/// Measures an operation that is one call, and tells whether its answer was right. `what` completes
/// the sentence "cannot …".
pub(crate) fn each<F>(what: &'static str, operation: F) -> Bench
where
    F: FnMut() -> io::Result<bool> + 'static,
{
    Bench::of(repeated(what, operation))
}

/// The same as a body, for [`Bench::minus`].
pub(crate) fn repeated<F>(what: &'static str, operation: F) -> impl Body
where
    F: FnMut() -> io::Result<bool>,
{
    Each { what, operation, wrong: 0 }
}

struct Each<F> {
    what: &'static str,
    operation: F,
    /// Answers that were not right.
    wrong: u64,
}

impl<F: FnMut() -> io::Result<bool>> Body for Each<F> {
    fn repeat(&mut self, count: u64) -> Result<(), Error> {
        for _ in 0..count {
            match (self.operation)() {
                Ok(right) => self.wrong += u64::from(!right),
                Err(error) => return Err(Error::system(format!("cannot {}", self.what), error)),
            }
        }
        Ok(())
    }

    fn remark(&mut self, to: &mut Remarks) {
        to.check("answers", self.wrong == 0);
    }
}
