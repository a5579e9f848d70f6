//! Fake machines: a few words of description, written as the files a real machine would have.
//!
//! For tests of this and of other crates, and for fuzzing: [`Fake::write`] fills a folder that
//! [`Root::at`] then reads. The named machines are the table [`FAKES`]. A fake proves only what we
//! believe about kernels; its files follow Documentation/admin-guide/cputopology.rst and
//! Documentation/ABI/testing/sysfs-devices-system-cpu.

pub mod crowd;
pub mod decay;
pub mod kernel;
mod machines;
mod program;
pub mod sched_ext;

pub use machines::FAKES;
pub use program::program;
#[cfg(test)]
pub(crate) use {machines::LISTING_1, tests::of_files, tests::put, tests::written};

use crate::root::{CPUS, Root};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

/// A machine in a few words. Counts are per next larger part.
#[derive(Debug, Clone, Copy)]
pub struct Fake {
    pub name: &'static str,
    /// What it stands for, in half a line.
    pub about: &'static str,
    pub packages: u32,
    pub nodes: u32,
    pub caches: u32,
    /// Size of each, in KiB; 0: the machine describes no caches at all.
    pub cache_kib: u32,
    pub cores: &'static [Cores],
    pub numbering: Numbering,
    pub offline: &'static str,
    /// The word of `smt/control`; none: a kernel without the folder.
    pub control: Option<&'static str>,
    pub form: Form,
    pub model: &'static str,
    /// Files that are added, or written instead of the usual ones: path and text.
    pub files: &'static [(&'static str, &'static str)],
    pub absent: &'static [&'static str],
}

#[derive(Debug, Clone, Copy)]
pub struct Cores {
    pub count: u32,
    pub threads: u32,
    /// Highest frequency in MHz; 0: no cpufreq.
    pub mhz: u32,
    /// `cpu_capacity`; 0: no such file.
    pub capacity: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbering {
    /// Siblings follow each other: 0 and 1, 2 and 3.
    Adjacent,
    /// First one CPU of every core, then the second of every core: 0 and N/2.
    Halves,
    /// Each core's numbers start at a multiple, with holes: 0-3, 8-11 for 8.
    Strided(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    X86,
    X86Guest,
    /// POWER without a hypervisor.
    Power,
    Arm,
}

#[derive(Debug, Clone)]
struct Thread {
    cpu: CpuId,
    package: u32,
    node: u32,
    cache: u32,
    core: u32,
    core_id: u32,
    cluster: u32,
    kind: Cores,
}

pub fn machine(name: &str) -> Option<&'static Fake> {
    FAKES.iter().find(|fake| fake.name == name)
}

impl Fake {
    pub fn write(&self, folder: &Path) -> io::Result<Root> {
        let threads = self.threads();
        let all: CpuSet = threads.iter().map(|thread| thread.cpu).collect();
        let offline = CpuSet::parse(self.offline).map_err(io::Error::other)?;
        let writer = Writer::new(folder);
        self.write_state(&writer, &threads, &all.difference(&offline), self.control)?;
        for (path, text) in self.files {
            writer.file(path, text)?;
        }
        for path in self.absent {
            writer.remove(path)?;
        }
        Ok(Root::at(folder))
    }

    /// Writes what depends on which CPUs exist and are online, and the rest.
    fn write_state(
        &self,
        writer: &Writer,
        threads: &[Thread],
        online: &CpuSet,
        control: Option<&str>,
    ) -> io::Result<()> {
        let all: CpuSet = threads.iter().map(|thread| thread.cpu).collect();
        self.write_masks(writer, &all, online)?;
        for thread in threads {
            self.write_cpu(writer, threads, thread, online)?;
        }
        self.write_smt(writer, threads, online, control)?;
        self.write_system(writer, threads, online)
    }

    fn threads(&self) -> Vec<Thread> {
        let mut threads = Vec::new();
        let (mut core, mut cluster) = (0, 0);
        let caches_all = self.packages * self.nodes * self.caches;
        for cache in 0..caches_all {
            let node = cache / self.caches;
            let package = node / self.nodes;
            for kind in self.cores {
                for index in 0..kind.count {
                    let cores_of_package = core_count(self.cores) * self.nodes * self.caches;
                    for thread in 0..kind.threads {
                        threads.push((
                            thread,
                            Thread {
                                cpu: CpuId(0),
                                package,
                                node,
                                cache,
                                core,
                                core_id: core % cores_of_package,
                                cluster,
                                kind: *kind,
                            },
                        ));
                    }
                    core += 1;
                    // Efficient cores share a second-level cache in fours.
                    let hybrid_cluster = self.cores.len() > 1 && kind.threads == 1;
                    if !hybrid_cluster || index % 4 == 3 {
                        cluster += 1;
                    }
                }
            }
        }
        if self.numbering == Numbering::Halves {
            threads.sort_by_key(|(thread, place)| (*thread, place.core));
        }
        let numbered = threads.into_iter().enumerate().map(|(position, (thread, place))| {
            let cpu = match self.numbering {
                Numbering::Strided(stride) => place.core * stride + thread,
                _ => u32::try_from(position).unwrap_or(u32::MAX),
            };
            Thread { cpu: CpuId(cpu), ..place }
        });
        let mut threads: Vec<Thread> = numbered.collect();
        threads.sort_by_key(|thread| thread.cpu);
        threads
    }

    fn write_masks(&self, writer: &Writer, all: &CpuSet, online: &CpuSet) -> io::Result<()> {
        let offline = all.difference(online);
        for (name, set) in
            [("possible", all), ("present", all), ("online", online), ("offline", &offline)]
        {
            writer.file(&format!("{CPUS}/{name}"), &format!("{set}\n"))?;
        }
        writer.file(&format!("{CPUS}/isolated"), "\n")?;
        let masks = format!(
            "Name:\tcoretwin\nUid:\t0\t0\t0\t0\nThreads:\t1\nCpus_allowed_list:\t{online}\n"
        );
        writer.file("proc/self/status", &masks)
    }

    fn write_cpu(
        &self,
        writer: &Writer,
        threads: &[Thread],
        own: &Thread,
        online: &CpuSet,
    ) -> io::Result<()> {
        let folder = format!("{CPUS}/cpu{}", own.cpu);
        writer.folder(&format!("{folder}/node{}", own.node))?;
        writer.folder(&format!("{folder}/hotplug"))?;
        // The first CPU of an x86 machine cannot be taken offline, and has no switch.
        if own.cpu.0 > 0 || !matches!(self.form, Form::X86 | Form::X86Guest) {
            let word = u8::from(online.contains(own.cpu));
            writer.file(&format!("{folder}/online"), &format!("{word}\n"))?;
        }
        if !online.contains(own.cpu) {
            writer.remove(&format!("{folder}/topology"))?;
            return writer.remove(&format!("{folder}/cache"));
        }
        let sharing = |same: &dyn Fn(&Thread) -> bool| -> CpuSet {
            let these = threads.iter().filter(|thread| same(thread)).map(|thread| thread.cpu);
            these.collect::<CpuSet>().intersection(online)
        };
        let core = sharing(&|other| other.core == own.core);
        let cluster = sharing(&|other| other.cluster == own.cluster);
        let cache = sharing(&|other| other.cache == own.cache);
        for (file, text) in [
            ("physical_package_id", own.package.to_string()),
            ("core_id", own.core_id.to_string()),
            ("cluster_id", own.cluster.to_string()),
            ("core_cpus_list", core.to_string()),
            ("thread_siblings_list", core.to_string()),
        ] {
            writer.file(&format!("{folder}/topology/{file}"), &format!("{text}\n"))?;
        }
        if self.cache_kib > 0 {
            for (index, level, kind, kib, cpus) in [
                (0, 1, "Data", 32, &core),
                (1, 2, "Unified", 1024, &cluster),
                (2, 3, "Unified", self.cache_kib, &cache),
            ] {
                let folder = format!("{folder}/cache/index{index}");
                writer.file(&format!("{folder}/level"), &format!("{level}\n"))?;
                writer.file(&format!("{folder}/type"), &format!("{kind}\n"))?;
                writer.file(&format!("{folder}/size"), &format!("{kib}K\n"))?;
                writer.file(&format!("{folder}/shared_cpu_list"), &format!("{cpus}\n"))?;
            }
        }
        write_power(writer, &folder, own.kind)
    }

    fn write_smt(
        &self,
        writer: &Writer,
        threads: &[Thread],
        online: &CpuSet,
        control: Option<&str>,
    ) -> io::Result<()> {
        let mut widths: BTreeMap<u32, u32> = BTreeMap::new();
        for thread in threads.iter().filter(|thread| online.contains(thread.cpu)) {
            *widths.entry(thread.core).or_default() += 1;
        }
        let active = widths.values().any(|width| *width > 1);
        if let Some(word) = control {
            writer.file(&format!("{CPUS}/smt/control"), &format!("{word}\n"))?;
            writer.file(&format!("{CPUS}/smt/active"), &format!("{}\n", u8::from(active)))?;
        }
        if matches!(self.form, Form::X86 | Form::X86Guest) {
            let (smt, stibp) =
                if active { ("vulnerable", "conditional") } else { ("disabled", "disabled") };
            let folder = format!("{CPUS}/vulnerabilities");
            let texts = [
                ("mds", format!("Mitigation: Clear CPU buffers; SMT {smt}\n")),
                ("spectre_v2", format!("Mitigation: Retpolines; STIBP: {stibp}; RSB filling\n")),
                ("meltdown", "Not affected\n".to_owned()),
            ];
            for (name, text) in texts {
                writer.file(&format!("{folder}/{name}"), &text)?;
            }
        }
        Ok(())
    }

    fn write_system(&self, writer: &Writer, threads: &[Thread], online: &CpuSet) -> io::Result<()> {
        let nodes = self.packages * self.nodes;
        for node in 0..nodes {
            let cpus: CpuSet = threads
                .iter()
                .filter(|thread| thread.node == node && online.contains(thread.cpu))
                .map(|thread| thread.cpu)
                .collect();
            writer.file(
                &format!("sys/devices/system/node/node{node}/cpulist"),
                &format!("{cpus}\n"),
            )?;
        }
        writer.file("proc/cpuinfo", &self.cpuinfo(threads, online))?;
        let mut stat = "cpu  0 0 0 0 0 0 0 0 0 0\n".to_owned();
        for cpu in online.iter() {
            let _ = writeln!(stat, "cpu{cpu} 100 0 50 10000 5 1 2 0 0 0");
        }
        writer.file("proc/stat", &stat)?;
        writer.file("proc/sys/kernel/hostname", &format!("{}\n", self.name))?;
        for (path, text) in machines::USUAL {
            writer.file(path, text)?;
        }
        writer.folder("bin")?;
        writer.link("dash", "bin/sh")
    }

    fn cpuinfo(&self, threads: &[Thread], online: &CpuSet) -> String {
        let mut text = String::new();
        for thread in threads.iter().filter(|thread| online.contains(thread.cpu)) {
            let here: Vec<&Thread> = threads
                .iter()
                .filter(|other| other.package == thread.package && online.contains(other.cpu))
                .collect();
            let mut cores: Vec<u32> = here.iter().map(|other| other.core).collect();
            cores.sort_unstable();
            cores.dedup();
            let _ = writeln!(text, "processor\t: {}", thread.cpu);
            match self.form {
                Form::X86 | Form::X86Guest => {
                    let guest = if self.form == Form::X86Guest { " hypervisor" } else { "" };
                    let _ = write!(
                        text,
                        "vendor_id\t: GenuineIntel\nmodel name\t: {}\nmicrocode\t: 0x2b\n\
                         cpu MHz\t\t: 2900.000\nphysical id\t: {}\nsiblings\t: {}\n\
                         core id\t\t: {}\ncpu cores\t: {}\nflags\t\t: fpu ht sse2{guest} nx\n\n",
                        self.model,
                        thread.package,
                        here.len(),
                        thread.core_id,
                        cores.len(),
                    );
                }
                Form::Power => {
                    let _ = write!(text, "cpu\t\t: {}\nclock\t\t: 3800.000MHz\n\n", self.model);
                }
                Form::Arm => {
                    let _ = write!(text, "CPU part\t: 0xd4f\nFeatures\t: fp asimd\n\n");
                }
            }
        }
        if self.form == Form::Power {
            let _ = writeln!(text, "platform\t: PowerNV\nmodel\t\t: 9105-22A");
        }
        text
    }
}

fn core_count(cores: &[Cores]) -> u32 {
    cores.iter().map(|kind| kind.count).sum()
}

fn write_power(writer: &Writer, folder: &str, kind: Cores) -> io::Result<()> {
    if kind.capacity > 0 {
        writer.file(&format!("{folder}/cpu_capacity"), &format!("{}\n", kind.capacity))?;
    }
    if kind.mhz > 0 {
        let max = format!("{}000\n", kind.mhz);
        for (file, text) in [
            ("scaling_governor", "performance\n"),
            ("scaling_min_freq", "800000\n"),
            ("scaling_cur_freq", "2900000\n"),
            ("scaling_max_freq", max.as_str()),
            ("cpuinfo_max_freq", max.as_str()),
        ] {
            writer.file(&format!("{folder}/cpufreq/{file}"), text)?;
        }
        for (file, text) in
            [("name", "C1\n"), ("latency", "2\n"), ("disable", "0\n"), ("time", "12345\n")]
        {
            writer.file(&format!("{folder}/cpuidle/state1/{file}"), text)?;
        }
    }
    Ok(())
}

struct Writer {
    folder: PathBuf,
    kept: Vec<&'static str>,
    absent: &'static [&'static str],
    written: RefCell<BTreeMap<String, String>>,
}

impl Writer {
    fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            kept: Vec::new(),
            absent: &[],
            written: RefCell::default(),
        }
    }

    /// Changes a file whole: who reads sees the old text or the new one, as of the kernel's files.
    fn file(&self, path: &str, text: &str) -> io::Result<()> {
        let below = |folder: &&&str| path == **folder || path.starts_with(&format!("{folder}/"));
        if self.kept.contains(&path) || self.absent.iter().any(|folder| below(&folder)) {
            return Ok(());
        }
        let old = self.written.borrow_mut().insert(path.to_owned(), text.to_owned());
        if old.as_ref().is_some_and(|old| old == text) {
            return Ok(());
        }
        let path = self.folder.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        if old.is_none() {
            return std::fs::write(&path, text);
        }
        crate::root::replace(&path, text)
    }

    fn folder(&self, path: &str) -> io::Result<()> {
        std::fs::create_dir_all(self.folder.join(path))
    }

    fn link(&self, target: &str, path: &str) -> io::Result<()> {
        match std::os::unix::fs::symlink(target, self.folder.join(path)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            result => result,
        }
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.written.borrow_mut().retain(|file, _| !file.starts_with(path));
        let path = self.folder.join(path);
        let result = match path.is_dir() {
            true => std::fs::remove_dir_all(path),
            false => std::fs::remove_file(path),
        };
        match result {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
