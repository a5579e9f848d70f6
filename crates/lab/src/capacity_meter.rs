//! What CPU time was worth in a run under load: `account` looks on from a thread while the job runs.

use coretwin_account::bounds::by_busy_times;
use coretwin_account::method::Method;
use coretwin_account::model::{Valuation, capacity_shares, capacity_used_s};
use coretwin_account::sampled::{Effort, Sampled};
use coretwin_base::account::{Siblings, Span, Window};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::Topology;
use coretwin_base::study::job::Work;
use coretwin_base::study::latency::CapacityUse;
use coretwin_host::root::Root;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// Looks take CPU time from what is measured, so they are few: at most 0.2 % of one CPU.
const EFFORT: Effort = Effort { share_max: 0.002, rate_max: 20.0, is_thorough: false, seed: 1 };

/// Of fewer looks, as in a short run or with thousands of tasks, less follows than from the busy time of
/// each CPU: a range that must hold the truth, and a value that takes siblings for independent.
const LOOKS_MIN: u64 = 20;

/// What accounting rests on in a study.
#[derive(Debug, Clone)]
pub struct Accounting {
    pub valuation: Valuation,
    /// Siblings that a probe found, for where the kernel shows none.
    pub probed: Option<Siblings>,
}

impl Accounting {
    fn siblings(&self, topology: &Topology) -> Siblings {
        let kernel = Siblings::of_kernel(topology);
        let probed = self.probed.clone().filter(|_| kernel.threads_per_core_max() < 2);
        probed.unwrap_or(kernel)
    }

    /// Begins to look on if the work is a service under load.
    pub(crate) fn begin(&self, root: &Root, topology: &Topology, work: &Work) -> Option<Meter> {
        let is_load = match work {
            Work::Builtin { workload, .. } => workload.starts_with("service/"),
            Work::Command(spec) => spec.load.is_some(),
            _ => false,
        };
        is_load.then(|| Meter::start(root.clone(), self.siblings(topology)))
    }

    /// What a CPU second was worth on the cores of these CPUs; `None` if they were idle.
    pub(crate) fn worth(&self, window: &Window, cpus: &CpuSet) -> Option<CapacityUse> {
        let (mut busy_s, mut used_s, mut cores) = (0.0, Span::default(), 0);
        // Whatever overlapped, a CPU second takes no less than beside all siblings.
        let (mut least, mut most) = (f64::MAX, 0.0_f64);
        for core in window.cores.iter().filter(|core| !core.cpus.intersection(cpus).is_empty()) {
            let is_guess = core.cpus.len() > 1 && window.looks < LOOKS_MIN;
            let by_busy_times = is_guess.then(|| by_busy_times(core, window.elapsed_s));
            let core = by_busy_times.as_ref().unwrap_or(core);
            let by_busy = (0_u32..).zip(&core.by_busy_s);
            busy_s += by_busy.map(|(k, time)| f64::from(k) * time.value).sum::<f64>();
            let factors = self.valuation.factors(core.cpus.len());
            used_s = used_s.plus(capacity_used_s(core, factors));
            for (k, share) in (1_u32..).zip(capacity_shares(&factors.core_yield.by_busy)) {
                least = least.min(share.low / f64::from(k));
                most = most.max(share.high / f64::from(k));
            }
            cores += 1;
        }
        let per = |used_s: f64| used_s / busy_s;
        (busy_s > 0.0).then(|| CapacityUse {
            cores,
            per_cpu_s: Span {
                value: per(used_s.value),
                low: per(used_s.low).max(least).min(per(used_s.value)),
                high: per(used_s.high).min(most).max(per(used_s.value)),
            },
        })
    }
}

pub(crate) struct Meter {
    over: Arc<AtomicBool>,
    looks: JoinHandle<Option<Window>>,
}

impl Meter {
    fn start(root: Root, siblings: Siblings) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let looks = thread::spawn(move || {
            let mut method = Sampled::new(&root, siblings, EFFORT);
            method.start().ok()?;
            while !is_over.load(Ordering::SeqCst) {
                let now = Instant::now();
                match method.due().filter(|due| *due > now) {
                    Some(due) => thread::park_timeout(due - now),
                    None => method.look().ok()?,
                }
            }
            method.window().ok()
        });
        Self { over, looks }
    }

    /// What was seen; `None` where `/proc` does not show it.
    pub(crate) fn end(self) -> Option<Window> {
        self.over.store(true, Ordering::SeqCst);
        self.looks.thread().unpark();
        self.looks.join().ok()?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::account::{CoreUse, CpuUse, MethodName};
    use coretwin_base::machine::cpu_set::CpuId;
    use std::time::Duration;

    fn cpus(text: &str) -> CpuSet {
        CpuSet::parse(text).expect("a list")
    }

    fn accounting() -> Accounting {
        Accounting { valuation: Valuation::new(None, None, 2).expect("a valuation"), probed: None }
    }

    #[test]
    fn time_beside_a_busy_sibling_takes_half_of_the_core_and_time_alone_more() {
        let core = |list: &str, times: [f64; 3]| CoreUse {
            cpus: cpus(list),
            by_busy_s: times.map(Span::exact).to_vec(),
            by_cpu: Vec::new(),
        };
        let window = Window {
            method: MethodName::Ebpf,
            elapsed_s: 10.0,
            cores: vec![core("0-1", [0.0, 10.0, 0.0]), core("2-3", [0.0, 0.0, 10.0])],
            looks: LOOKS_MIN,
            ..Window::default()
        };
        let worth = |list: &str| accounting().worth(&window, &cpus(list)).expect("busy");
        // By the default yield, 1.25 of 1.0 to 1.5.
        assert_eq!(
            worth("0"),
            CapacityUse { cores: 1, per_cpu_s: Span { value: 0.8, low: 1.0 / 1.5, high: 1.0 } }
        );
        assert_eq!(worth("2-3"), CapacityUse { cores: 1, per_cpu_s: Span::exact(0.5) });
        // 8 and 10 of 30 CPU seconds.
        let both = worth("1-2");
        assert!((both.per_cpu_s.value - 0.6).abs() < 1e-12 && both.cores == 2, "{both:?}");
        assert_eq!(accounting().worth(&window, &cpus("9")), None);
    }

    #[test]
    fn of_few_looks_the_busy_time_of_each_cpu_is_taken() {
        let half =
            |cpu: u32| CpuUse { cpu: CpuId(cpu), busy_s: 5.0, interrupts_s: 0.0, steal_s: 0.0 };
        // The one look saw nobody.
        let core = CoreUse {
            cpus: cpus("0-1"),
            by_busy_s: [10.0, 0.0, 0.0].map(Span::exact).to_vec(),
            by_cpu: vec![half(0), half(1)],
        };
        let window = Window { elapsed_s: 10.0, cores: vec![core], looks: 1, ..Window::default() };
        let worth = accounting().worth(&window, &cpus("0")).expect("busy").per_cpu_s;
        // Independent, they overlap for a quarter of the time: 5 s at 0.8 and 2.5 s whole. They may
        // have met always, or never.
        assert!((worth.value - 0.65).abs() < 1e-9, "{worth:?}");
        assert!(
            (0.5..0.51).contains(&worth.low) && (0.99..=1.0).contains(&worth.high),
            "{worth:?}"
        );
    }

    #[test]
    fn only_a_load_is_looked_at_and_what_ran_meanwhile_is_in_the_window() {
        let root = Root::system();
        let topology = coretwin_host::topology::read(&root).expect("a topology");
        let command = |load| {
            Work::Command(coretwin_base::study::command::CommandSpec { load, ..Default::default() })
        };
        assert!(accounting().begin(&root, &topology, &command(None)).is_none());
        let meter = accounting().begin(&root, &topology, &command(Some(Box::default())));
        let until = Instant::now() + Duration::from_millis(300);
        while Instant::now() < until {}
        let window = meter.expect("a meter").end().expect("a window");
        assert!(window.elapsed_s > 0.1 && window.looks > 0, "{} looks", window.looks);
        let seen = accounting().worth(&window, &topology.online).expect("this test ran");
        assert!((0.3..=1.0).contains(&seen.per_cpu_s.value), "{seen:?}");
    }
}
