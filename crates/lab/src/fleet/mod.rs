//! A study, or a sweep, on many machines.
//!
//! Data flow: [`plan`] makes a `fleet.json`; an [`engine`] of the table [`ENGINES`] starts
//! tasks; a [`task`] runs on its machine and leaves a bundle; [`merge`] makes of all bundles one
//! fleet. [`status`] says what is missing.
//!
//! Invariants:
//! * files are the contract: a bundle counts wherever it comes from, if it names the fleet's plan;
//! * a merge follows from the set of bundles alone: not from their order, nor from earlier merges;
//! * what goes wrong with one machine is told of that machine, and the others go on.

mod child;
pub mod engine;
mod hosts;
pub mod identity;
mod kubernetes;
pub mod merge;
pub mod plan;
mod slurm;
mod ssh;
pub mod status;
pub mod survey;
pub mod task;
mod yaml;

use crate::error::Error;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use coretwin_base::fleet::plan::FleetPlan;
use coretwin_base::suggest::unknown;
use coretwin_host::root::Root;
use engine::Engine;
use serde::de::DeserializeOwned;

pub use kubernetes::as_log;

/// The engines. Names, options and help of `fleet plan` are made from this, and what a plan holds is read
/// by it.
pub const ENGINES: &[Entry] = &[
    Entry::of::<ssh::Ssh>("ssh", None),
    Entry::of::<slurm::Slurm>("slurm", Some("SLURMD_NODENAME")),
    Entry::of::<kubernetes::Kubernetes>("kubernetes", Some(identity::NODE_VARIABLE)),
];

#[derive(Debug)]
pub struct Entry {
    pub name: &'static str,
    /// The variable in which a task finds what the cluster calls its node.
    node_variable: Option<&'static str>,
    options: fn(Command) -> Command,
    typed: fn(&ArgMatches) -> Result<Box<dyn Engine>, clap::Error>,
    planned: fn(&str) -> serde_json::Result<Box<dyn Engine>>,
}

impl Entry {
    const fn of<E: Engine + Args + DeserializeOwned + 'static>(
        name: &'static str,
        node_variable: Option<&'static str>,
    ) -> Self {
        Self {
            name,
            node_variable,
            options: E::augment_args,
            typed: |typed| Ok(Box::new(E::from_arg_matches(typed)?)),
            planned: |kept| Ok(Box::new(serde_json::from_str::<E>(kept)?)),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Typed(ArgMatches);

impl FromArgMatches for Typed {
    fn from_arg_matches(typed: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(typed.clone()))
    }

    fn update_from_arg_matches(&mut self, typed: &ArgMatches) -> Result<(), clap::Error> {
        self.0 = typed.clone();
        Ok(())
    }
}

impl Args for Typed {
    fn augment_args(command: Command) -> Command {
        ENGINES.iter().fold(command, |command, entry| (entry.options)(command))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl Typed {
    /// Errors: if there is no such engine, or an option of another one was given, which would do nothing.
    pub fn engine(&self, name: &str) -> Result<Box<dyn Engine>, Error> {
        let chosen = entry(name)?;
        for other in ENGINES.iter().filter(|entry| entry.name != name) {
            let command = (other.options)(Command::new(""));
            let was_typed = |arg: &&clap::Arg| {
                self.0.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
            };
            if let Some(long) = command.get_arguments().find(was_typed).and_then(|it| it.get_long())
            {
                let why = format!("--{long} is an option of {}; the engine is {name}", other.name);
                return Err(Error::Usage(why));
            }
        }
        (chosen.typed)(&self.0).map_err(|error| Error::Usage(error.to_string()))
    }
}

fn entry(name: &str) -> Result<&'static Entry, Error> {
    let known: Vec<&str> = ENGINES.iter().map(|entry| entry.name).collect();
    let found = ENGINES.iter().find(|entry| entry.name == name);
    found.ok_or_else(|| Error::NotPossible(unknown("fleet engine", name, &known)))
}

/// The engine of a plan. Errors: if this program has no such engine, or the plan's options are not
/// for it.
pub fn engine_of(plan: &FleetPlan) -> Result<Box<dyn Engine>, Error> {
    let bad = |what: String| Error::NotPossible(format!("fleet.json: field engine: {what}"));
    let kept = serde_json::to_string(&plan.engine).map_err(|error| bad(error.to_string()))?;
    let planned = (entry(&plan.engine.name)?.planned)(&kept);
    let engine = planned.map_err(|error| bad(error.to_string()))?;
    match engine.places().is_none_or(|places| places == plan.tasks.len()) {
        true => Ok(engine),
        false => Err(bad("it must have a place for every task".to_owned())),
    }
}

/// What the cluster calls this node, or its own name.
pub fn node_name(root: &Root) -> String {
    let told = ENGINES.iter().filter_map(|entry| std::env::var(entry.node_variable?).ok());
    identity::node_name(root, told)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(engine: &str) -> Option<String> {
        let text = r#"{"schema":1,"digest":"","coretwin":"0","engine":ENGINE,"program":"coretwin",
            "subject":{"study":["chat"]},"seed":1,"tasks":[{"number":0,"name":"a","seed":2}]}"#;
        let plan = serde_json::from_str(&text.replace("ENGINE", engine)).expect("a plan");
        engine_of(&plan).err().map(|why| why.to_string())
    }

    #[test]
    fn an_option_of_another_engine_is_refused() {
        let typed = |words: &[&str]| {
            // An engine's options may exclude this one of `fleet plan`.
            let command = Command::new("plan").arg(clap::Arg::new("program"));
            let command = Typed::augment_args(command);
            Typed::from_arg_matches(&command.get_matches_from([&["plan"], words].concat()))
                .expect("options")
        };
        let why = |words: &[&str]| typed(words).engine("ssh").err().map(|why| why.to_string());
        assert_eq!(why(&["--side-by-side", "3"]), None);
        let refused = "--time is an option of slurm; the engine is ssh";
        assert_eq!(why(&["--time", "1:00:00"]).as_deref(), Some(refused));
    }

    #[test]
    fn a_plan_is_for_an_engine_of_the_table_with_a_place_for_every_task() {
        let slurm = |places: &str| {
            format!(r#"{{"name":"slurm","places":[{places}],"warn_s":60,"options":[]}}"#)
        };
        assert_eq!(refused(&slurm(r#""any""#)), None);
        assert_eq!(refused(&slurm(r#"{"node":"n1"}"#)), None);
        for (engine, part) in [
            (slurm(""), "a place for every task"),
            (slurm("7"), "field engine"),
            (r#"{"name":"slrum"}"#.to_owned(), "did you mean 'slurm'"),
        ] {
            assert!(refused(&engine).is_some_and(|why| why.contains(part)), "{engine}");
        }
    }
}
