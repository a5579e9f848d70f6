//! How a row is measured, whatever it does.
//!
//! A [`Row`] says what it is and prepares a [`Bench`] in a process of its own; `run` is that process, and the
//! worker's side, which takes the median of the samples; `sampler` is its clock. An operation that is a call
//! is a closure (see [`each`]); one that takes turns with a second process starts a [`Peer`]; anything
//! else is a [`Body`].

pub(crate) mod run;
mod sampler;

pub(crate) use crate::copies::{COPIES, Place};
use crate::lmbench::native::system;
pub(crate) use crate::scratch::DIR;
use crate::workload::{Better, Outcome, ParamKind, ParamSpec, Params, Placement, Scale, Telling};
use crate::{Context, Error, role, sys};
use rustix::process::{
    Pid, Signal, WaitOptions, getppid, kill_process, set_parent_process_death_signal, waitpid,
};
use std::io;

pub(crate) const SAMPLE: ParamSpec =
    ParamSpec::decimal("sample", "0.05", [0.001, 60.0], "how long a sample is, in seconds");
/// For rows in which processes wait for each other: a short sample may catch one way of waiting.
pub(crate) const SAMPLE_OF_A_SECOND: ParamSpec =
    ParamSpec { kind: ParamKind::Decimal { default: "1", min: 0.001, max: 60.0 }, ..SAMPLE };
pub(crate) const SAMPLES: ParamSpec =
    ParamSpec::int("samples", [11, 1, 1001], "samples, of which the median counts (LMbench: 11)");

/// What a row's value is made of: the time of an operation, and its [worth](Bench::worth).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measure {
    unit: &'static str,
    better: Better,
    /// The value of an operation that takes so many seconds, and is worth so much.
    value: fn(f64, f64) -> f64,
}

impl Measure {
    pub(crate) const MICROSECONDS: Self =
        Self { unit: "µs", better: Better::Lower, value: |seconds, turns| seconds * 1e6 / turns };
    pub(crate) const NANOSECONDS: Self =
        Self { unit: "ns", better: Better::Lower, value: |seconds, turns| seconds * 1e9 / turns };
    /// 10^6 bytes in a second.
    pub(crate) const MEGABYTES_PER_SECOND: Self = Self {
        unit: "MB/s",
        better: Better::Higher,
        value: |seconds, bytes| bytes / seconds / 1e6,
    };
}

pub struct Row {
    pub(crate) name: &'static str,
    pub(crate) family: &'static str,
    pub(crate) about: &'static str,
    pub(crate) source: &'static str,
    pub(crate) analysis: &'static str,
    pub(crate) measure: Measure,
    pub(crate) scale: Scale,
    /// In order of name; among them `copies`, `sample` and `samples`, and `dir` if the row makes
    /// files.
    pub(crate) params: &'static [ParamSpec],
    pub(crate) roles: &'static [&'static str],
    /// Where suites measure it; see [`Facts::placements`](crate::workload::Facts::placements).
    pub(crate) placements: &'static [Placement],
    /// Processes that there can be at once, of one copy: more than roles where an operation makes
    /// some.
    pub(crate) processes: fn(&Params) -> u64,
    /// Of them, those at work all the time.
    pub(crate) tasks: fn(&Params) -> u32,
    /// What one copy needs of memory, where it is enough to matter, in KiB.
    pub(crate) memory_kib: fn(&Params) -> u64,
    /// What it needs of the file system of its folder, beside a few small files, in KiB.
    pub(crate) folder_kib: fn(&Params) -> u64,
    /// Checks of its own parameters, beyond the range of each.
    pub(crate) check: fn(&Row, &Params) -> Result<(), Error>,
    pub(crate) prepare: fn(&Place) -> Result<Bench, Error>,
}

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

    /// Checks, notes and metrics, of which the largest of several copies counts; not timed.
    fn remark(&mut self, _to: &mut Outcome) {}
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

    pub(crate) fn worth(mut self, amount: f64) -> Self {
        self.amount = amount;
        self
    }

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
pub(crate) fn repeated<F>(what: &'static str, mut operation: F) -> impl Body
where
    F: FnMut() -> io::Result<bool>,
{
    checked("answers", move || operation().with_context(|| format!("cannot {what}")))
}

/// An operation that tells whether it was right, and the name of the check that all were.
pub(crate) fn checked<F>(check: &'static str, operation: F) -> impl Body
where
    F: FnMut() -> Result<bool, Error>,
{
    Checked { check, operation, wrong: 0 }
}

struct Checked<F> {
    check: &'static str,
    operation: F,
    wrong: u64,
}

impl<F: FnMut() -> Result<bool, Error>> Body for Checked<F> {
    fn repeat(&mut self, count: u64) -> Result<(), Error> {
        for _ in 0..count {
            self.wrong += u64::from(!(self.operation)()?);
        }
        Ok(())
    }

    fn remark(&mut self, to: &mut Outcome) {
        to.check(self.check, self.wrong == 0);
    }
}

/// A process that is ended and reaped when this is dropped, and dies with the measuring process.
pub(crate) struct Peer {
    pid: Pid,
}

impl Peer {
    /// Starts it: what it does, and which of the row's roles it is (the measuring process is the
    /// first, 0). What keeps it from its CPUs is known only by its end, so a row whose answers need the
    /// peer sees it there.
    pub(crate) fn start(
        place: &Place,
        role: usize,
        work: impl FnOnce() -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let parent = rustix::process::getpid();
        let enter = || {
            set_parent_process_death_signal(Some(Signal::KILL))
                .context("cannot die with the measuring process")?;
            if getppid() != Some(parent) {
                return Err(Error::failed("the measuring process has died"));
            }
            if let Some(cpus) = place.cpus.get(role) {
                role::bind(cpus)?;
            }
            if place.core_sched {
                sys::core_sched_create().context("cannot take a core-scheduling cookie")?;
            }
            work()
        };
        let child = system::fork(|| match enter() {
            Ok(()) => 0,
            Err(error) => {
                // The worker shows what comes on standard error.
                let line = format!("{error}\n");
                let _ = rustix::io::write(rustix::stdio::stderr(), line.as_bytes());
                1
            }
        });
        let pid = child.context("cannot start a second process")?;
        Ok(Self { pid })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // An error means that it has ended already, and was reaped or never ours.
        let _ = kill_process(self.pid, Signal::KILL);
        let _ = waitpid(Some(self.pid), WaitOptions::empty());
    }
}
