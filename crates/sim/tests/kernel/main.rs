//! The simulated kernel, from outside.

mod failures;
mod objects;
mod speeds;
mod support;
