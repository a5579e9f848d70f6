//! The article's benchmarks as work for the simulated kernel: one file for each family, which says
//! which facts of the benchmark it keeps and which it drops.
//!
//! Data flow: a [`MachinePreset`](crate::machine::MachinePreset), the speeds of its core, perhaps a
//! [`Fit`](crate::machine::Fit), a policy and whether siblings are on make a [`Setting`];
//! [`predict`] turns a workload's name and parameters into a [`Load`](load::Load), has
//! [`crate::kernel`] do it, and gives a [`Prediction`].
//!
//! A task's work of a family runs at the speed of the family's profile on the machine's core, entering
//! and leaving the kernel at that of the profile `syscall`; how much two of them slow each other on one
//! core comes from [`crate::core`] alone, and which tasks run side by side from the policy.

mod aim9;
mod chat;
mod dbench;
mod lmbench;
mod load;
mod rows;
mod setting;
mod table;
mod tbench;

pub use load::{Family, Row, Sizes};
pub use setting::{PROFILES, Prediction, Setting, predict, speeds_alone};
pub use table::{TABLE, UNMODELLED, find, reason};
