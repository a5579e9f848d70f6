//! A window of `account`, valued and put together with what else is known: a [`Snapshot`].
//!
//! Pure arithmetic. What cannot be seen is said so: pairs and clash are exact where the method sees
//! them, and else the most that the window allows.

use crate::snapshot::{Cgroup, Clash, Core, Machine, Pair, Short, Snapshot, Task};
use coretwin_account::model::{self, Valuation};
use coretwin_account::summary::valued;
use coretwin_base::account::{Span, Window, Worth};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::machine::topology::Topology;
use coretwin_base::schema::SCHEMA;
use coretwin_base::warning::Warning;
use coretwin_host::cgroup::Limits;
use coretwin_host::pressure::Pressure;
use std::collections::BTreeMap;

const PAIRS_MAX: usize = 64;

pub struct Seen<'a> {
    pub window: &'a Window,
    /// The machine, offline CPUs included.
    pub topology: &'a Topology,
    pub valuation: &'a Valuation,
    /// The largest short looks, and of every core the largest share busy.
    pub short: Option<(Short, Vec<f64>)>,
    pub pressure: Option<Pressure>,
    /// What a cgroup may use.
    pub limits: &'a mut dyn FnMut(&str) -> Limits,
    /// End of the window, in seconds since 1970.
    pub time_unix_s: f64,
    pub warnings: Vec<Warning>,
}

pub fn snapshot(seen: Seen<'_>) -> Snapshot {
    let Seen { window, topology, valuation, .. } = seen;
    let factors = valuation.largest();
    let (short, by_core) =
        seen.short.map_or((None, None), |(short, cores)| (Some(short), Some(cores)));
    let places: BTreeMap<CpuId, (u32, Option<u32>)> =
        topology.cpus.iter().map(|cpu| (cpu.cpu, (cpu.package, cpu.llc))).collect();
    let cores: Vec<Core> = (0..)
        .zip(&window.cores)
        .map(|(index, core)| {
            let core = &model::known(core, window.elapsed_s);
            let place = core.cpus.first().and_then(|cpu| places.get(&cpu).copied());
            let (package, llc) = place.unwrap_or_default();
            // What the method saw of the core; the looks of `sampled` do not end with the window.
            let seen_s: f64 = core.by_busy_s.iter().map(|span| span.value).sum();
            let used = model::capacity_used_s(core, valuation.factors(core.cpus.len()));
            Core {
                core: index,
                cpus: core.cpus.clone(),
                package,
                llc,
                by_busy_share: core.by_busy_s.iter().map(|span| share(*span, seen_s)).collect(),
                capacity_share: share(used, seen_s),
                short_busy_share: by_core
                    .as_ref()
                    .and_then(|busy| busy.get(index as usize).copied()),
            }
        })
        .collect();
    let tasks: Vec<Task> = window.tasks.iter().map(|task| valued(task, valuation)).collect();
    Snapshot {
        schema: SCHEMA,
        origin: topology.origin(),
        time_unix_s: seen.time_unix_s,
        elapsed_s: window.elapsed_s,
        method: window.method,
        siblings_origin: window.siblings.origin,
        machine: machine(window, &cores),
        short,
        core_yield: factors.core_yield.clone(),
        slowdown: factors.slowdown.clone(),
        pressure: seen.pressure,
        cgroups: cgroups(&tasks, model::capacity_most_s(window, valuation), seen.limits),
        pairs: pairs(window, &tasks, factors.slowdown.by_busy.get(1).copied()),
        cores,
        tasks,
        offline: topology.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.cpu).collect(),
        warnings: seen.warnings,
    }
}

fn share(seconds: Span, of_s: f64) -> Span {
    let share = scaled(seconds, if of_s > 0.0 { 1.0 / of_s } else { 0.0 });
    Span { high: share.high.clamp(share.value, share.value.max(1.0)), ..share }
}

fn scaled(span: Span, by: f64) -> Span {
    Span { value: span.value * by, low: span.low * by, high: span.high * by }
}

fn sum(spans: impl Iterator<Item = Span>) -> Span {
    spans.fold(Span::default(), Span::plus)
}

fn machine(window: &Window, cores: &[Core]) -> Machine {
    let cpus: Vec<_> = window.cores.iter().flat_map(|core| &core.by_cpu).collect();
    let count = u32::try_from(cores.len()).unwrap_or(u32::MAX);
    let per_core = 1.0 / f64::from(count.max(1));
    // A window without length is nothing over something, and not nothing over nothing.
    let elapsed_s = window.elapsed_s.max(f64::MIN_POSITIVE);
    let per_cpu_s = 1.0 / (cpus.len().max(1) as f64 * elapsed_s);
    let idle = sum(cores.iter().filter_map(|core| core.by_busy_share.first().copied()));
    let all_busy = cores.iter().filter(|core| core.cpus.len() > 1);
    let all_busy = sum(all_busy.filter_map(|core| core.by_busy_share.last().copied()));
    let shared: f64 = cores.iter().map(|core| core.at_least(2)).sum();
    let used = sum(cores.iter().map(|core| core.capacity_share));
    let all = f64::from(count);
    let less = |from: f64, span: Span| Span {
        value: from - span.value,
        low: (from - span.high).max(0.0),
        high: from - span.low,
    };
    let clash = match window.clash_s {
        Some(seconds) => Clash { value: seconds / elapsed_s, seen: true },
        // No more than the smaller of the two averages can have been at the same time.
        None => Clash { value: shared.min(idle.value), seen: false },
    };
    Machine {
        cpus: u32::try_from(cpus.len()).unwrap_or(u32::MAX),
        cores: count,
        threads_per_core_max: u32::try_from(window.siblings.threads_per_core_max()).unwrap_or(1),
        logical_share: (cpus.iter().map(|cpu| cpu.busy_s).sum::<f64>() * per_cpu_s).min(1.0),
        core_busy_share: less(1.0, scaled(idle, per_core)),
        all_busy_share: scaled(all_busy, per_core),
        capacity_share: scaled(used, per_core),
        headroom_cores: less(all, used),
        headroom_times: (used.low > 0.0).then(|| Span {
            value: all / used.value,
            low: all / used.high,
            high: all / used.low,
        }),
        clash_cores: clash,
        interrupts_share: cpus.iter().map(|cpu| cpu.interrupts_s).sum::<f64>() * per_cpu_s,
        steal_share: cpus.iter().map(|cpu| cpu.steal_s).sum::<f64>() * per_cpu_s,
    }
}

fn cgroups(tasks: &[Task], most_s: f64, limits: &mut dyn FnMut(&str) -> Limits) -> Vec<Cgroup> {
    let mut groups = BTreeMap::<Option<&str>, (u32, Worth)>::new();
    for task in tasks {
        let group = groups.entry(task.cgroup.as_deref()).or_default();
        group.0 += 1;
        group.1.include(&task.worth);
    }
    let made = groups.into_iter().map(|(path, (tasks, worth))| Cgroup {
        limits: path.map(&mut *limits).unwrap_or_default(),
        path: path.map(str::to_owned),
        tasks,
        worth: model::capped(worth, most_s),
    });
    made.collect()
}

fn pairs(window: &Window, tasks: &[Task], slowdown: Option<Span>) -> Vec<Pair> {
    let pair = |a: &Task, b: &Task, together_s: Span, seen: bool| Pair {
        a_tid: a.tid,
        a_comm: a.comm.clone(),
        b_tid: b.tid,
        b_comm: b.comm.clone(),
        together_s: together_s.value,
        together_low_s: together_s.low,
        together_high_s: together_s.high,
        lost_s: slowdown.map_or_else(Span::default, |slowdown| lost(together_s, slowdown)),
        seen,
    };
    let mut pairs: Vec<Pair> = if window.pairs.is_empty() {
        let most = most_shared(tasks);
        let guessed = window.cores.iter().flat_map(|core| possible(&core.cpus, &most));
        let at_most = |most_s: f64| Span { value: most_s, low: 0.0, high: most_s };
        guessed.map(|(a, b, together_s)| pair(a, b, at_most(together_s), false)).collect()
    } else {
        let by_tid: BTreeMap<u32, &Task> = tasks.iter().map(|task| (task.tid, task)).collect();
        let named = window.pairs.iter().filter_map(|two| {
            let (a, b) = (by_tid.get(&two.a)?, by_tid.get(&two.b)?);
            Some(pair(a, b, two.together_s, true))
        });
        named.collect()
    };
    pairs.sort_by(|a, b| b.together_s.total_cmp(&a.together_s));
    pairs.truncate(PAIRS_MAX);
    pairs
}

/// What a task lost that was beside another for so long, if that slowed it down so much: the least and
/// the most that both ranges allow. A slowdown below 1 is a gain.
fn lost(together_s: Span, slowdown: Span) -> Span {
    let lost_s = |together_s: f64, r: f64| together_s * (1.0 - 1.0 / r);
    let ends = [together_s.low, together_s.high];
    let all = ends.map(|time_s| [slowdown.low, slowdown.high].map(|r| lost_s(time_s, r)));
    let all = all.as_flattened();
    Span {
        value: lost_s(together_s.value, slowdown.value),
        low: all.iter().copied().fold(f64::INFINITY, f64::min),
        high: all.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    }
}

/// Of every CPU, the task with the most shared time that was last seen there.
fn most_shared(tasks: &[Task]) -> BTreeMap<CpuId, &Task> {
    let mut most = BTreeMap::new();
    for task in tasks.iter().filter(|task| task.worth.shared_s > 0.0) {
        let Some(cpu) = task.last_cpu else { continue };
        let kept = most.entry(cpu).or_insert(task);
        if task.worth.shared_s > kept.worth.shared_s {
            *kept = task;
        }
    }
    most
}

/// Every two of a core's tasks with the most shared time, and the most that they can have been
/// together.
fn possible<'a>(cpus: &CpuSet, most: &BTreeMap<CpuId, &'a Task>) -> Vec<(&'a Task, &'a Task, f64)> {
    let here: Vec<&Task> = cpus.iter().filter_map(|cpu| most.get(&cpu).copied()).collect();
    let mut found = Vec::new();
    for (position, a) in here.iter().enumerate() {
        found.extend(
            here[position + 1..].iter().map(|b| (*a, *b, a.worth.shared_s.min(b.worth.shared_s))),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::tests::window;
    use coretwin_base::machine::topology::EMULATOR;
    use coretwin_base::origin::Origin;

    #[test]
    fn what_a_pair_lost_is_as_uncertain_as_the_looks_and_the_slowdown_together() {
        let together_s = Span { value: 0.5, low: 0.4, high: 0.6 };
        let span = |value, low, high| Span { value, low, high };
        let near = |found: Span, wanted: [f64; 3]| {
            let found = [found.value, found.low, found.high];
            assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        };
        near(lost(together_s, span(2.0, 1.6, 4.0)), [0.25, 0.4 * 0.375, 0.6 * 0.75]);
        // Siblings that may help each other: the most gained goes with the longest time.
        near(lost(together_s, span(1.25, 0.8, 2.0)), [0.1, -0.15, 0.3]);
        near(lost(Span::exact(0.5), Span::exact(2.0)), [0.25; 3]);
    }

    #[test]
    fn a_window_without_a_look_is_an_open_range_and_not_idle_or_full() {
        let (mut window, mut topology) = window(8);
        topology.hypervisor = Some(EMULATOR.to_owned());
        for core in &mut window.cores {
            core.by_busy_s.iter_mut().for_each(|span| *span = Span::default());
        }
        let valuation = Valuation::new(None, None, 2).expect("valuation");
        let made = snapshot(Seen {
            window: &window,
            topology: &topology,
            valuation: &valuation,
            short: None,
            pressure: None,
            limits: &mut |_| Limits::default(),
            time_unix_s: 0.0,
            warnings: Vec::new(),
        });
        assert_eq!(made.origin, Origin::Emulated);
        // Both CPUs of the first core were busy throughout; of the last core none ever was.
        assert_eq!(made.cores[0].at_least(2), 1.0);
        assert_eq!(made.cores[7].at_least(1), 0.0);
        let used = made.machine.capacity_share;
        assert!(used.low < 0.05 && used.high > 0.9 && used.value > 0.1, "{used:?}");
        let busy = made.machine.core_busy_share;
        assert!(busy.value > made.machine.logical_share && busy.value < 0.9, "{busy:?}");
    }
}
