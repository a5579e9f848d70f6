//! tbench: the calls of a file server's clients as requests and replies over loopback TCP, a process
//! at either end of each connection. Tables 6 and 7.

use super::load::{Family, Load, Making, Row, Sizes, Values};
use super::rows;
use crate::Result;
use crate::kernel::{SocketSpec, Start, Which, Work};
use coretwin_base::study::reading::Better;

pub(super) static FAMILY: Family = Family {
    name: "tbench",
    profile: "tbench",
    keeps: &[
        "a client process and a server process to each connection, one request outstanding",
        "system calls of an exchange: a send and two receives (header, rest) on either side",
        "45,000 exchanges a client (a load file of 90,000 lines, a request and its answer each), 132 MB",
        "sizes of requests and replies of dbench 1.x by verb: reads answer with the data, writes carry it, the rest is small",
        "throughput is 132 MB for each client over the time until the last one is done",
    ],
    drops: &[
        "the order of the load file: two reads, a write and three others go round, of mean size",
        "connecting, and lines that are read but not executed",
    ],
    uses_files: false,
    rows: &[Row { fraction: 0.1, ..Row::of("tbench", Better::Higher, build) }],
};

/// Megabytes that a client moves in one pass.
pub(super) const CLIENT_MEGABYTES: f64 = 132.0;
/// Rounds of six exchanges in one pass.
const ROUNDS: u64 = 7500;
/// Bytes of a read and of a write: 78 MB by 15,000 reads, 54 MB by 7,500 writes.
const READ_BYTES: u64 = 5200;
const WRITE_BYTES: u64 = 7200;
/// Request and reply of the exchanges of a round, in bytes.
const EXCHANGES: [(u64, u64); 6] = [
    (55, READ_BYTES + 4),
    (111, 69),
    (55, READ_BYTES + 4),
    (51 + WRITE_BYTES, 41),
    (83, 39),
    (70, 59),
];
const HEADER_BYTES: u64 = 4;
/// Bytes that a connection holds in one direction. Linux 2.4's default for receiving.
const BUFFER_BYTES: u64 = 65_536;
/// Of an exchange's work, the part of a send in eighths; a receive has what is left of a half.
const SEND_EIGHTHS: u64 = 3;

fn build(_: &Row, sizes: &Sizes<'_>, values: &Values<'_>) -> Result<Load> {
    let clients = sizes.count("clients", 8, 2000)?;
    sizes.only("mode", "classic")?;
    sizes.only("server", "own")?;
    let (rounds, fraction) = sizes.sampled(ROUNDS, 20);
    let exchange_ns = values.work("tbench_exchange")?;
    let kib_ns = values.work("tbench_kib")?;
    let profile = values.profile;
    let send = |making: Making, socket, bytes: u64| {
        let work_ns = exchange_ns * SEND_EIGHTHS / 8 + kib_ns * bytes / 2048;
        making.work(profile, work_ns).send(socket, bytes)
    };
    let receive = |making: Making, socket, bytes: u64| {
        let work_ns = exchange_ns * (4 - SEND_EIGHTHS) / 8 + kib_ns * bytes / 2048;
        let header = making.receive(socket, HEADER_BYTES);
        header.receive(socket, bytes - HEADER_BYTES).work(profile, work_ns)
    };
    let [up, down] = [Which::Own(0), Which::Own(1)];
    let client = rows::at_gate().repeat(rounds, |body| {
        EXCHANGES
            .iter()
            .fold(body, |body, (request, reply)| receive(send(body, up, *request), down, *reply))
    });
    let server = Making::default().repeat(rounds, |body| {
        EXCHANGES
            .iter()
            .fold(body, |body, (request, reply)| send(receive(body, up, *request), down, *reply))
    });
    let main = rows::open_gate(clients);
    let of = |program| {
        let made = move |client| Start {
            own: vec![2 * client as u32, 2 * client as u32 + 1],
            server: program == 1,
            count: 0,
            ..Start::of(program)
        };
        (0..clients).map(made)
    };
    let first = vec![Start { at_ns: rows::WAIT_NS, ..Start::of(2) }, Start::of(3), Start::of(4)];
    let made = first.len() as u64;
    let programs = vec![
        client.program("client"),
        server.program("server"),
        main.program("main"),
        rows::maker(made, clients).program("server-maker"),
        rows::maker(made + clients, clients).program("client-maker"),
    ];
    let work = Work {
        programs,
        starts: first.into_iter().chain(of(1)).chain(of(0)).collect(),
        sockets: vec![SocketSpec::of(BUFFER_BYTES); 2 * clients as usize],
        semaphores: vec![0],
        ..Work::default()
    };
    let megabytes = CLIENT_MEGABYTES * clients as f64 * fraction;
    let exchanges = clients * rounds * EXCHANGES.len() as u64;
    Ok(rows::clients(work, rows::WAIT_NS, fraction, (megabytes, exchanges)))
}
