//! What an engine must do; the table of those there are is [`super::ENGINES`].

use crate::error::Error;
use crate::machine::Stop;
use coretwin_base::fleet::plan::{EngineOptions, FleetPlan};
use coretwin_base::units::{BadDuration, parse_duration};
use coretwin_store::fleet_folder::FleetFolder;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

pub struct Call<'a> {
    pub fleet: &'a FleetFolder,
    pub plan: &'a FleetPlan,
    /// Raised to stop: what runs is stopped, what it measured is kept.
    pub stop: &'a Stop,
    pub say: &'a (dyn Fn(&str) + Sync),
    /// This machine's program, for machines that get it copied.
    pub program: &'a Path,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// It waits, and for what.
    Waiting(String),
    /// It runs, and where.
    Running(String),
    /// It ended without a bundle, and why.
    Failed(String),
}

/// Someone who runs tasks on machines. A type that is one holds its options: what the user types for it
/// (fields of `clap`), and what a plan keeps of that (fields of `serde`).
pub trait Engine: Kept {
    /// Reads what was typed, and makes of it what the plan keeps: gives a name for every task.
    /// `wanted` is their number, where the user or the study gives one. Errors: what was typed
    /// makes no sense, with the option and what to do.
    fn draw(&mut self, wanted: Option<usize>) -> Result<Vec<String>, String>;

    /// Number of tasks that it has a place for; `None` if any number.
    fn places(&self) -> Option<usize> {
        None
    }

    /// The program on the machines, where the user names none. Errors: if it is this one, and this
    /// one has no path.
    fn program(&self) -> io::Result<String> {
        Ok("coretwin".to_owned())
    }

    /// Why a study must not switch SMT on these machines; `None` if it may.
    fn no_switch(&self) -> Option<&'static str> {
        None
    }

    fn note(&self) -> Option<&'static str> {
        None
    }

    /// On a machine of the fleet: which of these tasks is for it. Errors: if that is not said
    /// there.
    fn task_here(&self, _: &[u32]) -> Result<u32, String> {
        Err("--task-of-index: this engine gives machines no index; say --task N".to_owned())
    }

    /// On a machine of the fleet, where a task was told to stop before it was done: has it run again.
    /// `None` if the engine does not.
    fn run_again(&self) -> Option<Result<(), String>> {
        None
    }

    /// Files for the fleet's folder, by name: what is handed to the cluster, to be read by people
    /// too.
    fn files(&self, _: &FleetFolder, _: &FleetPlan) -> Result<Vec<(String, String)>, Error> {
        Ok(Vec::new())
    }

    /// Starts these tasks, and brings home the bundles of those that it waits for. Of each task
    /// that could not be started or failed, it says so. Errors: if nothing can be started at all.
    fn run(&self, call: &Call<'_>, tasks: &[u32]) -> Result<BTreeMap<u32, Known>, Error>;

    /// Looks at these tasks, brings home what is done, and says what it knows of the others.
    fn look(&self, call: &Call<'_>, tasks: &[u32]) -> Result<BTreeMap<u32, Known>, Error>;
}

pub trait Kept {
    fn kept(&self, name: &str) -> serde_json::Result<EngineOptions>;
}

impl<Options: Serialize> Kept for Options {
    fn kept(&self, name: &str) -> serde_json::Result<EngineOptions> {
        EngineOptions::of(name, self)
    }
}

/// Names for as many tasks as are wanted, where machines are not named; `or` says what else would do.
pub(super) fn numbered(what: &str, wanted: Option<usize>, or: &str) -> Result<Vec<String>, String> {
    let count = wanted.ok_or_else(|| format!("say how many machines: --tasks N{or}"))?;
    Ok((0..count).map(|number| format!("{what}-{number}")).collect())
}

/// A time as it is typed, in whole seconds.
pub(super) fn seconds(text: &str) -> Result<u64, BadDuration> {
    parse_duration(text).map(|time| time.as_secs())
}
