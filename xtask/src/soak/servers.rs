//! The servers, beside clients that come and go: memory, descriptors, threads and processes are as
//! many at the end as they were after the first.

use super::clients::{Protocol, Served, USERS, good, visit};
use super::{Growth, anonymous_kib, text};
use crate::random::Random;
use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two clients.
const PAUSE: Duration = Duration::from_millis(250);
/// How often its memory is read.
const EVERY: Duration = Duration::from_secs(1);
/// How long what a client took may be kept after it has gone.
const SETTLES: Duration = Duration::from_secs(120);

/// A server, and what it is asked.
struct Server {
    name: &'static str,
    arguments: &'static [&'static str],
    protocol: Protocol,
    /// How much memory it may gain once it is warm, in KiB: `top` knows as many tasks as the machine has.
    growth_kib_max: u64,
}

const SERVERS: [Server; 5] = [
    Server {
        name: "serve chat",
        arguments: &["serve", "chat", "--users", "2", "--port", "0", "--patience", "3"],
        protocol: Protocol::Chat,
        growth_kib_max: 1024,
    },
    Server {
        name: "serve chat-futex",
        arguments: &["serve", "chat-futex", "--users", "2", "--port", "0", "--patience", "3"],
        protocol: Protocol::Chat,
        growth_kib_max: 1024,
    },
    Server {
        name: "serve tbench",
        arguments: &["serve", "tbench", "--port", "0", "--patience", "3"],
        protocol: Protocol::Tbench,
        growth_kib_max: 1024,
    },
    Server {
        name: "serve tbench-threads",
        arguments: &["serve", "tbench-threads", "--port", "0", "--patience", "3"],
        protocol: Protocol::Tbench,
        growth_kib_max: 1024,
    },
    Server {
        name: "top --openmetrics",
        arguments: &["top", "--openmetrics", "127.0.0.1:0", "--method", "sampled"],
        protocol: Protocol::Http,
        growth_kib_max: 4096,
    },
];

/// Starts a thread for each; it says in the end what the server was like.
pub(super) fn start(
    program: &Path,
    length: Duration,
    seed: u64,
) -> Vec<(&'static str, JoinHandle<Result<String>>)> {
    assert_eq!(USERS, 2, "as the servers of chat are told");
    let run = |(at, server): (u64, &'static Server)| {
        let program = program.to_owned();
        let thread = std::thread::spawn(move || {
            let mut running = Running::start(&program, server)?;
            running.soak(server, length, Random(seed.wrapping_add(at)))
        });
        (server.name, thread)
    };
    (0..).zip(&SERVERS).map(run).collect()
}

/// What a process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    /// But for files of /proc.
    descriptors: usize,
    threads: u64,
    children: usize,
}

/// A server; killed when dropped.
struct Running {
    child: Child,
    address: SocketAddr,
}

impl Running {
    /// Starts it, and waits until it says where it listens.
    fn start(program: &Path, server: &Server) -> Result<Self> {
        let mut child = Command::new(program)
            .args(server.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let said = BufReader::new(child.stderr.take().context("no output to read")?);
        let mut lines = said.lines();
        let address = loop {
            let Some(line) = lines.next().transpose()? else {
                let status = child.wait()?;
                bail!("it ended before it listened: {status}");
            };
            if let Some(address) = address_in(&line) {
                break address;
            }
        };
        // Read on and on, else it would wait for us.
        std::thread::spawn(|| lines.map_while(Result::ok).for_each(drop));
        Ok(Self { child, address })
    }

    /// Lets clients come and go for so long.
    fn soak(&mut self, server: &Server, length: Duration, mut random: Random) -> Result<String> {
        let protocol = server.protocol;
        let mut served = Served::default();
        // Buffers, and what is made once, are there after the first.
        good(self.address, protocol, &mut served)?;
        let first = self.settled(None)?;
        let (mut readings, mut most) = (Vec::new(), 0);
        let started = Instant::now();
        let mut read = started;
        while started.elapsed() < length {
            visit(self.address, protocol, &mut random, &mut served)?;
            ensure!(self.child.try_wait()?.is_none(), "the server ended");
            if read.elapsed() >= EVERY {
                read = Instant::now();
                readings.extend(anonymous_kib(&text(&self.file("status"))));
                most = most.max(self.held().descriptors);
            }
            std::thread::sleep(PAUSE);
        }
        good(self.address, protocol, &mut served)?;
        let last = self.settled(Some(first))?;
        let clients = served.good + served.others;
        crate::print(&format!("did: {clients} clients of servers\n"));
        let growth = Growth::of(&readings)?;
        let line = format!(
            "{:.1} min, {} good clients, {} others; {} KiB once warm, {} KiB at the end; {} descriptors, \
             {} threads, {} processes left, as after the first; at most {most} descriptors",
            started.elapsed().as_secs_f64() / 60.0,
            served.good,
            served.others,
            growth.warm_kib,
            growth.end_kib,
            last.descriptors,
            last.threads,
            last.children,
        );
        ensure!(growth.end_kib <= growth.warm_kib + server.growth_kib_max, "{line}");
        Ok(line)
    }

    /// What it holds once every client has gone: as much as `wanted`, or what does not change for a
    /// while.
    fn settled(&self, wanted: Option<Held>) -> Result<Held> {
        let started = Instant::now();
        let mut same = 0;
        let mut last = self.held();
        while started.elapsed() < SETTLES {
            if wanted.is_some_and(|wanted| wanted == last) || (wanted.is_none() && same >= 20) {
                return Ok(last);
            }
            std::thread::sleep(PAUSE);
            let now = self.held();
            same = if now == last { same + 1 } else { 0 };
            last = now;
        }
        bail!("it holds {last:?}, and held {wanted:?} after the first client")
    }

    fn file(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.child.id())
    }

    fn held(&self) -> Held {
        let entries = |name: &str| std::fs::read_dir(self.file(name)).map_or(0, Iterator::count);
        let id = self.child.id();
        // What `top` keeps open of /proc goes with the threads of this machine, not with its clients.
        let is_of_clients = |entry: std::io::Result<std::fs::DirEntry>| {
            let target = entry.and_then(|entry| std::fs::read_link(entry.path()));
            target.is_ok_and(|target| !target.starts_with("/proc"))
        };
        let descriptors = std::fs::read_dir(self.file("fd"))
            .map_or(0, |entries| entries.map(is_of_clients).filter(|is| *is).count());
        Held {
            descriptors,
            threads: entries("task") as u64,
            children: text(&self.file(&format!("task/{id}/children"))).split_whitespace().count(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// `listening on 127.0.0.1:9999; …` and `serving http://127.0.0.1:9741/metrics`.
fn address_in(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("listening on ").or_else(|| line.split_once("http://"))?;
    rest.split([';', '/']).next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_in_what_servers_say() {
        let address = "127.0.0.1:9999".parse().ok();
        assert_eq!(address_in("listening on 127.0.0.1:9999; Ctrl-C ends"), address);
        assert_eq!(address_in("serving http://127.0.0.1:9999/metrics"), address);
        assert_eq!(address_in("warning: no siblings"), None);
    }
}
