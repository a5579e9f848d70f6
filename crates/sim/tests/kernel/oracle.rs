//! The engine beside the plainest simulation there is: time in small steps, and in each of them every
//! CPU does what its task says. It knows nothing of events, segments or settling.

use crate::support::{MS, options, program};
use coretwin_base::machine::cpu_set::CpuId;
use coretwin_sim::kernel::co_run::{CoRun, ONE, ProfileId, UOP_PER_NS, WorkProfile};
use coretwin_sim::kernel::program::Amount;
use coretwin_sim::kernel::{Layout, Machine, Start, Step, Work, run};
use proptest::prelude::*;

/// A step of the plain simulation.
const STEP_NS: u64 = 100;

/// Work of a profile, then sleep; times in steps.
type Round = (usize, u64, u64);

/// When each CPU's task is done, one task a CPU, all CPUs of one core. `speed[p][q]` is that of `p`
/// beside `q`.
fn plain(tasks: &[Vec<Round>], speed: &[[f64; 3]; 3]) -> Vec<u64> {
    let mut state: Vec<(usize, f64, u64)> =
        tasks.iter().map(|rounds| (0, rounds[0].1 as f64, rounds[0].2)).collect();
    let mut ended = vec![None; tasks.len()];
    for now in 0.. {
        let works = |task: usize, state: &[(usize, f64, u64)]| {
            let (round, left, _) = state[task];
            (round < tasks[task].len() && left > 0.0).then(|| tasks[task][round].0)
        };
        let busy: Vec<Option<usize>> = (0..tasks.len()).map(|task| works(task, &state)).collect();
        for (task, rounds) in tasks.iter().enumerate() {
            let (round, left, sleep) = &mut state[task];
            if *round == rounds.len() {
                continue;
            }
            if let Some(own) = busy[task] {
                let others = busy.iter().enumerate().filter(|(other, _)| *other != task);
                *left -= others
                    .filter_map(|(_, other)| *other)
                    .map(|other| speed[own][other])
                    .product::<f64>();
            } else {
                *sleep -= 1;
            }
            if *left <= 0.0 && *sleep == 0 {
                *round += 1;
                if let Some((_, work, pause)) = rounds.get(*round) {
                    (*left, *sleep) = (*work as f64, *pause);
                } else {
                    ended[task] = Some((now + 1) * STEP_NS);
                }
            }
        }
        if ended.iter().all(Option::is_some) {
            return ended.into_iter().flatten().collect();
        }
    }
    Vec::new()
}

fn engine(tasks: &[Vec<Round>], speed: &[[f64; 3]; 3]) -> Vec<u64> {
    let profile =
        |name: &str| WorkProfile { name: name.to_owned(), alone: UOP_PER_NS, refill: ONE };
    let fixed = |speed: f64| (speed * f64::from(ONE)) as u32;
    let beside = |own: usize, other: usize| match (own, other) {
        (0, _) | (_, 0) => ONE,
        (own, other) => fixed(speed[own - 1][other - 1]),
    };
    let profiles = ["kernel", "a", "b", "c"].map(profile).to_vec();
    let table = CoRun::new(profiles, beside, |_| ONE, |_| ONE).expect("a table");
    let layout = Layout::regular(1, 1, tasks.len() as u32).expect("a core");
    let machine = Machine::new(layout, table);
    let mut work = Work::default();
    for (cpu, rounds) in tasks.iter().enumerate() {
        let round = |(own, busy, sleep): &Round| {
            let ns = |steps: u64| Amount::Fixed(steps * STEP_NS);
            let profile = ProfileId(*own as u16 + 1);
            [Step::ComputeFor { profile, ns: ns(*busy) }, Step::Sleep { ns: ns(*sleep) }]
        };
        work.programs.push(program("task", rounds.iter().flat_map(round).collect()));
        let mask = Some([CpuId(cpu as u32)].into_iter().collect());
        work.starts.push(Start { mask, ..Start::of(cpu as u32) });
    }
    let outcome = run(&machine, &work, &options("one-per-core", 10_000))
        .unwrap_or_else(|failure| panic!("{failure}"));
    outcome.tasks.iter().filter_map(|task| task.ended_ns).collect()
}

proptest! {
    #[test]
    fn speeds_of_siblings_are_those_of_the_plainest_simulation(
        tasks in prop::collection::vec(
            prop::collection::vec((0usize..3, 1u64..300, 1u64..300), 1..5), 1..5),
        speeds in prop::array::uniform3(prop::array::uniform3(0.3f64..1.2)),
    ) {
        let (plain, engine) = (plain(&tasks, &speeds), engine(&tasks, &speeds));
        // Each begin and end of work is within a step, and shifts all that follow it by as much at
        // each of the others.
        let changes: usize = tasks.iter().map(|rounds| 2 * rounds.len()).sum();
        for (plain_ns, engine_ns) in plain.iter().zip(&engine) {
            let off_ns = plain_ns.abs_diff(*engine_ns);
            prop_assert!(off_ns <= 4 * STEP_NS * changes as u64, "{plain:?} {engine:?}");
        }
        prop_assert!(plain.iter().all(|end| *end < 100 * MS));
    }
}
