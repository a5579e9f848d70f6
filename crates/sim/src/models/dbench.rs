//! dbench: clients that do to files of their own what a file server's would. Tables 5 and 7.

use super::load::{Family, Load, Making, Row, Sizes, Values};
use super::rows;
use super::tbench::CLIENT_MEGABYTES;
use crate::Result;
use crate::kernel::{Access, Amount, Start, Step, Which, Work};
use coretwin_base::study::reading::Better;

pub(super) static FAMILY: Family = Family {
    name: "dbench",
    profile: "dbench",
    keeps: &[
        "a process to each client, which does its load once; all start together",
        "45,000 calls a client (a load file of 90,000 lines, a request and its answer each), 132 MB, two system calls each (lseek and read, open and fstat)",
        "21 MB of files written first, of which 3.2 MB are read and 1 MB is rewritten again and again; up to 2.7 MB of passing files, deleted after each 22 MB moved: counted in the load that dbench 4 ships",
        "written pages stay in memory until they are 30 s old or too many; then the disk takes them, and if it is too slow, those who write wait; deleted ones never get there",
        "on a machine of today: a load that flushes files (dbench 1 passes over that), and waits five times for each: for pages, inodes, names, the disk's cache, and the discard of freed blocks",
        "throughput is 132 MB for each client over the time until the last one is done",
    ],
    drops: &[
        "the order of the load file: two reads, a write and three others go round, of mean size",
        "directories and inodes: a call on names is work, and never waits for the disk",
        "a file system's journal",
        "locks of the file system, the big kernel lock with them: two CPUs of one core meet there seldom, and nothing measured without siblings says how often",
    ],
    uses_files: true,
    rows: &[Row { runs: [2, 12], ..Row::of("dbench", Better::Higher, build) }],
};

/// Writes that make a client's files, 21 MB, before anything else: those not looked at again but at the end,
/// those read, and those read and rewritten; counted in the load that dbench 4 ships.
const FIRST: [u64; 3] = [271, 34, 15];
/// Of each of these writes.
const FIRST_BYTES: u64 = 65_536;
/// Of the passing files at most so much is alive.
const PASSING_BYTES: u64 = 2_700_000;
const UNUSED: Which = Which::Own(0);
const READ: Which = Which::Own(1);
const REWRITTEN: Which = Which::Own(2);
const PASSING: Which = Which::Own(3);
/// What follows in one pass: rounds of two reads, a write and three other calls, every second write to the
/// passing files, which are deleted so often: 45,000 calls with those before, 78 MB read and 33 MB written.
const ROUNDS: u64 = 1490;
const DELETIONS: u64 = 5;
const READ_BYTES: u64 = 5235;
const WRITE_BYTES: u64 = 4430;
/// Calls of a round that move no data.
const OTHERS: u64 = 3;
/// What a client waits for at a flush besides the file's pages, counted by stacks on ext4 without a journal: 1.5 inodes
/// (the file's, a directory's), 0.75 blocks of names or extents, the disk's own cache, and 0.8 discards of
/// blocks that a deletion frees.
const FLUSH_WAITS: u64 = 4;
const BLOCK_BYTES: u64 = 4096;

fn build(_: &Row, sizes: &Sizes<'_>, values: &Values<'_>) -> Result<Load> {
    let clients = sizes.count("clients", 8, 2000)?;
    sizes.only("mode", "classic")?;
    sizes.only("sync", "no")?;
    sizes.only("fsync", "no")?;
    let (pairs, fraction) = sizes.sampled(ROUNDS / 2, 25);
    let part = |all: u64| ((all as f64 * fraction) as u64).max(1);
    let firsts = FIRST.map(part);
    let call_ns = values.work("dbench_call")?;
    let kib_ns = values.work("dbench_kib")?;
    let profile = values.profile;
    let seek =
        |making: Making, bytes: u64| making.call(0).work(profile, call_ns + kib_ns * bytes / 1024);
    let read = |making: Making, file| {
        let amount = Amount::Fixed(READ_BYTES);
        seek(making, READ_BYTES).step(Step::Read { file, bytes: amount, access: Access::Random })
    };
    let write = |making: Making, file, bytes: u64| {
        let amount = Amount::Fixed(bytes);
        seek(making, bytes).step(Step::Write { file, bytes: amount, access: Access::Next })
    };
    let round = |making: Making, file| {
        let making = write(read(read(making, READ), REWRITTEN), file, WRITE_BYTES);
        (0..OTHERS).fold(making, |making, _| seek(making, 0).call(0))
    };
    let first = [UNUSED, READ, REWRITTEN].into_iter().zip(firsts);
    let client = first.fold(rows::at_gate(), |making, (file, writes)| {
        making.repeat(writes, |body| write(body, file, FIRST_BYTES))
    });
    let flushes =
        part(values.machine.work.get("dbench_flushes").map_or(0, |number| *number)) / DELETIONS;
    let flush = |making: Making| {
        let disk = Step::Disk { bytes: Amount::Fixed(BLOCK_BYTES) };
        (0..FLUSH_WAITS)
            .fold(making.step(Step::Synchronise(REWRITTEN)), |making, _| making.step(disk.clone()))
    };
    let pairs_of =
        |making: Making, pairs| making.repeat(pairs, |body| round(round(body, PASSING), REWRITTEN));
    let between = pairs.checked_div(flushes).unwrap_or(0);
    let client = client.repeat(DELETIONS, |body| {
        let body = body.repeat(flushes, |body| flush(pairs_of(body, between)));
        pairs_of(body, pairs - between * flushes).step(Step::Forget(PASSING))
    });
    let client = [UNUSED, READ, REWRITTEN]
        .into_iter()
        .fold(client, |making, file| making.step(Step::Forget(file)));
    let main = rows::open_gate(clients);
    let files = firsts.map(|writes| writes * FIRST_BYTES);
    let files = [&files[..], &[part(PASSING_BYTES)]].concat();
    let own = |client: u64| (4 * client as u32..).take(files.len()).collect();
    let of = |client: u64| Start { own: own(client), count: 0, ..Start::of(0) };
    let mut starts = vec![Start { at_ns: rows::WAIT_NS, ..Start::of(1) }, Start::of(2)];
    let maker = rows::maker(starts.len() as u64, clients).program("maker");
    starts.extend((0..clients).map(of));
    let work = Work {
        programs: vec![client.program("client"), main.program("main"), maker],
        starts,
        semaphores: vec![0],
        files: (0..clients).flat_map(|_| files.clone()).collect(),
        ..Work::default()
    };
    let calls = firsts.iter().sum::<u64>() + DELETIONS * 2 * pairs * (3 + OTHERS);
    let megabytes = CLIENT_MEGABYTES * clients as f64 * fraction;
    Ok(rows::clients(work, rows::WAIT_NS, fraction, (megabytes, clients * calls)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_moves_what_it_is_counted_for() {
        let first: u64 = FIRST.iter().map(|writes| writes * FIRST_BYTES).sum();
        let round = 2 * READ_BYTES + WRITE_BYTES;
        let moved = (first + DELETIONS * ROUNDS * round) as f64 / 1e6;
        assert!((moved - CLIENT_MEGABYTES).abs() < 0.1, "{moved} MB");
        let calls = FIRST.iter().sum::<u64>() + DELETIONS * ROUNDS * (3 + OTHERS);
        assert!(calls.abs_diff(45_000) < 50, "{calls} calls");
    }
}
