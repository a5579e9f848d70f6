//! How long tasks waited for a CPU: run delay, from `/proc/schedstat`
//! (Documentation/scheduler/sched-stats.rst). Without it the pressure of the CPUs says in how much of the
//! time at least one task waited.

use crate::pressure::cpu_waited_s;
use crate::root::Root;
use coretwin_base::account::recording::Waiting;

/// Since boot, in seconds.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Waits {
    run_delay_s: Option<f64>,
    some_s: Option<f64>,
}

/// Place of the run delay in a line `cpu0 …`, in nanoseconds, in versions that count so (2.6.23 on).
const RUN_DELAY: usize = 8;
const VERSIONS: std::ops::RangeInclusive<u32> = 14..=99;

pub fn read(root: &Root) -> Waits {
    let schedstat = root.fact("proc/schedstat").unwrap_or_default();
    Waits { run_delay_s: run_delay_s(&schedstat), some_s: cpu_waited_s(root, "proc/pressure/cpu") }
}

/// Over all CPUs; `None` if the kernel does not count it.
fn run_delay_s(text: &str) -> Option<f64> {
    let version = text.lines().find_map(|line| line.strip_prefix("version "))?;
    if !VERSIONS.contains(&version.trim().parse().ok()?) {
        return None;
    }
    let cpus = text.lines().filter(|line| line.starts_with("cpu"));
    let delay = |line: &str| line.split_ascii_whitespace().nth(RUN_DELAY)?.parse::<u64>().ok();
    let delays: Option<Vec<u64>> = cpus.map(delay).collect();
    let delays = delays.filter(|delays| !delays.is_empty())?;
    Some(delays.into_iter().map(|ns| ns as f64 / 1e9).sum())
}

impl Waits {
    /// What tasks waited since an earlier moment; a wait counts when it ends.
    pub fn since(&self, earlier: &Self) -> Waiting {
        let delta = |now: Option<f64>, then: Option<f64>| Some((now? - then?).max(0.0));
        match delta(self.run_delay_s, earlier.run_delay_s) {
            Some(delay_s) => Waiting { low_s: delay_s, high_s: Some(delay_s) },
            None => {
                let some_s = delta(self.some_s, earlier.some_s);
                // If nobody waited at any moment, that is all there is to know.
                let high_s = some_s.filter(|some_s| *some_s == 0.0);
                Waiting { low_s: some_s.unwrap_or(0.0), high_s }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{of_files, put};

    #[test]
    fn run_delay_is_summed_over_cpus_and_pressure_is_a_lower_bound() {
        let stat = |a: u64, b: u64| {
            format!(
                "version 15\ntimestamp 1\ncpu0 0 0 9 8 7 6 555 {a} 10\ndomain0 3 1 2\ncpu1 0 0 9 8 7 6 555 {b} 10\n"
            )
        };
        let (_folder, root) = of_files(&[("proc/schedstat", &stat(1_000_000_000, 0))]);
        let before = read(&root);
        put(&root, &[("proc/schedstat", &stat(1_500_000_000, 250_000_000))]);
        let waiting = read(&root).since(&before);
        assert_eq!(waiting, Waiting { low_s: 0.75, high_s: Some(0.75) });

        let pressure = |total: u64| format!("some avg10=1.00 avg60=0 avg300=0 total={total}\n");
        let (_folder, root) = of_files(&[("proc/pressure/cpu", &pressure(1_000_000))]);
        let before = read(&root);
        assert_eq!(before.since(&before), Waiting { low_s: 0.0, high_s: Some(0.0) });
        put(&root, &[("proc/pressure/cpu", &pressure(3_000_000))]);
        assert_eq!(read(&root).since(&before), Waiting { low_s: 2.0, high_s: None });
        let nothing = Waits::default();
        assert_eq!(nothing.since(&nothing), Waiting { low_s: 0.0, high_s: None });
    }

    #[test]
    fn other_versions_and_broken_lines_are_not_read() {
        for text in ["", "version 10\ncpu0 0 0 9 8 7 6 555 1 10\n", "version 15\ncpu0 1 2\n", "x"] {
            assert_eq!(run_delay_s(text), None, "{text}");
        }
    }
}
