//! What the server does for a request, step by step.

use super::mix::{Kind, Step};
use crate::{Context, Error, socket};
use coretwin_base::random::Stream;
use rustix::net::RecvFlags;
use std::net::TcpStream;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of a cache line, of which a walk takes one number.
const LINE: usize = 64;
const NUMBERS: usize = LINE / size_of::<u32>();
const HELD_ROUNDS: u32 = 32;
const HOP_MAX: usize = 1 << 10;

/// What all workers share.
pub(crate) struct Shop {
    /// One cycle through all lines: the first number of each is the line that follows.
    lines: Vec<[u32; NUMBERS]>,
    lock: Mutex<u64>,
}

impl Shop {
    pub(crate) fn new(memory_kib: u32) -> Self {
        let count = (memory_kib as usize * 1024 / LINE).max(2);
        let mut order: Vec<u32> = (0..count as u32).collect();
        Stream::new(1, "walk", 0).shuffle(&mut order);
        let mut lines = vec![[0; NUMBERS]; count];
        for (place, line) in order.iter().enumerate() {
            lines[*line as usize][0] = order[(place + 1) % count];
        }
        Self { lines, lock: Mutex::new(0) }
    }
}

/// What a worker has of its own: where its hops go, if its mix has any.
pub(crate) struct Hand<'a> {
    shop: &'a Shop,
    backend: Option<TcpStream>,
}

impl<'a> Hand<'a> {
    /// Also the other end of its hops, to be answered by [`echo`].
    pub(crate) fn new(shop: &'a Shop, hops: bool) -> Result<(Self, Option<TcpStream>), Error> {
        if !hops {
            return Ok((Self { shop, backend: None }, None));
        }
        let (here, there) = socket::tcp_pair().context("a worker cannot reach its backend")?;
        for end in [&here, &there] {
            end.set_nodelay(true).context("a worker cannot reach its backend")?;
        }
        Ok((Self { shop, backend: Some(here) }, Some(there)))
    }

    /// Does what a request asks for. The number keeps the compiler from leaving anything out.
    pub(crate) fn serve(&mut self, kind: &Kind, argument: u64) -> Result<u64, Error> {
        let mut value = argument;
        for step in kind.steps {
            value = match *step {
                Step::Compute(rounds) => compute(value, rounds),
                Step::Walk(loads) => self.walk(value, loads),
                Step::Lock(times) => (0..times).fold(value, |value, _| {
                    let mut held = self.shop.lock.lock().unwrap_or_else(PoisonError::into_inner);
                    *held = compute(held.wrapping_add(value), HELD_ROUNDS);
                    *held
                }),
                Step::Hop(bytes) => value ^ self.hop(bytes)?,
                Step::Spin(_) => spin(Duration::from_nanos(argument)),
            };
        }
        Ok(value)
    }

    fn walk(&self, from: u64, loads: u32) -> u64 {
        let mut line = (from % self.shop.lines.len() as u64) as usize;
        for _ in 0..loads {
            line = self.shop.lines[line][0] as usize;
        }
        line as u64
    }

    fn hop(&self, bytes: u32) -> Result<u64, Error> {
        let Some(backend) = &self.backend else { return Ok(0) };
        let mut buffer = [0; HOP_MAX];
        let message = &mut buffer[..(bytes as usize).min(HOP_MAX)];
        socket::send(backend, message).context("a worker lost its backend")?;
        let got = socket::receive(backend, message, RecvFlags::empty());
        Ok(got.context("a worker lost its backend")? as u64)
    }
}

pub(crate) fn compute(mut value: u64, rounds: u32) -> u64 {
    for _ in 0..rounds {
        value = (value ^ (value >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    value
}

fn spin(time: Duration) -> u64 {
    let start = Instant::now();
    let mut looks = 0;
    while start.elapsed() < time {
        looks += 1;
    }
    looks
}

/// The backend: sends back whatever comes, until the other end is closed.
pub(crate) fn echo(stream: &TcpStream) {
    let mut buffer = [0; HOP_MAX];
    while let Ok((_, count)) = rustix::net::recv(stream, &mut buffer, RecvFlags::empty()) {
        if count == 0 || socket::send(stream, &buffer[..count]).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::mix::MIXES;

    #[test]
    fn a_walk_goes_through_every_line_once() {
        let shop = Shop::new(64);
        let mut seen = vec![false; 1024];
        let mut line = 0;
        for _ in 0..1024 {
            assert!(!std::mem::replace(&mut seen[line], true));
            line = shop.lines[line][0] as usize;
        }
        assert_eq!(line, 0);
    }

    #[test]
    fn every_kind_is_served_and_one_that_spins_takes_its_time() {
        let shop = Shop::new(64);
        let (mut hand, backend) = Hand::new(&shop, true).expect("a hand");
        let backend = backend.expect("a backend");
        std::thread::scope(|scope| {
            scope.spawn(|| echo(&backend));
            for kind in MIXES.iter().flat_map(|mix| mix.kinds) {
                let start = Instant::now();
                hand.serve(kind, 3_000_000).expect("served");
                if let [Step::Spin(_)] = kind.steps {
                    assert!(start.elapsed() >= Duration::from_millis(3));
                }
            }
            drop(hand);
        });
        assert_eq!(shop.lock.lock().map(|value| *value == 0).ok(), Some(false));
    }
}
