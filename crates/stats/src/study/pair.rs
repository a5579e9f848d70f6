//! What one arm against the reference can say about SMT.

use coretwin_base::study::arm::ArmState;
use coretwin_base::study::plan::{Comparison, Plan, PlanArm};

/// What this arm against the reference can say. A study may mix arms; only two that differ in
/// whether work may use siblings say something about SMT, whatever the other arms are.
pub fn pair_comparison(plan: &Plan, arm: &PlanArm) -> Comparison {
    let Some(reference) = plan.arm(&plan.reference_arm) else { return plan.comparison };
    // Under two schedulers a difference may be theirs.
    if plan.comparison == Comparison::None || arm.scheduler != reference.scheduler {
        return Comparison::None;
    }
    let states = [&arm.state, &reference.state];
    let one_is = |state: &ArmState| states.contains(&state);
    let one_uses_siblings = states.iter().any(|state| {
        matches!(state, ArmState::On | ArmState::OnCores | ArmState::CoreSched | ArmState::Packed)
    });
    let boots_differ = arm.smt.is_some() && reference.smt.is_some() && arm.smt != reference.smt;
    if (one_uses_siblings && one_is(&ArmState::Off)) || boots_differ {
        Comparison::Smt
    } else if one_uses_siblings && one_is(&ArmState::OnePerCore) {
        Comparison::StandIn
    } else {
        Comparison::None
    }
}
