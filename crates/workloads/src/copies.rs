//! Copies of a row side by side: a process each, all ready before the first begins, all measured to
//! the end of the last.

use crate::supervisor::{Launch, Supervisor, Task};
use crate::{Error, answer};
use coretwin_base::cpu_set::CpuSet;
use coretwin_base::job::Job;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Runs every copy to its end, each with its orders, in a role. `spread`: with one copy for each
/// CPU, each has its own; else the scheduler decides where they run.
///
/// # Errors
/// Why a copy failed; the supervisor then ends the others.
pub(crate) fn run<O: Serialize, R: DeserializeOwned>(
    role: &'static str,
    job: &Job,
    spread: bool,
    orders: impl Fn(u32) -> Result<O, Error>,
    supervisor: &mut Supervisor,
) -> Result<Vec<R>, Error> {
    let copies = job.copies.max(1);
    let who = if copies > 1 { "a copy of the row" } else { "the row" };
    let own_cpus: Vec<CpuSet> = match spread && job.cpus.len() == job.copies as usize {
        true => job.cpus.iter().map(|cpu| std::iter::once(cpu).collect()).collect(),
        false => Vec::new(),
    };
    let mut ids = Vec::new();
    for copy in 0..copies {
        let orders = serde_json::to_string(&orders(copy)?)
            .map_err(|error| Error::system("cannot write the orders of a copy", error))?;
        ids.push(supervisor.start(Launch {
            role,
            args: vec![orders],
            cpus: own_cpus.get(copy as usize).or(job.roles.first()),
            folder: None,
            measured: true,
            keep: 1 << 20,
        })?);
    }
    let held = |supervisor: &Supervisor| {
        ids.iter().all(|id| supervisor.task(*id).is_none_or(Task::is_held))
    };
    supervisor.wait(None, held)?;
    supervisor.release(&ids);
    let over = |supervisor: &Supervisor| {
        let mut tasks = ids.iter().map(|id| supervisor.task(*id));
        let failed = |task: &Task| task.exit.is_some_and(|(status, _)| !status.success());
        tasks.clone().flatten().any(failed)
            || tasks
                .all(|task| task.is_none_or(|task| task.exit.is_some() || answer::has_come(task)))
    };
    supervisor.wait(None, over)?;
    // Who failed comes first: the others are only not done yet.
    if let Some(why) = ids.iter().find_map(|id| answer::failure(supervisor.task(*id)?, who)) {
        return Err(Error::failed(why));
    }
    ids.iter().map(|id| answer::of(supervisor.task(*id), who)).collect()
}
