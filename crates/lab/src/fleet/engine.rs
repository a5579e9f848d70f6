//! What an engine must do, and the table of those there are.

use super::child::listen;
use super::kubernetes::Kubernetes;
use super::slurm::Slurm;
use super::ssh::Ssh;
use crate::error::Error;
use crate::machine::Stop;
use coretwin_base::caps;
use coretwin_base::fleet::plan::{EngineOptions, FleetPlan};
use coretwin_store::fleet_folder::FleetFolder;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::{ChildStdout, Command};

/// The engines, with what each is. Lists and help are made from this.
pub const ENGINES: [(&str, &str); 3] = [
    ("ssh", "hosts of a list, several side by side"),
    ("slurm", "a job array, a node to each task alone"),
    ("kubernetes", "an indexed Job, a node to each pod alone"),
];

/// What an engine is called with.
pub struct Call<'a> {
    /// The fleet's folder.
    pub fleet: &'a FleetFolder,
    /// Its plan.
    pub plan: &'a FleetPlan,
    /// Raised to stop: what runs is stopped, what it measured is kept.
    pub stop: &'a Stop,
    /// News for the user.
    pub say: &'a (dyn Fn(&str) + Sync),
    /// This machine's program, for machines that get it copied.
    pub program: &'a Path,
}

/// What an engine knows of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// It waits, and for what.
    Waiting(String),
    /// It runs, and where.
    Running(String),
    /// It ended without a bundle, and why.
    Failed(String),
}

/// Someone who runs tasks on machines.
pub trait Engine {
    /// Files for the fleet's folder, by name: what is handed to the cluster, to be read by people too.
    ///
    /// # Errors
    /// If the options make no sense.
    fn files(&self, fleet: &FleetFolder, plan: &FleetPlan) -> Result<Vec<(String, String)>, Error>;

    /// Starts these tasks, and brings home the bundles of those that it waits for. Of each task that
    /// could not be started or failed, it says so.
    ///
    /// # Errors
    /// If nothing can be started at all.
    fn run(&self, call: &Call<'_>, tasks: &[u32]) -> Result<BTreeMap<u32, Known>, Error>;

    /// Looks at these tasks, brings home what is done, and says what it knows of the others.
    ///
    /// # Errors
    /// If it cannot be looked at all.
    fn look(&self, call: &Call<'_>, tasks: &[u32]) -> Result<BTreeMap<u32, Known>, Error>;
}

/// The engine of a plan.
#[must_use]
pub fn of(plan: &FleetPlan) -> Box<dyn Engine> {
    match &plan.engine {
        EngineOptions::Ssh(options) => Box::new(Ssh(options.clone())),
        EngineOptions::Slurm(options) => Box::new(Slurm(options.clone())),
        EngineOptions::Kubernetes(options) => Box::new(Kubernetes(options.clone())),
    }
}

/// Runs a program of the cluster to its end; what it printed. None if it is not installed here.
pub(super) fn asked(program: &str, args: &[String]) -> Result<Option<String>, String> {
    let text = asked_for(program, args, |out| caps::ANSWER.read(out))?;
    Ok(text.map(|text| String::from_utf8_lossy(&text).into_owned()))
}

/// The same of a program whose standard output is taken as it comes.
pub(super) fn asked_for<T>(
    program: &str,
    args: &[String],
    take: impl FnOnce(&mut ChildStdout) -> io::Result<T>,
) -> Result<Option<T>, String> {
    match listen(Command::new(program).args(args), &[], take) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot hear {program}: {error}")),
        Ok(said) if said.status.success() => Ok(Some(said.out)),
        Ok(said) => Err(last_words(&said.err)
            .unwrap_or_else(|| format!("{program} failed ({}) and said nothing", said.status))),
    }
}

/// The last lines that say something, in one.
pub(super) fn last_words(said: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(said);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(2)..].join("; ");
    (!last.is_empty()).then_some(last)
}
