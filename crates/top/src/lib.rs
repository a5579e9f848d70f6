//! `coretwin top`: the machine as cores, live: on a terminal, as JSON lines, as OpenMetrics.
//!
//! Data flow: a method of `account` gives a window after the other → [`source`] adds what else is
//! known of the machine (short maxima, pressure, offline CPUs) → [`assemble`] values the window and
//! makes it a [`snapshot::Snapshot`] → one of the three sinks: [`live`] draws it with [`screen`], as
//! [`view`] says, or writes it as JSON; [`openmetrics`] adds it up and serves it.
//!
//! Invariants:
//! * a sink knows no method, and no sink measures anything;
//! * what is kept from window to window does not grow with time;
//! * the terminal is given back as it was, however the program ends, but by SIGKILL.

#![forbid(unsafe_code)]

pub mod assemble;
pub mod bursts;
mod error;
pub mod live;
pub mod openmetrics;
pub mod screen;
pub mod snapshot;
pub mod source;
pub mod terminal;
pub mod view;

pub use error::Error;
