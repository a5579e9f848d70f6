//! Which scheduler is in charge, told from two files of the kernel's
//! (Documentation/scheduler/sched-ext.rst): everybody who asks gets the same answer.

use crate::simulation::live::Policy;
use crate::study::arm::KERNEL;

/// Whether a scheduler is loaded, below the root: `disabled`, `enabling`, `enabled`, `disabling`.
/// A kernel without sched_ext has no such file.
pub const STATE: &str = "sys/kernel/sched_ext/state";
/// The name that the loaded scheduler gave itself, below the root.
pub const OPS: &str = "sys/kernel/sched_ext/root/ops";

/// The scheduler in charge, as an arm names it: `kernel` for the kernel's own, its policy's name for ours,
/// else the loaded scheduler's own name. One that is on its way in or out shows that. The arguments
/// are what the two files hold; `None` where they cannot be read.
pub fn in_charge(state: Option<&str>, ops: Option<&str>) -> String {
    let state = state.map_or("disabled", str::trim);
    let name = match ops.map(str::trim) {
        Some("") | None => "unnamed",
        Some(name) => Policy::of_ops(name).map_or(name, |policy| policy.name),
    };
    match state {
        "disabled" => KERNEL.to_owned(),
        "enabled" => name.to_owned(),
        passing => format!("{name} ({passing})"),
    }
}

/// The name of an arm's scheduler without its parameters: `core-queue` of `core-queue[active=off]`.
pub fn name_of(scheduler: &str) -> &str {
    scheduler.split_once('[').map_or(scheduler, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_and_the_kernels_own_have_the_names_of_arms() {
        for (state, ops, expected) in [
            (None, None, "kernel"),
            (Some("disabled\n"), None, "kernel"),
            (Some("enabled\n"), Some("coretwin_core_queue\n"), "core-queue"),
            (Some("enabled"), Some("coretwin_linux_2_4_19"), "linux-2.4.19"),
            (Some("enabled"), Some("coretwin_linux_2_5_32_a9"), "linux-2.5.32-a9"),
            (Some("enabled"), Some("lavd_1.0.9"), "lavd_1.0.9"),
            (Some("enabled"), None, "unnamed"),
            (Some("disabling"), Some("coretwin_core_queue"), "core-queue (disabling)"),
        ] {
            assert_eq!(in_charge(state, ops), expected);
        }
    }
}
