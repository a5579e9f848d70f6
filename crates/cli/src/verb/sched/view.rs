//! What a loaded scheduler does, drawn again each second: counters as rates, queues as they are.

use crate::out;
use anyhow::Result;
use coretwin_bpf::programs::Program;
use coretwin_bpf::scheduler::{Counter, Kind};
use coretwin_host::sched_ext::record::Record;
use std::time::Instant;

/// What a record's policy counts.
pub(super) fn counters(record: &Record) -> &'static [Counter] {
    Program::of(&record.options).counters
}

/// A counter's meaning; `None` for one of another version.
pub(super) fn counter(record: &Record, name: &str) -> Option<&'static Counter> {
    counters(record).iter().find(|counter| counter.name == name)
}

/// A view that goes on: in place on a terminal, else a line each time.
pub(super) struct Shown {
    terminal: bool,
    lines: usize,
    before: Option<(Instant, Record)>,
}

impl Shown {
    pub(super) fn new(terminal: bool) -> Self {
        Self { terminal, lines: 0, before: None }
    }

    pub(super) fn show(&mut self, record: &Record) -> Result<()> {
        let now = Instant::now();
        if let Some((then, before)) = &self.before {
            let seconds = now.duration_since(*then).as_secs_f64();
            let text = match self.terminal {
                true => table(before, record, seconds),
                false => line(before, record, seconds),
            };
            out::over(self.lines, &text)?;
            self.lines = if self.terminal { text.lines().count() } else { 0 };
        }
        self.before = Some((now, record.clone()));
        Ok(())
    }
}

fn change(before: &Record, now: &Record, name: &str, seconds: f64) -> Option<String> {
    let value = *now.counters.get(name)?;
    let earlier = before.counters.get(name).copied().unwrap_or(0);
    if value == earlier || seconds <= 0.0 {
        return None;
    }
    let is_largest = counter(now, name).is_some_and(|counter| counter.kind == Kind::Largest);
    let since = value.saturating_sub(earlier) as f64 / seconds;
    Some(match (is_largest, name.strip_suffix("_ns")) {
        (true, Some(_)) => format!("{:.3} ms", value as f64 / 1e6),
        (true, None) => value.to_string(),
        // Nanoseconds a second are a share of a CPU.
        (false, Some(_)) => format!("{:.3} s/s", since / 1e9),
        (false, None) => format!("{since:.0}/s"),
    })
}

fn changes<'a>(
    before: &'a Record,
    now: &'a Record,
    seconds: f64,
) -> impl Iterator<Item = (&'a str, String)> {
    let known = counters(now).iter().map(|counter| counter.name);
    known.filter_map(move |name| Some((name, change(before, now, name, seconds)?)))
}

fn line(before: &Record, now: &Record, seconds: f64) -> String {
    let all: Vec<String> =
        changes(before, now, seconds).map(|(name, change)| format!("{name} {change}")).collect();
    let all = if all.is_empty() { "nothing happened".to_owned() } else { all.join(", ") };
    format!("{} {}; {all}\n", now.counted_utc, queues(now))
}

fn table(before: &Record, now: &Record, seconds: f64) -> String {
    let mut text = format!("{}  {}\n", now.counted_utc, queues(now));
    for (name, change) in changes(before, now, seconds) {
        let about = counter(now, name).map_or("", |counter| counter.about);
        text += &format!("  {change:>12}  {name:<18} {about}\n");
    }
    text
}

pub(super) fn queues(record: &Record) -> String {
    let sum = |number: fn(&coretwin_host::sched_ext::record::Core) -> u32| -> u32 {
        record.cores.iter().map(number).sum()
    };
    let longest = record.cores.iter().map(|core| core.queued).max().unwrap_or(0);
    format!(
        "{} cores, {} CPUs: {} run a task, {} tasks wait, at most {longest} on a core",
        record.cores.len(),
        sum(|core| core.online),
        sum(|core| core.running),
        sum(|core| core.queued),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::simulation::live::Options;
    use coretwin_host::root::Root;
    use coretwin_host::sched_ext::record::Core;

    fn record(counters: &[(&str, u64)]) -> Record {
        let folder = tempfile::tempdir().expect("folder");
        let mut record =
            Record::new(&Root::at(folder.path()), Options::default(), None, "t".into());
        record.counters =
            counters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        record.cores = vec![Core { online: 2, running: 1, queued: 3 }];
        record
    }

    #[test]
    fn sums_are_rates_and_largest_values_are_values() {
        let before = record(&[("picked", 100), ("clash_ns", 0), ("waited_longest_ns", 0)]);
        let now = record(&[
            ("picked", 300),
            ("clash_ns", 500_000_000),
            ("waited_longest_ns", 2_500_000),
            ("later", 7),
        ]);
        let text = line(&before, &now, 2.0);
        assert!(text.contains("picked 100/s"), "{text}");
        assert!(text.contains("clash_ns 0.250 s/s"), "{text}");
        assert!(text.contains("waited_longest_ns 2.500 ms"), "{text}");
        assert!(text.contains("1 cores, 2 CPUs: 1 run a task, 3 tasks wait"), "{text}");
        assert!(line(&now, &now, 1.0).contains("nothing happened"));
        assert!(table(&before, &now, 2.0).contains("taken from the queue of the own core"));
    }
}
