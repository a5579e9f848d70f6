//! Whether others leave a study its CPUs: looked at before the first block, and waited for if asked.

use crate::out;
use coretwin_base::printable::printable;
use coretwin_base::study::plan::Plan;
use coretwin_base::units::human_seconds;
use coretwin_host::root::Root;
use coretwin_lab::Error;
use coretwin_lab::machine::Stop;
use coretwin_lab::quiet::{self, Lookout};
use indicatif::ProgressBar;
use std::time::{Duration, Instant};

pub(crate) fn stopped(plan: &Plan, go_on: &str) -> String {
    let choices = match &plan.cputime {
        Some(_) => "or take the machine as it is with --others-limit 100% --steal-limit 100%",
        None => {
            "allow more with --others-limit and --steal-limit (100% allows everything), or screen \
             without a verdict with --quick"
        }
    };
    format!(
        "stopped, for others left nothing to keep; you can wait for quiet with --wait-quiet, \
         {choices}; {go_on} --wait-quiet"
    )
}

pub(crate) fn busy(cause: &str, plan: &Plan) -> String {
    let or = match &plan.cputime {
        Some(_) => "take it as it is: --others-limit 100% --steal-limit 100%",
        None => "screen without a verdict: --quick",
    };
    format!(
        "This machine is busy: {cause}. Disturbed runs are set aside.\n\
         Wait for quiet with --wait-quiet, or {or}."
    )
}

/// Says at once that this machine is busy, or waits at most so long until it is quiet. Returns `true`
/// if it was said.
pub(crate) fn before(plan: &Plan, patience: Option<Duration>, stop: &Stop) -> Result<bool, Error> {
    let root = Root::system();
    let lookout = Lookout::new(&root, plan).filter(|_| plan.simulation.is_none());
    let Some(lookout) = lookout else { return Ok(false) };
    if let Some(patience) = patience {
        return wait(&lookout, patience, stop).map(|()| false);
    }
    let cause = lookout.look(stop)?;
    if let Some(cause) = &cause {
        out::news(&match plan.rules.retries_max {
            0 => format!("This machine is busy: {cause}. Every run counts all the same."),
            _ => busy(cause, plan),
        });
    }
    Ok(cause.is_some())
}

fn wait(lookout: &Lookout<'_>, patience: Duration, stop: &Stop) -> Result<(), Error> {
    let bar = match out::redraws(&std::io::stderr()) {
        true => ProgressBar::new_spinner(),
        false => ProgressBar::hidden(),
    };
    let mut told: Option<Instant> = None;
    let waited = quiet::wait(patience, &mut || lookout.look(stop), &mut |busy, left_s| {
        let what = busy.unwrap_or("quiet for a moment");
        let line = format!("waiting for quiet: {what}; {} left", human_seconds(left_s));
        if !bar.is_hidden() {
            bar.set_message(printable(&line).into_owned());
            bar.tick();
        } else if told.is_none_or(|told| told.elapsed() >= out::PLAIN_EVERY) {
            told = Some(Instant::now());
            out::news(&line);
        }
    });
    bar.finish_and_clear();
    waited
}
