//! CPU time, plain and corrected, from how long a task ran while how many CPUs of its core were busy.
//!
//! With `t_k` the time run while `k` CPUs of the core were busy, `s_k` the throughput of a core with
//! `k` busy over one busy, and `c_k = max(s_1…s_k) / max(s_1…s_n)` the share of the core in use:
//! raw = Σ t_k, capacity = Σ t_k·c_k/k. What the work takes alone is known here, and never estimated.

use super::SIBLINGS_MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTime {
    /// Time run while 1, 2, … CPUs of the core were busy. Costs of the kernel are included.
    pub by_busy_ns: [u64; SIBLINGS_MAX],
    /// Of all of it, the kernel's work.
    pub system_ns: u64,
    /// Time that the same work takes alone, known exactly here, times 65,536: a real machine can only
    /// estimate it.
    pub(crate) work_alone: u64,
}

impl CpuTime {
    /// All of it, as kernels count.
    pub fn raw_ns(&self) -> u64 {
        self.by_busy_ns.iter().sum()
    }

    pub fn alone_ns(&self) -> u64 {
        self.by_busy_ns[0]
    }

    pub fn shared_ns(&self) -> u64 {
        self.raw_ns() - self.alone_ns()
    }

    /// What the work would have taken alone, exactly.
    pub fn work_alone_ns(&self) -> u64 {
        self.work_alone >> 16
    }

    /// Capacity of cores used; `throughput[k - 1]` is `s_k`, for as many siblings as the core has.
    pub fn capacity_ns(&self, throughput: &[f64]) -> f64 {
        let most = throughput.iter().copied().fold(1.0, f64::max);
        let mut so_far: f64 = 1.0;
        let mut capacity = 0.0;
        for (index, time_ns) in self.by_busy_ns.iter().enumerate() {
            so_far = so_far.max(throughput.get(index).copied().unwrap_or(so_far));
            capacity += *time_ns as f64 * so_far / most / (index + 1) as f64;
        }
        capacity
    }

    pub fn add(&mut self, other: &Self) {
        for (own, other) in self.by_busy_ns.iter_mut().zip(other.by_busy_ns) {
            *own += other;
        }
        self.system_ns += other.system_ns;
        self.work_alone = self.work_alone.saturating_add(other.work_alone);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CoreTime {
    /// CPU time while 1, 2, … CPUs were busy, summed over the CPUs.
    cpu_ns: [u64; SIBLINGS_MAX],
    /// The same work alone, times 65,536.
    work_alone: [u128; SIBLINGS_MAX],
}

impl CoreTime {
    #[inline]
    pub(crate) fn add(&mut self, busy: usize, cpu_ns: u64, work_alone: u64) {
        self.cpu_ns[busy - 1] += cpu_ns;
        self.work_alone[busy - 1] += u128::from(work_alone);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for index in 0..SIBLINGS_MAX {
            self.cpu_ns[index] += other.cpu_ns[index];
            self.work_alone[index] += other.work_alone[index];
        }
    }

    /// Throughput with 1, 2, … of `ways` CPUs busy over one busy, as measured; `None` where that state
    /// did not occur.
    pub(crate) fn throughput(&self, ways: usize) -> Vec<Option<f64>> {
        let share = |index: usize| {
            let cpu_ns = self.cpu_ns[index];
            let work = self.work_alone[index] as f64 / 65_536.0;
            (cpu_ns > 0).then(|| (index + 1) as f64 * work / cpu_ns as f64)
        };
        (0..ways).map(share).collect()
    }
}

/// What a CPU did with its time; the parts add up to the time that passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuUse {
    pub user_ns: u64,
    /// The kernel's work: system calls, switches, ticks, cold caches, the stopper.
    pub system_ns: u64,
    pub idle_ns: u64,
    pub offline_ns: u64,
}

impl CpuUse {
    pub fn total_ns(&self) -> u64 {
        self.user_ns + self.system_ns + self.idle_ns + self.offline_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formulas_of_two_siblings() {
        let mut time = CpuTime::default();
        time.by_busy_ns[0] = 600;
        time.by_busy_ns[1] = 400;
        assert_eq!((time.raw_ns(), time.alone_ns(), time.shared_ns()), (1000, 600, 400));
        // capacity = alone/s + shared/2.
        assert!((time.capacity_ns(&[1.0, 1.25]) - (600.0 / 1.25 + 200.0)).abs() < 1e-9);
        // Two that lose by sharing: one alone uses the whole core.
        assert!((time.capacity_ns(&[1.0, 0.9]) - 800.0).abs() < 1e-9);
    }
}
