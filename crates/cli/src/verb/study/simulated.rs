//! A study of a simulated machine: which one, and what it takes to run it.

use super::args::Args;
use super::describe::{foretell, headline};
use super::{Asked, Ready, Studied, begin, resume};
use crate::out;
use crate::verb::simulate::{machine_of, text_of};
use anyhow::Result;
use coretwin_base::study::plan::Plan;
use coretwin_host::root::Root;
use coretwin_lab::request::Request;
use coretwin_lab::simulated_core::Cache;
pub(super) use coretwin_lab::simulated_machine::Modelled;
use coretwin_lab::simulated_machine::{Simulated, planning};

impl Studied for Simulated {}

pub(super) fn model(args: &Args, asked: &Asked) -> Result<Option<Modelled>> {
    let name = &args.machine;
    match asked {
        // A study is resumed by its own fit.
        Asked::Old(_, plan) => {
            let simulation = plan.simulation.as_deref();
            Ok(simulation.map(|of| Modelled::of_plan(&plan.machine, of)).transpose()?)
        }
        Asked::New(_) if !args.is_simulated() => Ok(None),
        Asked::New(_) => {
            let fit = args.fit.as_ref().map(|file| file.display().to_string());
            let text = fit.as_deref().map(text_of).transpose()?;
            Ok(Some(machine_of(name)?.fitted(fit.as_deref().zip(text.as_deref()))?))
        }
    }
}

pub(super) fn plan(request: &Request, model: &Modelled) -> Result<Plan> {
    Ok(planning::draw(request, &model.described(), model.simulation(), model)?)
}

/// Stores the plan, and makes the machine with the speeds of its core: kept from earlier, or run now.
pub(super) fn ready(args: &Args, asked: Asked, model: Modelled) -> Result<Ready> {
    let root = Root::system();
    let session = match asked {
        Asked::New(request) => {
            let plan = plan(&request, &model)?;
            foretell(&plan, args.full);
            begin(args, plan, &root)?
        }
        Asked::Old(bundle, plan) => {
            out::news(&headline(&plan));
            resume(bundle, *plan, &root)?
        }
    };
    let mut told = false;
    let speeds = model.speeds(Cache::of_user().as_ref(), |done, of| {
        if !std::mem::replace(&mut told, true) && done < of {
            out::news("running the machine's core first, pair by pair: how work slows work");
        }
    })?;
    let (described, facts) = (model.described(), model.facts());
    let machine = Box::new(Simulated::new(described, facts, model.models(speeds)));
    Ok(Ready { session, machine, lock: None })
}
