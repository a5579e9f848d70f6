//! Takes the place of `simulated.rs` where the program is built without the feature `sim`.

use super::args::Args;
use super::{Asked, Ready};
use crate::exit::NotBuilt;
use anyhow::Result;
use coretwin_base::study::plan::Plan;
use coretwin_lab::request::Request;

pub(super) enum Modelled {}

pub(super) fn model(args: &Args, asked: &Asked) -> Result<Option<Modelled>> {
    let is_simulated = match asked {
        Asked::New(_) => args.is_simulated(),
        Asked::Old(_, plan) => plan.simulation.is_some(),
    };
    if is_simulated { Err(NotBuilt("sim").into()) } else { Ok(None) }
}

pub(super) fn plan(_: &Request, model: &Modelled) -> Result<Plan> {
    match *model {}
}

pub(super) fn ready(_: &Args, _: Asked, model: Modelled) -> Result<Ready> {
    match model {}
}
