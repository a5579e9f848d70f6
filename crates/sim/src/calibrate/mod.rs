//! Fitting the few free parameters of the models to published figures, and fits as data.
//!
//! What may be fitted is the list [`FREE`], and what it is fitted to are figures of one machine state:
//! siblings off, one kernel. Everything else that a machine preset says is fixed before, and every
//! figure with siblings on is a prediction.

mod fit;

pub use fit::{Fit, Residual};
