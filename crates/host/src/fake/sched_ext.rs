//! sched_ext on a fake machine: its files in `/sys`, and the kernel's types as a build left them.

use crate::root::Root;
use crate::sched_ext::btf;
use coretwin_base::machine::scheduler::{OPS, STATE};
use std::io;

/// Gives a fake machine a kernel with sched_ext, in a state and with a scheduler of that name.
pub fn install(root: &Root, state: &str, ops: Option<&str>) -> io::Result<()> {
    put(root, STATE, format!("{state}\n").as_bytes())?;
    for (name, value) in [("switch_all", "1"), ("nr_rejected", "0"), ("hotplug_seq", "0")] {
        put(root, &format!("sys/kernel/sched_ext/{name}"), format!("{value}\n").as_bytes())?;
    }
    match ops {
        Some(ops) => put(root, OPS, format!("{ops}\n").as_bytes()),
        None => Ok(()),
    }
}

pub fn put(root: &Root, path: &str, bytes: &[u8]) -> io::Result<()> {
    let path = root.path(path);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, bytes)
}

/// The types of a kernel from 7.1 on, whose build took the hidden argument out of the public functions
/// of sched_ext, or did not.
pub fn btf(malformed: bool) -> Vec<u8> {
    let mut types = Types::default();
    let int = types.entry("int", 1, 4, &[32], 0);
    types.entry("colour", 6, 4, &[0, 0, 0, 1], 2);
    let flags = ["SCX_OPS_ENQ_MIGRATION_DISABLED", "SCX_OPS_ALLOW_QUEUED_WAKEUP"];
    let flags: Vec<u32> = flags.iter().flat_map(|name| [types.name(name), 1, 0]).collect();
    types.entry(btf::OPS_FLAGS, 19, 8, &flags, 2);
    let aux = types.entry("bpf_prog_aux", 4, 8, &[0, int, 0], 1);
    let constant = types.entry("", 10, aux, &[], 0);
    let pointer = types.entry("", 2, constant, &[], 0);
    let own = [("dsq_id", int), ("node", int)];
    let all = [own[0], own[1], ("aux", pointer)];
    types.function(btf::NEEDED, if malformed { &all } else { &own });
    types.function("scx_bpf_create_dsq_impl", &all);
    types.function("scx_bpf_kick_cpu", if malformed { &all } else { &own });
    types.function("scx_bpf_told", &[("aux__prog", pointer)]);
    types.function("scx_bpf_now", &[]);
    types.function("bpf_other", &all);
    types.finish()
}

#[derive(Debug, Default)]
pub struct Types {
    types: Vec<u8>,
    /// Behind the empty name, which comes first.
    names: Vec<u8>,
    count: u32,
}

impl Types {
    /// Adds an entry with what follows its head, and gives its number.
    pub fn entry(
        &mut self,
        name: &str,
        kind: u32,
        reference: u32,
        tail: &[u32],
        count: u32,
    ) -> u32 {
        let name = self.name(name);
        for word in [name, kind << 24 | count, reference].iter().chain(tail) {
            self.types.extend_from_slice(&word.to_le_bytes());
        }
        self.count += 1;
        self.count
    }

    fn function(&mut self, name: &str, parameters: &[(&str, u32)]) {
        let tail: Vec<u32> =
            parameters.iter().flat_map(|(name, kind)| [self.name(name), *kind]).collect();
        let count = u32::try_from(parameters.len()).unwrap_or(0);
        let prototype = self.entry("", 13, 0, &tail, count);
        self.entry(name, 12, prototype, &[], 1);
    }

    fn name(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let at = 1 + self.names.len();
        self.names.extend_from_slice(name.as_bytes());
        self.names.push(0);
        u32::try_from(at).unwrap_or(0)
    }

    pub fn finish(self) -> Vec<u8> {
        let names = [vec![0], self.names].concat();
        let length = |part: &[u8]| u32::try_from(part.len()).unwrap_or(0);
        let types = length(&self.types);
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        for word in [24, 0, types, types, length(&names)] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        [bytes, self.types, names].concat()
    }
}
