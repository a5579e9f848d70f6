//! Hosts of a list, by `ssh`.
//!
//! Of each host one folder below its home is used, `.coretwin-fleet/…`: the plan goes there, the study
//! runs there apart from the connection, the bundle is fetched from there, and then it is taken away.
//! So a connection that dies ends nothing: the study goes on, puts its machine back as it always does,
//! and the next call finds it running or fetches what it left.

mod remote;

use super::engine::{Call, Engine, Known};
use super::status::Bundles;
use super::task::unwritable;
use crate::error::Error;
use coretwin_base::fleet::plan::{FleetPlan, SshOptions};
use coretwin_store::fleet_folder::FleetFolder;
use remote::{Ended, Remote};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// How often a call that is waited for looks whether it is to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Hosts of a list.
pub(super) struct Ssh(pub(super) SshOptions);

impl Engine for Ssh {
    fn files(&self, _: &FleetFolder, _: &FleetPlan) -> Result<Vec<(String, String)>, Error> {
        Ok(Vec::new())
    }

    fn run(&self, call: &Call<'_>, tasks: &[u32]) -> Result<BTreeMap<u32, Known>, Error> {
        let known = Mutex::new(BTreeMap::new());
        let next = AtomicUsize::new(0);
        let ended = AtomicBool::new(false);
        let running: Mutex<BTreeMap<u32, Remote<'_>>> = Mutex::new(BTreeMap::new());
        let one = || {
            while let Some(&task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                if call.stop.raised() {
                    return;
                }
                let remote = self.remote(call, task);
                let name = remote.name();
                held(&running).insert(task, remote.clone());
                let found = remote.run(|what| (call.say)(&format!("{name}: {what}")));
                held(&running).remove(&task);
                match &found {
                    Ok(Ended::Done) => (call.say)(&format!("{name}: done")),
                    Ok(Ended::Partial(why)) => {
                        (call.say)(&format!("{name}: broken off ({why}); the bundle is partial"));
                    }
                    Err(why) => {
                        (call.say)(&format!("{name}: {why}"));
                        held(&known).insert(task, Known::Failed(why.clone()));
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..self.0.side_by_side.max(1)).map(|_| scope.spawn(one)).collect();
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
            for worker in workers {
                // A worker does not panic; if it did, the others' results count all the same.
                let _ = worker.join();
            }
            ended.store(true, Ordering::Relaxed);
        });
        Ok(known.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn look(&self, call: &Call<'_>, tasks: &[u32]) -> Result<BTreeMap<u32, Known>, Error> {
        let bundles = Bundles::of(call.fleet, call.plan).map_err(unwritable)?;
        let known = Mutex::new(BTreeMap::new());
        let next = AtomicUsize::new(0);
        let one = || {
            while let Some(&task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                let had = bundles.by_task.contains_key(&task);
                if let Some(found) = self.remote(call, task).look(had) {
                    held(&known).insert(task, found);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.0.side_by_side.max(1) {
                scope.spawn(one);
            }
        });
        Ok(known.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Ssh {
    fn remote<'a>(&self, call: &Call<'a>, task: u32) -> Remote<'a> {
        Remote {
            fleet: call.fleet,
            plan: call.plan,
            program: call.program,
            options: self.0.options.clone(),
            host: self.0.hosts[task as usize].clone(),
            install: self.0.install,
            task,
        }
    }
}

fn held<T>(lock: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
