//! Siblings remembered from when every CPU was online: the kernel's lists omit offline CPUs, so
//! what shares a core with what must be noted before SMT is switched off.
//!
//! A small text file, `siblings`, in a state folder:
//!
//! ```text
//! coretwin siblings 1
//! machine 0-3 Intel(R) Xeon(R) CPU
//! cpu 0 package 0 node 0 core_id 0 cluster - siblings 0,2
//! ```
//!
//! A file of another machine (other CPUs, other processor name) is ignored.

use super::cores::Place;
use crate::root::{Root, replace};
use crate::{Error, user};
use coretwin_base::caps;
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::machine::topology::{CpuInfo, Topology};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Where root remembers things, under the root folder.
pub(crate) const SYSTEM_STATE: &str = "var/lib/coretwin";

const FILE: &str = "siblings";
const HEADER: &str = "coretwin siblings 1";

/// The folder where this user's findings are remembered: `/var/lib/coretwin` for root, else
/// `$XDG_STATE_HOME/coretwin`, else `~/.local/state/coretwin` (XDG base directories). `variable`
/// reads the environment.
pub fn state_folder(root: &Root, variable: &dyn Fn(&str) -> Option<String>) -> PathBuf {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if user::effective_user(root) == Some(0) {
        return root.path(SYSTEM_STATE);
    }
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    state.map_or_else(|| root.path(SYSTEM_STATE), |state| state.join("coretwin"))
}

fn machine(cpuinfo: &CpuInfo, present: &CpuSet) -> String {
    let model = cpuinfo.model_name.as_deref().unwrap_or("unknown");
    format!("machine {present} {}", model.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The remembered places, if they are of this machine.
pub(super) fn load(
    state: &Path,
    cpuinfo: &CpuInfo,
    present: &CpuSet,
) -> Option<BTreeMap<CpuId, Place>> {
    let path = state.join(FILE);
    let text = caps::STATE.text(std::fs::File::open(&path).ok()?).ok()?;
    let source = format!("remembered in {}", path.display());
    parse(&text, &machine(cpuinfo, present), &source)
}

fn parse(text: &str, machine: &str, source: &str) -> Option<BTreeMap<CpuId, Place>> {
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) || lines.next() != Some(machine) {
        return None;
    }
    let mut places = BTreeMap::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let value = |name| Some(words.chunks_exact(2).find(|pair| pair[0] == name)?[1]);
        let cpu = CpuId(value("cpu")?.parse().ok()?);
        let siblings = CpuSet::parse(value("siblings")?).ok()?;
        let place = Place {
            cpu,
            package: value("package")?.parse().ok()?,
            node: value("node")?.parse().ok()?,
            core_id: value("core_id")?.parse().ok(),
            cluster: value("cluster")?.parse().ok(),
            siblings: siblings.contains(cpu).then_some(siblings)?,
            source: Some(source.to_owned()),
        };
        places.insert(cpu, place);
    }
    Some(places)
}

/// Remembers the siblings, if every CPU is online, its core is known, and they are not remembered
/// already.
pub(super) fn store(state: &Path, topology: &Topology) -> Result<(), Error> {
    if topology.cores.is_none() || topology.cpus.iter().any(|cpu| !cpu.online) {
        return Ok(());
    }
    let mut text = format!("{HEADER}\n{}\n", machine(&topology.cpuinfo, &topology.online));
    let number = |n: Option<i64>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
    for cpu in &topology.cpus {
        let mut siblings = cpu.siblings.clone();
        siblings.insert(cpu.cpu);
        let _ = writeln!(
            text,
            "cpu {} package {} node {} core_id {} cluster {} siblings {siblings}",
            cpu.cpu,
            cpu.package,
            cpu.node,
            number(cpu.kernel_core_id),
            number(cpu.cluster),
        );
    }
    let path = state.join(FILE);
    let old = std::fs::File::open(&path).and_then(|file| caps::STATE.text(file));
    if old.is_ok_and(|old| old == text) {
        return Ok(());
    }
    std::fs::create_dir_all(state)
        .and_then(|()| replace(&path, &text))
        .map_err(|cause| Error::Write { path, cause })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_file_of_another_machine_or_shape_is_ignored() {
        let good = "coretwin siblings 1\nmachine 0-1 X\n\
                    cpu 0 package 0 node 0 core_id 0 cluster - siblings 0-1\n";
        let places = parse(good, "machine 0-1 X", "here").expect("places");
        assert_eq!(places[&CpuId(0)].siblings.to_string(), "0-1");
        assert_eq!(places[&CpuId(0)].cluster, None);
        assert_eq!(parse(good, "machine 0-3 X", "here"), None);
        assert_eq!(parse(&good.replace("0-1\n", "1\n"), "machine 0-1 X", "here"), None);
        assert_eq!(parse(&good.replace("node 0 ", ""), "machine 0-1 X", "here"), None);
    }

    #[test]
    fn the_state_folder_follows_the_user() {
        let (folder, root) = crate::fake::of_files(&[]);
        let status = |uid: u32| {
            let text = format!("Uid:\t{uid}\t{uid}\t{uid}\t{uid}\n");
            crate::fake::put(&root, &[("proc/self/status", &text)]);
        };
        let home = |name: &str| (name == "HOME").then(|| "/home/ada".to_owned());
        status(1000);
        assert_eq!(state_folder(&root, &home), Path::new("/home/ada/.local/state/coretwin"));
        status(0);
        assert_eq!(state_folder(&root, &home), folder.path().join("var/lib/coretwin"));
    }

    proptest! {
        #[test]
        fn never_panics(text in "(coretwin siblings 1\\n)?(machine m\\n)?(cpu|[a-z_ 0-9,\\-\\n])*") {
            let _ = parse(&text, "machine m", "here");
        }
    }
}
