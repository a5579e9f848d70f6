//! What a study tells while it runs. Journal and progress are listeners; none of them can change
//! what the engine does, except by failing to keep what was measured.

use coretwin_base::machine::environment::Environment;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Phase, Reading};
use coretwin_base::study::summary::StoppedBecause;
use coretwin_stats::study::Look;
use std::collections::BTreeMap;

#[derive(Debug)]
pub enum Event<'a> {
    Started {
        plan: &'a Plan,
        done: usize,
    },
    BlockStarted {
        phase: Phase,
        block: u32,
        attempt: u32,
    },
    /// An arm is being prepared, which takes a while where SMT is switched.
    Preparing {
        arm: &'a str,
        /// About how long the study will still take, in seconds, once that can be said.
        left_s: Option<f64>,
    },
    ArmPrepared {
        arm: &'a str,
        environment: &'a Environment,
    },
    RunStarted {
        arm: &'a str,
        row: &'a str,
        /// About how long the study will still take, in seconds, once that can be said.
        left_s: Option<f64>,
    },
    ReadingTaken(&'a Reading),
    BlockEnded {
        phase: Phase,
        block: u32,
        /// Why it was set aside and will be run again, if so.
        set_aside: Option<&'a str>,
        /// How narrow the intervals are now, from the second block on.
        look: Option<&'a Look>,
        /// About how long the study will still take, in seconds.
        left_s: Option<f64>,
    },
    /// Thread counts were chosen by screening and are frozen from here on.
    ThreadsChosen(&'a BTreeMap<String, u32>),
    /// Requests a second that each arm carries at most; rates are shares of the reference's from here on.
    SaturationFound(&'a BTreeMap<String, f64>),
    Ended(StoppedBecause),
}

pub trait Listener {
    /// Takes note of an event. Errors: if what was measured cannot be kept; the study then stops.
    fn hear(&mut self, event: &Event<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

/// Several listeners in a row, told in order; the journal comes first.
pub struct Listeners<'a>(pub Vec<&'a mut dyn Listener>);

impl Listener for Listeners<'_> {
    fn hear(&mut self, event: &Event<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        self.0.iter_mut().try_for_each(|listener| listener.hear(event))
    }
}
