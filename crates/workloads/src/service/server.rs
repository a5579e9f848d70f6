//! The server: workers that share one queue, first come, first served.
//!
//! A worker without a request waits for the place at the sockets. Whoever has it reads all that has come
//! into the queue and leaves the place, by which the next idle worker wakes and looks into the queue
//! first. So no request waits while a worker is idle, and no thread stands between sockets and work.

use super::mix::{self, Mix, Step};
use super::wire::{REQUEST, Request, answer_head};
use super::work::{Hand, Shop, echo};
use crate::answer::Said;
use crate::door::Door;
use crate::{Context, Error, answer, role, socket, sys};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(crate) mix: String,
    pub(crate) workers: u32,
    pub(crate) connections: u32,
    pub(crate) memory_kib: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Served {
    pub(crate) requests: u64,
}

pub(crate) fn run(args: &[String]) -> Result<Served, Error> {
    let orders: Orders = role::orders(args, "the server of service")?;
    let mix = mix::find(&orders.mix).ok_or_else(|| Error::failed("no such mix"))?;
    sys::open_more_files();
    let shop = Shop::new(orders.memory_kib);
    let (listener, address) = socket::listen(SocketAddr::from(([127, 0, 0, 1], 0)), |_| Ok(()))?;
    let mut door = Door::guarded(listener, orders.connections)?;
    answer::tell(&Said::<Served>::Port(address.port()));
    let floor = Floor::open(mix, &mut door, orders.connections)?;
    floor.serve(&shop, orders.workers)?;
    Ok(Served { requests: floor.requests.load(Ordering::SeqCst) })
}

struct Connection {
    stream: TcpStream,
    /// Held while an answer is written.
    writing: Mutex<()>,
}

struct Floor {
    mix: &'static Mix,
    epoll: OwnedFd,
    connections: Vec<Connection>,
    queue: Mutex<VecDeque<(usize, Request)>>,
    sockets: Mutex<Sockets>,
    over: AtomicBool,
    requests: AtomicU64,
    failure: OnceLock<Error>,
}

/// What the worker at the sockets needs.
struct Sockets {
    open: usize,
    /// Of each connection, the beginning of a request whose rest has not come.
    begun: Vec<Vec<u8>>,
    chunk: Vec<u8>,
}

fn hold<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Floor {
    fn open(mix: &'static Mix, door: &mut Door, count: u32) -> Result<Self, Error> {
        const WATCH: &str = "the server cannot watch its connections";
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).context(WATCH)?;
        let mut connections = Vec::new();
        for index in 0..count {
            let stream = door.wait().context("the server cannot accept the generator")?;
            stream.set_nodelay(true).context(WATCH)?;
            let data = epoll::EventData::new_u64(index.into());
            epoll::add(&epoll, &stream, data, epoll::EventFlags::IN).context(WATCH)?;
            connections.push(Connection { stream, writing: Mutex::new(()) });
        }
        let sockets = Sockets {
            open: connections.len(),
            begun: vec![Vec::new(); connections.len()],
            chunk: vec![0; 64 << 10],
        };
        Ok(Self {
            mix,
            epoll,
            connections,
            queue: Mutex::new(VecDeque::new()),
            sockets: Mutex::new(sockets),
            over: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            failure: OnceLock::new(),
        })
    }

    /// Serves until every connection is closed.
    fn serve(&self, shop: &Shop, workers: u32) -> Result<(), Error> {
        let steps = self.mix.kinds.iter().flat_map(|kind| kind.steps);
        let hops = steps.into_iter().any(|step| matches!(step, Step::Hop(_)));
        let hands = (0..workers).map(|_| Hand::new(shop, hops)).collect::<Result<Vec<_>, _>>()?;
        std::thread::scope(|scope| {
            for (hand, backend) in hands {
                if let Some(backend) = backend {
                    scope.spawn(move || echo(&backend));
                }
                scope.spawn(move || {
                    if let Err(error) = self.work(hand) {
                        let _ = self.failure.set(error);
                        self.end();
                    }
                });
            }
        });
        match self.failure.get() {
            Some(error) => Err(Error::failed(error.to_string())),
            None => Ok(()),
        }
    }

    fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
        for connection in &self.connections {
            let _ = connection.stream.shutdown(std::net::Shutdown::Both);
        }
    }

    fn work(&self, mut hand: Hand<'_>) -> Result<(), Error> {
        let (mut answer, mut events) = (Vec::new(), Vec::with_capacity(256));
        while !self.over.load(Ordering::SeqCst) {
            let next = hold(&self.queue).pop_front();
            let Some((from, request)) = next else {
                self.read_more(&mut events)?;
                continue;
            };
            let kind = self.mix.kinds.get(request.kind as usize);
            let kind = kind.ok_or_else(|| Error::failed("a request of no kind of the mix"))?;
            std::hint::black_box(hand.serve(kind, request.argument)?);
            self.requests.fetch_add(1, Ordering::Relaxed);
            answer.clear();
            answer.extend_from_slice(&answer_head(request.number, kind.reply));
            answer.resize(answer.len() + kind.reply as usize, 0);
            let connection = &self.connections[from];
            let _writing = hold(&connection.writing);
            // A generator that is gone is seen at the sockets.
            let _ = socket::send(&connection.stream, &answer);
        }
        Ok(())
    }

    fn read_more(&self, events: &mut Vec<epoll::Event>) -> Result<(), Error> {
        let mut sockets = hold(&self.sockets);
        if self.over.load(Ordering::SeqCst) || !hold(&self.queue).is_empty() {
            return Ok(());
        }
        let Sockets { open, begun, chunk } = &mut *sockets;
        events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Error::system("the server cannot wait", error)),
        }
        for event in events.iter() {
            let index = event.data.u64() as usize;
            let connection = &self.connections[index];
            if self.read(index, &mut begun[index], chunk) {
                continue;
            }
            let _ = epoll::delete(&self.epoll, &connection.stream);
            *open -= 1;
        }
        if *open == 0 {
            self.end();
        }
        Ok(())
    }

    /// Reads what a connection has, a chunk at most; whether it is still open.
    fn read(&self, index: usize, begun: &mut Vec<u8>, chunk: &mut [u8]) -> bool {
        let stream = &self.connections[index].stream;
        let count = match rustix::net::recv(stream, &mut *chunk, RecvFlags::DONTWAIT) {
            Ok((_, 0)) => return false,
            Ok((_, count)) => count,
            Err(Errno::AGAIN | Errno::INTR) => return true,
            Err(_) => return false,
        };
        begun.extend_from_slice(&chunk[..count]);
        let (requests, rest) = begun.as_chunks::<REQUEST>();
        let rest = rest.len();
        hold(&self.queue).extend(requests.iter().map(|bytes| (index, Request::read(bytes))));
        begun.drain(..begun.len() - rest);
        true
    }
}
