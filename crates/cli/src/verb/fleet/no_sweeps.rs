//! Takes the place of `sweeps.rs` where the program is built without the feature `sim`.

use crate::exit::NotBuilt;
use anyhow::Result;
use coretwin_base::fleet::plan::SweepTexts;
use coretwin_base::simulation::sweep::{SweepCell, SweepPlan};
use coretwin_lab::machine::Stop;
use std::path::Path;

pub(super) fn machines() -> Vec<String> {
    Vec::new()
}

pub(super) fn texts(_: &str) -> Result<SweepTexts> {
    Err(NotBuilt("sim").into())
}

pub(super) fn share(_: &SweepTexts, _: &Path, _: (u32, u32), _: &Stop) -> Result<bool> {
    Err(NotBuilt("sim").into())
}

pub(super) fn write(_: &SweepPlan, _: &[SweepCell], _: &Path) -> Result<()> {
    Err(NotBuilt("sim").into())
}
