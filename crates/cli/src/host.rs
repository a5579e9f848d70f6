//! What several verbs need of this host: its topology, and the user behind sudo.

use crate::exit::usage;
use anyhow::{Context, Result};
use coretwin_base::account::probe::Probe;
use coretwin_base::machine::topology::Topology;
use coretwin_base::machine::ways::WithoutSmt;
use coretwin_host::root::Root;
use coretwin_host::topology::{read, read_and_remember, state_folder};
use coretwin_lab::probe;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Where this user's findings are kept.
pub(crate) fn state(root: &Root) -> PathBuf {
    state_folder(root, &|name| std::env::var(name).ok())
}

/// The topology below a root. That of the real machine is remembered, because the kernel forgets
/// the siblings of a CPU that goes offline.
pub(crate) fn topology(root: &Root) -> Result<Topology> {
    let topology =
        if root.is_system() { read_and_remember(root, &state(root)) } else { read(root) };
    topology.context("cannot read the topology of this machine")
}

pub(crate) fn probed(root: &Root) -> Option<Probe> {
    if root.is_system() { probe::recall(root, &state(root)) } else { None }
}

/// Remembers what a probe found, unless a better one is known. That the folder cannot be written is no error: a study then says
/// that nothing was probed.
pub(crate) fn remember(root: &Root, found: &Probe) {
    let state = state(root);
    match probe::remember(root, &state, found) {
        Ok(None) => {}
        Ok(Some(better)) => crate::out::news(&format!(
            "this is not remembered, for it says less than {}, which stays",
            probe::sentence(&better)
        )),
        Err(error) => {
            crate::out::news(&format!("cannot remember this in {}: {error}", state.display()));
        }
    }
}

/// The words of the call with those of a file of options among them, once there is one.
static SAID: OnceLock<Vec<String>> = OnceLock::new();

/// From here on the call was with these words.
pub(crate) fn said(words: Vec<String>) {
    // One call reads one file.
    let _ = SAID.set(words);
}

/// The words this program was called with; what is not UTF-8 in them is replaced.
pub(crate) fn words() -> Vec<String> {
    if let Some(words) = SAID.get() {
        return words.clone();
    }
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

pub(crate) fn working_folder() -> Result<Option<String>> {
    let Ok(folder) = std::env::current_dir() else { return Ok(None) };
    folder.into_os_string().into_string().map(Some).map_err(|folder| {
        usage(format!(
            "the name of the working folder '{}' is not UTF-8, and records are; start from another",
            folder.display()
        ))
    })
}

/// User and group to whom written files belong: those of whoever called sudo.
pub(crate) fn owner(root: &Root) -> Result<Option<(u32, u32)>> {
    Ok(coretwin_host::user::invoking_user(root)?.map(|user| (user.uid, user.gid)))
}

/// What SMT costs in security here, and the ways to go without it.
pub(crate) fn without_smt(root: &Root, topology: &Topology) -> WithoutSmt {
    // The question is one to the running kernel.
    let core_scheduling = match root.is_system() {
        true => coretwin_workloads::worker::core_sched_available(),
        false => Err("not known for a machine that does not run".to_owned()),
    };
    coretwin_host::smt::ways::without_smt(root, topology, core_scheduling)
}
