//! Fitting the few free parameters of the models to published figures, and fits as data.
//!
//! What may be fitted is the list [`FREE`], and what it is fitted to are figures of one machine state:
//! siblings off, one kernel. Everything else that a machine preset says is fixed before, and every
//! figure with siblings on is a prediction.
//!
//! Data flow: [`Target`]s, which the caller takes from the published tables, and a way to run them go
//! into [`calibrate()`]; a [`Fit`] comes out, with its residuals.

mod fit;
mod least_squares;
mod procedure;

pub use crate::machine::{Fit, Residual};
pub use procedure::{FREE, Free, ROUNDS, Target, calibrate, one_after_the_other};
