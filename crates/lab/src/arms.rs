//! Arms on this machine: from what was typed to CPU sets and thread numbers.

use crate::error::Error;
use coretwin_base::machine::cpu_set::{CoreId, CpuSet};
use coretwin_base::machine::topology::Topology;
use coretwin_base::simulation::live::{Options, POLICIES};
use coretwin_base::study::arm::{ArmSpec, ArmState, KERNEL};
use coretwin_base::study::boot::Promise;
use coretwin_base::study::plan::{Comparison, PlanArm, Split, Variant};
use coretwin_base::suggest;
use std::collections::BTreeSet;

fn typed(state: ArmState) -> ArmSpec {
    ArmSpec { label: state.to_string(), state, scheduler: KERNEL.to_owned() }
}

/// The arm of a study that compares commands and names none.
pub(crate) fn all_cpus() -> ArmSpec {
    typed(ArmState::On)
}

/// The arms of a study that names none: `one-per-core` and `on` where siblings are visible, else
/// half of the CPUs and all of them (which says nothing about SMT), else the one CPU there is.
pub(crate) fn default_arms(topology: &Topology) -> Vec<ArmSpec> {
    if topology.has_usable_siblings() {
        return vec![typed(ArmState::OnePerCore), typed(ArmState::On)];
    }
    let half: CpuSet = topology.allowed.iter().take(topology.allowed.len().div_ceil(2)).collect();
    if half == topology.allowed {
        return vec![typed(ArmState::Cpus(half))];
    }
    vec![typed(ArmState::Cpus(half)), typed(ArmState::Cpus(topology.allowed.clone()))]
}

pub fn resolve(specs: &[ArmSpec], topology: &Topology) -> Result<Vec<PlanArm>, Error> {
    check_labels(specs.iter().map(|spec| &spec.label))?;
    let is_boot = |spec: &&ArmSpec| matches!(spec.state, ArmState::Boot(_));
    if let (Some(boot), Some(other)) =
        (specs.iter().find(is_boot), specs.iter().find(|spec| !is_boot(spec)))
    {
        return Err(Error::Usage(format!(
            "arms {} and {} cannot be in one study: every visit to a boot arm is a boot of its own, \
             and the others would share one; make all of them boots, like boot:smt and boot:nosmt",
            boot.label, other.label
        )));
    }
    specs.iter().map(|spec| resolve_one(spec, topology)).collect()
}

/// These arms once for each command, the commands of an arm together, each against the first there; and
/// the reference once more, if a control is asked for.
pub(crate) fn crossed(arms: Vec<PlanArm>, variants: &[Variant], control: bool) -> Vec<PlanArm> {
    let many = arms.len() > 1;
    let label = |arm: &PlanArm, variant: &Variant| match many {
        true => format!("{}/{}", arm.label, variant.name),
        false => variant.name.clone(),
    };
    let with = |arm: &PlanArm, place: usize| PlanArm {
        label: label(arm, &variants[place]),
        about: format!("{} on {}", variants[place].typed(), arm.about),
        against: (place > 0 && arm.label != arms[0].label).then(|| label(arm, &variants[0])),
        variant: Some(variants[place].clone()),
        ..arm.clone()
    };
    let mut all: Vec<PlanArm> = match variants {
        [] => arms.clone(),
        _ => {
            arms.iter().flat_map(|arm| (0..variants.len()).map(|place| with(arm, place))).collect()
        }
    };
    if let Some(first) = all.first().filter(|_| control) {
        let (label, about) = (format!("{}/again", first.label), format!("{}, again", first.about));
        all.push(PlanArm { label, about, control: true, ..first.clone() });
    }
    all
}

/// Two arms, each with the threads of the first and with those of the second, where that is asked.
pub(crate) fn split(
    arms: Vec<PlanArm>,
    is_asked: bool,
) -> Result<(Vec<PlanArm>, Option<Split>), Error> {
    if !is_asked {
        return Ok((arms, None));
    }
    let [few, many] = arms.as_slice() else {
        let why = "--split takes two arms, the one with fewer CPUs first, like --arm cpus:0 --arm cpus:0-1";
        return Err(Error::Usage(why.to_owned()));
    };
    let is_within = few.cpus.is_subset(&many.cpus) && few.scheduler == many.scheduler;
    if few.threads >= many.threads || !is_within {
        return Err(Error::Usage(format!(
            "--split: the CPUs of {} must be some of those of {}, with as many threads as CPUs and \
             under the same scheduler",
            few.label, many.label
        )));
    }
    let cell = |arm: &PlanArm, threads: u32| PlanArm {
        label: format!("{}/{threads}", arm.label),
        about: format!("{}, {threads} thread{}", arm.about, if threads == 1 { "" } else { "s" }),
        threads,
        ..arm.clone()
    };
    let [reference, threads] = [few, many].map(|of| cell(few, of.threads));
    let siblings = cell(many, few.threads);
    let both = PlanArm { against: Some(threads.label.clone()), ..cell(many, many.threads) };
    let [of_threads, of_siblings, of_both] =
        [&threads, &siblings, &both].map(|arm| arm.label.clone());
    let split = Split { threads: of_threads, siblings: of_siblings, both: of_both };
    Ok((vec![reference, threads, siblings, both], Some(split)))
}

pub(crate) fn check_labels<'a>(labels: impl Iterator<Item = &'a String>) -> Result<(), Error> {
    let mut known = BTreeSet::new();
    match labels.into_iter().find(|label| !known.insert(*label)) {
        None => Ok(()),
        Some(label) => Err(Error::Usage(format!(
            "two arms are called '{label}'; give one another label, like b=STATE"
        ))),
    }
}

fn resolve_one(spec: &ArmSpec, topology: &Topology) -> Result<PlanArm, Error> {
    let scheduler = scheduler_about(spec)?;
    require_cores(spec, topology)?;
    let cores = topology.usable_cores();
    let all = topology.allowed.clone();
    let (cpus, threads, about) = match &spec.state {
        ArmState::On => {
            let on =
                topology.cores_of(&all).map_or("unknown".to_owned(), |cores| cores.to_string());
            let about = format!("all {} CPUs on {on} cores", all.len());
            (all.clone(), all.len(), about)
        }
        ArmState::OnePerCore => {
            let firsts: CpuSet = cores.iter().filter_map(|(_, cpus)| cpus.first()).collect();
            let about = format!("one CPU on each of {} cores, by affinity", cores.len());
            (firsts, cores.len(), about)
        }
        ArmState::Packed => packed(&cores, &spec.label)?,
        ArmState::OnCores => {
            let about = format!(
                "all {} CPUs, but only {} threads, one per core; the scheduler places them",
                all.len(),
                cores.len()
            );
            (all.clone(), cores.len(), about)
        }
        ArmState::CoreSched => {
            require_siblings(topology, &spec.label)?;
            let about = format!("all {} CPUs, a core-scheduling cookie per process", all.len());
            (all.clone(), all.len(), about)
        }
        ArmState::Cpus(cpus) => {
            coretwin_host::affinity::validate(topology, cpus)
                .map_err(|why| Error::NotPossible(format!("arm {}: {why}", spec.label)))?;
            (
                cpus.clone(),
                cpus.len(),
                if cpus.len() == 1 { format!("CPU {cpus}") } else { format!("CPUs {cpus}") },
            )
        }
        ArmState::Off => off(topology, &spec.label)?,
        // Its CPUs are those of the boot; `Plan::with_boots` fills them in.
        ArmState::Boot(name) => {
            (CpuSet::new(), 0, format!("all CPUs of a boot {}", Promise::of(name).how()))
        }
    };
    Ok(PlanArm {
        label: spec.label.clone(),
        state: spec.state.clone(),
        scheduler: spec.scheduler.clone(),
        cores: topology.cores_of(&cpus).unwrap_or(0),
        threads: threads as u32,
        smt: (spec.state == ArmState::Off).then_some(false),
        cpus,
        about: format!("{about}{scheduler}"),
        ..PlanArm::default()
    })
}

/// What is said of an arm's scheduler: nothing of the kernel's own.
fn scheduler_about(spec: &ArmSpec) -> Result<String, Error> {
    let usage = |why: String| Error::Usage(format!("arm {}: {why}", spec.label));
    if spec.scheduler == KERNEL {
        return Ok(String::new());
    }
    let Some(options) = Options::of_scheduler(&spec.scheduler).map_err(usage)? else {
        let ours = POLICIES.iter().map(|policy| policy.name);
        let known: Vec<&str> = std::iter::once(KERNEL).chain(ours).collect();
        let why = suggest::unknown("scheduler", &spec.scheduler, &known);
        return Err(usage(format!("{why}; simulated machines have more")));
    };
    match spec.state {
        ArmState::CoreSched => Err(usage(format!(
            "core-scheduling cookies together with a loaded scheduler are known to stop machines; \
             leave out '@{}'",
            spec.scheduler
        ))),
        ArmState::Boot(_) => Err(usage(format!(
            "a boot is measured under the kernel's own scheduler; leave out '@{}'",
            spec.scheduler
        ))),
        _ => {
            let changed = options.changed();
            let with = match changed.is_empty() {
                true => String::new(),
                false => format!(" with {}", changed.join(", ")),
            };
            Ok(format!("; under {}, loaded for each visit{with}", options.policy().name))
        }
    }
}

/// The CPUs that stay when SMT is switched off: the first of each core. The topology is that of the
/// machine with SMT on.
fn off(topology: &Topology, label: &str) -> Result<(CpuSet, usize, String), Error> {
    if !topology.smt.switchable {
        let instead = match topology.has_usable_siblings() {
            true => "'one-per-core' stands in for it without touching the machine",
            false => "and no core shows two siblings, so no arm can stand in for it",
        };
        let why = &topology.smt.why;
        let said = format!("arm {label}: SMT cannot be switched here: {why}; {instead}");
        return Err(Error::NotPossible(said));
    }
    require_siblings(topology, label)?;
    // The kernel keeps the first thread of a core, whatever of it we may use.
    let stays = topology.cpus.iter().filter(|cpu| cpu.siblings.first().is_none_or(|s| cpu.cpu < s));
    let cpus: CpuSet =
        stays.map(|cpu| cpu.cpu).filter(|cpu| topology.allowed.contains(*cpu)).collect();
    if cpus.is_empty() {
        return Err(Error::NotPossible(format!(
            "arm {label}: with SMT off none of the CPUs allowed here ({}) would stay online",
            topology.allowed
        )));
    }
    let about = format!("SMT switched off: {} CPUs, one on each core", cpus.len());
    let threads = cpus.len();
    Ok((cpus, threads, about))
}

fn packed(cores: &[(CoreId, CpuSet)], label: &str) -> Result<(CpuSet, usize, String), Error> {
    let width = cores.first().map_or(1, |(_, cpus)| cpus.len());
    if width < 2 || cores.iter().any(|(_, cpus)| cpus.len() != width) {
        return Err(Error::NotPossible(format!(
            "arm {label}: packed needs the same number of usable siblings, two or more, on every core"
        )));
    }
    if !cores.len().is_multiple_of(width) {
        return Err(Error::NotPossible(format!(
            "arm {label}: packed puts one thread per core onto the siblings of fewer cores, which needs \
             a number of cores divisible by {width}; here are {}",
            cores.len()
        )));
    }
    let used = cores.len() / width;
    let cpus: CpuSet = cores[..used].iter().flat_map(|(_, cpus)| cpus.iter()).collect();
    let about =
        format!("{} threads on all siblings of {used} of {} cores", cpus.len(), cores.len());
    let threads = cpus.len();
    Ok((cpus, threads, about))
}

/// Refuses arms that choose CPUs by their cores where these are unknown.
fn require_cores(spec: &ArmSpec, topology: &Topology) -> Result<(), Error> {
    let unknown = topology.allowed.intersection(&topology.cores_unknown);
    let needs_none = matches!(spec.state, ArmState::On | ArmState::Cpus(_));
    // A boot is told by smt/active alone, where there is one.
    let is_told = matches!(spec.state, ArmState::Boot(_)) && topology.smt.active.is_some();
    if unknown.is_empty() || needs_none || is_told {
        return Ok(());
    }
    Err(Error::NotPossible(format!(
        "arm {}: which of the CPUs {unknown} share a core is unknown here ({}); name the CPUs, like \
         cpus:{unknown}",
        spec.label, topology.trust_why
    )))
}

fn require_siblings(topology: &Topology, label: &str) -> Result<(), Error> {
    if topology.has_usable_siblings() {
        return Ok(());
    }
    Err(Error::NotPossible(format!(
        "arm {label}: no core shows two usable siblings here; coretwin topology says why"
    )))
}

/// What these arms can say about SMT: only arms of one scheduler say something.
pub fn comparison(arms: &[PlanArm], topology: &Topology) -> Comparison {
    let schedulers: BTreeSet<&str> = arms.iter().map(|arm| arm.scheduler.as_str()).collect();
    let says = |wanted: Comparison| {
        let of = |scheduler: &str| {
            let states = arms.iter().filter(|arm| arm.scheduler == scheduler);
            comparison_of(&states.map(|arm| &arm.state).collect::<Vec<_>>(), topology)
        };
        schedulers.iter().any(|scheduler| of(scheduler) == wanted)
    };
    let known = [Comparison::Smt, Comparison::StandIn];
    known.into_iter().find(|wanted| says(*wanted)).unwrap_or(Comparison::None)
}

fn comparison_of(states: &[&ArmState], topology: &Topology) -> Comparison {
    let with_siblings = states.iter().any(|state| {
        matches!(state, ArmState::On | ArmState::OnCores | ArmState::CoreSched | ArmState::Packed)
    });
    if with_siblings && states.contains(&&ArmState::Off) {
        Comparison::Smt
    } else if with_siblings
        && topology.has_usable_siblings()
        && states.contains(&&ArmState::OnePerCore)
    {
        Comparison::StandIn
    } else {
        Comparison::None
    }
}
