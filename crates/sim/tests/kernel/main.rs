//! The simulated kernel, from outside.

mod failures;
mod history;
mod objects;
mod properties;
mod speeds;
mod support;
