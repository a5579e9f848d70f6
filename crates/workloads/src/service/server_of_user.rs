//! A server that a user names: started with the run, on the arm's CPUs, and ended with it.

use crate::role::HOLD;
use crate::supervisor::{Launch, Supervisor, Task, TaskId};
use crate::workload::Job;
use crate::{Context, Error, command};
use coretwin_base::machine::cpu_set::CpuSet;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// How long it may take until it accepts connections, and the pause between two tries.
const READY: Duration = Duration::from_secs(30);
const RETRY: Duration = Duration::from_millis(20);

/// Splits it into words as a shell does. Errors: a sentence that follows the parameter's name.
pub(crate) fn words(line: &str) -> Result<Vec<String>, String> {
    let words = shlex::split(line).filter(|words| !words.is_empty());
    let words = words.ok_or_else(|| "a quotation mark has no other".to_owned())?;
    match words.iter().any(|word| word.contains("{port}")) {
        true => Ok(words),
        false => Err("it is 'own', or a command with {port} where it shall listen, like \
                      memcached -l 127.0.0.1 -p {port}"
            .to_owned()),
    }
}

/// Starts it and waits until it accepts connections.
pub(crate) fn start(
    line: &str,
    job: &Job,
    cpus: Option<&CpuSet>,
    workers: u32,
    supervisor: &mut Supervisor,
) -> Result<(TaskId, SocketAddr), Error> {
    let port = free_port()?;
    let fill = |word: String| {
        word.replace("{port}", &port.to_string())
            .replace("{threads}", &workers.to_string())
            .replace("{cpus}", &job.cpus.to_string())
    };
    let args = words(line).map_err(Error::failed)?.into_iter().map(fill).collect();
    let id = supervisor.start(Launch::measured(HOLD, args, cpus))?;
    supervisor.wait_until_held(&[id])?;
    supervisor.release(&[id]);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let until = Instant::now() + READY;
    while TcpStream::connect(address).is_err() {
        supervisor.wait(Some(Instant::now() + RETRY), |now| now.has_ended(id))?;
        if supervisor.has_ended(id) {
            return Err(gone(supervisor.task(id)));
        }
        if Instant::now() > until {
            return Err(Error::failed(format!(
                "the server does not listen at {address} after {} s; does it listen at {{port}}?",
                READY.as_secs()
            )));
        }
    }
    Ok((id, address))
}

pub(crate) fn gone(task: Option<&Task>) -> Error {
    if let Some(why) = task.and_then(Task::refusal) {
        return Error::failed(format!("the server: {why}"));
    }
    let how = task.and_then(|task| task.exit);
    let how = how.map_or("has ended".to_owned(), |(status, _)| command::ending(status));
    let said = task.map(Task::last_words).unwrap_or_default();
    let output = task.map(Task::shown);
    Error::Failed { why: format!("the server {how} while it was needed{said}"), output }
}

fn free_port() -> Result<u16, Error> {
    let any = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot find a free port")?;
    Ok(any.local_addr().context("cannot find a free port")?.port())
}
