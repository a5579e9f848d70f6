//! `coretwin cputime`: the note's experiment.

mod args;

use crate::exit::{CELLS_FAILED, DONE, INTERRUPTED, Kept, TOO_BUSY, refuse_slips, usage};
use crate::session::{Means, Session};
use crate::{findings, host, out, quiet, resuming, signals};
use anyhow::{Context, Result};
use coretwin_base::account::cputime::pairs::SEATS_MAX;
use coretwin_base::account::cputime::result::{CputimeSummary, MeasuredFactors};
use coretwin_base::account::cputime::rulers::RULERS;
use coretwin_base::account::cputime::{Relation, Spinner, SpinnerKind};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::environment::Environment;
use coretwin_base::machine::topology::Topology;
use coretwin_base::schema::SCHEMA;
use coretwin_base::study::command::CommandSpec;
use coretwin_base::study::job::RunAs;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::summary::StoppedBecause;
use coretwin_base::units::human_seconds;
use coretwin_host::root::Root;
use coretwin_host::{lock, user};
use coretwin_lab::cputime::{self, Request, data, pair};
use coretwin_lab::host_machine::{HostMachine, now_utc};
use coretwin_lab::machine::Stop;
use coretwin_lab::probe;
use coretwin_store::{Bundle, ENVIRONMENT, PLAN, factors};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

pub(crate) use args::Args;

const DATA: &str = "work.data";
/// How much of it is compressed to find out how fast this machine is, in bytes.
const TRIAL_BYTES: usize = 2 << 20;
/// How long the default work takes alone, in seconds; less where the budget is short.
const WORK_S: f64 = 1.0;
/// The most data that is made, in bytes.
const DATA_BYTES_MAX: f64 = 512.0 * 1024.0 * 1024.0;
/// Kept for the end of it, so that the whole stays within the budget.
const SPARE: Duration = Duration::from_secs(5);

pub(crate) fn run(args: &Args) -> Result<u8> {
    let started = Instant::now();
    let root = Root::system();
    let owner = host::owner(&root)?;
    let to_resume = args.resume.as_ref();
    let to_resume = to_resume.map(|folder| resuming::open(folder, "cputime")).transpose()?;
    let folder = args.out.clone().unwrap_or_else(|| resuming::new_folder("cputime"));
    let parent = out::missing_parent(&folder);
    if to_resume.is_none() {
        // The folder of the default work is made later, under the lock.
        refuse_slips(request(args, &host::topology(&root)?, Path::new(".")))?;
        if folder.join(PLAN).exists() {
            return Err(coretwin_store::Error::Occupied { folder }.into());
        }
    }
    let _lock = lock::acquire(&root)?;
    coretwin_workloads::leftovers::sweep();
    let stop = signals::stop_flag()?;
    let run_as = user::invoking_user(&root)?;
    let (bundle, plan, mut machine) = match to_resume {
        Some((bundle, plan)) => {
            let bytes = plan.cputime.as_ref().and_then(|experiment| experiment.data_bytes);
            make_data(bundle.folder(), plan.seed, bytes)?;
            let machine = HostMachine::new(root.clone(), plan.topology.clone())?;
            (bundle, plan, machine)
        }
        None => {
            let topology = host::topology(&root)?;
            let mut machine = HostMachine::new(root.clone(), topology.clone())?;
            let began = Begin { args, topology: &topology, folder: &folder, started };
            let plan = began.plan(&mut machine, run_as.as_ref(), &stop)?;
            let bundle = Bundle::create(&folder, &plan, owner)?;
            (bundle, plan, machine)
        }
    };
    out::news(&out::results_go_to(bundle.folder(), parent.as_deref()));
    let data = bundle.path(DATA);
    let means = Means { run_as, boot: None, patience: args.wait_quiet, stop };
    let measured = Session::open(bundle, plan, &root).and_then(|mut session| {
        Ok((measure(&mut session, &mut machine, means, args.full || args.json)?, session))
    });
    // Made again from its seed if the experiment goes on.
    let _ = fs::remove_file(data);
    let (summary, Session { bundle, plan, .. }) = measured?;
    let is_interrupted = summary.stopped_because == StoppedBecause::Interrupted;
    let is_busy = summary.stopped_because == StoppedBecause::Busy || summary.too_busy.is_some();
    if !args.json && !args.full {
        out::brief(&findings::cputime_answer(&bundle, &plan, &summary)?)?;
    } else {
        let text = findings::cputime_report(&bundle, &summary, "text")?;
        out::json_or(args.json, &summary, || text)?;
        out::news(&format!("the whole report: {}", bundle.path("report.html").display()));
        let go_on = resuming::go_on(&plan, bundle.folder());
        if is_interrupted {
            out::news(&format!("interrupted; {go_on}"));
        } else if is_busy {
            out::news(&quiet::stopped(&plan, &go_on));
        }
    }
    // No block of value is no result either.
    let failed =
        summary.blocks == 0 || summary.conditions.iter().any(|condition| condition.failed > 0);
    Ok(match failed {
        _ if is_interrupted => INTERRUPTED,
        _ if is_busy => TOO_BUSY,
        true => CELLS_FAILED,
        false => DONE,
    })
}

fn measure(
    session: &mut Session,
    machine: &mut HostMachine,
    means: Means,
    is_full: bool,
) -> Result<CputimeSummary> {
    let taken = session.readings.len();
    let measured = session.measure(machine, means);
    let Session { bundle, plan, readings, environment, .. } = session;
    let advice = || resuming::after_error(plan, bundle);
    let stopped = measured.map_err(|error| Kept { error, advice: advice() })?;
    bundle.write_json(ENVIRONMENT, environment)?;
    let summary = findings::of_cputime(plan, readings, stopped)?;
    findings::save_cputime(bundle, &summary)?;
    if readings.len() > taken && stopped != StoppedBecause::Interrupted {
        let kept = keep_factors(plan, environment, &summary)?;
        if is_full {
            out::news(&kept);
        }
    }
    Ok(summary)
}

struct Begin<'a> {
    args: &'a Args,
    topology: &'a Topology,
    folder: &'a Path,
    started: Instant,
}

impl Begin<'_> {
    /// Rehearses the work and draws the plan. What was made for it is removed if that fails.
    fn plan(&self, machine: &mut HostMachine, run_as: Option<&RunAs>, stop: &Stop) -> Result<Plan> {
        let is_new = !self.folder.exists();
        let drawn = self.draw(machine, run_as, stop);
        if drawn.is_err() {
            let _ = fs::remove_file(self.folder.join(DATA));
            if is_new {
                let _ = fs::remove_dir(self.folder);
            }
        }
        drawn
    }

    fn draw(&self, machine: &mut HostMachine, run_as: Option<&RunAs>, stop: &Stop) -> Result<Plan> {
        let is_default = self.args.command.is_empty() && self.args.with.is_empty();
        if is_default {
            fs::create_dir_all(self.folder)
                .with_context(|| format!("cannot make {}", self.folder.display()))?;
        }
        let mut request = request(self.args, self.topology, self.folder)?;
        let rehearse = |request: &Request, machine: &mut HostMachine| {
            cputime::rehearse(request, machine, run_as.cloned(), stop)
        };
        if is_default {
            make_data(self.folder, request.seed, Some(TRIAL_BYTES as u64))?;
            let trial_s = rehearse(&request, machine)?.cpu_s;
            let work_s = cputime::work_s(&request, WORK_S);
            let bytes = TRIAL_BYTES as f64 * (work_s / trial_s.max(1e-3));
            request.data_bytes = Some(bytes.min(DATA_BYTES_MAX) as u64);
            make_data(self.folder, request.seed, request.data_bytes)?;
        }
        out::news(&headline(&request));
        let mut works: Vec<Request> =
            request.commands.iter().map(|command| request.of_command(command)).collect();
        if works.is_empty() {
            works.push(request.clone());
        }
        let mut work_s = Vec::new();
        for work in &works {
            let name = || coretwin_base::printable::printable(&work.about).into_owned();
            let took_s = rehearse(work, machine).with_context(name)?.elapsed_s;
            cputime::check_length(work, took_s).with_context(name)?;
            work_s.push(took_s);
        }
        cputime::rehearse_spinner(&request, machine, run_as.cloned(), stop)?;
        if request.rulers && request.blocks.is_none() {
            let enough_s = cputime::enough_s(&request, &work_s);
            if self.args.budget.is_none() {
                request.budget_s =
                    request.budget_s.max(enough_s + self.started.elapsed().as_secs_f64());
            }
            out::news(&format!("this takes about {}", human_seconds(request.budget_s)));
        }
        if request.blocks.is_none() {
            let spent = self.started.elapsed() + SPARE;
            request.budget_s = (request.budget_s - spent.as_secs_f64()).max(0.0);
        }
        let mut plan = cputime::draw(&request, &work_s, self.topology)?;
        if request.pair.relation == Relation::Probed {
            let probed = host::probed(&Root::system());
            plan.warnings.extend(probe::warning(self.topology, probed.as_ref()));
        }
        Ok(plan)
    }
}

/// What was asked for, with the generated data in that folder.
fn request(args: &Args, topology: &Topology, folder: &Path) -> Result<Request> {
    let probed = probed();
    let pair = pair::choose(topology, args.pair, &probed)?;
    let (work, about) = work(args, folder);
    let commands = args.commands()?;
    if commands.is_empty() {
        coretwin_workloads::command::check(&work).map_err(usage)?;
    }
    for command in &commands {
        let spec = CommandSpec { argv: command.argv.clone(), ..work.clone() };
        coretwin_workloads::command::check(&spec).map_err(usage)?;
    }
    if let Some(cores) = args.cores.filter(|cores| 2 * cores < commands.len()) {
        return Err(usage(format!(
            "{} commands do not fit on {cores} cores, two on each; give --cores {} or more",
            commands.len(),
            commands.len().div_ceil(2)
        )));
    }
    if 2 * args.cores.unwrap_or(0).min(commands.len()) > SEATS_MAX {
        return Err(usage(format!(
            "the best placement of {} commands is searched for on up to {} cores; name fewer \
             with --cores",
            commands.len(),
            SEATS_MAX / 2
        )));
    }
    if args.spinners.iter().all(|count| *count == 0) {
        let why = "--spinners 0 compares nothing; name a number above 0, like --spinners 0,1";
        return Err(usage(why));
    }
    Ok(Request {
        work,
        about,
        repeat: args.repeat,
        data_bytes: None,
        // Each command's spinner is another command, each ruler's a loop of its own.
        spinner: match commands.is_empty() && !args.rulers {
            true => args.spinner()?,
            false => Spinner { kind: SpinnerKind::Native, argv: Vec::new() },
        },
        spinners: args.spinners.clone(),
        control: pair::control(topology, &pair, &probed)
            .filter(|_| commands.is_empty() && !args.rulers),
        pair,
        seed: args.seed()?,
        blocks: args.blocks,
        budget_s: args.budget().as_secs_f64(),
        steal_share_max: args.steal_limit.0,
        others_share_max: args.others_limit.0,
        commands,
        objective: args.least,
        cores: args.cores,
        rulers: args.rulers,
    })
}

fn work(args: &Args, folder: &Path) -> (CommandSpec, String) {
    let timeout_s = args.timeout.as_secs_f64();
    let here = |path: &Path| Some(path.to_string_lossy().into_owned());
    if args.command.is_empty() && args.with.is_empty() {
        // As in the note, and without a shell beside it: exec.
        let line = format!("exec gzip -9 < {DATA} > /dev/null");
        let argv = vec!["/bin/sh".to_owned(), "-c".to_owned(), line];
        let folder = std::path::absolute(folder).ok().and_then(|path| here(&path));
        let spec = CommandSpec { folder, ..CommandSpec::plain(argv, timeout_s) };
        return (spec, "gzip -9".to_owned());
    }
    let folder = std::env::current_dir().ok().and_then(|path| here(&path));
    let argv = args.command.clone();
    if argv.is_empty() {
        let about = args.with.join(", ");
        return (CommandSpec { folder, ..CommandSpec::plain(argv, timeout_s) }, about);
    }
    let about = coretwin_report::shell_line(&argv);
    (CommandSpec { folder, ..CommandSpec::plain(argv, timeout_s) }, about)
}

fn headline(request: &Request) -> String {
    let pair = &request.pair;
    let experiment = match pair.relation.is_smt() {
        true => format!("siblings {} and {}", pair.work.0, pair.neighbour.0),
        false => {
            format!("CPUs {} and {}, which share no known core", pair.work.0, pair.neighbour.0)
        }
    };
    if !request.commands.is_empty() {
        let names: Vec<&str> = request.commands.iter().map(|it| it.name.as_str()).collect();
        let rulers = if request.rulers { ", and beside rulers" } else { "" };
        return format!("{}: each beside each{rulers}, on {experiment}", names.join(", "));
    }
    if request.rulers {
        return format!("{}, beside {} rulers, on {experiment}", request.about, RULERS.len());
    }
    let control = request.control.map_or("none".to_owned(), |control| format!("CPU {}", control.0));
    let data = request
        .data_bytes
        .map(|bytes| format!(" over {:.1} MB of generated text", bytes as f64 / 1e6))
        .unwrap_or_default();
    format!("{}{data}, beside spinners, on {experiment}; control: {control}", request.about)
}

fn make_data(folder: &Path, seed: u64, bytes: Option<u64>) -> Result<()> {
    let Some(bytes) = bytes else { return Ok(()) };
    out::file(&folder.join(DATA), data::text(seed, bytes as usize))
}

/// Groups of CPUs that `probe` found to share a core, since this boot.
fn probed() -> Vec<CpuSet> {
    probe::recall(&Root::system(), &host::state(&Root::system()))
        .map_or_else(Vec::new, |probe| probe.groups)
}

/// Keeps slowdown and yield for accounting, where they are those of a core; whether they are kept.
fn keep_factors(
    plan: &Plan,
    environment: &Environment,
    summary: &CputimeSummary,
) -> Result<String> {
    let Some(factors) = summary.factors else {
        let why = match summary.cpus.relation.is_smt() {
            true => "one spinner on the sibling was not measured",
            false => "these CPUs are not known to share a core",
        };
        return Ok(format!("no factors are kept for accounting: {why}"));
    };
    if plan.topology.is_emulated() {
        return Ok("no factors are kept for accounting: this processor is emulated".to_owned());
    }
    let facts = environment.facts.values().next_back();
    let fact = |name: &str| {
        facts.and_then(|facts| facts.get(name)).cloned().unwrap_or_else(|| "unknown".to_owned())
    };
    let measured = MeasuredFactors {
        schema: SCHEMA,
        measured_utc: now_utc(),
        cpu_model: fact("cpu.model"),
        kernel: fact("kernel.release"),
        hypervisor: fact("hypervisor"),
        work: summary.work.clone(),
        neighbour: summary.spinner.clone(),
        cpus: summary.cpus.clone(),
        topology_trust: summary.topology_trust,
        factors,
        blocks: summary.blocks,
    };
    let path = factors::append(&host::state(&Root::system()), &measured)?;
    Ok(format!("slowdown and yield are kept for accounting in {}", path.display()))
}
