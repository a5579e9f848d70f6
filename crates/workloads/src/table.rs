//! Every workload. The list, the help and the tests are made from this table.

use crate::Error;
use crate::aim9::rows as aim9;
use crate::chat::{CHAT, CHAT_FUTEX, CHAT_NODELAY};
use crate::dbench::DBENCH;
use crate::kernel_2_4::rows as kernel_2_4;
use crate::lmbench::rows as lmbench;
use crate::lmbench_more::rows as lmbench_more;
use crate::tbench::{TBENCH, TBENCH_THREADS};
use crate::workload::Workload;
use coretwin_base::param::{Params, WorkloadSpec};
use coretwin_base::suggest;

/// Every workload, in order of name.
pub const ALL: &[&dyn Workload] = &[
    &aim9::ADD_DOUBLE,
    &aim9::ADD_FLOAT,
    &aim9::ADD_INT,
    &aim9::ADD_LONG,
    &aim9::ADD_SHORT,
    &aim9::ARRAY_RTNS,
    &aim9::BRK_TEST,
    &aim9::CREAT_CLO,
    &aim9::DGRAM_PIPE,
    &aim9::DIR_RTNS_1,
    &aim9::DISK_CP,
    &aim9::DISK_RD,
    &aim9::DISK_RR,
    &aim9::DISK_RW,
    &aim9::DISK_SRC,
    &aim9::DISK_WRT,
    &aim9::DIV_DOUBLE,
    &aim9::DIV_FLOAT,
    &aim9::DIV_INT,
    &aim9::DIV_LONG,
    &aim9::DIV_SHORT,
    &aim9::EXEC_TEST,
    &aim9::FIFO_TEST,
    &aim9::FORK_TEST,
    &aim9::FUN_CAL,
    &aim9::FUN_CAL1,
    &aim9::FUN_CAL15,
    &aim9::FUN_CAL2,
    &aim9::JMP_TEST,
    &aim9::LINK_TEST,
    &aim9::MATRIX_RTNS,
    &aim9::MEM_RTNS_1,
    &aim9::MEM_RTNS_2,
    &aim9::MISC_RTNS_1,
    &aim9::MUL_DOUBLE,
    &aim9::MUL_FLOAT,
    &aim9::MUL_INT,
    &aim9::MUL_LONG,
    &aim9::MUL_SHORT,
    &aim9::NUM_RTNS_1,
    &aim9::PAGE_TEST,
    &aim9::PIPE_CPY,
    &aim9::RAM_COPY,
    &aim9::SERIES_1,
    &aim9::SHARED_MEMORY,
    &aim9::SHELL_RTNS_1,
    &aim9::SHELL_RTNS_2,
    &aim9::SHELL_RTNS_3,
    &aim9::SIEVE,
    &aim9::SIGNAL_TEST,
    &aim9::SORT_RTNS_1,
    &aim9::STREAM_PIPE,
    &aim9::STRING_RTNS,
    &aim9::SYNC_DISK_CP,
    &aim9::SYNC_DISK_RW,
    &aim9::SYNC_DISK_UPDATE,
    &aim9::SYNC_DISK_WRT,
    &aim9::TCP_TEST,
    &aim9::TRIG_RTNS,
    &aim9::UDP_TEST,
    &CHAT,
    &CHAT_FUTEX,
    &CHAT_NODELAY,
    &DBENCH,
    &kernel_2_4::DELAY_CLOCK,
    &kernel_2_4::DELAY_LOOP,
    &kernel_2_4::DELAY_SLEEP,
    &kernel_2_4::LOCK_128,
    &kernel_2_4::LOCK_64,
    &kernel_2_4::LOCK_PACKED,
    &kernel_2_4::SPIN,
    &kernel_2_4::SPIN_PAUSE,
    &kernel_2_4::STACK_ALIASED,
    &kernel_2_4::STACK_OFFSET,
    &lmbench_more::BCOPY,
    &lmbench_more::CLOCK,
    &lmbench_more::CLOCK_SYSTEM_CALL,
    &lmbench_more::CONTEXT_SWITCH,
    &lmbench_more::FILE_CREATE,
    &lmbench_more::FILE_DELETE,
    &lmbench_more::FILE_REREAD,
    &lmbench_more::MEMORY_COPY,
    &lmbench_more::MEMORY_LATENCY,
    &lmbench_more::MEMORY_LATENCY_RANDOM,
    &lmbench_more::MEMORY_READ,
    &lmbench_more::MEMORY_READ_WRITE,
    &lmbench_more::MEMORY_WRITE,
    &lmbench_more::MMAP_REREAD,
    &lmbench_more::PIPE_BANDWIDTH,
    &lmbench_more::TCP_BANDWIDTH,
    &lmbench_more::TCP_LATENCY,
    &lmbench_more::UDP_BANDWIDTH,
    &lmbench_more::UDP_LATENCY,
    &lmbench_more::UNIX_BANDWIDTH,
    &lmbench_more::UNIX_LATENCY,
    &lmbench::FORK_EXECVE,
    &lmbench::FORK_EXIT,
    &lmbench::FORK_SH,
    &lmbench::PIPE_LATENCY,
    &lmbench::SELECT_10_FDS,
    &lmbench::SELECT_10_TCP_FDS,
    &lmbench::SIGNAL_INSTALL,
    &lmbench::SIGNAL_OVERHEAD,
    &lmbench::SIMPLE_FSTAT,
    &lmbench::SIMPLE_OPEN_CLOSE,
    &lmbench::SIMPLE_READ,
    &lmbench::SIMPLE_STAT,
    &lmbench::SIMPLE_SYSCALL,
    &lmbench::SIMPLE_WRITE,
    &TBENCH,
    &TBENCH_THREADS,
];

/// The workload of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Workload> {
    ALL.iter().copied().find(|workload| workload.name() == name)
}

/// The workload that was asked for, its parameters checked and defaults filled in.
///
/// # Errors
/// [`Error::Unknown`] with the nearest name, or [`Error::Param`] with the possible range.
pub fn resolve(spec: &WorkloadSpec) -> Result<(&'static dyn Workload, Params), Error> {
    let workload = find(&spec.name).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|workload| workload.name()).collect();
        Error::Unknown(suggest::unknown("workload", &spec.name, &names))
    })?;
    let known = workload.params();
    if let Some(name) = spec.params.keys().find(|name| known.iter().all(|p| p.name != **name)) {
        let names: Vec<&str> = known.iter().map(|param| param.name).collect();
        let kind = format!("parameter of {}", workload.name());
        return Err(Error::Unknown(suggest::unknown(&kind, name, &names)));
    }
    let mut params = Params::new();
    for param in known {
        let value = spec.params.get(param.name).cloned().unwrap_or_else(|| param.default());
        param.check(workload.name(), &value)?;
        params.insert(param.name.to_owned(), value);
    }
    workload.check(&params)?;
    Ok((workload, params))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str) -> Result<(&'static dyn Workload, Params), Error> {
        resolve(&WorkloadSpec::parse(text).expect(text))
    }

    #[test]
    fn the_table_is_sorted_and_complete() {
        for pair in ALL.windows(2) {
            assert!(pair[0].name() < pair[1].name(), "{} is out of order", pair[1].name());
        }
        for workload in ALL {
            let name = workload.name();
            for text in [workload.about(), workload.source(), workload.analysis()] {
                assert!(text.len() > 20, "{name} lacks a text: '{text}'");
            }
            assert!(!workload.unit().is_empty() && !workload.family().is_empty(), "{name}");
            for pair in workload.params().windows(2) {
                assert!(pair[0].name < pair[1].name, "{name}: {} is out of order", pair[1].name);
            }
            let (_, params) = resolved(name).expect("defaults are possible");
            assert_eq!(params.len(), workload.params().len(), "{name}");
            assert!(workload.tasks(&params) > 0 && !workload.needs(&params).is_empty(), "{name}");
        }
    }

    #[test]
    fn wrong_names_and_values_are_explained() {
        for (text, part) in [
            ("chta", "did you mean 'chat'"),
            ("chat:room=20", "did you mean 'rooms'"),
            ("chat:rooms=0", "from 1 to 819"),
            ("chat:rooms=820", "from 1 to 819"),
            ("chat:rooms=many", "from 1 to 819"),
            ("chat:messages=32768", "from 1 to 32767"),
            ("chat:rooms=819,users=21", "at most 16383"),
            ("chat:server=192.0.2.1:9999", "loopback"),
            ("chat:server=here", "ADDRESS:PORT"),
            ("aim9/sive", "did you mean 'aim9/sieve'"),
            ("aim9/sieve:seconds=-1", "from 0 to 1000"),
            ("aim9/sieve:seconds=nan", "from 0 to 1000"),
            ("aim9/sieve:copies=all", "'auto' or a whole number"),
            ("aim9/sieve:dir=/x", "no parameter of aim9/sieve 'dir'"),
            ("aim9/disk_rd:dir=here", "beginning with '/'"),
            ("aim9/disk_rd:file_kib=32769", "from 64 to 32768"),
            ("aim9/sync_disk_rw:calls=21", "at least the number of calls"),
            ("aim9/sort_rtns_1:sort=quick", "'own' or 'libc'"),
        ] {
            let error = resolved(text).err().expect(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
