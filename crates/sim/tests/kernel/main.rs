//! The simulated kernel, from outside.

mod core_queue;
mod failures;
mod fair;
mod history;
mod objects;
mod properties;
mod speeds;
mod support;
