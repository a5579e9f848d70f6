//! `coretwin sched doctor`.

use crate::exit::{DONE, NOT_POSSIBLE};
use crate::out;
use anyhow::Result;
use coretwin_base::schema::SCHEMA;
use coretwin_host::root::Root;
use coretwin_host::sched_ext::cookies;
use coretwin_host::sched_ext::doctor::{self, Check, Examiner, Level, can_load, examine};
use coretwin_report::topology::beside;
use serde::Serialize;

/// Whether a scheduler can be loaded here. Exit status 3 where something blocks.
#[derive(Serialize)]
struct Findings {
    schema: u32,
    can_load: bool,
    checks: Vec<Check>,
}

pub(crate) fn checks(root: &Root) -> Vec<Check> {
    // The question about cookies is one to the running kernel.
    let unknown = |_| Err(rustix::io::Errno::NODEV);
    let cookie: &dyn Fn(u32) -> Result<u64, rustix::io::Errno> =
        if root.is_system() { &cookies::ask } else { &unknown };
    let cannot_load = (!cfg!(feature = "bpf")).then(|| coretwin_bpf::Error::NotBuilt.to_string());
    examine(root, &Examiner { cookie, cannot_load })
}

pub(super) fn run(root: &Root, json: bool) -> Result<u8> {
    let checks = checks(root);
    let can_load = can_load(&checks);
    if json {
        out::json(&Findings { schema: SCHEMA, can_load, checks })?;
    } else {
        out::text(&describe(&checks, can_load, out::page(usize::MAX)))?;
    }
    Ok(if can_load { DONE } else { NOT_POSSIBLE })
}

fn describe(checks: &[Check], can_load: bool, page: usize) -> String {
    let mut text = String::new();
    for check in checks {
        let word = match check.level {
            Level::Ok => "ok",
            Level::Mind => "mind",
            Level::Blocks => "BLOCKS",
        };
        beside(&mut text, &format!("{word:<7} {:<16} ", check.name), &check.found, page);
        if !check.remedy.is_empty() {
            beside(&mut text, &format!("{:<24} -> ", ""), &check.remedy, page);
        }
    }
    let end = match can_load {
        true => "a scheduler can be loaded here: sudo coretwin sched start",
        false => "no scheduler can be loaded here; everything else of coretwin works without it",
    };
    beside(&mut text, "", end, page);
    text
}

/// Why it cannot be loaded here, in one sentence a finding; none if nothing is known to be in the way.
pub(crate) fn refusal(root: &Root) -> Option<String> {
    doctor::refusal(&checks(root))
}
