//! The program of `overlap` in the kernel of this machine: on the kernel's own siblings where it has
//! some, else on its first two CPUs declared siblings. `cargo xtask vm account` runs the same tests in
//! guests with SMT.
//!
//! The truth comes from the tasks' own clocks and from the kernel's trace, so the tests hold however
//! busy the machine is.

#![cfg(feature = "bpf")]
#![expect(clippy::print_stdout, reason = "what is skipped and what was measured is said")]

mod detach;
mod hotplug;
mod limits;
mod load;
mod machine;
mod totals;
mod trace;
mod truth;
