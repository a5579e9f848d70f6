//! AIM9, the AIM Independent Resource Benchmark: the rows of the article's Table 2, and those of the
//! original that its standard list leaves out.
//!
//! A row calls one function over and over, whole calls only, and is credited a fixed number of
//! operations for each. What a call does, how often, and what it is credited are the original's, so
//! that a rate can be held against the printed one. `rows` is the table; each group of rows has a
//! file of its own; `run` is the process in which a copy of a row runs, and the worker's side.
//!
//! How it differs from the original, and why:
//! * each row has a process of its own, so that no row depends on those before it;
//! * the clock counts nanoseconds instead of ticks of 10 ms, and at least three calls are made;
//! * the machine's disks are not synchronised before the start: it would disturb others;
//! * only those files are made that the row uses, in a folder that is removed.

mod arithmetic;
mod disk;
mod kernel;
mod library;
mod messages;
mod names;
mod native;
pub mod rows;
pub(crate) mod run;

use crate::Error;
use crate::copies::{COPIES, Place};
use crate::scratch::DIR;
use crate::workload::{Outcome, ParamSpec, Params, int};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The list is our own; so is the sort.
const OWN: &str = "own";
const LIBC: &str = "libc";

const CALLS: ParamSpec =
    ParamSpec::int("calls", [3, 1, 1_000_000], "the fewest calls of the row's function");
const FILE_KIB: ParamSpec = ParamSpec::int(
    "file_kib", // Beyond the last the original's random numbers do not reach.
    [5120, 64, 32_768],
    "size of the row's files, in KiB (the article: 5120)",
);
const LIST: ParamSpec = ParamSpec::text(
    "list",
    OWN,
    "'own' directory of 100 entries, or the path of another, like /bin",
);
const SECONDS: ParamSpec = ParamSpec::decimal(
    "seconds",
    "2",
    [0.0, 1000.0],
    "how long calls are made, in seconds (the article: 10)",
);
const SORT: ParamSpec =
    ParamSpec::text("sort", OWN, "'own' merge sort, or 'libc' for the C library's qsort");
const SYNC_CALLS: ParamSpec = ParamSpec::int(
    "calls",
    [5, 1, 1_000_000],
    "the fewest calls; more are made until their mean is known to 2 %",
);
const SYNC_CALLS_MAX: ParamSpec = ParamSpec::int("calls_max", [20, 1, 1_000_000], "the most calls");
const SYNC_SECONDS: ParamSpec = ParamSpec::decimal(
    "seconds",
    "0",
    [0.0, 1000.0],
    "how long calls are made at least, in seconds",
);

/// What rows have in common: parameters, needs, and what a result means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// Instructions and calls, without the kernel.
    Compute,
    /// The kernel's memory, signals and processes.
    Kernel,
    Programs,
    Names,
    Directory,
    /// Files through the page cache.
    Disk,
    /// Files on the disk.
    SyncDisk,
    Library,
    Sort,
    Messages,
    /// Messages to itself, through a name in a folder.
    Fifo,
    /// Messages to itself, through kernel objects that have a key.
    SharedMemory,
}

impl Group {
    fn params(self) -> &'static [ParamSpec] {
        match self {
            Self::Programs | Self::Names | Self::Fifo => &[CALLS, COPIES, DIR, SECONDS],
            Self::Directory => &[CALLS, COPIES, DIR, LIST, SECONDS],
            Self::Disk => &[CALLS, COPIES, DIR, FILE_KIB, SECONDS],
            Self::SyncDisk => &[SYNC_CALLS, SYNC_CALLS_MAX, COPIES, DIR, FILE_KIB, SYNC_SECONDS],
            Self::Sort => &[CALLS, COPIES, SECONDS, SORT],
            Self::Compute | Self::Kernel | Self::Library | Self::Messages | Self::SharedMemory => {
                &[CALLS, COPIES, SECONDS]
            }
        }
    }

    fn analysis(self) -> &'static str {
        match self {
            Self::Compute => {
                "One copy leaves most of a core idle and tells what an idle sibling costs: nothing, \
                 in the article (0 % to 1 %; the sieve's +60 % is page placement). Copies on both \
                 siblings tell what SMT gives: copies=auto."
            }
            Self::Sort | Self::Library => {
                "Computation in the C library, whose version decides. One copy tells what an idle \
                 sibling costs: the article saw -2 % to +2 %. copies=auto tells what SMT gives."
            }
            Self::Kernel | Self::Programs => {
                "The kernel's paths in one process: what switching SMT on costs there, as \
                 mitigations differ with SMT. The article saw 0 % to +3 %."
            }
            Self::Names | Self::Directory => {
                "File names in the page cache: kernel paths of one process, on the file system that \
                 the reading names. The article saw +8 % and +9 %, on single runs."
            }
            Self::Disk => {
                "Copies to and from the page cache, in one process. The article saw +1 % to +4 %."
            }
            Self::SyncDisk => {
                "Waits for the disk, which SMT does not make faster. The article's -35 % to -38 % \
                 are single calls of 11 to 43 seconds, from which nothing follows."
            }
            Self::Messages | Self::Fifo | Self::SharedMemory => {
                "One process that talks to itself, so nothing is woken: the kernel's copies alone. \
                 The article saw -1 % to +1 %."
            }
        }
    }
}

type Prepared = Result<Box<dyn Call>, Error>;

pub struct Row {
    name: &'static str,
    about: &'static str,
    unit: &'static str,
    /// What a call is credited, in thousands where the unit says so; of the disk rows with a file of
    /// the article's size (see [`Row::credit`]).
    credit: u64,
    group: Group,
    prepare: fn(&Place) -> Prepared,
}

impl Row {
    fn operations_per_unit(&self) -> u64 {
        if self.unit.starts_with("thousand") { 1000 } else { 1 }
    }

    fn credit(&self, params: &Params) -> u64 {
        match self.group {
            Group::Disk => u64::from(int(params, FILE_KIB.name)),
            Group::SyncDisk => u64::from(int(params, FILE_KIB.name)) / 2,
            _ => self.credit,
        }
    }
}

trait Call {
    /// A whole call of the row's function: what is timed.
    fn call(&mut self) -> Result<(), Error>;

    /// Tells whether what so many calls did is right, and what else belongs to the result; not timed.
    fn remark(&mut self, calls: u64, to: &mut Outcome);
}

struct Made<S, C, R>(S, C, R);

impl<S, C, R> Call for Made<S, C, R>
where
    C: FnMut(&mut S) -> Result<(), Error>,
    R: FnMut(&mut S, u64, &mut Outcome),
{
    fn call(&mut self) -> Result<(), Error> {
        (self.1)(&mut self.0)
    }

    fn remark(&mut self, calls: u64, to: &mut Outcome) {
        (self.2)(&mut self.0, calls, to);
    }
}

fn made<S: 'static>(
    state: S,
    call: impl FnMut(&mut S) -> Result<(), Error> + 'static,
    remark: impl FnMut(&mut S, u64, &mut Outcome) + 'static,
) -> Prepared {
    Ok(Box::new(Made(state, call, remark)))
}

fn c_path(path: &Path) -> Result<CString, Error> {
    CString::new(path.as_os_str().as_bytes()).map_err(|bad| {
        Error::failed(format!("the path {} has a zero in it: {bad}", path.display()))
    })
}
