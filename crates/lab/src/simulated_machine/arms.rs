//! Arms of a simulated machine: booted with SMT or without it, under any policy.

use super::Described;
use crate::error::Error;
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::study::arm::{ArmSpec, ArmState, KERNEL};
use coretwin_base::study::plan::PlanArm;
use coretwin_sim::policies::Settings;

/// The arms of a study that names none. On the article's machine both boots under each of its
/// policies; on others the boot without SMT under the first policy, and that with SMT under each.
pub(super) fn default_arms(machine: &Described) -> Vec<ArmSpec> {
    let typed = |state: ArmState, policy: &String| ArmSpec {
        label: format!("{state}@{policy}"),
        state,
        scheduler: policy.clone(),
    };
    let has_siblings = machine.topology.has_usable_siblings();
    let mut arms = Vec::new();
    for (place, policy) in machine.policies.iter().enumerate() {
        if has_siblings && (machine.is_articles || place == 0) {
            arms.push(typed(ArmState::Off, policy));
        }
        arms.push(typed(ArmState::On, policy));
    }
    arms
}

/// Resolves the arms on that machine.
///
/// # Errors
/// [`Error::Usage`] for two arms of one label and for policies that there are not;
/// [`Error::NotPossible`] for states that this machine cannot have.
pub(super) fn resolve(specs: &[ArmSpec], machine: &Described) -> Result<Vec<PlanArm>, Error> {
    crate::arms::check_labels(specs)?;
    specs.iter().map(|spec| resolve_one(spec, machine)).collect()
}

fn resolve_one(spec: &ArmSpec, machine: &Described) -> Result<PlanArm, Error> {
    let first = machine.policies.first().map_or("fair", String::as_str);
    let policy = if spec.scheduler == KERNEL { first } else { &spec.scheduler };
    let policy = Settings::parse(policy)
        .map_err(|why| Error::Usage(format!("arm {}: {why}", spec.label)))?;
    let topology = &machine.topology;
    let cores = topology.usable_cores();
    let has_siblings = topology.has_usable_siblings();
    let refused = |why: String| Err(Error::NotPossible(format!("arm {}: {why}", spec.label)));
    let cpus: CpuSet = match &spec.state {
        ArmState::On => topology.allowed.clone(),
        ArmState::Off if has_siblings => {
            cores.iter().filter_map(|(_, cpus)| cpus.first()).collect()
        }
        ArmState::Off => {
            return refused(format!(
                "{} has no siblings that could be off; compare policies instead, like --arm on@fair \
                 --arm on@core-queue",
                machine.name
            ));
        }
        ArmState::OnePerCore => {
            return refused(
                "on a simulated machine one task per core is a policy; write on@one-per-core"
                    .to_owned(),
            );
        }
        other => {
            return refused(format!(
                "a simulated machine is booted with SMT or without it: on@POLICY or off@POLICY, not \
                 {other}"
            ));
        }
    };
    let smt = spec.state == ArmState::On && has_siblings;
    let about = format!(
        "{} CPU{} on {} core{}{}, under {}",
        cpus.len(),
        if cpus.len() == 1 { "" } else { "s" },
        cores.len(),
        if cores.len() == 1 { "" } else { "s" },
        match (has_siblings, smt) {
            (false, _) => "",
            (true, false) => ", SMT off",
            (true, true) => ", SMT on",
        },
        policy.text()
    );
    Ok(PlanArm {
        label: spec.label.clone(),
        state: spec.state.clone(),
        scheduler: policy.text(),
        cores: cores.len() as u32,
        threads: cpus.len() as u32,
        smt: Some(smt),
        cpus,
        about,
    })
}
