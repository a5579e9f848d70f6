//! What burns CPU time for a probe, and says what each CPU achieved.

use coretwin_base::account::probe::Contention;
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use std::collections::BTreeMap;

/// CPUs that are measured side by side, while all others of the probe rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    pub kind: Contention,
    pub active: CpuSet,
    /// For [`Contention::PingPong`] alone: who plays with whom; disjoint pairs of `active`.
    pub pairs: Vec<(CpuId, CpuId)>,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub struct Measured {
    /// Speed of each active CPU, in steps per second (of any length, but always the same on that
    /// CPU); round trips per second for [`Contention::PingPong`].
    pub speeds: BTreeMap<CpuId, f64>,
    pub disturbed: CpuSet,
}

pub trait Meter {
    /// Errors: [`MeterError`] if nothing more can be measured.
    fn measure(&mut self, round: &Round) -> Result<Measured, MeterError>;

    fn elapsed_s(&self) -> f64;
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MeterError {
    #[error("stopped")]
    Stopped,
    #[error("{0}")]
    Failed(String),
}
