//! The CPUs of a probe, its clock, and rounds that nobody disturbed.

use super::meter::{Measured, Meter, MeterError, Round};
use coretwin_base::account::probe::Contention;
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::random::Stream;

/// Of so many CPUs one may be disturbed in a round that counts; of fewer, none.
const CPUS_PER_DISTURBED: usize = 20;
/// A CPU is given up once it was disturbed in so many rounds one after the other …
const STREAK_ROUNDS: u32 = 12;
/// … that took this share of the budget.
const STREAK_BUDGET_SHARE: f64 = 0.15;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    OutOfTime,
    /// Fewer than two CPUs are left that others leave alone.
    TooFew,
    Meter(MeterError),
}

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tally {
    pub(super) disturbed: u32,
    /// Rounds in a row, and when the first of them began.
    streak: u32,
    streak_from_s: f64,
    pub(super) given_up: bool,
}

pub(super) struct Field<'m> {
    meter: &'m mut dyn Meter,
    /// Its CPUs; everything else speaks of them by place.
    pub(super) cpus: Vec<CpuId>,
    budget_s: f64,
    progress: &'m mut dyn FnMut(f64),
    pub(super) random: Stream,
    pub(super) tallies: Vec<Tally>,
    pub(super) rounds: u32,
    /// Rounds discarded because others ran.
    pub(super) rounds_disturbed: u32,
    pub(super) attempts: u32,
    /// When the first and the last round that counts were over, in seconds of the meter.
    pub(super) valid_s: Option<(f64, f64)>,
}

impl<'m> Field<'m> {
    pub(super) fn new(
        meter: &'m mut dyn Meter,
        cpus: &CpuSet,
        budget_s: f64,
        random: Stream,
        progress: &'m mut dyn FnMut(f64),
    ) -> Self {
        let cpus: Vec<CpuId> = cpus.iter().collect();
        let tallies = vec![Tally::default(); cpus.len()];
        Self {
            meter,
            cpus,
            budget_s,
            progress,
            random,
            tallies,
            rounds: 0,
            rounds_disturbed: 0,
            attempts: 0,
            valid_s: None,
        }
    }

    /// Logs of the speeds in a round, by place; `None` for a CPU that rested or was disturbed.
    /// Repeats the round until others leave (nearly) all CPUs alone.
    pub(super) fn round(
        &mut self,
        kind: Contention,
        active: &[usize],
    ) -> Result<Vec<Option<f64>>, End> {
        loop {
            let active: Vec<usize> =
                active.iter().copied().filter(|place| !self.tallies[*place].given_up).collect();
            let round = Round {
                kind,
                active: active.iter().map(|place| self.cpus[*place]).collect(),
                pairs: Vec::new(),
            };
            if let Some(measured) = self.attempt(&round)? {
                let speed = |cpu: &CpuId| {
                    let undisturbed = !measured.disturbed.contains(*cpu);
                    let speed = measured.speeds.get(cpu).filter(|_| undisturbed)?;
                    // A CPU that got nothing at all is slow beyond every bound.
                    Some(speed.max(f64::MIN_POSITIVE).ln())
                };
                return Ok(self.cpus.iter().map(speed).collect());
            }
        }
    }

    /// Logs of the round trips of disjoint pairs, in log seconds; `None` where one of them was
    /// disturbed or given up.
    pub(super) fn exchange(&mut self, pairs: &[(usize, usize)]) -> Result<Vec<Option<f64>>, End> {
        loop {
            let usable = |place: usize| !self.tallies[place].given_up;
            let named: Vec<(CpuId, CpuId)> = pairs
                .iter()
                .filter(|(a, b)| usable(*a) && usable(*b))
                .map(|(a, b)| (self.cpus[*a], self.cpus[*b]))
                .collect();
            let active = named.iter().flat_map(|(a, b)| [*a, *b]).collect();
            let round = Round { kind: Contention::PingPong, active, pairs: named };
            let Some(measured) = self.attempt(&round)? else { continue };
            let time = |(a, b): &(usize, usize)| {
                let [a, b] = [self.cpus[*a], self.cpus[*b]];
                let undisturbed =
                    !measured.disturbed.contains(a) && !measured.disturbed.contains(b);
                let speed = measured.speeds.get(&a).filter(|speed| undisturbed && **speed > 0.0)?;
                Some(-speed.ln())
            };
            return Ok(pairs.iter().map(time).collect());
        }
    }

    /// Measures once; `None` if it has to be repeated.
    pub(super) fn attempt(&mut self, round: &Round) -> Result<Option<Measured>, End> {
        let from_s = self.meter.elapsed_s();
        if from_s >= self.budget_s {
            return Err(End::OutOfTime);
        }
        let measured = self.meter.measure(round).map_err(End::Meter)?;
        self.attempts += 1;
        let to_s = self.meter.elapsed_s();
        (self.progress)(to_s);
        let patience_s = self.budget_s * STREAK_BUDGET_SHARE;
        let (mut disturbed, mut left) = (0, 0);
        for (cpu, tally) in self.cpus.iter().zip(&mut self.tallies) {
            if tally.given_up {
                continue;
            }
            left += 1;
            if !measured.disturbed.contains(*cpu) {
                tally.streak = 0;
                continue;
            }
            disturbed += 1;
            tally.disturbed += 1;
            if tally.streak == 0 {
                tally.streak_from_s = from_s;
            }
            tally.streak += 1;
            tally.given_up =
                tally.streak >= STREAK_ROUNDS && to_s - tally.streak_from_s >= patience_s;
        }
        if self.tallies.iter().filter(|tally| !tally.given_up).count() < 2 {
            return Err(End::TooFew);
        }
        if disturbed > left / CPUS_PER_DISTURBED {
            self.rounds_disturbed += 1;
            return Ok(None);
        }
        self.rounds += 1;
        self.valid_s = Some((self.valid_s.map_or(from_s, |(first, _)| first), to_s));
        Ok(Some(measured))
    }
}
