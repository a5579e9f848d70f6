//! Work beside spinners: the experiment of the note *Hyper-threading and CPU time*.
//!
//! Both sides are measured. A spinner counts its own progress: after every so many rounds it appends
//! one byte to a file in memory that it inherited, so the length of that file is its progress, and
//! this process reads it at the start and the end of the work without waking anybody. A command of
//! the user counts by the lines it prints; if it prints none, only its CPU time is known, which is
//! no progress, and is not taken for it.
//!
//! ```text
//! work held, spinners started → every spinner has counted once → work released … work ends →
//! spinners are read and killed
//! ```

pub(crate) mod native;
mod rulers;

use crate::answer;
use crate::command::ending;
use crate::role::{HOLD, SPINNER};
use crate::supervisor::{Launch, Supervisor, Task, TaskId};
use crate::workload::{Better, Job, Outcome, Ran, Telling, outcome};
use crate::{Context, Error};
use coretwin_base::account::cputime::{Beside, SpinnerKind, metric as names};
use coretwin_base::study::command::CommandSpec;
use rustix::fs::{MemfdFlags, fstat, memfd_create};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Unit of the progress of the spinners that come with the program.
pub const STEPS_PER_S: &str = "steps/s";
/// Unit of the progress of a command that prints.
pub const LINES_PER_S: &str = "lines/s";

/// How long a spinner may take to count for the first time.
const FIRST_COUNT: Duration = Duration::from_secs(20);
/// A spinner that cannot be seen counting has this long to get going.
const WARMING: Duration = Duration::from_millis(200);
const GLANCE: Duration = Duration::from_millis(5);

pub(crate) fn value(beside: &Beside) -> (String, Better) {
    match (&beside.work, beside.spinner.kind) {
        (Some(_), _) => ("s".to_owned(), Better::Lower),
        (None, SpinnerKind::Command) => (LINES_PER_S.to_owned(), Better::Higher),
        (None, _) => (STEPS_PER_S.to_owned(), Better::Higher),
    }
}

pub(crate) fn run(beside: &Beside, job: &Job, supervisor: &mut Supervisor) -> Ran {
    let limit_s = beside.work.as_ref().map_or(job.timeout_s, |work| work.timeout_s);
    supervisor.limit(limit_s);
    let mut run = Run { beside, supervisor, spinners: Vec::new(), reached: Vec::new() };
    run.start_spinners()?;
    let took = match &beside.work {
        Some(work) => run.work(work)?,
        None => run.window()?,
    };
    run.supervisor.end_measured()?;
    Ok(run.measured(took, job))
}

struct Spinning {
    id: TaskId,
    /// Its count; `None` for a command.
    counter: Option<OwnedFd>,
}

struct Run<'a> {
    beside: &'a Beside,
    supervisor: &'a mut Supervisor,
    spinners: Vec<Spinning>,
    /// What each spinner counted while it was measured.
    reached: Vec<u64>,
}

#[derive(Default)]
struct Took {
    /// Wall time of the work, or of the window, in seconds.
    elapsed_s: f64,
    /// What a row says that a unit of it took.
    said: f64,
    /// Wall time between the readings of the counts, in seconds.
    counted_s: f64,
    user_s: f64,
    system_s: f64,
}

impl Run<'_> {
    fn start_spinners(&mut self) -> Result<(), Error> {
        let spinner = &self.beside.spinner;
        for number in 0..self.beside.spinners {
            let (role, mut args, counter) = match spinner.kind {
                SpinnerKind::Command => (HOLD, spinner.argv.clone(), None),
                SpinnerKind::Interpreted => (HOLD, spinner.argv.clone(), Some(counter()?)),
                kind => {
                    let name = std::iter::once(kind.name().to_owned());
                    (SPINNER, name.chain(spinner.argv.iter().cloned()).collect(), Some(counter()?))
                }
            };
            args.extend(counter.iter().map(|fd| fd.as_raw_fd().to_string()));
            let cpus = Some(&self.beside.spinner_cpus);
            let launch = Launch::measured(role, args, cpus);
            let id = self.supervisor.start(launch).map_err(|error| {
                Error::failed(format!("spinner {} cannot be started: {error}", number + 1))
            })?;
            self.spinners.push(Spinning { id, counter });
        }
        self.reached = vec![0; self.spinners.len()];
        let ids: Vec<TaskId> = self.spinners.iter().map(|spinner| spinner.id).collect();
        self.supervisor.wait_until_held(&ids)?;
        self.supervisor.release(&ids);
        self.wait_for_counts()
    }

    /// Waits until every spinner runs: those that count have counted, others had some time.
    fn wait_for_counts(&mut self) -> Result<(), Error> {
        let until = Instant::now() + FIRST_COUNT;
        let mut wake = Instant::now() + WARMING;
        if self.spinners.iter().all(|spinner| spinner.counter.is_some()) {
            wake = Instant::now();
        }
        loop {
            self.supervisor.wait(Some(wake), |_| false)?;
            self.nobody_died()?;
            let counts = self.counts()?;
            let counts = self.spinners.iter().zip(counts);
            if counts.into_iter().all(|(spinner, count)| spinner.counter.is_none() || count > 0) {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(Error::failed(format!(
                    "a spinner has not counted once in {} s; its CPUs ({}) are too busy with other \
                     work",
                    FIRST_COUNT.as_secs(),
                    self.beside.spinner_cpus
                )));
            }
            wake = Instant::now() + GLANCE;
        }
    }

    fn counts(&self) -> Result<Vec<u64>, Error> {
        let count = |spinner: &Spinning| match &spinner.counter {
            Some(fd) => fstat(fd)
                .map(|stat| u64::try_from(stat.st_size).unwrap_or(0))
                .context("cannot read the count of a spinner"),
            None => Ok(self.supervisor.task(spinner.id).map_or(0, |task| task.shown.lines)),
        };
        self.spinners.iter().map(count).collect()
    }

    fn nobody_died(&self) -> Result<(), Error> {
        let Some(index) =
            self.spinners.iter().position(|spinner| self.supervisor.has_ended(spinner.id))
        else {
            return Ok(());
        };
        let task = self.supervisor.task(self.spinners[index].id);
        let how = match task {
            Some(task) => match (task.refusal(), task.exit) {
                (Some(why), _) => format!("did not start: {why}"),
                (None, Some((status, _))) => ending(status),
                (None, None) => "ended".to_owned(),
            },
            None => "ended".to_owned(),
        };
        Err(Error::Failed {
            why: format!(
                "spinner {} of {} {how}; a spinner has to run until it is killed",
                index + 1,
                self.spinners.len()
            ),
            output: task.map(Task::shown),
        })
    }

    fn window(&mut self) -> Result<Took, Error> {
        let before = self.counts()?;
        let start = Instant::now();
        let until = start + Duration::try_from_secs_f64(self.beside.window_s).unwrap_or_default();
        self.watch(Some(until), None)?;
        let counted_s = start.elapsed().as_secs_f64();
        self.add(&before)?;
        Ok(Took { elapsed_s: counted_s, counted_s, ..Took::default() })
    }

    /// Runs the command as often as it makes one piece of work.
    fn work(&mut self, work: &CommandSpec) -> Result<Took, Error> {
        let mut took = Took::default();
        for _ in 0..self.beside.repeat.max(1) {
            let cpus = Some(&self.beside.work_cpus);
            let launch = Launch::answering(HOLD, work.argv.clone(), cpus);
            let folder = work.folder.as_deref();
            let id = self.supervisor.start(Launch { folder, ..launch })?;
            self.supervisor.wait_until_held(&[id])?;
            let before = self.counts()?;
            let start = self.supervisor.release(&[id]);
            self.watch(None, Some(id))?;
            took.counted_s += start.elapsed().as_secs_f64();
            self.add(&before)?;
            let Some(task) = self.supervisor.take(id) else { continue };
            if self.beside.row {
                took.said += answer::of::<f64>(Some(&task), "the row")?;
            }
            self.check_work(&task)?;
            took.elapsed_s += task.exit.map_or(0.0, |(_, end)| (end - start).as_secs_f64());
            took.user_s += task.usage.user_s;
            took.system_s += task.usage.system_s;
        }
        Ok(took)
    }

    /// Waits for the end of the work, or that time; a spinner must not end before.
    fn watch(&mut self, until: Option<Instant>, work: Option<TaskId>) -> Result<(), Error> {
        let ids: Vec<TaskId> = self.spinners.iter().map(|spinner| spinner.id).collect();
        self.supervisor.wait(until, |supervisor| {
            work.is_some_and(|work| supervisor.has_ended(work))
                || ids.iter().any(|id| supervisor.has_ended(*id))
        })?;
        if work.is_some_and(|work| self.supervisor.has_ended(work)) {
            return Ok(());
        }
        self.nobody_died()
    }

    fn add(&mut self, before: &[u64]) -> Result<(), Error> {
        let now = self.counts()?;
        for ((sum, now), before) in self.reached.iter_mut().zip(now).zip(before) {
            *sum += now.saturating_sub(*before);
        }
        Ok(())
    }

    /// An error if the work did not end well, or not where it was put.
    fn check_work(&self, task: &Task) -> Result<(), Error> {
        if let Some(why) = task.refusal() {
            return Err(Error::failed(format!("the command: {why}")));
        }
        if let Some((status, _)) = task.exit.filter(|(status, _)| !status.success()) {
            return Err(Error::Failed {
                why: format!("the command {}", ending(status)),
                output: Some(task.shown()),
            });
        }
        if !task.cpus_ran.is_subset(&self.beside.work_cpus) {
            return Err(Error::failed(format!(
                "the command was put on CPUs {}, but ran on {}: it changes its own affinity; take \
                 that out of it (taskset, numactl, an option of its own), since where it runs is \
                 what is compared",
                self.beside.work_cpus, task.cpus_ran
            )));
        }
        Ok(())
    }

    fn measured(&self, took: Took, job: &Job) -> Outcome {
        let counts_lines = self.beside.spinner.kind == SpinnerKind::Command;
        let count_unit = if counts_lines { LINES_PER_S } else { STEPS_PER_S };
        // A command that prints nothing does not count.
        let counted = (0..).zip(&self.reached).filter(|(_, count)| !counts_lines || **count > 0);
        let rates: Vec<(u32, f64)> =
            counted.map(|(number, count)| (number, *count as f64 / took.counted_s)).collect();
        let value_of = match self.beside.work {
            Some(_) if self.beside.row => took.said,
            Some(_) => took.elapsed_s,
            None => rates.iter().map(|(_, rate)| rate).sum(),
        };
        let (unit, better) = value(self.beside);
        let mut measured = Outcome {
            operations: u64::from(self.beside.repeat.max(1)),
            elapsed_s: took.elapsed_s,
            threads: job.threads,
            ..outcome(value_of, &unit, better)
        };
        if self.beside.work.is_some() {
            measured.lower(names::WORK_USER, took.user_s, "s");
            measured.lower(names::WORK_SYSTEM, took.system_s, "s");
        }
        for (number, rate) in rates {
            measured.higher(&names::spinner_rate(number), rate, count_unit);
        }
        let usage = self.supervisor.usage;
        let spinners_s = usage.user_s + usage.system_s - took.user_s - took.system_s;
        measured.lower(names::SPINNER_CPU, spinners_s, "s");
        measured
    }
}

/// A file in memory that a spinner inherits; its length is the count.
fn counter() -> Result<OwnedFd, Error> {
    memfd_create("coretwin-spinner", MemfdFlags::empty())
        .context("cannot make the counter of a spinner")
}

/// Rounds between two bytes: some milliseconds at most, against which a system call is nothing.
/// The descriptor of the counter is the last argument.
const PERL: &str = "open(my $count, '>>&=', $ARGV[0]) or die $!; \
while (1) { my $i = 0; while ($i < 20000) { $i++ } syswrite($count, '.') or die $! }";

const PYTHON: &str = "\
import os, sys
def spin(count):
    while True:
        i = 0
        while i < 20000:
            i += 1
        os.write(count, b'.')
spin(int(sys.argv[1]))
";

const INTERPRETERS: [(&str, &str, &str); 2] = [("perl", "-e", PERL), ("python3", "-c", PYTHON)];

/// The spinner as a program and its arguments, by the first interpreter that is on `path` (as in
/// `PATH`): perl, else python3. `None` if neither is there.
#[must_use]
pub fn interpreter(path: &str) -> Option<Vec<String>> {
    INTERPRETERS.iter().find_map(|(name, option, script)| {
        let program = find(path, name)?;
        Some(vec![
            program.to_string_lossy().into_owned(),
            (*option).to_owned(),
            (*script).to_owned(),
        ])
    })
}

fn find(path: &str, name: &str) -> Option<PathBuf> {
    path.split(':')
        .filter(|folder| !folder.is_empty())
        .map(|folder| Path::new(folder).join(name))
        .find(|program| rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn perl_is_preferred_and_neither_is_none() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().to_string_lossy().into_owned();
        assert_eq!(interpreter(&path), None);
        let link = |name: &str| {
            std::os::unix::fs::symlink("/bin/sh", folder.path().join(name)).expect("link");
        };
        link("python3");
        let python = interpreter(&format!("/nowhere::{path}")).expect("python");
        assert!(python[0].ends_with("/python3") && python[1] == "-c", "{python:?}");
        link("perl");
        assert!(interpreter(&path).expect("perl")[0].ends_with("/perl"));
    }
}
