//! The worker's side of chat: starts server and client, and adds up what they counted.

use super::client::PATIENCE_S;
use super::protocol::{Config, Failure, Message, Totals, keys};
use super::{Chat, Params};
use crate::door::Bell;
use crate::error::signal_name;
use crate::role::{self, CHAT_CLIENT, CHAT_SERVER};
use crate::semaphores::Claim;
use crate::supervisor::{Launch, Supervisor, Task, TaskId};
use crate::workload::{Measured, Workload, metric};
use crate::{Error, answer, workload::int};
use coretwin_base::study::job::Job;
use coretwin_base::study::reading::Better;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

/// How long the second process may take to say why, when the first has failed.
const SECOND_WORD: Duration = Duration::from_millis(200);

pub(super) fn run(
    chat: &Chat,
    params: &Params,
    job: &Job,
    supervisor: &mut Supervisor,
) -> Result<Measured, Error> {
    let external = chat.server(params)?;
    let claim = match chat.futexes {
        true => None,
        false => Some(Claim::new(keys::count(int(params, "rooms")))?),
    };
    let config = chat.config(params, claim.as_ref().map_or(0, |claim| claim.base));
    let ran = drive(&config, external, job, supervisor);
    let left = claim.as_ref().map(Claim::existing);
    // Before the claim goes, whoever could still make a semaphore must be gone.
    supervisor.end_all()?;
    drop(claim);
    let (server, client) = ran?;
    let mut measured = measure(chat, params, &config, &client);
    measured.cpus_ran = client.cpus_ran;
    if let Some(server) = server {
        // What one side sends the other receives.
        let held = (server.received, server.sent) == (config.sent(), config.received());
        measured.checks.insert("totals_server".to_owned(), held);
        measured.cpus_ran = measured.cpus_ran.union(&server.cpus_ran);
    }
    if let Some(left) = left {
        measured.checks.insert("semaphores_removed".to_owned(), left == 0);
    }
    Ok(measured)
}

fn measure(chat: &Chat, params: &Params, config: &Config, client: &Totals) -> Measured {
    let total = client.sent + client.received;
    let count = |value: f64, unit| metric(value, unit, Better::Higher);
    let metrics = [
        ("messages_sent", count(client.sent as f64, "messages")),
        ("messages_received", count(client.received as f64, "messages")),
        ("sent_per_s", count(client.sent as f64 / client.elapsed_s, "messages/s")),
        ("connections", count(f64::from(config.connections()), "connections")),
        ("tasks", count(f64::from(chat.tasks(params)), "tasks")),
    ];
    let totals_hold = (client.sent, client.received) == (config.sent(), config.received());
    Measured {
        metrics: metrics.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        operations: total,
        elapsed_s: client.elapsed_s,
        threads: chat.tasks(params),
        checks: BTreeMap::from([("totals_client".to_owned(), totals_hold)]),
        ..Measured::of(&chat.facts(), total as f64 / client.elapsed_s)
    }
}

/// Runs both processes to their end: what the server counted, if it is ours, and the client.
fn drive(
    config: &Config,
    external: Option<SocketAddr>,
    job: &Job,
    supervisor: &mut Supervisor,
) -> Result<(Option<Totals>, Totals), Error> {
    let settings = role::written(config)?;
    let launch = |role, index: usize, args| Launch {
        role,
        args,
        cpus: job.roles.get(index),
        folder: None,
        measured: true,
        keep: 1 << 20,
    };
    let (server, address, handle) = match external {
        Some(address) => (None, address, None),
        None => {
            let (bell, stdin) = Bell::new()?;
            let server = launch(CHAT_SERVER, 0, vec![settings.clone()]);
            let server = supervisor.start_with(server, stdin.into())?;
            let handle = bell.hand_out()?;
            let port = wait_for_port(supervisor, server)?;
            (Some(server), SocketAddr::from(([127, 0, 0, 1], port)), Some(handle))
        }
    };
    let path = handle.as_ref().map(|handle| handle.path().to_string_lossy().into_owned());
    let third = path.unwrap_or_else(|| PATIENCE_S.to_string());
    let client = launch(CHAT_CLIENT, 1, vec![settings, address.to_string(), third]);
    let client = supervisor.start(client)?;
    drop(handle);
    let both: Vec<(&str, TaskId)> =
        server.map(|id| ("server", id)).into_iter().chain([("client", client)]).collect();
    let failed = |supervisor: &Supervisor| {
        both.iter().any(|(_, id)| supervisor.task(*id).is_none_or(has_failed))
    };
    let ended = |supervisor: &Supervisor| both.iter().all(|(_, id)| supervisor.has_ended(*id));
    supervisor.wait(None, |supervisor| ended(supervisor) || failed(supervisor))?;
    if failed(supervisor) {
        supervisor.wait(Some(Instant::now() + SECOND_WORD), ended)?;
        return Err(Error::failed(cause(&both, supervisor)));
    }
    let totals = |id: TaskId, who: &str| {
        supervisor
            .task(id)
            .and_then(|task| answer::lines(task).find_map(done))
            .ok_or_else(|| Error::failed(why(who, supervisor.task(id))))
    };
    Ok((server.map(|id| totals(id, "server")).transpose()?, totals(client, "client")?))
}

fn wait_for_port(supervisor: &mut Supervisor, server: TaskId) -> Result<u16, Error> {
    let port = |task: &Task| {
        answer::lines(task).find_map(|message| match message {
            Message::Port(port) => Some(port),
            _ => None,
        })
    };
    supervisor.wait(None, |supervisor| {
        supervisor.has_ended(server) || supervisor.task(server).and_then(port).is_some()
    })?;
    let task = supervisor.task(server);
    task.and_then(port).ok_or_else(|| Error::failed(why("server", task)))
}

fn done(message: Message) -> Option<Totals> {
    match message {
        Message::Done(totals) => Some(totals),
        _ => None,
    }
}

fn has_failed(task: &Task) -> bool {
    task.exit.is_some_and(|(status, _)| !status.success()) || failure(task).is_some()
}

/// Why a run failed in which one side did, and the other perhaps in consequence: a death by signal
/// explains everything, and a lost connection nothing.
fn cause(both: &[(&str, TaskId)], supervisor: &Supervisor) -> String {
    let tasks = || both.iter().flat_map(|(who, id)| Some((*who, supervisor.task(*id)?)));
    let killed = tasks().find_map(|(who, task)| death(who, task));
    let own = || tasks().filter_map(|(_, task)| failure(task)).find(|failure| !failure.lost);
    let any =
        || tasks().filter(|(_, task)| has_failed(task)).map(|(who, task)| why(who, Some(task)));
    killed
        .or_else(|| own().map(|failure| failure.why))
        .or_else(|| any().next())
        .unwrap_or_else(|| "a process of chat is gone".to_owned())
}

fn death(who: &str, task: &Task) -> Option<String> {
    let signal = task.exit?.0.signal()?;
    Some(format!("the {who} of chat was killed by {}", signal_name(signal)))
}

fn failure(task: &Task) -> Option<Failure> {
    answer::lines(task).find_map(|message| match message {
        Message::Failed(failure) => Some(failure),
        _ => None,
    })
}

fn why(who: &str, task: Option<&Task>) -> String {
    task.and_then(failure).map_or_else(
        || {
            let shown = task.map(Task::shown).unwrap_or_default();
            format!("the {who} of chat ended without a result: {}", shown.trim())
        },
        |failure| failure.why,
    )
}
