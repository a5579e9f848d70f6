//! `coretwin study`: the main job.

use crate::exit::{CELLS_FAILED, DONE, INTERRUPTED, Kept};
use crate::keeper::Keeper;
use crate::progress::Progress;
use crate::study_args::Args;
use crate::{host, out, report, signals};
use anyhow::Result;
use coretwin_base::command::CommandSpec;
use coretwin_base::plan::{Comparison, CopyRule, Plan};
use coretwin_base::reading::{Phase, Status};
use coretwin_base::summary::{StoppedBecause, Summary};
use coretwin_base::units::human_seconds;
use coretwin_host::root::Root;
use coretwin_host::{lock, user};
use coretwin_lab::engine::{self, Finished, Setup};
use coretwin_lab::event::{Listener, Listeners};
use coretwin_lab::host_machine::{HOST, HostMachine};
use coretwin_lab::planning;
use coretwin_store::Bundle;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs the verb.
pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let root = Root::system();
    if args.dry_run {
        let plan = planning::draw(&args.request()?, HOST, &host::topology(&root)?)?;
        out::text(&describe(&plan))?;
        return Ok(ExitCode::from(DONE));
    }
    // Before anything is read of the machine: another study would change what is read.
    let _lock = lock::acquire(&root)?;
    coretwin_workloads::semaphores::sweep();
    let stop = signals::stop_flag()?;
    let (bundle, plan) = plan(&args, &root)?;
    out::news(&headline(&plan));
    out::news(&format!("results go to {}", bundle.folder().display()));

    let mut machine = HostMachine::new(root.clone(), plan.topology.clone())?;
    machine.check(&plan)?;
    let (journal, earlier) = bundle.journal()?;
    if earlier.torn_bytes > 0 {
        out::news("the journal's last line was torn by a crash; that run is made again");
    }
    let mut environment = bundle.environment()?;
    environment.sessions.push(machine.session(std::env::args().collect()));
    let mut keeper = Keeper { bundle: &bundle, journal };
    let mut progress = Progress::new(&plan);
    let setup = Setup {
        plan: &plan,
        readings: earlier.readings,
        environment,
        run_as: user::invoking_user(&root)?,
        stop,
    };
    let listeners: Vec<&mut dyn Listener> = vec![&mut keeper, &mut progress];
    let finished = engine::run(setup, &mut machine, &mut Listeners(listeners));
    drop(progress);
    let finished = match finished {
        Ok(finished) => finished,
        // What was asked for cannot work; the same plan would fail again.
        Err(error @ coretwin_lab::Error::Usage(_)) => return Err(error.into()),
        Err(error) => return Err(Kept { error, advice: go_on(bundle.folder()) }.into()),
    };
    finish(&args, &bundle, &plan, &finished)
}

/// The plan of a new study, stored; or that of an old one, read.
fn plan(args: &Args, root: &Root) -> Result<(Bundle, Plan)> {
    let owner = host::owner(root)?;
    if let Some(folder) = &args.resume {
        let (bundle, mut plan) = Bundle::open(folder, owner)?;
        if let (Some(budget_s), Some(_)) = (args.budget_given_s(), plan.rules.budget_s) {
            plan.rules.budget_s = Some(budget_s);
        }
        return Ok((bundle, plan));
    }
    let plan = planning::draw(&args.request()?, HOST, &host::topology(root)?)?;
    // Limits that are too low are an error before anything is written.
    HostMachine::new(root.clone(), plan.topology.clone())?.check(&plan)?;
    let folder = args.out.clone().unwrap_or_else(default_folder);
    let bundle = Bundle::create(&folder, &plan, owner)?;
    Ok((bundle, plan))
}

fn default_folder() -> PathBuf {
    let now = coretwin_lab::host_machine::now_utc();
    let stamp: String = now
        .trim_end_matches('Z')
        .chars()
        .filter(|c| !matches!(c, '-' | ':'))
        .map(|c| if c == 'T' { '-' } else { c })
        .collect();
    PathBuf::from(format!("study-{stamp}"))
}

fn go_on(folder: &Path) -> String {
    format!(
        "what was measured is kept in {0}; go on with: coretwin study --resume {0}",
        folder.display()
    )
}

/// What is compared, in one line; on a machine without visible siblings that comes first.
fn headline(plan: &Plan) -> String {
    let arms: Vec<String> =
        plan.arms.iter().map(|arm| format!("{} ({})", arm.label, arm.about)).collect();
    let arms = arms.join(" with ");
    match plan.comparison {
        Comparison::Smt => format!("Comparing {arms}."),
        Comparison::StandIn => {
            format!("Comparing {arms}. SMT stays on; one CPU per core stands in for SMT off.")
        }
        Comparison::None if !plan.topology.has_usable_siblings() => format!(
            "No SMT siblings are visible on this machine. Comparing {arms} instead; this says nothing about SMT."
        ),
        Comparison::None => format!("Comparing {arms}. This says nothing about SMT."),
    }
}

/// What a study would do, for `--dry-run`.
fn describe(plan: &Plan) -> String {
    let mut text = headline(plan) + "\n\nArms (the first is the reference)\n";
    for arm in &plan.arms {
        text += &format!(
            "  {:<16} CPUs {} on {} cores, {} threads\n",
            arm.label, arm.cpus, arm.cores, arm.threads
        );
    }
    text += "\nRows\n";
    for row in &plan.rows {
        let copies = match row.copies {
            CopyRule::PerCpu => ", one copy per CPU of the arm".to_owned(),
            CopyRule::Fixed(1) => String::new(),
            CopyRule::Fixed(copies) => format!(", {copies} copies"),
        };
        text += &format!("  {} ({}{copies})\n", row.id, row.unit);
    }
    if let Some(command) = &plan.command {
        text += &describe_command(command);
    }
    if let Some(screening) = &plan.screening {
        text += &format!("Screening    {} blocks; thread counts tried:", screening.blocks);
        for (arm, counts) in plan.arms.iter().zip(&screening.candidates) {
            let counts: Vec<String> = counts.iter().map(u32::to_string).collect();
            text += &format!(" {} {};", arm.label, counts.join(" "));
        }
        text.push('\n');
    }
    let looks: Vec<String> = plan.rules.looks.iter().map(u32::to_string).collect();
    text += &match (looks.as_slice(), plan.rules.budget_s) {
        ([only], _) => format!("\nBlocks       {only}, each one run of every row in every arm\n"),
        (_, budget_s) => format!(
            "\nBlocks       looked at after {} (a block is one run of every row in every arm)\n\
             Stops        when every 95 % interval is within ±{:.1} %{}\n",
            looks.join(", "),
            plan.rules.target * 100.0,
            budget_s.map(|s| format!(", or after {}", human_seconds(s))).unwrap_or_default()
        ),
    };
    text +=
        &format!("Margin       {:.1} %\nSeed         {}\n", plan.rules.margin * 100.0, plan.seed);
    text += "Machine      nothing on it is changed; affinity only\n";
    text
}

fn describe_command(command: &CommandSpec) -> String {
    let mut text = format!("\nCommand      {}\n", command.argv.join(" "));
    for metric in &command.metrics {
        let compared = if metric.primary { ", compared" } else { "" };
        text += &format!("Metric       {} {}{compared}\n", metric.name, metric.unit);
    }
    if let Some(server) = &command.server {
        text += &format!("Server       {}\n", server.command);
    }
    text += &format!("Time-out     {} a run\n", human_seconds(command.timeout_s));
    text
}

fn finish(args: &Args, bundle: &Bundle, plan: &Plan, finished: &Finished) -> Result<ExitCode> {
    let summary = coretwin_stats::study::analyse(plan, &finished.readings, finished.stopped);
    report::save(bundle, plan, &finished.readings, &finished.environment, &summary)?;
    if args.json {
        out::json(&summary)?;
    } else {
        let study = coretwin_report::Study {
            plan,
            readings: &finished.readings,
            environment: &finished.environment,
            summary: &summary,
        };
        out::text(&coretwin_report::text(&study))?;
    }
    out::news(&format!("the whole report: {}", bundle.path("report.html").display()));
    if finished.stopped == StoppedBecause::Interrupted {
        out::news(&format!("interrupted; {}", go_on(bundle.folder())));
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(ExitCode::from(status(args, finished, &summary)))
}

fn status(args: &Args, finished: &Finished, summary: &Summary) -> u8 {
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
