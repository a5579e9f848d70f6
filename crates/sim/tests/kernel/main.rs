//! The simulated kernel, from outside.

mod contract;
mod core_queue;
mod failures;
mod fair;
mod history;
mod objects;
mod oracle;
mod promise;
mod properties;
mod speeds;
mod support;
