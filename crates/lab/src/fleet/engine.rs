//! What an engine must do; the table of those there are is [`super::ENGINES`].

use crate::error::Error;
use crate::machine::Stop;
use coretwin_base::fleet::plan::FleetPlan;
use coretwin_store::fleet_folder::FleetFolder;
use std::collections::BTreeMap;
use std::path::Path;

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
