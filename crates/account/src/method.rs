//! The seam between accounting and the ways to see who ran beside whom.

use crate::Error;
use coretwin_base::account::{MethodName, Window};
use std::time::Instant;

/// A way to see who ran while how many siblings were busy.
///
/// A method is started once, looks when it is [due](Self::due), and gives windows that follow each
/// other without a gap. It has no thread of its own: whoever waits, waits no longer than until
/// `due` and then calls [`look`](Self::look).
pub trait Method {
    /// Which one it is.
    fn name(&self) -> MethodName;

    /// Begins to count. What ran before is in no window.
    ///
    /// # Errors
    /// [`Error::Method`] if it is not possible here, with what would make it possible.
    fn start(&mut self) -> Result<(), Error>;

    /// When it wants to look next; none if it is told of everything.
    fn due(&self) -> Option<Instant>;

    /// Looks. Early or late is no error: a method knows how much time passed.
    ///
    /// # Errors
    /// [`Error`] if the machine can no longer be looked at.
    fn look(&mut self) -> Result<(), Error>;

    /// What went on since the start or the last window.
    ///
    /// # Errors
    /// [`Error`] if the machine can no longer be looked at.
    fn window(&mut self) -> Result<Window, Error>;
}
