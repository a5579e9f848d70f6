//! The head of the screen: what the whole machine does.

use super::{Page, percent};
use crate::snapshot::{Machine, Short, Snapshot};
use crate::view::View;
use coretwin_base::account::Span;
use ratatui::style::Color;
use ratatui::text::{Line, Span as Words};

/// Share of the capacity above which it is shown as scarce.
const SCARCE: f64 = 0.9;
/// How long a note stays before the next one is shown.
const NOTE_FOR_S: f64 = 4.0;

pub(super) fn draw(page: &mut Page<'_>, snapshot: &Snapshot, view: &View) {
    let has_siblings = snapshot.machine.threads_per_core_max > 1;
    title(page, snapshot, view);
    busy(page, snapshot, has_siblings);
    capacity(page, snapshot);
    if has_siblings {
        let s = &snapshot.core_yield;
        page.line(Line::raw(format!(
            "yield s={:.2} [{}] {}",
            s.all_busy.value,
            range(&s.all_busy, 1.0, 2),
            s.origin.words()
        )));
    } else {
        page.line(Line::raw(
            "no CPU here is known to have a sibling: all time is alone, capacity is CPU time",
        ));
    }
    waits(page, snapshot, has_siblings);
    note(page, snapshot);
}

/// The largest of the short looks, in percent.
fn largest(snapshot: &Snapshot, value: fn(&Short) -> f64) -> String {
    let short = snapshot.short.as_ref();
    short.map_or_else(String::new, |short| format!(" (max {:.0})", value(short) * 100.0))
}

/// CPUs and cores at work.
fn busy(page: &mut Page<'_>, snapshot: &Snapshot, has_siblings: bool) {
    let machine = &snapshot.machine;
    let all_busy = match has_siblings {
        true => format!("  all busy {}", percent(machine.all_busy_share.value)),
        false => String::new(),
    };
    page.line(Line::raw(format!(
        "logical {}{}  core-busy {}{}{all_busy}  steal {}",
        percent(machine.logical_share),
        largest(snapshot, |short| short.logical_share),
        percent(machine.core_busy_share.value),
        largest(snapshot, |short| short.core_busy_share),
        percent(machine.steal_share),
    )));
}

/// Capacity in use, and what is left of it.
fn capacity(page: &mut Page<'_>, snapshot: &Snapshot) {
    let share = &snapshot.machine.capacity_share;
    let scarce = match share.value > SCARCE {
        true => page.coloured(Color::Red),
        false => page.coloured(Color::Green),
    };
    let capacity = format!(
        "{} [{}]{}",
        percent(share.value),
        range(share, 100.0, 1),
        largest(snapshot, |short| short.capacity_share)
    );
    let heads = ["capacity ", "  headroom "];
    let used = heads.concat().len() + capacity.len();
    page.line(Line::from(vec![
        Words::styled(heads[0], page.bold()),
        Words::styled(capacity, scarce),
        Words::styled(heads[1], page.bold()),
        Words::raw(headroom(&snapshot.machine, page.width().saturating_sub(used))),
    ]));
}

/// What is waited for: cores that share while others idle, pressure, interrupts.
fn waits(page: &mut Page<'_>, snapshot: &Snapshot, has_siblings: bool) {
    let clash = snapshot.machine.clash_cores;
    let most = match &snapshot.short {
        Some(short) => format!(" (max {:.1})", short.clash_cores),
        None => String::new(),
    };
    let at_most = if clash.seen || clash.value == 0.0 { "" } else { "at most " };
    let text = format!("{at_most}{:.2} cores{most}", clash.value);
    let style = page.coloured(if clash.value >= 0.5 { Color::Red } else { Color::Reset });
    let mut words = match has_siblings {
        true => vec![Words::raw("clash "), Words::styled(text, style), Words::raw("  ")],
        false => Vec::new(),
    };
    words.push(Words::raw(pressure(snapshot)));
    words.push(Words::raw(format!("  irq {}", percent(snapshot.machine.interrupts_share))));
    page.line(Line::from(words));
}

/// One of the notes; every few seconds the next, so that none is hidden by the first.
fn note(page: &mut Page<'_>, snapshot: &Snapshot) {
    let count = snapshot.warnings.len();
    let turn = (snapshot.time_unix_s.max(0.0) / NOTE_FOR_S) as usize % count.max(1);
    let Some(note) = snapshot.warnings.get(turn) else { return };
    let which = match count {
        1 => "note (4 for all of it)".to_owned(),
        _ => format!("note {} of {count} (4 for all)", turn + 1),
    };
    let yellow = page.coloured(Color::Yellow);
    page.line(Line::styled(format!("! {which}: {}", note.text), yellow));
}

fn title(page: &mut Page<'_>, snapshot: &Snapshot, view: &View) {
    let machine = &snapshot.machine;
    let offline = match snapshot.offline.is_empty() {
        true => String::new(),
        false => format!(", offline {}", snapshot.offline),
    };
    let paused = if view.paused { "  PAUSED" } else { "" };
    let filter = match (&view.cgroup, view.filter.as_str()) {
        (None, "") => String::new(),
        (None, filter) => format!("  filter '{filter}'"),
        (Some(cgroup), "") => format!("  in {}", super::clean(cgroup)),
        (Some(cgroup), filter) => format!("  in {}, filter '{filter}'", super::clean(cgroup)),
    };
    let line = format!(
        "{paused}{filter}  {}, {}{offline}  {} {:.1} s  {} UTC",
        counted(machine.cpus, "CPU"),
        counted(machine.cores, "core"),
        snapshot.method.name(),
        snapshot.elapsed_s,
        clock(snapshot.time_unix_s),
    );
    page.heading("coretwin top", line);
}

/// What is left; as a multiple of the load too, where that fits.
fn headroom(machine: &Machine, width: usize) -> String {
    let Machine { headroom_cores: left, headroom_times: times, cores, .. } = machine;
    let all = counted(*cores, "core");
    let text = format!("{:.1} of {all} [{}]", left.value, range(left, 1.0, 1));
    match times {
        Some(times) if times.value < 100.0 => {
            let longer = format!("{text} {:.1}x the load", times.value);
            if longer.len() <= width { longer } else { text }
        }
        _ => text,
    }
}

/// `1 core`, `8 cores`.
fn counted(count: u32, of: &str) -> String {
    format!("{count} {of}{}", if count == 1 { "" } else { "s" })
}

fn pressure(snapshot: &Snapshot) -> String {
    let Some(pressure) = &snapshot.pressure else { return "PSI off".to_owned() };
    let share = |name: &str, share: Option<f64>| match share {
        Some(share) => format!(" {name} {}", percent(share)),
        None => String::new(),
    };
    [
        "PSI".to_owned(),
        share("cpu", pressure.cpu_some_share),
        share("mem", pressure.memory_some_share),
        share("io", pressure.io_some_share),
    ]
    .concat()
}

/// The range of a number: `35.0-41.2`.
fn range(span: &Span, times: f64, decimals: usize) -> String {
    format!("{:.decimals$}-{:.decimals$}", span.low * times, span.high * times)
}

/// `12:00:05` of a moment in seconds since 1970.
fn clock(time_unix_s: f64) -> String {
    let second = (time_unix_s.max(0.0) as u64) % 86_400;
    format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}
