//! What policies promise: that CPUs do not stand idle beside tasks that wait, and that nobody starves.

use crate::support::{BUSY, MS, machine, options, program};
use coretwin_sim::kernel::program::Amount;
use coretwin_sim::kernel::{Start, Step, Work, run};
use coretwin_sim::policies::POLICIES;
use proptest::prelude::*;

fn tasks() -> impl Strategy<Value = Vec<(u32, u64, u64, u64)>> {
    // How many, mean work, mean sleep, and when they start.
    let one = (1u32..12, 50_000u64..20_000_000, 0u64..5_000_000, 0u64..10_000_000);
    prop::collection::vec(one, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_time: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn cpus_do_not_idle_beside_waiting_tasks_and_nobody_starves(
        tasks in tasks(),
        layout in prop::sample::select(&["2x1", "1x2", "2x2", "2x4x2"][..]),
        seed: u64,
    ) {
        let machine = machine(layout, 1500);
        let work = work(&tasks);
        let count: u64 = tasks.iter().map(|(count, ..)| u64::from(*count)).sum();
        for entry in POLICIES {
            let mut options = options(entry.name, 3000);
            options.checked = false;
            options.seed = seed;
            let outcome =
                run(&machine, &work, &options).map_err(|f| TestCaseError::fail(f.to_string()))?;
            let (promise, wasted) = (entry.promise, outcome.wasted);
            let idle_ns = match promise.of_cores {
                true => wasted.idle_core_longest_ns,
                false => wasted.idle_cpu_longest_ns,
            };
            prop_assert!(idle_ns <= promise.idle_longest_ms * MS, "{}: idle {idle_ns}", entry.name);
            let wait_ns = outcome.wait_longest_ns;
            let most_ns = promise.wait_ms_for_each_task * count * MS;
            prop_assert!(wait_ns <= most_ns, "{}: waited {wait_ns} of {most_ns}", entry.name);
        }
    }
}

/// Tasks that compute and sleep, for ever.
fn work(tasks: &[(u32, u64, u64, u64)]) -> Work {
    let mut work = Work::default();
    for (count, busy_ns, sleep_ns, at_ns) in tasks {
        let compute = Step::ComputeFor { profile: BUSY, ns: Amount::Mean(*busy_ns) };
        let sleep = Step::Sleep { ns: Amount::Mean(*sleep_ns) };
        work.programs.push(program("task", vec![compute, sleep, Step::Forever { from: 0 }]));
        let program = work.programs.len() as u32 - 1;
        work.starts.push(Start { count: *count, at_ns: *at_ns, ..Start::of(program) });
    }
    work
}
