//! What run time is worth: pure arithmetic on windows and factors.
//!
//! Of a core of n CPUs, k of them busy, `s_k` is its throughput over that with one busy, and
//! `c_k = max(s_1…s_k) / max(s_1…s_n)` the share of it in use. A task that ran `t_k` with k busy used
//! `Σ t_k·c_k/k` seconds of capacity, so that all tasks of a core add up to what of it was used; the
//! same work alone would have run `Σ t_k/r_k`. Two CPUs: `alone/s + shared/2`, `alone + shared/r`.
//! With POWER7's 1, 1.4 and 1.6 for one, two and four busy it gives that machine's published 62.5,
//! 87.5 and 100 %.

pub mod valuation;

pub use valuation::Valuation;

use coretwin_base::account::{CoreUse, Factors, MethodName, Run, Span, TaskUse, Window, Worth};
use std::borrow::Cow;

/// Share of a core in use with k busy, for k = 1 to n, and its range.
pub fn capacity_shares(yields: &[Span]) -> Vec<Span> {
    let highest = |spans: &[Span], end: fn(&Span) -> f64| {
        spans.iter().map(end).fold(f64::MIN_POSITIVE, f64::max)
    };
    // The share grows with what k give and shrinks with what more could.
    let share = |k: usize, mine: fn(&Span) -> f64, rest: fn(&Span) -> f64| {
        let reached = highest(&yields[..k], mine);
        reached / reached.max(highest(&yields[k..], rest))
    };
    (1..=yields.len())
        .map(|k| Span {
            value: share(k, |span| span.value, |span| span.value),
            low: share(k, |span| span.low, |span| span.high),
            high: share(k, |span| span.high, |span| span.low),
        })
        .collect()
}

/// A core of which the method saw nothing, as in a window without a look: only how long its CPUs were
/// busy is known. The value takes them for independent, the range knows nothing.
pub fn known(core: &CoreUse, elapsed_s: f64) -> Cow<'_, CoreUse> {
    let is_open = |span: &Span| span.low <= 0.0 && span.high >= elapsed_s * (1.0 - 1e-9);
    let is_nothing = |span: &Span| span.value <= 0.0;
    let unseen = core.by_busy_s.iter().all(is_open) || core.by_busy_s.iter().all(is_nothing);
    if !unseen || elapsed_s <= 0.0 {
        return Cow::Borrowed(core);
    }
    let busy: Vec<f64> =
        core.by_cpu.iter().map(|cpu| (cpu.busy_s / elapsed_s).clamp(0.0, 1.0)).collect();
    let open = |share: f64| Span { value: share * elapsed_s, low: 0.0, high: elapsed_s };
    let by_busy_s = by_chance(&busy).into_iter().map(open).collect();
    Cow::Owned(CoreUse { by_busy_s, ..core.clone() })
}

/// Shares of time with exactly k busy, for k = 0 to n, of CPUs that are busy for those shares and
/// overlap by chance.
pub fn by_chance(shares: &[f64]) -> Vec<f64> {
    let mut exactly = vec![1.0];
    for share in shares {
        exactly.push(0.0);
        for k in (0..exactly.len()).rev() {
            let joined = if k == 0 { 0.0 } else { exactly[k - 1] * share };
            exactly[k] = exactly[k] * (1.0 - share) + joined;
        }
    }
    exactly
}

pub fn capacity_used_s(core: &CoreUse, factors: &Factors) -> Span {
    let shares = capacity_shares(&factors.core_yield.by_busy);
    let worth: Vec<Span> = std::iter::once(Span::default()).chain(shares).collect();
    let elapsed_s = core.by_busy_s.iter().map(|span| span.value).sum();
    weighed(&core.by_busy_s, &worth, elapsed_s)
}

pub fn worth(task: &TaskUse, valuation: &Valuation) -> Worth {
    let mut sum = Worth::default();
    for run in &task.runs {
        sum.include(&worth_of_run(run, valuation.factors(run.threads_per_core())));
    }
    sum.raw_s = task.raw_s;
    sum
}

/// What time on cores of one kind is worth.
pub fn worth_of_run(run: &Run, factors: &Factors) -> Worth {
    let raw_s = run.raw_s();
    let alone = run.alone_s();
    let shares = capacity_shares(&factors.core_yield.by_busy);
    let capacity: Vec<Span> =
        (1..).zip(shares).map(|(k, share)| scaled(share, 1.0 / f64::from(k))).collect();
    let inverse = |r: &Span| Span { value: 1.0 / r.value, low: 1.0 / r.high, high: 1.0 / r.low };
    let speeds: Vec<Span> = factors.slowdown.by_busy.iter().map(inverse).collect();
    Worth {
        raw_s,
        alone_s: alone.value,
        shared_s: (raw_s - alone.value).max(0.0),
        shared_low_s: (raw_s - alone.high).clamp(0.0, raw_s),
        shared_high_s: (raw_s - alone.low).clamp(0.0, raw_s),
        capacity_s: weighed(&run.by_busy_s, &capacity, raw_s),
        alone_equivalent_s: weighed(&run.by_busy_s, &speeds, raw_s),
    }
}

/// What run time is worth of which nothing is known but its length.
pub fn worth_of_unknown(raw_s: f64, factors: &Factors, shared_share: f64) -> Worth {
    let n = factors.threads_per_core();
    let mut by_busy_s = vec![Span { value: 0.0, low: 0.0, high: raw_s }; n];
    let shared_s = if n > 1 { raw_s * shared_share } else { 0.0 };
    by_busy_s[n - 1].value = shared_s;
    by_busy_s[0].value += raw_s - by_busy_s.iter().map(|span| span.value).sum::<f64>();
    worth_of_run(&Run { by_busy_s }, factors)
}

/// The same, with no more capacity than there was: ranges of tasks are added as if each could have had
/// its most, which not all can at once.
pub fn capped(worth: Worth, most_s: f64) -> Worth {
    let Span { value, low, high } = worth.capacity_s;
    // Where less is said to have been there than was used, the smaller is not known better.
    Worth { capacity_s: Span { value, low, high: high.min(most_s).max(value) }, ..worth }
}

/// The most capacity that all tasks of a window can have used together, in seconds of a whole core.
pub fn capacity_most_s(window: &Window, valuation: &Valuation) -> f64 {
    let of_core = |core: &CoreUse| match window.method {
        // Its ranges hold at a rate only.
        MethodName::Sampled => window.elapsed_s,
        MethodName::Ebpf | MethodName::Bounds => {
            let used = capacity_used_s(core, valuation.factors(core.cpus.len()));
            used.high.min(window.elapsed_s)
        }
    };
    window.cores.iter().map(of_core).sum()
}

fn scaled(span: Span, by: f64) -> Span {
    Span { value: span.value * by, low: span.low * by, high: span.high * by }
}

/// `Σ t_k·w_k`, and the least and the most it can be with every `t_k` in its range and all of them
/// together as long as they are: time that is free to choose goes where it weighs least, or most.
pub(crate) fn weighed(times: &[Span], weights: &[Span], total_s: f64) -> Span {
    let extreme = |weight: fn(&Span) -> f64, sign: f64| {
        let mut order: Vec<usize> = (0..times.len().min(weights.len())).collect();
        order.sort_by(|a, b| {
            (sign * weight(&weights[*a])).total_cmp(&(sign * weight(&weights[*b])))
        });
        let mut free_s = total_s - times.iter().map(|span| span.low).sum::<f64>();
        let mut sum = 0.0;
        for index in order {
            let span = times[index];
            let more_s = (span.high - span.low).min(free_s).max(0.0);
            free_s -= more_s;
            sum += (span.low + more_s) * weight(&weights[index]);
        }
        sum
    };
    let value = times.iter().zip(weights).map(|(time, weight)| time.value * weight.value).sum();
    // The value is a choice within the ranges, so only rounding can put it outside.
    Span {
        value,
        low: extreme(|weight| weight.low, 1.0).min(value),
        high: extreme(|weight| weight.high, -1.0).max(value),
    }
}

#[cfg(test)]
mod tests;
