//! Machines made up, and a meter that measures them with noise.

use coretwin_account::probe::meter::{Measured, Meter, MeterError, Round};
use coretwin_base::account::probe::Contention;
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::random::Stream;
use std::collections::BTreeMap;

/// One CPU of a made-up machine.
#[derive(Debug, Clone)]
pub(crate) struct Cpu {
    pub(crate) cpu: CpuId,
    /// Physical core.
    pub(crate) core: u32,
    /// Thread of that core: virtual CPUs with the same one take turns.
    pub(crate) thread: u32,
    /// Second-level and last-level cache.
    pub(crate) caches: (u32, u32),
    /// Speed alone, in steps per second: differs between kinds of cores.
    pub(crate) speed: f64,
    /// Somebody else's loop runs there for ever.
    pub(crate) foreign: bool,
}

/// A machine.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub(crate) cpus: Vec<Cpu>,
    /// What a core does with 1, 2, … busy threads, over one.
    pub(crate) yields: Vec<f64>,
    /// Clock rate with all cores busy over that with one.
    pub(crate) clock_all: f64,
    pub(crate) noise: f64,
    pub(crate) outliers: f64,
}

impl Machine {
    /// Cores with so many CPUs each, numbered as a hypervisor might: in any order.
    pub(crate) fn new(widths: &[u32], random: &mut Stream) -> Self {
        let count: u32 = widths.iter().sum();
        let mut numbers: Vec<u32> = (0..count).collect();
        random.shuffle(&mut numbers);
        let mut numbers = numbers.into_iter();
        let mut cpus = Vec::new();
        for (core, width) in widths.iter().enumerate() {
            // Efficient cores, narrow ones, are slower.
            let speed = if *width == 1 { 0.6e6 } else { 1e6 };
            for thread in 0..*width {
                let Some(cpu) = numbers.next().map(CpuId) else { break };
                cpus.push(Cpu {
                    cpu,
                    core: core as u32,
                    thread,
                    caches: (core as u32, 0),
                    speed,
                    foreign: false,
                });
            }
        }
        cpus.sort_by_key(|cpu| cpu.cpu);
        let yields = vec![1.0, 1.0 + 0.3 * random.unit(), 1.1 + 0.3 * random.unit(), 1.3];
        let noise = 0.01 + 0.02 * random.unit();
        Self { cpus, yields, clock_all: 1.0 - 0.1 * random.unit(), noise, outliers: 0.01 }
    }

    pub(crate) fn all(&self) -> CpuSet {
        self.cpus.iter().map(|cpu| cpu.cpu).collect()
    }

    /// CPUs of a core among these, two at least.
    pub(crate) fn groups(&self) -> Vec<CpuSet> {
        let mut cores: BTreeMap<u32, CpuSet> = BTreeMap::new();
        for cpu in &self.cpus {
            cores.entry(cpu.core).or_default().insert(cpu.cpu);
        }
        let mut groups: Vec<CpuSet> = cores.into_values().filter(|cpus| cpus.len() > 1).collect();
        groups.sort();
        groups
    }
}

/// Measures a machine.
pub(crate) struct FakeMeter {
    machine: Machine,
    random: Stream,
    clock_s: f64,
    /// Length of a round, in seconds.
    pub(crate) round_s: f64,
    /// Rounds measured.
    pub(crate) rounds: u32,
    /// Share of rounds in which somebody is at work somewhere for a moment.
    pub(crate) passers_by: f64,
    /// Share of rounds in which others are at work on every CPU.
    pub(crate) crowd: f64,
}

impl FakeMeter {
    pub(crate) fn new(machine: &Machine, seed: u64) -> Self {
        let round_s = 0.013 + 60e-6 * machine.cpus.len() as f64;
        let random = Stream::new(seed, "fake meter", 0);
        Self {
            machine: machine.clone(),
            random,
            clock_s: 0.0,
            round_s,
            rounds: 0,
            passers_by: 0.0,
            crowd: 0.0,
        }
    }

    /// Whether no more than that many seconds have gone by.
    pub(crate) fn clock_is_bounded(&self, seconds: f64) -> bool {
        self.clock_s <= seconds + self.round_s
    }

    fn gauss(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.random.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.random.unit()).cos()
    }

    /// Speed of a CPU among the busy ones, without noise.
    fn speed(&self, kind: Contention, cpu: &Cpu, busy: &[&Cpu]) -> f64 {
        if kind == Contention::L2 {
            let walks = busy.iter().filter(|other| other.caches.0 == cpu.caches.0).count();
            return if walks > 1 { cpu.speed * 0.4 } else { cpu.speed };
        }
        let here = || busy.iter().filter(|other| other.core == cpu.core);
        let turns = here().filter(|other| other.thread == cpu.thread).count();
        let mut threads: Vec<u32> = here().map(|other| other.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        let share = match kind {
            Contention::Turns => 1.0,
            _ => self.machine.yields[threads.len() - 1] / threads.len() as f64,
        };
        cpu.speed * share / turns as f64
    }
}

impl Meter for FakeMeter {
    fn measure(&mut self, round: &Round) -> Result<Measured, MeterError> {
        self.clock_s += self.round_s;
        self.rounds += 1;
        let machine = self.machine.clone();
        let busy: Vec<&Cpu> = machine
            .cpus
            .iter()
            .filter(|cpu| cpu.foreign || round.active.contains(cpu.cpu))
            .collect();
        let load = busy.len() as f64 / machine.cpus.len() as f64;
        let clock = 1.0 - load * (1.0 - machine.clock_all);
        let mut measured = Measured::default();
        for cpu in busy.iter().filter(|cpu| round.active.contains(cpu.cpu)) {
            let mut speed = match partner(&machine, round, cpu) {
                Some(partner) if partner.caches.1 == cpu.caches.1 => 12e6,
                Some(_) => 5e6,
                None => self.speed(round.kind, cpu, &busy) * clock,
            };
            if cpu.foreign {
                speed /= 2.0;
            }
            speed *= 1.0 + machine.noise * self.gauss();
            if self.random.unit() < machine.outliers {
                speed *= 0.2 + 1.2 * self.random.unit();
            }
            measured.speeds.insert(cpu.cpu, speed.max(0.0));
        }
        let foreign = machine.cpus.iter().filter(|cpu| cpu.foreign).map(|cpu| cpu.cpu);
        measured.disturbed = foreign.collect();
        if self.random.unit() < self.passers_by {
            let pick = self.random.below(machine.cpus.len() as u64) as usize;
            measured.disturbed.insert(machine.cpus[pick].cpu);
            measured.speeds.entry(machine.cpus[pick].cpu).and_modify(|speed| *speed /= 2.0);
        }
        if self.crowd > 0.0 && self.random.unit() < self.crowd {
            measured.disturbed = machine.all();
        }
        Ok(measured)
    }

    fn elapsed_s(&self) -> f64 {
        self.clock_s
    }
}

/// With whom a CPU plays.
fn partner<'m>(machine: &'m Machine, round: &Round, cpu: &Cpu) -> Option<&'m Cpu> {
    let (a, b) = round.pairs.iter().find(|(a, b)| *a == cpu.cpu || *b == cpu.cpu)?;
    let other = if *a == cpu.cpu { b } else { a };
    machine.cpus.iter().find(|one| one.cpu == *other)
}
