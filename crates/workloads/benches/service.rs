//! What the load generator costs: how many requests a second it sends from one CPU without being late,
//! with all due requests of a connection in one write and with a write each, beside others' generators.
//!
//! `cargo bench -p coretwin-workloads --bench service` on a quiet machine with two CPUs: generator on the
//! first, the least server that answers on the second. `seconds=2` is the length of each step. The
//! reference is the least sender there is: one thread, one connection, a request at a time. `wrk` (Debian's
//! package) and `oha` ask the same server by HTTP, where they are installed. The last table is
//! how late requests leave at rates far below that, while the generator sleeps and while it spins.

#![allow(clippy::allow_attributes, clippy::print_stdout, reason = "a benchmark prints")]

use coretwin_base::study::latency::LATE_S;
use coretwin_workloads::service::arrivals::Pattern;
use coretwin_workloads::service::generator::{Asking, Orders, Pace, Report, drive};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::error::Error;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

const CONNECTIONS: usize = 64;
const FEW: usize = 2;
const REQUEST: usize = 16;
const HTTP_END: &[u8] = b"\r\n\r\n";
const HTTP_ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/// Between two rates that are tried.
const STEP: f64 = 1.15;
/// Tries of a rate before it is too high.
const TRIES: u32 = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let seconds = std::env::args().find_map(|arg| arg.strip_prefix("seconds=")?.parse().ok());
    let seconds: f64 = seconds.unwrap_or(2.0);
    let [ours, theirs] = cpus()?;
    println!("load average before: {}", std::fs::read_to_string("/proc/loadavg")?.trim());
    println!(
        "generator on CPU {ours}, server on CPU {theirs}, by default {CONNECTIONS} connections"
    );
    let address = serve(theirs, answer_own)?;
    bind(ours)?;
    let reference = one_at_a_time(address, seconds)?;
    println!("\n| sender | requests/s | ratio |\n|---|---|---|");
    println!("| one blocking connection, closed loop (reference) | {reference:.0} | 1.00 |");
    // Few connections have several requests due at once, many have not.
    for connections in [CONNECTIONS, FEW] {
        for (name, one_by_one) in [("due requests in one write", false), ("a write each", true)] {
            let best = in_time(address, (connections, one_by_one), seconds)?;
            println!(
                "| ours, open loop, {connections} connections, {name} | {best:.0} | {:.2} |",
                best / reference
            );
        }
    }
    let closed =
        run(address, Pace::Closed, true, (CONNECTIONS, false), seconds)?.latency.throughput_per_s;
    println!("| ours, closed loop | {closed:.0} | {:.2} |", closed / reference);
    let http = serve(theirs, answer_http)?;
    let url = format!("http://{http}/");
    let time = format!("{}s", seconds.ceil());
    let wrk = ["-t1", "-c64", "-d", &time, &url];
    let oha = ["-c", "64", "-z", &time, "--no-tui", &url];
    for (program, args) in [("wrk", &wrk[..]), ("oha", &oha[..])] {
        match told(program, args) {
            Some(rate) => {
                println!("| {program}, closed loop, HTTP | {rate:.0} | {:.2} |", rate / reference);
            }
            None => println!("| {program} | not installed | |"),
        }
    }
    println!("\n| offered/s | spins | late p99 µs | late most µs | latency p99 µs |");
    println!("|---|---|---|---|---|");
    for rate_per_s in [1e3, 1e4, 5e4] {
        for spins in [false, true] {
            let pace = Pace::Open { pattern: Pattern::Poisson, rate_per_s };
            let told =
                run(address, pace, spins, (CONNECTIONS, false), seconds.max(11e3 / rate_per_s))?
                    .latency;
            let late = told.generator.unwrap_or_default();
            println!(
                "| {rate_per_s:.0} | {spins} | {:.1} | {:.1} | {:.1} |",
                late.late_p99_s * 1e6,
                late.late_max_s * 1e6,
                told.p99_s.unwrap_or(f64::NAN) * 1e6
            );
        }
    }
    println!("\nload average after: {}", std::fs::read_to_string("/proc/loadavg")?.trim());
    Ok(())
}

/// The first two CPUs that this may use.
fn cpus() -> Result<[usize; 2], Box<dyn Error>> {
    let allowed = sched_getaffinity(None)?;
    let mut all = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    let two = all.next().zip(all.next()).ok_or("this takes two CPUs")?;
    Ok(two.into())
}

fn bind(cpu: usize) -> rustix::io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set)
}

/// The highest rate, in steps, of which all is answered and 99 % leave in time. One that is missed is tried
/// again: on a shared machine somebody else's moment must not end the search.
fn in_time(address: SocketAddr, how: (usize, bool), seconds: f64) -> Result<f64, Box<dyn Error>> {
    let (mut best, mut rate_per_s, mut missed) = (0.0, 20_000.0, 0);
    while missed < TRIES {
        let pace = Pace::Open { pattern: Pattern::Poisson, rate_per_s };
        let told = run(address, pace, true, how, seconds)?.latency;
        let late_s = told.generator.map_or(0.0, |generator| generator.late_p99_s);
        if late_s > LATE_S || told.throughput_per_s < 0.98 * rate_per_s {
            missed += 1;
        } else {
            (best, missed) = (told.throughput_per_s, 0);
            rate_per_s *= STEP;
        }
    }
    Ok(best)
}

fn run(
    address: SocketAddr,
    pace: Pace,
    spins: bool,
    (connections, one_by_one): (usize, bool),
    seconds: f64,
) -> Result<Report, Box<dyn Error>> {
    let streams = (0..connections).map(|_| TcpStream::connect(address));
    let orders = Orders {
        pace,
        asking: Asking::Own { mix: "spin-fixed".to_owned(), service_us: 1.0 },
        warmup_s: 0.3,
        seconds,
        seed: 1,
        spins,
        one_by_one,
        server: None,
    };
    Ok(drive(streams.collect::<Result<_, _>>()?, &orders)?)
}

fn one_at_a_time(address: SocketAddr, seconds: f64) -> Result<f64, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let (start, mut count) = (Instant::now(), 0_u32);
    while start.elapsed() < Duration::from_secs_f64(seconds) {
        stream.write_all(&[0; REQUEST])?;
        stream.read_exact(&mut [0; 8])?;
        count += 1;
    }
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}

/// The rate that a generator of others says; both have it behind the same words.
fn told(program: &str, args: &[&str]) -> Option<f64> {
    let output = Command::new(program).args(args).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:")?.trim().parse().ok())
}

/// Answers what whole requests there are, and how many bytes they had.
type Answering = fn(&[u8], &mut Vec<u8>) -> usize;

fn answer_own(bytes: &[u8], to: &mut Vec<u8>) -> usize {
    let (requests, rest) = bytes.as_chunks::<REQUEST>();
    for request in requests {
        to.extend_from_slice(&request[..4]);
        to.extend_from_slice(&[0; 4]);
    }
    bytes.len() - rest.len()
}

fn answer_http(bytes: &[u8], to: &mut Vec<u8>) -> usize {
    let mut done = 0;
    while let Some(at) = bytes[done..].windows(4).position(|end| end == HTTP_END) {
        to.extend_from_slice(HTTP_ANSWER);
        done += at + HTTP_END.len();
    }
    done
}

/// The least server: one thread that reads what a connection has and answers it all in one write.
fn serve(cpu: usize, answering: Answering) -> Result<SocketAddr, Box<dyn Error>> {
    use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let watch = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&watch, &listener, EventData::new_u64(u64::MAX), EventFlags::IN)?;
    thread::spawn(move || -> std::io::Result<()> {
        bind(cpu)?;
        let mut connections: Vec<(Option<TcpStream>, Vec<u8>)> = Vec::new();
        let (mut events, mut chunk, mut answer) =
            (Vec::with_capacity(256), vec![0; 64 << 10], Vec::new());
        loop {
            events.clear();
            match epoll::wait(&watch, rustix::buffer::spare_capacity(&mut events), None) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other?,
            };
            for event in &events {
                let index = event.data.u64();
                let Some((place, begun)) = connections.get_mut(index as usize) else {
                    while let Ok((stream, _)) = listener.accept() {
                        // A client that is gone already is no reason to end.
                        if stream.set_nodelay(true).is_err() {
                            continue;
                        }
                        let next = EventData::new_u64(connections.len() as u64);
                        epoll::add(&watch, &stream, next, EventFlags::IN)?;
                        connections.push((Some(stream), Vec::new()));
                    }
                    continue;
                };
                let Some(stream) = place else { continue };
                let count = stream.read(&mut chunk).unwrap_or(0);
                begun.extend_from_slice(&chunk[..count]);
                answer.clear();
                let done = answering(begun, &mut answer);
                begun.drain(..done);
                if count == 0 || stream.write_all(&answer).is_err() {
                    *place = None;
                }
            }
        }
    });
    Ok(address)
}
