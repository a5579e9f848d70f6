//! What a simulated study predicts of SMT, and how far off the article's figures that is.
//!
//! Under each policy the boot without SMT and that with it are a [`pairs::Pair`], analysed like a
//! study of its own. Its rows meet the article's figures of the same kernel; their errors
//! make [`scores`], and those [`aims`].
//!
//! Invariant: what was fitted is never scored, and neither is what says nothing about SMT.

mod aims;
mod pairs;
mod samples;
pub mod scores;

pub use pairs::{Pair, by_scheduler, pairs};

use coretwin_base::simulation::prediction::Prediction;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::Reading;
use coretwin_base::study::summary::StoppedBecause;

/// The predictions of a simulated study; `None` for others. Where no policy has both boots it says how
/// much was simulated, and nothing of SMT.
pub fn of(plan: &Plan, readings: &[Reading], stopped: StoppedBecause) -> Option<Prediction> {
    let simulation = plan.simulation.as_deref()?;
    let pairs = pairs(plan, readings, stopped);
    let gains = pairs.iter().flat_map(|pair| pair.gains(simulation.is_articles)).collect();
    let mut prediction = Prediction {
        gains,
        rows: Vec::new(),
        scores: Vec::new(),
        aims: Vec::new(),
        samples: samples::of(plan, readings),
    };
    if simulation.is_articles && !pairs.is_empty() {
        prediction.rows = pairs.iter().flat_map(|pair| pairs::rows(pair, simulation)).collect();
        prediction.scores = scores::of(&prediction.rows);
        prediction.aims = aims::of(&prediction);
    }
    Some(prediction)
}
