//! Which machine this is, told from others without saying which.

use coretwin_base::fleet::MachineId;
use coretwin_host::root::Root;
use coretwin_store::fleet_bundle::sha256;

const DIGITS: usize = 16;

/// The id of the host below `root`, which its cluster calls `node`. From the machine id, which alone
/// would not do: images are cloned with it; and from the name, which alone would not do either.
pub fn of_host(root: &Root, node: &str) -> MachineId {
    let machine = root.fact("etc/machine-id").unwrap_or_default();
    hashed(&format!("coretwin machine\n{}\n{node}", machine.trim()))
}

/// The id of a simulated machine: equal ones measure equal things.
pub fn of_simulated(machine: &str, seed: u64) -> MachineId {
    hashed(&format!("coretwin simulated\n{machine}\n{seed}"))
}

/// The first name that a cluster gives this node, or its own name.
pub(super) fn node_name(root: &Root, mut told: impl Iterator<Item = String>) -> String {
    told.find(|name| !name.is_empty())
        .or_else(|| root.fact("proc/sys/kernel/hostname"))
        .unwrap_or_else(|| "unnamed".to_owned())
}

/// The variable that tells a pod its node.
pub(crate) const NODE_VARIABLE: &str = "CORETWIN_NODE";

fn hashed(text: &str) -> MachineId {
    sha256(text.as_bytes())[..DIGITS].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_with_other_names_are_other_machines_and_no_id_tells_the_original() {
        let folder = tempfile::tempdir().expect("folder");
        std::fs::create_dir(folder.path().join("etc")).expect("etc");
        let secret = "0123456789abcdef0123456789abcdef";
        std::fs::write(folder.path().join("etc/machine-id"), format!("{secret}\n")).expect("id");
        let root = Root::at(folder.path());
        let [a, b] = ["a", "b"].map(|node| of_host(&root, node));
        assert_ne!(a, b);
        assert_eq!(a, of_host(&root, "a"));
        assert_eq!(a.len(), DIGITS);
        assert!(!secret.contains(&*a));
    }

    #[test]
    fn the_cluster_names_the_node() {
        let root = Root::at("/nonexistent");
        assert_eq!(node_name(&root, ["n1".to_owned()].into_iter()), "n1");
        assert_eq!(node_name(&root, std::iter::empty()), "unnamed");
    }
}
