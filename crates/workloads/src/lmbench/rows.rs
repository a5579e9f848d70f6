//! The rows of LMbench: those of the article's Table 1, in its order (the family `lmbench`), and what else
//! LMbench measures (the family `lmbench-more`).

use super::harness::{COPIES, DIR, Measure, Row, SAMPLE, SAMPLE_OF_A_SECOND, SAMPLES};
use super::loopback::Channel;
use super::native::memory as native;
use super::native::system::{clock_by_library, clock_by_system_call};
use super::processes::{PARENT, PARENTS, PROGRAM};
use super::system_calls::{CALL_BY, DIRECT, LOOKED_AT};
use super::{context_switch, files, loopback, memory, processes, system_calls};
use crate::workload::{ParamSpec, Params, Placement, Scale, int, word};

/// What rows of one process have in common; each says what it does and how.
pub(super) const CALL: Row = Row {
    name: "",
    family: "lmbench",
    about: "",
    source: "LMbench 2 and 3 (McVoy, Staelin); Hyper-Threading speeds Linux, Table 1",
    analysis: "One process in the kernel: what an idle sibling costs, which is nothing, and what \
               switching SMT costs through mitigations, which differ with it. The article saw 0 %.",
    measure: Measure::MICROSECONDS,
    scale: Scale::Ratio,
    params: &[COPIES, SAMPLE, SAMPLES],
    roles: &["process"],
    placements: &[],
    processes: |_| 1,
    tasks: |_| 1,
    memory_kib: |_| 0,
    folder_kib: |_| 0,
    check: |_, _| Ok(()),
    prepare: system_calls::simple_syscall,
};

const CHILD: Row = Row {
    params: &[COPIES, DIR, PARENT, SAMPLE, SAMPLES],
    check: |row, params| word(row.name, params, PARENT.name, PARENTS),
    analysis: "Each child is a copy of its parent, and may start on another CPU: memory, \
               page tables and the scheduler. What a run takes where it may go is the scheduler's \
               choice; bound to one CPU it is the kernel's work. The article saw -2 % to -6 %.",
    processes: |_| 3,
    ..CALL
};

const PROGRAMMED: Row = Row {
    params: &[COPIES, DIR, PARENT, PROGRAM, SAMPLE, SAMPLES],
    check: |row, params| {
        word(row.name, params, PARENT.name, PARENTS)?;
        word(row.name, params, PROGRAM.name, &["dynamic", "static"])
    },
    ..CHILD
};

/// Rows whose call can go either way.
const SIMPLE: Row = Row {
    params: &[CALL_BY, COPIES, SAMPLE, SAMPLES],
    check: |row, params| word(row.name, params, CALL_BY.name, &["library", DIRECT]),
    ..CALL
};
const FILED: Row = Row { params: &[CALL_BY, COPIES, DIR, SAMPLE, SAMPLES], ..SIMPLE };

const PIPE: Row = Row {
    analysis: "Two processes that wake each other. Where they run decides, not SMT: one CPU, siblings, \
               two cores differ several times over, and where the scheduler may choose it is bimodal. \
               Compare it per placement. The article saw -1 %.",
    params: &[COPIES, SAMPLE_OF_A_SECOND, SAMPLES],
    roles: &["sender", "echo"],
    // Two tasks that wake each other: on one CPU or on two is a matter of 1 to 20.
    placements: &Placement::ALL,
    processes: |_| 2,
    tasks: |_| 2,
    ..CALL
};

/// Every row, in the order of Table 1, which is that of the suite.
pub static TABLE_1: &[Row] = rows! {
    "lmbench/":
    "simple-syscall", SIMPLE, system_calls::simple_syscall,
        "one getppid: the shortest way into the kernel and back";
    "simple-read", SIMPLE, system_calls::simple_read,
        "one byte read from /dev/zero";
    "simple-write", SIMPLE, system_calls::simple_write,
        "one byte written to /dev/null";
    "simple-stat", FILED, system_calls::simple_stat,
        "one stat of an empty file, by its path";
    "simple-fstat", FILED, system_calls::simple_fstat,
        "one fstat of an empty file that is open; Debian's lmbench makes a shorter call of glibc before \
         2.33: call=direct is that one";
    "simple-open-close", FILED, system_calls::simple_open_close,
        "one open, by its path, and close of an empty file";
    "select-10-fds", Row { params: &[COPIES, DIR, LOOKED_AT, SAMPLE, SAMPLES], ..CALL },
        system_calls::select_10_fds,
        "one select that looks at all ten descriptors of a file, ready to be written; LMbench 3 \
         looks at two: looked_at=2 is that";
    "select-10-tcp-fds",
        Row { params: &[COPIES, LOOKED_AT, SAMPLE, SAMPLES], processes: |_| 2, ..CALL },
        system_calls::select_10_tcp_fds,
        "one select that looks at all ten descriptors of a TCP connection, ready to be written; LMbench 3 \
         looks at two: looked_at=2 is that";
    "signal-install", CALL, system_calls::signal_install,
        "one handler of SIGUSR1 installed with sigaction";
    "signal-overhead", Row { scale: Scale::Raw, ..CALL }, system_calls::signal_overhead,
        "one signal to itself caught, less the kill that sends none: delivery, handler, return";
    "pipe-latency", PIPE, loopback::pipe_latency,
        "one byte through a pipe to a second process, and back through another";
    "fork-exit", CHILD, processes::fork_exit,
        "one fork whose child exits at once, waited for";
    "fork-execve", PROGRAMMED, processes::fork_execve,
        "one fork whose child becomes a program that writes 12 bytes, waited for";
    "fork-sh", Row { processes: |_| 4, ..PROGRAMMED }, processes::fork_sh,
        "one fork whose child becomes /bin/sh -c, which runs that program, waited for";
};

const PROCESSES: ParamSpec = ParamSpec::int("processes", [2, 2, 256], "processes in the ring");
const FOOTPRINT: ParamSpec = ParamSpec::int(
    "footprint_kib",
    [0, 0, 64 << 10],
    "memory that each process goes through when it has the token, in KiB",
);
const CHASED: ParamSpec =
    ParamSpec::int("size_kib", [256 << 10, 1, 1 << 20], "memory that is gone through, in KiB");
const STRIDE: ParamSpec = ParamSpec::int(
    "stride",
    [128, 8, 1 << 20],
    "bytes from one load to the next, a multiple of 8 (a line of a cache has 64 or 128)",
);
const LINE: ParamSpec = ParamSpec::int(
    "stride",
    [64, 64, 1 << 20],
    "bytes between the places of loads, a multiple of 8 (a line of a cache has 64 or 128)",
);
const PASSED: ParamSpec = ParamSpec::int(
    "size_kib",
    [256 << 10, 1, 4 << 20],
    "memory of a pass, in KiB; a copy has twice as much",
);
const FILE: ParamSpec =
    ParamSpec::int("size_kib", [64 << 10, 1, 1 << 20], "size of the file, in KiB");
const SMALL_FILE: ParamSpec =
    ParamSpec::int("size_kib", [0, 0, 1024], "size of each file, in KiB (LMbench: 0, 1, 4 and 10)");
const MESSAGE: ParamSpec =
    ParamSpec::int("message_bytes", [1, 1, 65_000], "size of a message, in bytes");
const BLOCK: ParamSpec =
    ParamSpec::int("message_bytes", [64 << 10, 1, 1 << 20], "written in one call, in bytes");
const DATAGRAM: ParamSpec =
    ParamSpec::int("message_bytes", [32 << 10, 1, 65_000], "size of a datagram, in bytes");

fn size(params: &Params) -> u64 {
    int(params, "size_kib").into()
}

/// The memory, and the places of its loads while they are put in order.
fn chased(params: &Params) -> u64 {
    let places = (size(params) << 10) / u64::from(int(params, "stride").max(1));
    let order_kib = (places * size_of::<u32>() as u64) >> 10;
    size(params) + order_kib
}

fn rings(params: &Params) -> u64 {
    let members = u64::from(int(params, "processes")) + 1;
    // Beside the footprint a process has a stack, and tables of pages.
    members * (u64::from(int(params, "footprint_kib")) + 256)
}

const ONE: Row = Row {
    family: "lmbench-more",
    source: "LMbench 2 and 3 (McVoy, Staelin: lmbench, Portable Tools for Performance Analysis, \
             USENIX 1996)",
    ..CALL
};

const LATENCY: Row = Row {
    analysis: "One copy shows the caches and the memory, which an idle sibling leaves alone. Copies on \
               both siblings share every cache of the core: copies=auto shows what each has left.",
    measure: Measure::NANOSECONDS,
    memory_kib: chased,
    check: memory::check,
    ..ONE
};

const BANDWIDTH: Row = Row {
    analysis: "One copy seldom takes all the bandwidth of a core, so a sibling can add to it; of a \
               cache it takes its share. With copies=auto the value is that of one copy beside the \
               others: two siblings give more together if it is more than half.",
    measure: Measure::MEGABYTES_PER_SECOND,
    params: &[COPIES, SAMPLE, SAMPLES, PASSED],
    memory_kib: size,
    ..ONE
};
const COPY: Row = Row { memory_kib: |params| 2 * size(params), ..BANDWIDTH };

const REREAD: Row = Row {
    analysis: "The page cache and the caches of one process, and of file-reread the kernel's copy. \
               Mitigations, which differ with SMT, show in short files only.",
    params: &[COPIES, DIR, SAMPLE, SAMPLES, FILE],
    // The page cache is memory.
    memory_kib: size,
    folder_kib: size,
    ..BANDWIDTH
};

const TWO: Row = Row {
    analysis: "Two processes that wake each other through the kernel's network code. Where they run \
               decides more than SMT does: compare it per placement.",
    params: &[COPIES, MESSAGE, SAMPLE, SAMPLES],
    roles: &["client", "server"],
    placements: &Placement::ALL,
    processes: |_| 2,
    tasks: |_| 2,
    ..ONE
};

const STREAM: Row = Row {
    analysis: "One process writes while another reads: on siblings they share the caches through \
               which the bytes go, on two cores they do not. Compare it per placement.",
    measure: Measure::MEGABYTES_PER_SECOND,
    params: &[COPIES, BLOCK, SAMPLE, SAMPLES],
    roles: &["sender", "receiver"],
    ..TWO
};

const NAMES: Row = Row {
    analysis: "File names in one process, on the file system that the reading names: what switching \
               SMT costs through mitigations, if a disk does not decide.",
    params: &[COPIES, DIR, SAMPLE, SAMPLES, SMALL_FILE],
    folder_kib: |params| files::folder_kib(int(params, "size_kib")),
    ..ONE
};

const READS: Row = Row {
    analysis: "A few instructions, or one short system call, of one process: what an idle sibling \
               costs, and what mitigations cost that come and go with SMT.",
    measure: Measure::NANOSECONDS,
    ..ONE
};

const SWITCH: Row = Row {
    analysis: "Processes that run one after the other. On one CPU it is the switch itself, and what \
               the caches lose by it, which siblings share; across CPUs it is a wake-up. Compare it per \
               placement: every second process is of the other role.",
    // A difference, which noise can take below 0.
    scale: Scale::Raw,
    params: &[COPIES, FOOTPRINT, PROCESSES, SAMPLE, SAMPLES],
    roles: &["even", "odd"],
    processes: |params| int(params, "processes").into(),
    tasks: |params| int(params, "processes"),
    memory_kib: rings,
    ..ONE
};

pub struct Group {
    pub at: &'static [&'static str],
    /// The rows, each with the first of them before any with the next.
    pub rows: &'static [Row],
}

/// The rows of the suite, as people would type them.
pub(crate) fn typed() -> Vec<String> {
    let mut all = Vec::new();
    for group in MORE {
        for at in group.at {
            let typed = group.rows.iter().map(|row| format!("{}:{at}", row.name));
            all.extend(typed.map(|row| row.trim_end_matches(':').to_owned()));
        }
    }
    all
}

/// Memory that the first, the second and the last cache of most processors hold, and none.
const CACHES: &[&str] = &["size_kib=16", "size_kib=256", "size_kib=4096", "size_kib=262144"];

/// Every row, in the order of the suite.
pub static MORE: &[Group] = &[
    Group {
        at: &[
            "processes=2",
            "processes=2,footprint_kib=16",
            "processes=8",
            "processes=8,footprint_kib=16",
            "processes=8,footprint_kib=64",
            "processes=16,footprint_kib=16",
            "processes=16,footprint_kib=64",
        ],
        rows: rows! {
            "lmbench-more/":
            "context-switch", SWITCH, context_switch::context_switch,
                "a switch from one process of a ring to the next, which goes through its footprint; \
                 the pipe and the footprint alone are taken off";
        },
    },
    Group {
        at: CACHES,
        rows: rows! {
            "lmbench-more/":
            "memory-latency", Row { params: &[COPIES, SAMPLE, SAMPLES, CHASED, STRIDE], ..LATENCY },
                memory::latency,
                "a load whose address the one before brought, stride by stride up through the memory";
        },
    },
    Group {
        at: CACHES,
        rows: rows! {
            "lmbench-more/":
            "memory-latency-random", Row { params: &[COPIES, SAMPLE, SAMPLES, CHASED, LINE], ..LATENCY },
                memory::latency_random,
                "a load whose address the one before brought, all over the memory, in pages of usual size";
        },
    },
    Group {
        at: &[""],
        rows: rows! {
            "lmbench-more/":
            "memory-read", BANDWIDTH, memory::read,
                "memory read, every word of 64 bits by a load; bytes read, 10^6 to the MB";
            "memory-write", BANDWIDTH, |place| memory::write(place, false),
                "memory written, every word of 64 bits by a store; bytes written, 10^6 to the MB";
            "memory-read-write", BANDWIDTH, |place| memory::write(place, true),
                "memory changed, every word of 64 bits by a load and a store; its bytes once, 10^6 to \
                 the MB";
            "memory-copy", COPY, |place| memory::copy(place, native::copy),
                "memory copied, every word of 64 bits by a load and a store; bytes copied, 10^6 to the MB";
            "bcopy", COPY, |place| memory::copy(place, native::memcpy),
                "memory copied by the C library's memcpy; bytes copied, 10^6 to the MB";
            "file-reread", REREAD, memory::file_reread,
                "a file of the page cache read in blocks of 64 KiB; bytes read, 10^6 to the MB";
            "mmap-reread", REREAD, memory::mmap_reread,
                "a mapped file of the page cache, every word of 64 bits by a load; bytes read, 10^6 to \
                 the MB";
            "pipe-bandwidth", STREAM, |place| loopback::bandwidth(place, Channel::Pipe),
                "blocks through a pipe to a second process; bytes received, 10^6 to the MB";
            "unix-bandwidth", STREAM, |place| loopback::bandwidth(place, Channel::Unix),
                "blocks over a UNIX stream socket; bytes received, 10^6 to the MB";
            "tcp-bandwidth", STREAM, |place| loopback::bandwidth(place, Channel::Tcp),
                "blocks over a TCP connection on loopback; bytes received, 10^6 to the MB";
            "udp-bandwidth", Row { params: &[COPIES, DATAGRAM, SAMPLE, SAMPLES], ..STREAM },
                |place| loopback::bandwidth(place, Channel::Udp),
                "datagrams on loopback, 64 KiB or 64 of them between answers; bytes received, 10^6 to \
                 the MB";
            "unix-latency", TWO, |place| loopback::latency(place, Channel::Unix),
                "a message there and back over a UNIX stream socket, between two processes";
            "udp-latency", TWO, |place| loopback::latency(place, Channel::Udp),
                "a message there and back over UDP on loopback, between two processes";
            "tcp-latency", TWO, |place| loopback::latency(place, Channel::Tcp),
                "a message there and back over a TCP connection on loopback, between two processes";
        },
    },
    Group {
        at: &["size_kib=0", "size_kib=10"],
        rows: rows! {
            "lmbench-more/":
            "file-create", NAMES, files::file_create,
                "a file made, filled by one write and closed, in a folder that fills up to 1000";
            "file-delete", NAMES, files::file_delete,
                "a file removed from a folder of at most 1000, the oldest first";
        },
    },
    Group {
        at: &[""],
        rows: rows! {
            "lmbench-more/":
            "clock", READS, |_| system_calls::reads(clock_by_library),
                "one read of the monotonic clock through the C library, which seldom asks the kernel";
            "clock-system-call", READS, |_| system_calls::reads(clock_by_system_call),
                "one read of the monotonic clock by a system call";
        },
    },
];
