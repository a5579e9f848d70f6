//! `coretwin study`: the main job. What is asked for is resolved once, new or resumed and on which
//! machine; from there one way leads through the session to the report.

pub(crate) mod args;
mod boots;
mod describe;
mod on_host;
mod ready;
#[cfg_attr(not(feature = "sim"), path = "study/not_simulated.rs")]
mod simulated;

pub(crate) use args::Args;

use crate::exit::{CELLS_FAILED, DONE, INTERRUPTED, Kept, NOT_RESTORED, TOO_BUSY, USAGE};
use crate::session::{Means, Session};
use crate::{findings, out, quiet, resuming, signals, switching};
use anyhow::Result;
use boots::Entry;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Phase, Reading, Status};
use coretwin_base::study::summary::{StoppedBecause, Summary};
use coretwin_host::root::Root;
use coretwin_host::user;
use coretwin_lab::request::Request;
use coretwin_report::Study;
use coretwin_stats::study;
use coretwin_store::{Bundle, ENVIRONMENT};
use ready::{Asked, Ready, Studied};
use simulated::Modelled;

pub(crate) fn run(args: &Args) -> Result<u8> {
    if args.is_bare() {
        out::text(&on_host::possible()?)?;
        return Ok(USAGE);
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
    let matched = |verdict| args.fail_on.contains(&verdict);
    match summary.stopped_because {
        _ if !is_restored => NOT_RESTORED,
        StoppedBecause::Interrupted => INTERRUPTED,
        StoppedBecause::Busy => TOO_BUSY,
        _ if is_too_busy => TOO_BUSY,
        _ if readings.iter().any(failed) => CELLS_FAILED,
        _ if summary.suites.iter().any(|suite| suite.verdict.is_some_and(matched)) => CELLS_FAILED,
        _ => DONE,
    }
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
