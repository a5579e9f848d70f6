//! A scenario under some policies, with some seeds.

use super::record::record;
use super::speeds::Speeds;
use crate::error::Error;
use crate::simulated_core::parallel;
use coretwin_base::simulation::kernel_run::SchedRun;
use coretwin_sim::kernel::scenario::Scenario;
use coretwin_sim::kernel::{self, Cause, Failure, Layout, Options, Outcome};
use coretwin_sim::policies::Settings;

/// The most tasks alive at once.
const TASKS_MAX: usize = 150_000;

/// The most events of a run: some minutes.
const EVENTS_MAX: u64 = 2_000_000_000;

/// What to run.
#[derive(Debug, Clone)]
pub struct Request {
    /// The work.
    pub scenario: Scenario,
    /// The machine, and how it is written.
    pub layout: Layout,
    /// The machine as it was written.
    pub topology: String,
    /// How fast tasks run.
    pub speeds: Speeds,
    /// The policies.
    pub policies: Vec<Settings>,
    /// The first seed.
    pub seed: u64,
    /// How many seeds, from the first upwards.
    pub seeds: u32,
    /// Decisions that are kept of each run.
    pub decisions_max: usize,
    /// Spans of the timeline that are kept of each run.
    pub spans_max: usize,
}

/// Runs it, side by side: for each policy in its order, every seed. `done` hears how many of how many
/// are done.
///
/// # Errors
/// [`Error::Usage`] for work that this machine cannot do, that comes to a deadlock, that makes tasks
/// without end or gets no further; the message says which task and why. [`Error::NotPossible`] where
/// a policy broke its contract.
pub fn run(request: &Request, mut done: impl FnMut(usize, usize)) -> Result<Vec<SchedRun>, Error> {
    let seeds = (0..u64::from(request.seeds.max(1))).map(|n| request.seed.wrapping_add(n));
    let seeds: Vec<u64> = seeds.collect();
    let grid = request.policies.iter().flat_map(|policy| seeds.iter().map(move |s| (*policy, *s)));
    let grid: Vec<(Settings, u64)> = grid.collect();
    let runs = parallel::map(
        &grid,
        |(policy, seed)| {
            let outcome = outcome(request, *policy, *seed)?;
            Ok(record(request, &outcome))
        },
        |finished| done(finished, grid.len()),
    );
    runs.into_iter().collect()
}

/// What runs of the scenario on its own machine made otherwise than it expects, a sentence each, for
/// every policy of the request. Speeds, machine and seeds of the request are not used.
///
/// # Errors
/// As [`run`].
pub fn check(request: &Request) -> Result<Vec<(String, Vec<String>)>, Error> {
    let scenario = &request.scenario;
    let own = Request {
        layout: scenario.layout().map_err(Error::Usage)?,
        speeds: Speeds::uniform(scenario, scenario.slowdown)?,
        decisions_max: 0,
        spans_max: 0,
        ..request.clone()
    };
    let checked = parallel::map(
        &own.policies,
        |policy| {
            let outcome = outcome(&own, *policy, 1)?;
            Ok((policy.text(), scenario.broken(&outcome)))
        },
        |_| {},
    );
    checked.into_iter().collect()
}

/// One run.
pub(super) fn outcome(request: &Request, policy: Settings, seed: u64) -> Result<Outcome, Error> {
    let scenario = &request.scenario;
    let machine = scenario.machine(request.layout.clone(), request.speeds.table.clone());
    let options = Options {
        seed,
        until_ns: scenario.until_ns,
        warmup_ns: scenario.warmup_ns,
        decisions_max: request.decisions_max,
        spans_max: request.spans_max,
        events_max: EVENTS_MAX,
        tasks_max: TASKS_MAX,
        ..Options::new(policy)
    };
    kernel::run(&machine, &scenario.work_on(&request.layout), &options)
        .map_err(|failure| refusal(request, policy, &failure))
}

fn refusal(request: &Request, policy: Settings, failure: &Failure) -> Error {
    let (scenario, topology) = (&request.scenario.name, &request.topology);
    let message = format!("{scenario} on {topology} under {}: {failure}", policy.text());
    match failure.cause {
        Cause::Policy => Error::NotPossible(message),
        _ => Error::Usage(message),
    }
}
