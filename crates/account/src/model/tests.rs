//! The arithmetic: published numbers, conservation, ranges.

use super::valuation::Known;
use super::*;
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use proptest::prelude::*;

fn valuation(core_yield: &str, threads: usize) -> Valuation {
    let known = Known::parse(core_yield, "yield").expect("factor");
    Valuation::new(Some(&known), None, threads).expect("valuation")
}

fn exact(times: &[f64]) -> Vec<Span> {
    times.iter().copied().map(Span::exact).collect()
}

#[test]
fn one_busy_of_two_at_yield_1_3_is_77_percent_and_power7_is_as_published() {
    let shares = |text, n| {
        let shares = capacity_shares(&valuation(text, n).largest().core_yield.by_busy);
        shares.iter().map(|share| (share.value * 1000.0).round() / 10.0).collect::<Vec<_>>()
    };
    assert_eq!(shares("1.3", 2), [76.9, 100.0]);
    let power7 = shares("2=1.4,4=1.6", 4);
    assert_eq!([power7[0], power7[1], power7[3]], [62.5, 87.5, 100.0]);
    // A core that gives less with both busy is full with one.
    assert_eq!(shares("0.9", 2), [100.0, 100.0]);
}

#[test]
fn a_task_alone_and_beside_another() {
    let run = Run { by_busy_s: exact(&[13.0, 6.0]) };
    let known = Known::parse("1.5", "slowdown").expect("factor");
    let s = Known::parse("1.3", "yield").expect("factor");
    let valuation = Valuation::new(Some(&s), Some(&known), 2).expect("valuation");
    let worth = worth_of_run(&run, valuation.largest());
    assert_eq!((worth.raw_s, worth.alone_s, worth.shared_s), (19.0, 13.0, 6.0));
    assert!((worth.capacity_s.value - 13.0).abs() < 1e-9, "{worth:?}");
    assert!((worth.alone_equivalent_s.value - 17.0).abs() < 1e-9, "{worth:?}");
    assert!(worth.capacity_s.half_width() < 1e-9 && worth.alone_equivalent_s.half_width() < 1e-9);
}

#[test]
fn without_overlap_data_the_answer_is_the_published_interval() {
    // b0 = b1 = 50 %: between 50 % (always together) and 1/s (never together).
    let core = CoreUse {
        cpus: CpuSet::parse("0-1").expect("set"),
        by_busy_s: [(0.25, 0.0, 0.5), (0.5, 0.0, 1.0), (0.25, 0.0, 0.5)]
            .map(|(value, low, high)| Span { value, low, high })
            .to_vec(),
        by_cpu: Vec::new(),
    };
    let used = capacity_used_s(&core, valuation("1.3", 2).largest());
    let percent = [used.value, used.low, used.high].map(|share| (share * 1000.0).round() / 10.0);
    assert_eq!(percent[0], 63.5);
    // Without knowing that both CPUs have half each, the range is wider at the lower end.
    assert!(percent[1] <= 50.0 && (percent[2] - 88.5).abs() < 0.05, "{percent:?}");
}

#[test]
fn factors_are_read_and_completed() {
    let n4 = valuation("2=1.4,4=1.6:1.5-1.7", 4);
    let three = n4.largest().core_yield.by_busy[2];
    assert!((three.value - 1.5).abs() < 1e-12 && (three.high - 1.55).abs() < 1e-12, "{three:?}");
    // Equal tasks: r_k = k / s_k.
    assert!((n4.largest().slowdown.all_busy.value - 2.5).abs() < 1e-12);
    assert_eq!(n4.factors(2).core_yield.all_busy.value, 1.4);
    assert_eq!(n4.factors(1).core_yield.by_busy, exact(&[1.0]));
    let unknown = Valuation::new(None, None, 2).expect("valuation");
    assert_eq!(unknown.largest().core_yield.all_busy, valuation::DEFAULT_YIELD);
    for (text, part) in [
        ("x", "'x' is not a number"),
        ("0", "0 is not between 0.05 and 64"),
        ("1.3:1.4-1.5", "1.3 does not lie between 1.4 and 1.5"),
        ("1=1.2", "'1' is no number of busy CPUs"),
        ("2=1.2,2=1.3", "the same twice"),
        ("NaN", "NaN is not between"),
    ] {
        let error = Known::parse(text, "yield").expect_err(text).to_string();
        assert!(error.contains(part) && error.contains("1.3:1.2-1.4"), "{text}: {error}");
    }
    let four = Known::parse("4=1.6", "yield").expect("factor");
    let error = Valuation::new(Some(&four), None, 2).expect_err("too many").to_string();
    assert!(error.contains("no core here has more than 2"), "{error}");
}

/// What a core does in a short while: who runs on each of its CPUs.
fn schedule(cpus: usize) -> impl Strategy<Value = Vec<(f64, Vec<Option<usize>>)>> {
    let moment = prop::collection::vec(prop::option::of(0usize..5), cpus);
    prop::collection::vec((0.001f64..2.0, moment), 1..40)
}

/// Core and tasks of a schedule; a task can only be on one CPU.
fn played(schedule: &[(f64, Vec<Option<usize>>)]) -> (CoreUse, Vec<TaskUse>) {
    let cpus = schedule[0].1.len();
    let mut by_busy = vec![0.0; cpus + 1];
    let mut by_task = vec![vec![0.0; cpus]; 5 * cpus];
    for (length_s, running) in schedule {
        let busy = running.iter().flatten().count();
        by_busy[busy] += length_s;
        for (cpu, task) in running.iter().enumerate() {
            if let Some(task) = task {
                by_task[cpu * 5 + task][busy - 1] += length_s;
            }
        }
    }
    let task = |(tid, times): (u32, Vec<f64>)| TaskUse {
        pid: tid,
        tid,
        raw_s: times.iter().sum(),
        runs: vec![Run { by_busy_s: exact(&times) }],
        ..TaskUse::default()
    };
    let core = CoreUse {
        cpus: (0..cpus as u32).map(CpuId).collect(),
        by_busy_s: exact(&by_busy),
        by_cpu: Vec::new(),
    };
    (core, (0..).zip(by_task).map(task).collect())
}

proptest! {
    #[test]
    fn capacity_of_all_tasks_of_a_core_is_the_capacity_used(
        schedule in prop_oneof![schedule(1), schedule(2), schedule(4), schedule(8)],
        yields in prop::collection::vec(0.5f64..3.0, 7),
    ) {
        let (core, tasks) = played(&schedule);
        let n = core.cpus.len();
        let text: Vec<String> =
            (2..=n).map(|k| format!("{k}={}:{}-{}", yields[k - 2], yields[k - 2] * 0.9, yields[k - 2] * 1.1)).collect();
        let known = Known::parse(&text.join(","), "yield").ok();
        let valuation = Valuation::new(known.as_ref(), None, n).expect("valuation");
        let mut sum = Worth::default();
        for task in &tasks {
            sum.include(&worth(task, &valuation));
        }
        let used = capacity_used_s(&core, valuation.largest());
        for (tasks, core) in [
            (sum.capacity_s.value, used.value),
            (sum.capacity_s.low, used.low),
            (sum.capacity_s.high, used.high),
        ] {
            prop_assert!((tasks - core).abs() <= 1e-9 * core.max(1.0), "{sum:?} {used:?}");
        }
        let busy_s: f64 = (1..).zip(&core.by_busy_s[1..]).map(|(k, s)| f64::from(k) * s.value).sum();
        prop_assert!((sum.raw_s - busy_s).abs() < 1e-9 * busy_s.max(1.0));
        // Nobody uses more than the whole core for the time that somebody is on it.
        prop_assert!(used.high <= busy_s + 1e-9);
    }

    #[test]
    fn a_range_holds_whatever_the_truth_in_it_is(
        truth in prop::collection::vec(0.0f64..10.0, 4),
        slack in prop::collection::vec((0.0f64..5.0, 0.0f64..5.0), 4),
        yields in prop::collection::vec((0.5f64..2.5, 0.0f64..0.5, 0.0f64..0.5), 3),
        way in prop::collection::vec(0.0f64..=1.0, 3),
    ) {
        let ranges: Vec<String> = (2..).zip(&yields)
            .map(|(k, (s, below, above))| format!("{k}={s}:{}-{}", s * (1.0 - below), s * (1.0 + above)))
            .collect();
        // Some yield within each range is the true one.
        let real: Vec<String> = (2..).zip(yields.iter().zip(&way))
            .map(|(k, ((s, below, above), way))| {
                let (low, high) = (s * (1.0 - below), s * (1.0 + above));
                format!("{k}={}", low + (high - low) * way)
            })
            .collect();
        let vague = valuation(&ranges.join(","), 4);
        let real = valuation(&real.join(","), 4);
        let spans = truth.iter().zip(&slack).map(|(t, (below, above))| Span {
            value: *t,
            low: (t - below).max(0.0),
            high: t + above,
        });
        let known = worth_of_run(&Run { by_busy_s: spans.collect() }, vague.largest());
        let really = worth_of_run(&Run { by_busy_s: exact(&truth) }, real.largest());
        prop_assert!(known.capacity_s.contains(really.capacity_s.value), "{known:?} {really:?}");
        prop_assert!(known.alone_equivalent_s.contains(really.alone_equivalent_s.value));
        prop_assert!(known.shared_low_s <= really.shared_s + 1e-9);
        prop_assert!(known.shared_high_s >= really.shared_s - 1e-9);
    }
}
