//! Every workload: its model, or why it has none. A test holds that every workload is here.

use super::load::{Family, Row};
use super::{aim9, chat, dbench, lmbench, tbench};

pub const TABLE: &[&Family] =
    &[&lmbench::FAMILY, &aim9::FAMILY, &chat::FAMILY, &dbench::FAMILY, &tbench::FAMILY];

/// Workloads without a model: names, or the beginning of names up to a slash, with the reason.
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
        "service/",
        "a server of our own, which the article does not have: nothing to fit its service times to",
    ),
    (
        "tbench-threads",
        "a variant of our own, which the article does not have: nothing to fit it to",
    ),
];

pub fn find(workload: &str) -> Option<(&'static Family, &'static Row)> {
    let rows = TABLE.iter().flat_map(|family| family.rows.iter().map(move |row| (*family, row)));
    rows.into_iter().find(|(_, row)| row.workload == workload)
}

pub fn reason(workload: &str) -> Option<&'static str> {
    let is_of =
        |prefix: &str| workload == prefix || prefix.ends_with('/') && workload.starts_with(prefix);
    UNMODELLED.iter().find(|(prefix, _)| is_of(prefix)).map(|(_, reason)| *reason)
}
