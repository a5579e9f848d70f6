//! The load generator: one thread, many connections, a schedule that does not wait for the server.
//!
//! In an open loop every request has the time at which it is due, drawn beforehand; its latency counts
//! from there, so a server that stalls is charged with all that became due meanwhile. In a closed loop an
//! answer makes the next request of its connection due. All requests of a connection that are due go in
//! one write.

use super::arrivals::{Arrivals, Pattern};
use super::client::Client;
use super::mix::{self, Requests};
use super::recorder::Recorder;
use super::wire;
use crate::{Context, Error, sys};
use coretwin_base::random::Stream;
use coretwin_base::study::latency::{self, Latency};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::net::TcpStream;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How long requests may be answered after the last was due, in nanoseconds.
const DRAIN_NS: u64 = 5_000_000_000;
/// The most requests that wait for their answers; a run with more fails, for its latencies mean nothing.
const WAITING_MAX: usize = 16 << 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Orders {
    pub pace: Pace,
    pub asking: Asking,
    pub warmup_s: f64,
    pub seconds: f64,
    pub seed: u64,
    /// Whether it never sleeps: on a CPU that nobody else wants.
    pub spins: bool,
    /// Whether each request is a write of its own, which costs a system call each.
    pub one_by_one: bool,
    /// Process whose CPU time is read.
    pub server: Option<i32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Pace {
    Open { pattern: Pattern, rate_per_s: f64 },
    Closed,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Asking {
    /// Name of a mix, and the mean time of requests that spin.
    Own {
        mix: String,
        service_us: f64,
    },
    Memcached {
        keys: u64,
        value_bytes: usize,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub latency: Latency,
    /// Requests that were sent and answered in all phases.
    pub sent_in_all: u64,
    pub answered_in_all: u64,
}

/// Runs warm-up and measurement on connections that are open. Errors: a connection that breaks, and
/// answers of another protocol.
pub fn drive(streams: Vec<TcpStream>, orders: &Orders) -> Result<Report, Error> {
    const WATCH: &str = "the generator cannot watch its connections";
    if let Some(slack) = NonZeroU64::new(1) {
        rustix::thread::set_current_timer_slack(Some(slack)).context("cannot wake in time")?;
    }
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).context(WATCH)?;
    let mut clients = Vec::new();
    let in_order = matches!(orders.asking, Asking::Memcached { .. });
    for (index, stream) in (0..).zip(streams) {
        stream.set_nodelay(true).context(WATCH)?;
        stream.set_nonblocking(true).context(WATCH)?;
        epoll::add(&epoll, &stream, epoll::EventData::new_u64(index), epoll::EventFlags::IN)
            .context(WATCH)?;
        clients.push(Client::new(stream, in_order));
    }
    if clients.is_empty() {
        return Err(Error::failed("the generator has no connection"));
    }
    let mut run = Run::new(orders, epoll, clients)?;
    if let Asking::Memcached { keys, value_bytes } = orders.asking {
        run.store_all(keys, value_bytes)?;
    }
    run.start = Instant::now();
    run.go()?;
    Ok(run.report())
}

struct Run<'a> {
    orders: &'a Orders,
    epoll: OwnedFd,
    clients: Vec<Client>,
    asker: Asker,
    /// When the next request is due; none in a closed loop.
    schedule: Option<(Arrivals, u64)>,
    next_client: usize,
    start: Instant,
    /// Begin and end of the measured part, in nanoseconds from the start.
    measured: [u64; 2],
    /// When each request that waits for its answer was due, by its number.
    waiting: Vec<Option<u64>>,
    free: Vec<u32>,
    latencies: Recorder,
    late: Recorder,
    told: Latency,
    /// Good answers within the measured part.
    in_time: u64,
    sent_in_all: u64,
    answered_in_all: u64,
    cpu_s: [Option<f64>; 2],
}

enum Asker {
    Own(Requests),
    Memcached { keys: u64, value: Vec<u8>, stream: Stream },
}

impl Asker {
    fn new(orders: &Orders) -> Result<Self, Error> {
        Ok(match &orders.asking {
            Asking::Own { mix, service_us } => {
                let mix = mix::find(mix).ok_or_else(|| Error::failed("no such mix"))?;
                Self::Own(Requests::new(mix, *service_us, orders.seed))
            }
            Asking::Memcached { keys, value_bytes } => Self::Memcached {
                keys: (*keys).max(1),
                value: vec![b'v'; *value_bytes],
                stream: Stream::new(orders.seed, "requests", 0),
            },
        })
    }

    fn ask(&mut self, number: u32, to: &mut Vec<u8>) {
        match self {
            Self::Own(requests) => {
                let (kind, argument) = requests.draw();
                wire::Request { number, kind, argument }.write(to);
            }
            Self::Memcached { keys, value, stream } => {
                let key = stream.below(*keys);
                // Nine of ten read, as in Facebook's and most other caches.
                match stream.below(10) {
                    0 => wire::set(key, value, false, to),
                    _ => wire::get(key, to),
                }
            }
        }
    }
}

impl<'a> Run<'a> {
    fn new(orders: &'a Orders, epoll: OwnedFd, clients: Vec<Client>) -> Result<Self, Error> {
        let from = (orders.warmup_s * 1e9) as u64;
        let measured = [from, from + (orders.seconds * 1e9) as u64];
        let schedule = match orders.pace {
            Pace::Closed => None,
            Pace::Open { pattern, rate_per_s } => {
                let mut arrivals = Arrivals::new(pattern, rate_per_s, orders.seed);
                arrivals.next().map(|first| (arrivals, first))
            }
        };
        let told = Latency {
            offered_per_s: match orders.pace {
                Pace::Open { rate_per_s, .. } => Some(rate_per_s),
                Pace::Closed => None,
            },
            duration_s: orders.seconds,
            ..Latency::default()
        };
        Ok(Self {
            orders,
            epoll,
            clients,
            asker: Asker::new(orders)?,
            schedule,
            next_client: 0,
            start: Instant::now(),
            measured,
            waiting: Vec::new(),
            free: Vec::new(),
            latencies: Recorder::default(),
            late: Recorder::default(),
            told,
            in_time: 0,
            sent_in_all: 0,
            answered_in_all: 0,
            cpu_s: [None; 2],
        })
    }

    /// Stores every key, so that none is asked for that is not there.
    fn store_all(&mut self, keys: u64, value_bytes: usize) -> Result<(), Error> {
        let value = vec![b'v'; value_bytes];
        let last = keys.saturating_sub(1);
        for key in 0..last {
            wire::set(key, &value, true, &mut self.clients[0].out);
            if self.clients[0].out.len() > 64 << 10 {
                self.clients[0].write_out().map_err(lost)?;
            }
        }
        // Behind all others: its answer says that they are done.
        wire::set(last, &value, false, &mut self.clients[0].out);
        self.clients[0].write_out().map_err(lost)?;
        self.clients[0].read_stored().map_err(lost)
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn is_measured(&self, ns: u64) -> bool {
        (self.measured[0]..self.measured[1]).contains(&ns)
    }

    fn go(&mut self) -> Result<(), Error> {
        let mut events = Vec::with_capacity(self.clients.len().max(64));
        if self.schedule.is_none() {
            (0..self.clients.len()).try_for_each(|client| self.send(client, 0))?;
        }
        self.flush_all()?;
        let [_, end] = self.measured;
        loop {
            let now = self.now();
            self.read_cpu_time(now);
            self.send_due(now)?;
            let waits = self.waiting.len() > self.free.len();
            if now >= end && (!waits || now >= end + DRAIN_NS) {
                return Ok(());
            }
            events.clear();
            self.sleep(self.wake(now).saturating_sub(now))?;
            let room = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, room, Some(&Timespec::default())) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(cannot_wait(error)),
            }
            for event in &events {
                self.heed(event.data.u64() as usize, event.flags)?;
            }
            self.flush_all()?;
        }
    }

    /// Sleeps for so long, or until an answer comes. The wait for events that kernels before 5.11 have, too,
    /// takes whole milliseconds, rounded up; polling their descriptor takes nanoseconds.
    fn sleep(&self, ns: u64) -> Result<(), Error> {
        if ns == 0 {
            return Ok(());
        }
        match poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timespec(ns))) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(cannot_wait(error)),
        }
    }

    /// When something is to be done though no answer comes.
    fn wake(&self, now: u64) -> u64 {
        if self.orders.spins {
            return now;
        }
        let due = self.schedule.as_ref().map(|(_, due)| *due);
        let [from, end] = self.measured;
        let all = [due, Some(from), Some(end), Some(end + DRAIN_NS)];
        all.into_iter().flatten().filter(|time| *time > now).min().unwrap_or(now)
    }

    fn send_due(&mut self, now: u64) -> Result<(), Error> {
        while let Some((arrivals, due)) = &mut self.schedule {
            let this = *due;
            if this >= self.measured[1] {
                self.schedule = None;
                break;
            }
            if this > now {
                break;
            }
            *due = arrivals.next().unwrap_or(u64::MAX);
            let client = self.next_client;
            self.next_client = (client + 1) % self.clients.len();
            self.send(client, this)?;
            if self.orders.one_by_one {
                self.flush(client)?;
            }
        }
        self.flush_all()
    }

    fn send(&mut self, client: usize, due: u64) -> Result<(), Error> {
        let number = match self.free.pop() {
            Some(number) => number,
            None if self.waiting.len() < WAITING_MAX => {
                self.waiting.push(None);
                (self.waiting.len() - 1) as u32
            }
            None => {
                return Err(Error::failed(format!(
                    "{WAITING_MAX} requests wait for answers: the server is far beyond what it can \
                     do; offer less, or for a shorter time"
                )));
            }
        };
        self.waiting[number as usize] = Some(due);
        let client = &mut self.clients[client];
        self.asker.ask(number, &mut client.out);
        client.sends(number, due);
        self.sent_in_all += 1;
        if self.is_measured(due) {
            self.told.sent += 1;
        }
        Ok(())
    }

    fn flush_all(&mut self) -> Result<(), Error> {
        (0..self.clients.len()).try_for_each(|client| self.flush(client))
    }

    fn flush(&mut self, index: usize) -> Result<(), Error> {
        if self.clients[index].is_idle() {
            return Ok(());
        }
        let now = self.now();
        let [from, end] = self.measured;
        let open = self.told.offered_per_s.is_some();
        let client = &mut self.clients[index];
        for due in client.dues.drain(..) {
            if open && (from..end).contains(&due) {
                self.late.note(now.saturating_sub(due));
            }
        }
        if client.flush(&self.epoll, index as u64).map_err(lost)? {
            return Ok(());
        }
        Err(lost(std::io::ErrorKind::WriteZero.into()))
    }

    /// A connection has something to read, or takes more.
    fn heed(&mut self, index: usize, flags: epoll::EventFlags) -> Result<(), Error> {
        if flags.contains(epoll::EventFlags::OUT) {
            self.clients[index].is_full = false;
        }
        if !flags
            .intersects(epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR)
        {
            return Ok(());
        }
        if !self.clients[index].read().map_err(lost)? {
            return Err(lost(std::io::ErrorKind::ConnectionReset.into()));
        }
        let now = self.now();
        while let Some((number, good)) = self.clients[index].answer()? {
            self.answered(number, good, now)?;
            if self.orders.pace == Pace::Closed && now < self.measured[1] {
                self.send(index, now)?;
            }
        }
        Ok(())
    }

    fn answered(&mut self, number: u32, good: bool, now: u64) -> Result<(), Error> {
        let due = self.waiting.get_mut(number as usize).and_then(Option::take);
        let due = due.ok_or_else(|| {
            Error::failed(format!("the server answered request {number}, which does not wait"))
        })?;
        self.free.push(number);
        self.answered_in_all += 1;
        if good && self.is_measured(now) {
            self.in_time += 1;
        }
        if self.is_measured(due) {
            *(if good { &mut self.told.completed } else { &mut self.told.failed }) += 1;
            self.latencies.note(now.saturating_sub(due));
        }
        Ok(())
    }

    fn read_cpu_time(&mut self, now: u64) {
        let Some(server) = self.orders.server else { return };
        for (at, told) in self.measured.into_iter().zip(&mut self.cpu_s) {
            if told.is_none() && now >= at {
                *told = sys::cpu_time_s(server).ok();
            }
        }
    }

    fn report(mut self) -> Report {
        let now = self.now();
        for due in std::mem::take(&mut self.waiting).into_iter().flatten() {
            if self.is_measured(due) {
                self.latencies.note(now.saturating_sub(due));
            }
        }
        let mut told = self.told;
        self.latencies.tell(&mut told);
        told.throughput_per_s = self.in_time as f64 / self.orders.seconds;
        told.server_cpu_s = match self.cpu_s {
            [Some(from), Some(to)] => Some(to - from),
            _ => None,
        };
        told.generator = self.late.max_s().map(|late_max_s| latency::Generator {
            late_p99_s: self.late.quantile_s(0.99).unwrap_or(late_max_s),
            late_max_s,
            own_cpu: self.orders.spins,
        });
        let (sent_in_all, answered_in_all) = (self.sent_in_all, self.answered_in_all);
        Report { latency: told, sent_in_all, answered_in_all }
    }
}

fn cannot_wait(error: Errno) -> Error {
    Error::system("the generator cannot wait", error)
}

fn lost(error: std::io::Error) -> Error {
    Error::system("the generator lost a connection with the server", error)
}

fn timespec(ns: u64) -> Timespec {
    let time = Duration::from_nanos(ns);
    Timespec {
        tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}
