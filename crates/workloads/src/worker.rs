//! The worker process: one job in, one outcome out.
//!
//! It binds itself to the CPUs of the arm and reads them back, becomes the user, runs the work in
//! child processes, and answers. Its standard input stays open while it works; when that closes,
//! or a signal or the time limit comes, it ends everything that it started, and answers with a
//! failure. Its peak memory is a floor under that of its children, so it stays small.

use crate::counters::Counters;
use crate::supervisor::Supervisor;
use crate::workload::{Better, Job, Outcome, Ran, Telling};
use crate::{
    Context, Error, aim9, answer, chat, command, contention, dbench, kernel_2_4, leftovers,
    lmbench, role, scheduler, service, spinner, sys, table, tbench,
};
use coretwin_base::parameters::WorkloadSpec;
use coretwin_base::study::job::Work;
use coretwin_base::{caps, schema};
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

const ROOT: &str = "/";
/// Whoever runs a row as a command ends it sooner.
const ROW_TIMEOUT_S: f64 = 24.0 * 3600.0;

/// Without arguments it reads a job; with arguments it is one of the processes of a job. Success means
/// that an outcome was written, whatever it says.
#[must_use]
pub fn main() -> ExitCode {
    let args: Vec<String> =
        std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    if let Some((name, args)) = args.split_first() {
        return run_role(name, args);
    }
    // What the caller has open (a jobserver, a log, a socket) is none of the measured work's.
    sys::keep_inherited_to_ourselves();
    let outcome = match read_job() {
        Ok(job) => run(&job),
        Err(error) => Outcome::failed(error.to_string(), "", Better::Lower),
    };
    let Ok(mut line) = serde_json::to_string(&outcome) else { return ExitCode::FAILURE };
    line.push('\n');
    match std::io::stdout().write_all(line.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run_role(name: &str, args: &[String]) -> ExitCode {
    let Some((entry, args)) = args.split_first() else { return ExitCode::from(2) };
    if name == role::JANITOR {
        return leftovers::janitor(); // It does not die with the worker.
    }
    if name == role::ROW {
        return row(entry);
    }
    let entered = role::enter(entry);
    match name {
        role::HOLD => role::hold(entered, args),
        role::AIM9 => aim9::run::main(entered, args),
        role::LMBENCH => lmbench::harness::run::main(entered, args),
        role::DBENCH_CLIENT => say(entered, args, dbench::run::run),
        role::TBENCH_SERVER => say(entered, args, tbench::server::run),
        role::TBENCH_CONNECTION => tbench::server::connection_main(entered),
        role::KERNEL_2_4 => say(entered, args, kernel_2_4::run::run),
        role::SPINNER => spinner::native::main(entered, args),
        role::CHAT_SERVER => say(entered, args, chat::server::run),
        role::SERVICE_SERVER => say(entered, args, service::server::run),
        role::SERVICE_GENERATOR => say(entered, args, service::generate),
        role::CHAT_CLIENT => chat::client::main(entered, args),
        role::CONTENTION => contention::main(entered, args),
        _ => ExitCode::from(2),
    }
}

/// A row on the CPUs that this process is bound to. Prints what a unit of it took, in the row's own terms: less
/// is better.
fn row(text: &str) -> ExitCode {
    answer::say(&row_value(text))
}

fn row_value(text: &str) -> Result<f64, Error> {
    sys::keep_inherited_to_ourselves();
    // Whoever runs a command tells it nothing: an input that stays open, so that nothing ends it.
    let (input, open) = rustix::pipe::pipe().context("cannot make a pipe")?;
    rustix::stdio::dup2_stdin(&input).context("cannot set the input of a row")?;
    let spec = WorkloadSpec::parse(text).map_err(|bad| Error::failed(bad.to_string()))?;
    let work = Work::Builtin { workload: spec.name, params: spec.params };
    let cpus = sys::bound().context("cannot read the CPUs")?;
    let outcome = run(&Job::plain(work, String::new(), cpus, ROW_TIMEOUT_S));
    drop(open);
    match (outcome.value, outcome.better) {
        (Some(value), Better::Lower) => Ok(value),
        (Some(value), Better::Higher) => Ok(1.0 / value),
        (None, _) => Err(Error::failed(outcome.failure.unwrap_or_default())),
    }
}

/// A role that runs and then says how it went.
fn say<T: Serialize>(
    entered: Result<(), Error>,
    args: &[String],
    run: fn(&[String]) -> Result<T, Error>,
) -> ExitCode {
    answer::say(&entered.and_then(|()| run(args)))
}

fn read_job() -> Result<Job, Error> {
    let stdin = rustix::stdio::stdin();
    let mut line = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match rustix::io::read(stdin, &mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                line.extend_from_slice(&buffer[..count]);
                if line.len() as u64 > caps::LINE.bytes {
                    return Err(Error::system("cannot read the job", caps::LINE.exceeded()));
                }
                if buffer[..count].contains(&b'\n') {
                    break;
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::system("cannot read the job", error)),
        }
    }
    let bad = |why: String| Error::failed(format!("standard input does not hold a job: {why}"));
    let job: Job = serde_json::from_slice(&line).map_err(|error| bad(error.to_string()))?;
    schema::check(job.schema).map_err(|newer| bad(newer.to_string()))?;
    Ok(job)
}

fn run(job: &Job) -> Outcome {
    let (unit, better) = match &job.work {
        Work::Builtin { workload, .. } => table::find(workload)
            .map_or((String::new(), Better::Lower), |w| {
                (w.facts().unit.to_owned(), w.facts().better)
            }),
        Work::Command(spec) => command::value(spec, job.rate),
        Work::Beside(beside) => spinner::value(beside),
    };
    let mut outcome = Outcome::failed(String::new(), &unit, better);
    let done = prepare(job, &mut outcome).and_then(|(mut supervisor, mut counters)| {
        counters.iter_mut().for_each(Counters::start);
        let measured = work(job, &mut supervisor);
        let ended = supervisor.end_all();
        counters.iter_mut().for_each(|counters| counters.tell(&mut outcome));
        let usage = supervisor.usage;
        outcome.user_s = usage.user_s;
        outcome.system_s = usage.system_s;
        outcome.cpus_ran = supervisor.cpus_ran.clone();
        outcome.lower("peak_memory_kib", usage.peak_kib as f64, "KiB");
        let measured = measured?;
        ended.map(|()| measured)
    });
    match done {
        Ok(measured) => fill(&mut outcome, measured),
        Err(error) => {
            outcome.failure = Some(error.to_string());
            if let Error::Failed { output, .. } = error {
                outcome.output = output;
            }
        }
    }
    note_scheduler(job, &mut outcome);
    outcome
}

/// That the scheduler is the one asked for was made sure before; a run at whose end it is another
/// has failed.
fn note_scheduler(job: &Job, outcome: &mut Outcome) {
    let verified =
        job.scheduler.as_deref().map(|expected| scheduler::verify(ROOT.as_ref(), expected));
    if let Some(verified) = verified {
        outcome.check(scheduler::NOTE, verified.is_ok());
        if let Err(error) = verified {
            outcome.failure.get_or_insert_with(|| format!("at the end of the run {error}"));
            outcome.value = None;
        }
    }
    if let Some(name) = scheduler::now(ROOT.as_ref()) {
        outcome.note(scheduler::NOTE, name);
    }
}

fn prepare(job: &Job, outcome: &mut Outcome) -> Result<(Supervisor, Option<Counters>), Error> {
    outcome.cpus_allowed = role::bind(&job.cpus)?;
    if let Some(expected) = &job.scheduler {
        scheduler::verify(ROOT.as_ref(), expected)?;
    }
    // While it is still permitted.
    let counters = Counters::open().ok();
    if let Some(user) = &job.run_as {
        sys::become_user(user).with_context(|| format!("cannot become user {}", user.name))?;
    }
    if job.core_sched {
        core_sched_available().map_err(Error::failed)?;
    }
    let supervisor = Supervisor::new(job.timeout_s, job.run_as.as_ref(), job.core_sched)?;
    Ok((supervisor, counters))
}

/// To be asked before a study starts; the error is one sentence that says what is missing.
pub fn core_sched_available() -> Result<(), String> {
    sys::core_sched_available().map_err(|error| {
        format!(
            "this kernel offers no core scheduling here (it needs Linux 5.14 with \
             CONFIG_SCHED_CORE, and SMT switched on): {error}"
        )
    })
}

fn work(job: &Job, supervisor: &mut Supervisor) -> Ran {
    match &job.work {
        Work::Builtin { workload, params } => {
            let spec = WorkloadSpec { name: workload.clone(), params: params.clone() };
            let (workload, params) = table::resolve(&spec)?;
            workload.run(&params, job, supervisor)
        }
        Work::Command(spec) => command::run(spec, job, supervisor),
        Work::Beside(beside) => spinner::run(beside, job, supervisor),
    }
}

fn fill(outcome: &mut Outcome, mut measured: Outcome) {
    // JSON has no such numbers, and what cannot be read back would take the whole outcome with it.
    measured.metrics.retain(|_, metric| metric.value.is_finite());
    measured.samples.retain(|sample| sample.is_finite());
    let broken: Vec<&str> =
        measured.checks.iter().filter(|(_, held)| !**held).map(|(name, _)| name.as_str()).collect();
    let value = measured.value.unwrap_or(f64::NAN);
    let failure = match broken.as_slice() {
        [] if value.is_finite() => None,
        [] => Some(format!("the value is no number ({value})")),
        broken => Some(format!("these checks do not hold: {}", broken.join(", "))),
    };
    outcome.metrics.extend(measured.metrics);
    *outcome = Outcome {
        value: failure.is_none().then_some(value),
        failure,
        metrics: std::mem::take(&mut outcome.metrics),
        user_s: outcome.user_s,
        system_s: outcome.system_s,
        cpus_ran: outcome.cpus_ran.union(&measured.cpus_ran),
        cpus_allowed: std::mem::take(&mut outcome.cpus_allowed),
        ..measured
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    fn filled(value: f64, held: bool) -> Outcome {
        let mut outcome = Outcome::failed(String::new(), "x", Better::Lower);
        let mut measured = crate::workload::outcome(value, "x", Better::Lower);
        measured.lower("good", 1.0, "x");
        measured.lower("bad", f64::NAN, "x");
        measured.samples = vec![1.0, f64::INFINITY];
        measured.check("whole", held);
        fill(&mut outcome, measured);
        outcome
    }

    #[test]
    fn what_is_no_number_is_left_out_and_a_value_that_is_none_is_a_failure() {
        let outcome = filled(2.0, true);
        assert_eq!((outcome.value, &outcome.failure), (Some(2.0), &None));
        assert_eq!((outcome.metrics.len(), outcome.samples.as_slice()), (1, &[1.0][..]));
        let text = serde_json::to_string(&outcome).expect("written");
        let read: Outcome = serde_json::from_str(&text).expect("read back");
        assert_eq!(read.metrics, outcome.metrics);
        for value in [f64::NAN, f64::INFINITY] {
            let outcome = filled(value, true);
            assert!(outcome.failure.is_some_and(|why| why.contains("no number")));
            assert_eq!(outcome.value, None);
        }
        assert!(filled(2.0, false).failure.is_some_and(|why| why.contains("whole")));
    }
}
