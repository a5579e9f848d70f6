//! What the looks add up to: pure, so that simulations can say how often the ranges hold.
//!
//! A look stands for the time since the one before, its *weight*. It says which threads could run
//! on each CPU. A CPU with such a thread is busy. If there is one only, it runs; of several on one
//! CPU nobody says which runs. What follows for the run time of a thread, which is known exactly:
//!
//! * the value takes those that wait for a CPU to run by turns, equally long;
//! * the range assumes nothing about who ran (Manski's bounds for what is not observed: the time a
//!   thread ran while it was one of several was spent in whichever of those moments suits least, or
//!   best), and adds the binomial error of the looks ([`super::coverage`]);
//! * what `/proc/stat` says a CPU was busy beyond what was seen, or less, widens it once more
//!   ([`Residue`]).

use super::coverage::{highest, lowest, seen_s};
use crate::roster::Index;
use coretwin_base::account::{CoreUse, CpuUse, PairUse, Run, Siblings, Span};
use coretwin_base::machine::cpu_set::CpuId;
use std::collections::BTreeMap;

/// Pairs that are kept; the rarer half is dropped when there are more.
const PAIRS_MAX: usize = 4096;

/// How far the looks and `/proc/stat` disagree about a CPU, as shares of its time.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct Residue {
    /// Busy for nobody who was seen.
    pub(crate) unseen: f64,
    /// Idle although somebody seemed to run.
    pub(crate) mistaken: f64,
}

/// Looks of a thread on one CPU, in seconds they stand for, by k − 1.
#[derive(Debug, Default, Clone)]
struct OnCpu {
    /// As the only one.
    certain_s: Vec<f64>,
    /// As one of several.
    uncertain_s: Vec<f64>,
    /// The same, divided by how many they were.
    fair_s: Vec<f64>,
    /// Squares of the weights it ran, by turns.
    squares: f64,
}

struct Looks {
    elapsed_s: f64,
    /// As many of equal weight would be as precise.
    looks: f64,
}

impl Looks {
    /// The most that something lasted that was seen for so long; nothing that was never seen.
    fn at_most_s(&self, seen_s: f64) -> f64 {
        if seen_s <= 0.0 {
            return 0.0;
        }
        self.elapsed_s * highest(seen_s / self.elapsed_s * self.looks, self.looks)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(super) siblings: Siblings,
    core_of: BTreeMap<CpuId, usize>,
    tasks: BTreeMap<Index, BTreeMap<CpuId, OnCpu>>,
    busy_s: BTreeMap<CpuId, f64>,
    /// By core and k = 0 to n.
    cores_s: Vec<Vec<f64>>,
    pairs: BTreeMap<(Index, Index), f64>,
    pub(super) clash_s: f64,
    elapsed_s: f64,
    squares: f64,
    pub(super) looks: u64,
}

impl Tally {
    pub(crate) fn new(siblings: Siblings) -> Self {
        let cores = siblings.cores.iter().enumerate();
        Self {
            core_of: cores
                .flat_map(|(core, cpus)| cpus.iter().map(move |cpu| (cpu, core)))
                .collect(),
            cores_s: siblings.cores.iter().map(|cpus| vec![0.0; cpus.len() + 1]).collect(),
            siblings,
            ..Self::default()
        }
    }

    /// Share of the time in which a CPU was seen busy.
    pub(crate) fn busy_share(&self, cpu: CpuId) -> f64 {
        self.busy_s.get(&cpu).copied().unwrap_or(0.0) / self.elapsed_s.max(f64::MIN_POSITIVE)
    }

    /// Adds a look: who could run where. CPUs outside of the map are left out.
    pub(crate) fn add(&mut self, weight_s: f64, runnable: &[(CpuId, Index)]) {
        self.looks += 1;
        self.elapsed_s += weight_s;
        self.squares += weight_s * weight_s;
        let mut on: BTreeMap<CpuId, Vec<Index>> = BTreeMap::new();
        for (cpu, index) in runnable.iter().filter(|(cpu, _)| self.core_of.contains_key(cpu)) {
            on.entry(*cpu).or_default().push(*index);
        }
        let mut busy = vec![0usize; self.siblings.cores.len()];
        for cpu in on.keys() {
            busy[self.core_of[cpu]] += 1;
            *self.busy_s.entry(*cpu).or_default() += weight_s;
        }
        for (core, busy) in busy.iter().enumerate() {
            self.cores_s[core][*busy] += weight_s;
        }
        let shared = busy.iter().filter(|k| **k > 1).count();
        let idle = busy.iter().filter(|k| **k == 0).count();
        self.clash_s += weight_s * shared.min(idle) as f64;
        for (cpu, indexes) in &on {
            let core = self.core_of[cpu];
            for index in indexes {
                let seen = self.tasks.entry(*index).or_default().entry(*cpu).or_default();
                seen.add(weight_s, busy[core] - 1, self.siblings.cores[core].len(), indexes.len());
            }
        }
        self.add_pairs(weight_s, &on);
    }

    fn add_pairs(&mut self, weight_s: f64, on: &BTreeMap<CpuId, Vec<Index>>) {
        for (cpu, mine) in on {
            for (_, theirs) in on
                .range(CpuId(cpu.0 + 1)..)
                .filter(|(other, _)| self.core_of[other] == self.core_of[cpu])
            {
                let each_s = weight_s / (mine.len() * theirs.len()) as f64;
                for a in mine {
                    for b in theirs {
                        *self.pairs.entry((*a.min(b), *a.max(b))).or_default() += each_s;
                    }
                }
            }
        }
        if self.pairs.len() > PAIRS_MAX {
            let mut times: Vec<f64> = self.pairs.values().copied().collect();
            times.sort_by(f64::total_cmp);
            let least = times[times.len() / 2];
            self.pairs.retain(|_, time| *time > least);
        }
    }

    pub(crate) fn fold(&mut self, from: Index, into: Index) {
        for (cpu, seen) in self.tasks.remove(&from).unwrap_or_default() {
            self.tasks.entry(into).or_default().entry(cpu).or_default().merge(&seen);
        }
    }

    /// The pairs with the most time together, by thread number.
    pub(crate) fn pairs(&self, tid: impl Fn(Index) -> Option<u32>, most: usize) -> Vec<PairUse> {
        let Looks { elapsed_s, looks } = self.all_looks();
        let mut pairs: Vec<PairUse> = self
            .pairs
            .iter()
            .filter_map(|((a, b), together_s)| {
                let (a, b) = (tid(*a)?, tid(*b)?);
                let together_s = seen_s(*together_s, elapsed_s, looks);
                Some(PairUse { a: a.min(b), b: a.max(b), together_s })
            })
            .collect();
        pairs.sort_by(|a, b| b.together_s.value.total_cmp(&a.together_s.value));
        pairs.truncate(most);
        pairs
    }

    /// How the cores were used in a window of so many seconds. `stat` says what `/proc/stat` knows of a CPU, and `residues` how
    /// far that is from what was seen.
    pub(crate) fn cores(
        &self,
        total_s: f64,
        stat: impl Fn(CpuId) -> CpuUse,
        residues: &BTreeMap<CpuId, Residue>,
    ) -> Vec<CoreUse> {
        let Looks { elapsed_s: seen_all_s, looks } = self.all_looks();
        let of_core = |(core, cpus): (usize, &coretwin_base::machine::cpu_set::CpuSet)| {
            let residue: f64 = cpus
                .iter()
                .filter_map(|cpu| residues.get(&cpu))
                .map(|residue| residue.unseen + residue.mistaken)
                .sum();
            let spans = self.cores_s[core].iter().enumerate().map(|(k, seen_s)| {
                // Without a look nothing is known; all idle is one of the possibilities.
                let unseen_share = if k == 0 { 1.0 } else { 0.0 };
                let share = if seen_all_s > 0.0 { seen_s / seen_all_s } else { unseen_share };
                Span {
                    value: total_s * share,
                    low: total_s * (lowest(share * looks, looks) - residue).max(0.0),
                    high: total_s * (highest(share * looks, looks) + residue).min(1.0),
                }
            });
            let by_cpu: Vec<CpuUse> = cpus.iter().map(&stat).collect();
            CoreUse {
                cpus: cpus.clone(),
                by_busy_s: match &by_cpu[..] {
                    // Without a sibling the idle time of the kernel says all.
                    [only] => {
                        let busy_s = only.busy_s.clamp(0.0, total_s);
                        [total_s - busy_s, busy_s].map(Span::exact).to_vec()
                    }
                    _ => spans.collect(),
                },
                by_cpu,
            }
        };
        self.siblings.cores.iter().enumerate().map(of_core).collect()
    }

    /// The run time of a thread, by kind of core and busy CPUs.
    pub(crate) fn runs(
        &self,
        index: Index,
        raw_s: f64,
        last_cpu: Option<CpuId>,
        residues: &BTreeMap<CpuId, Residue>,
    ) -> Vec<Run> {
        let Some(seen) = self.tasks.get(&index) else {
            return vec![self.never_seen(raw_s, last_cpu)];
        };
        let mut kinds: BTreeMap<usize, (OnCpu, f64)> = BTreeMap::new();
        for (cpu, on_cpu) in seen {
            let kind = kinds.entry(on_cpu.certain_s.len()).or_default();
            kind.0.merge(on_cpu);
            kind.1 += self.loose_s(*cpu, on_cpu.ran_s(), residues);
        }
        let all_s: f64 = kinds.values().map(|(kind, _)| kind.ran_s()).sum();
        kinds
            .values()
            .map(|(kind, loose_s)| {
                kind.run(raw_s * kind.ran_s() / all_s, raw_s, *loose_s, &self.all_looks())
            })
            .collect()
    }

    fn all_looks(&self) -> Looks {
        let squares = self.squares.max(f64::MIN_POSITIVE);
        Looks { elapsed_s: self.elapsed_s, looks: self.elapsed_s * self.elapsed_s / squares }
    }

    /// Time on a CPU in which the siblings may have been other than they looked.
    fn loose_s(&self, cpu: CpuId, ran_s: f64, residues: &BTreeMap<CpuId, Residue>) -> f64 {
        let core = &self.siblings.cores[self.core_of[&cpu]];
        let wrong: f64 = core
            .iter()
            .filter(|sibling| *sibling != cpu)
            .filter_map(|sibling| residues.get(&sibling))
            .map(|residue| residue.unseen + residue.mistaken)
            .sum();
        ran_s.min(wrong * self.elapsed_s)
    }

    /// It ran, but in no look: nothing is known but how busy the siblings were.
    fn never_seen(&self, raw_s: f64, last_cpu: Option<CpuId>) -> Run {
        let core = last_cpu.and_then(|cpu| self.core_of.get(&cpu)).copied();
        let n = core.map_or_else(
            || self.siblings.threads_per_core_max(),
            |core| self.siblings.cores[core].len(),
        );
        let mut by_busy_s = vec![Span { value: 0.0, low: 0.0, high: raw_s }; n];
        let others = core.zip(last_cpu).map_or(0.0, |(core, cpu)| {
            let others = self.siblings.cores[core].iter().filter(|sibling| *sibling != cpu);
            others.map(|sibling| self.busy_share(sibling)).fold(0.0, f64::max)
        });
        by_busy_s[n - 1].value = if n > 1 { raw_s * others } else { raw_s };
        if n > 1 {
            by_busy_s[0].value = raw_s - by_busy_s[n - 1].value;
        } else {
            by_busy_s[0].low = raw_s;
        }
        Run { by_busy_s }
    }
}

impl OnCpu {
    fn add(&mut self, weight_s: f64, others: usize, threads: usize, runnable: usize) {
        self.make_room(threads);
        let turn_s = weight_s / runnable as f64;
        if runnable == 1 {
            self.certain_s[others] += weight_s;
        } else {
            self.uncertain_s[others] += weight_s;
            self.fair_s[others] += turn_s;
        }
        self.squares += turn_s * turn_s;
    }

    fn make_room(&mut self, threads: usize) {
        for times in [&mut self.certain_s, &mut self.uncertain_s, &mut self.fair_s] {
            times.resize(threads.max(times.len()), 0.0);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.make_room(other.certain_s.len());
        for (mine, theirs) in [
            (&mut self.certain_s, &other.certain_s),
            (&mut self.uncertain_s, &other.uncertain_s),
            (&mut self.fair_s, &other.fair_s),
        ] {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine += theirs;
            }
        }
        self.squares += other.squares;
    }

    fn ran_s(&self) -> f64 {
        self.certain_s.iter().chain(&self.fair_s).sum()
    }

    /// Shares of the run time with k busy, if such a share of it was spent as one of several: the
    /// least and the most.
    fn extremes(&self, k: usize, uncertain: f64, kind_s: f64, looks: &Looks) -> (f64, f64) {
        let certain_s: f64 = self.certain_s.iter().sum();
        let uncertain_s: f64 = self.uncertain_s.iter().sum();
        let share = if certain_s > 0.0 { self.certain_s[k] / certain_s } else { 0.0 };
        let spent_s = uncertain * kind_s;
        let known = (1.0 - uncertain) * share;
        let least_s = (spent_s - looks.at_most_s(uncertain_s - self.uncertain_s[k])).max(0.0);
        let most_s = spent_s.min(looks.at_most_s(self.uncertain_s[k]));
        (known + least_s / kind_s, known + most_s / kind_s)
    }

    /// Run time of `kind_s` on CPUs of this kind, of which the siblings may have been other than
    /// they looked for `loose_s`.
    fn run(&self, kind_s: f64, raw_s: f64, loose_s: f64, all: &Looks) -> Run {
        let ran_s = self.ran_s();
        let looks = ran_s * ran_s / self.squares.max(f64::MIN_POSITIVE);
        let certain_s: f64 = self.certain_s.iter().sum();
        let uncertain_s: f64 = self.uncertain_s.iter().sum();
        // How much it ran as one of several, by turns, or by what is left of the run time that is
        // known exactly: they differ if turns are not equally long, and by chance.
        let by_turns = if certain_s > 0.0 { 1.0 - certain_s / ran_s } else { 1.0 };
        let is_only_kind = (kind_s - raw_s).abs() < 1e-9;
        let by_rest = match uncertain_s > 0.0 && certain_s > 0.0 && is_only_kind {
            true => (1.0 - certain_s / kind_s).clamp(0.0, (uncertain_s / kind_s).min(1.0)),
            false => by_turns,
        };
        let loose = (loose_s / ran_s).min(1.0);
        let span = |k: usize| {
            let (low, high) = self.extremes(k, by_turns, kind_s, all);
            let (low_rest, high_rest) = self.extremes(k, by_rest, kind_s, all);
            let (low, high) = (low.min(low_rest), high.max(high_rest));
            let value = (self.certain_s[k] + self.fair_s[k]) / ran_s;
            let low = (lowest(low * looks, looks) - loose).max(0.0).min(value);
            let high = (highest(high * looks, looks) + loose).min(1.0).max(value);
            Span { value: kind_s * value, low: kind_s * low, high: kind_s * high }
        };
        if self.certain_s.len() == 1 {
            return Run { by_busy_s: vec![Span::exact(kind_s)] };
        }
        Run { by_busy_s: (0..self.certain_s.len()).map(span).collect() }
    }
}

#[cfg(test)]
mod tests;
