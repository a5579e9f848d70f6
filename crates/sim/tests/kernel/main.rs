//! The simulated kernel, from outside.

mod contract;
mod core_queue;
mod failures;
mod fair;
mod golden;
mod history;
mod objects;
mod oracle;
mod partner;
mod promise;
mod properties;
mod scenarios;
mod siblings_off;
mod speeds;
mod support;
