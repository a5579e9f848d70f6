//! `probe` on this machine: who shares a core, found by contention.

mod meter;

use crate::error::Error;
use crate::machine::{MachineError, Stop};
pub use coretwin_account::probe::Options;
use coretwin_account::probe::meter::{Meter, MeterError};
use coretwin_account::probe::{self, Findings};
use coretwin_base::account::probe::{Contention, Foreign, Probe};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::{Topology, Trust};
use coretwin_base::schema::SCHEMA;
use coretwin_base::warning::Warning;
use coretwin_base::{caps, schema};
use coretwin_host::observe::CpuTimes;
use coretwin_host::root::Root;
use coretwin_host::{affinity, environment, observe};
use meter::HostMeter;
pub(crate) use meter::smallest as smallest_cache_kib;
use std::path::Path;

#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub options: Options,
    /// Whether others are kept off the CPUs while a round lasts.
    pub exclusive: bool,
}

/// The budget is this many times the time of a probe that nobody disturbs, at least.
const ROOM: f64 = 1.5;

/// About how long a probe takes that nobody disturbs, in seconds.
pub fn expected_s(request: &Request) -> f64 {
    let cpus = request.options.cpus.len();
    let rounds = probe::rounds_expected(cpus, request.options.caches);
    f64::from(rounds) * meter::round_s(Contention::Ports, cpus, request.exclusive)
}

pub fn check(topology: &Topology, request: &Request) -> Result<(), Error> {
    affinity::validate(topology, &request.options.cpus).map_err(Error::NotPossible)?;
    if request.options.cpus.len() < 2 {
        return Err(Error::Usage(format!(
            "CPU {} alone shares nothing with anybody; name two CPUs at least",
            request.options.cpus
        )));
    }
    let least_s = expected_s(request) * ROOM;
    if request.options.budget_s < least_s {
        return Err(Error::Usage(format!(
            "a probe of {} CPUs takes about {} if nobody disturbs it, so a budget of {} is too \
             small; give --budget {:.0}s or more",
            request.options.cpus.len(),
            coretwin_base::units::human_seconds(least_s / ROOM),
            coretwin_base::units::human_seconds(request.options.budget_s),
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
    let mut meter = HostMeter::start(topology, &request.options.cpus, request.exclusive, stop)
        .map_err(machine)?;
    let found = probe::find(&mut meter, &request.options, progress).map_err(machine)?;
    let elapsed_s = meter.elapsed_s();
    let foreign = foreign(&found, &request.options.cpus, &before, &times()?, elapsed_s, &meter);
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
    let reported = reported(topology, &request.options.cpus);
    let emulated = topology.is_emulated();
    let undecided = if emulated { request.options.cpus.clone() } else { found.undecided };
    Probe {
        schema: SCHEMA,
        cpus: request.options.cpus.clone(),
        agrees_with_reported: (undecided.is_empty()
            && topology.cores_of(&request.options.cpus).is_some())
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
        budget_s: request.options.budget_s,
        out_of_time: found.out_of_time,
        exclusive: request.exclusive,
        valid_from_utc: utc(from_s),
        valid_until_utc: utc(until_s),
        boot_id: environment::session(root).0,
        seed: request.options.seed,
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

const FILE: &str = "probe.json";

/// Keeps a result, in place of the last one; gives that back if it is better and stays. Errors: the
/// folder cannot be written.
pub fn remember(root: &Root, state: &Path, probe: &Probe) -> std::io::Result<Option<Probe>> {
    let stays = recall(root, state).filter(|last| !last.gives_way_to(probe));
    if stays.is_some() {
        return Ok(stays);
    }
    let text = serde_json::to_vec(probe).map_err(std::io::Error::other)?;
    let new = state.join(format!("{FILE}.{}", std::process::id()));
    std::fs::create_dir_all(state)?;
    std::fs::write(&new, text)?;
    std::fs::rename(&new, state.join(FILE))?;
    Ok(None)
}

/// The last result of this boot, if there is one that means something.
pub fn recall(root: &Root, state: &Path) -> Option<Probe> {
    let text = caps::STATE.read(std::fs::File::open(state.join(FILE)).ok()?).ok()?;
    let probe: Probe = serde_json::from_slice(&text).ok()?;
    let is_ours = schema::check(probe.schema).is_ok()
        && probe.meaningless.is_none()
        && probe.boot_id == environment::session(root).0;
    is_ours.then_some(probe)
}

/// A topology with what a probe says of it: trusted where the probe found what is reported, of
/// every CPU that may be used; else with a sentence that says what it found.
pub fn judged(mut topology: Topology, probe: Option<&Probe>) -> Topology {
    let Some(probe) = probe else { return topology };
    let is_whole = topology.allowed.is_subset(&probe.cpus) && probe.undecided.is_empty();
    let said = sentence(probe);
    if is_whole && probe.agrees_with_reported == Some(true) {
        topology.trust = Trust::Probed;
        topology.trust_why = format!("{said}, just as reported");
    } else {
        topology.trust_why = format!("{}; {said}", topology.trust_why);
    }
    topology
}

/// What has to be said with a study of CPUs that show no siblings.
pub fn warning(topology: &Topology, probe: Option<&Probe>) -> Option<Warning> {
    if topology.has_usable_siblings() {
        return None;
    }
    Some(match probe {
        None => Warning::new(
            "sharing-not-probed",
            "whether these CPUs share cores was not probed; they may, without showing it",
            "run `coretwin probe` before the study",
        ),
        Some(probe) => Warning::new(
            "sharing-probed",
            sentence(probe),
            "CPUs of a hypervisor may move at any time: probe again after the study to see whether \
             it still holds",
        ),
    })
}

/// What it found, how good it is, and when that was.
pub fn sentence(probe: &Probe) -> String {
    let sets = |sets: &[CpuSet]| {
        let sets: Vec<String> = sets.iter().map(|set| format!("{{{set}}}")).collect();
        sets.join(" ")
    };
    let mut said = format!("a probe until {} found ", probe.valid_until_utc);
    said += &match (probe.groups.is_empty(), probe.alone.is_empty()) {
        (true, true) => "nothing that can be said".to_owned(),
        (true, false) => format!("that none of the CPUs {} shares a core", probe.alone),
        (false, _) => {
            format!("that CPUs {} share a core or the time of one", sets(&probe.groups))
        }
    };
    if !probe.undecided.is_empty() {
        said += &format!(", and could not decide on CPUs {}", probe.undecided);
    }
    format!("{said} ({})", probe.quality())
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::machine::cpu_set::CpuId;

    fn found(root: &Root) -> Probe {
        let topology = Topology::regular(1, 2, 1);
        let cpus = topology.allowed.clone();
        let options = Options { cpus, budget_s: 1.0, caches: false, seed: 1 };
        let request = Request { options, exclusive: false };
        let findings = Findings { alone: topology.allowed.clone(), ..Default::default() };
        record(root, &topology, &request, findings, Vec::new(), 0.0)
    }

    #[test]
    fn a_result_holds_until_the_next_boot() {
        let (root, state) = (Root::system(), tempfile::tempdir().expect("folder"));
        assert_eq!(recall(&root, state.path()), None);
        let probe = found(&root);
        assert_eq!(remember(&root, state.path(), &probe).expect("written"), None);
        assert_eq!(recall(&root, state.path()).as_ref(), Some(&probe));
        let other = Probe { boot_id: "another".into(), ..probe };
        remember(&root, state.path(), &other).expect("written");
        assert_eq!(recall(&root, state.path()), None);
        std::fs::write(state.path().join(FILE), "{").expect("written");
        assert_eq!(recall(&root, state.path()), None);
    }

    #[test]
    fn a_worse_result_does_not_stand_in_for_a_better_one() {
        let (root, state) = (Root::system(), tempfile::tempdir().expect("folder"));
        let good = Probe { confidence: 0.999, rounds: 30, ..found(&root) };
        let [one, both] = ["1", "0-1"].map(|list| CpuSet::parse(list).expect("list"));
        let nothing = Probe { undecided: both.clone(), alone: CpuSet::new(), ..good.clone() };
        let part = Probe { undecided: one.clone(), alone: CpuSet::new(), ..good.clone() };
        let keep = |probe: &Probe| remember(&root, state.path(), probe).expect("written");
        assert_eq!(keep(&nothing), None, "there was none");
        assert_eq!(keep(&good), None, "it decides more");
        assert_eq!(keep(&nothing).as_ref(), Some(&good));
        assert_eq!(keep(&part).as_ref(), Some(&good));
        assert_eq!(recall(&root, state.path()).as_ref(), Some(&good));
        // A hypervisor has moved its CPUs: as sure as before, but otherwise.
        let moved = Probe { groups: vec![both], alone: CpuSet::new(), ..good.clone() };
        assert_eq!(keep(&moved), None);
        assert_eq!(recall(&root, state.path()), Some(moved));
        // How good it is goes with it wherever it is used.
        let said = sentence(&good);
        assert!(said.contains("2 of 2 CPUs decided, confidence 99.9 %"), "{said}");
        assert!(sentence(&nothing).contains("(undecided; 0 % of 30 rounds disturbed)"));
    }

    #[test]
    fn trust_follows_what_was_found() {
        let probe = found(&Root::system());
        let mut topology = Topology::regular(1, 2, 1);
        topology.trust = Trust::Unknown;
        let judge = |probe: &Probe| judged(topology.clone(), Some(probe));
        assert_eq!(judge(&probe).trust, Trust::Probed);
        let hidden = Probe {
            groups: vec![[CpuId(0), CpuId(1)].into_iter().collect()],
            alone: CpuSet::new(),
            agrees_with_reported: Some(false),
            ..probe.clone()
        };
        let judgement = judge(&hidden);
        assert_eq!(judgement.trust, Trust::Unknown);
        assert!(judgement.trust_why.contains("that CPUs {0-1} share a core"), "{judgement:?}");
        let part = Probe { cpus: [CpuId(0)].into_iter().collect(), ..probe.clone() };
        assert_eq!(judge(&part).trust, Trust::Unknown, "CPU 1 was not probed");
        assert_eq!(warning(&topology, None).expect("no siblings").kind, "sharing-not-probed");
        assert_eq!(warning(&topology, Some(&probe)).expect("told").kind, "sharing-probed");
        assert_eq!(warning(&Topology::regular(1, 2, 2), None), None);
    }
}
