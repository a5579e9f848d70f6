//! The seam between accounting and the ways to see who ran beside whom, and waiting while one looks.

use crate::Error;
use coretwin_base::account::{Balance, MethodName, StatTimes, Window};
use coretwin_host::heap::Heap;
use std::thread;
use std::time::{Duration, Instant};

/// At least so often it is asked whether to go on.
const ASK_EVERY: Duration = Duration::from_millis(10);

/// A way to see who ran while how many siblings were busy.
///
/// A method is started once, looks when it is [due](Self::due), and gives windows that follow each
/// other without a gap. It has no thread of its own: whoever waits, waits no longer than until
/// `due` and then calls [`look`](Self::look).
pub trait Method {
    fn name(&self) -> MethodName;

    /// Begins to count. What ran before is in no window. Errors: [`Error::Method`] if it is not
    /// possible here, with what would make it possible.
    fn start(&mut self) -> Result<(), Error>;

    /// When it wants to look next; `None` if it is told of everything.
    fn due(&self) -> Option<Instant>;

    /// Looks. Early or late is no error: a method knows how much time passed.
    fn look(&mut self) -> Result<(), Error>;

    fn window(&mut self) -> Result<Window, Error>;
}

/// Lets a method look whenever it is due, until `goes_on` says no.
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

/// The balance of a method that sees nothing but `/proc`: idle time and what was charged to nobody
/// are those of `/proc/stat`. What is missing ran in tasks that are not known.
pub(crate) fn balance_of_stat(
    stat: StatTimes,
    cpus: usize,
    elapsed_s: f64,
    tasks_s: f64,
) -> Balance {
    Balance {
        cpus: u32::try_from(cpus).unwrap_or(u32::MAX),
        cpus_s: cpus as f64 * elapsed_s,
        tasks_s,
        idle_s: stat.idle_s,
        offline_s: 0.0,
        uncharged_s: stat.interrupts_s + stat.steal_s,
        stat,
    }
}
