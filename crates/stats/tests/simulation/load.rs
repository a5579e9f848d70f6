//! Capacity at an objective on queues whose truth is a formula.

use crate::fixture::{plan, reading, row};
use coretwin_base::parameters::ParamValue;
use coretwin_base::random::Stream;
use coretwin_base::study::latency::Latency;
use coretwin_base::study::load::{Objective, RATE};
use coretwin_base::study::plan::{LoadPlan, Plan, Protocol};
use coretwin_base::study::reading::Reading;
use coretwin_base::study::summary::{Capacity, StoppedBecause, Summary, Verdict};
use coretwin_stats::load::{Kept, Seen, kept};
use coretwin_stats::study;

const PAGE: &str = include_str!("../../../../docs/method/workloads.md");

/// What the page says of a measurement.
fn quoted(claim: &str) {
    println!("  docs/method/workloads.md: {claim}");
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plain(PAGE).contains(&plain(claim)), "docs/method/workloads.md does not say: {claim}");
}

/// `one-per-core` against `on` at these rates a second, with p99 ≤ 10 ms.
fn plan_at(rates: &[f64], blocks: u32) -> Plan {
    let rows: Vec<_> = rates
        .iter()
        .map(|rate| {
            let mut row = row(&format!("service:rate={rate}"), "service");
            row.params.insert(RATE.to_owned(), ParamValue::parse(&rate.to_string()));
            row.workload = "service/latency".to_owned();
            row
        })
        .collect();
    let mut plan = plan(&rows);
    plan.rules.protocol = Protocol::Fixed;
    plan.rules.looks = vec![blocks];
    plan.orders = vec![vec![0, 1]; blocks as usize];
    plan.load = Some(Box::new(LoadPlan {
        slo: Some(Objective::parse("p99=10ms").expect("an objective")),
        saturation: None,
        raised: false,
        blocks: 1,
        orders: Vec::new(),
    }));
    plan
}

fn with_latency(mut reading: Reading, offered: f64, carried: f64, p99_s: f64) -> Reading {
    let told = Latency {
        offered_per_s: Some(offered),
        throughput_per_s: carried,
        sent: 10_000,
        completed: 10_000,
        duration_s: 10.0,
        mean_s: Some(p99_s / 5.0),
        p50_s: Some(p99_s / 7.0),
        p99_s: Some(p99_s),
        ..Latency::default()
    };
    reading.latency = Some(told.into());
    reading
}

/// What each cell of a study reads: of block, arm and rate, carried and p99.
fn analysed(
    rates: &[f64],
    blocks: u32,
    mut cell: impl FnMut(u32, usize, f64) -> (f64, f64),
) -> Summary {
    let plan = plan_at(rates, blocks);
    let mut readings = Vec::new();
    for block in 0..blocks {
        for arm in 0..2 {
            for (index, rate) in rates.iter().enumerate() {
                let (carried, p99_s) = cell(block, arm, *rate);
                let seq = readings.len() as u64;
                let mut one = reading(&plan, seq, block, arm, index, p99_s);
                one.switch = 2 * block + arm as u32;
                readings.push(with_latency(one, *rate, carried, p99_s));
            }
        }
    }
    study::analyse(&plan, &readings, StoppedBecause::Blocks)
}

fn of_arm<'a>(summary: &'a Summary, arm: &str) -> &'a Capacity {
    summary.load.iter().find(|found| found.arm == arm).expect("a capacity")
}

fn normal(stream: &mut Stream) -> f64 {
    let radius = (-2.0 * (1.0 - stream.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * stream.unit()).cos()
}

/// M/M/1 with that service rate at that rate of arrivals, over ten seconds: carried and p99.
fn mm1(mu: f64, lambda: f64) -> (f64, f64) {
    let spare = mu - lambda;
    // Beyond saturation what came last waits for all before it.
    if spare <= 1.0 {
        (mu, 10.0 * (1.0 - mu / lambda).max(0.1))
    } else {
        (lambda, 100f64.ln() / spare)
    }
}

const RATES: [f64; 5] = [200.0, 700.0, 1_200.0, 1_700.0, 2_200.0];

/// Studies of 8 blocks: every block has its own speed, every arm and every percentile its own error.
fn study_of(mu: [f64; 2], seed: u64) -> Summary {
    let stream = &mut Stream::new(seed, "capacity", 0);
    let mut speed = (u32::MAX, 1.0);
    let mut of_arm = (usize::MAX, 1.0);
    analysed(&RATES, 8, |block, arm, rate| {
        if speed.0 != block {
            speed = (block, (0.02 * normal(stream)).exp());
            of_arm.0 = usize::MAX;
        }
        if of_arm.0 != arm {
            of_arm = (arm, (0.01 * normal(stream)).exp());
        }
        let (carried, p99_s) = mm1(mu[arm] * speed.1 * of_arm.1, rate);
        (carried * (0.005 * normal(stream)).exp(), p99_s * (0.04 * normal(stream)).exp())
    })
}

#[test]
fn intervals_of_capacity_and_of_the_ratio_cover() {
    const STUDIES: u64 = 4_000;
    println!("capacity at p99 ≤ 10 ms, M/M/1, 8 blocks, {STUDIES} studies:");
    println!("  true ratio -> coverage of ratio %, of a capacity %, HELPS %, HURTS %");
    // ln 100 / 10 ms are spare.
    let truth = |mu: f64| mu - 100f64.ln() / 0.010;
    for mu in [[2_000.0, 2_400.0], [2_000.0, 2_000.0]] {
        let ratio = truth(mu[1]) / truth(mu[0]);
        let [mut of_ratio, mut of_rate, mut helps, mut hurts] = [0u32; 4];
        for seed in 0..STUDIES {
            let summary = study_of(mu, seed);
            let found = of_arm(&summary, "on");
            let holds = |ends: (Option<f64>, Option<f64>), truth: f64| {
                u32::from(
                    ends.0.is_some_and(|low| low <= truth) && ends.1.is_some_and(|h| truth <= h),
                )
            };
            of_ratio += holds((found.low, found.high), ratio);
            of_rate += holds((found.rate_low, found.rate_high), truth(mu[1]));
            helps += u32::from(found.verdict == Some(Verdict::Helps));
            hurts += u32::from(found.verdict == Some(Verdict::Hurts));
        }
        let share = |count: u32| f64::from(count) * 100.0 / STUDIES as f64;
        let [ratios, rates] = [of_ratio, of_rate].map(share);
        println!(
            "  {ratio:.3} -> {ratios:.1}, {rates:.1}, {:.1}, {:.1}",
            share(helps),
            share(hurts)
        );
        assert!((94.0..=97.0).contains(&ratios), "{ratios}");
        assert!((93.0..=97.5).contains(&rates), "{rates}");
        if mu[0] == mu[1] {
            assert!(share(helps + hurts) <= 6.0);
            quoted(&format!("the interval of the ratio held the truth in {ratios:.1} %"));
        } else {
            assert!(helps as u64 == STUDIES);
        }
    }
}

/// A queue whose tail is a formula: Poisson arrivals, first come, first served.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Queue {
    /// That many servers, exponential times.
    Exponential(usize),
    /// One server, and every request takes as long.
    Fixed,
    /// One server, and times with a squared coefficient of variation of 4: two exponentials with equal
    /// shares of the work.
    Hyperexponential,
}

/// Share of requests of [`Queue::Hyperexponential`] that are short.
const SHORT: f64 = 0.887_298_334_620_741_7;

impl Queue {
    fn servers(self) -> usize {
        if let Self::Exponential(servers) = self { servers } else { 1 }
    }

    /// A time of service, of mean 1.
    fn draw(self, stream: &mut Stream) -> f64 {
        let mut exponential = || -(1.0 - stream.unit()).ln();
        match self {
            Self::Exponential(_) => exponential(),
            Self::Fixed => 1.0,
            Self::Hyperexponential => {
                let time = exponential();
                let share = if stream.unit() < SHORT { SHORT } else { 1.0 - SHORT };
                time / (2.0 * share)
            }
        }
    }

    /// Times in the system of that many requests: carried and p99.
    fn simulated(self, mu: f64, lambda: f64, requests: usize, stream: &mut Stream) -> (f64, f64) {
        let mut free = vec![0.0f64; self.servers()];
        let (mut now, mut sojourns) = (0.0, Vec::with_capacity(requests));
        for _ in 0..requests {
            now += -(1.0 - stream.unit()).ln() / lambda;
            let next = free.iter_mut().min_by(|a, b| a.total_cmp(b)).expect("a server");
            *next = next.max(now) + self.draw(stream) / mu;
            sojourns.push(*next - now);
        }
        let last = free.iter().copied().fold(now, f64::max);
        sojourns.sort_unstable_by(f64::total_cmp);
        (requests as f64 / last, sojourns[requests * 99 / 100])
    }

    /// Share of requests that take longer than `t`.
    fn longer(self, mu: f64, lambda: f64, t: f64) -> f64 {
        match self {
            Self::Exponential(servers) => longer(servers, mu, lambda, t),
            Self::Fixed => longer_fixed(lambda / mu, mu * t),
            Self::Hyperexponential => longer_hyperexponential(lambda / mu, mu * t),
        }
    }
}

/// M/D/1, in service times: Erlang's sum for the wait, and the service.
fn longer_fixed(load: f64, t: f64) -> f64 {
    let wait = t - 1.0;
    if wait < 0.0 {
        return 1.0;
    }
    let terms = (0..=wait.floor() as i32).scan(1.0, |factorial, number| {
        *factorial *= f64::from(number.max(1));
        let left = load * (f64::from(number) - wait);
        Some(left.powi(number) / *factorial * (-left).exp())
    });
    1.0 - (1.0 - load) * terms.sum::<f64>()
}

/// M/H2/1, in service times: partial fractions of Pollaczek and Khinchine's transform.
fn longer_hyperexponential(load: f64, t: f64) -> f64 {
    let (p, q) = (SHORT, 1.0 - SHORT);
    let (fast, slow) = (2.0 * p, 2.0 * q);
    let (b, c) = (fast + slow - load, fast * slow * (1.0 - load));
    let root = (b * b / 4.0 - c).sqrt();
    let (near, far) = (b / 2.0 - root, b / 2.0 + root);
    let above = |s: f64| (1.0 - load) * (p * fast * (slow + s) + q * slow * (fast + s));
    let share = |pole: f64, other: f64| above(-pole) / (other - pole) / pole;
    share(near, far) * (-near * t).exp() + share(far, near) * (-far * t).exp()
}

/// Share of requests that take longer than `t` in M/M/k.
fn longer(k: usize, mu: f64, lambda: f64, t: f64) -> f64 {
    let offered = lambda / mu;
    let (mut sum, mut term) = (0.0, 1.0);
    for i in 0..k {
        sum += term;
        term *= offered / (i + 1) as f64;
    }
    let rho = offered / k as f64;
    // Erlang C: the probability of waiting at all.
    let waits = term / (1.0 - rho) / (sum + term / (1.0 - rho));
    let theta = k as f64 * mu - lambda;
    let (served, waited) = ((-mu * t).exp(), (-theta * t).exp());
    let both = if (theta - mu).abs() < 1e-9 * mu {
        (1.0 + mu * t) * served
    } else {
        (theta * served - mu * waited) / (theta - mu)
    };
    (1.0 - waits) * served + waits * both
}

/// Where a function that falls from above a hundredth between 0 and `high` is one.
fn hundredth(high: f64, falls: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, high);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if falls(middle) > 0.01 { low = middle } else { high = middle }
    }
    low
}

#[test]
fn capacity_of_simulated_queues_is_that_of_the_formula() {
    const REQUESTS: usize = 60_000;
    println!("capacity at p99 ≤ t, rates 10 to 90 %, 8 blocks of {REQUESTS} requests:");
    println!("  queue, capacity as load -> error %, and by the logarithm of the latency %");
    let single = [Queue::Fixed, Queue::Hyperexponential];
    for (queues, name) in
        [(&[1, 2, 4].map(Queue::Exponential)[..], "M/M/k"), (&single, "M/D/1 and M/H2/1")]
    {
        let mut worst = [0.0f64; 2];
        for queue in queues {
            let whole = 1_000.0 * queue.servers() as f64;
            // Objectives kept by 60 to 85 % of saturation.
            for load in [0.6, 0.75, 0.85] {
                let truth = load * whole;
                // Beyond 28 service times the sum of M/D/1 is rounding.
                let most = if *queue == Queue::Fixed { 0.028 } else { 1.0 };
                let t = hundredth(most, |t| queue.longer(1_000.0, truth, t));
                assert!((queue.longer(1_000.0, truth, t) / 0.01 - 1.0).abs() < 1e-6);
                let stream =
                    &mut Stream::new(queue.servers() as u64, "queues", (load * 100.0) as u64);
                let (mut ours, mut rival) = (0.0, 0.0);
                for _ in 0..8 {
                    let shares = [0.1, 0.3, 0.5, 0.7, 0.9];
                    let seen = shares.map(|share| {
                        let offered = share * whole;
                        let (carried, latency_s) =
                            queue.simulated(1_000.0, offered, REQUESTS, stream);
                        Seen { offered, carried, latency_s }
                    });
                    let Some(Kept::Rate(rate)) = kept(&seen, t) else { panic!("{seen:?} {t}") };
                    ours += rate.ln() / 8.0;
                    rival += by_logarithm(&seen, t).ln() / 8.0;
                }
                let error = |log: f64| (log.exp() / truth - 1.0) * 100.0;
                println!("  {queue:?}, {load} -> {:.2}, {:.2}", error(ours), error(rival));
                worst = [worst[0].max(error(ours).abs()), worst[1].max(error(rival).abs())];
                assert!(error(ours).abs() <= 2.0, "{queue:?} {load}: {}", error(ours));
            }
        }
        quoted(&format!(
            "{name} by at most {:.1} %, a line through the logarithm by up to {:.1} %",
            worst[0], worst[1]
        ));
    }
}

/// The usual choice: a line through the logarithm of the latency.
fn by_logarithm(seen: &[Seen], objective_s: f64) -> f64 {
    let pair = seen.windows(2).find(|pair| pair[1].latency_s > objective_s).expect("a pair");
    let share =
        (objective_s / pair[0].latency_s).ln() / (pair[1].latency_s / pair[0].latency_s).ln();
    pair[0].offered + share * (pair[1].offered - pair[0].offered)
}

#[test]
fn rates_that_all_keep_the_objective_or_none_give_a_bound_and_no_number() {
    let fast = |mu: [f64; 2]| {
        analysed(&RATES, 6, |block, arm, rate| {
            let wobble = 1.0 + 0.01 * f64::from(block % 3);
            mm1(mu[arm] * wobble, rate)
        })
    };
    let summary = fast([2_000.0, 9_000.0]);
    let found = of_arm(&summary, "on");
    assert_eq!((found.rate, found.rate_high, found.ratio, found.high), (None, None, None, None));
    assert!((found.rate_low.expect("a bound") - 2_200.0).abs() < 1e-6);
    assert_eq!((found.verdict, found.bounds, found.blocks), (Some(Verdict::Helps), 6, 6));
    assert!(found.low.is_some_and(|low| (1.3..1.45).contains(&low)), "{found:?}");
    let title = study::headlines(&plan_at(&RATES, 6), &summary)[0].title();
    assert_eq!(title, "on carries at least 1.39 times the requests at p99 ≤ 10 ms.");
    // Nothing keeps it in the arm.
    let summary = fast([2_000.0, 300.0]);
    let found = of_arm(&summary, "on");
    assert_eq!((found.rate, found.rate_low, found.low), (None, None, None));
    assert!((found.rate_high.expect("a bound") - 200.0).abs() < 1e-6, "{found:?}");
    assert_eq!(found.verdict, Some(Verdict::Hurts));
    // Every rate keeps it in both: nothing follows for the ratio.
    let summary = fast([9_000.0, 9_900.0]);
    let found = of_arm(&summary, "on");
    assert_eq!((found.ratio, found.low, found.high), (None, None, None));
    assert_eq!(found.verdict, Some(Verdict::Inconclusive));
    assert!(summary.sentences[0].contains("at least 2,200 requests"), "{}", summary.sentences[0]);
}

#[test]
fn a_study_of_a_curve_is_decided_and_told_by_its_capacity() {
    let summary = study_of([2_000.0, 2_400.0], 5);
    let heads = study::headlines(&plan_at(&RATES, 8), &summary);
    assert_eq!(summary.suites.len(), 1);
    assert!(heads[0].title().starts_with("on carries 1.2"), "{}", heads[0].title());
    let sentence = heads[0].sentence();
    assert!(sentence.starts_with("HELPS: on carries 1.2"), "{sentence}");
    assert!(sentence.ends_with("times the requests of one-per-core at p99 ≤ 10 ms."), "{sentence}");
    assert!(sentence.split_whitespace().count() <= study::WORDS_MAX);
    assert!(heads[0].title().split_whitespace().count() <= study::TITLE_WORDS_MAX);
    let curve = summary.curve.as_ref().expect("a curve");
    assert_eq!(curve.points.len(), 10);
    let last = curve.points.last().expect("a point");
    assert!(last.faster.is_some_and(|faster| faster.low > Some(2.0)), "{last:?}");
    assert!(!last.latency.contains_key("p99.9"), "too few samples lie beyond");
}
