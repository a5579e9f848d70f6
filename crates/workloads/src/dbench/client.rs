//! The process of one client, of dbench and of tbench: it reads its load, gets ready, waits for its
//! release together with all others, replays, and reports.

use super::files::{Files, Manner};
use super::load::source;
use super::replay::{Backend, Counted, Phases, replay};
use crate::tbench::connection::{Connection, Service};
use crate::{Error, answer, role};
use serde::{Deserialize, Serialize};
use std::process::ExitCode;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(crate) load: String,
    pub(crate) seed: u64,
    pub(crate) client: u32,
    pub(crate) phases: Phases,
    pub(crate) target: Target,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    /// Files below the folder the client is started in.
    Files(Manner),
    Service(Service),
}

pub(crate) fn main(entered: Result<(), Error>, args: &[String]) -> ExitCode {
    answer::say(&entered.and_then(|()| run(args)))
}

fn run(args: &[String]) -> Result<Counted, Error> {
    let orders: Orders = role::orders(args, "a client")?;
    let load = source::find(&orders.load, orders.seed)?;
    let mut backend: Box<dyn Backend> = match &orders.target {
        Target::Files(manner) => Box::new(Files::new(&load, orders.client, *manner)?),
        Target::Service(service) => Box::new(Connection::new(&load, orders.client, service)?),
    };
    let mut gate = role::gate()?;
    let word = role::wait_for_release(&mut gate)?;
    let start_ns = word.try_into().map(u64::from_le_bytes);
    let start_ns = start_ns.map_err(|_| Error::failed("a client was not told when it began"))?;
    replay(&load, backend.as_mut(), orders.phases, start_ns)
}
