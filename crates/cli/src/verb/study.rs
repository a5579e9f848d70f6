//! `coretwin study`: the main job.

mod simulated;

use crate::describe::{describe, duration, headline};
use crate::exit::{
    CELLS_FAILED, DONE, INTERRUPTED, Kept, NOT_RESTORED, TOO_BUSY, Usage, refuse_slips,
};
use crate::keeper::Keeper;
use crate::progress::Progress;
use crate::rebooting::{self, Entry};
pub(crate) use crate::study_args::Args;
use crate::verb::smt::consent;
use crate::verb::{report, sched};
use crate::{host, out, quiet, signals, switching};
use anyhow::Result;
use coretwin_base::machine::environment::Environment;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Phase, Reading, Status};
use coretwin_base::study::summary::{StoppedBecause, Summary};
use coretwin_base::suggest::nearest;
use coretwin_host::root::Root;
use coretwin_host::{lock, user};
use coretwin_lab::boots::BootVisit;
use coretwin_lab::engine::{self, Finished, Setup};
use coretwin_lab::event::{Listener, Listeners};
use coretwin_lab::host_machine::{HOST, HostMachine};
use coretwin_lab::machine::Stop;
use coretwin_lab::switching::{Switching, with_smt_on};
use coretwin_lab::{planning, probe};
use coretwin_stats::study;
use coretwin_store::{Bundle, ENVIRONMENT, JOURNAL, Journal, PLAN};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let root = Root::system();
    if let Some(status) = simulated::attend(args, &root)? {
        return Ok(status);
    }
    if args.dry_run {
        return dry_run(args, &root);
    }
    if args.resume.is_none() {
        refuse_slips(asked(args, &root))?;
    }
    // Before anything that counts is read of the machine: another study would change it.
    let _lock = lock::acquire(&root)?;
    coretwin_workloads::leftovers::sweep();
    let stop = signals::stop_flag()?;
    let Some(begun) = begin(args, &root)? else { return Ok(ExitCode::from(DONE)) };
    let Begun { bundle, plan, mut machine, made } = begun;
    if plan.topology.has_usable_siblings() {
        let without = host::without_smt(&root, &plan.topology);
        out::news(&format!("Security: {}; {}.", without.cost(), without.choice()));
    }
    out::results_go_to(bundle.folder(), made.as_deref());
    machine.check(&plan)?;
    let (journal, earlier) = bundle.journal(&plan)?;
    if earlier.torn_bytes > 0 {
        out::news("the journal's last line was torn by a crash; that run is made again");
    }
    let mut environment = bundle.environment()?;
    earlier.note(&mut environment);
    let readings = earlier.readings;
    environment.sessions.push(machine.session(host::words()));
    let entry = if plan.reboots() {
        Some(rebooting::enter(args, &bundle, &plan, &machine, &mut environment, &readings)?)
    } else {
        None
    };
    // A boot that is let in tells what its arm is.
    let plan = plan.with_boots(&environment.boots);
    let idle =
        |stopped| Finished { readings: Vec::new(), environment: Environment::default(), stopped };
    let (boot, idle) = match entry {
        None => (None, None),
        Some(Entry::Visit(visit)) => (Some(visit), None),
        Some(Entry::Wait) => (None, Some(idle(StoppedBecause::Reboot))),
        Some(Entry::Done) => (None, Some(idle(StoppedBecause::Blocks))),
    };
    if let Some(idle) = idle {
        let finished = Finished { readings, environment, ..idle };
        return finish(args, &bundle, &plan, &finished, true);
    }
    let advised = |error| Kept { error, advice: go_on("study", bundle.folder()) };
    if let Err(error) = quiet::before(&plan, &root, args.wait_quiet, &stop) {
        let is_restored = switching::is_restored(&switching::restore(&mut machine));
        return Err(switching::with_machine(advised(error).into(), is_restored));
    }
    let session =
        Session { plan: &plan, bundle: &bundle, journal, readings, environment, boot, stop };
    let (finished, is_restored) = measure(session, &root, &mut machine)?;
    finish(args, &bundle, &plan, &finished, is_restored)
}

/// Tells what would be run, and touches nothing.
fn dry_run(args: &Args, root: &Root) -> Result<ExitCode> {
    let topology = with_smt_on(host::topology(root)?)?;
    let mut plan = planning::draw(&args.request()?, HOST, &topology)?;
    tell_of_sharing(root, &mut plan);
    if args.json {
        out::json(&plan)?;
        return Ok(ExitCode::from(DONE));
    }
    out::text(&describe(&plan))?;
    if plan.switches_smt() {
        out::text(&consent::foretell(root, &host::topology(root)?))?;
    }
    if plan.changes_scheduler() {
        out::text(&sched::foretell(&plan, root))?;
    }
    Ok(ExitCode::from(DONE))
}

/// What would be run if the lock were ours: whether it makes sense is known before.
fn asked(args: &Args, root: &Root) -> Result<Plan> {
    if let Some(folder) = args.out.clone().filter(|folder| folder.join(PLAN).exists()) {
        return Err(coretwin_store::Error::Occupied { folder }.into());
    }
    let now = host::topology(root)?;
    let topology = with_smt_on(now.clone()).unwrap_or(now);
    Ok(planning::draw(&args.request()?, HOST, &topology)?)
}

/// A study about to be run.
struct Begun {
    /// The folder that was made for the results' folder, if one was missing.
    made: Option<PathBuf>,
    bundle: Bundle,
    plan: Plan,
    machine: HostMachine,
}

/// The plan of a new study, stored; or that of an old one, read. With it the machine, and its SMT
/// switch if the plan uses it. None if the user did not want that.
fn begin(args: &Args, root: &Root) -> Result<Option<Begun>> {
    let owner = host::owner(root)?;
    let machine = |topology, switching: Option<Switching>| {
        let machine = HostMachine::new(root.clone(), topology)?;
        Ok::<_, coretwin_lab::Error>(match switching {
            Some(switching) => machine.with_switch(switching),
            None => machine,
        })
    };
    if let Some(folder) = &args.resume {
        let (bundle, mut plan) = Bundle::open(folder, owner)?;
        if plan.cputime.is_some() {
            return Err(Usage(format!(
                "{} holds an experiment of cputime; go on with: {}",
                folder.display(),
                resume_line("cputime", folder)
            ))
            .into());
        }
        if let Some(budget_s) = args.budget_given_s() {
            if plan.rules.budget_s.is_none() {
                let why = "--budget: this study has none; its plan says how many blocks are run";
                return Err(Usage(why.to_owned()).into());
            }
            plan.rules.budget_s = Some(budget_s);
        }
        out::news(&headline(&plan));
        sched::possible(&plan, root)?;
        let now =
            if plan.reboots() || plan.switches_smt() { Some(host::topology(root)?) } else { None };
        let topology = match &now {
            Some(now) if plan.reboots() => now.clone(),
            _ => plan.topology.clone(),
        };
        let switching = match now.filter(|_| plan.switches_smt()) {
            Some(now) => match switching::take(root, &now, args.yes)? {
                None => return Ok(None),
                taken => taken,
            },
            None => None,
        };
        let machine = sched::fit(machine(topology, switching)?, &plan, root);
        return Ok(Some(Begun { made: None, bundle, plan, machine }));
    }
    let Some((mut plan, switching)) = draw(args, root)? else { return Ok(None) };
    let machine = sched::fit(machine(plan.topology.clone(), switching)?, &plan, root);
    if let Some(warning) = machine.loaded_before() {
        out::news(&format!("Note: {}; {}.", warning.text, warning.remedy));
        plan.warnings.push(warning);
    }
    // Limits that are too low are an error before anything is written.
    machine.check(&plan)?;
    let folder = args.out.clone().unwrap_or_else(|| new_folder("study"));
    let made = out::missing_parent(&folder);
    let bundle = Bundle::create(&folder, &plan, owner)?;
    Ok(Some(Begun { made, bundle, plan, machine }))
}

/// Draws the plan of a new study. Where SMT is to be switched and is off now, it is switched on
/// first: the plan is drawn for the machine as it is then.
fn draw(args: &Args, root: &Root) -> Result<Option<(Plan, Option<Switching>)>> {
    let request = args.request()?;
    let now = host::topology(root)?;
    let switches = request.arms.iter().any(|arm| arm.state == ArmState::Off);
    if !switches {
        let mut plan = planning::draw(&request, HOST, &now)?;
        foretell(&plan);
        sched::possible(&plan, root)?;
        tell_of_sharing(root, &mut plan);
        return Ok(Some((plan, None)));
    }
    // What is wrong with the request is said before anybody is asked for a word. Siblings that are
    // not known yet are no fault of it.
    let supposed = with_smt_on(now.clone()).ok();
    let plan = supposed.map(|topology| planning::draw(&request, HOST, &topology)).transpose()?;
    match &plan {
        Some(plan) => {
            foretell(plan);
            sched::possible(plan, root)?;
        }
        None => out::news("SMT is off, and is switched on first to see which CPUs are siblings."),
    }
    let Some(mut switching) = switching::take(root, &now, args.yes)? else { return Ok(None) };
    let plan = match plan {
        Some(plan) if switching.found_on() => plan,
        _ => {
            switching
                .visit(false)
                .map_err(|error| coretwin_lab::Error::NotPossible(error.to_string()))?;
            planning::draw(&request, HOST, &host::topology(root)?)?
        }
    };
    Ok(Some((plan, Some(switching))))
}

/// What is compared, what is left out of it, and how long it will take.
fn foretell(plan: &Plan) {
    out::news(&headline(plan));
    for warning in plan.warnings.iter().filter(|warning| warning.kind == "left-out") {
        out::news(&format!("{}; {}", warning.text, warning.remedy));
    }
    for (typed, meant) in misspelt(plan) {
        out::news(&format!("Note: {{{typed}}} is passed on as it is; did you mean {{{meant}}}?"));
    }
    if let Some(duration) = duration(plan) {
        out::news(&format!("It takes {duration}."));
    }
}

/// Words in braces in the command that are not filled in, but look like one that would be.
fn misspelt(plan: &Plan) -> Vec<(&str, &'static str)> {
    const KNOWN: [&str; 4] = ["threads", "cpus", "arm", "copy"];
    let words = plan.command.iter().flat_map(|command| &command.argv);
    let in_braces = words.flat_map(|word| {
        word.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(inside, _)| inside))
    });
    let is_slip = |word: &&str| {
        word.len() > 2 && word.bytes().all(|b| b.is_ascii_alphabetic()) && !KNOWN.contains(word)
    };
    in_braces
        .filter(is_slip)
        .filter_map(|word| nearest(word, KNOWN).map(|meant| (word, meant)))
        .collect()
}

/// A folder that is not there yet, named by date and time.
pub(crate) fn new_folder(kind: &str) -> PathBuf {
    let now = coretwin_lab::host_machine::now_utc();
    let stamp: String = now
        .trim_end_matches('Z')
        .chars()
        .filter(|c| !matches!(c, '-' | ':'))
        .map(|c| if c == 'T' { '-' } else { c })
        .collect();
    // Two may begin in one second.
    let again = (2u32..).map(|number| PathBuf::from(format!("{kind}-{stamp}-{number}")));
    let mut names = std::iter::once(PathBuf::from(format!("{kind}-{stamp}"))).chain(again);
    names.find(|name| !name.exists()).expect("numbers go on for longer than folders do")
}

/// How what was broken off is gone on with, `verb` being `study` or `cputime`.
pub(crate) fn go_on(verb: &str, folder: &Path) -> String {
    let line = resume_line(verb, folder);
    format!("what was measured is kept in {}; go on with: {line}", folder.display())
}

/// The command line that goes on with a folder.
pub(crate) fn resume_line(verb: &str, folder: &Path) -> String {
    let folder = folder.display().to_string();
    coretwin_report::shell_line(&["coretwin", verb, "--resume", &folder].map(str::to_owned))
}

/// Where no siblings show: whether that was probed, and what was found. It goes into the plan, for
/// the report, because a later probe says nothing of this study.
fn tell_of_sharing(root: &Root, plan: &mut Plan) {
    let probed = host::probed(root);
    if let Some(warning) = probe::warning(&plan.topology, probed.as_ref()) {
        out::news(&format!("Note: {}; {}.", warning.text, warning.remedy));
        plan.warnings.push(warning);
    }
    plan.topology = probe::judged(plan.topology.clone(), probed.as_ref());
}

/// What one start or resumption measures with.
struct Session<'a> {
    plan: &'a Plan,
    bundle: &'a Bundle,
    journal: Journal,
    readings: Vec<Reading>,
    environment: Environment,
    boot: Option<BootVisit>,
    stop: Stop,
}

/// Measures, and puts the machine back whatever came of it. Also tells whether that succeeded.
fn measure(
    session: Session<'_>,
    root: &Root,
    machine: &mut HostMachine,
) -> Result<(Finished, bool)> {
    let Session { plan, bundle, journal, readings, environment, boot, stop } = session;
    let mut keeper = Keeper { bundle, journal };
    let mut progress = Progress::new(plan);
    let run_as = user::invoking_user(root)?;
    let setup = Setup { plan, readings, environment, run_as, boot, stop };
    let listeners: Vec<&mut dyn Listener> = vec![&mut keeper, &mut progress];
    let finished = engine::run(setup, machine, &mut Listeners(listeners));
    drop(progress);
    let warnings = switching::restore(machine);
    let is_restored = switching::is_restored(&warnings);
    match finished {
        Ok(mut finished) => {
            finished.environment.warnings.extend(warnings);
            bundle.write_json(ENVIRONMENT, &finished.environment)?;
            Ok((finished, is_restored))
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
            let advice = match bundle.path(JOURNAL).exists() {
                true => go_on("study", bundle.folder()),
                false => format!(
                    "no reading is kept; begin again with: {}",
                    resume_line("study", bundle.folder())
                ),
            };
            Err(switching::with_machine(Kept { error, advice }.into(), is_restored))
        }
    }
}

fn finish(
    args: &Args,
    bundle: &Bundle,
    plan: &Plan,
    finished: &Finished,
    is_restored: bool,
) -> Result<ExitCode> {
    let Finished { readings, environment, stopped } = finished;
    let mut summary = report::summarise(plan, readings, environment, *stopped);
    if *stopped == StoppedBecause::Reboot {
        summary.next_boot = rebooting::next(bundle, plan, environment, readings);
        bundle.write_json(ENVIRONMENT, environment)?;
    }
    report::save(bundle, plan, readings, environment, &summary)?;
    if args.json {
        out::json(&summary)?;
    } else if summary.next_boot.is_none() {
        let study = coretwin_report::Study {
            plan,
            readings,
            environment,
            summary: &summary,
            licence: None,
        };
        out::text(&coretwin_report::text(&study))?;
    }
    if let Some(next) = &summary.next_boot {
        out::news(&rebooting::sentence(next));
        return Ok(ExitCode::from(DONE));
    }
    if *stopped == StoppedBecause::Error {
        out::news(&format!(
            "stopped: every run failed, in every arm, so more of them would say nothing; mend what \
             the report says of them and study anew, or if it was the machine, {}",
            go_on("study", bundle.folder())
        ));
    }
    if *stopped == StoppedBecause::Busy {
        out::news(&format!(
            "stopped, for others left nothing to keep; you can {}; {} --wait-quiet",
            quiet::choices(plan),
            go_on("study", bundle.folder())
        ));
    }
    out::news(&format!("the whole report: {}", bundle.path("report.html").display()));
    if *stopped == StoppedBecause::Interrupted {
        out::news(&format!("interrupted; {}", go_on("study", bundle.folder())));
    }
    let too_busy = study::too_busy(plan, readings).is_some();
    Ok(ExitCode::from(status(args, finished, &summary, is_restored, too_busy)))
}

fn status(
    args: &Args,
    finished: &Finished,
    summary: &Summary,
    is_restored: bool,
    is_too_busy: bool,
) -> u8 {
    if !is_restored {
        return NOT_RESTORED;
    }
    match finished.stopped {
        StoppedBecause::Interrupted => return INTERRUPTED,
        StoppedBecause::Busy => return TOO_BUSY,
        _ if is_too_busy => return TOO_BUSY,
        _ => {}
    }
    let failed = finished
        .readings
        .iter()
        .any(|reading| reading.phase == Phase::Study && reading.status == Status::Failed);
    let matched = summary
        .suites
        .iter()
        .any(|suite| suite.verdict.is_some_and(|verdict| args.fail_on.contains(&verdict)));
    if failed || matched { CELLS_FAILED } else { DONE }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study_args::Line;
    use coretwin_base::machine::topology::Topology;

    #[test]
    fn a_machine_that_is_not_as_it_was_and_a_busy_one_have_statuses_of_their_own() {
        let words = ["study", "--", "true"].map(str::to_owned).to_vec();
        let args = Line::read(words).expect("options");
        let request = args.request().expect("request");
        let plan = planning::draw(&request, HOST, &Topology::regular(1, 2, 2)).expect("plan");
        let ends = |stopped, is_restored, is_too_busy| {
            let summary = study::analyse(&plan, &[], stopped);
            let (readings, environment) = (Vec::new(), Environment::default());
            let finished = Finished { readings, environment, stopped };
            status(&args, &finished, &summary, is_restored, is_too_busy)
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
