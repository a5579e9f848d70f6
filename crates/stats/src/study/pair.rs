//! What one arm against the reference can say about SMT.

use coretwin_base::arm::ArmState;
use coretwin_base::plan::{Comparison, Plan, PlanArm};

/// What this arm against the reference can say. A study may mix arms; a plain CPU set on either side
/// makes the pair a plain comparison, whatever the other arms are.
#[must_use]
pub fn pair_comparison(plan: &Plan, arm: &PlanArm) -> Comparison {
    let reference = plan.arm(&plan.reference_arm);
    let is_plain = |arm: &PlanArm| matches!(arm.state, ArmState::Cpus(_));
    if is_plain(arm) || reference.is_some_and(is_plain) {
        return Comparison::None;
    }
    plan.comparison
}
