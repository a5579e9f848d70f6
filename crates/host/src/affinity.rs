//! The CPUs this process may use, and whether a set of CPUs can be used at all.

use crate::{Error, root::Root};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::Topology;

/// The affinity mask of this process as the kernel reports it, already cut to its cpuset
/// (`Cpus_allowed_list` of `/proc/self/status`); `None` if it does not say. Errors:
/// [`Error::Content`] if the line is there and is no CPU list.
pub fn mask(root: &Root) -> Result<Option<CpuSet>, Error> {
    let path = "proc/self/status";
    let text = root.text(path).unwrap_or_default();
    let Some(list) = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")) else {
        return Ok(None);
    };
    match CpuSet::parse(list) {
        Ok(cpus) => Ok(Some(cpus)),
        Err(bad) => {
            Err(Error::Content { path: root.path(path), why: format!("Cpus_allowed_list: {bad}") })
        }
    }
}

/// Checks that every CPU of a set can be used here, now. Errors: a sentence that names the CPUs
/// that do not exist, are offline, or are not allowed, each with what there is instead.
pub fn validate(topology: &Topology, cpus: &CpuSet) -> Result<(), String> {
    let present: CpuSet = topology.cpus.iter().map(|cpu| cpu.cpu).collect();
    let missing = cpus.difference(&present);
    let offline = cpus.intersection(&present).difference(&topology.online);
    let forbidden = cpus.intersection(&topology.online).difference(&topology.allowed);
    let mut wrong = Vec::new();
    if cpus.is_empty() {
        wrong.push("the set of CPUs is empty".to_owned());
    }
    let mut say = |set: &CpuSet, one: &str, many: &str, instead: String| {
        if !set.is_empty() {
            let (noun, verb) = if set.len() == 1 { ("CPU", one) } else { ("CPUs", many) };
            wrong.push(format!("{noun} {set} {verb} ({instead})"));
        }
    };
    say(&missing, "does not exist", "do not exist", format!("this machine has {present}"));
    say(&offline, "is offline", "are offline", format!("online: {}", topology.online));
    say(
        &forbidden,
        "is not allowed to this process",
        "are not allowed to this process",
        format!("allowed: {}", topology.allowed),
    );
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fake, topology};

    #[test]
    fn every_unusable_cpu_is_named() {
        let (_folder, root) = fake::written("offline-by-hand");
        let topology = topology::read(&root).expect("topology");
        let check = |list: &str| validate(&topology, &CpuSet::parse(list).expect("list"));
        assert_eq!(check("0-1"), Ok(()));
        let error = check("0,3,99").expect_err("unusable");
        assert!(error.contains("CPU 99 does not exist (this machine has 0-7)"), "{error}");
        assert!(error.contains("CPU 3 is offline (online: 0-2,4,6-7)"), "{error}");
        let (_folder, root) = fake::written("container-half-core");
        let topology = topology::read(&root).expect("topology");
        let error = validate(&topology, &CpuSet::parse("2,6").expect("list")).expect_err("cpuset");
        assert_eq!(error, "CPU 6 is not allowed to this process (allowed: 1-2,5)");
        assert!(validate(&topology, &CpuSet::new()).is_err());
    }
}
