//! Many machines: what an arm does on the machines of a fleet, and what it will do on the next one.
//!
//! Data flow: a `Fleet` → `groups` (what every machine found, by model, row and arm) → `spread` (how
//! exactly) → [`RandomEffects`] (mean, interval, how machines differ), [`Prediction`] (the next
//! machine), `outliers` (machines unlike the others) → `analyse` → `FleetSummary`, with its `sentences`
//! and `warnings`. [`comparison`] sets two
//! fleets side by side.
//!
//! Invariants:
//! * the unit is the machine: blocks and studies of one machine never count as machines;
//! * the order of the members does not matter, down to the last bit;
//! * a fleet of one machine says what that machine's study says.

mod analyse;
pub mod comparison;
mod groups;
mod outliers;
mod prediction;
mod random_effects;
mod sentences;
mod spread;
mod warnings;
mod weights;

pub use analyse::analyse;
pub use outliers::{Outlier, outliers};
pub use prediction::Prediction;
pub use random_effects::{Found, RandomEffects};
pub use spread::moderated;
pub use weights::{Weights, shown};
