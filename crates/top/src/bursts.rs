//! Short looks at `/proc/stat` between the windows, for their largest values: an average over a
//! second hides that all cores were full for a tenth of it.
//!
//! Ticks (10 ms as a rule) are all it has, so a look of 100 ms is right to a tenth, and how siblings
//! overlap within a look is not known: it is taken as by chance. The looks keep their own cost low:
//! where one takes long, on machines of hundreds of CPUs, the next comes later.

use crate::snapshot::Short;
use coretwin_account::model::{Valuation, by_chance, capacity_shares};
use coretwin_base::account::Siblings;
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_host::observe::{CpuTimes, cpu_times};
use coretwin_host::root::Root;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

pub const WANTED: Duration = Duration::from_millis(100);
/// Times its own CPU time that a look waits for the next: it costs no more than a third of a percent
/// of a CPU.
const REST_TIMES: u32 = 300;

/// Takes the looks and keeps the largest values.
#[derive(Debug)]
pub struct Bursts {
    root: Root,
    cores: Vec<(CpuSet, Vec<f64>)>,
    last: Option<(Instant, CpuTimes)>,
    due: Instant,
    /// The largest values so far, of every core the largest share busy; the length is the looks' sum.
    largest: (Short, Vec<f64>),
}

impl Bursts {
    pub fn new(root: Root, siblings: &Siblings, valuation: &Valuation) -> Self {
        let shares = |core: &CpuSet| {
            let yields = &valuation.factors(core.len()).core_yield.by_busy;
            capacity_shares(yields).iter().map(|share| share.value).collect()
        };
        let cores: Vec<_> =
            siblings.cores.iter().map(|core| (core.clone(), shares(core))).collect();
        Self { root, cores, last: None, due: Instant::now(), largest: Default::default() }
    }

    pub fn due(&self) -> Instant {
        self.due
    }

    /// Looks. That the file cannot be read is no error: there is no short look then.
    pub fn look(&mut self) {
        let before = own_cpu_time();
        let now = Instant::now();
        if let Ok(times) = cpu_times(&self.root) {
            if let Some((then, earlier)) = &self.last {
                let (seen, by_core) = between(&self.cores, earlier, &times);
                let (most, largest) = &mut self.largest;
                most.looks += 1;
                most.length_s += now.duration_since(*then).as_secs_f64();
                most.logical_share = most.logical_share.max(seen.logical_share);
                most.core_busy_share = most.core_busy_share.max(seen.core_busy_share);
                most.capacity_share = most.capacity_share.max(seen.capacity_share);
                most.clash_cores = most.clash_cores.max(seen.clash_cores);
                largest.resize(by_core.len(), 0.0);
                for (largest, busy) in largest.iter_mut().zip(by_core) {
                    *largest = largest.max(busy);
                }
            }
            self.last = Some((now, times));
        }
        let cost = own_cpu_time().saturating_sub(before);
        self.due = now + WANTED.max(cost * REST_TIMES);
    }

    /// The largest values since this was asked last, and of every core the largest share busy.
    pub fn take(&mut self) -> Option<(Short, Vec<f64>)> {
        let (mut short, by_core) = std::mem::take(&mut self.largest);
        short.length_s /= f64::from(short.looks);
        (short.looks > 0).then_some((short, by_core))
    }
}

/// One look, and of every core the share busy.
fn between(
    cores: &[(CpuSet, Vec<f64>)],
    earlier: &CpuTimes,
    later: &CpuTimes,
) -> (Short, Vec<f64>) {
    let mut by_core = Vec::with_capacity(cores.len());
    let (mut logical, mut cpus, mut used) = (0.0, 0_usize, 0.0);
    let mut shared_idle = Vec::with_capacity(cores.len());
    for (core, worth) in cores {
        let shares: Vec<f64> = core.iter().map(|cpu| busy_share(cpu, earlier, later)).collect();
        let by_busy = by_chance(&shares);
        logical += shares.iter().sum::<f64>();
        cpus += shares.len();
        used += by_busy[1..].iter().zip(worth).map(|(share, worth)| share * worth).sum::<f64>();
        shared_idle.push((by_busy.iter().skip(2).sum::<f64>(), by_busy[0]));
        by_core.push(1.0 - by_busy[0]);
    }
    let of = |sum: f64, all: usize| if all == 0 { 0.0 } else { sum / all as f64 };
    let short = Short {
        logical_share: of(logical, cpus),
        core_busy_share: of(by_core.iter().sum(), cores.len()),
        capacity_share: of(used, cores.len()),
        clash_cores: clash_at_most(&shared_idle),
        ..Short::default()
    };
    (short, by_core)
}

/// The most cores that can have had several busy while another core was idle, in the mean, of cores that
/// are shared and idle for these parts of the time. A core does not clash with itself.
fn clash_at_most(shared_idle: &[(f64, f64)]) -> f64 {
    let idle: f64 = shared_idle.iter().map(|(_, idle)| idle).sum();
    let beside = shared_idle.iter().map(|(shared, own)| shared.min((idle - own).max(0.0)));
    beside.sum::<f64>().min(idle)
}

fn busy_share(cpu: CpuId, earlier: &CpuTimes, later: &CpuTimes) -> f64 {
    let (Some(then), Some(now)) = (earlier.cpus.get(&cpu), later.cpus.get(&cpu)) else {
        return 0.0;
    };
    let busy = (now.user.saturating_sub(then.user))
        .saturating_add(now.system.saturating_sub(then.system))
        .saturating_add(now.interrupts.saturating_sub(then.interrupts))
        .saturating_add(now.steal.saturating_sub(then.steal));
    let all = busy.saturating_add(now.idle.saturating_sub(then.idle));
    if all == 0 { 0.0 } else { busy as f64 / all as f64 }
}

fn own_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::account::SiblingsOrigin;
    use proptest::prelude::*;

    fn stat(folder: &std::path::Path, cpus: &[(u32, u32)]) {
        let lines: String = (0..)
            .zip(cpus)
            .map(|(cpu, (busy, idle))| format!("cpu{cpu} {busy} 0 0 {idle} 0 0 0 0 0 0\n"))
            .collect();
        std::fs::create_dir_all(folder.join("proc")).expect("folder");
        std::fs::write(folder.join("proc/stat"), lines).expect("stat");
    }

    #[test]
    fn the_largest_look_of_a_window_is_kept_and_then_forgotten() {
        let folder = tempfile::tempdir().expect("folder");
        let cores = ["0-1", "2-3"].map(|list| CpuSet::parse(list).expect("list")).to_vec();
        let siblings = Siblings { origin: SiblingsOrigin::Kernel, cores };
        let valuation = Valuation::new(None, None, 2).expect("default yield of 1.25");
        let mut bursts = Bursts::new(Root::at(folder.path()), &siblings, &valuation);
        // A file that is missing is no look.
        bursts.look();
        assert_eq!(bursts.take(), None);
        stat(folder.path(), &[(0, 0), (0, 0), (0, 0), (0, 0)]);
        bursts.look();
        // Both of the first core busy, the other core idle: a clash.
        stat(folder.path(), &[(10, 0), (10, 0), (0, 10), (0, 10)]);
        bursts.look();
        // Then one of each.
        stat(folder.path(), &[(20, 0), (10, 10), (10, 10), (0, 20)]);
        bursts.look();
        let (short, by_core) = bursts.take().expect("looks");
        assert_eq!((short.looks, by_core), (2, vec![1.0, 1.0]));
        assert_eq!((short.logical_share, short.core_busy_share), (0.5, 1.0));
        assert_eq!((short.capacity_share, short.clash_cores), (0.8, 1.0));
        stat(folder.path(), &[(20, 10), (10, 20), (10, 20), (0, 30)]);
        bursts.look();
        let (short, _) = bursts.take().expect("looks");
        assert_eq!((short.logical_share, short.clash_cores), (0.0, 0.0));
    }

    #[test]
    fn a_core_does_not_clash_with_itself() {
        assert_eq!(clash_at_most(&[(0.5, 0.5)]), 0.0);
        assert_eq!(clash_at_most(&[(0.5, 0.25), (0.0, 0.5)]), 0.5);
        assert_eq!(clash_at_most(&[(1.0, 0.0), (1.0, 0.0), (0.0, 1.0)]), 1.0, "one idle core");
    }

    proptest! {
        #[test]
        fn chance_overlap_keeps_the_sums(shares in proptest::collection::vec(0.0..=1.0, 1..9)) {
            let exactly = by_chance(&shares);
            let busy: f64 = exactly.iter().enumerate().map(|(k, share)| k as f64 * share).sum();
            prop_assert!((exactly.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            prop_assert!((busy - shares.iter().sum::<f64>()).abs() < 1e-9);
            prop_assert!(exactly.iter().all(|share| *share >= 0.0));
        }
    }
}
