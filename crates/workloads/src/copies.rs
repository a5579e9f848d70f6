//! Copies of a row side by side: a process each, all ready before the first begins, all measured to
//! the end of the last. AIM9 and LMbench are run so.

use crate::scratch::{self, DIR, Scratch};
use crate::semaphores::{Claim, KEYS_MAX};
use crate::supervisor::{Launch, Supervisor, Task};
use crate::workload::{
    CopyRule, Job, Outcome, ParamSpec, ParamValue, Params, Ran, Telling, text, wrong,
};
use crate::{Error, answer, leftovers, role};
use coretwin_base::machine::cpu_set::CpuSet;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const AUTO: &str = "auto";
/// What a copy's folder needs for a few small files, in KiB.
const SMALL_FILES_KIB: u64 = 4096;
/// Ending the copies has this long, in seconds, whatever ended the run.
const CLEANUP_S: f64 = 30.0;

pub(crate) const COPIES: ParamSpec = ParamSpec::text(
    "copies",
    "1",
    "copies side by side: a number, or auto for one on each CPU of the arm",
);

pub(crate) fn check(workload: &'static str, params: &Params) -> Result<(), Error> {
    let copies = params.get(COPIES.name).and_then(ParamValue::as_int);
    if text(params, COPIES.name) == AUTO || copies.is_some_and(|n| (1..=65_536).contains(&n)) {
        return scratch::check(workload, params);
    }
    let why = "it is 'auto' or a whole number from 1 to 65536";
    Err(wrong(workload, params, COPIES.name, why))
}

pub(crate) fn rule(params: &Params) -> CopyRule {
    match params.get(COPIES.name).and_then(ParamValue::as_int) {
        Some(copies) => CopyRule::Fixed(u32::try_from(copies).unwrap_or(1)),
        None => CopyRule::PerCpu,
    }
}

/// Adds what a copy told to an outcome, but for metrics: the caller knows how those of several copies are
/// combined.
pub(crate) fn add(told: &Outcome, to: &mut Outcome) {
    to.cpus_ran = to.cpus_ran.union(&told.cpus_ran);
    to.notes.extend(told.notes.clone());
    told.checks.iter().for_each(|(name, held)| to.check(name, *held));
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Place {
    folder: Option<PathBuf>,
    pub(crate) key: Option<i32>,
    /// The CPUs of each of the row's roles, where a placement separates them.
    pub(crate) cpus: Vec<CpuSet>,
    pub(crate) core_sched: bool,
    pub(crate) params: Params,
}

impl Place {
    pub(crate) fn folder(&self) -> Result<&Path, Error> {
        let none = || Error::failed("the row was given no folder");
        self.folder.as_deref().ok_or_else(none)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Orders {
    row: String,
    place: Place,
    /// Whether it goes on until it is ended.
    company: bool,
}

/// Where copies run side by side, one that has finished goes on, uncounted, until the worker ends it:
/// so each is measured beside all others from its first moment to its last.
pub(crate) fn main<S, M, R: Serialize>(
    entered: Result<(), Error>,
    args: &[String],
    who: &str,
    set_up: impl FnOnce(&str, &Place) -> Result<S, Error>,
    measure: impl FnOnce(S, &Params) -> Result<(R, M), Error>,
    go_on: impl FnOnce(M, R),
) -> ExitCode {
    let measured = entered.and_then(|()| {
        let Orders { row, place, company }: Orders = role::orders(args, who)?;
        let ready = set_up(&row, &place)?;
        role::wait_for_release(&mut role::gate()?)?;
        measure(ready, &place.params).map(|(report, row)| (company, report, row))
    });
    let (company, report, row) = match measured {
        Ok(measured) => measured,
        Err(error) => return answer::say::<R>(&Err(error)),
    };
    let code = answer::say(&Ok(&report));
    if company {
        go_on(row, report);
    }
    code
}

/// What a row is: its role, its name, the room that a copy's folder needs in KiB, whether copies have keys.
pub(crate) type Kind = (&'static str, &'static str, u64, bool);

/// Runs every copy of a row to its end, each with its own folder if the row makes files, and its own key,
/// and makes of their reports an outcome. With one copy for each CPU, each has its own. Afterwards none of
/// them lives, and what they made is gone.
pub(crate) fn run<R: DeserializeOwned>(
    (role, row, folder_kib, has_keys): Kind,
    job: &Job,
    params: &Params,
    supervisor: &mut Supervisor,
    outcome: impl FnOnce(&[R], Option<&Scratch>) -> Ran,
) -> Ran {
    let copies = job.copies.max(1);
    let makes_files = params.contains_key(DIR.name);
    if has_keys && copies > KEYS_MAX {
        return Err(Error::failed(format!("{row} runs in at most {KEYS_MAX} copies")));
    }
    if makes_files || has_keys {
        leftovers::start_janitor(supervisor)?;
    }
    let bytes = ((folder_kib + SMALL_FILES_KIB) << 10) * u64::from(copies);
    let scratch = makes_files.then(|| Scratch::of(params, bytes)).transpose()?;
    let claim = has_keys.then(|| Claim::new(copies)).transpose()?;
    let orders = |copy: u32| -> Result<Orders, Error> {
        let folder =
            |scratch: &Scratch| scratch::subfolder(scratch.folder(), &format!("copy{copy}"));
        let place = Place {
            folder: scratch.as_ref().map(folder).transpose()?,
            key: claim.as_ref().map(|claim| claim.base.wrapping_add(copy.cast_signed())),
            cpus: job.roles.clone(),
            core_sched: job.core_sched,
            params: params.clone(),
        };
        Ok(Orders { row: row.to_owned(), place, company: job.copies > 1 })
    };
    let spread = text(params, COPIES.name) == AUTO;
    let ran = measure(role, job, spread, orders, supervisor);
    // Before their files are removed, every process that could make more must be gone.
    supervisor.last_orders(CLEANUP_S);
    supervisor.end_measured()?;
    drop(claim);
    let mut measured = outcome(&ran?, scratch.as_ref())?;
    if let Some(scratch) = scratch {
        scratch.end(&mut measured)?;
    }
    Ok(measured)
}

fn measure<R: DeserializeOwned>(
    role: &'static str,
    job: &Job,
    spread: bool,
    orders: impl Fn(u32) -> Result<Orders, Error>,
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
        let (args, cpus) = (
            vec![role::written(&orders(copy)?)?],
            own_cpus.get(copy as usize).or(job.roles.first()),
        );
        ids.push(supervisor.start(Launch::answering(role, args, cpus))?);
    }
    supervisor.wait_until_held(&ids)?;
    supervisor.release(&ids);
    let over = |supervisor: &Supervisor| {
        let mut tasks = ids.iter().map(|id| supervisor.task(*id));
        let failed = |task: &Task| task.exit.is_some_and(|(status, _)| !status.success());
        tasks.clone().flatten().any(failed)
            || tasks
                .all(|task| task.is_none_or(|task| task.exit.is_some() || answer::has_come(task)))
    };
    supervisor.wait(None, over)?;
    // A failure comes first: the other copies are only not done yet.
    if let Some(why) = ids.iter().find_map(|id| answer::failure(supervisor.task(*id)?, who)) {
        return Err(Error::failed(why));
    }
    ids.iter().map(|id| answer::of(supervisor.task(*id), who)).collect()
}
