//! From a recording and yields: would this load fit with SMT off, on, or shared within groups only? Bounds
//! that hold come first ([`mod@demand`]); beside them a model, and the rule that a busy CPU is a busy core.

pub mod demand;

use crate::model::Valuation;
use coretwin_base::account::recording::{RecordingBlock, RecordingHead, Session};
use coretwin_base::account::replay::{
    Replay, ReplayGroup, ReplayHour, ReplayMinute, ReplayModel, ReplaySmt, Stretch,
};
use coretwin_base::account::{MethodName, SiblingsOrigin, Span};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::origin::Origin;
use coretwin_base::schema::SCHEMA;
use coretwin_base::warning::Warning;
use demand::{Demand, behind_s, demand, left_s};
use std::collections::BTreeMap;

const HOUR_S: i64 = 3600;
/// CPUs of a core that would get siblings.
const THREADS: usize = 2;

/// Blocks say when they began in whole seconds, and one ends a moment before the next begins.
const APART_S: f64 = 2.0;

struct Minute<'a> {
    block: &'a RecordingBlock,
    demand: Demand,
    /// Time before it that is not recorded: what was left can have been done in it.
    unrecorded_s: f64,
}

impl Minute<'_> {
    fn elapsed_s(&self) -> f64 {
        self.block.elapsed_s
    }

    /// Work that can be done from the end of the block before to its own end, of a capacity within it.
    fn room_s(&self, capacity_s: f64) -> f64 {
        capacity_s * (1.0 + self.unrecorded_s / self.elapsed_s())
    }

    fn fits(&self) -> bool {
        self.demand.high_s.is_some_and(|high_s| within(high_s, self.demand.capacity_low_s))
    }

    fn may_fit(&self) -> bool {
        within(self.demand.low_s, self.demand.capacity_high_s)
    }
}

/// A core that is always busy is full and not over: the ends of a block are some microseconds apart.
fn within(work_s: f64, capacity_s: f64) -> bool {
    work_s <= capacity_s * (1.0 + 1e-4)
}

fn end_s(block: &RecordingBlock) -> f64 {
    block.from as f64 + block.elapsed_s
}

/// CPUs of a core in a recording, and of the machine that is asked for: the larger is what yields are
/// needed of.
pub fn threads(sessions: &[Session]) -> (usize, usize) {
    let of = |session: &Session| session.head.siblings.threads_per_core_max();
    let recorded = sessions.iter().map(of).max().unwrap_or(1);
    (recorded, recorded.max(THREADS))
}

/// Blocks, each with its demand and the time before it that was not recorded.
fn minutes<'a>(
    blocks: impl Iterator<Item = &'a RecordingBlock>,
    demand: impl Fn(&RecordingBlock) -> Demand,
) -> Vec<Minute<'a>> {
    let mut ended_s = f64::INFINITY;
    let minute_of = |block| {
        let before_s = std::mem::replace(&mut ended_s, end_s(block));
        let unrecorded_s = block.from as f64 - before_s;
        let unrecorded_s = if unrecorded_s > APART_S { unrecorded_s } else { 0.0 };
        Minute { block, demand: demand(block), unrecorded_s }
    };
    blocks.map(minute_of).collect()
}

/// `None` if there is no block.
pub fn replay(sessions: &[Session], smt: ReplaySmt, valuation: &Valuation) -> Option<Replay> {
    let (recorded_threads, threads) = threads(sessions);
    let factors = valuation.factors(threads);
    let yields = &factors.core_yield.by_busy;
    let blocks = sessions.iter().flat_map(|session| &session.blocks);
    let minutes = minutes(blocks, |block| demand(block, yields, smt));
    let first = sessions.iter().find(|session| !session.blocks.is_empty())?;
    let hours_of = |fits: &dyn Fn(&Minute<'_>) -> bool| {
        let seconds = minutes.iter().filter(|minute| fits(minute)).map(Minute::elapsed_s);
        // The sum of none is -0.
        (seconds.sum::<f64>() + 0.0) / HOUR_S as f64
    };
    let is_known = minutes.iter().all(|minute| minute.demand.high_s.is_some());
    let by_hour = by_hour(&minutes);
    let demands = || minutes.iter().map(|minute| &minute.demand);
    // Seconds until as much as is left or behind is done.
    let longest_s = |left: &mut dyn Iterator<Item = f64>, capacity: fn(&Demand) -> f64| {
        let rates = minutes.iter().map(|it| capacity(&it.demand) / it.elapsed_s());
        let waits = left.zip(rates).map(|(left_s, rate)| left_s / rate.max(f64::MIN_POSITIVE));
        waits.fold(0.0, f64::max)
    };
    let even_s = |work: fn(&Demand) -> f64, capacity: fn(&Demand) -> f64| {
        let pairs = minutes.iter().map(|it| (work(&it.demand), it.room_s(capacity(&it.demand))));
        longest_s(&mut left_s(pairs), capacity)
    };
    let (throughput_low, throughput_high) = throughput(&minutes, smt, recorded_threads);
    let is_same = is_same(smt, recorded_threads);
    let throughput_high = throughput_high.filter(|_| is_known || is_same);
    let by_thread = fewer_threads(sessions, smt);
    Some(Replay {
        schema: SCHEMA,
        origin: Origin::common(sessions.iter().map(|session| session.head.origin))
            .unwrap_or(Origin::Simulated),
        smt,
        recorded_threads,
        cores: first.head.siblings.cores.len(),
        method: first.head.method,
        core_yield: factors.core_yield.all_busy,
        yield_origin: factors.core_yield.origin.clone(),
        hours: hours_of(&|_| true),
        fits_low_h: is_known.then(|| hours_of(&|minute| minute.fits())),
        fits_high_h: hours_of(&|minute| minute.may_fit()),
        rule_fits_h: hours_of(&|minute| {
            let most_s = match smt {
                ReplaySmt::Off | ReplaySmt::CoreSched => minute.demand.cores_s,
                ReplaySmt::On => minute.demand.cores_s * threads as f64,
            };
            within(minute.demand.running_s, most_s)
        }),
        worst: worst(&by_hour),
        wait_low_s: even_s(|demand| demand.low_s, |demand| demand.capacity_high_s),
        wait_high_s: longest_s(&mut behind_s(demands()).map(|(within_s, _)| within_s), |demand| {
            demand.capacity_low_s
        }),
        throughput_low,
        throughput_high,
        per_thread_low: throughput_low * by_thread,
        per_thread_high: throughput_high.map(|high| high * by_thread),
        model: ReplayModel {
            fits_low_h: hours_of(&|it| within(it.demand.model_high_s, it.demand.cores_s)),
            fits_high_h: hours_of(&|it| within(it.demand.model_low_s, it.demand.cores_s)),
            wait_low_s: even_s(|demand| demand.model_low_s, |demand| demand.cores_s),
            wait_high_s: even_s(|demand| demand.model_high_s, |demand| demand.cores_s),
        },
        minutes: minutes.iter().map(minute).collect(),
        by_hour,
        groups: groups(sessions, smt, recorded_threads, factors.slowdown.all_busy),
        warnings: warnings(sessions, is_known),
    })
}

fn minute(minute: &Minute<'_>) -> ReplayMinute {
    let (block, demand) = (minute.block, &minute.demand);
    let cores = |seconds: f64| seconds / block.elapsed_s;
    let busy = |from: usize| block.busy.iter().skip(from).map(|span| span.value).sum::<f64>();
    ReplayMinute {
        t: block.from,
        elapsed_s: block.elapsed_s,
        core_busy: cores(busy(1)),
        both_busy: cores(busy(2)),
        capacity_used: Span {
            value: cores(demand.used.value),
            low: cores(demand.used.low),
            high: cores(demand.used.high),
        },
        waiting: cores(block.waiting.low_s),
        demand_low: cores(demand.low_s),
        demand_high: demand.high_s.map(cores),
        model_low: cores(demand.model_low_s),
        model_high: cores(demand.model_high_s),
        capacity: cores(demand.capacity_low_s),
        capacity_high: cores(demand.capacity_high_s),
    }
}

fn by_hour(minutes: &[Minute<'_>]) -> Vec<ReplayHour> {
    let mut hours: BTreeMap<i64, Vec<&Minute<'_>>> = BTreeMap::new();
    for minute in minutes {
        hours.entry(minute.block.from.div_euclid(HOUR_S) * HOUR_S).or_default().push(minute);
    }
    let hour = |(t, minutes): (i64, Vec<&Minute<'_>>)| {
        let recorded_s: f64 = minutes.iter().map(|minute| minute.elapsed_s()).sum();
        let mean = |of: fn(&Demand) -> f64| {
            minutes.iter().map(|minute| of(&minute.demand)).sum::<f64>() / recorded_s
        };
        // A block is a minute unless the recording was told otherwise; one second that does not fit is to be seen.
        let count = |is: &dyn Fn(&&&Minute<'_>) -> bool| {
            let seconds: f64 = minutes.iter().filter(is).map(|minute| minute.elapsed_s()).sum();
            if seconds > 0.0 { (seconds / 60.0).round().max(1.0) as u32 } else { 0 }
        };
        let is_known = minutes.iter().all(|minute| minute.demand.high_s.is_some());
        ReplayHour {
            t,
            recorded_s,
            demand_low: mean(|demand| demand.low_s),
            demand_high: is_known.then(|| mean(|demand| demand.high_s.unwrap_or(0.0))),
            capacity: mean(|demand| demand.capacity_low_s),
            capacity_high: mean(|demand| demand.capacity_high_s),
            over: count(&|minute| !minute.may_fit()),
            doubtful: count(&|minute| minute.may_fit() && !minute.fits()),
        }
    };
    hours.into_iter().map(hour).collect()
}

/// The hour with the most demand and its neighbours that do not fit either.
fn worst(hours: &[ReplayHour]) -> Option<Stretch> {
    let load = |hour: &ReplayHour| hour.demand_high.unwrap_or(hour.demand_low) / hour.capacity;
    let is_over = |hour: &ReplayHour| hour.over + hour.doubtful > 0;
    // What is over for certain is worse than what may be.
    let weight = |hour: &ReplayHour| (hour.over > 0, load(hour));
    let order = |a: &(bool, f64), b: &(bool, f64)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1));
    let candidates = hours.iter().enumerate().filter(|(_, hour)| is_over(hour));
    let (at, top) = candidates.max_by(|(_, a), (_, b)| order(&weight(a), &weight(b)))?;
    let is_like = |hour: &ReplayHour| is_over(hour) && (hour.over > 0) == (top.over > 0);
    let (mut from, mut until) = (at, at);
    while from > 0 && hours[from - 1].t + HOUR_S == hours[from].t && is_like(&hours[from - 1]) {
        from -= 1;
    }
    while until + 1 < hours.len()
        && hours[until].t + HOUR_S == hours[until + 1].t
        && is_like(&hours[until + 1])
    {
        until += 1;
    }
    let of = &hours[from..=until];
    let lows = of.iter().map(|hour| hour.demand_low / hour.capacity_high);
    let highs: Option<Vec<f64>> =
        of.iter().map(|hour| Some(hour.demand_high? / hour.capacity)).collect();
    Some(Stretch {
        from: hours[from].t,
        until: hours[until].t + HOUR_S,
        low: lows.fold(f64::INFINITY, f64::min),
        high: highs.map(|highs| highs.into_iter().fold(0.0, f64::max)),
    })
}

/// Whether the machine that is asked for is the one that was recorded.
fn is_same(smt: ReplaySmt, recorded: usize) -> bool {
    matches!((smt, recorded > 1), (ReplaySmt::On, true) | (ReplaySmt::Off, false))
}

/// Threads that were online when it was recorded over those of the machine that is asked for. Some cores
/// of a machine may have siblings and others none.
fn fewer_threads(sessions: &[Session], smt: ReplaySmt) -> f64 {
    let (mut then, mut now) = (0.0, 0.0);
    for session in sessions {
        let elapsed_s: f64 = session.blocks.iter().map(|block| block.elapsed_s).sum();
        let cores = &session.head.siblings.cores;
        let cpus: usize = cores.iter().map(CpuSet::len).sum();
        then += cpus as f64 * elapsed_s;
        now += elapsed_s
            * match smt {
                ReplaySmt::Off => cores.len() as f64,
                // Where no core has siblings, all would have.
                _ if cpus == cores.len() => (cores.len() * THREADS) as f64,
                _ => cpus as f64,
            };
    }
    then / now
}

/// Work done over work that was done: at least if what does not fit a block is lost, or late, at most if all that ran
/// and waited is done as soon as there is room.
fn throughput(minutes: &[Minute<'_>], smt: ReplaySmt, recorded: usize) -> (f64, Option<f64>) {
    if is_same(smt, recorded) {
        return (1.0, Some(1.0));
    }
    let sum = |of: &dyn Fn(&Demand) -> f64| {
        minutes.iter().map(|minute| of(&minute.demand)).sum::<f64>().max(f64::MIN_POSITIVE)
    };
    let lost = sum(&|it| it.work.high.min(it.capacity_low_s)) / sum(&|it| it.work.high);
    let behind_s = behind_s(minutes.iter().map(|minute| &minute.demand)).last();
    let late = 1.0 - behind_s.map_or(0.0, |(_, left_s)| left_s) / sum(&|it| it.work.low);
    let low = lost.min(late).max(0.0);
    let most = |it: &Demand| it.high_s.unwrap_or(it.low_s);
    let pairs = minutes.iter().map(|it| (most(&it.demand), it.room_s(it.demand.capacity_high_s)));
    // What does not fit a block may be done in a later one.
    let high = sum(&most) - left_s(pairs).last().unwrap_or(0.0);
    (low, Some((high / sum(&|it| it.work.low)).max(low)))
}

fn groups(
    sessions: &[Session],
    smt: ReplaySmt,
    recorded: usize,
    slowdown: Span,
) -> Vec<ReplayGroup> {
    let mut sums: BTreeMap<&str, (u64, u64, Option<u64>)> = BTreeMap::new();
    for session in sessions {
        let mut names: BTreeMap<u32, &str> = BTreeMap::new();
        for block in &session.blocks {
            names.extend(block.names.iter().map(|(number, name)| (*number, name.as_str())));
            for group in &block.groups {
                let name = names.get(&group.0).copied().unwrap_or("(others)");
                let sum = sums.entry(name).or_default();
                sum.0 += group.1;
                sum.1 += group.2;
                sum.2 = group.3.map_or(sum.2, |new| Some(sum.2.unwrap_or(0) + new));
            }
        }
    }
    let of = |(name, (alone, beside, waiting)): (&str, (u64, u64, Option<u64>))| {
        let [alone_s, beside_s] = [alone, beside].map(|ms| ms as f64 / 1e3);
        let raw_s = (alone_s + beside_s).max(f64::MIN_POSITIVE);
        let without = |r: f64| (alone_s + beside_s / r.max(f64::MIN_POSITIVE)) / raw_s;
        let [value, low, high] = match smt {
            ReplaySmt::On if recorded < 2 => [1.0, 1.0, slowdown.high.max(1.0)],
            ReplaySmt::On => [1.0; 3],
            ReplaySmt::Off => [slowdown.value, slowdown.high, slowdown.low].map(without),
            ReplaySmt::CoreSched => [1.0, without(slowdown.high).min(1.0), 1.0],
        };
        let request = Span { value, low, high };
        let waiting_s = waiting.map(|ms| ms as f64 / 1e3);
        ReplayGroup { name: name.to_owned(), alone_s, beside_s, waiting_s, request }
    };
    let mut groups: Vec<ReplayGroup> = sums.into_iter().map(of).collect();
    groups.sort_by(|a, b| (b.alone_s + b.beside_s).total_cmp(&(a.alone_s + a.beside_s)));
    groups
}

fn warnings(sessions: &[Session], is_known: bool) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if !is_known {
        warnings.push(Warning::new(
            "waiting-unknown",
            "how many tasks waited is not known, so there is no upper bound",
            "record on a kernel with /proc/schedstat (CONFIG_SCHEDSTATS)",
        ));
    }
    if sessions.iter().any(|session| session.head.method == MethodName::Sampled) {
        warnings.push(Warning::new(
            "recording-sampled",
            "overlap was sampled: the bounds hold at the rate of its intervals",
            "record with --method ebpf, as root",
        ));
    }
    let is_given = |session: &Session| session.head.siblings.origin == SiblingsOrigin::Given;
    if sessions.iter().any(is_given) {
        warnings.push(Warning::new(
            "siblings-given",
            "siblings are those that were named when it was recorded",
            "if they share no core, this says what would be if they did",
        ));
    }
    let is_another = |a: &RecordingHead, b: &RecordingHead| {
        let threads = |head: &RecordingHead| head.siblings.threads_per_core_max();
        a.siblings.cores.len() != b.siblings.cores.len()
            || threads(a) != threads(b)
            || a.cpu_model != b.cpu_model
    };
    if sessions.windows(2).any(|pair| is_another(&pair[0].head, &pair[1].head)) {
        warnings.push(Warning::new(
            "recording-changed",
            "the machine changed during the recording: each block has the cores of its time",
            "replay the parts on their own if they are different machines",
        ));
    }
    let blocks: Vec<&RecordingBlock> =
        sessions.iter().flat_map(|session| &session.blocks).collect();
    let goes_back = |pair: &&[&RecordingBlock]| pair[1].from as f64 + APART_S < end_s(pair[0]);
    let back = blocks.windows(2).filter(goes_back).count();
    if back > 0 {
        warnings.push(Warning::new(
            "clock-went-back",
            match back {
                1 => "1 block begins before the one before it ended".to_owned(),
                _ => format!("{back} blocks begin before the one before them ended"),
            },
            "the clock was set back, or recordings were put together: replay each on its own",
        ));
    }
    warnings
}

#[cfg(test)]
mod tests;
