//! The threads of the machine: which there are, what they ran, and on which CPU they are.
//!
//! For reading thousands of threads often: its buffers are used again, a file is opened, read once and
//! closed, and the number of the newest thread (`/proc/loadavg`) tells without a listing whether there
//! are new ones. A thread that has ended is no error, only absent.

use crate::root::Root;
use crate::stat_line::StatLine;
use coretwin_base::machine::cpu_set::CpuId;
use coretwin_base::printable::clean;
use coretwin_base::units::Nanos;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{pread, read, retry_on_intr};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

/// More than the longest file of a thread that is read whole. The kernel gives these in one piece.
const PIECE_BYTES: usize = 4096;
/// No file that is read here is longer, but a fake one may be.
const FILE_BYTES_MAX: usize = 1 << 20;

/// A thread at one moment, from `/proc/PID/task/TID/stat` (proc(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Its name, at most 15 bytes.
    pub comm: String,
    /// Whether it runs or waits for a CPU (state R).
    pub runnable: bool,
    /// Whether it has ended and waits for its parent (states Z and X).
    pub ended: bool,
    /// The process that started its process.
    pub parent: u32,
    pub of_kernel: bool,
    /// User and system time, in ticks of USER_HZ.
    pub ticks: u64,
    /// The same of descendants that its process waited for.
    pub waited_ticks: u64,
    pub threads: u32,
    /// When it started, in ticks of USER_HZ since boot.
    pub started_ticks: u64,
    /// CPU on which it is or was last.
    pub cpu: CpuId,
}

/// A thread's `schedstat`, open. The kernel gives the thread's own numbers, whoever has its number later.
#[derive(Debug)]
pub struct RunTimeFile(OwnedFd);

impl RunTimeFile {
    pub fn run_time(&self) -> Option<Nanos> {
        let mut bytes = [0; 128];
        let length = retry_on_intr(|| pread(&self.0, &mut bytes, 0)).ok()?;
        first_number(std::str::from_utf8(&bytes[..length]).ok()?)
    }
}

fn first_number(text: &str) -> Option<Nanos> {
    text.split_ascii_whitespace().next()?.parse().ok().map(Nanos)
}

#[derive(Debug)]
pub struct Tasks {
    root: Root,
    /// The root's folder, and what was asked for last.
    path: Vec<u8>,
    root_bytes: usize,
    bytes: Vec<u8>,
}

impl Tasks {
    pub fn new(root: &Root) -> Self {
        let mut path = root.folder().as_os_str().as_bytes().to_vec();
        path.push(b'/');
        Self { root: root.clone(), root_bytes: path.len(), path, bytes: Vec::new() }
    }

    pub fn processes(&self) -> Vec<u32> {
        numbers(&self.root, "proc")
    }

    pub fn threads(&self, process: u32) -> Vec<u32> {
        numbers(&self.root, &format!("proc/{process}/task"))
    }

    /// Number of the thread or process that was started last, of those visible (`/proc/loadavg`).
    pub fn newest(&mut self) -> Option<u32> {
        let text = self.text(format_args!("proc/loadavg"))?;
        text.split_whitespace().nth(4)?.parse().ok()
    }

    pub fn thread(&mut self, process: u32, thread: u32) -> Option<Thread> {
        thread_of(self.text(format_args!("proc/{process}/task/{thread}/stat"))?)
    }

    /// All threads of a process together, those that ended included.
    pub fn process(&mut self, process: u32) -> Option<Thread> {
        thread_of(self.text(format_args!("proc/{process}/stat"))?)
    }

    /// Run time of a thread (`schedstat`, field 1); `None` if it ended or the kernel does not keep
    /// it. It is brought up to date when the thread leaves its CPU and at every tick.
    pub fn run_time(&mut self, process: u32, thread: u32) -> Option<Nanos> {
        first_number(self.text(format_args!("proc/{process}/task/{thread}/schedstat"))?)
    }

    /// The same of a thread that will be asked often: reading a file that stays open costs a fraction of
    /// opening it each time.
    pub fn run_time_file(&mut self, process: u32, thread: u32) -> Option<RunTimeFile> {
        self.point_at(format_args!("proc/{process}/task/{thread}/schedstat"))?;
        self.open().map(RunTimeFile)
    }

    /// Whether the kernel keeps run times of threads (CONFIG_SCHED_INFO).
    pub fn has_run_times(&self) -> bool {
        self.root.exists("proc/self/schedstat") || self.root.exists("proc/1/schedstat")
    }

    pub fn process_of(&mut self, thread: u32) -> Option<u32> {
        let text = self.text(format_args!("proc/{thread}/status"))?;
        text.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
    }

    /// The CPUs that a thread may use, as the kernel writes them: most threads have the same list,
    /// which need not be read twice.
    pub fn allowed_list(&mut self, process: u32, thread: u32) -> Option<&str> {
        let text = self.text(format_args!("proc/{process}/task/{thread}/status"))?;
        text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(str::trim)
    }

    /// The cgroup of a process, as a path from the root of its hierarchy: that of the controller
    /// `cpuacct` or `cpu` of version 1 if there is one, else that of version 2, else that of any other
    /// hierarchy.
    pub fn cgroup(&mut self, process: u32) -> Option<String> {
        cgroup_of(self.text(format_args!("proc/{process}/cgroup"))?)
    }

    /// The arguments of a process, with blanks between them and no characters that steer a terminal: of
    /// the first 4096 bytes. `None` if it ended, or is of the kernel and has none.
    pub fn command_line(&mut self, process: u32) -> Option<String> {
        self.point_at(format_args!("proc/{process}/cmdline"))?;
        let file = self.open()?;
        self.bytes.resize(PIECE_BYTES, 0);
        let length = retry_on_intr(|| read(&file, &mut self.bytes)).ok()?;
        let line = clean(&String::from_utf8_lossy(&self.bytes[..length]));
        Some(line.trim().to_owned()).filter(|line| !line.is_empty())
    }

    fn text(&mut self, path: std::fmt::Arguments<'_>) -> Option<&str> {
        self.point_at(path)?;
        self.read()?;
        // A name may hold any bytes; they are in one field only.
        if std::str::from_utf8(&self.bytes).is_err() {
            let clean = String::from_utf8_lossy(&self.bytes).into_owned();
            self.bytes = clean.into_bytes();
        }
        std::str::from_utf8(&self.bytes).ok()
    }

    fn point_at(&mut self, path: std::fmt::Arguments<'_>) -> Option<()> {
        self.path.truncate(self.root_bytes);
        self.path.write_fmt(path).ok()
    }

    fn open(&self) -> Option<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        retry_on_intr(|| open(&self.path[..], flags, Mode::empty())).ok()
    }

    /// Fills the buffer with the file at the path. A read that leaves room has met the end.
    fn read(&mut self) -> Option<()> {
        let file = self.open()?;
        let mut length = 0;
        loop {
            self.bytes.resize(length + PIECE_BYTES, 0);
            let got = retry_on_intr(|| read(&file, &mut self.bytes[length..])).ok()?;
            length += got;
            if got < PIECE_BYTES || length >= FILE_BYTES_MAX {
                self.bytes.truncate(length);
                return Some(());
            }
        }
    }
}

fn numbers(root: &Root, path: &str) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(root.path(path)) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn thread_of(text: &str) -> Option<Thread> {
    let stat = StatLine::parse(text)?;
    Some(Thread {
        comm: stat.name.to_owned(),
        runnable: stat.is_runnable(),
        ended: stat.has_ended(),
        parent: stat.field(4)?,
        of_kernel: stat.is_of_kernel()?,
        ticks: stat.field::<u64>(14)?.checked_add(stat.field(15)?)?,
        waited_ticks: stat.field::<u64>(16)?.checked_add(stat.field(17)?)?,
        threads: stat.field(20)?,
        started_ticks: stat.started_ticks()?,
        cpu: CpuId(stat.field(39)?),
    })
}

fn cgroup_of(text: &str) -> Option<String> {
    let lines = || crate::cgroup::lines(text);
    let version_1 = |controller: &str| {
        lines().find(|(names, _)| names.split(',').any(|name| name == controller))
    };
    let unified = || lines().find(|(names, _)| names.is_empty());
    let any = || lines().find(|(names, _)| !names.starts_with("name=")).or_else(|| lines().next());
    let found = version_1("cpuacct").or_else(|| version_1("cpu")).or_else(unified).or_else(any);
    found.map(|(_, path)| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::machine::cpu_set::CpuSet;
    use proptest::prelude::*;

    #[test]
    fn a_thread_is_read_whatever_its_name_is() {
        let stat = "77 (a) R 1 (b) S 12 77 77 0 -1 4194560 1 2 3 4 50 7 8 9 20 0 3 0 4242 5 6 7 0 \
                    0 0 0 0 0 0 0 0 0 0 0 17 5 0 0 0 0 0\n";
        let thread = thread_of(stat).expect("thread");
        assert_eq!((thread.comm.as_str(), thread.runnable), ("a) R 1 (b", false));
        assert_eq!((thread.parent, thread.ticks, thread.threads), (12, 57, 3));
        assert_eq!(thread.waited_ticks, 17);
        assert_eq!((thread.started_ticks, thread.cpu, thread.of_kernel), (4242, CpuId(5), false));
    }

    #[test]
    fn a_command_line_is_one_line_and_has_a_cap() {
        let folder = tempfile::tempdir().expect("folder");
        std::fs::create_dir_all(folder.path().join("proc/7")).expect("folder");
        let mut tasks = Tasks::new(&Root::at(folder.path()));
        assert_eq!(tasks.command_line(7), None);
        for (bytes, wanted) in [
            (
                b"sh\0-c\0echo \x1b[2J\nb\xff\0".to_vec(),
                Some("sh -c echo  [2J b\u{fffd}".to_owned()),
            ),
            (Vec::new(), None),
            (vec![b'x'; 1 << 20], Some("x".repeat(PIECE_BYTES))),
        ] {
            std::fs::write(folder.path().join("proc/7/cmdline"), bytes).expect("written");
            assert_eq!(tasks.command_line(7), wanted);
        }
    }

    #[test]
    fn this_thread_runs_and_its_process_is_known() {
        let mut tasks = Tasks::new(&Root::system());
        let process = std::process::id();
        let thread = rustix::thread::gettid().as_raw_pid().unsigned_abs();
        assert!(tasks.processes().contains(&process) && tasks.threads(process).contains(&thread));
        assert_eq!(tasks.process_of(thread), Some(process));
        let me = tasks.thread(process, thread).expect("this thread");
        assert!(me.runnable && !me.ended && !me.of_kernel);
        let allowed = CpuSet::parse(tasks.allowed_list(process, thread).expect("allowed"));
        assert!(allowed.expect("list").contains(me.cpu));
        assert!(tasks.process(process).expect("process").threads >= 1);
        assert_eq!(tasks.thread(process, u32::MAX), None);
        assert!(tasks.newest().is_some() && tasks.cgroup(process).is_some());
        if let Some(before) = tasks.run_time(process, thread) {
            let file = tasks.run_time_file(process, thread).expect("its file");
            assert!(file.run_time().expect("its run time") >= before);
        }
    }

    #[test]
    fn the_cgroup_is_that_of_the_cpu_controller_or_of_version_2_or_any() {
        let hybrid = "9:name=systemd:/s\n2:cpu,cpuacct:/v1\n0::/v2\n";
        assert_eq!(cgroup_of(hybrid).as_deref(), Some("/v1"));
        assert_eq!(cgroup_of("0::/a:b/c\n").as_deref(), Some("/a:b/c"));
        assert_eq!(cgroup_of("3:cpu:/c\n0::/v2\n").as_deref(), Some("/c"));
        assert_eq!(cgroup_of("9:name=systemd:/s\n1:memory:/m\n").as_deref(), Some("/m"));
        assert_eq!(cgroup_of("9:name=systemd:/s\n").as_deref(), Some("/s"));
        assert_eq!(cgroup_of(""), None);
    }

    proptest! {
        #[test]
        fn never_panics(text in "[0-9]{0,5}( \\([a-z)( ]*\\))?( [A-Z]| -?[0-9]{1,25}|\\PC)*") {
            let _ = thread_of(&text);
            let _ = cgroup_of(&text);
        }
    }
}
