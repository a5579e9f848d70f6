//! The one way to change the machine: a file is written, or a task is told its CPUs.
//!
//! Reads go through [`Root`]; writes go through a [`Kernel`], so that a test can have a fake one
//! that acts on a fake root as the kernel does (`fake::kernel`).

use crate::process::pid;
use crate::root::{CPUS, Root};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use serde::Serialize;
use std::io::{self, Write as _};

pub trait Kernel: Send + Sync {
    /// Writes a text to a file of the kernel, in one call. The path is below the root.
    fn write(&self, path: &str, text: &str) -> io::Result<()>;

    /// Sets the CPUs a task (a thread, by its id) may use: sched_setaffinity(2).
    fn set_affinity(&self, task: u32, cpus: &CpuSet) -> io::Result<()>;
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Write {
    /// The file, with its leading `/`; or a system call.
    pub path: String,
    pub text: String,
    /// Done only if the writes before it did not bring that about already.
    pub if_needed: bool,
}

impl Write {
    /// Takes a CPU offline that the word may have brought online.
    pub(super) fn offline_if_needed(cpu: CpuId) -> Self {
        Self { path: format!("/{}", online_file(cpu)), text: "0".to_owned(), if_needed: true }
    }
}

/// The file that takes a CPU online and offline.
pub(super) fn online_file(cpu: CpuId) -> String {
    format!("{CPUS}/cpu{cpu}/online")
}

#[derive(Debug, Clone)]
pub struct SystemKernel(pub Root);

impl Kernel for SystemKernel {
    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        // The kernel reads a whole word from one call, and sees no call at all for an empty text.
        let text = format!("{}\n", text.trim_end());
        let mut file = std::fs::OpenOptions::new().write(true).open(self.0.path(path))?;
        loop {
            match file.write(text.as_bytes()) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn set_affinity(&self, task: u32, cpus: &CpuSet) -> io::Result<()> {
        let mut mask = rustix::thread::CpuSet::new();
        for cpu in cpus.iter() {
            let cpu = cpu.0 as usize;
            if cpu >= rustix::thread::CpuSet::MAX_CPU {
                let why = "affinities of CPUs from 1024 on cannot be set by this program";
                return Err(io::Error::new(io::ErrorKind::Unsupported, why));
            }
            mask.set(cpu);
        }
        let Some(task) = pid(task) else { return Err(io::ErrorKind::InvalidInput.into()) };
        Ok(rustix::thread::sched_setaffinity(Some(task), &mask)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity;

    #[test]
    fn a_word_is_written_whole_and_no_file_is_made() {
        let folder = tempfile::tempdir().expect("folder");
        let kernel = SystemKernel(Root::at(folder.path()));
        let path = folder.path().join("control");
        std::fs::write(&path, "").expect("write");
        kernel.write("control", "off").expect("written");
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "off\n");
        // An empty list still is a call.
        kernel.write("control", "").expect("written");
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "\nff\n");
        let error = kernel.write("missing", "on").expect_err("missing");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn affinities_are_set_and_refused() {
        let root = Root::system();
        let own = affinity::mask(&root).expect("mask").expect("known");
        let kernel = SystemKernel(root);
        let task = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        kernel.set_affinity(task, &own).expect("as it is");
        kernel.set_affinity(task, &CpuSet::new()).expect_err("no CPU at all");
        kernel.set_affinity(0, &own).expect_err("no task");
        let far = CpuSet::parse("5000").expect("list");
        let error = kernel.set_affinity(task, &far).expect_err("too large").to_string();
        assert!(error.contains("from 1024 on"), "{error}");
    }
}
