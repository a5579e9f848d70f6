//! dbench: clients that do to files of their own what a file server's would. Tables 5 and 7.

use super::load::{Family, Load, Making, Row, Sizes, Values};
use super::rows;
use super::tbench::{CLIENT_MEGABYTES, READ_BYTES, WRITE_BYTES};
use crate::Result;
use crate::kernel::{Access, Amount, Start, Step, Which, Work};
use coretwin_base::study::reading::Better;

pub(super) static FAMILY: Family = Family {
    name: "dbench",
    profile: "dbench",
    keeps: &[
        "a process to each client, which does its load once; all start together",
        "45,000 calls a client (a load file of 90,000 lines, a request and its answer each), 132 MB, two system calls each (lseek and read, open and fstat)",
        "21 MB of files alive for each client, written before they are read, of which the passing ones are deleted and written anew",
        "written pages stay in memory until they are 30 s old or too many; then the disk takes them, and if it is too slow, those who write wait; deleted ones never get there",
        "throughput is 132 MB for each client over the time until the last one is done",
    ],
    drops: &[
        "the order of the load file: two reads, a write and three others go round, of mean size",
        "directories and inodes: a call on names is work, and never waits for the disk",
        "locks of the file system, the big kernel lock with them: two CPUs of one core meet there seldom, and nothing measured without siblings says how often",
        "the CPU time of writing back, but for the disk's interrupts",
    ],
    uses_files: true,
    rows: &[Row { runs: [2, 12], ..Row::of("dbench", Better::Higher, build) }],
};

/// Writes that make the files that stay, 10 MB of them.
const LASTING_WRITES: u64 = 1388;
/// Rounds of two reads, a write and three other calls, from one deletion of the passing files to the
/// next: 11 MB written.
const PASSING_ROUNDS: u64 = 1528;
const PASSINGS: u64 = 4;
/// Calls of a round that move no data.
const OTHERS: u64 = 3;

fn build(_: &Row, sizes: &Sizes<'_>, values: &Values<'_>) -> Result<Load> {
    let clients = sizes.count("clients", 8, 2000)?;
    sizes.only("mode", "classic")?;
    sizes.only("sync", "no")?;
    sizes.only("fsync", "no")?;
    let (rounds, fraction) = sizes.sampled(PASSING_ROUNDS, 50);
    let lasting = LASTING_WRITES * rounds / PASSING_ROUNDS;
    let call_ns = values.work("dbench_call")?;
    let kib_ns = values.work("dbench_kib")?;
    let profile = values.profile;
    let [stays, passes] = [Which::Own(0), Which::Own(1)];
    let seek =
        |making: Making, bytes: u64| making.call(0).work(profile, call_ns + kib_ns * bytes / 1024);
    let read = |making: Making| {
        let bytes = Amount::Fixed(READ_BYTES);
        seek(making, READ_BYTES).step(Step::Read { file: stays, bytes, access: Access::Random })
    };
    let write = |making: Making, file| {
        let bytes = Amount::Fixed(WRITE_BYTES);
        seek(making, WRITE_BYTES).step(Step::Write { file, bytes, access: Access::Next })
    };
    let others = |making: Making| (0..OTHERS).fold(making, |making, _| seek(making, 0).call(0));
    let client = rows::at_gate()
        .repeat(lasting, |body| write(body, stays))
        .repeat(PASSINGS, |body| {
            let body = body.repeat(rounds, |body| others(write(read(read(body)), passes)));
            body.step(Step::Forget(passes))
        })
        // The rounds whose writes made the files that stay.
        .repeat(lasting, |body| others(read(read(body))))
        .step(Step::Forget(stays));
    let main = rows::open_gate(clients);
    let of = |client: u64| Start { own: rows::own_pair(client), count: 0, ..Start::of(0) };
    let mut starts = vec![Start { at_ns: rows::WAIT_NS, ..Start::of(1) }, Start::of(2)];
    let maker = rows::maker(starts.len() as u64, clients).program("maker");
    starts.extend((0..clients).map(of));
    let files = [lasting * WRITE_BYTES, rounds * WRITE_BYTES];
    let work = Work {
        programs: vec![client.program("client"), main.program("main"), maker],
        starts,
        semaphores: vec![0],
        files: (0..clients).flat_map(|_| files).collect(),
        ..Work::default()
    };
    let calls = lasting + PASSINGS * rounds * (3 + OTHERS) + lasting * (2 + OTHERS);
    let megabytes = CLIENT_MEGABYTES * clients as f64 * fraction;
    Ok(rows::clients(work, rows::WAIT_NS, fraction, (megabytes, clients * calls)))
}
