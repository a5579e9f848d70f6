//! The one way to change the machine: a file is written, or a task is told its CPUs.
//!
//! Reads go through [`Root`]; writes go through a [`Kernel`], so that a test can have a fake one
//! that acts on a fake root as the kernel does ([`crate::fake::kernel`]).

use crate::root::Root;
use coretwin_base::cpu_set::CpuSet;
use std::io::{self, Write};

/// Whoever carries out writes.
pub trait Kernel: Send + Sync {
    /// Writes a text to a file of the kernel, in one call. The path is below the root.
    ///
    /// # Errors
    /// What the kernel answered, with its errno.
    fn write(&self, path: &str, text: &str) -> io::Result<()>;

    /// Sets the CPUs a task (a thread, by its id) may use: sched_setaffinity(2).
    ///
    /// # Errors
    /// What the kernel answered, with its errno.
    fn set_affinity(&self, task: u32, cpus: &CpuSet) -> io::Result<()>;
}

/// The kernel this program runs on.
#[derive(Debug, Clone)]
pub struct SystemKernel {
    root: Root,
}

impl SystemKernel {
    /// The kernel whose files are under this root.
    #[must_use]
    pub fn new(root: Root) -> Self {
        Self { root }
    }
}

impl Kernel for SystemKernel {
    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        // The kernel reads a whole word from one call, and sees no call at all for an empty text.
        let text = format!("{}\n", text.trim_end());
        let mut file = std::fs::OpenOptions::new().write(true).open(self.root.path(path))?;
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
        let task = i32::try_from(task).ok().and_then(rustix::process::Pid::from_raw);
        let Some(task) = task else { return Err(io::ErrorKind::InvalidInput.into()) };
        Ok(rustix::thread::sched_setaffinity(Some(task), &mask)?)
    }
}
