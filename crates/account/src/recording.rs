//! A window as a block of a recording: totals by core and by group.

use coretwin_base::account::recording::{
    GROUPS_MAX, NAME_MAX, NAMES_MAX, OTHERS, RecordedGroup, RecordingBlock, Waiting,
};
use coretwin_base::account::{Span, Window};
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
    let mut ran: BTreeMap<&str, Ran> = BTreeMap::new();
    for task in &window.tasks {
        let sum = ran.entry(task.cgroup.as_deref().unwrap_or("(no cgroup)")).or_default();
        let alone_s: f64 = task.runs.iter().map(|run| run.alone_s().value).sum();
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
    for core in &window.cores {
        busy.iter_mut().zip(&core.by_busy_s).for_each(|(sum, span)| *sum = sum.plus(*span));
    }
    let of_core = |times: &[Span]| {
        times.iter().skip(1).map(|span| millis(span.value).min(u32::MAX.into()) as u32).collect()
    };
    RecordingBlock {
        from,
        elapsed_s: micros(window.elapsed_s, f64::round),
        busy: busy.into_iter().map(rounded).collect(),
        cores: window.cores.iter().map(|core| of_core(&core.by_busy_s)).collect(),
        names: new,
        groups: groups.into_values().collect(),
        unseen: millis(window.unseen.busy_s),
        waiting,
    }
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
