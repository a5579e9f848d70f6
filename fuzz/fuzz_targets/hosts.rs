//! Lists of machines: hosts of ssh, nodes and features of Slurm. No name is an option.

#![no_main]

// By its path: of all that its crate builds on it needs nothing.
#[allow(dead_code, reason = "names of hosts are for engines")]
#[path = "../../crates/lab/src/fleet/hosts.rs"]
mod hosts;

use hosts::{constraints, nodes, ssh_hosts};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(hosts) = ssh_hosts(text) {
        assert!(hosts.len() <= text.lines().count());
        assert!(hosts.iter().all(|host| !host.destination.starts_with('-')));
    }
    if let Ok(nodes) = nodes(text) {
        assert!(!nodes.is_empty());
    }
    if let Ok(places) = constraints(text) {
        assert!(!places.is_empty());
    }
});
