//! The rows of AIM9. A new one is an element here and a model, or the reason why it has none, in `sim`.

use super::disk::Work;
use super::messages::Channel;
use super::{Group, Row, arithmetic, disk, kernel, library, messages, names};

/// Rows, each by name, group, what a call is credited, unit, set-up, and what a call does.
macro_rules! rows {
    ($($name:literal, $group:ident, $credit:literal, $unit:literal, $prepare:expr, $about:literal;)+) => {
        &[$(Row {
            name: concat!("aim9/", $name),
            about: $about,
            unit: $unit,
            credit: $credit,
            group: Group::$group,
            prepare: $prepare,
        }),+]
    };
}

pub(super) fn all() -> impl Iterator<Item = &'static Row> {
    TABLE_2.iter().chain(MORE)
}

/// The rows of the article's Table 2, in its order: the suite.
pub static TABLE_2: &[Row] = rows! {
    "add_double", Compute, 18_000, "thousand additions/s", arithmetic::add_double,
        "1,500,000 turns of 12 dependent additions of 64-bit floating-point numbers";
    "add_float", Compute, 12_000, "thousand additions/s", arithmetic::add_float,
        "1,000,000 turns of 12 dependent additions of 32-bit floating-point numbers";
    "add_long", Compute, 60_000, "thousand additions/s", arithmetic::add_long,
        "5,000,000 turns of 12 dependent additions of 64-bit integers (the article's were 32-bit)";
    "add_int", Compute, 60_000, "thousand additions/s", arithmetic::add_int,
        "5,000,000 turns of 12 dependent additions of 32-bit integers";
    "add_short", Compute, 24_000, "thousand additions/s", arithmetic::add_short,
        "2,000,000 turns of 12 dependent additions of 16-bit integers";
    "creat-clo", Names, 1_000, "creations/s", names::creat_clo,
        "one file created and closed 1000 times, then removed";
    "page_test", Kernel, 1_700, "allocations and pages/s", |_| kernel::heap(100, true),
        "the heap shrunk by 64 KiB and grown by 16 pages, each touched; 100 turns";
    "brk_test", Kernel, 17_000, "allocations/s", |_| kernel::heap(1000, false),
        "the heap shrunk by 64 KiB and grown by 16 pages; 1000 turns";
    "jmp_test", Kernel, 1_000, "jumps/s", kernel::jmp_test,
        "registers saved, 11 calls deep, and a jump back; 1000 times";
    "signal_test", Kernel, 1_000, "signals/s", kernel::signal_test,
        "1000 signals sent to itself and caught by a handler that installs itself again";
    "exec_test", Programs, 5, "program loads/s", kernel::exec_test,
        "5 children that become a one-line shell script, each waited for";
    "fork_test", Kernel, 100, "task creations/s", kernel::fork_test,
        "100 children that end at once, each waited for";
    "link_test", Names, 63, "link pairs/s", names::link_test,
        "7 links beside a name, removed and made again 9 times";
    "disk_rr", Disk, 5_120, "K/s", |place| disk::prepare(place, Work::RandomRead),
        "a file written, then read in random blocks of 1 KiB, as many as it has";
    "disk_rw", Disk, 5_120, "K/s", |place| disk::prepare(place, Work::RandomWrite),
        "a file written, then random blocks of 1 KiB written over, as many as it has";
    "disk_rd", Disk, 5_120, "K/s", |place| disk::prepare(place, Work::Read),
        "a file read in order, 1 KiB at a time";
    "disk_wrt", Disk, 5_120, "K/s", |place| disk::prepare(place, Work::Write),
        "a file written in order, 1 KiB at a time";
    "disk_cp", Disk, 5_120, "K/s", |place| disk::prepare(place, Work::Copy),
        "a file copied, 1 KiB at a time";
    "sync_disk_rw", SyncDisk, 2_560, "K/s", |place| disk::prepare(place, Work::SyncRandomWrite),
        "half a file written, then random blocks of 1 KiB written over, each synchronously";
    "sync_disk_wrt", SyncDisk, 2_560, "K/s", |place| disk::prepare(place, Work::SyncWrite),
        "half a file written in order, 1 KiB at a time, each synchronously";
    "sync_disk_cp", SyncDisk, 2_560, "K/s", |place| disk::prepare(place, Work::SyncCopy),
        "half a file copied, 1 KiB at a time, each written synchronously";
    "disk_src", Names, 75, "searches/s", names::disk_src,
        "57 names looked up and 43 files made and removed in a tree of 24 folders";
    "div_double", Compute, 3_000, "thousand divides/s", arithmetic::div_double,
        "250,000 turns of 12 dependent divisions of 64-bit floating-point numbers";
    "div_float", Compute, 3_000, "thousand divides/s", arithmetic::div_float,
        "250,000 turns of 12 dependent divisions of 32-bit floating-point numbers";
    "div_long", Compute, 900, "thousand divides/s", arithmetic::div_long,
        "75,000 turns of 12 dependent divisions of 64-bit integers (the article's were 32-bit)";
    "div_int", Compute, 900, "thousand divides/s", arithmetic::div_int,
        "75,000 turns of 12 dependent divisions of 32-bit integers";
    "div_short", Compute, 900, "thousand divides/s", arithmetic::div_short,
        "75,000 turns of 12 dependent divisions of 16-bit integers";
    "fun_cal", Compute, 512_000, "calls/s", |_| arithmetic::function_calls(0),
        "512,000 calls of a function without arguments, through a pointer";
    "fun_cal1", Compute, 512_000, "calls/s", |_| arithmetic::function_calls(1),
        "512,000 calls of a function of 1 argument, through a pointer";
    "fun_cal2", Compute, 512_000, "calls/s", |_| arithmetic::function_calls(2),
        "512,000 calls of a function of 2 arguments, through a pointer";
    "fun_cal15", Compute, 512_000, "calls/s", |_| arithmetic::function_calls(15),
        "512,000 calls of a function of 15 arguments, through a pointer";
    "sieve", Compute, 5, "sieves/s", arithmetic::sieve,
        "the primes below 1,000,000 in a table of bytes, 5 times";
    "mul_double", Compute, 12_000, "thousand multiplies/s", arithmetic::mul_double,
        "1,000,000 turns of 12 dependent products of 64-bit floating-point numbers";
    "mul_float", Compute, 12_000, "thousand multiplies/s", arithmetic::mul_float,
        "1,000,000 turns of 12 dependent products of 32-bit floating-point numbers";
    "mul_long", Compute, 240, "thousand multiplies/s", arithmetic::mul_long,
        "20,000 turns of 12 dependent products of 64-bit integers (the article's were 32-bit)";
    "mul_int", Compute, 240, "thousand multiplies/s", arithmetic::mul_int,
        "20,000 turns of 12 dependent products of 32-bit integers";
    "mul_short", Compute, 300, "thousand multiplies/s", arithmetic::mul_short,
        "25,000 turns of 12 dependent products of 16-bit integers";
    "num_rtns_1", Library, 100, "rounds of functions/s", library::num_rtns_1,
        "16 numeric functions of the C library, 100 rounds";
    "trig_rtns", Library, 10_000, "rounds of functions/s", library::trig_rtns,
        "10 trigonometric functions of the C library, 10,000 rounds";
    "matrix_rtns", Library, 100, "transformations/s", arithmetic::matrix_rtns,
        "100 points multiplied by matrices of 4 by 4";
    "array_rtns", Library, 20, "systems/s", arithmetic::array_rtns,
        "20 systems of 5 to 100 linear equations solved and verified";
    "string_rtns", Library, 100, "manipulations/s", library::string_rtns,
        "conversions, classes, appending and searching by the C library, 100 rounds";
    "mem_rtns_1", Library, 30_000, "memory operations/s", library::mem_rtns_1,
        "300 blocks of 1 to 8192 bytes got from the C library's allocator and freed, 100 rounds";
    "mem_rtns_2", Library, 100, "block operations/s", library::mem_rtns_2,
        "blocks of 1 to 8192 bytes filled, searched, compared, copied and moved, 100 rounds";
    "sort_rtns_1", Sort, 10, "sort operations/s", library::sort_rtns_1,
        "10,000 integers sorted 6 times, and 2 times 2000 searched for";
    "misc_rtns_1", Library, 10, "loops/s", library::misc_rtns_1,
        "21 questions to C library and kernel (users, groups, times, folder), 10 rounds";
    "dir_rtns_1", Directory, 10_000, "directory operations/s", names::dir_rtns_1,
        "10,000 entries read from a directory of 100, over and over";
    "shell_rtns_1", Programs, 1, "scripts/s", |place| kernel::shell(place, 1),
        "a child that has a shell run a script that runs ls -l";
    "shell_rtns_2", Programs, 1, "scripts/s", |place| kernel::shell(place, 2),
        "as shell_rtns_1, with a script of its own";
    "shell_rtns_3", Programs, 1, "scripts/s", |place| kernel::shell(place, 3),
        "as shell_rtns_1, with a script of its own";
    "series_1", Library, 100, "series/s", library::series_1,
        "the series of 100 sines, and the C library's to compare with";
    "shared_memory", SharedMemory, 100, "operations/s", messages::shared_memory,
        "100 messages through SysV shared memory guarded by a semaphore";
    "tcp_test", Messages, 90, "messages/s", |_| messages::prepare(Channel::Tcp, 90),
        "a TCP connection to itself over 127.0.0.1, and 89 messages";
    "udp_test", Messages, 100, "datagrams/s", |_| messages::prepare(Channel::Udp, 100),
        "UDP sockets on 127.0.0.1, and 99 datagrams to itself";
    "fifo_test", Fifo, 100, "messages/s", messages::fifo_test,
        "a FIFO, and 99 messages to itself";
    "stream_pipe", Messages, 100, "messages/s", |_| messages::prepare(Channel::StreamPair, 100),
        "a pair of stream sockets, and 99 messages to itself";
    "dgram_pipe", Messages, 100, "messages/s", |_| messages::prepare(Channel::DatagramPair, 100),
        "a pair of datagram sockets, and 99 messages to itself";
    "pipe_cpy", Messages, 100, "messages/s", |_| messages::prepare(Channel::Pipe, 100),
        "a pipe, and 99 messages to itself";
    "ram_copy", Library, 25_020, "bytes/s", library::ram_copy,
        "64 copies of 1 to 8192 bytes by the C library, 25,020 bytes together";
};

/// What the original has beside its standard list, and the article does not print.
pub static MORE: &[Row] = rows! {
    "sync_disk_update", SyncDisk, 2_560, "K/s", |place| disk::prepare(place, Work::SyncUpdate),
        "a file written, then random blocks read and those behind them written synchronously";
};
