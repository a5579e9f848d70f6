//! How a row is measured, whatever it does.
//!
//! A [`Row`] says what it is and prepares a [`Bench`] in a process of its own; `process` is that
//! process, `sampler` its clock, `run` the worker's side, which takes the median of the samples.
//! An operation that is a call is a closure (see [`each`]); one that takes turns with a second
//! process starts a [`peer::Peer`]; anything else is a [`Body`].

mod bench;
pub(crate) mod peer;
pub(crate) mod process;
mod row;
mod run;
mod sampler;

pub(crate) use crate::copies::Place;
pub(crate) use bench::{Bench, Body, each, repeated};
pub use row::Row;
pub(crate) use row::{COPIES, DIR, Measure, Room, SAMPLE, SAMPLE_OF_A_SECOND, SAMPLES};
