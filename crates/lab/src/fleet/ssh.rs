//! Hosts of a list, by `ssh`.
//!
//! Of each host one folder below its home is used, `.coretwin-fleet/…`: the plan goes there, the study
//! runs there apart from the connection, the bundle is fetched from there, and then it is taken away.
//! So a connection that dies ends nothing: the study goes on, puts its machine back as it always does,
//! and the next call finds it running or fetches what it left.

mod remote;

use super::engine::{Call, Engine, Known};
use super::hosts::{SshHost, ssh_hosts, ssh_options};
use super::status::Bundles;
use super::task::unwritable;
use crate::error::Error;
use crate::parallel;
use coretwin_base::caps;
use remote::{Ended, Remote};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often a call that is waited for looks whether it is to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Hosts that are reached by `ssh`.
#[derive(clap::Args, Serialize, Deserialize)]
pub(super) struct Ssh {
    /// File with a host a line
    #[serde(skip)]
    #[arg(long = "hosts", value_name = "FILE", help_heading = "ssh")]
    list: Option<PathBuf>,
    /// One a task, in their order.
    #[arg(skip)]
    hosts: Vec<SshHost>,
    /// Hosts side by side
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "ssh")]
    side_by_side: u32,
    /// An option for ssh, repeatable, like --ssh-option=-oUser=bench
    // For every call, before those of the host.
    #[arg(
        id = "ssh_options",
        long = "ssh-option",
        value_name = "OPTION",
        allow_hyphen_values = true,
        help_heading = "ssh"
    )]
    options: Vec<String>,
    /// Copy this machine's program to the hosts, and take it away when they are done
    #[arg(long, conflicts_with = "program", help_heading = "ssh")]
    install: bool,
}

impl Engine for Ssh {
    /// Hosts of a list. More tasks than hosts are shared out in turn.
    fn draw(&mut self, wanted: Option<usize>) -> Result<Vec<String>, String> {
        let file = self.list.as_ref();
        let file = file.ok_or("say which hosts: --hosts FILE, with a host a line")?;
        let text = File::open(file)
            .and_then(|file| caps::HOSTS.text(file))
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let listed = ssh_hosts(&text).map_err(|why| format!("{}: {why}", file.display()))?;
        let count = wanted.unwrap_or(listed.len());
        self.hosts = listed.iter().cycle().take(count).cloned().collect();
        ssh_options(&self.options).map_err(|why| format!("--ssh-option: {why}"))?;
        Ok(self.hosts.iter().map(SshHost::name).collect())
    }

    fn places(&self) -> Option<usize> {
        Some(self.hosts.len())
    }

    fn run(&self, call: &Call<'_>, tasks: &[u32]) -> Result<BTreeMap<u32, Known>, Error> {
        let ended = AtomicBool::new(false);
        let running: Mutex<BTreeMap<u32, Remote<'_>>> = Mutex::new(BTreeMap::new());
        let one = |&task: &u32| {
            if call.stop.raised() {
                return None;
            }
            let remote = self.remote(call, task);
            let name = remote.name();
            held(&running).insert(task, remote.clone());
            let found = remote.run(|what| (call.say)(&format!("{name}: {what}")));
            held(&running).remove(&task);
            let (text, known) = match found {
                Ok(Ended::Done) => ("done".to_owned(), None),
                Ok(Ended::Partial(why)) => {
                    (format!("broken off ({why}); the bundle is partial"), None)
                }
                Err(why) => (why.clone(), Some((task, Known::Failed(why)))),
            };
            (call.say)(&format!("{name}: {text}"));
            known
        };
        std::thread::scope(|scope| {
            // The stop is passed on to the hosts, whose studies then keep what they have and end.
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    if call.stop.raised() {
                        (call.say)("telling the hosts to stop; what they measured is kept");
                        let hosts: Vec<Remote<'_>> = held(&running).values().cloned().collect();
                        hosts.iter().for_each(Remote::stop);
                        return;
                    }
                    std::thread::sleep(LOOK_EVERY);
                }
            });
            let known = parallel::map_by(self.side_by_side as usize, tasks, one, |_| ());
            ended.store(true, Ordering::Relaxed);
            Ok(known.into_iter().flatten().collect())
        })
    }

    fn look(&self, call: &Call<'_>, tasks: &[u32]) -> Result<BTreeMap<u32, Known>, Error> {
        let bundles = Bundles::of(call.fleet, call.plan).map_err(unwritable)?;
        let one = |&task: &u32| {
            let had = bundles.by_task.contains_key(&task);
            Some((task, self.remote(call, task).look(had)?))
        };
        let known = parallel::map_by(self.side_by_side as usize, tasks, one, |_| ());
        Ok(known.into_iter().flatten().collect())
    }
}

impl Ssh {
    fn remote<'a>(&self, call: &Call<'a>, task: u32) -> Remote<'a> {
        Remote {
            fleet: call.fleet,
            plan: call.plan,
            program: call.program,
            options: self.options.clone(),
            host: self.hosts[task as usize].clone(),
            install: self.install,
            task,
        }
    }
}

fn held<T>(lock: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
