//! Waiting while a method looks.

use crate::Error;
use crate::method::Method;
use coretwin_host::heap::Heap;
use std::thread;
use std::time::{Duration, Instant};

/// At least so often it is asked whether to go on.
const ASK_EVERY: Duration = Duration::from_millis(10);

/// Lets a method look whenever it is due, until `goes_on` says no.
///
/// # Errors
/// That of the method.
pub fn watch(method: &mut dyn Method, goes_on: &mut dyn FnMut() -> bool) -> Result<(), Error> {
    let mut heap = Heap::default();
    while goes_on() {
        let now = Instant::now();
        let due = method.due();
        if due.is_some_and(|due| due <= now) {
            method.look()?;
            heap.tend();
            continue;
        }
        thread::sleep(due.map_or(ASK_EVERY, |due| (due - now).min(ASK_EVERY)));
    }
    Ok(())
}
