//! What must be true of a thread whose run time is known, and of the CPUs whose busy time is.
//!
//! In a span of length T a thread ran `t` on CPUs that it may use, and CPU j was busy `b_j`. While it
//! ran on CPU i, a sibling j was busy for at most `min(t, b_j)` and at least `t + b_j - T`: two
//! things that together last longer than the span overlap. The value in the range takes the thread
//! and its siblings for independent.

use coretwin_base::account::{Run, Siblings, Span};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Busy {
    pub(crate) length_s: f64,
    /// By CPU; one that is not here was not online.
    pub(crate) by_cpu_s: BTreeMap<CpuId, f64>,
    pub(crate) error_s: f64,
}

impl Busy {
    fn least_s(&self, cpu: CpuId) -> f64 {
        (self.by_cpu_s.get(&cpu).copied().unwrap_or(0.0) - self.error_s).max(0.0)
    }

    fn most_s(&self, cpu: CpuId) -> f64 {
        let told_s = self.by_cpu_s.get(&cpu).copied().unwrap_or(self.length_s);
        (told_s + self.error_s).min(self.length_s)
    }

    fn value_s(&self, cpu: CpuId) -> f64 {
        self.by_cpu_s.get(&cpu).copied().unwrap_or(0.0).min(self.length_s)
    }
}

/// Seconds with k of a core busy, for k = 0 to n.
pub(crate) fn core_use_s(core: &CpuSet, busy: &Busy) -> Vec<Span> {
    let n = core.len();
    let length_s = busy.length_s;
    let shares: Vec<f64> = core.iter().map(|cpu| busy.value_s(cpu) / length_s).collect();
    let values = independent(&shares);
    let most: Vec<f64> = core.iter().map(|cpu| busy.most_s(cpu)).collect();
    let least: Vec<f64> = core.iter().map(|cpu| busy.least_s(cpu)).collect();
    let (most_all, least_all): (f64, f64) = (most.iter().sum(), least.iter().sum());
    let highest = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
    let lowest = |times: &[f64]| times.iter().copied().fold(length_s, f64::min);
    let span = |k: usize| {
        let (low, high) = match k {
            // Nobody: at least what all of them together leave free.
            0 => (length_s - most_all, length_s - highest(&least)),
            k if k == n => (least_all - (n - 1) as f64 * length_s, lowest(&most)),
            // Two CPUs, one of them busy: they differ for at least so long.
            1 if n == 2 => (
                (least[0] - most[1]).max(least[1] - most[0]),
                most_all.min(2.0 * length_s - least_all),
            ),
            k => (0.0, most_all / k as f64),
        };
        let value = values[k] * length_s;
        Span { value, low: low.clamp(0.0, value), high: high.min(length_s).max(value) }
    };
    (0..=n).map(span).collect()
}

/// Where threads may run that may use the same CPUs, and what follows from that alone.
pub(crate) struct Places<'a> {
    kinds: Vec<Kind<'a>>,
    threads_per_core_max: usize,
}

/// Those on cores with the same number of CPUs.
struct Kind<'a> {
    threads: usize,
    /// CPUs that can have been busy, with their cores.
    cpus: Vec<(CpuId, &'a CpuSet)>,
    /// Share of the run time: by how busy they were, since nobody says on which kind of core it was.
    share: f64,
    /// Shares of the run time there by the number of others busy, if all are independent.
    values: Vec<f64>,
}

impl<'a> Places<'a> {
    pub(crate) fn new(allowed: &CpuSet, siblings: &'a Siblings, busy: &Busy) -> Self {
        let mut kinds: BTreeMap<usize, Vec<(CpuId, &CpuSet)>> = BTreeMap::new();
        for cpu in allowed.iter().filter(|cpu| busy.most_s(*cpu) > 0.0) {
            if let Some(core) = siblings.core_of(cpu).map(|core| &siblings.cores[core]) {
                kinds.entry(core.len()).or_default().push((cpu, core));
            }
        }
        let weight =
            |cpus: &[(CpuId, &CpuSet)]| cpus.iter().map(|(cpu, _)| busy.most_s(*cpu)).sum::<f64>();
        let all: f64 = kinds.values().map(|cpus| weight(cpus)).sum();
        let kind = |(threads, cpus): (usize, Vec<(CpuId, &'a CpuSet)>)| {
            let here = weight(&cpus);
            let mut values = vec![0.0; threads];
            for (cpu, core) in &cpus {
                let others = core.iter().filter(|other| other != cpu);
                let shares: Vec<f64> =
                    others.map(|other| busy.value_s(other) / busy.length_s).collect();
                for (value, share) in values.iter_mut().zip(independent(&shares)) {
                    *value += share * busy.most_s(*cpu) / here;
                }
            }
            Kind { threads, cpus, share: here / all, values }
        };
        Self {
            kinds: kinds.into_iter().map(kind).collect(),
            threads_per_core_max: siblings.threads_per_core_max(),
        }
    }
}

/// How a thread ran that may run there, if the CPUs were so busy.
pub(crate) fn runs(raw_s: f64, places: &Places<'_>, busy: &Busy) -> Vec<Run> {
    // A thread cannot run for longer than the span, but a tick may say so.
    let ran_s = raw_s.min(busy.length_s);
    match &places.kinds[..] {
        [] => {
            let n = places.threads_per_core_max;
            let mut by_busy_s = vec![Span { value: 0.0, low: 0.0, high: raw_s }; n];
            by_busy_s[0].value = raw_s;
            vec![Run { by_busy_s }]
        }
        [only] => vec![only.run(ran_s, raw_s, true, busy)],
        kinds => {
            let run =
                |kind: &Kind<'_>| kind.run(ran_s * kind.share, raw_s * kind.share, false, busy);
            kinds.iter().map(run).collect()
        }
    }
}

impl Kind<'_> {
    fn run(&self, ran_s: f64, raw_s: f64, is_only: bool, busy: &Busy) -> Run {
        if self.threads == 1 {
            return Run { by_busy_s: vec![Span::exact(raw_s)] };
        }
        // If it may use one CPU only, it was there for all of its time; else for as much of it as
        // there suits least or best, so that nothing overlaps of necessity.
        let is_one = self.cpus.len() == 1 && is_only;
        let at_least_s = if is_one { ran_s } else { 0.0 };
        let least_s = if is_one { f64::MAX } else { 0.0 };
        let open = |share: &f64| Span { value: raw_s * share, low: least_s, high: 0.0 };
        let mut by_busy_s: Vec<Span> = self.values.iter().map(open).collect();
        for (cpu, core) in &self.cpus {
            for (k, span) in by_busy_s.iter_mut().enumerate() {
                let others = core.iter().filter(|other| other != cpu);
                let (low_s, high_s) = overlap_s(k, ran_s, at_least_s, others, busy);
                span.low = span.low.min(low_s);
                span.high += high_s;
            }
            // More than all of its time it cannot be anywhere.
            if by_busy_s.iter().all(|span| span.high >= ran_s) {
                break;
            }
        }
        // Rounding of ticks may leave the run time outside of the span; it belongs to the range.
        let more_s = (raw_s - ran_s).max(0.0);
        for span in &mut by_busy_s {
            span.high = (span.high.min(ran_s) + more_s).min(raw_s).max(span.value);
            span.low = span.low.min(span.value).max(0.0);
        }
        Run { by_busy_s }
    }
}

/// Least and most time with exactly `k` of the others busy, of a thread that ran beside them.
fn overlap_s(
    k: usize,
    ran_s: f64,
    at_least_s: f64,
    others: impl Iterator<Item = CpuId>,
    busy: &Busy,
) -> (f64, f64) {
    let (mut count, mut all_most, mut all_least) = (0, 0.0, 0.0);
    let (mut fewest, mut highest) = (f64::MAX, 0.0f64);
    for other in others {
        let most_s = busy.most_s(other).min(ran_s);
        let least_s = (at_least_s + busy.least_s(other) - busy.length_s).max(0.0);
        count += 1;
        all_most += most_s;
        all_least += least_s;
        fewest = fewest.min(most_s);
        highest = highest.max(least_s);
    }
    let (low, high) = if k == 0 {
        (at_least_s - all_most, ran_s - highest)
    } else if k == count {
        (all_least - (count - 1) as f64 * at_least_s, fewest)
    } else {
        (0.0, all_most / k as f64)
    };
    (low.max(0.0), high.clamp(0.0, ran_s))
}

/// Probability of k of them at once, for k = 0 to all, if they are independent.
fn independent(shares: &[f64]) -> Vec<f64> {
    let mut probability = vec![1.0];
    for share in shares {
        let mut next = vec![0.0; probability.len() + 1];
        for (k, p) in probability.iter().enumerate() {
            next[k] += p * (1.0 - share);
            next[k + 1] += p * share;
        }
        probability = next;
    }
    probability
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STEPS: usize = 200;

    fn map(n: u32) -> Siblings {
        let names: Vec<String> = (0..n).map(|cpu| cpu.to_string()).collect();
        let online: CpuSet = (0..n).map(CpuId).collect();
        Siblings::parse(&names.join("+"), &online).expect("map")
    }

    fn run(raw_s: f64, allowed: &CpuSet, siblings: &Siblings, busy: &Busy) -> Run {
        runs(raw_s, &Places::new(allowed, siblings, busy), busy).remove(0)
    }

    fn near(span: Span, value: f64, low: f64, high: f64) {
        let off = (span.value - value).abs() + (span.low - low).abs() + (span.high - high).abs();
        assert!(off < 1e-9, "{span:?}: {value} ({low} to {high})");
    }

    #[test]
    fn half_busy_siblings_overlap_from_never_to_always() {
        let by_cpu_s = [(CpuId(0), 5.0), (CpuId(1), 5.0)].into();
        let busy = Busy { length_s: 10.0, by_cpu_s, error_s: 0.0 };
        let one = [CpuId(0)].into_iter().collect();
        let run = &run(5.0, &one, &map(2), &busy);
        near(run.by_busy_s[1], 2.5, 0.0, 5.0);
        let cores = core_use_s(&map(2).cores[0], &busy);
        near(cores[0], 2.5, 0.0, 5.0);
        near(cores[2], 2.5, 0.0, 5.0);
    }

    #[test]
    fn what_cannot_be_otherwise_is_known() {
        let one: CpuSet = [CpuId(0)].into_iter().collect();
        let by_cpu_s = |b: f64| [(CpuId(0), 10.0), (CpuId(1), b)].into();
        // On its CPU all the time: shared for exactly as long as the sibling is busy.
        let busy = Busy { length_s: 10.0, by_cpu_s: by_cpu_s(3.0), error_s: 0.0 };
        near(run(10.0, &one, &map(2), &busy).by_busy_s[1], 3.0, 3.0, 3.0);
        // Told with an error, it is known within that error.
        let busy = Busy { error_s: 0.5, ..busy };
        near(run(10.0, &one, &map(2), &busy).by_busy_s[1], 3.0, 2.5, 3.5);
        // The sibling busy all the time: all of it shared, wherever it ran.
        let busy = Busy { length_s: 10.0, by_cpu_s: by_cpu_s(10.0), error_s: 0.0 };
        near(run(4.0, &one, &map(2), &busy).by_busy_s[1], 4.0, 4.0, 4.0);
        let both: CpuSet = [CpuId(0), CpuId(1)].into_iter().collect();
        let anywhere = &run(4.0, &both, &map(2), &busy);
        assert!(anywhere.by_busy_s[1].high >= 4.0 && anywhere.by_busy_s[1].low <= 4.0);
    }

    proptest! {
        /// Any timeline of a core: the thread is on one of its CPUs or on none, others too.
        #[test]
        fn the_range_holds_every_truth(
            n in 1usize..5,
            work in prop::collection::vec((any::<u8>(), any::<u8>()), STEPS),
            pinned in any::<bool>(),
            wave in 1usize..40,
            error_ticks in 0usize..3,
        ) {
            let step_s = 10.0 / STEPS as f64;
            let mut busy_s = vec![0.0; n];
            let mut truth_s = vec![0.0; n];
            let mut core_s = vec![0.0; n + 1];
            for (step, (mine, others)) in work.iter().enumerate() {
                // Phases, so that overlaps are not all alike.
                let phase = (step / wave) % 3;
                let cpu = if pinned { 0 } else { usize::from(*mine) % n };
                let runs = mine % 4 != 0 && phase != 2;
                let on = |c: usize| (runs && c == cpu) || (others >> c) & 1 == 1 && (phase != 1 || c.is_multiple_of(2));
                let k = (0..n).filter(|c| on(*c)).count();
                core_s[k] += step_s;
                for (c, time) in busy_s.iter_mut().enumerate() {
                    *time += if on(c) { step_s } else { 0.0 };
                }
                if runs {
                    truth_s[k - 1] += step_s;
                }
            }
            // Told with an error, of which the bound is told too.
            let error_s = error_ticks as f64 * 0.01;
            let told = busy_s.iter().enumerate().map(|(c, time)| {
                let off = if c.is_multiple_of(2) { error_s } else { -error_s };
                (CpuId(c as u32), (time + off).clamp(0.0, 10.0))
            });
            let busy = Busy { length_s: 10.0, by_cpu_s: told.collect(), error_s };
            let siblings = map(n as u32);
            let allowed: CpuSet = if pinned { [CpuId(0)].into_iter().collect() } else { siblings.cpus() };
            let raw_s: f64 = truth_s.iter().sum();
            let run = &run(raw_s, &allowed, &siblings, &busy);
            prop_assert!((run.raw_s() - raw_s).abs() < 1e-6, "{run:?} {raw_s}");
            for (k, (span, truth)) in run.by_busy_s.iter().zip(&truth_s).enumerate() {
                prop_assert!(span.contains(*truth), "k {}: {span:?} {truth}", k + 1);
            }
            for (k, (span, truth)) in core_use_s(&siblings.cores[0], &busy).iter().zip(&core_s).enumerate() {
                prop_assert!(span.contains(*truth), "core, k {k}: {span:?} {truth}");
            }
        }
    }
}
