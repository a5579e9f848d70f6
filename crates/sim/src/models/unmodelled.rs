//! Workloads without a model, and why. A test holds that every workload has one or stands here.

/// Names of workloads, or the beginning of names up to a slash, with the reason.
pub const UNMODELLED: &[(&str, &str)] = &[
    (
        "aim9/sieve",
        "it measures where the kernel put the pages of one array; \
         `simulate core --experiment sieve-pages` shows that",
    ),
    (
        "aim9/sync_disk_cp",
        "each printed figure is one call of a minute's half, from which nothing follows",
    ),
    (
        "aim9/sync_disk_rw",
        "each printed figure is one call of some ten seconds, from which nothing follows",
    ),
    ("aim9/sync_disk_update", "the article has no figure of it"),
    (
        "aim9/sync_disk_wrt",
        "each printed figure is one call of a minute's half, from which nothing follows",
    ),
    ("chat-futex", "a variant of our own, which the article does not have: nothing to fit it to"),
    ("chat-nodelay", "a variant of our own, which the article does not have: nothing to fit it to"),
    (
        "kernel-2.4/",
        "its rows ask questions of the core that `simulate core --experiment` answers directly",
    ),
    (
        "lmbench-more/",
        "a row of LMbench that the article does not print: nothing to fit its service time to",
    ),
    (
        "tbench-threads",
        "a variant of our own, which the article does not have: nothing to fit it to",
    ),
];
