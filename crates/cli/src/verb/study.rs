//! `coretwin study`: the main job. What is asked for is resolved once, new or resumed and on which
//! machine; from there one way leads through the session to the report.

pub(crate) mod args;
mod boots;
mod describe;
pub(crate) mod file;
mod load;
mod on_host;
#[cfg_attr(not(feature = "sim"), path = "study/not_simulated.rs")]
mod simulated;
pub(crate) mod variants;

use crate::exit::{CELLS_FAILED, DONE, INTERRUPTED, Kept, NOT_RESTORED, TOO_BUSY, USAGE, usage};
use crate::session::{Means, Session};
use crate::{findings, host, out, quiet, resuming, signals, switching};
use anyhow::Result;
use boots::Entry;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Phase, Reading, Status};
use coretwin_base::study::summary::{StoppedBecause, SuiteEffect, Summary};
use coretwin_host::lock::HostLock;
use coretwin_host::root::Root;
use coretwin_host::user;
use coretwin_lab::host_machine::HostMachine;
use coretwin_lab::machine::Machine;
use coretwin_lab::request::Request;
use coretwin_report::Study;
use coretwin_stats::study;
use coretwin_store::{Bundle, ENVIRONMENT};
use describe::duration;
use simulated::Modelled;

pub(crate) use args::Args;

pub(crate) fn run(args: &Args) -> Result<u8> {
    let of_file = args.file.as_deref().map(file::read).transpose()?;
    let args = of_file.as_ref().unwrap_or(args);
    if args.is_bare() {
        out::text(&on_host::possible()?)?;
        return Ok(USAGE);
    }
    if let Some(path) = &args.write {
        file::write(path, args)?;
        return Ok(DONE);
    }
    let asked = Asked::of(args)?;
    let model = simulated::model(args, &asked)?;
    if let (Asked::New(request), true) = (&asked, args.dry_run) {
        return dry_run(args, request, model.as_ref());
    }
    let stop = signals::stop_flag()?;
    let ready = match model {
        Some(model) => Some(simulated::ready(args, asked, model)?),
        None => on_host::ready(args, asked)?,
    };
    let Some(Ready { mut session, mut machine, lock: _lock }) = ready else {
        return Ok(DONE);
    };
    let entry = match machine.host() {
        Some(host) => {
            boots::enter(args.boot.as_deref(), args.resume.is_none(), &mut session, host)?
        }
        None => Entry::Visit(None),
    };
    let (stopped, is_restored) = match entry {
        Entry::Visit(boot) => {
            let run_as =
                machine.host().map(|_| user::invoking_user(&Root::system())).transpose()?.flatten();
            let means = Means { run_as, boot, stop, patience: args.wait_quiet };
            measure(&mut session, machine.as_mut(), means)?
        }
        Entry::Idle(why) => (why, true),
    };
    finish(args, session, stopped, is_restored)
}

fn dry_run(args: &Args, request: &Request, model: Option<&Modelled>) -> Result<u8> {
    let plan = match model {
        Some(model) => simulated::plan(request, model)?,
        None => on_host::plan(request)?,
    };
    if args.json {
        out::json(&plan)?;
        return Ok(DONE);
    }
    let mut text = describe::describe(&plan);
    if model.is_none() {
        text += &on_host::changes(&plan)?;
    }
    out::text(&text)?;
    Ok(DONE)
}

/// Measures, and puts the machine back whatever came of it. Also tells whether that succeeded.
fn measure(
    session: &mut Session,
    machine: &mut dyn Studied,
    means: Means,
) -> Result<(StoppedBecause, bool)> {
    let measured = session.measure(machine, means);
    let warnings = machine.host().map(switching::restore).unwrap_or_default();
    let is_restored = switching::is_restored(&warnings);
    let bundle = &session.bundle;
    match measured {
        Ok(stopped) => {
            session.environment.warnings.extend(warnings);
            bundle.write_json(ENVIRONMENT, &session.environment)?;
            Ok((stopped, is_restored))
        }
        // What was asked for cannot work; the same plan would fail again.
        Err(error @ coretwin_lab::Error::Usage(_)) => {
            Err(switching::with_machine(error.into(), is_restored))
        }
        Err(error) => {
            if !warnings.is_empty() {
                let mut environment = bundle.environment()?;
                environment.warnings.extend(warnings);
                bundle.write_json(ENVIRONMENT, &environment)?;
            }
            let advice = resuming::after_error(&session.plan, bundle);
            Err(switching::with_machine(Kept { error, advice }.into(), is_restored))
        }
    }
}

fn finish(args: &Args, session: Session, stopped: StoppedBecause, is_restored: bool) -> Result<u8> {
    let Session { bundle, plan, readings, environment, .. } = &session;
    let mut summary = findings::of_study(plan, readings, environment, stopped);
    if stopped == StoppedBecause::Reboot {
        summary.next_boot = boots::next(&session);
        bundle.write_json(ENVIRONMENT, environment)?;
    }
    let study = Study { plan, readings, environment, summary: &summary, licence: None };
    findings::save_study(bundle, &study)?;
    match summary.next_boot {
        _ if args.json => out::json(&summary)?,
        Some(_) => {}
        None if args.full => out::text(&coretwin_report::text(&study))?,
        None => out::brief(&findings::answer(&study, bundle.folder()))?,
    }
    if let Some(next) = &summary.next_boot {
        out::news(&boots::sentence(next));
        return Ok(DONE);
    }
    if args.full || args.json {
        tell_how_it_goes_on(plan, bundle, stopped);
    }
    let is_too_busy = study::too_busy(plan, readings).is_some();
    Ok(status(args, readings, &summary, is_restored, is_too_busy))
}

fn tell_how_it_goes_on(plan: &Plan, bundle: &Bundle, stopped: StoppedBecause) {
    let go_on = resuming::go_on(plan, bundle.folder());
    if stopped == StoppedBecause::Error {
        out::news(&format!(
            "stopped: every run failed, in every arm, so more of them would say nothing; mend what \
             the report says of them and study anew, or if it was the machine, {go_on}"
        ));
    }
    if stopped == StoppedBecause::Busy {
        out::news(&quiet::stopped(plan, &go_on));
    }
    out::news(&format!("the whole report: {}", bundle.path("report.html").display()));
    if stopped == StoppedBecause::Interrupted {
        out::news(&format!("interrupted; {go_on}"));
    }
}

fn status(
    args: &Args,
    readings: &[Reading],
    summary: &Summary,
    is_restored: bool,
    is_too_busy: bool,
) -> u8 {
    let failed =
        |reading: &Reading| reading.phase == Phase::Study && reading.status == Status::Failed;
    // One that ended well with a value that has no ratio compares as little as one that failed.
    let has_no_ratio = summary.rows.iter().any(|row| row.failed > 0);
    let is_control = |label: &str| summary.arms.iter().any(|arm| arm.control && arm.label == label);
    let matched = |suite: &SuiteEffect| {
        suite.verdict.is_some_and(|verdict| args.fail_on.contains(&verdict))
            && !is_control(&suite.arm)
    };
    match summary.stopped_because {
        _ if !is_restored => NOT_RESTORED,
        StoppedBecause::Interrupted => INTERRUPTED,
        StoppedBecause::Busy => TOO_BUSY,
        _ if is_too_busy => TOO_BUSY,
        _ if has_no_ratio || readings.iter().any(failed) => CELLS_FAILED,
        _ if summary.suites.iter().any(matched) => CELLS_FAILED,
        _ => DONE,
    }
}

pub(super) enum Asked {
    New(Box<Request>),
    Old(Bundle, Box<Plan>),
}

impl Asked {
    pub(super) fn of(args: &Args) -> Result<Self> {
        let Some(folder) = &args.resume else { return Ok(Self::New(Box::new(args.request()?))) };
        let (bundle, mut plan) = resuming::open(folder, "study")?;
        if let Some(budget_s) = args.budget_given_s() {
            if plan.rules.budget_s.is_none() {
                let why = "--budget: this study has none; its plan says how many blocks are run";
                return Err(usage(why));
            }
            plan.rules.budget_s = Some(budget_s);
        }
        Ok(Self::Old(bundle, Box::new(plan)))
    }
}

pub(super) trait Studied: Machine {
    /// This host, if it is that: it is checked and waited for before the first run, and put back after
    /// the last.
    fn host(&mut self) -> Option<&mut HostMachine> {
        None
    }
}

pub(super) struct Ready {
    pub(super) session: Session,
    pub(super) machine: Box<dyn Studied>,
    /// Held until the study ends: two at once would measure each other.
    pub(super) lock: Option<HostLock>,
}

pub(super) fn begin(args: &Args, plan: Plan, root: &Root) -> Result<Session> {
    let folder = args.out.clone().unwrap_or_else(|| resuming::new_folder("study"));
    let made = out::missing_parent(&folder);
    let bundle = Bundle::create(&folder, &plan, host::owner(root)?)?;
    let duration = duration(&plan).map(|duration| format!("It takes {duration}; "));
    let goes_to = out::results_go_to(bundle.folder(), made.as_deref());
    out::news(&format!("{}{goes_to}.", duration.unwrap_or_default()));
    Session::open(bundle, plan, root)
}

pub(super) fn resume(bundle: Bundle, plan: Plan, root: &Root) -> Result<Session> {
    out::news(&format!("{}.", out::results_go_to(bundle.folder(), None)));
    Session::open(bundle, plan, root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use args::Line;
    use coretwin_base::machine::topology::Topology;
    use coretwin_lab::host_machine::HOST;
    use coretwin_lab::planning;

    #[test]
    fn a_machine_that_is_not_as_it_was_and_a_busy_one_have_statuses_of_their_own() {
        let words = ["study", "--", "true"].map(str::to_owned).to_vec();
        let args = Line::read(words).expect("options");
        let request = args.request().expect("request");
        let plan = planning::draw(&request, HOST, &Topology::regular(1, 2, 2)).expect("plan");
        let ends = |stopped, is_restored, is_too_busy| {
            let summary = study::analyse(&plan, &[], stopped);
            status(&args, &[], &summary, is_restored, is_too_busy)
        };
        for stopped in [StoppedBecause::Target, StoppedBecause::Busy, StoppedBecause::Interrupted] {
            assert_eq!(ends(stopped, false, false), NOT_RESTORED, "{stopped:?}");
        }
        assert_eq!(ends(StoppedBecause::Target, true, false), DONE);
        assert_eq!(ends(StoppedBecause::Interrupted, true, true), INTERRUPTED);
        assert_eq!(ends(StoppedBecause::Busy, true, false), TOO_BUSY);
        assert_eq!(ends(StoppedBecause::Budget, true, true), TOO_BUSY);
    }
}
