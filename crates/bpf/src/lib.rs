//! Programs that run in the kernel, and their loaders. The C is in `c/`, GPL-2.0-only; `build.rs`
//! compiles it into objects that are embedded here.
//!
//! * [`programs`]: every scheduler that can be loaded, with what it counts.
//! * [`scheduler`]: the loader of all of them, and what they tell while they are in charge.
//! * [`overlap`]: whose run time passed beside how many busy siblings, to the nanosecond.
//!
//! Invariants:
//! * without the feature `bpf` everything here has the same shape, and loading says that it is not
//!   built in ([`Error::NotBuilt`]);
//! * nothing is pinned: a program is attached while a file descriptor of its process is open, so it
//!   goes with the process, however that ends;
//! * a kernel that cannot run a program is told apart from one that may not ([`Error`]).

#[cfg(feature = "bpf")]
pub mod empty;
mod error;
#[cfg(feature = "bpf")]
mod object;
pub mod overlap;
pub mod programs;
pub mod scheduler;

pub use error::Error;
