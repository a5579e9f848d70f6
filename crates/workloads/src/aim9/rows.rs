//! The rows of AIM9, in the order of the article's Table 2.

use super::{
    Group, Row, arithmetic, directory_search, disk, file_names, function_calls, heap,
    linear_algebra, memory, messages, numeric, processes, shared_memory, sieve, sort, strings,
    system_questions,
};

/// All of them; the last is not in the table.
pub static ALL: &[&Row] = &[
    &ADD_DOUBLE,
    &ADD_FLOAT,
    &ADD_LONG,
    &ADD_INT,
    &ADD_SHORT,
    &CREAT_CLO,
    &PAGE_TEST,
    &BRK_TEST,
    &JMP_TEST,
    &SIGNAL_TEST,
    &EXEC_TEST,
    &FORK_TEST,
    &LINK_TEST,
    &DISK_RR,
    &DISK_RW,
    &DISK_RD,
    &DISK_WRT,
    &DISK_CP,
    &SYNC_DISK_RW,
    &SYNC_DISK_WRT,
    &SYNC_DISK_CP,
    &DISK_SRC,
    &DIV_DOUBLE,
    &DIV_FLOAT,
    &DIV_LONG,
    &DIV_INT,
    &DIV_SHORT,
    &FUN_CAL,
    &FUN_CAL1,
    &FUN_CAL2,
    &FUN_CAL15,
    &SIEVE,
    &MUL_DOUBLE,
    &MUL_FLOAT,
    &MUL_LONG,
    &MUL_INT,
    &MUL_SHORT,
    &NUM_RTNS_1,
    &TRIG_RTNS,
    &MATRIX_RTNS,
    &ARRAY_RTNS,
    &STRING_RTNS,
    &MEM_RTNS_1,
    &MEM_RTNS_2,
    &SORT_RTNS_1,
    &MISC_RTNS_1,
    &DIR_RTNS_1,
    &SHELL_RTNS_1,
    &SHELL_RTNS_2,
    &SHELL_RTNS_3,
    &SERIES_1,
    &SHARED_MEMORY,
    &TCP_TEST,
    &UDP_TEST,
    &FIFO_TEST,
    &STREAM_PIPE,
    &DGRAM_PIPE,
    &PIPE_CPY,
    &RAM_COPY,
    &SYNC_DISK_UPDATE,
];

pub(crate) static ADD_DOUBLE: Row = Row {
    name: "aim9/add_double",
    about: "1,500,000 turns of 12 dependent additions of 64-bit floating-point numbers",
    unit: "thousand additions/s",
    credit: 18_000,
    group: Group::Compute,
    prepare: arithmetic::add_double,
};
pub(crate) static ADD_FLOAT: Row = Row {
    name: "aim9/add_float",
    about: "1,000,000 turns of 12 dependent additions of 32-bit floating-point numbers",
    unit: "thousand additions/s",
    credit: 12_000,
    group: Group::Compute,
    prepare: arithmetic::add_float,
};
pub(crate) static ADD_LONG: Row = Row {
    name: "aim9/add_long",
    about: "5,000,000 turns of 12 dependent additions of 64-bit integers (the article's were 32-bit)",
    unit: "thousand additions/s",
    credit: 60_000,
    group: Group::Compute,
    prepare: arithmetic::add_long,
};
pub(crate) static ADD_INT: Row = Row {
    name: "aim9/add_int",
    about: "5,000,000 turns of 12 dependent additions of 32-bit integers",
    unit: "thousand additions/s",
    credit: 60_000,
    group: Group::Compute,
    prepare: arithmetic::add_int,
};
pub(crate) static ADD_SHORT: Row = Row {
    name: "aim9/add_short",
    about: "2,000,000 turns of 12 dependent additions of 16-bit integers",
    unit: "thousand additions/s",
    credit: 24_000,
    group: Group::Compute,
    prepare: arithmetic::add_short,
};
pub(crate) static CREAT_CLO: Row = Row {
    name: "aim9/creat-clo",
    about: "one file created and closed 1000 times, then removed",
    unit: "creations/s",
    credit: 1_000,
    group: Group::Names,
    prepare: file_names::creat_clo,
};
pub(crate) static PAGE_TEST: Row = Row {
    name: "aim9/page_test",
    about: "the heap shrunk by 64 KiB and grown by 16 pages, each touched; 100 turns",
    unit: "allocations and pages/s",
    credit: 1_700,
    group: Group::Kernel,
    prepare: heap::page_test,
};
pub(crate) static BRK_TEST: Row = Row {
    name: "aim9/brk_test",
    about: "the heap shrunk by 64 KiB and grown by 16 pages; 1000 turns",
    unit: "allocations/s",
    credit: 17_000,
    group: Group::Kernel,
    prepare: heap::brk_test,
};
pub(crate) static JMP_TEST: Row = Row {
    name: "aim9/jmp_test",
    about: "registers saved, 11 calls deep, and a jump back; 1000 times",
    unit: "jumps/s",
    credit: 1_000,
    group: Group::Kernel,
    prepare: processes::jmp_test,
};
pub(crate) static SIGNAL_TEST: Row = Row {
    name: "aim9/signal_test",
    about: "1000 signals sent to itself and caught by a handler that installs itself again",
    unit: "signals/s",
    credit: 1_000,
    group: Group::Kernel,
    prepare: processes::signal_test,
};
pub(crate) static EXEC_TEST: Row = Row {
    name: "aim9/exec_test",
    about: "5 children that become a one-line shell script, each waited for",
    unit: "program loads/s",
    credit: 5,
    group: Group::Programs,
    prepare: processes::exec_test,
};
pub(crate) static FORK_TEST: Row = Row {
    name: "aim9/fork_test",
    about: "100 children that end at once, each waited for",
    unit: "task creations/s",
    credit: 100,
    group: Group::Kernel,
    prepare: processes::fork_test,
};
pub(crate) static LINK_TEST: Row = Row {
    name: "aim9/link_test",
    about: "7 links beside a name, removed and made again 9 times",
    unit: "link pairs/s",
    credit: 63,
    group: Group::Names,
    prepare: file_names::link_test,
};
pub(crate) static DISK_RR: Row = Row {
    name: "aim9/disk_rr",
    about: "a file written, then read in random blocks of 1 KiB, as many as it has",
    unit: "K/s",
    credit: 5_120,
    group: Group::Disk,
    prepare: disk::disk_rr,
};
pub(crate) static DISK_RW: Row = Row {
    name: "aim9/disk_rw",
    about: "a file written, then random blocks of 1 KiB written over, as many as it has",
    unit: "K/s",
    credit: 5_120,
    group: Group::Disk,
    prepare: disk::disk_rw,
};
pub(crate) static DISK_RD: Row = Row {
    name: "aim9/disk_rd",
    about: "a file read in order, 1 KiB at a time",
    unit: "K/s",
    credit: 5_120,
    group: Group::Disk,
    prepare: disk::disk_rd,
};
pub(crate) static DISK_WRT: Row = Row {
    name: "aim9/disk_wrt",
    about: "a file written in order, 1 KiB at a time",
    unit: "K/s",
    credit: 5_120,
    group: Group::Disk,
    prepare: disk::disk_wrt,
};
pub(crate) static DISK_CP: Row = Row {
    name: "aim9/disk_cp",
    about: "a file copied, 1 KiB at a time",
    unit: "K/s",
    credit: 5_120,
    group: Group::Disk,
    prepare: disk::disk_cp,
};
pub(crate) static SYNC_DISK_RW: Row = Row {
    name: "aim9/sync_disk_rw",
    about: "half a file written, then random blocks of 1 KiB written over, each synchronously",
    unit: "K/s",
    credit: 2_560,
    group: Group::SyncDisk,
    prepare: disk::sync_disk_rw,
};
pub(crate) static SYNC_DISK_WRT: Row = Row {
    name: "aim9/sync_disk_wrt",
    about: "half a file written in order, 1 KiB at a time, each synchronously",
    unit: "K/s",
    credit: 2_560,
    group: Group::SyncDisk,
    prepare: disk::sync_disk_wrt,
};
pub(crate) static SYNC_DISK_CP: Row = Row {
    name: "aim9/sync_disk_cp",
    about: "half a file copied, 1 KiB at a time, each written synchronously",
    unit: "K/s",
    credit: 2_560,
    group: Group::SyncDisk,
    prepare: disk::sync_disk_cp,
};
pub(crate) static DISK_SRC: Row = Row {
    name: "aim9/disk_src",
    about: "57 names looked up and 43 files made and removed in a tree of 24 folders",
    unit: "searches/s",
    credit: 75,
    group: Group::Names,
    prepare: directory_search::disk_src,
};
pub(crate) static DIV_DOUBLE: Row = Row {
    name: "aim9/div_double",
    about: "250,000 turns of 12 dependent divisions of 64-bit floating-point numbers",
    unit: "thousand divides/s",
    credit: 3_000,
    group: Group::Compute,
    prepare: arithmetic::div_double,
};
pub(crate) static DIV_FLOAT: Row = Row {
    name: "aim9/div_float",
    about: "250,000 turns of 12 dependent divisions of 32-bit floating-point numbers",
    unit: "thousand divides/s",
    credit: 3_000,
    group: Group::Compute,
    prepare: arithmetic::div_float,
};
pub(crate) static DIV_LONG: Row = Row {
    name: "aim9/div_long",
    about: "75,000 turns of 12 dependent divisions of 64-bit integers (the article's were 32-bit)",
    unit: "thousand divides/s",
    credit: 900,
    group: Group::Compute,
    prepare: arithmetic::div_long,
};
pub(crate) static DIV_INT: Row = Row {
    name: "aim9/div_int",
    about: "75,000 turns of 12 dependent divisions of 32-bit integers",
    unit: "thousand divides/s",
    credit: 900,
    group: Group::Compute,
    prepare: arithmetic::div_int,
};
pub(crate) static DIV_SHORT: Row = Row {
    name: "aim9/div_short",
    about: "75,000 turns of 12 dependent divisions of 16-bit integers",
    unit: "thousand divides/s",
    credit: 900,
    group: Group::Compute,
    prepare: arithmetic::div_short,
};
pub(crate) static FUN_CAL: Row = Row {
    name: "aim9/fun_cal",
    about: "512,000 calls of a function without arguments, through a pointer",
    unit: "calls/s",
    credit: 512_000,
    group: Group::Compute,
    prepare: function_calls::fun_cal,
};
pub(crate) static FUN_CAL1: Row = Row {
    name: "aim9/fun_cal1",
    about: "512,000 calls of a function of 1 argument, through a pointer",
    unit: "calls/s",
    credit: 512_000,
    group: Group::Compute,
    prepare: function_calls::fun_cal1,
};
pub(crate) static FUN_CAL2: Row = Row {
    name: "aim9/fun_cal2",
    about: "512,000 calls of a function of 2 arguments, through a pointer",
    unit: "calls/s",
    credit: 512_000,
    group: Group::Compute,
    prepare: function_calls::fun_cal2,
};
pub(crate) static FUN_CAL15: Row = Row {
    name: "aim9/fun_cal15",
    about: "512,000 calls of a function of 15 arguments, through a pointer",
    unit: "calls/s",
    credit: 512_000,
    group: Group::Compute,
    prepare: function_calls::fun_cal15,
};
pub(crate) static SIEVE: Row = Row {
    name: "aim9/sieve",
    about: "the primes below 1,000,000 in a table of bytes, 5 times",
    unit: "sieves/s",
    credit: 5,
    group: Group::Compute,
    prepare: sieve::sieve,
};
pub(crate) static MUL_DOUBLE: Row = Row {
    name: "aim9/mul_double",
    about: "1,000,000 turns of 12 dependent products of 64-bit floating-point numbers",
    unit: "thousand multiplies/s",
    credit: 12_000,
    group: Group::Compute,
    prepare: arithmetic::mul_double,
};
pub(crate) static MUL_FLOAT: Row = Row {
    name: "aim9/mul_float",
    about: "1,000,000 turns of 12 dependent products of 32-bit floating-point numbers",
    unit: "thousand multiplies/s",
    credit: 12_000,
    group: Group::Compute,
    prepare: arithmetic::mul_float,
};
pub(crate) static MUL_LONG: Row = Row {
    name: "aim9/mul_long",
    about: "20,000 turns of 12 dependent products of 64-bit integers (the article's were 32-bit)",
    unit: "thousand multiplies/s",
    credit: 240,
    group: Group::Compute,
    prepare: arithmetic::mul_long,
};
pub(crate) static MUL_INT: Row = Row {
    name: "aim9/mul_int",
    about: "20,000 turns of 12 dependent products of 32-bit integers",
    unit: "thousand multiplies/s",
    credit: 240,
    group: Group::Compute,
    prepare: arithmetic::mul_int,
};
pub(crate) static MUL_SHORT: Row = Row {
    name: "aim9/mul_short",
    about: "25,000 turns of 12 dependent products of 16-bit integers",
    unit: "thousand multiplies/s",
    credit: 300,
    group: Group::Compute,
    prepare: arithmetic::mul_short,
};
pub(crate) static NUM_RTNS_1: Row = Row {
    name: "aim9/num_rtns_1",
    about: "16 numeric functions of the C library, 100 rounds",
    unit: "rounds of functions/s",
    credit: 100,
    group: Group::Library,
    prepare: numeric::num_rtns_1,
};
pub(crate) static TRIG_RTNS: Row = Row {
    name: "aim9/trig_rtns",
    about: "10 trigonometric functions of the C library, 10,000 rounds",
    unit: "rounds of functions/s",
    credit: 10_000,
    group: Group::Library,
    prepare: numeric::trig_rtns,
};
pub(crate) static MATRIX_RTNS: Row = Row {
    name: "aim9/matrix_rtns",
    about: "100 points multiplied by matrices of 4 by 4",
    unit: "transformations/s",
    credit: 100,
    group: Group::Library,
    prepare: linear_algebra::matrix_rtns,
};
pub(crate) static ARRAY_RTNS: Row = Row {
    name: "aim9/array_rtns",
    about: "20 systems of 5 to 100 linear equations solved and verified",
    unit: "systems/s",
    credit: 20,
    group: Group::Library,
    prepare: linear_algebra::array_rtns,
};
pub(crate) static STRING_RTNS: Row = Row {
    name: "aim9/string_rtns",
    about: "conversions, classes, appending and searching by the C library, 100 rounds",
    unit: "manipulations/s",
    credit: 100,
    group: Group::Library,
    prepare: strings::string_rtns,
};
pub(crate) static MEM_RTNS_1: Row = Row {
    name: "aim9/mem_rtns_1",
    about: "300 blocks of 1 to 8192 bytes got from the C library's allocator and freed, 100 rounds",
    unit: "memory operations/s",
    credit: 30_000,
    group: Group::Library,
    prepare: memory::mem_rtns_1,
};
pub(crate) static MEM_RTNS_2: Row = Row {
    name: "aim9/mem_rtns_2",
    about: "blocks of 1 to 8192 bytes filled, searched, compared, copied and moved, 100 rounds",
    unit: "block operations/s",
    credit: 100,
    group: Group::Library,
    prepare: memory::mem_rtns_2,
};
pub(crate) static SORT_RTNS_1: Row = Row {
    name: "aim9/sort_rtns_1",
    about: "10,000 integers sorted 6 times, and 2 times 2000 searched for",
    unit: "sort operations/s",
    credit: 10,
    group: Group::Sort,
    prepare: sort::sort_rtns_1,
};
pub(crate) static MISC_RTNS_1: Row = Row {
    name: "aim9/misc_rtns_1",
    about: "21 questions to C library and kernel (users, groups, times, folder), 10 rounds",
    unit: "loops/s",
    credit: 10,
    group: Group::Library,
    prepare: system_questions::misc_rtns_1,
};
pub(crate) static DIR_RTNS_1: Row = Row {
    name: "aim9/dir_rtns_1",
    about: "10,000 entries read from a directory of 100, over and over",
    unit: "directory operations/s",
    credit: 10_000,
    group: Group::Directory,
    prepare: file_names::dir_rtns_1,
};
pub(crate) static SHELL_RTNS_1: Row = Row {
    name: "aim9/shell_rtns_1",
    about: "a child that has a shell run a script that runs ls -l",
    unit: "scripts/s",
    credit: 1,
    group: Group::Programs,
    prepare: processes::shell_rtns_1,
};
pub(crate) static SHELL_RTNS_2: Row = Row {
    name: "aim9/shell_rtns_2",
    about: "as shell_rtns_1, with a script of its own",
    unit: "scripts/s",
    credit: 1,
    group: Group::Programs,
    prepare: processes::shell_rtns_2,
};
pub(crate) static SHELL_RTNS_3: Row = Row {
    name: "aim9/shell_rtns_3",
    about: "as shell_rtns_1, with a script of its own",
    unit: "scripts/s",
    credit: 1,
    group: Group::Programs,
    prepare: processes::shell_rtns_3,
};
pub(crate) static SERIES_1: Row = Row {
    name: "aim9/series_1",
    about: "the series of 100 sines, and the C library's to compare with",
    unit: "series/s",
    credit: 100,
    group: Group::Library,
    prepare: numeric::series_1,
};
pub(crate) static SHARED_MEMORY: Row = Row {
    name: "aim9/shared_memory",
    about: "100 messages through SysV shared memory guarded by a semaphore",
    unit: "operations/s",
    credit: 100,
    group: Group::SharedMemory,
    prepare: shared_memory::shared_memory,
};
pub(crate) static TCP_TEST: Row = Row {
    name: "aim9/tcp_test",
    about: "a TCP connection to itself over 127.0.0.1, and 89 messages",
    unit: "messages/s",
    credit: 90,
    group: Group::Messages,
    prepare: messages::tcp_test,
};
pub(crate) static UDP_TEST: Row = Row {
    name: "aim9/udp_test",
    about: "UDP sockets on 127.0.0.1, and 99 datagrams to itself",
    unit: "datagrams/s",
    credit: 100,
    group: Group::Messages,
    prepare: messages::udp_test,
};
pub(crate) static FIFO_TEST: Row = Row {
    name: "aim9/fifo_test",
    about: "a FIFO, and 99 messages to itself",
    unit: "messages/s",
    credit: 100,
    group: Group::Fifo,
    prepare: messages::fifo_test,
};
pub(crate) static STREAM_PIPE: Row = Row {
    name: "aim9/stream_pipe",
    about: "a pair of stream sockets, and 99 messages to itself",
    unit: "messages/s",
    credit: 100,
    group: Group::Messages,
    prepare: messages::stream_pipe,
};
pub(crate) static DGRAM_PIPE: Row = Row {
    name: "aim9/dgram_pipe",
    about: "a pair of datagram sockets, and 99 messages to itself",
    unit: "messages/s",
    credit: 100,
    group: Group::Messages,
    prepare: messages::dgram_pipe,
};
pub(crate) static PIPE_CPY: Row = Row {
    name: "aim9/pipe_cpy",
    about: "a pipe, and 99 messages to itself",
    unit: "messages/s",
    credit: 100,
    group: Group::Messages,
    prepare: messages::pipe_cpy,
};
pub(crate) static RAM_COPY: Row = Row {
    name: "aim9/ram_copy",
    about: "64 copies of 1 to 8192 bytes by the C library, 25,020 bytes together",
    unit: "bytes/s",
    credit: 25_020,
    group: Group::Library,
    prepare: memory::ram_copy,
};
pub(crate) static SYNC_DISK_UPDATE: Row = Row {
    name: "aim9/sync_disk_update",
    about: "a file written, then random blocks read and those behind them written synchronously",
    unit: "K/s",
    credit: 2_560,
    group: Group::SyncDisk,
    prepare: disk::sync_disk_update,
};
