//! The simulated machine: pure, seeded, deterministic.
//!
//! Pure: no I/O, no threads, no wall clock, no environment, no hash maps. Time is an integer, random
//! numbers come from [`coretwin_base::random::Stream`] or from a keyed hash, so equal seeds give
//! equal results on every host and in every build.

#![forbid(unsafe_code)]

/// An enum whose members have names in files and reports: `ALL`, `COUNT` and `name` follow from it.
macro_rules! named {
    ($(#[$about:meta])* pub enum $type:ident {
        $($(#[$doc:meta])* $member:ident = $name:literal,)*
    }) => {
        $(#[$about])*
        pub enum $type { $($(#[$doc])* $member,)* }

        impl $type {
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$member),*];

            pub const COUNT: usize = Self::ALL.len();

            pub fn name(self) -> &'static str {
                match self { $(Self::$member => $name,)* }
            }
        }
    };
}

pub mod built_in;
pub mod calibrate;
pub mod core;
mod document;
pub mod error;
pub mod kernel;
mod lists;
pub mod machine;
pub mod models;
mod numbers;
pub mod policies;

pub use error::{Error, Result};
