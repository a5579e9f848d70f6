//! `coretwin run`: one workload or command, once.

use crate::exit::{CELLS_FAILED, DONE, NOT_RESTORED, refuse_slips, usage};
use crate::{host, metric, out, signals, switching};
use anyhow::Result;
use coretwin_base::machine::environment::Environment;
use coretwin_base::machine::placement::Placement;
use coretwin_base::parameters::WorkloadSpec;
use coretwin_base::study::arm::{ArmSpec, ArmState};
use coretwin_base::study::command::{CommandSpec, MetricSpec};
use coretwin_base::study::plan::{Plan, Protocol, Rule};
use coretwin_base::study::reading::{Reading, Status};
use coretwin_host::root::Root;
use coretwin_host::{lock, user};
use coretwin_lab::engine::{self, Setup};
use coretwin_lab::event::Listeners;
use coretwin_lab::host_machine::{HOST, HostMachine};
use coretwin_lab::machine::MachineError;
use coretwin_lab::planning;
use coretwin_lab::request::{Counts, Request, Subject};
use coretwin_lab::switching::with_smt_on;

/// A single run may take a day; Ctrl-C ends it.
const TIMEOUT_S: f64 = 24.0 * 3600.0;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin run chat:rooms=20
  coretwin run chat:rooms=20 --placement same-cpu --json
  coretwin run --arm cpus:0 -- make -j{threads}")]
pub(crate) struct Args {
    /// A workload with its parameters, like chat:rooms=20
    #[arg(value_parser = WorkloadSpec::parse, required_unless_present = "command")]
    workload: Option<WorkloadSpec>,
    /// Your own command, after `--`
    #[arg(last = true, value_name = "CMD", conflicts_with = "workload")]
    command: Vec<String>,
    /// The arm to run in
    #[arg(long, default_value = "on", value_parser = ArmSpec::parse)]
    arm: ArmSpec,
    /// Where the workload's roles run: free, same-cpu, siblings, cores, packages
    #[arg(long, default_value = "free", value_parser = crate::options::placement)]
    placement: Placement,
    /// A number from the command's output; see coretwin study --help
    #[arg(long = "metric", value_name = "METRIC", value_parser = metric::parse)]
    metrics: Vec<MetricSpec>,
    /// Copies of the command side by side
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    copies: Option<u32>,
    /// Switch SMT without asking, for --arm off
    #[arg(long)]
    yes: bool,
    /// Print all of it, not the answer in seven lines
    #[arg(long, conflicts_with = "json")]
    full: bool,
    /// Print the reading as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let root = Root::system();
    let (yes, off) = (args.yes, args.arm.state == ArmState::Off);
    if matches!(args.arm.state, ArmState::Boot(_)) {
        let why =
            "boot arms are for a study, which waits for each; to run in this boot leave out --arm";
        return Err(usage(why));
    }
    let request = request(args)?;
    let supposed = host::topology(&root)?;
    let supposed = with_smt_on(supposed.clone()).unwrap_or(supposed);
    refuse_slips(planning::draw_once(&request, HOST, &supposed))?;
    let _lock = lock::acquire(&root)?;
    coretwin_workloads::leftovers::sweep();
    let stop = signals::stop_flag()?;
    let now = host::topology(&root)?;
    let topology = if off { with_smt_on(now.clone())? } else { now.clone() };
    let plan = planning::draw_once(&request, HOST, &topology)?;
    switching::can_load(&plan, &root)?;
    let mut machine = switching::fit(HostMachine::new(root.clone(), topology)?, &plan, &root);
    machine.check(&plan)?;
    if off {
        let Some(switching) = switching::take(&root, &now, yes)? else {
            return Ok(DONE);
        };
        machine = machine.with_switch(switching);
    }
    let setup = Setup {
        plan: &plan,
        readings: Vec::new(),
        environment: Environment::default(),
        run_as: user::invoking_user(&root)?,
        boot: None,
        stop,
    };
    let finished = engine::run(setup, &mut machine, &mut Listeners(Vec::new()));
    let warnings = switching::restore(&mut machine);
    let is_restored = switching::is_restored(&warnings);
    let finished = finished.map_err(|error| switching::with_machine(error.into(), is_restored))?;
    let reading =
        finished.readings.first().ok_or(coretwin_lab::Error::Machine(MachineError::Stopped))?;
    let status = show(args, &plan, reading)?;
    Ok(if is_restored { status } else { NOT_RESTORED })
}

fn show(args: &Args, plan: &Plan, reading: &Reading) -> Result<u8> {
    match (args.json, args.full) {
        (true, _) => out::facts(plan.origin(), reading)?,
        (_, true) => out::text(&coretwin_report::run_text(reading))?,
        _ => out::brief_of(coretwin_report::run_brief(reading), "checks, notes, output")?,
    }
    Ok(if reading.status == Status::Failed { CELLS_FAILED } else { DONE })
}

fn request(args: &Args) -> Result<Request> {
    let subject = match &args.workload {
        Some(workload) => Subject::Workloads(vec![workload.clone()]),
        None => {
            let mut metrics = args.metrics.clone();
            if let Some(first) = metrics.first_mut() {
                first.primary = true;
            }
            let spec = CommandSpec {
                metrics,
                folder: host::working_folder()?,
                ..CommandSpec::plain(args.command.clone(), TIMEOUT_S)
            };
            coretwin_workloads::command::check(&spec).map_err(usage)?;
            let copies = args.copies.map_or(Counts::Default, |copies| Counts::List(vec![copies]));
            Subject::Command {
                spec: Box::new(spec),
                threads: Counts::Default,
                copies,
                variants: Vec::new(),
                parameters: Vec::new(),
            }
        }
    };
    Ok(Request {
        subject,
        arms: vec![args.arm.clone()],
        placements: vec![args.placement],
        seed: 0,
        protocol: Protocol::Fixed,
        blocks: Some(1),
        until: Rule::Width,
        target: 0.01,
        margin: 0.02,
        budget_s: 0.0,
        warmup: false,
        warmup_runs: None,
        control: false,
        split: false,
        settle_s: 2.0,
        repeats: None,
        steal_share_max: 1.0,
        others_share_max: 1.0,
        load: None,
    })
}
