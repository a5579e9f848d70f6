//! A window as a block of a recording: totals by core and by group.

use crate::model;
use coretwin_base::account::recording::{
    GROUPS_MAX, NAME_MAX, NAMES_MAX, OTHERS, RecordedGroup, RecordingBlock, Waiting,
};
use coretwin_base::account::{CoreUse, Span, Window};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Groups by name, for one session.
#[derive(Debug, Default)]
pub struct Names {
    known: BTreeMap<String, u32>,
}

impl Names {
    fn number(&mut self, name: &str, new: &mut BTreeMap<u32, String>) -> u32 {
        if let Some(number) = self.known.get(name) {
            return *number;
        }
        if self.known.len() >= NAMES_MAX {
            return OTHERS;
        }
        let number = OTHERS + 1 + self.known.len() as u32;
        self.known.insert(name.to_owned(), number);
        new.insert(number, name.to_owned());
        number
    }
}

/// What a group ran in a block.
#[derive(Debug, Default, Clone, Copy)]
struct Ran {
    alone_s: f64,
    beside_s: f64,
}

/// `waited_s` says in how much of the time some task of a group waited for a CPU.
pub fn block(
    window: &Window,
    from: i64,
    waiting: Waiting,
    names: &mut Names,
    mut waited_s: impl FnMut(&str) -> Option<f64>,
) -> RecordingBlock {
    let cores: Vec<Cow<'_, CoreUse>> =
        window.cores.iter().map(|core| model::known(core, window.elapsed_s)).collect();
    // In a window without a look, no task is known to be alone or beside another either: it has the
    // machine's share.
    let unseen = cores.iter().all(|core| matches!(core, Cow::Owned(_)));
    let alone_share = unseen.then(|| alone_share(&cores));
    let mut ran: BTreeMap<&str, Ran> = BTreeMap::new();
    for task in &window.tasks {
        let sum = ran.entry(task.cgroup.as_deref().unwrap_or("(no cgroup)")).or_default();
        let alone_s = match alone_share {
            Some(share) => task.raw_s * share,
            None => task.runs.iter().map(|run| run.alone_s().value).sum(),
        };
        sum.alone_s += alone_s;
        sum.beside_s += (task.raw_s - alone_s).max(0.0);
    }
    let mut ran: Vec<(&str, Ran)> = ran.into_iter().collect();
    let raw_s = |(_, ran): &(&str, Ran)| ran.alone_s + ran.beside_s;
    ran.sort_by(|a, b| raw_s(b).total_cmp(&raw_s(a)));
    let mut new = BTreeMap::new();
    let mut groups: BTreeMap<u32, RecordedGroup> = BTreeMap::new();
    for (at, (name, ran)) in ran.into_iter().enumerate() {
        let name = tail(name);
        let number = if at < GROUPS_MAX { names.number(name, &mut new) } else { OTHERS };
        let group = groups.entry(number).or_insert(RecordedGroup(number, 0, 0, None));
        group.1 += millis(ran.alone_s);
        group.2 += millis(ran.beside_s);
        if number != OTHERS {
            group.3 = waited_s(name).map(millis);
        }
    }
    let n = window.siblings.threads_per_core_max();
    let mut busy = vec![Span::default(); n + 1];
    for core in &cores {
        busy.iter_mut().zip(&core.by_busy_s).for_each(|(sum, span)| *sum = sum.plus(*span));
    }
    let of_core = |times: &[Span]| {
        times.iter().skip(1).map(|span| millis(span.value).min(u32::MAX.into()) as u32).collect()
    };
    RecordingBlock {
        from,
        elapsed_s: micros(window.elapsed_s, f64::round),
        busy: busy.into_iter().map(rounded).collect(),
        cores: cores.iter().map(|core| of_core(&core.by_busy_s)).collect(),
        names: new,
        groups: groups.into_values().collect(),
        unseen: millis(window.unseen.busy_s),
        waiting,
    }
}

/// Of the time that CPUs were busy, the share in which no sibling was.
fn alone_share(cores: &[Cow<'_, CoreUse>]) -> f64 {
    let (mut alone_s, mut all_s) = (0.0, 0.0);
    for core in cores {
        for (k, span) in core.by_busy_s.iter().enumerate().skip(1) {
            all_s += k as f64 * span.value;
            alone_s += if k == 1 { span.value } else { 0.0 };
        }
    }
    if all_s > 0.0 { alone_s / all_s } else { 1.0 }
}

/// The last bytes of a name that are kept.
fn tail(name: &str) -> &str {
    let mut from = name.len().saturating_sub(NAME_MAX);
    while !name.is_char_boundary(from) {
        from += 1;
    }
    &name[from..]
}

fn millis(seconds: f64) -> u64 {
    (seconds * 1e3).round().max(0.0) as u64
}

fn micros(seconds: f64, round: fn(f64) -> f64) -> f64 {
    round(seconds * 1e6) / 1e6
}

/// Ends are moved outwards, so that the range holds what it held.
fn rounded(span: Span) -> Span {
    let (low, high) = (micros(span.low, f64::floor), micros(span.high, f64::ceil));
    Span { value: micros(span.value, f64::round).clamp(low, high), low, high }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::account::{CpuUse, MethodName, Run, Siblings, TaskUse};
    use coretwin_base::machine::cpu_set::CpuSet;
    use coretwin_base::machine::topology::Topology;

    #[test]
    fn a_window_without_a_look_is_neither_idle_nor_alone() {
        let siblings = Siblings::of_kernel(&Topology::regular(1, 2, 2));
        let open = Span { value: 0.0, low: 0.0, high: 3.0 };
        let core = |cpus: &CpuSet, busy_s: f64| CoreUse {
            cpus: cpus.clone(),
            by_busy_s: vec![open; 3],
            by_cpu: cpus
                .iter()
                .map(|cpu| CpuUse { cpu, busy_s, interrupts_s: 0.0, steal_s: 0.0 })
                .collect(),
        };
        let cores = siblings.cores.iter().zip([3.0, 1.5]);
        let run = Run { by_busy_s: vec![Span { value: 3.0, low: 0.0, high: 3.0 }, open] };
        let window = Window {
            method: MethodName::Sampled,
            elapsed_s: 3.0,
            cores: cores.map(|(cpus, busy_s)| core(cpus, busy_s)).collect(),
            siblings,
            tasks: vec![TaskUse { raw_s: 3.0, runs: vec![run], ..TaskUse::default() }],
            pairs: Vec::new(),
            clash_s: None,
            unseen: Default::default(),
            balance: Default::default(),
            looks: 0,
        };
        let made = block(&window, 0, Waiting::default(), &mut Names::default(), |_| None);
        // The first core was full throughout; of the second each CPU was busy for half.
        assert_eq!(made.busy.iter().map(|span| span.value).collect::<Vec<_>>(), [0.75, 1.5, 3.75]);
        assert!(made.busy.iter().all(|span| span.low == 0.0 && span.high == 6.0), "{made:?}");
        assert_eq!(made.cores, [vec![0, 3000], vec![1500, 750]]);
        // Of nine CPU seconds, one and a half were alone.
        assert_eq!(made.groups, [RecordedGroup(OTHERS + 1, 500, 2500, None)]);
    }
}
