//! The meter of the host: a process with a thread on each CPU that burns what a round asks for.

use crate::launcher;
use crate::machine::{GLANCE, Stop};
use coretwin_account::probe::meter::{Measured, Meter, MeterError, Round};
use coretwin_base::account::probe::Contention;
use coretwin_base::caps;
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::machine::topology::Topology;
use coretwin_host::process::Group;
use coretwin_workloads::contention::{self, Orders, Reply};
use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write};
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// How long a round counts, in microseconds.
const WINDOW_US: u64 = 8_000;
/// For taking turns: longer than most hypervisors let one virtual CPU run before the next.
const TURNS_WINDOW_US: u64 = 40_000;
const PING_PONG_WINDOW_US: u64 = 3_000;
/// Before a round counts, and to collect what came of it; and for each CPU on top.
const AROUND_S: f64 = 0.003;
const AROUND_PER_CPU_S: f64 = 60e-6;
/// Others may have the CPUs between two rounds, in milliseconds.
const REST: Duration = Duration::from_millis(2);
/// A CPU that begins later than this share of the window was not free.
const LATE_SHARE: f64 = 0.1;
/// A CPU that should rest and is not to be had for so long, is not at rest; in seconds.
const BUSY_S: f64 = 0.001;
const PATIENCE: Duration = Duration::from_secs(20);
/// Sizes of caches where the kernel does not tell, in KiB.
const CACHES_KIB: (u64, u64) = (32, 512);

pub(super) struct HostMeter {
    // Dropped first: the closed input ends the process.
    input: ChildStdin,
    replies: Receiver<Vec<u8>>,
    complaint: ChildStderr,
    group: Group,
    stop: Stop,
    started: Instant,
    exclusive: bool,
    /// Time each CPU was used for the probe, in seconds.
    pub(super) own_s: BTreeMap<CpuId, f64>,
}

impl HostMeter {
    pub(super) fn start(
        topology: &Topology,
        cpus: &CpuSet,
        exclusive: bool,
        stop: &Stop,
    ) -> Result<Self, MeterError> {
        let failed = |why: &dyn std::fmt::Display| MeterError::Failed(why.to_string());
        let worker = launcher::worker_path().map_err(MeterError::Failed)?;
        let orders = Orders {
            cpus: cpus.clone(),
            exclusive,
            l1_kib: smallest(topology, 1).unwrap_or(CACHES_KIB.0),
            l2_kib: smallest(topology, 2).unwrap_or(CACHES_KIB.1),
        };
        let mut command = contention::command(&worker, &orders).map_err(|error| failed(&error))?;
        let (group, pipes) = Group::start(&mut command).map_err(|error| failed(&error))?;
        let mut meter = Self {
            input: pipes.stdin,
            replies: listen(pipes.stdout),
            complaint: pipes.stderr,
            group,
            stop: stop.clone(),
            started: Instant::now(),
            exclusive,
            own_s: BTreeMap::new(),
        };
        match meter.reply()? {
            Reply::Ready => Ok(meter),
            Reply::Failed(why) => Err(MeterError::Failed(why)),
            Reply::Done { .. } => Err(MeterError::Failed("the loops answer out of turn".into())),
        }
    }

    fn reply(&mut self) -> Result<Reply, MeterError> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.replies.recv_timeout(GLANCE) {
                Ok(line) => {
                    return serde_json::from_slice(&line).map_err(|error| {
                        MeterError::Failed(format!("the loops answer what does not read: {error}"))
                    });
                }
                Err(RecvTimeoutError::Timeout) if self.stop.raised() => {
                    return Err(MeterError::Stopped);
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
                Err(RecvTimeoutError::Timeout) => {
                    return Err(MeterError::Failed("the loops give no answer".to_owned()));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.died()),
            }
        }
    }

    /// The process has closed its output: what it said last.
    fn died(&mut self) -> MeterError {
        let status = match self.group.wait(Duration::from_secs(1)) {
            Ok(Some(status)) => status.to_string(),
            _ => "it closed its output".to_owned(),
        };
        let mut said = String::new();
        let _ = (&mut self.complaint).take(4096).read_to_string(&mut said);
        let said = said.trim();
        let said = if said.is_empty() { "was it killed?" } else { said };
        MeterError::Failed(format!("the process with the loops ended early: {status}; {said}"))
    }
}

impl Meter for HostMeter {
    fn measure(&mut self, round: &Round) -> Result<Measured, MeterError> {
        if self.stop.raised() {
            return Err(MeterError::Stopped);
        }
        let window_us = window_us(round.kind);
        let asked = contention::Round {
            kind: round.kind,
            active: round.active.clone(),
            pairs: round.pairs.clone(),
            window_us,
        };
        let line = serde_json::to_string(&asked)
            .map_err(|error| MeterError::Failed(format!("cannot ask for a round: {error}")))?;
        if writeln!(self.input, "{line}").is_err() {
            return Err(self.died());
        }
        let reply = self.reply()?;
        std::thread::sleep(if self.exclusive { Duration::from_micros(window_us) } else { REST });
        let (busy, resting) = match reply {
            Reply::Done { busy, resting } => (busy, resting),
            Reply::Failed(why) => return Err(MeterError::Failed(why)),
            Reply::Ready => return Err(MeterError::Failed("the loops answer out of turn".into())),
        };
        let window_s = window_us as f64 / 1e6;
        let mut measured = Measured::default();
        for one in busy {
            *self.own_s.entry(one.cpu).or_default() += window_s;
            measured.speeds.insert(one.cpu, one.per_s);
            if one.switches > 0 || one.late_s > window_s * LATE_SHARE {
                measured.disturbed.insert(one.cpu);
            }
        }
        for one in resting {
            if self.exclusive {
                *self.own_s.entry(one.cpu).or_default() += window_s;
            }
            if one.late_s > BUSY_S {
                measured.disturbed.insert(one.cpu);
            }
        }
        Ok(measured)
    }

    fn elapsed_s(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }
}

/// About how long a round takes that nobody disturbs, in seconds.
pub(super) fn round_s(kind: Contention, cpus: usize, exclusive: bool) -> f64 {
    let window_s = window_us(kind) as f64 / 1e6;
    let rest_s = if exclusive { window_s + 0.02 } else { REST.as_secs_f64() };
    window_s + rest_s + AROUND_S + cpus as f64 * AROUND_PER_CPU_S
}

fn window_us(kind: Contention) -> u64 {
    match kind {
        Contention::Ports | Contention::L1 | Contention::L2 => WINDOW_US,
        Contention::Turns => TURNS_WINDOW_US,
        Contention::PingPong => PING_PONG_WINDOW_US,
    }
}

/// Size of the smallest cache of a level that holds data, in KiB.
pub(crate) fn smallest(topology: &Topology, level: u32) -> Option<u64> {
    let of_level = topology.caches.iter().filter(|cache| cache.level == level);
    of_level.filter(|cache| cache.kind != "Instruction").map(|cache| cache.size_kib).min()
}

/// Reads lines in a thread, so that the stop flag can be watched.
fn listen(output: ChildStdout) -> Receiver<Vec<u8>> {
    // One line is asked for at a time.
    let (sender, receiver) = sync_channel(1);
    std::thread::spawn(move || {
        let (mut output, mut line) = (BufReader::new(output), Vec::new());
        while caps::LINE.line(&mut output, &mut line).is_ok_and(|count| count > 0) {
            if sender.send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    });
    receiver
}
