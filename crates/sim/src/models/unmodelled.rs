//! Workloads without a model, and why. A test holds that every workload has one or stands here.

/// Names of workloads, or the beginning of names up to a slash, with the reason.
pub const UNMODELLED: &[(&str, &str)] = &[(
    "kernel-2.4/",
    "its rows ask questions of the core that `simulate core --experiment` answers directly",
)];
