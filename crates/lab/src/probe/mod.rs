//! `probe` on this machine: who shares a core, found by contention.

mod meter;
mod remembered;

use crate::error::Error;
use crate::machine::{MachineError, Stop};
use coretwin_account::probe::meter::{Meter, MeterError};
use coretwin_account::probe::{self, Findings, Options};
use coretwin_base::account::probe::{Contention, Foreign, Probe};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::Topology;
use coretwin_base::schema::SCHEMA;
use coretwin_host::observe::CpuTimes;
use coretwin_host::root::Root;
use coretwin_host::{affinity, environment, observe};
use meter::HostMeter;

pub use remembered::{judged, recall, remember, sentence, warning};

#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub cpus: CpuSet,
    /// Most time it may take, in seconds.
    pub budget_s: f64,
    /// Whether others are kept off the CPUs while a round lasts.
    pub exclusive: bool,
    pub caches: bool,
    pub seed: u64,
}

/// The budget is this many times the time of a probe that nobody disturbs, at least.
const ROOM: f64 = 1.5;

/// About how long a probe takes that nobody disturbs, in seconds.
pub fn expected_s(request: &Request) -> f64 {
    let cpus = request.cpus.len();
    let rounds = probe::rounds_expected(cpus, request.caches);
    f64::from(rounds) * meter::round_s(Contention::Ports, cpus, request.exclusive)
}

pub fn check(topology: &Topology, request: &Request) -> Result<(), Error> {
    affinity::validate(topology, &request.cpus).map_err(Error::NotPossible)?;
    if request.cpus.len() < 2 {
        return Err(Error::Usage(format!(
            "CPU {} alone shares nothing with anybody; name two CPUs at least",
            request.cpus
        )));
    }
    let least_s = expected_s(request) * ROOM;
    if request.budget_s < least_s {
        return Err(Error::Usage(format!(
            "a probe of {} CPUs takes about {} if nobody disturbs it, so a budget of {} is too \
             small; give --budget {:.0}s or more",
            request.cpus.len(),
            coretwin_base::units::human_seconds(least_s / ROOM),
            coretwin_base::units::human_seconds(request.budget_s),
            least_s.ceil()
        )));
    }
    Ok(())
}

/// Probes. `progress` hears how many seconds have gone by. Errors: what [`check`] refuses; the
/// loops cannot be started, or die; the user stops it.
pub fn probe(
    root: &Root,
    topology: &Topology,
    request: &Request,
    stop: &Stop,
    progress: &mut dyn FnMut(f64),
) -> Result<Probe, Error> {
    check(topology, request)?;
    if topology.is_emulated() {
        return Ok(record(root, topology, request, Findings::default(), Vec::new(), 0.0));
    }
    let machine = |error| match error {
        MeterError::Stopped => MachineError::Stopped,
        MeterError::Failed(why) => MachineError::Refused(why),
    };
    let times = || observe::cpu_times(root).map_err(|e| MachineError::Refused(e.to_string()));
    let before = times()?;
    let mut meter =
        HostMeter::start(topology, &request.cpus, request.exclusive, stop).map_err(machine)?;
    let options = Options {
        cpus: request.cpus.clone(),
        budget_s: request.budget_s,
        caches: request.caches,
        seed: request.seed,
    };
    let found = probe::find(&mut meter, &options, progress).map_err(machine)?;
    let elapsed_s = meter.elapsed_s();
    let foreign = foreign(&found, &request.cpus, &before, &times()?, elapsed_s, &meter);
    Ok(record(root, topology, request, found, foreign, elapsed_s))
}

fn record(
    root: &Root,
    topology: &Topology,
    request: &Request,
    found: Findings,
    foreign: Vec<Foreign>,
    elapsed_s: f64,
) -> Probe {
    let started = jiff::Timestamp::now() - jiff::SignedDuration::from_secs_f64(elapsed_s);
    let utc = |s: f64| {
        let at = started + jiff::SignedDuration::from_secs_f64(s);
        at.round(jiff::Unit::Second).unwrap_or(at).to_string()
    };
    let (from_s, until_s) = found.valid_s.unwrap_or((0.0, elapsed_s));
    let reported = reported(topology, &request.cpus);
    let emulated = topology.is_emulated();
    let undecided = if emulated { request.cpus.clone() } else { found.undecided };
    Probe {
        schema: SCHEMA,
        cpus: request.cpus.clone(),
        agrees_with_reported: (undecided.is_empty() && topology.cores_of(&request.cpus).is_some())
            .then(|| same(&found.groups, &reported)),
        pairs: found.pairs,
        groups: found.groups,
        alone: found.alone,
        undecided,
        shared: found.shared,
        confidence: found.confidence,
        reported,
        foreign,
        meaningless: emulated.then(|| {
            "this processor is emulated in software, so what its CPUs share is the time of the \
             emulator, whatever the kernel reports"
                .to_owned()
        }),
        rounds: found.rounds,
        rounds_disturbed: found.rounds_disturbed,
        elapsed_s,
        budget_s: request.budget_s,
        out_of_time: found.out_of_time,
        exclusive: request.exclusive,
        valid_from_utc: utc(from_s),
        valid_until_utc: utc(until_s),
        boot_id: environment::session(root).0,
        seed: request.seed,
    }
}

/// What the kernel says of these CPUs: those of a core together, two at least.
fn reported(topology: &Topology, cpus: &CpuSet) -> Vec<CpuSet> {
    let cores = topology.usable_cores().into_iter().map(|(_, core)| core.intersection(cpus));
    cores.filter(|core| core.len() > 1).collect()
}

fn same(found: &[CpuSet], reported: &[CpuSet]) -> bool {
    let sorted = |sets: &[CpuSet]| {
        let mut sets = sets.to_vec();
        sets.sort();
        sets
    };
    sorted(found) == sorted(reported)
}

/// Who else was at work: where a round was disturbed, or a good part of the time was used by
/// others.
fn foreign(
    found: &Findings,
    cpus: &CpuSet,
    before: &CpuTimes,
    after: &CpuTimes,
    elapsed_s: f64,
    meter: &HostMeter,
) -> Vec<Foreign> {
    /// Share of a CPU that the kernel's own housekeeping may use unmentioned.
    const UNMENTIONED: f64 = 0.02;
    let share = |seconds: f64| (seconds / elapsed_s.max(1e-3)).clamp(0.0, 1.0);
    let of = |cpu| {
        let observed = after.since(before, &[cpu].into_iter().collect());
        let own_s = meter.own_s.get(&cpu).copied().unwrap_or(0.0);
        let disturbed = found.disturbed.iter().find(|(one, _, _)| *one == cpu);
        Foreign {
            cpu,
            rounds_share: disturbed.map_or(0.0, |(_, share, _)| *share),
            busy_share: share(observed.busy_s - own_s),
            steal_share: share(observed.steal_s),
            prevents: disturbed.is_some_and(|(_, _, given_up)| *given_up),
        }
    };
    let shown =
        |one: &Foreign| one.rounds_share > 0.0 || one.busy_share + one.steal_share > UNMENTIONED;
    cpus.iter().map(of).filter(shown).collect()
}
