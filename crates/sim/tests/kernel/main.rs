//! The simulated kernel, from outside.

mod failures;
mod objects;
mod properties;
mod speeds;
mod support;
