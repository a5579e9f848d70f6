//! chat: rooms of twenty users, four tasks to each, which send every message to all others over
//! loopback TCP. Tables 4 and 7.

use super::load::{Family, Load, Making, Row, Sizes, Values};
use super::rows;
use crate::Result;
use crate::kernel::{SocketSpec, Start, Step, Which, Work};
use coretwin_base::study::reading::Better;

pub(super) static FAMILY: Family = Family {
    name: "chat",
    profile: "chat",
    keeps: &[
        "80 tasks to a room in two processes: a sender and a receiver for each user on either side",
        "each process makes its tasks by forks, before the clock starts",
        "all of them wait on one semaphore until every one is there, then start at once",
        "a message is a send and a receive of 100 bytes; the server's receiver of a user counts it on the user's semaphore, and the user's server sender then sends to the 19 others in their order",
        "sockets hold a bounded number of bytes: who writes faster than the other reads must wait",
        "no socket options, so Nagle's algorithm: what is written while a segment is not read waits, and comes as one segment, sent in the reader's time when it has read all",
        "on a machine of today: the first segments of a connection are acknowledged at once, and one is full with 17 messages of several senders",
        "messages/s are the client's sent and received ones over the time from the start to the last task's end",
    ],
    drops: &[
        "delayed acknowledgements and windows; that both directions of a connection share one",
        "the socket's lock, which is held for part of a send only",
        "making connections, which the benchmark does not time either",
    ],
    uses_files: false,
    rows: &[Row { runs: [4, 32], ..Row::of("chat", Better::Higher, build) }],
};

const USERS: u64 = 20;
const MESSAGE_BYTES: u64 = 100;
/// Part of a message's work that sending is, without a segment's way: half, as of a pipe, if a machine says nothing.
const SEND_PERCENT: u64 = 50;
/// What the birth of each task adds to the wait for the start, so that all of them wait by then.
const SETTLE_NS: u64 = 60_000;

/// The semaphore besides the start's that all share.
const DONE: u32 = 1;

fn build(_: &Row, sizes: &Sizes<'_>, values: &Values<'_>) -> Result<Load> {
    let rooms = sizes.count("rooms", 10, 800)?;
    let users = sizes.count("users", USERS, 200)?;
    let all = sizes.count("messages", 100, 32_767)?;
    let bytes = sizes.count("size", MESSAGE_BYTES, 65_536)?;
    sizes.only("server", "own")?;
    let (messages, fraction) = sizes.sampled(all, 10);
    let held = values.work("chat_messages_held")?.max(1);
    let message_ns = values.work("chat_message")?;
    let today = |name: &str| values.machine.work.get(name).copied();
    let so_many = |name: &str| today(name).unwrap_or(0) as u32;
    let send_ns = message_ns * today("chat_send").unwrap_or(SEND_PERCENT) / 100;
    let receive_ns = message_ns - send_ns;
    let profile = values.profile;

    let down = |semaphore| Step::Down { semaphore, count: 1 };
    let up = |semaphore, count| Step::Up { semaphore, count };
    let done = up(Which::Number(DONE), 1);
    let others = users - 1;
    let programs = vec![
        rows::at_gate()
            .repeat(messages, |body| body.work(profile, send_ns).send(Which::Own(0), bytes))
            .step(done.clone())
            .program("client-sender"),
        rows::at_gate()
            .repeat(others * messages, |body| {
                body.receive(Which::Own(0), bytes).work(profile, receive_ns)
            })
            .step(done)
            .program("client-receiver"),
        Making::default()
            .repeat(messages, |body| {
                let body = body.receive(Which::Own(0), bytes).work(profile, receive_ns);
                body.step(up(Which::Own(1), 1))
            })
            .program("server-receiver"),
        Making::default()
            .repeat(messages, |body| {
                let body = body.step(down(Which::Own(0)));
                (0..others).fold(body, |body, other| {
                    body.work(profile, send_ns).send(Which::Own(1 + other as u8), bytes)
                })
            })
            .program("server-sender"),
        rows::open_gate(2 * rooms * users)
            .step(Step::Down { semaphore: Which::Number(DONE), count: (2 * rooms * users) as u32 })
            .program("client"),
        rows::maker(SERVERS, 2 * rooms * users).program("server-maker"),
        rows::maker(SERVERS + 2 * rooms * users, 2 * rooms * users).program("client-maker"),
    ];
    let tasks = 4 * rooms * users;
    let from_ns = rows::WAIT_NS + tasks * SETTLE_NS;
    let segment_ns = values.work("chat_segment")?;
    let up = SocketSpec {
        segment_ns,
        quick_segments: so_many("chat_quick_segments"),
        ..SocketSpec::of(held * bytes)
    };
    // One task writes up, and every other user's down.
    let down = SocketSpec { segment_writes: so_many("chat_segment_writes"), ..up };
    let work = Work {
        programs,
        starts: starts(rooms, users, from_ns),
        sockets: [up, down].repeat((rooms * users) as usize),
        semaphores: vec![0; (2 + rooms * users) as usize],
        ..Work::default()
    };
    let counted = rooms * users * messages * users;
    Ok(rows::clients(work, from_ns, fraction, (counted as f64, counted)))
}

/// Where the server's tasks begin in the list of starts.
const SERVERS: u64 = 3;

/// The client that raises the start and those who make tasks, side by side: then the server's tasks of all users, then
/// the client's. Socket `2u` goes up to the server, `2u + 1` down to the client.
fn starts(rooms: u64, users: u64, from_ns: u64) -> Vec<Start> {
    let mut starts = vec![Start { at_ns: from_ns, ..Start::of(4) }, Start::of(5), Start::of(6)];
    let all = (rooms * users) as u32;
    let start = |program, own| Start { own, same_memory: true, count: 0, ..Start::of(program) };
    for user in 0..all {
        let first = user - user % users as u32;
        let semaphore = 2 + user;
        let others = (first..first + users as u32).filter(|other| *other != user);
        let sending = std::iter::once(semaphore).chain(others.map(|other| 2 * other + 1));
        starts.push(start(2, vec![2 * user, semaphore]));
        starts.push(start(3, sending.collect()));
    }
    for user in 0..all {
        starts.push(start(0, vec![2 * user]));
        starts.push(start(1, vec![2 * user + 1]));
    }
    starts
}
