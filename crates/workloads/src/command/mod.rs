//! A user's own command as a workload.
//!
//! One reading: prepare, start the server and wait until it is ready, run the command (all copies
//! released at once, repeated until the least time is reached), end the server, clean up. Only the
//! command is timed; CPU time and memory are of command and server together.
//!
//! The value is the wall time of a run in seconds; where copies are compared ([`Job::rate`]), runs
//! per second; with a primary metric, that number, read from the output of each copy: over the copies a metric
//! of which more is better is summed, one of which less is better is averaged; over repetitions
//! both are averaged.
//!
//! A command has nothing on its standard input. What stays behind of its process group ends with
//! it; what has left the group ends with the reading.

mod check;
mod extract;
mod load;

use crate::Error;
use crate::error::signal_name;
use crate::role::HOLD;
use crate::supervisor::{Launch, Supervisor, Task, TaskId};
use crate::workload::{Better, Job, Outcome, Ran, Telling, outcome};
pub use check::check;
use coretwin_base::caps;
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::study::command::{CommandSpec, MetricSpec, ServerSpec};
use extract::Extractor;
pub use load::check as check_load;
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant, SystemTime};

pub const NAME: &str = "command";
/// The roles a placement can separate, where there is a server.
pub(crate) const ROLES: &[&str] = &["server", "command"];

/// What each copy keeps at least, in bytes, however many there are.
const KEPT_LEAST: usize = 64 << 10;
/// A server without a ready command gets this long before the load starts.
const PAUSE: Duration = Duration::from_millis(500);
/// Between two tries of a ready command.
const RETRY: Duration = Duration::from_millis(50);
/// A server has this long to end after SIGTERM.
const GOODBYE: Duration = Duration::from_secs(5);
/// The cleanup has this long, in seconds, whatever ended the run.
const CLEANUP_S: f64 = 30.0;

#[must_use]
pub fn value(spec: &CommandSpec, rate: bool) -> (String, Better) {
    match primary(spec) {
        _ if spec.load.is_some() => (load::UNIT.to_owned(), Better::Lower),
        Some((_, metric)) => (metric.unit.clone(), metric.better),
        None if rate => ("runs/s".to_owned(), Better::Higher),
        None => ("s".to_owned(), Better::Lower),
    }
}

fn primary(spec: &CommandSpec) -> Option<(usize, &MetricSpec)> {
    spec.metrics.iter().enumerate().find(|(_, metric)| metric.primary)
}

pub(crate) fn run(spec: &CommandSpec, job: &Job, supervisor: &mut Supervisor) -> Ran {
    check(spec).map_err(Error::failed)?;
    supervisor.limit(spec.timeout_s);
    let mut reading = Reading { spec, job, supervisor };
    let result = reading.prepare_and_measure();
    let Some(line) = &spec.cleanup else { return result };
    reading.supervisor.last_orders(CLEANUP_S);
    reading.supervisor.end_measured()?;
    let cleaned = reading.shell("the cleanup", line);
    result.and_then(|measured| cleaned.map(|()| measured))
}

struct Reading<'a> {
    spec: &'a CommandSpec,
    job: &'a Job,
    supervisor: &'a mut Supervisor,
}

#[derive(Default)]
struct Runs {
    repetitions: u32,
    elapsed_s: f64,
    /// Sums over the repetitions, in the order of the declared metrics.
    metrics: Vec<f64>,
}

impl Runs {
    fn means(&self) -> Vec<f64> {
        self.metrics.iter().map(|sum| sum / f64::from(self.repetitions)).collect()
    }
}

impl Reading<'_> {
    fn prepare_and_measure(&mut self) -> Ran {
        if let Some(line) = &self.spec.prepare {
            self.shell("the preparation", line)?;
        }
        let began = SystemTime::now();
        let server =
            self.spec.server.as_ref().map(|server| self.start_server(server)).transpose()?;
        let runs = self.repeat(server)?;
        if let Some(server) = server {
            self.end_server(server)?;
        }
        let mut measured = self.measured(&runs);
        if let Some(load) = &self.spec.load {
            let mut told = load::read(self.spec, load, &runs.means(), (began, runs.elapsed_s))?;
            let ended = server.and_then(|server| self.supervisor.task(server));
            told.server_cpu_s = ended.map(|task| task.usage.user_s + task.usage.system_s);
            measured.value = load::value(&told);
            measured.latency = Some(told);
        }
        Ok(measured)
    }

    fn measured(&self, runs: &Runs) -> Outcome {
        let (spec, copies) = (self.spec, self.job.copies.max(1));
        let repetitions = f64::from(runs.repetitions);
        let means = runs.means();
        let done = u64::from(runs.repetitions) * u64::from(copies);
        let wall_s = runs.elapsed_s / repetitions;
        let (unit, better) = value(spec, self.job.rate);
        let value = match primary(spec).and_then(|(index, _)| means.get(index).copied()) {
            Some(value) => value,
            None if self.job.rate => done as f64 / runs.elapsed_s,
            None => wall_s,
        };
        let mut measured = Outcome {
            operations: done,
            elapsed_s: runs.elapsed_s,
            threads: self.job.threads,
            ..outcome(value, &unit, better)
        };
        let usage = self.supervisor.usage;
        measured.lower(check::WALL, wall_s, "s");
        measured.lower(check::USER, usage.user_s / done as f64, "s");
        measured.lower(check::SYSTEM, usage.system_s / done as f64, "s");
        for (metric, mean) in spec.metrics.iter().zip(means) {
            measured.metric(&metric.name, mean, &metric.unit, metric.better);
        }
        measured
    }

    /// Repeats the command until it has run long enough, once at least.
    fn repeat(&mut self, server: Option<TaskId>) -> Result<Runs, Error> {
        let extractors = self.spec.metrics.iter().map(Extractor::new);
        let extractors = extractors.collect::<Result<Vec<_>, _>>().map_err(Error::failed)?;
        let mut runs = Runs { metrics: vec![0.0; extractors.len()], ..Runs::default() };
        loop {
            let (elapsed_s, copies) = self.run_copies(server)?;
            runs.repetitions += 1;
            runs.elapsed_s += elapsed_s;
            for (extractor, sum) in extractors.iter().zip(&mut runs.metrics) {
                *sum += over_copies(extractor, &copies)?;
            }
            if runs.elapsed_s.partial_cmp(&self.spec.min_time_s) != Some(std::cmp::Ordering::Less) {
                return Ok(runs);
            }
        }
    }

    /// Runs every copy once, together: the time from their release to the end of the last.
    fn run_copies(&mut self, server: Option<TaskId>) -> Result<(f64, Vec<Task>), Error> {
        let copies = self.job.copies.max(1);
        let ids = (0..copies)
            .map(|copy| {
                let argv = self.spec.argv.iter().map(|arg| self.fill(arg, copy)).collect();
                self.start(argv, true, self.cpus("command"))
            })
            .collect::<Result<Vec<_>, _>>()?;
        self.supervisor.wait_until_held(&ids)?;
        let start = self.supervisor.release(&ids);
        let over = |supervisor: &Supervisor| {
            let exits = || ids.iter().map(|id| supervisor.task(*id).and_then(|task| task.exit));
            exits().all(|exit| exit.is_some())
                || exits().flatten().any(|(status, _)| !status.success())
                || server.is_some_and(|server| supervisor.has_ended(server))
        };
        self.supervisor.wait(None, over)?;
        for (copy, id) in ids.iter().enumerate() {
            let who = match copies {
                1 => "the command".to_owned(),
                _ => format!("copy {copy} of {copies} of the command"),
            };
            self.fail_unless_well(&who, *id)?;
        }
        if let Some(server) = server.filter(|server| self.supervisor.has_ended(*server)) {
            return Err(self.server_gone(server));
        }
        let tasks: Vec<Task> = ids.iter().filter_map(|id| self.supervisor.take(*id)).collect();
        let last = tasks.iter().filter_map(|task| task.exit).map(|(_, ended)| ended).max();
        let elapsed = last.unwrap_or(start).duration_since(start);
        Ok((elapsed.as_secs_f64(), tasks))
    }

    fn start_server(&mut self, server: &ServerSpec) -> Result<TaskId, Error> {
        let id = self.start(self.shell_argv(&server.command), true, self.cpus("server"))?;
        self.supervisor.release(&[id]);
        let now = Instant::now();
        let Some(ready) = &server.ready else {
            self.supervisor.wait(Some(now + PAUSE), |supervisor| supervisor.has_ended(id))?;
            return if self.supervisor.has_ended(id) { Err(self.server_gone(id)) } else { Ok(id) };
        };
        let patience = Duration::try_from_secs_f64(server.ready_timeout_s).unwrap_or_default();
        let until = now.checked_add(patience);
        loop {
            let probe = self.start(self.shell_argv(ready), false, None)?;
            self.supervisor.release(&[probe]);
            self.supervisor.wait(until, |supervisor| {
                supervisor.has_ended(probe) || supervisor.has_ended(id)
            })?;
            if self.supervisor.has_ended(id) {
                return Err(self.server_gone(id));
            }
            self.supervisor.signal(probe, Signal::KILL);
            self.supervisor.wait(None, |supervisor| supervisor.has_ended(probe))?;
            let probe = self.supervisor.take(probe);
            if probe.as_ref().and_then(|task| task.exit).is_some_and(|(status, _)| status.success())
            {
                return Ok(id);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(Error::Failed {
                    why: format!(
                        "the server was not ready after {} s: `{ready}` did not succeed",
                        server.ready_timeout_s
                    ),
                    output: probe.map(|task| task.shown()).filter(|text| !text.is_empty()),
                });
            }
            self.supervisor
                .wait(Some(Instant::now() + RETRY), |supervisor| supervisor.has_ended(id))?;
        }
    }

    fn end_server(&mut self, server: TaskId) -> Result<(), Error> {
        let ended = |supervisor: &Supervisor| supervisor.has_ended(server);
        self.supervisor.signal(server, Signal::TERM);
        if !self.supervisor.wait(Some(Instant::now() + GOODBYE), ended)? {
            self.supervisor.signal(server, Signal::KILL);
            self.supervisor.wait(None, ended)?;
        }
        Ok(())
    }

    fn server_gone(&self, server: TaskId) -> Error {
        let task = self.supervisor.task(server);
        let how = task.and_then(|task| task.exit).map_or_else(String::new, |(how, _)| ending(how));
        Error::Failed {
            why: format!(
                "the server {how} while it was needed{}",
                task.map(Task::last_words).unwrap_or_default()
            ),
            output: task.map(Task::shown),
        }
    }

    fn shell(&mut self, what: &str, line: &str) -> Result<(), Error> {
        let id = self.start(self.shell_argv(line), false, None)?;
        self.supervisor.release(&[id]);
        self.supervisor.wait(None, |supervisor| supervisor.has_ended(id))?;
        self.fail_unless_well(&format!("{what} (`{line}`)"), id)?;
        self.supervisor.take(id);
        Ok(())
    }

    fn shell_argv(&self, line: &str) -> Vec<String> {
        vec!["/bin/sh".to_owned(), "-c".to_owned(), self.fill(line, 0)]
    }

    fn start(
        &mut self,
        argv: Vec<String>,
        measured: bool,
        cpus: Option<CpuSet>,
    ) -> Result<TaskId, Error> {
        let keep = match measured && !self.spec.metrics.is_empty() {
            true => kept(self.job.copies),
            false => 0,
        };
        let folder = self.spec.folder.as_deref();
        let cpus = cpus.as_ref();
        self.supervisor.start(Launch { role: HOLD, args: argv, cpus, folder, measured, keep })
    }

    fn cpus(&self, role: &str) -> Option<CpuSet> {
        let index = ROLES.iter().position(|name| *name == role)?;
        match self.spec.server {
            Some(_) => self.job.roles.get(index).cloned(),
            None => self.job.roles.last().cloned(),
        }
    }

    /// Fills in the placeholders; other words in braces are left alone.
    fn fill(&self, text: &str, copy: u32) -> String {
        text.replace("{threads}", &self.job.threads.to_string())
            .replace("{cpus}", &self.job.cpus.to_string())
            .replace("{copy}", &copy.to_string())
            .replace("{arm}", &self.job.arm)
    }

    fn fail_unless_well(&self, who: &str, id: TaskId) -> Result<(), Error> {
        let Some(task) = self.supervisor.task(id) else { return Ok(()) };
        if let Some(why) = task.refusal() {
            return Err(Error::failed(format!("{who}: {why}")));
        }
        match task.exit {
            Some((status, _)) if !status.success() => Err(Error::Failed {
                why: format!("{who} {}{}", ending(status), task.last_words()),
                output: Some(task.shown()),
            }),
            _ => Ok(()),
        }
    }
}

/// Bytes of standard output that each of `copies` copies keeps for reading metrics. More is read,
/// so that the command is not held up, and let go.
fn kept(copies: u32) -> usize {
    (caps::OUTPUT.bytes as usize / copies.max(1) as usize).max(KEPT_LEAST)
}

fn over_copies(extractor: &Extractor<'_>, copies: &[Task]) -> Result<f64, Error> {
    let mut sum = 0.0;
    for task in copies {
        sum += extractor
            .read(&task.output)
            .map_err(|why| Error::Failed { why, output: Some(task.shown()) })?;
    }
    Ok(match extractor.metric.better {
        Better::Higher => sum,
        Better::Lower => sum / copies.len() as f64,
    })
}

/// How a process ended, in words that follow its name.
pub(crate) fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => format!("was killed by {}", signal_name(signal)),
        (None, None) => format!("ended: {status}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn copies_share_what_is_kept_of_their_output() {
        assert_eq!((kept(0), kept(1), kept(4)), (16 << 20, 16 << 20, 4 << 20));
        assert_eq!((kept(256), kept(257), kept(u32::MAX)), (64 << 10, 64 << 10, 64 << 10));
    }
}
