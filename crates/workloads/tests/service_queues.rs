//! Queues whose truth is known, on a simulated clock: arrivals, service times and histogram are those that
//! a run has, and only the server is a formula.

#![expect(clippy::print_stdout, reason = "figures are printed beside their truth")]

use coretwin_base::random::Stream;
use coretwin_workloads::service::arrivals::{Arrivals, Pattern};
use coretwin_workloads::service::mix::{Shape, times_mean};
use coretwin_workloads::service::recorder::Recorder;

/// Mean service time, in nanoseconds.
const SERVICE_NS: f64 = 1e6;
const SEEDS: u64 = 2;

struct Seen {
    /// Mean wait before service, and 99th percentile of wait and service, in mean service times.
    wait: f64,
    p99: f64,
}

/// First come, first served, by so many servers at this load.
fn simulated(servers: usize, shape: Shape, load: f64, requests: usize) -> Seen {
    let (mut waits, mut all) = (0.0, Recorder::default());
    for seed in 0..SEEDS {
        let rate = load * servers as f64 / (SERVICE_NS / 1e9);
        let mut stream = Stream::new(seed, "service", 0);
        let mut free = vec![0_u64; servers];
        // The first tenth warms the queue up.
        let arrivals = Arrivals::new(Pattern::Poisson, rate, seed).take(requests * 10 / 9);
        for (number, due) in arrivals.enumerate() {
            let server = (0..servers).min_by_key(|server| free[*server]).unwrap_or(0);
            let begin = due.max(free[server]);
            free[server] = begin + (SERVICE_NS * times_mean(shape, &mut stream)) as u64;
            if number >= requests / 9 {
                waits += (begin - due) as f64;
                all.note(free[server] - due);
            }
        }
    }
    let p99 = all.quantile_s(0.99).expect("noted") * 1e9 / SERVICE_NS;
    Seen { wait: waits / all.count() as f64 / SERVICE_NS, p99 }
}

/// Probability that a request waits in M/M/k (Erlang C).
fn erlang_c(servers: usize, load: f64) -> f64 {
    let offered = load * servers as f64;
    // Erlang B by its recursion, which stays small.
    let blocked = (1..=servers).fold(1.0, |b, number| offered * b / (number as f64 + offered * b));
    blocked / (1.0 - load * (1.0 - blocked))
}

/// The point below `high` beyond which a decreasing function of time is below a hundredth.
fn hundredth(mut high: f64, tail: impl Fn(f64) -> f64) -> f64 {
    let mut low = 0.0;
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if tail(middle) > 0.01 { low = middle } else { high = middle }
    }
    low
}

/// Time in M/M/k beyond which a hundredth of the requests lies, in service times.
fn p99_of_m_m_k(servers: usize, load: f64) -> f64 {
    let (waits, drain) = (erlang_c(servers, load), servers as f64 * (1.0 - load));
    // An exponential wait, if any, and an exponential service.
    hundredth(1e3, |time| {
        let both = match (drain - 1.0).abs() < 1e-9 {
            true => (1.0 + time) * (-time).exp(),
            false => (drain * (-time).exp() - (-drain * time).exp()) / (drain - 1.0),
        };
        (1.0 - waits) * (-time).exp() + waits * both
    })
}

/// Chance that the wait in M/D/1 is longer than a time, in service times (Erlang's sum; terms of opposite
/// sign limit it to some thirty service times, which is beyond what is asked).
fn waits_in_m_d_1(time: f64, load: f64) -> f64 {
    let terms = (0..=time.floor() as i32).scan(1.0, |factorial, number| {
        *factorial *= f64::from(number.max(1));
        let left = load * (f64::from(number) - time);
        Some(left.powi(number) / *factorial * (-left).exp())
    });
    1.0 - (1.0 - load) * terms.sum::<f64>()
}

/// Chance that a request in M/H2/1 takes longer than a time: two exponentials, by partial fractions of
/// Pollaczek and Khinchine's transform of the time in the system.
fn stays_in_m_h2_1(time: f64, load: f64) -> f64 {
    let often = 0.887_298_334_620_741_7;
    let (p, q) = (often, 1.0 - often);
    let (fast, slow) = (2.0 * p, 2.0 * q);
    // W(s) = (1 - ρ) s S(s) / (s - λ + λ S(s)) with S = p f/(f+s) + q g/(g+s): over the common
    // denominator, the poles are those of s² + (f + g - λ) s + f g (1 - ρ).
    let (b, c) = (fast + slow - load, fast * slow * (1.0 - load));
    let root = (b * b / 4.0 - c).sqrt();
    let poles = [b / 2.0 - root, b / 2.0 + root];
    let above = |s: f64| (1.0 - load) * (p * fast * (slow + s) + q * slow * (fast + s));
    let [near, far] = poles;
    let share = |pole: f64, other: f64| above(-pole) / (other - pole) / pole;
    share(near, far) * (-near * time).exp() + share(far, near) * (-far * time).exp()
}

fn near(what: &str, seen: f64, formula: f64, within: f64) {
    let off = seen / formula - 1.0;
    println!("{what}: {seen:.4} by simulation, {formula:.4} by formula, {:+.2} %", off * 100.0);
    assert!(off.abs() < within, "{what}: {seen} against {formula}");
}

const LOADS: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];

/// Waits of near-saturated queues are correlated over long times, so they take more requests.
fn requests(load: f64) -> usize {
    if load > 0.8 {
        6_000_000
    } else if load > 0.6 {
        1_500_000
    } else {
        800_000
    }
}

#[test]
fn m_m_1_and_m_m_k_wait_as_erlang_says() {
    for servers in [1, 2, 4] {
        for load in LOADS {
            // With many servers hardly any request waits at a low load, and a mean needs some that do.
            let count =
                if load < 0.2 { requests(load) * servers * servers } else { requests(load) };
            let seen = simulated(servers, Shape::Exponential, load, count);
            let wait = erlang_c(servers, load) / (servers as f64 * (1.0 - load));
            near(&format!("M/M/{servers} at {load}: mean wait"), seen.wait, wait, 0.02);
            let p99 = p99_of_m_m_k(servers, load);
            near(&format!("M/M/{servers} at {load}: p99"), seen.p99, p99, 0.05);
        }
    }
}

#[test]
fn m_d_1_and_m_h2_1_wait_as_pollaczek_and_khinchine_say() {
    for load in LOADS {
        let half = load / (1.0 - load) / 2.0;
        let fixed = simulated(1, Shape::Fixed, load, requests(load));
        near(&format!("M/D/1 at {load}: mean wait"), fixed.wait, half, 0.02);
        let p99 = 1.0 + hundredth(28.0, |time| waits_in_m_d_1(time, load));
        near(&format!("M/D/1 at {load}: p99"), fixed.p99, p99, 0.05);
        // A squared coefficient of variation of 4.
        let mixed = simulated(1, Shape::Hyperexponential, load, 3 * requests(load));
        near(&format!("M/H2/1 at {load}: mean wait"), mixed.wait, half * 5.0, 0.02);
        let p99 = hundredth(1e3, |time| stays_in_m_h2_1(time, load));
        near(&format!("M/H2/1 at {load}: p99"), mixed.p99, p99, 0.05);
    }
}
