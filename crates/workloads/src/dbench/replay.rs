//! A client: goes through a load, call after call, and counts.
//!
//! The same loop drives files and connections; what a call means is the back end's. A call is timed
//! from the end of the one before it, so one look at the clock is enough.

use super::load::{Expect, KINDS, Load, Operation};
use crate::Error;
use crate::observe::CpusSeen;
use crate::tbench::protocol::Traffic;
use crate::times::Times;
use crate::times::monotonic_ns;
use coretwin_base::machine::cpu_set::CpuSet;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

pub(crate) trait Backend {
    /// Does one call; an answer that is not the expected one, in words, ends the run.
    fn perform(&mut self, operation: &Operation) -> Result<Moved, String>;

    /// After a pass, before the next: closes what the load left open.
    fn end_of_pass(&mut self);

    /// What went over the wire since the begin, if there is one.
    fn traffic(&self) -> Option<Traffic> {
        None
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moved {
    Nothing,
    Read(u32),
    Written(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phases {
    Classic,
    /// Passes for so long, in seconds: first uncounted, then counted.
    Timed {
        warm_up_s: f64,
        seconds: f64,
    },
}

/// How long calls took: times of every kind, in the order of [`KINDS`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Latencies(pub(crate) Vec<Times>);

impl Default for Latencies {
    fn default() -> Self {
        Self(vec![Times::default(); KINDS.len()])
    }
}

impl Latencies {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, others)| mine.merge(others));
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counted {
    pub(crate) operations: u64,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    /// From the common start, or of timed runs from the end of the warm-up, to the end of its last
    /// counted call, in seconds.
    pub(crate) elapsed_s: f64,
    /// Passes begun, also those that do not count.
    pub(crate) passes: u64,
    pub(crate) latencies: Latencies,
    /// What went over the wire, also in the warm-up.
    pub(crate) traffic: Option<Traffic>,
    pub(crate) cpus_ran: CpuSet,
}

/// Goes through the load; the clock of all clients began at `start_ns`.
pub(crate) fn replay(
    load: &Load,
    backend: &mut dyn Backend,
    phases: Phases,
    start_ns: u64,
) -> Result<Counted, Error> {
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let passed = Duration::from_nanos(monotonic_ns().saturating_sub(start_ns));
    let now = Instant::now();
    let start = now.checked_sub(passed).unwrap_or(now);
    let (begin, end) = match phases {
        Phases::Classic => (None, None),
        Phases::Timed { warm_up_s, seconds: counted } => {
            let begin = start + seconds(warm_up_s);
            (Some(begin), Some(begin + seconds(counted)))
        }
    };
    let seen = CpusSeen::new();
    let mut client =
        Client { counted: Counted::default(), start, begin, end, last: now, counts: start };
    loop {
        client.counted.passes += 1;
        let go_on = client.pass(load, backend, &seen)?;
        backend.end_of_pass();
        if !go_on || client.end.is_none() {
            break;
        }
    }
    let mut counted = client.counted;
    counted.elapsed_s = client.last.saturating_duration_since(client.counts).as_secs_f64();
    counted.cpus_ran = seen.cpus();
    counted.traffic = backend.traffic();
    Ok(counted)
}

struct Client {
    counted: Counted,
    start: Instant,
    /// When the warm-up ends; none once it has.
    begin: Option<Instant>,
    end: Option<Instant>,
    last: Instant,
    counts: Instant,
}

impl Client {
    fn pass(
        &mut self,
        load: &Load,
        backend: &mut dyn Backend,
        seen: &CpusSeen,
    ) -> Result<bool, Error> {
        for (index, operation) in load.operations.iter().enumerate() {
            let moved = backend.perform(operation).map_err(|why| {
                let place = load.place(index);
                Error::failed(format!("{place}: {why}"))
            })?;
            let now = Instant::now();
            if self.end.is_some_and(|end| now >= end) {
                return Ok(false);
            }
            if self.begin.is_some_and(|begin| now >= begin) {
                self.warmed_up()?;
            }
            let time = now.duration_since(self.last);
            self.last = now;
            self.counted.latencies.0[operation.call.kind()].add(time.as_nanos() as u64);
            self.counted.operations += 1;
            match moved {
                Moved::Nothing => {}
                Moved::Read(bytes) => self.counted.read_bytes += u64::from(bytes),
                Moved::Written(bytes) => self.counted.written_bytes += u64::from(bytes),
            }
            if index % 64 == 0 {
                seen.note();
            }
        }
        Ok(true)
    }

    /// Begins to count. The call that has just ended is the first that does.
    #[cold]
    fn warmed_up(&mut self) -> Result<(), Error> {
        let moved = self.counted.read_bytes + self.counted.written_bytes;
        if moved == 0 {
            let long = self.begin.map_or(0.0, |begin| (begin - self.start).as_secs_f64());
            return Err(Error::failed(format!(
                "a client has not moved a byte in the warm-up of {long} s; give it longer with \
                 warmup="
            )));
        }
        self.counts = self.begin.unwrap_or(self.counts);
        let passes = self.counted.passes;
        self.counted = Counted { passes, ..Counted::default() };
        self.begin = None;
        Ok(())
    }
}

/// Whether an answer is the expected one: its value, or `None` if failure was expected.
pub(crate) fn as_expected<T>(
    expect: Expect,
    answer: Result<T, Errno>,
    what: impl FnOnce() -> String,
) -> Result<Option<T>, String> {
    match (expect, answer) {
        (Expect::Success | Expect::Anything, Ok(value)) => Ok(Some(value)),
        (Expect::Failure | Expect::Anything, Err(_)) => Ok(None),
        (Expect::Success, Err(error)) => {
            let error = std::io::Error::from(error);
            Err(format!("{}: {error}, where the load expects success", what()))
        }
        (Expect::Failure, Ok(_)) => {
            Err(format!("{} succeeds, where the load expects failure", what()))
        }
    }
}
