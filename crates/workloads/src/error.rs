//! What can go wrong, in sentences for people.
//!
//! A message is the whole sentence, with what the system said: most readers see nothing else. So
//! no error names another as its source, and a chain of causes says nothing twice.

use std::io;

#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Stop {
    #[error("whoever asked for the run is gone")]
    Abandoned,
    #[error("it was ended by {}", signal_name(*.0))]
    Signal(i32),
    #[error("it took longer than its time limit of {0} s and was ended, with all it had started")]
    Timeout(f64),
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Unknown(String),
    #[error("{workload}: {name}={value} is not possible: {why}")]
    Param { workload: &'static str, name: String, value: String, why: String },
    #[error("{what}: {cause}{}", hint(what, cause))]
    System { what: String, cause: io::Error },
    #[error(transparent)]
    Stopped(#[from] Stop),
    #[error("{why}")]
    Failed {
        why: String,
        /// The end of its output, if it is a command.
        output: Option<String>,
    },
}

impl Error {
    pub(crate) fn failed(why: impl Into<String>) -> Self {
        Self::Failed { why: why.into(), output: None }
    }

    pub(crate) fn system(what: impl Into<String>, cause: impl Into<io::Error>) -> Self {
        Self::System { what: what.into(), cause: cause.into() }
    }
}

pub(crate) trait Context<T> {
    fn context(self, what: impl Into<String>) -> Result<T, Error>;
    fn with_context(self, what: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> Context<T> for Result<T, E> {
    fn context(self, what: impl Into<String>) -> Result<T, Error> {
        self.map_err(|error| Error::system(what, error))
    }

    fn with_context(self, what: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|error| Error::system(what(), error))
    }
}

/// Which limit stands behind an error number, where there is one to raise.
fn hint(what: &str, error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE) => "; the limit is the open files of one process (ulimit -Hn)",
        Some(libc::ENFILE) => "; the limit is the open files of the machine (fs.file-max)",
        Some(libc::ENOSPC) if !what.contains("SysV") => {
            "; the file system is full (df shows which, /dev/shm among them)"
        }
        Some(libc::ENOSPC) => {
            "; the limit is the number of SysV semaphore sets or semaphores (kernel.sem, 4th and \
             2nd field; `ipcs -s` lists those in use)"
        }
        Some(libc::ERANGE) => "; the largest value of a SysV semaphore is 32767 (SEMVMX)",
        Some(libc::EAGAIN) => {
            "; the limit is the number of tasks (ulimit -u, kernel.threads-max, kernel.pid_max, \
             pids.max of the cgroup)"
        }
        Some(libc::ENOMEM) => "; the limit is memory, or memory maps (vm.max_map_count)",
        Some(libc::EADDRNOTAVAIL) => {
            "; the limit is the ephemeral ports (net.ipv4.ip_local_port_range)"
        }
        _ => "",
    }
}

pub(crate) fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGTERM => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    format!("signal {signal} ({name})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_system_is_no_limit_of_semaphores() {
        let full = || io::Error::from_raw_os_error(libc::ENOSPC);
        let file = Error::system("cannot make /dev/shm/coretwin-semaphores-1", full()).to_string();
        assert!(file.contains("the file system is full") && !file.contains("SysV"), "{file}");
        let sets = Error::system("cannot make 3 SysV semaphore sets", full()).to_string();
        assert!(sets.contains("kernel.sem") && !sets.contains("file system"), "{sets}");
    }
}
