//! The rows of lmbench-more, by what they measure.

use super::{
    FAMILY, clock, context_switch, file_read, files, loopback, memory_bandwidth, memory_latency,
};
use crate::lmbench::harness::params::{COPIES, DIR, SAMPLE, SAMPLES};
use crate::lmbench::harness::{Measure, Room, Row};
use crate::workload::{ParamKind, ParamSpec, int};
use coretwin_base::param::Params;
use coretwin_base::study::plan::Scale;

/// All of them.
pub static ALL: &[&Row] = &[
    &CONTEXT_SWITCH,
    &MEMORY_LATENCY,
    &MEMORY_LATENCY_RANDOM,
    &MEMORY_READ,
    &MEMORY_WRITE,
    &MEMORY_READ_WRITE,
    &MEMORY_COPY,
    &BCOPY,
    &FILE_REREAD,
    &MMAP_REREAD,
    &TCP_LATENCY,
    &UDP_LATENCY,
    &UNIX_LATENCY,
    &PIPE_BANDWIDTH,
    &TCP_BANDWIDTH,
    &UDP_BANDWIDTH,
    &UNIX_BANDWIDTH,
    &FILE_CREATE,
    &FILE_DELETE,
    &CLOCK,
    &CLOCK_SYSTEM_CALL,
];

const fn number(name: &'static str, range: [i64; 3], about: &'static str) -> ParamSpec {
    let [default, min, max] = range;
    ParamSpec { name, kind: ParamKind::Int { default, min, max }, about }
}

const PROCESSES: ParamSpec = number("processes", [2, 2, 256], "processes in the ring");
const FOOTPRINT: ParamSpec = number(
    "footprint_kib",
    [0, 0, 64 << 10],
    "memory that each process goes through when it has the token, in KiB",
);
const CHASED: ParamSpec =
    number("size_kib", [256 << 10, 1, 1 << 20], "memory that is gone through, in KiB");
const STRIDE: ParamSpec = number(
    "stride",
    [128, 8, 1 << 20],
    "bytes from one load to the next, a multiple of 8 (a line of a cache has 64 or 128)",
);
const LINE: ParamSpec = number(
    "stride",
    [64, 64, 1 << 20],
    "bytes between the places of loads, a multiple of 8 (a line of a cache has 64 or 128)",
);
const PASSED: ParamSpec = number(
    "size_kib",
    [256 << 10, 1, 4 << 20],
    "memory of a pass, in KiB; a copy has twice as much",
);
const FILE: ParamSpec = number("size_kib", [64 << 10, 1, 1 << 20], "size of the file, in KiB");
const SMALL_FILE: ParamSpec =
    number("size_kib", [0, 0, 1024], "size of each file, in KiB (LMbench: 0, 1, 4 and 10)");
const MESSAGE: ParamSpec = number("message_bytes", [1, 1, 65_000], "size of a message, in bytes");
const BLOCK: ParamSpec =
    number("message_bytes", [64 << 10, 1, 1 << 20], "written in one call, in bytes");
const DATAGRAM: ParamSpec =
    number("message_bytes", [32 << 10, 1, 65_000], "size of a datagram, in bytes");

const fn room(memory_kib: u64, folder_kib: u64) -> Room {
    Room { memory_kib, folder_kib }
}

fn size(params: &Params) -> u64 {
    int(params, "size_kib").into()
}

/// The memory, and the places of its loads while they are put in order.
fn chased(params: &Params) -> Room {
    let places = (size(params) << 10) / u64::from(int(params, "stride").max(1));
    let order_kib = (places * size_of::<u32>() as u64) >> 10;
    room(size(params) + order_kib, 0)
}

fn rings(params: &Params) -> Room {
    let members = u64::from(int(params, "processes")) + 1;
    // Beside the footprint a process has a stack, and tables of pages.
    room(members * (u64::from(int(params, "footprint_kib")) + 256), 0)
}

/// What rows of one process have in common; each says what it does and how.
const ONE: Row = Row {
    name: "",
    family: FAMILY,
    about: "",
    source: "LMbench 2 and 3 (McVoy, Staelin: lmbench, Portable Tools for Performance Analysis, \
             USENIX 1996)",
    analysis: "",
    measure: Measure::Microseconds,
    scale: Scale::Ratio,
    params: &[COPIES, SAMPLE, SAMPLES],
    roles: &["process"],
    processes: |_| 1,
    tasks: |_| 1,
    room: |_| Room { memory_kib: 0, folder_kib: 0 },
    check: |_, _| Ok(()),
    prepare: clock::clock,
};

/// A token round a ring of processes.
pub static CONTEXT_SWITCH: Row = Row {
    name: "lmbench-more/context-switch",
    about: "a switch from one process of a ring to the next, which goes through its footprint; the \
            pipe and the footprint alone are taken off",
    analysis: "Processes that run one after the other. On one CPU it is the switch itself, and what \
               the caches lose by it, which siblings share; across CPUs it is a wake-up. Compare it per \
               placement: every second process is of the other role.",
    // A difference, which noise can take below 0.
    scale: Scale::Raw,
    params: &[COPIES, FOOTPRINT, PROCESSES, SAMPLE, SAMPLES],
    roles: &["even", "odd"],
    processes: |params| int(params, "processes").into(),
    tasks: |params| int(params, "processes"),
    room: rings,
    prepare: context_switch::context_switch,
    ..ONE
};

const LATENCY: Row = Row {
    analysis: "One copy shows the caches and the memory, which an idle sibling leaves alone. Copies on \
               both siblings share every cache of the core: copies=auto shows what each has left.",
    measure: Measure::Nanoseconds,
    room: chased,
    check: memory_latency::check,
    ..ONE
};

/// Dependent loads in ascending order.
pub static MEMORY_LATENCY: Row = Row {
    name: "lmbench-more/memory-latency",
    about: "a load whose address the one before brought, stride by stride up through the memory",
    params: &[COPIES, SAMPLE, SAMPLES, CHASED, STRIDE],
    prepare: memory_latency::memory_latency,
    ..LATENCY
};
/// Dependent loads in random order.
pub static MEMORY_LATENCY_RANDOM: Row = Row {
    name: "lmbench-more/memory-latency-random",
    about: "a load whose address the one before brought, all over the memory, in pages of usual size",
    params: &[COPIES, SAMPLE, SAMPLES, CHASED, LINE],
    prepare: memory_latency::memory_latency_random,
    ..LATENCY
};

const BANDWIDTH: Row = Row {
    analysis: "One copy seldom takes all the bandwidth of a core, so a sibling can add to it; of a \
               cache it takes its share. With copies=auto the value is that of one copy beside the \
               others: two siblings give more together if it is more than half.",
    measure: Measure::MegabytesPerSecond,
    params: &[COPIES, SAMPLE, SAMPLES, PASSED],
    room: |params| room(size(params), 0),
    ..ONE
};
const COPY: Row = Row { room: |params| room(2 * size(params), 0), ..BANDWIDTH };

/// Loads.
pub static MEMORY_READ: Row = Row {
    name: "lmbench-more/memory-read",
    about: "memory read, every word of 64 bits by a load; bytes read, 10^6 to the MB",
    prepare: memory_bandwidth::memory_read,
    ..BANDWIDTH
};
/// Stores.
pub static MEMORY_WRITE: Row = Row {
    name: "lmbench-more/memory-write",
    about: "memory written, every word of 64 bits by a store; bytes written, 10^6 to the MB",
    prepare: memory_bandwidth::memory_write,
    ..BANDWIDTH
};
/// Loads and stores in one place.
pub static MEMORY_READ_WRITE: Row = Row {
    name: "lmbench-more/memory-read-write",
    about: "memory changed, every word of 64 bits by a load and a store; its bytes once, 10^6 to the MB",
    prepare: memory_bandwidth::memory_read_write,
    ..BANDWIDTH
};
/// Loads here and stores there.
pub static MEMORY_COPY: Row = Row {
    name: "lmbench-more/memory-copy",
    about: "memory copied, every word of 64 bits by a load and a store; bytes copied, 10^6 to the MB",
    prepare: memory_bandwidth::memory_copy,
    ..COPY
};
/// The C library's copy.
pub static BCOPY: Row = Row {
    name: "lmbench-more/bcopy",
    about: "memory copied by the C library's memcpy; bytes copied, 10^6 to the MB",
    prepare: memory_bandwidth::bcopy,
    ..COPY
};

const REREAD: Row = Row {
    analysis: "The page cache and the caches of one process, and of file-reread the kernel's copy. \
               Mitigations, which differ with SMT, show in short files only.",
    params: &[COPIES, DIR, SAMPLE, SAMPLES, FILE],
    // The page cache is memory.
    room: |params| room(size(params), size(params)),
    ..BANDWIDTH
};

/// A file read again by `read`.
pub static FILE_REREAD: Row = Row {
    name: "lmbench-more/file-reread",
    about: "a file of the page cache read in blocks of 64 KiB; bytes read, 10^6 to the MB",
    prepare: file_read::file_reread,
    ..REREAD
};
/// A file read again through a map.
pub static MMAP_REREAD: Row = Row {
    name: "lmbench-more/mmap-reread",
    about: "a mapped file of the page cache, every word of 64 bits by a load; bytes read, 10^6 to the MB",
    prepare: file_read::mmap_reread,
    ..REREAD
};

const TWO: Row = Row {
    analysis: "Two processes that wake each other through the kernel's network code. Where they run \
               decides more than SMT does: compare it per placement.",
    params: &[COPIES, MESSAGE, SAMPLE, SAMPLES],
    roles: &["client", "server"],
    processes: |_| 2,
    tasks: |_| 2,
    ..ONE
};

/// A round trip over TCP.
pub static TCP_LATENCY: Row = Row {
    name: "lmbench-more/tcp-latency",
    about: "a message there and back over a TCP connection on loopback, between two processes",
    prepare: loopback::tcp_latency,
    ..TWO
};
/// A round trip over UDP.
pub static UDP_LATENCY: Row = Row {
    name: "lmbench-more/udp-latency",
    about: "a message there and back over UDP on loopback, between two processes",
    prepare: loopback::udp_latency,
    ..TWO
};
/// A round trip over a socket of the machine itself.
pub static UNIX_LATENCY: Row = Row {
    name: "lmbench-more/unix-latency",
    about: "a message there and back over a UNIX stream socket, between two processes",
    prepare: loopback::unix_latency,
    ..TWO
};

const STREAM: Row = Row {
    analysis: "One process writes while another reads: on siblings they share the caches through \
               which the bytes go, on two cores they do not. Compare it per placement.",
    measure: Measure::MegabytesPerSecond,
    params: &[COPIES, BLOCK, SAMPLE, SAMPLES],
    roles: &["sender", "receiver"],
    ..TWO
};

/// Blocks through a pipe.
pub static PIPE_BANDWIDTH: Row = Row {
    name: "lmbench-more/pipe-bandwidth",
    about: "blocks through a pipe to a second process; bytes received, 10^6 to the MB",
    prepare: loopback::pipe_bandwidth,
    ..STREAM
};
/// Blocks over TCP.
pub static TCP_BANDWIDTH: Row = Row {
    name: "lmbench-more/tcp-bandwidth",
    about: "blocks over a TCP connection on loopback; bytes received, 10^6 to the MB",
    prepare: loopback::tcp_bandwidth,
    ..STREAM
};
/// Datagrams, never more than the receiver can hold.
pub static UDP_BANDWIDTH: Row = Row {
    name: "lmbench-more/udp-bandwidth",
    about: "datagrams on loopback, 64 KiB or 64 of them between answers; bytes received, 10^6 to the MB",
    params: &[COPIES, DATAGRAM, SAMPLE, SAMPLES],
    prepare: loopback::udp_bandwidth,
    ..STREAM
};
/// Blocks over a socket of the machine itself.
pub static UNIX_BANDWIDTH: Row = Row {
    name: "lmbench-more/unix-bandwidth",
    about: "blocks over a UNIX stream socket; bytes received, 10^6 to the MB",
    prepare: loopback::unix_bandwidth,
    ..STREAM
};

const NAMES: Row = Row {
    analysis: "File names in one process, on the file system that the reading names: what switching \
               SMT costs through mitigations, if a disk does not decide.",
    params: &[COPIES, DIR, SAMPLE, SAMPLES, SMALL_FILE],
    room: |params| room(0, files::folder_kib(int(params, "size_kib"))),
    ..ONE
};

/// A new file.
pub static FILE_CREATE: Row = Row {
    name: "lmbench-more/file-create",
    about: "a file made, filled by one write and closed, in a folder that fills up to 1000",
    prepare: files::file_create,
    ..NAMES
};
/// A file that goes.
pub static FILE_DELETE: Row = Row {
    name: "lmbench-more/file-delete",
    about: "a file removed from a folder of at most 1000, the oldest first",
    prepare: files::file_delete,
    ..NAMES
};

const READS: Row = Row {
    analysis: "A few instructions, or one short system call, of one process: what an idle sibling \
               costs, and what mitigations cost that come and go with SMT.",
    measure: Measure::Nanoseconds,
    ..ONE
};

/// The clock as programs read it.
pub static CLOCK: Row = Row {
    name: "lmbench-more/clock",
    about: "one read of the monotonic clock through the C library, which seldom asks the kernel",
    prepare: clock::clock,
    ..READS
};
/// The clock by a system call.
pub static CLOCK_SYSTEM_CALL: Row = Row {
    name: "lmbench-more/clock-system-call",
    about: "one read of the monotonic clock by a system call",
    prepare: clock::clock_system_call,
    ..READS
};
