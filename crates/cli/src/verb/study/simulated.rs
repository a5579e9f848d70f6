//! `coretwin study --machine NAME`: the same study on a simulated machine.

use super::{Session, finish, go_on, new_folder};
use crate::describe::{describe, headline};
use crate::exit::{DONE, Kept, Usage};
use crate::keeper::Keeper;
use crate::progress::Progress;
use crate::study_args::Args;
use crate::verb::simulate::core::{is_file, text_of};
use crate::{host, out, signals};
use anyhow::Result;
use coretwin_base::simulation::Simulation;
use coretwin_base::study::plan::Plan;
use coretwin_host::root::Root;
use coretwin_lab::engine::{self, Finished, Setup};
use coretwin_lab::event::{Listener, Listeners};
use coretwin_lab::host_machine;
use coretwin_lab::simulated_core::Cache;
use coretwin_lab::simulated_machine::{Modelled, Simulated, planning};
use coretwin_store::{Bundle, ENVIRONMENT};
use std::path::Path;
use std::process::ExitCode;

/// The study, if it is one on a simulated machine: a new one, or one to go on with.
pub(super) fn attend(args: &Args, root: &Root) -> Result<Option<ExitCode>> {
    if args.is_simulated() {
        return run(args).map(Some);
    }
    if args.fit.is_some() {
        let why = "--fit is for a simulated machine; name it with --machine";
        return Err(Usage(why.to_owned()).into());
    }
    let Some(folder) = &args.resume else { return Ok(None) };
    let (bundle, plan) = Bundle::open(folder, host::owner(root)?)?;
    match plan.simulation.as_deref() {
        None => Ok(None),
        Some(simulation) => resume(args, &bundle, &plan, simulation).map(Some),
    }
}

/// A new study.
fn run(args: &Args) -> Result<ExitCode> {
    args.refuse_what_a_simulation_has_not()?;
    let text = args.fit.as_ref().map(|file| {
        let file = file.display().to_string();
        text_of(&file).map(|text| (file, text))
    });
    let text = text.transpose()?;
    let fit = text.as_ref().map(|(file, text)| (file.as_str(), text.as_str()));
    let machine = machine_of(&args.machine)?.fitted(fit)?;
    let (described, simulation) = (machine.described(), machine.simulation());
    let plan = planning::draw(&args.request()?, &described, simulation, &machine)?;
    if args.dry_run {
        out::text(&describe(&plan))?;
        return Ok(ExitCode::from(DONE));
    }
    tell(&plan);
    let folder = args.out.clone().unwrap_or_else(|| new_folder("study"));
    let made = out::missing_parent(&folder);
    let bundle = Bundle::create(&folder, &plan, host::owner(&Root::system())?)?;
    go(args, &bundle, &plan, machine, made.as_deref())
}

/// The machine of that name: one that is built in, or of a file.
fn machine_of(name: &str) -> Result<Modelled> {
    Ok(match is_file(name) {
        true => Modelled::read(name, &text_of(name)?)?,
        false => Modelled::named(name)?,
    })
}

/// Goes on with a study, by its own plan and fit.
fn resume(args: &Args, bundle: &Bundle, plan: &Plan, simulation: &Simulation) -> Result<ExitCode> {
    let machine = Modelled::of_plan(&plan.machine, simulation)?;
    tell(plan);
    go(args, bundle, plan, machine, None)
}

fn tell(plan: &Plan) {
    out::news(&headline(plan));
    for warning in plan.warnings.iter().filter(|warning| warning.kind == "left-out") {
        out::news(&format!("{}; {}", warning.text, warning.remedy));
    }
}

fn go(
    args: &Args,
    bundle: &Bundle,
    plan: &Plan,
    machine: Modelled,
    made: Option<&Path>,
) -> Result<ExitCode> {
    out::results_go_to(bundle.folder(), made);
    let (journal, earlier) = bundle.journal(plan)?;
    if earlier.torn_bytes > 0 {
        out::news("the journal's last line was torn by a crash; that run is made again");
    }
    let mut environment = bundle.environment()?;
    earlier.note(&mut environment);
    let argv = host::words();
    environment.sessions.push(host_machine::session(&Root::system(), argv));
    let stop = signals::stop_flag()?;
    let mut simulated = prepared(machine)?;
    let readings = earlier.readings;
    let session = Session { plan, bundle, journal, readings, environment, boot: None, stop };
    let finished = simulate(session, &mut simulated)?;
    finish(args, bundle, plan, &finished, true)
}

/// The machine, with the speeds of its core: kept from earlier, or run now.
fn prepared(machine: Modelled) -> Result<Simulated> {
    let mut told = false;
    let speeds = machine.speeds(Cache::of_user().as_ref(), |done, of| {
        if !std::mem::replace(&mut told, true) && done < of {
            out::news("running the machine's core first, pair by pair: how work slows work");
        }
    })?;
    let (described, facts) = (machine.described(), machine.facts());
    Ok(Simulated::new(described, facts, machine.models(speeds)))
}

fn simulate(session: Session<'_>, machine: &mut Simulated) -> Result<Finished> {
    let Session { plan, bundle, journal, readings, environment, boot, stop } = session;
    let mut keeper = Keeper { bundle, journal };
    let mut progress = Progress::new(plan);
    let setup = Setup { plan, readings, environment, run_as: None, boot, stop };
    let listeners: Vec<&mut dyn Listener> = vec![&mut keeper, &mut progress];
    let finished = engine::run(setup, machine, &mut Listeners(listeners));
    drop(progress);
    match finished {
        Ok(finished) => {
            bundle.write_json(ENVIRONMENT, &finished.environment)?;
            Ok(finished)
        }
        Err(error @ coretwin_lab::Error::Usage(_)) => Err(error.into()),
        Err(error) => Err(Kept { error, advice: go_on("study", bundle.folder()) }.into()),
    }
}
