//! All that belongs to the 2003 article (Vianney, *Hyper-Threading speeds Linux*) and to the note on
//! CPU time: what they printed, whether it follows, where a study's rows stand in the article's tables,
//! and how near a simulated study comes.
//!
//! Pure. Data flow: `data/article/*.csv` → [`audit`] (does each figure follow?) → [`printed`] (rows, with
//! the misprint the audit found) → [`tables`] (a plan's rows beside them) and [`prediction`] (errors,
//! scores, aims of a simulated study). Rendering is the report's.
//!
//! Invariant: `data/article/` is the only copy of a printed figure.

#![forbid(unsafe_code)]

pub mod audit;
pub mod prediction;
pub mod printed;
pub mod tables;

use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::Reading;
use coretwin_base::study::summary::{StoppedBecause, Summary};
use coretwin_stats::study;

/// Analyses a study; one on a simulated machine with what it predicts of the article, too. The rest is
/// as of [`study::analyse`].
pub fn analyse(plan: &Plan, readings: &[Reading], stopped: StoppedBecause) -> Summary {
    let prediction = prediction::of(plan, readings, stopped);
    study::analyse_predicted(plan, readings, stopped, prediction)
}
