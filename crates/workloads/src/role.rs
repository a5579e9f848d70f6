//! The processes that a worker starts. Each is the worker's own executable again, with the name
//! of a role as first argument and an [`Entry`] as second: so binding to CPUs, the core-scheduling
//! cookie and death with the parent are settled by ordinary code, with ordinary errors, before
//! the work begins.

use crate::{Context, Error, sys};
use coretwin_base::machine::cpu_set::CpuSet;
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

pub(crate) const HOLD: &str = "hold";
/// A row by itself, as a command: `coretwin-worker row NAME:PARAMETERS`.
pub const ROW: &str = "row";
pub(crate) const CHAT_SERVER: &str = "chat-server";
pub(crate) const CHAT_CLIENT: &str = "chat-client";

pub(crate) const AIM9: &str = "aim9";
pub(crate) const LMBENCH: &str = "lmbench";
pub(crate) const DBENCH_CLIENT: &str = "dbench-client";
pub(crate) const TBENCH_SERVER: &str = "tbench-server";
pub(crate) const TBENCH_CONNECTION: &str = "tbench-connection";
pub(crate) const KERNEL_2_4: &str = "kernel-2.4";
/// Loops on CPUs, for `probe`; it serves no job, and dies with its parent.
pub(crate) const CONTENTION: &str = "contention";
pub(crate) const JANITOR: &str = "janitor";
pub(crate) const SERVICE_SERVER: &str = "service-server";
pub(crate) const SERVICE_GENERATOR: &str = "service-generator";
pub(crate) const SPINNER: &str = "spinner";
/// Roles whose standard input is a socket to the worker: see [`wait_for_release`].
pub(crate) const HELD: &[&str] = &[HOLD, AIM9, LMBENCH, DBENCH_CLIENT, JANITOR, SPINNER];

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The worker, with which this process dies.
    pub(crate) parent: u32,
    /// CPUs to be bound to; none: those of the worker.
    pub(crate) cpus: Option<CpuSet>,
    pub(crate) core_sched: bool,
}

pub(crate) fn written(orders: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(orders).context("cannot write the orders of a process")
}

/// Reads them in the process. `who` begins the sentence for those that do not read: `a client`.
pub(crate) fn orders<T: DeserializeOwned>(args: &[String], who: &str) -> Result<T, Error> {
    let text = args.first().map_or("", String::as_str);
    serde_json::from_str(text)
        .map_err(|bad| Error::failed(format!("{who} was misconfigured: {bad}")))
}

pub(crate) fn enter(entry: &str) -> Result<(), Error> {
    let entry: Entry =
        serde_json::from_str(entry).map_err(|bad| Error::failed(format!("role: {bad}")))?;
    set_parent_process_death_signal(Some(Signal::KILL)).context("cannot die with the worker")?;
    if std::os::unix::process::parent_id() != entry.parent {
        return Err(Error::failed("the worker has died"));
    }
    sys::unblock_signals().context("cannot let signals through")?;
    if let Some(cpus) = &entry.cpus {
        bind(cpus)?;
    }
    if entry.core_sched {
        sys::core_sched_create().context("cannot take a core-scheduling cookie")?;
    }
    Ok(())
}

pub(crate) fn bind(cpus: &CpuSet) -> Result<CpuSet, Error> {
    if cpus.is_empty() {
        return Err(Error::failed("the job names no CPU to run on"));
    }
    sys::bind(cpus).with_context(|| format!("cannot run on the CPUs {cpus}"))?;
    let bound = sys::bound().context("cannot read back the CPUs")?;
    if bound != *cpus {
        return Err(Error::failed(format!(
            "asked for the CPUs {cpus}, but the kernel allows {bound}; some are offline, or a \
             cpuset hides them"
        )));
    }
    Ok(bound)
}

pub(crate) const READY: u8 = b'r';

pub(crate) fn gate() -> Result<UnixStream, Error> {
    let gate = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3);
    gate.map(UnixStream::from).context("cannot wait for the start")
}

/// Reports readiness at the gate and waits until that is closed for writing; what was written there
/// before. Then there is nothing on standard input.
pub(crate) fn wait_for_release(gate: &mut UnixStream) -> Result<Vec<u8>, Error> {
    const WAIT: &str = "cannot wait for the start";
    gate.write_all(&[READY]).context(WAIT)?;
    let mut told = Vec::new();
    gate.read_to_end(&mut told).context(WAIT)?;
    let null = std::fs::File::open("/dev/null").context(WAIT)?;
    rustix::stdio::dup2_stdin(&null).context(WAIT)?;
    Ok(told)
}

/// The gate closes when the process has become the program; else it carries the reason.
pub(crate) fn hold(entered: Result<(), Error>, args: &[String]) -> ExitCode {
    let Ok(mut gate) = gate() else { return ExitCode::FAILURE };
    let Err(error) = entered.and_then(|()| become_program(&mut gate, args));
    let _ = gate.write_all(error.to_string().as_bytes());
    ExitCode::from(127)
}

fn become_program(
    gate: &mut UnixStream,
    args: &[String],
) -> Result<std::convert::Infallible, Error> {
    let (program, args) = args.split_first().ok_or_else(|| Error::failed("no program"))?;
    wait_for_release(gate)?;
    let error = Command::new(program).args(args).exec();
    Err(Error::system(format!("cannot run '{program}'"), error))
}
